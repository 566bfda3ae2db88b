"""Cards read by a vendor's program: Ascend by npu-smi, AMD by rocm-smi or amd-smi.

One caller, one call at a time: npu-smi guards itself against many callers and answers nothing.
"""

from __future__ import annotations

import re
import shutil
import subprocess

from collector.formats import FormatError
from collector.model import Card, Reading
from collector.sources import Unavailable
from collector.sources.polled import Polled

EVERY_S = 10.0
TIMEOUT_S = 20.0


def output(command: list[str]) -> str:
    """What a program prints; raises Unavailable when it is missing, fails or hangs."""
    name = command[0].rsplit("/", 1)[-1]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise Unavailable(f"{name}:not_found", "the program is not installed") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{name}:hung", f"no answer in {TIMEOUT_S:g} s") from None
    except OSError as error:
        raise Unavailable(f"{name}:failed", error.strerror or str(error)) from None
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        detail = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise Unavailable(f"{name}:failed", detail.splitlines()[-1] if detail else "no output")
    return text


# Ascend


class NpuSmi:
    """Ascend cards by ``npu-smi info -t usages``; the vdie id of a chip is looked up once."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._vdies: dict[tuple[str, str], str | None] = {}

    def ask(self) -> tuple[list[tuple[Card, Reading]], None]:
        from collector.formats.npu_smi import usages

        found: list[tuple[Card, Reading]] = []
        for npu in self._npus():
            text = output([self._program, "info", "-t", "usages", "-i", npu])
            try:
                for card, reading in usages(text.splitlines(), npu=npu):
                    found.append((self._named(card, reading), reading))
            except FormatError as error:
                raise Unavailable("npu-smi:bad_payload", str(error)) from None
        if not found:
            raise Unavailable("no_cards", "npu-smi lists no NPU")
        return found, None

    def _npus(self) -> list[str]:
        listing = output([self._program, "info", "-l"])
        return list(dict.fromkeys(re.findall(r"NPU ID\s*:\s*(\d+)", listing, re.ASCII)))

    def _named(self, card: Card, reading: Reading) -> Card:
        npu, chip = re.findall(r"\d+", card.uuid)
        if (npu, chip) not in self._vdies:
            try:
                board = output([self._program, "info", "-t", "board", "-i", npu, "-c", chip])
                match = re.search(r"VDie ID\s*:\s*([0-9A-Fa-f][0-9A-Fa-f \-]+)", board)
                vdie = "-".join(match.group(1).split()).upper() if match else None
            except Unavailable:
                vdie = None
            self._vdies[npu, chip] = vdie
        if vdie := self._vdies[npu, chip]:
            reading.reasons = [code for code in reading.reasons if code != "identity_by_index"]
            return Card("ascend", vdie, model=card.model, index=card.index)
        return card


def ask_npu_exporter(url: str) -> tuple[list[tuple[Card, Reading]], str | None]:
    """One scrape of npu-exporter; its own times show whether it still measures."""
    from collector.fetch import FetchError, fetch
    from collector.formats.npu_exporter import scrape

    try:
        _, _, body = fetch(url)
        found = scrape(body.decode("utf-8", "replace").splitlines())
    except FetchError as error:
        raise Unavailable("npu-exporter:unreachable", str(error)) from None
    except FormatError as error:
        raise Unavailable("npu-exporter:empty_payload", str(error)) from None
    times = {str(stamp) for stamp, _, _ in found if stamp is not None}
    return [(card, reading) for _, card, reading in found], ",".join(sorted(times)) or None


def ascend(program: str, url: str | None) -> Polled:
    """Ascend cards: npu-exporter where its address is given, else npu-smi."""
    if url:
        return Polled("ascend", lambda: ask_npu_exporter(url), every=EVERY_S)
    return Polled("ascend", NpuSmi(program).ask, every=EVERY_S)


# AMD


def ask_amd(command: list[str]) -> tuple[list[tuple[Card, Reading]], None]:
    from collector.formats.amd import cards_of

    try:
        return cards_of(output(command)), None
    except FormatError as error:
        name = command[0].rsplit("/", 1)[-1]
        raise Unavailable(f"{name}:bad_payload", str(error)) from None


def amd(rocm_smi: str, amd_smi: str) -> Polled:
    """AMD cards: rocm-smi where it is installed, else amd-smi (not verified on hardware)."""
    command = [rocm_smi, "-a", "--json"]
    if shutil.which(rocm_smi) is None and shutil.which(amd_smi) is not None:
        command = [amd_smi, "metric", "--json"]
    return Polled("amd", lambda: ask_amd(command), every=EVERY_S)
