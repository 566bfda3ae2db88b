"""A backup holds everything, a restore is all or nothing."""

import tarfile
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from governance.plumbing import backups, clock
from governance.plumbing.models import Heartbeat

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _connected(tmp_path: Path, settings: object) -> None:
    """The tools reach the test's own database, the key and uploads a folder of their own."""
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"]  # type: ignore[attr-defined]
    settings.DATA_DIR = tmp_path / "data"  # type: ignore[attr-defined]
    settings.MEDIA_ROOT = tmp_path / "data" / "media"  # type: ignore[attr-defined]
    (tmp_path / "data" / "media").mkdir(parents=True)
    (tmp_path / "data" / "media" / "quote.pdf").write_bytes(b"pages")
    (tmp_path / "data" / "secret_key").write_text("k" * 40)


def names() -> set[str]:
    return set(Heartbeat.objects.values_list("name", flat=True))


def test_what_was_backed_up_comes_back(tmp_path: Path) -> None:
    Heartbeat.objects.create(name="kept", at=clock.now())
    call_command("backup", str(tmp_path / "state"))
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600
    Heartbeat.objects.create(name="later", at=clock.now())
    (Path(settings.DATA_DIR) / "secret_key").write_text("other")
    (Path(settings.MEDIA_ROOT) / "quote.pdf").unlink()
    call_command("restore", str(tmp_path / "state"), replace=True)
    assert names() == {"kept"}
    assert (Path(settings.DATA_DIR) / "secret_key").read_text() == "k" * 40
    assert (Path(settings.MEDIA_ROOT) / "quote.pdf").read_bytes() == b"pages"


def test_a_database_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    call_command("backup", str(tmp_path / "state"))
    Heartbeat.objects.create(name="later", at=clock.now())
    with pytest.raises(CommandError, match="not empty; --replace"):
        call_command("restore", str(tmp_path / "state"))
    assert names() == {"later"}


def test_a_damaged_backup_changes_nothing(tmp_path: Path) -> None:
    Heartbeat.objects.create(name="here", at=clock.now())
    call_command("backup", str(tmp_path / "state"))
    whole = tmp_path / "whole"
    with tarfile.open(tmp_path / "state") as tar:
        for name in (backups.MANIFEST, backups.DUMP):
            content = tar.extractfile(name)
            assert content is not None
            whole.mkdir(exist_ok=True)
            (whole / name).write_bytes(content.read())
    dump = (whole / backups.DUMP).read_bytes()
    (whole / backups.DUMP).write_bytes(dump[: len(dump) * 2 // 3])
    with tarfile.open(tmp_path / "damaged", "w") as tar:
        for name in (backups.MANIFEST, backups.DUMP):
            tar.add(whole / name, name)
    with pytest.raises(CommandError, match=r"^pg_restore failed: .*"):
        call_command("restore", str(tmp_path / "damaged"), replace=True)
    assert names() == {"here"}


def test_a_backup_of_another_version_is_refused(tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('x', 'y', now())"
        )
    try:
        call_command("backup", str(tmp_path / "state"))
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE app = 'x'")
    with pytest.raises(CommandError, match="another version: it knows x/y"):
        call_command("restore", str(tmp_path / "state"), replace=True)


@pytest.mark.parametrize("content", [b"", b"text", None])
def test_what_is_no_backup_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "state").write_bytes(content)
    with pytest.raises(CommandError) as refused:
        call_command("restore", str(tmp_path / "state"), replace=True)
    assert "\n" not in str(refused.value)
