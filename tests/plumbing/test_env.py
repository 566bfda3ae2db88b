from __future__ import annotations

from pathlib import Path

import pytest

from governance.config import env


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("PORT", "http", "PORT: “http” is not a port"),
        ("PORT", "70000", "from 1 to 65535"),
        ("DEMO", "perhaps", "write 1 or 0"),
        ("DATABASE_URL", "sqlite:///x", "DATABASE_URL: must begin with one of postgres://"),
        ("CELERY_BROKER_URL", "memory://", "CELERY_BROKER_URL: must begin with"),
        ("SECRET_KEY", "short", "at least 32 characters"),
        ("SECRET_KEY_FILE", "/nowhere/key", "SECRET_KEY_FILE: cannot read /nowhere/key"),
    ],
)
def test_wrong_value_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv(name, value)
    with pytest.raises(env.WrongSetting, match=says):
        env.read()
    with pytest.raises(SystemExit, match="Wrong setting"):
        env.load()


def test_secret_key_is_made_once_and_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("SECRET_KEY", raising=False)
    first = env.read().secret_key
    assert len(first) > 40
    assert env.read().secret_key == first
    assert (tmp_path / "data" / "secret_key").stat().st_mode & 0o777 == 0o600


def test_secret_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("k" * 40 + "\n")
    monkeypatch.setenv("SECRET_KEY_FILE", str(path))
    assert env.read().secret_key == "k" * 40


def test_a_data_dir_that_cannot_be_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "file"))
    monkeypatch.delenv("SECRET_KEY", raising=False)
    with pytest.raises(env.WrongSetting, match=r"^DATA_DIR: no folder can be made"):
        env.read()
