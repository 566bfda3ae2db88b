"""A stand-in for NVIDIA's library, built from the repository's own C file."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.model import Card, Reading
from collector.sources.nvml import Nvml
from collector.spool import Spool
from tests.collector.stub import compiled

ROOT = Path(__file__).resolve().parents[2]


def uuid(number: int) -> str:
    """The stub's name of a card."""
    return f"GPU-5b1ade00-0000-4000-8000-{number:012d}"


class Stub:
    """The library and its orders; ``tell`` replaces all orders at once."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.library = library
        self.orders = folder / "orders"

    def tell(self, *orders: str) -> None:
        new = self.orders.with_suffix(".new")
        new.write_text("\n".join(orders) + "\n")
        os.replace(new, self.orders)
        time.sleep(0.03)  # the stub looks at most every 20 ms, and only when it is called
        ctypes.CDLL(str(self.library)).nvmlDeviceGetCount_v2(ctypes.byref(ctypes.c_uint()))

    def environment(self, **more: str) -> dict[str, str]:
        """For an agent of its own process."""
        return {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.library.parent),
            "NVMLSTUB_FILE": str(self.orders),
            "PYTHONPATH": str(ROOT),
            **more,
        }


@pytest.fixture(scope="session")
def stub_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = compiled(tmp_path_factory.mktemp("nvml"))
    if library is None:
        pytest.skip("no C compiler: the stub of libnvidia-ml.so.1 cannot be built")
    # by its soname the loaded library is the one that pynvml's own CDLL call finds
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    return library


@pytest.fixture
def stub(stub_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub(stub_library, tmp_path)
    monkeypatch.setenv("NVMLSTUB_FILE", str(stub.orders))
    stub.tell("")
    return stub


class Source:
    """The NVML source on the stub, with a clock that can be moved on."""

    def __init__(self, **options) -> None:
        self.ahead = 0.0
        self.nvml = Nvml(clock=lambda: time.monotonic() + self.ahead, **options)

    def poll(self, wait: float = 0.12) -> dict[str, Reading]:
        """A reading by uuid, after the time that a GPM window needs."""
        time.sleep(wait)
        return {card.uuid: reading for card, reading in self.nvml.poll(time.time())}

    def warm(self) -> dict[str, Reading]:
        """Past the readings that a fresh start gives up."""
        self.poll(0)
        return self.poll()


@pytest.fixture
def nvml(stub: Stub) -> Iterator[Callable[..., Source]]:
    made: list[Source] = []

    def make(**options) -> Source:
        made.append(Source(processes=options.pop("processes", False), **options))
        return made[-1]

    yield make
    for source in made:
        source.nvml.close()


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    spool = Spool(str(tmp_path / "spool"))
    yield spool
    spool.close()


@pytest.fixture
def card() -> Card:
    return Card("nvidia", uuid(0), model="NVIDIA H100 80GB HBM3", index=0)


def run_collector(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "collector", *arguments],
        capture_output=True,
        text=True,
        timeout=50,
        cwd=ROOT,
        **options,
    )
