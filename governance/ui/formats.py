"""How figures are written: Babel with the reader's language; unknown is a dash, never zero."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from babel.dates import format_datetime, format_time, format_timedelta
from babel.numbers import format_decimal, get_currency_precision
from django.utils import timezone, translation
from django.utils.translation import gettext, pgettext

from governance.plumbing import clock

UNKNOWN = "–"
NBSP = "\u00a0"

DAY = {"en": "d MMM yyyy", "zh": "yyyy年M月d日"}
DAY_THIS_YEAR = {"en": "d MMM", "zh": "M月d日"}
WEEKDAY = {"en": "EEE d MMM", "zh": "M月d日 EEE"}
LONG_DAY = {"en": "EEEE d MMMM", "zh": "M月d日 EEEE"}
MONTH = {"en": "MMMM yyyy", "zh": "yyyy年M月"}

BYTE_STEPS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
COUNT_STEPS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


def language() -> str:
    """The two-letter key of the tables above for the language now active."""
    return "zh" if (translation.get_language() or "en").startswith("zh") else "en"


def locale() -> str:
    return "zh_Hans_CN" if language() == "zh" else "en_GB"


def is_number(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    return isinstance(value, int | float | Decimal) and value == value


def number(value: Any, places: int | None = None) -> str:
    """Grouped by thousands; with `places` exactly that many decimals, otherwise at most six."""
    if isinstance(value, str) and value:
        value = Decimal(value)
    if not is_number(value):
        return UNKNOWN
    pattern = "#,##0.######" if places is None else "#,##0" + ("." + "0" * places if places else "")
    return minus(format_decimal(value, format=pattern, locale=locale()))


def minus(text: str) -> str:
    return text.replace("-", "−")


def signed(value: Any, places: int = 1) -> str:
    """A difference always carries its sign."""
    if not is_number(value):
        return UNKNOWN
    text = number(value, places)
    return text if text.startswith("−") else "+" + text


def percent(share: Any, places: int = 1) -> str:
    """A share 0..1 as per cent."""
    return UNKNOWN if not is_number(share) else number(share * 100, places) + NBSP + "%"


def points(difference: Any, places: int = 1) -> str:
    """The difference of two shares in percentage points."""
    if not is_number(difference):
        return UNKNOWN
    return gettext("%(number)s points") % {"number": signed(difference * 100, places)}


def currency_word(code: str) -> str:
    """What people say beside an amount."""
    return pgettext("currency", "yuan") if code == "CNY" else code


def currency_of(value: Any, currency: str = "") -> str:
    return str(getattr(value, "currency", "") or currency)


def amount(value: Any, currency: str = "", places: int | None = None) -> str:
    """The bare amount in its currency's places; the currency stands in the head of the column."""
    code = currency_of(value, currency)
    bare = getattr(value, "amount", value)
    if places is None:
        places = get_currency_precision(code) if code else 2
    return number(bare, places)


def money(value: Any, currency: str = "", places: int | None = None) -> str:
    """Amount and currency in words: "3,670.40 yuan"."""
    text = amount(value, currency, places)
    code = currency_of(value, currency)
    return text if text == UNKNOWN or not code else text + NBSP + currency_word(code)


def scaled(value: Any, steps: tuple[tuple[int, str], ...], smallest: str) -> str:
    if not is_number(value):
        return UNKNOWN
    for size, unit in steps:
        if abs(value) >= size:
            shown = float(value) / size
            return number(shown, 0 if abs(shown) >= 100 else 1) + NBSP + unit
    return (number(value, 0) + NBSP + smallest).strip(NBSP)


def size(value: Any) -> str:
    """Bytes in decimal units."""
    return scaled(value, BYTE_STEPS, "B")


def rate(value: Any) -> str:
    """Bytes per second in decimal units."""
    text = size(value)
    return text if text == UNKNOWN else text + "/s"


def count(value: Any) -> str:
    """A large plain count, "321.3 M"."""
    return scaled(value, COUNT_STEPS, "")


def hours(value: Any) -> str:
    """Hours as people plan with them: minutes below one, one decimal below ten."""
    if not is_number(value):
        return UNKNOWN
    if value and abs(value) < 1:
        return gettext("%(number)s min") % {"number": number(value * 60, 0)}
    places = 1 if abs(value) < 10 and value != int(value) else 0
    return gettext("%(number)s h") % {"number": number(value, places)}


def duration(value: Any) -> str:
    """A timedelta or seconds, at most two units."""
    if value is None:
        return UNKNOWN
    seconds = int(value.total_seconds() if isinstance(value, dt.timedelta) else value)
    steps: tuple[tuple[int, Callable[[int], str]], ...] = (
        (86400, lambda n: gettext("%(number)s d") % {"number": number(n)}),
        (3600, lambda n: gettext("%(number)s h") % {"number": number(n)}),
        (60, lambda n: gettext("%(number)s min") % {"number": number(n)}),
        (1, lambda n: gettext("%(number)s s") % {"number": number(n)}),
    )
    parts: list[str] = []
    for step, words in steps:
        if seconds >= step and len(parts) < 2:
            parts.append(words(seconds // step))
            seconds %= step
        elif parts:
            break
    return " ".join(parts) or steps[-1][1](0)


def local(value: dt.datetime) -> dt.datetime:
    return timezone.localtime(value) if timezone.is_aware(value) else value


def dated(value: Any, patterns: dict[str, str]) -> str:
    if not isinstance(value, dt.date):
        return UNKNOWN
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return format_datetime(local(value), patterns[language()], locale=locale())


def day(value: Any) -> str:
    """A date with its year."""
    return dated(value, DAY)


def short_day(value: Any) -> str:
    """A date without its year, for axes and rows of one period."""
    return dated(value, DAY_THIS_YEAR)


def weekday(value: Any) -> str:
    return dated(value, WEEKDAY)


def long_day(value: Any) -> str:
    return dated(value, LONG_DAY)


def month(value: Any) -> str:
    return dated(value, MONTH)


def clock_time(value: Any) -> str:
    if not isinstance(value, dt.datetime):
        return UNKNOWN
    return format_time(local(value), "HH:mm", locale=locale())


def moment(value: Any) -> str:
    """Day and time in the reader's zone: "Fri 20 Nov 18:00"; the year where it is another."""
    if not isinstance(value, dt.datetime):
        return UNKNOWN
    same_year = local(value).year == timezone.localtime().year
    return (weekday(value) if same_year else day(value)) + " " + clock_time(value)


def span(first: Any, last: Any) -> str:
    """Two dates, both included, saying month and year once: "1–15 Nov 2026"."""
    if not (isinstance(first, dt.date) and isinstance(last, dt.date)):
        return UNKNOWN
    if first == last:
        return day(first)
    if (first.year, first.month) == (last.year, last.month):
        if language() == "zh":
            return f"{day(first)}至{last.day}日"
        return f"{first.day}–{day(last)}"
    start = short_day(first) if first.year == last.year and language() == "en" else day(first)
    return f"{start} – {day(last)}"


def ago(value: Any, now: dt.datetime | None = None) -> str:
    """Age in words."""
    if not isinstance(value, dt.datetime):
        return UNKNOWN
    difference = value - (now or clock.now())
    return format_timedelta(difference, add_direction=True, locale=locale())
