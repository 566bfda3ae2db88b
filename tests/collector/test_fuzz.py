"""Parsers meet arbitrary text: they read it or refuse it in one line, and nothing else."""

from __future__ import annotations

import contextlib
import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.dump import page_of, reader_of
from collector.formats import FORMATS, FormatError
from collector.formats.cells import UNITS, quantity
from collector.formats.prometheus import read_samples
from collector.formats.times import instant
from tests.collector.test_formats import REAL
from tests.collector.test_spool import parse_cursor

ROUNDS = 150
ODD = [
    "",
    "\x00",
    "\ufeff",
    "NaN",
    "-1",
    "9" * 40,
    "{",
    "}",
    '"',
    "<",
    "&",
    ",",
    "\n",
    "[N/A]",
    "é",
]


def mutated(text: str, rng: random.Random) -> str:
    """The text with a few pieces cut, doubled, moved or replaced."""
    for _ in range(rng.randint(1, 4)):
        a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + rng.choice((1, 3, 40, 4000)))
        piece = text[a:b]
        text = (
            rng.choice(
                (
                    text[:a] + text[b:],
                    text[:b] + piece + text[b:],
                    text[:a] + rng.choice(ODD) + text[b:],
                    text[:a] + piece[::-1] + text[b:],
                    text[b:] + text[:a],
                )
            )
            or "x"
        )
    return text


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("form", "name"), REAL)
def test_random_harm_to_real_files(shared_dir: Path, tmp_path: Path, form, name) -> None:
    text = (shared_dir / "data/real" / name).read_text()
    options: dict[str, object] = {"timezone": "UTC", "card": "c"}
    if form == "csv":
        options["columns"] = "gpu_duty_share=utilization.gpu [%],card=index"
    rng = random.Random(name)
    path = tmp_path / "dump"
    read = 0
    for _ in range(ROUNDS):
        path.write_text(mutated(text, rng))
        try:
            got = json.loads(page_of(str(path), form, None, options))
        except FormatError as error:
            message = str(error)
            assert "\n" not in message.strip(), message
            continue
        read += 1
        shares = (got["columns"][c] for c in ("bandwidth_mean", "gpu_duty_mean", "sm_mean"))
        assert all(value is None or 0 <= value <= 1 for values in shares for value in values)
    assert read  # small harm leaves most of a file readable


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300), st.sampled_from(sorted(FORMATS)))
def test_any_text_is_read_or_refused(text: str, form: str) -> None:
    with contextlib.suppress(FormatError):
        list(reader_of(form)(io.StringIO(text), taken=1e9, card="c", timezone="UTC"))


@given(st.text(max_size=40), st.sampled_from(sorted(UNITS)))
def test_any_cell_is_a_figure_or_a_reason(text: str, kind: str) -> None:
    value, reason = quantity(text, kind)
    assert (value is None) != (reason is None)


@given(st.text(max_size=80))
def test_any_time_is_an_instant_or_refused(text: str) -> None:
    with contextlib.suppress(FormatError):
        assert isinstance(instant(text), float)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), st.text(max_size=20), max_size=4
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_labels_survive_quoting(labels: dict[str, str], value: float) -> None:
    from collector.exposition import label

    labels = {key: text.replace("\r", "") for key, text in labels.items()}
    inner = ",".join(f"{key}={label(text)}" for key, text in labels.items())
    line = f"m{{{inner}}} {value!r}"
    if any(character in line for character in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"):
        return
    [(name, found, text, stamp)] = read_samples([line])
    assert (name, found, float(text), stamp) == ("m", labels, value, None)


@given(st.text(max_size=60))
def test_any_cursor_is_read_or_refused(text: str) -> None:
    from collector.page import BadCursor

    try:
        epoch, seq = parse_cursor(text)
    except BadCursor:
        return
    assert (epoch is None) == (text == "")
    assert seq >= 0
