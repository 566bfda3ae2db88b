"""The components of the pages; docs/ui.md shows each with an example."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from django import template
from django.forms import BoundField, Form
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from governance.kernel.policy import Decision
from governance.kernel.policy import can as decide
from governance.ui import filters as filter_forms
from governance.ui import formats, tables
from governance.ui.charts import Chart
from governance.ui.forms import field_parts
from governance.ui.palette import ink as find_ink
from governance.ui.tones import tone_of

register = template.Library()

WRITERS: dict[str, Callable[..., str]] = {
    "number": formats.number,
    "amount": formats.amount,
    "money": formats.money,
    "percent": formats.percent,
    "points": formats.points,
    "signed": formats.signed,
    "size": formats.size,
    "rate": formats.rate,
    "count": formats.count,
    "hours": formats.hours,
    "duration": formats.duration,
    "day": formats.day,
    "short_day": formats.short_day,
    "weekday": formats.weekday,
    "long_day": formats.long_day,
    "month": formats.month,
    "moment": formats.moment,
    "clock_time": formats.clock_time,
    "ago": formats.ago,
    "currency_word": formats.currency_word,
}
for _name, _writer in WRITERS.items():
    register.filter(_name, _writer)

register.simple_tag(formats.span, name="span")
register.simple_tag(tables.icon, name="icon")
register.simple_tag(tables.badge, name="badge")


@register.simple_tag(takes_context=True)
def can(context: Context, act: str, thing: Any = None) -> Decision:
    """May the reader do this? `{% can "requests.approve" row as may %}`."""
    return decide(context["request"].user, act, thing)


@register.simple_tag
def state(value: str, label: Any, kind: str = "") -> SafeString:
    """The badge of a lifecycle's state, with the product-wide tone of that state."""
    return tables.badge(tone_of(value, kind), label)


@register.simple_block_tag
def section(
    content: str, title: Any, note: Any = "", count: Any = None, id: str = ""
) -> SafeString:
    """A titled part of a page; `note` stands small at its right: unit, period, age of the data."""
    number = format_html(' <span class="muted small">{}</span>', count) if count is not None else ""
    small = format_html("<p>{}</p>", note) if note else ""
    name = format_html(' id="{}"', id) if id else ""
    return format_html(
        '<section class="section"{}><header><h2>{}{}</h2>{}</header>{}</section>',
        name,
        title,
        number,
        small,
        SafeString(content),
    )


@register.simple_block_tag
def tiles(content: str) -> SafeString:
    return format_html('<div class="tiles">{}</div>', SafeString(content))


@register.inclusion_tag("ui/tile.html")
def tile(
    label: Any,
    value: Any,
    unit: Any = "",
    change: Any = "",
    change_note: Any = "",
    spark: Sequence[Any] | None = None,
    mark: float | None = None,
    meter: Mapping[str, Any] | None = None,
    cover: Any = "",
    formula: Any = "",
    href: str = "",
) -> dict[str, Any]:
    """A key figure. `value` is already written ("35.3"); None says that it was not measured."""
    return {
        "label": label,
        "value": value,
        "unit": unit,
        "change": change,
        "change_note": change_note,
        "spark": sparkline(spark, mark) if spark else None,
        "meter": meter,
        "cover": cover,
        "formula": formula,
        "href": href,
    }


def sparkline(values: Sequence[Any], mark: float | None) -> dict[str, Any]:
    """Polylines in a 240 x 32 box; a missing value breaks the line."""
    known = [float(v) for v in values if v is not None] + ([mark] if mark is not None else [])
    low, high = min(known, default=0.0), max(known, default=1.0)
    height = (high - low) or 1.0
    step = 236 / max(1, len(values) - 1)
    runs: list[list[str]] = [[]]
    for n, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(f"{2 + n * step:.1f},{29 - (float(value) - low) / height * 26:.1f}")
    return {
        "runs": [" ".join(run) for run in runs if len(run) > 1],
        "dots": [run[0].split(",") for run in runs if len(run) == 1],
        "mark": None if mark is None else f"{29 - (mark - low) / height * 26:.1f}",
    }


def extent(value: Any) -> float:
    """The drawn length of a figure, which may be Money; nothing has none."""
    bare = getattr(value, "amount", value)
    return float(bare or 0)


