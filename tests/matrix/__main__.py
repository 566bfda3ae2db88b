"""`python -m tests.matrix` writes docs/permissions.md."""

import os
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "governance.config.settings")

import django

django.setup()

from tests.matrix.collect import table  # noqa: E402

(Path(__file__).resolve().parents[2] / "docs" / "permissions.md").write_text(
    table(), encoding="utf-8"
)
