"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT: Path = settings.ROOT
SOURCES = sorted(
    p
    for folder in ("governance", "collector", "tests")
    for p in (ROOT / folder).rglob("*.py")
    if "migrations" not in p.parts
)
ROOM_SOURCES = [p for p in SOURCES if p.is_relative_to(ROOT / "governance")]


def _room(path: Path) -> str:
    return path.relative_to(ROOT / "governance").parts[0]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_file_is_longer_than_500_lines() -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for p in SOURCES
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert long == {}


def test_no_room_reads_the_tables_of_another() -> None:
    """Another room's models are reached by its queries and services; accounts' by foreign key."""
    faults = set()
    for path in ROOM_SOURCES:
        for name in _imports(path):
            parts = name.split(".")
            if parts[0] == "governance" and len(parts) > 2 and parts[2] == "models":
                owner, user = parts[1], _room(path)
                if owner not in {user, "plumbing"}:
                    faults.add(f"{path.relative_to(ROOT)} imports {name}")
    assert sorted(faults) == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (
            r"django\.dispatch|post_save|pre_save|\breceiver\(",
            "no signals: call a service, or emit",
        ),
        (r"\.delay\(", "tasks are sent by plumbing.tasks.enqueue"),
        (r"datetime\.now\(|timezone\.now\(|date\.today\(", "doors ask plumbing.clock.now()"),
    ],
)
def test_words_that_must_not_stand_in_rooms(pattern: str, why: str) -> None:
    allowed = {"plumbing/clock.py", "plumbing/tasks.py"}
    hits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in ROOM_SOURCES
        if path.relative_to(ROOT / "governance").as_posix() not in allowed
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert hits == [], why


def test_money_is_never_a_float() -> None:
    """Matching ranks by floats beside exact amounts; where money is booked there are none."""
    hits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in ROOM_SOURCES
        if _room(path) in {"budgets", "rentals"}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"\bfloat\(", line)
    ]
    assert hits == []


def test_views_do_not_touch_managers() -> None:
    hits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in ROOM_SOURCES
        if (path.name in {"views.py", "api.py"} or {"views", "api"} & set(path.parts))
        and not {"services", "queries"} & set(path.parts)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if ".objects." in line
    ]
    assert hits == []


def test_lock_files_have_hashes_and_no_addresses() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert "--index-url" not in text


def test_words_of_the_glossary_have_one_rendering() -> None:
    """“memory utilization” is not a thing here: share, duty cycle and capacity are."""
    hits = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "locale").rglob("*.po")
        if "显存利用率" in path.read_text(encoding="utf-8")
    ]
    assert hits == []
