"""The commands that need no database: exit status, one line per fault, stdin."""

import json
import subprocess
import sys

import pytest
from django.conf import settings

from tests.rentals.test_preview import EXAMPLE, PLANS


def run(*arguments, stdin=None):
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.ROOT, input=stdin, capture_output=True, text=True, timeout=50,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "data", "known"),
    [
        ("preview_charges", EXAMPLE, '"net": "778.32"'),
        ("compare_plans", PLANS, '"annual_vs_hourly": "408.34"'),
    ],
)
def test_json_on_stdout_and_nothing_else(tmp_path, command, data, known):
    path = tmp_path / "in.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    done = run(command, str(path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    json.loads(done.stdout)
    assert known in done.stdout
    shown = run(command, "-", stdin=json.dumps(data))
    assert shown.returncode == 0
    assert shown.stdout


def test_a_refused_file_says_why_line_by_line(tmp_path):
    path = tmp_path / "in.json"
    path.write_text(json.dumps({**EXAMPLE, "currency": "RMB", "end": "2020-01-01"}))
    done = run("preview_charges", str(path), "--json")
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert [line.split(": ")[1] for line in lines[:2]] == ["currency", "end"]


def test_no_such_file_and_wrong_usage():
    missing = run("preview_charges", "/nowhere/x.json")
    assert missing.returncode == 1
    assert "cannot be read" in missing.stderr
    assert run("preview_charges").returncode == 2
