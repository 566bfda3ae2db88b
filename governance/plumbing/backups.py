"""The whole state in one file, and back: a tar of what PostgreSQL's own tools write, the key that
tokens and sessions hang on, and uploaded files.

Restoring is one transaction: it is all there afterwards, or nothing has changed.
"""

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from governance.plumbing import clock
from governance.plumbing.embedded.postgres import install_folder

FORMAT = 1
MANIFEST, DUMP, KEY, MEDIA = "manifest.json", "database.dump", "secret_key", "media"
LOCK_WAIT = "30s"


class BackupError(Exception):
    """A backup that cannot be made or taken in; the text is one line for a person."""


def backup(file: Path) -> Mapping[str, Any]:
    """Write the state to `file` (mode 0600), which appears when it is complete."""
    with _draft(file) as draft, tempfile.TemporaryDirectory(dir=file.parent) as folder:
        dump = Path(folder, DUMP)
        _tool("pg_dump", "--format=custom", "--no-owner", "--no-acl", f"--file={dump}")
        manifest = {
            "format": FORMAT,
            "made_at": clock.now().isoformat(),
            "migrations": sorted(map("/".join, MigrationRecorder(connection).applied_migrations())),
        }
        Path(folder, MANIFEST).write_text(json.dumps(manifest, indent=1))
        with tarfile.open(draft, "w") as tar:
            tar.add(Path(folder, MANIFEST), MANIFEST)
            tar.add(dump, DUMP)
            for path, name in ((_key_file(), KEY), (Path(settings.MEDIA_ROOT), MEDIA)):
                if path.exists():
                    tar.add(path, name)
    return manifest


def restore(file: Path, *, replace: bool) -> Mapping[str, Any]:
    """Take the state of `file` in. Refused for a database that holds anything, unless `replace`."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = _unpack(file, Path(folder))
        _refuse_newer(manifest)
        if not replace and _tables():
            raise BackupError(
                "the database is not empty; --replace puts the backup in place of what is there"
            )
        _load(Path(folder, DUMP))
        _take_files(Path(folder))
    return manifest


@contextmanager
def _draft(file: Path) -> Iterator[Path]:
    if not file.parent.is_dir():
        raise BackupError(f"{file.parent} is not a folder")
    draft = file.with_name(f".{file.name}.draft")
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        yield draft
        draft.replace(file)
    except OSError as error:
        raise BackupError(f"cannot write {file}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def _key_file() -> Path:
    return Path(settings.DATA_DIR) / KEY


def _tables() -> int:
    with connection.cursor() as cursor:
        return len(connection.introspection.get_table_list(cursor))


def _unpack(file: Path, folder: Path) -> Mapping[str, Any]:
    try:
        with tarfile.open(file, "r:") as tar:
            for member in tar:
                _extract(tar, member, folder)
        manifest = json.loads(Path(folder, MANIFEST).read_text())
    except tarfile.TarError as error:
        raise BackupError(f"{file} is not a backup") from error
    except OSError as error:
        raise BackupError(f"cannot read {file}: {error.strerror}") from error
    if manifest.get("format") != FORMAT or not Path(folder, DUMP).exists():
        raise BackupError(f"{file} is not a backup of format {FORMAT}")
    return manifest  # type: ignore[no-any-return]


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """A plain file whose place is within `folder`; anything else is not ours."""
    target = (folder / member.name).resolve()
    content = tar.extractfile(member) if member.isfile() else None
    if content is None or not target.is_relative_to(folder.resolve()):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with content, target.open("wb") as copy:
        shutil.copyfileobj(content, copy)


def _refuse_newer(manifest: Mapping[str, Any]) -> None:
    known = {"/".join(key) for key in MigrationLoader(None, ignore_no_migrations=True).graph.nodes}
    unknown = sorted(set(manifest["migrations"]) - known)
    if unknown:
        raise BackupError(f"the backup was made by another version: it knows {unknown[0]}")


def _load(dump: Path) -> None:
    script = dump.with_suffix(".sql")
    _tool("pg_restore", "--no-owner", "--no-acl", f"--file={script}", str(dump))
    first = dump.with_name("first.sql")
    first.write_text(
        f"SET lock_timeout = '{LOCK_WAIT}'; DROP SCHEMA public CASCADE; CREATE SCHEMA public;\n"
    )
    connection.close()
    _tool(
        *("psql", "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"),
        *("--output=/dev/null", f"--file={first}", f"--file={script}"),
    )


def _take_files(folder: Path) -> None:
    if (folder / KEY).exists():
        key = _key_file()
        key.unlink(missing_ok=True)
        with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write((folder / KEY).read_text())
    for path in sorted((folder / MEDIA).rglob("*")):
        target = Path(settings.MEDIA_ROOT) / path.relative_to(folder / MEDIA)
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def _tool(name: str, *arguments: str) -> None:
    """One of PostgreSQL's tools on our database; the password stays out of the command line."""
    database: dict[str, Any] = settings.DATABASES["default"]
    keys = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    environment = {variable: str(database[key]) for variable, key in keys.items() if database[key]}
    where = [f"--dbname={database['NAME']}"] if name != "pg_restore" else []
    result = subprocess.run(
        [str(install_folder() / "bin" / name), *where, *arguments],
        env={**environment, "PGSSLMODE": str(database["OPTIONS"].get("sslmode", "prefer"))},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        raise BackupError(f"{name} failed: {lines[0] if lines else 'no output'}")
