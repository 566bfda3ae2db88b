"""What a home is made of; the templates know only these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from governance.kernel.policy import Decision
from governance.ui.charts import Chart
from governance.ui.tables import Table


@dataclass(frozen=True)
class Tile:
    """A key figure as `{% tile %}` draws it; `value` None says that it was not measured."""

    label: Any
    value: str | None
    unit: Any = ""
    change: str = ""
    change_note: Any = ""
    spark: Sequence[Any] = ()
    mark: float | None = None
    meter: Mapping[str, Any] | None = None
    cover: Any = ""
    formula: Any = ""
    href: str = ""


@dataclass(frozen=True)
class Button:
    """An act of a work row: a form posted to `url`, or a link with `method` get."""

    label: Any
    url: str
    may: Decision | None = None
    method: str = "post"
    look: str = ""
    key: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """One thing that waits for the viewer, with the figures that decide it."""

    kind: Any
    title: Any
    detail: Any = ""
    amount: str = ""
    amount_note: Any = ""
    when: Any = ""
    href: str = ""
    tone: str = ""
    buttons: Sequence[Button] = ()


@dataclass(frozen=True)
class Home:
    """A page of a role. Parts that are None do not concern it; empty ones say so."""

    heading: str
    lede: Any
    primary: Sequence[Button] = ()
    work_title: Any = ""
    work: Sequence[Work] | None = None
    work_empty: Any = ""
    tiles: Sequence[Tile] = ()
    tiles_title: Any = ""
    tiles_note: Any = ""
    charts: Sequence[Chart] = ()
    charts_title: Any = ""
    tables: Sequence[tuple[Any, Any, Table]] = ()
