"""One map from series to colours for the whole product: the same thing has the same colour on
every page, and each kind of thing has a second mark of its own, since six hues are few.

Teams and projects are solid lines, plans differ by dash, card models by symbol, causes are areas.
"""

from dataclasses import dataclass
from zlib import crc32

HUES = ("blue", "green", "vermilion", "purple", "orange", "sky")
FIRST_HUES = HUES[:4]
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


@dataclass(frozen=True)
class Ink:
    """How a series is drawn: a hue of the tokens, a line dash, a point's symbol."""

    hue: str
    dash: str = "solid"
    symbol: str = "circle"
    hatched: bool = False

    @property
    def colour(self) -> str:
        """What charts.js resolves against the tokens of the theme now shown."""
        return "$accent" if self.hue == "teal" else f"$series-{self.hue}"


KNOWN: dict[str, dict[str, Ink]] = {
    "plan": {
        "hourly": Ink("vermilion"),
        "daily": Ink("orange", "dashdot"),
        "monthly": Ink("blue", "dash"),
        "quarterly": Ink("sky", "longdash"),
        "annual": Ink("green"),
        "spot": Ink("purple", "dot"),
    },
    "cause": {
        "used": Ink("blue"),
        "idle": Ink("purple"),
        "starved": Ink("vermilion"),
        "link_bound": Ink("orange"),
        "over_provisioned": Ink("green"),
        "compute_bound": Ink("slate"),
        "capacity_bound": Ink("sky"),
        "unclear": Ink("slate", "dot"),
        "unknown": Ink("slate", hatched=True),
        "no_data": Ink("slate", hatched=True),
    },
    "source": {
        "nvml_gpm": Ink("blue"),
        "dcgm_1005": Ink("green"),
        "nvml_duty": Ink("purple", hatched=True),
        "nvml_duty_uncorrected": Ink("purple", hatched=True),
        "ascend_hbm": Ink("vermilion"),
        "amd_umc": Ink("orange"),
        "unknown": Ink("slate", hatched=True),
    },
    "layer": {
        "memory": Ink("blue"),
        "bandwidth": Ink("green"),
        "interconnect": Ink("orange"),
        "network": Ink("purple"),
        "egress": Ink("sky"),
        "compute": Ink("slate"),
    },
    "state": {
        "active": Ink("green"),
        "held": Ink("sky"),
        "spent": Ink("blue"),
        "free": Ink("slate"),
        "forecast": Ink("blue", "dash"),
    },
    "card_model": {
        "h100-80gb-sxm5": Ink("sky", symbol="circle"),
        "h200-sxm": Ink("blue", symbol="diamond"),
        "h20-96gb": Ink("purple", symbol="square"),
        "a100-80gb-sxm4": Ink("green", symbol="circle"),
        "a800-80gb-sxm4": Ink("orange", symbol="circle"),
        "rtx-4090": Ink("vermilion", symbol="triangle-up"),
        "ascend-910b1": Ink("slate", symbol="hexagon"),
    },
}


def ink(kind: str, key: object) -> Ink:
    """The ink of a named thing; things without a fixed one get theirs from their name, so that
    it stays the same from page to page and day to day. Orange and sky, near to the marks and to
    blue, are left for charts that need them."""
    name = str(key)
    fixed = KNOWN.get(kind, {}).get(name)
    if fixed is not None:
        return fixed
    n = crc32(f"{kind}:{name}".encode())
    if kind == "card_model":
        return Ink(FIRST_HUES[n % 4], symbol=SYMBOLS[n // 4 % len(SYMBOLS)])
    return Ink(FIRST_HUES[n % 4])


def inks(kind: str, keys: list[str]) -> dict[str, Ink]:
    """Inks for the series of one chart: as `ink`, but two series of one chart never share a hue
    while hues are left; the later one in sorted order moves to the next free hue."""
    taken: dict[str, Ink] = {}
    for key in sorted(keys):
        wanted = ink(kind, key)
        used = {other.hue for other in taken.values()}
        if wanted.hue in used and key not in KNOWN.get(kind, {}):
            free = [h for h in HUES if h not in used]
            if free:
                wanted = Ink(free[0], wanted.dash, wanted.symbol)
        taken[key] = wanted
    return taken