@register.inclusion_tag("ui/budget_bar.html")
def budget_bar(
    spent: Any,
    limit: Any,
    held: Any = 0,
    forecast: Any = None,
    elapsed: float | None = None,
    after: Any = None,
) -> dict[str, Any]:
    """Spent (solid), held (tinted), forecast (pale) against the limit (thin mark at its place),
    with the share of the period gone by as a thick mark. `after` adds an amount being decided."""
    figures = [extent(v) for v in (spent, held, forecast, limit, after)]
    used, kept, expected, most, added = figures
    whole = max(most, used + kept + added, expected) or 1.0
    scale = 160 / whole
    over = most > 0 and max(used + kept + added, expected) > most
    return {
        "spent": used * scale,
        "held": (used + kept) * scale,
        "after": (used + kept + added) * scale,
        "asked": max(1.0, added * scale),
        "forecast": expected * scale,
        "limit": min(159.0, most * scale),
        "elapsed": None if elapsed is None else min(158.5, elapsed * most * scale),
        "tone": "warn" if over else "teal",
        "label": _("Used %(used)s of %(limit)s")
        % {"used": formats.amount(used), "limit": formats.amount(most)},
    }


@register.inclusion_tag("ui/layers.html")
def layers(shares: Mapping[str, Any], limit: str = "") -> dict[str, Any]:
    """The layer bars of a package: shares 0..1 by name, None where not evaluated."""
    words = {
        "memory": _("memory"),
        "compute": _("compute"),
        "bandwidth": _("bandwidth"),
        "interconnect": _("interconnect"),
        "network": _("network"),
        "egress": _("egress"),
    }
    return {
        "layers": [
            {
                "word": word,
                "share": shares.get(key),
                "width": min(100.0, float(shares.get(key) or 0) * 100),
                "limits": key == limit,
            }
            for key, word in words.items()
        ]
    }


@register.inclusion_tag("ui/share_bar.html")
def share_bar(share: Any, mark: float | None = None, label: Any = "") -> dict[str, Any]:
    """One share 0..1 as a bar, with a mark such as the 30 % rule."""
    return {
        "share": share,
        "width": None if share is None else min(1.0, float(share)) * 160,
        "mark": None if mark is None else mark * 160,
        "low": share is not None and mark is not None and float(share) < mark,
        "label": label or formats.percent(share),
    }


@register.inclusion_tag("ui/parts_bar.html")
def parts_bar(parts: Sequence[tuple[str, Any, Any]], kind: str = "cause") -> dict[str, Any]:
    """A whole cut into parts (key, word, share): colours from the product-wide map."""
    drawn, at = [], 0.0
    for key, word, share in parts:
        width = float(share or 0) * 220
        if width <= 0:
            continue
        drawn.append(
            {
                "x": at,
                "width": max(0.6, width - 1),
                "hue": find_ink(kind, key).hue,
                "hatched": find_ink(kind, key).hatched,
                "title": f"{word} {formats.percent(share, 0)}",
            }
        )
        at += width
    return {"parts": drawn, "label": ", ".join(str(p["title"]) for p in drawn)}


@register.inclusion_tag("ui/key.html")
def key(parts: Sequence[tuple[str, Any]], kind: str = "cause") -> dict[str, Any]:
    """The key of colours: (key, word) pairs."""
    return {"items": [(find_ink(kind, name), word) for name, word in parts]}


@register.inclusion_tag("ui/waterfall.html")
def waterfall(
    steps: Sequence[tuple[str, Any, Any]], caption: Any = "", kind: str = "cause"
) -> dict[str, Any]:
    """From a whole (first step, key "whole") down through losses to what is left (the last).

    Steps are (key, word, amount). Losses that could not be avoided carry a neutral hue.
    """
    figures = [extent(s[2]) for s in steps]
    whole = figures[0] or 1.0
    rows, left = [], figures[0]
    for n, (name, word, value) in enumerate(steps):
        ends = n in (0, len(steps) - 1)
        start = 0.0 if ends else left - figures[n]
        if not ends:
            left -= figures[n]
        drawn = find_ink(kind, name)
        rows.append(
            {
                "word": word,
                "value": value,
                "whole": ends,
                "x": start / whole * 300,
                "width": max(0.8, figures[n] / whole * 300),
                "hue": "ink" if n == 0 else drawn.hue,
                "hatched": drawn.hatched,
            }
        )
    for above, below in pairwise(rows):
        below["joint"] = below["x"] + below["width"] if not below["whole"] else below["width"]
        below["joint"] = min(below["joint"], above["x"] + above["width"])
    return {"rows": rows, "caption": caption}


