"""``python collector/packaging/build_zipapp.py [OUT]``: the agent as one file.

The file holds the package and ``pynvml.py`` of the installed ``nvidia-ml-py``, as source and as
byte code of the Python that built it: that one starts without compiling; another one (3.11+) runs
it too, but compiles at every start.
"""

from __future__ import annotations

import importlib.util
import py_compile
import shutil
import sys
import tempfile
import zipapp
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
MAIN = """import sys

if sys.version_info < (3, 11):
    sys.exit("gpu-collector needs Python 3.11 or newer, this is " + sys.version.split()[0])

from collector.cli import main

sys.exit(main())
"""


def build(out: Path) -> Path:
    """Write the zipapp; raises SystemExit when nvidia-ml-py is not installed."""
    nvml = importlib.util.find_spec("pynvml")
    if nvml is None or not (nvml.origin or "").endswith("pynvml.py"):
        raise SystemExit("install nvidia-ml-py first: its pynvml.py goes into the file")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        ignore = shutil.ignore_patterns("__pycache__", "packaging", "pyproject.toml", "*.egg-info")
        shutil.copytree(PACKAGE, root / "collector", ignore=ignore)
        shutil.copy(nvml.origin or "", root / "pynvml.py")
        (root / "__main__.py").write_text(MAIN)
        for source in root.rglob("*.py"):
            if source.name != "__main__.py" or source.parent != root:
                py_compile.compile(
                    str(source),
                    cfile=str(source.with_suffix(".pyc")),
                    dfile=str(source.relative_to(root)),
                    doraise=True,
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
                )
        zipapp.create_archive(root, out, interpreter="/usr/bin/env python3", compressed=True)
    return out


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else "dist/gpu-collector.pyz")))
