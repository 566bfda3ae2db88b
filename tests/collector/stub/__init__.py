"""The stand-in for libnvidia-ml.so.1, compiled where it is needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml.c")


def compiled(folder: Path) -> Path | None:
    """The library, built into ``folder``; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "libnvidia-ml.so.1"
    options = ["-shared", "-fPIC", "-O2", "-Wl,-soname,libnvidia-ml.so.1", "-o"]
    subprocess.run([compiler, *options, library, SOURCE, "-lm"], check=True)
    return library