@register.inclusion_tag("ui/timeline.html")
def timeline(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Steps {title, text, state: done | now | act | ""} along a line."""
    return {"steps": steps}


@register.inclusion_tag("ui/table.html", takes_context=True)
def data_table(context: Context, table: tables.Table) -> dict[str, Any]:
    return {"table": table, "request": context.get("request")}


@register.inclusion_tag("ui/filters.html", takes_context=True)
def filter_bar(context: Context, form: Form, summary: Any = "") -> dict[str, Any]:
    """The filters of a page: chips for what is set, the rest under "Add filter"."""
    request = context["request"]
    return {
        "form": form,
        "chips": filter_forms.chips(form, request.GET),
        "summary": summary,
        "path": request.path,
        "open": bool(form.errors),
    }


@register.inclusion_tag("ui/chart.html")
def chart(chart: Chart) -> dict[str, Any]:
    return {"chart": chart, "data_id": f"{chart.id}-data"}


@register.simple_block_tag
def work_list(content: str, label: Any = "") -> SafeString:
    """Rows that ask for decisions; moved through with j and k, acted on with a, b and r."""
    return format_html(
        '<ol class="work" data-keys aria-label="{}">{}</ol>', label, SafeString(content)
    )


@register.simple_block_tag
def work_row(
    content: str,
    kind: Any,
    title: Any,
    detail: Any = "",
    amount: Any = "",
    amount_note: Any = "",
    when: Any = "",
    href: str = "",
    tone: str = "",
) -> SafeString:
    """One decision: kind, the sentence, the figures that decide it, when, and its buttons."""
    heading = format_html('<a href="{}">{}</a>', href, title) if href else title
    note = format_html("<small>{}</small>", amount_note) if amount_note else ""
    return format_html(
        '<li data-row><span class="kind">{}</span><div class="what">{}'
        '<span class="sub">{}</span></div><div class="amount">{}{}</div>'
        '<span class="when">{}</span><div class="btns">{}</div></li>',
        tables.badge(tone or "plain", kind),
        heading,
        detail,
        amount,
        note,
        when,
        SafeString(content),
    )


@register.inclusion_tag("ui/act.html", takes_context=True)
def act(
    context: Context,
    label: Any,
    url: str,
    may: Decision | None = None,
    method: str = "post",
    look: str = "",
    key: str = "",
    confirm: Any = "",
    small: bool = False,
    icon: str = "",
    **values: Any,
) -> dict[str, Any]:
    """A button that does or opens something. Where policy says no it is off and says why.

    `look`: primary, quiet, danger or nothing; `key`: the keyboard's letter in a work list;
    further named values become hidden fields of the form posted.
    """
    return {
        "label": label,
        "url": url,
        "allowed": may is None or may.allowed,
        "why": may.reason.render(_) if may is not None and may.reason else "",
        "method": method,
        "css": " ".join(filter(None, ["btn", look, "small" if small else ""])),
        "key": key,
        "confirm": confirm,
        "icon": icon,
        "values": values,
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("ui/act.html", takes_context=True)
def act_of(context: Context, button: Any) -> dict[str, Any]:
    """`act` from an object with label, url, may, method, look, key and values."""
    return act(
        context,
        button.label,
        button.url,
        may=button.may,
        method=button.method,
        look=button.look,
        key=button.key,
        **button.values,
    )


@register.inclusion_tag("ui/field.html")
def field(
    bound: BoundField,
    unit: Any = "",
    span: str = "",
    look: str = "",
    hint: Any = None,
    label: Any = "",
) -> dict[str, Any]:
    """One form field with label, hint and errors. `span`: two, half, full; `look`: seg."""
    return field_parts(bound, unit=unit, span=span, look=look, hint=hint, label=label)


@register.inclusion_tag("ui/fields.html")
def fields(form: Form) -> dict[str, Any]:
    """All visible fields of a form, its own errors first."""
    return {"form": form}


@register.inclusion_tag("ui/form_errors.html")
def form_errors(form: Form) -> dict[str, Any]:
    return {"form": form}


@register.simple_block_tag
def notice(content: str, tone: str = "") -> SafeString:
    sign = tables.icon({"good": "check", "act": "alert"}.get(tone, "warning"))
    return format_html(
        '<div class="notice {}">{}<div>{}</div></div>', tone, sign, SafeString(content)
    )


@register.simple_block_tag
def empty(content: str, title: Any, hint: Any = "") -> SafeString:
    """Nothing here yet: what to do next. The block holds buttons."""
    return format_html(
        '<div class="empty"><b>{}</b> <span>{}</span> {}</div>', title, hint, SafeString(content)
    )


@register.simple_tag
def not_measured(reason: Any = "") -> SafeString:
    """In place of a figure that nobody measured; never zero."""
    return format_html('<span class="unmeasured" title="{}">{}</span>', reason, _("not measured"))


@register.simple_tag
def incomplete(coverage: Any) -> SafeString:
    """Beside a figure whose data does not cover enough of its time."""
    return format_html(
        '<span class="incomplete">{} {}</span>',
        tables.icon("warning"),
        _("incomplete, %(coverage)s covered") % {"coverage": formats.percent(coverage, 0)},
    )


@register.simple_tag
def simulated_mark() -> SafeString:
    """Beside a single figure made by the demonstration's generator."""
    return tables.badge("unknown", _("simulated"))
