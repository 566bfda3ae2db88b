"""The agent as one file and as a wheel of its own."""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from collector.settings import load
from tests.collector.conftest import ROOT, uuid

PACKAGING = ROOT / "collector/packaging"


def test_the_zipapp_runs_by_itself(tmp_path: Path, stub) -> None:
    out = tmp_path / "gpu-collector.pyz"
    subprocess.run([sys.executable, str(PACKAGING / "build_zipapp.py"), str(out)], check=True)
    environment = {**stub.environment(), "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-S", "-s", str(out), "once", "--interval", "0.3"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cards"][2]["uuid"] == uuid(2)
    names = zipfile.ZipFile(out).namelist()
    assert "pynvml.pyc" in names
    assert not any("packaging" in name or "governance" in name for name in names)


@pytest.mark.proof
def test_the_wheel_holds_the_package_and_needs_one_dependency(tmp_path: Path, stub) -> None:
    built = subprocess.run(
        [
            *[sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w"],
            str(tmp_path),
            str(ROOT / "collector"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0 and "setuptools" in built.stderr:
        pytest.skip(f"setuptools cannot be had to build with: {built.stderr.strip()[-200:]}")
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("gpu_collector-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "collector/sources/nvml.py" in names
    assert "collector/formats/dcgm.py" in names
    metadata = zipfile.ZipFile(wheel).read(next(n for n in names if n.endswith("METADATA")))
    needs = [line for line in metadata.decode().splitlines() if line.startswith("Requires-Dist")]
    assert needs == ["Requires-Dist: nvidia-ml-py>=12.535.77"]
    home = tmp_path / "env"
    venv.create(home, with_pip=True)
    python = str(home / "bin/python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", str(wheel)], check=True)
    done = subprocess.run(
        [str(home / "bin/gpu-collector"), "--version"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
        check=True,
    )
    assert done.stdout.startswith("collector 0.")


def test_the_example_of_a_configuration_is_accepted() -> None:
    settings = load({}, str(PACKAGING / "collector.toml"), {})
    assert settings.bind == "0.0.0.0:9465"
    text = (PACKAGING / "collector.toml").read_text()
    commented = "\n".join(
        line.removeprefix("# ")
        for line in text.splitlines()
        if line.startswith("# ") and "=" in line
    )
    for key in tomllib.loads(commented.replace('bind = "none"\n', "")):
        assert hasattr(settings, key.replace("-", "_")), key


def test_the_unit_runs_the_zipapp_with_a_state_folder() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(PACKAGING / "gpu-collector.service")
    assert "gpu-collector.pyz run --config" in unit["Service"]["ExecStart"]
    assert unit["Service"]["StateDirectory"] == "gpu-collector"
    assert unit["Install"]["WantedBy"] == "multi-user.target"
