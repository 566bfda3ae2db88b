"""How bodies of API calls are read."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class Json(JSONParser):  # type: ignore[misc]
    """JSON, where a body nested too deeply to be read is the sender's fault (400)."""

    def parse(self, *args: Any, **options: Any) -> Any:
        try:
            return super().parse(*args, **options)
        except RecursionError:
            raise ParseError(gettext("This JSON is nested too deeply.")) from None
