"""`make bench [NAME=...]`: run tests/bench/NAME.py (or all), print a table, keep the figures.

A bench is a module with `run() -> (figures, units)`: two dicts with the same keys. It finds
settings loaded, PostgreSQL and Valkey up and the tables there.
"""

import importlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def names() -> list[str]:
    """All benches, by name."""
    return sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


def machine() -> dict[str, object]:
    """Where the figures were taken."""
    processor = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": processor,
        "memory_bytes": memory,
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def table(name: str, figures: Mapping[str, float], units: Mapping[str, str]) -> str:
    """The figures for a person."""
    width = max(map(len, figures), default=0)
    lines = [f"{key:<{width}}  {value:>16,.4g} {units[key]}" for key, value in figures.items()]
    return "\n".join([name, *lines])


def measure(name: str) -> None:
    """Run one bench; its table to standard output, its figures to var/bench/NAME.json."""
    figures, units = importlib.import_module(f"tests.bench.{name}").run()
    if set(figures) != set(units):
        raise SystemExit(f"bench {name}: figures and units have different keys")
    print(table(name, figures, units), flush=True)
    folder = ROOT / "var" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    content = {"name": name, "figures": figures, "units": units, "machine": machine()}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def main(wanted: list[str]) -> None:
    """Measure on servers of our own, in a database that is thrown away."""
    unknown = sorted(set(wanted) - set(names()))
    if unknown:
        raise SystemExit(f"no bench {', '.join(unknown)}; there are {', '.join(names())}")
    from governance.plumbing.embedded import ensure_servers

    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        os.environ.update(DATA_DIR=folder, DEMO="0")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "governance.config.settings")
        with ensure_servers(folder) as servers:
            os.environ.update(servers)
            import django

            django.setup()
            from governance.plumbing import schema

            schema.bring_up_to_date()
            for name in wanted or names():
                measure(name)
            django.db.connections.close_all()


if __name__ == "__main__":
    main(sys.argv[1:])
