"""What newcomers read and machines follow: README, map, make targets, locks."""

import re
import subprocess
from pathlib import Path

import pytest

from governance.config.env import ROOT

TARGETS = ("help", "setup", "run", "test", "proof", "lint", "fmt", "bench")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


@pytest.mark.parametrize(
    "page", sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]), ids=lambda p: p.name
)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []


def test_the_map_names_every_room() -> None:
    text = (ROOT / "docs" / "map.md").read_text()
    rooms = {path.parent.name for path in (ROOT / "governance").glob("*/__init__.py")}
    assert {room for room in rooms if f"`governance/{room}`" not in text} == set()


def test_make_help_lists_the_targets() -> None:
    told = subprocess.run(
        ["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert [name for name in TARGETS if not re.search(rf"^{name} +\S", told, re.MULTILINE)] == []


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_locks_pin_with_hashes_and_name_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text()
    pins = re.findall(r"^[A-Za-z0-9][^\s=]*==", text, re.MULTILINE)
    blocks = re.split(r"^(?=[A-Za-z0-9][^\s=]*==)", text, flags=re.MULTILINE)[1:]
    assert len(pins) > 20
    assert [block.split("==")[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert re.findall(r"https?://|index-url|find-links", text) == []
