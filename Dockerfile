# One image for web, worker, beat and the demo collector; see docker-compose.yml.
FROM python:3.12-slim AS build
WORKDIR /app
RUN python -m venv /venv
COPY requirements.lock .
RUN /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY manage.py pyproject.toml ./
COPY governance governance
COPY collector collector
COPY templates templates
COPY locale locale
RUN DATA_DIR=/tmp/build /venv/bin/python manage.py messages compile

FROM python:3.12-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin ledger \
    && install --directory --owner=ledger --group=ledger --mode=0700 /data
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 DATA_DIR=/data DEMO=0
USER 10001:10001
EXPOSE 8000
CMD ["gunicorn", "governance.config.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "4", "--worker-tmp-dir", "/dev/shm", "--no-control-socket"]
