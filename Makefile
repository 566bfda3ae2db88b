# Everything a person runs by hand; `make help` lists it.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
NAME ?=

.DEFAULT_GOAL := help
.PHONY: help setup dev run test proof lint fmt bench lock

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "%-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/runtime.stamp ## make .venv with the locked dependencies, compile catalogues
	@$(PY) manage.py messages compile

dev: $(VENV)/dev.stamp
	@$(PY) manage.py messages compile

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/runtime.stamp: requirements.lock | $(VENV)/bin/python
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock | $(VENV)/bin/python
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@ $(VENV)/runtime.stamp

run: setup ## the living system (PORT, DATA_DIR, DEMO honoured)
	@exec $(PY) manage.py run

test: dev ## the whole fast suite
	$(PY) -m pytest

proof: dev ## races at full count, kill tests, browser journeys, API fuzz, outside judges
	$(PY) -m pytest -m proof

lint: dev ## ruff, mypy, import rules, migrations, templates, translations, compose file
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) manage.py makemigrations --check --dry-run
	$(VENV)/bin/djlint templates --lint --quiet
	$(PY) manage.py messages check
	$(VENV)/bin/check-jsonschema --quiet --builtin-schema vendor.compose-spec docker-compose.yml

fmt: dev ## formatting
	$(VENV)/bin/ruff check --fix-only .
	$(VENV)/bin/ruff format .

bench: dev ## measure; NAME=ingest runs one, writes var/bench/NAME.json
	$(PY) -m tests.bench $(NAME)

lock: ## resolve pyproject.toml into the two lock files (needs uv)
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements-dev.lock
	uv pip compile pyproject.toml -c requirements-dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements.lock
