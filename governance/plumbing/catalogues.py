"""Message catalogues without GNU gettext: Babel extracts, merges, compiles and checks them.

Each room has one catalogue, `locale/ROOM/zh_Hans/LC_MESSAGES/django.po`, made from its Python
files and templates.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

LANGUAGE = "zh_Hans"
KEYWORDS = {**DEFAULT_KEYWORDS, "N_": None, "gettext_lazy": None, "_": None}
KEYWORDS |= {"ngettext_lazy": (1, 2), "pgettext_lazy": ((1, "c"), 2), "pgettext": ((1, "c"), 2)}


class Catalogues:
    """The catalogues of a source tree."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def rooms(self) -> list[str]:
        """Rooms that may have texts: every package of governance."""
        return sorted(p.parent.name for p in (self.root / "governance").glob("*/__init__.py"))

    def path(self, room: str) -> Path:
        return self.root / "locale" / room / LANGUAGE / "LC_MESSAGES" / "django.po"

    def extract(self, room: str) -> Catalog:
        """A fresh template catalogue of the room's texts, without line numbers (fewer clashes)."""
        catalog = Catalog(domain="django", locale=LANGUAGE, charset="utf-8", fuzzy=False)
        for source in self._python(room):
            with source.open("rb") as file:
                self._add(catalog, source, extract("python", file, KEYWORDS, ["Translators:"]))
        for source in sorted((self.root / "templates" / room).rglob("*.*")):
            if source.suffix in {".html", ".txt"}:
                text = templatize(source.read_text(encoding="utf-8"), origin=str(source))
                lines = "\n".join(line.lstrip() for line in text.splitlines())
                found = extract("python", io.BytesIO(lines.encode()), KEYWORDS, ["Translators:"])
                self._add(catalog, source, found)
        return catalog

    def _python(self, room: str) -> Iterator[Path]:
        for source in sorted((self.root / "governance" / room).rglob("*.py")):
            if "migrations" not in source.parts:
                yield source

    def _add(self, catalog: Catalog, source: Path, found: object) -> None:
        where = source.relative_to(self.root).as_posix()
        for _line, message, comments, context in found:  # type: ignore[attr-defined]
            catalog.add(message, None, [(where, 0)], auto_comments=comments, context=context)

    def stored(self, room: str) -> Catalog:
        """What is translated so far; empty where the room has no catalogue yet."""
        if not self.path(room).exists():
            return Catalog(domain="django", locale=LANGUAGE, charset="utf-8")
        with self.path(room).open("rb") as file:
            return read_po(file, locale=LANGUAGE)

    def update(self, room: str) -> int:
        """Merge new texts into the stored catalogue; returns how many texts it has."""
        catalog, template = self.stored(room), self.extract(room)
        catalog.update(template, no_fuzzy_matching=True, update_header_comment=False)
        catalog.obsolete.clear()
        if len(catalog):
            self.path(room).parent.mkdir(parents=True, exist_ok=True)
            out = io.BytesIO()
            catalog.project, catalog.version, catalog.fuzzy = "Compute Ledger", "1", False
            catalog.header_comment = ""
            write_po(out, catalog, width=100, sort_output=True, include_lineno=False)
            text = re.sub(
                rb'^"(POT-Creation|PO-Revision|Report-Msgid|Generated-By|Last-Translator|Language-Team)'
                rb".*\n",
                b"",
                out.getvalue(),
                flags=re.M,
            )
            self.path(room).write_bytes(text)
        return len(catalog)

    def compile(self) -> int:
        """Write the .mo files; returns how many."""
        done = 0
        for source in sorted((self.root / "locale").glob(f"*/{LANGUAGE}/LC_MESSAGES/django.po")):
            with source.open("rb") as file:
                catalog = read_po(file, locale=LANGUAGE)
            out = io.BytesIO()
            write_mo(out, catalog)
            target = source.with_suffix(".mo")
            if not target.exists() or target.read_bytes() != out.getvalue():
                target.write_bytes(out.getvalue())
            done += 1
        return done

    def faults(self) -> list[str]:
        """One line per missing, fuzzy, contradicting or malformed translation."""
        faults: list[str] = []
        words: dict[tuple[object, object], tuple[str, object]] = {}
        for room in self.rooms():
            stored = self.stored(room)
            for message in self.extract(room):
                if not message.id:
                    continue
                key = message.id if isinstance(message.id, str) else message.id[0]
                known = stored.get(message.id, context=message.context)
                if known is None or not all(_strings(known.string)):
                    faults.append(f"{room}: no translation of “{key}”")
                    continue
                if known.fuzzy:
                    faults.append(f"{room}: fuzzy translation of “{key}”")
                if _places(message.id) != _places(known.string):
                    faults.append(f"{room}: the places of “{key}” differ in its translation")
                first = words.setdefault((message.id, message.context), (room, known.string))
                if first[1] != known.string:
                    faults.append(f"{room}: “{key}” is translated otherwise in {first[0]}")
        return faults


def _places(texts: object) -> set[str]:
    return {place for text in _strings(texts) for place in re.findall(r"%\(\w+\)[sd]", text)}


def _strings(string: object) -> tuple[str, ...]:
    return (string,) if isinstance(string, str) else tuple(string)  # type: ignore[arg-type]
