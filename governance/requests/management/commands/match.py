"""Match a request described by options."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from governance.catalog.domain import OfferView, load_presets
from governance.kernel.errors import DomainError, Invalid
from governance.kernel.reasons import Reason
from governance.matching import MatchResult, RequestSpec, match, to_json
from governance.matching.files import BadFile, read_offers
from governance.matching.model import of_preset
from governance.matching.trace import BadTrace, read_trace, size
from governance.plumbing import clock
from governance.requests.domain.spec import NAMES, read_spec


class Command(BaseCommand):
    help = "Ranked packages for a request; or, with --trace, what a log of requests asks for."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("--offers", metavar="FILE.csv", help="offers of a native price sheet")
        parser.add_argument("--trace", metavar="FILE", help="a log: time, tokens in, tokens out")
        for field in fields(RequestSpec):
            name = "--" + field.name.replace("_", "-")
            if field.type == "bool":
                parser.add_argument(name, action="store_true", default=None)
            else:
                parser.add_argument(name)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["trace"]:
                self._trace(options)
            else:
                self._match(options)
        except Invalid as error:
            option = "--" + (error.field or "").replace("_", "-")
            self._refuse([f"{option}: {error}" if error.field else str(error)])
        except DomainError as error:
            self._refuse([str(error)])
        except (BadFile, BadTrace) as bad:
            self._refuse(getattr(bad, "faults", [str(bad)]))
        except (OSError, UnicodeDecodeError) as error:
            self._refuse([str(error)])

    def _spec(self, options: dict[str, Any]) -> RequestSpec:
        given = {name: options[name] for name in NAMES if options.get(name) is not None}
        return read_spec(given, load_presets())

    def _match(self, options: dict[str, Any]) -> None:
        result = match(self._spec(options), self._offers(options["offers"]), now=clock.now())
        if options["json"]:
            self._print(told(result))
        else:
            self._table(result)

    def _offers(self, file: str | None) -> list[OfferView]:
        if file is not None:
            return read_offers(Path(file).read_text(encoding="utf-8-sig"))
        from governance.catalog.queries import offers_on

        return offers_on(clock.now().date())

    def _table(self, result: MatchResult) -> None:
        for p in result.packages:
            self.stdout.write(
                f"{p.rank:>3} {p.count:>4} x {p.card_name:<22} {p.vendor:<12} {p.hours:>9.1f} h "
                f"({p.hours_low:.1f}-{p.hours_high:.1f}) {p.cost:>14} {p.currency} "
                f"{p.best_term:<9} {p.bottleneck:<12} {p.reason}"
            )
        for r in result.rejected:
            self.stdout.write(f"  - {r.card:<25} {r.vendor:<12} {r.reason}")

    def _trace(self, options: dict[str, Any]) -> None:
        calls = read_trace(Path(options["trace"]).read_text(encoding="utf-8-sig"))
        spec = self._spec(options)
        model = of_preset(load_presets()[spec.preset]) if spec.preset else None
        sizing = size(
            calls,
            stream_rate=spec.stream_tokens_per_s or 30.0,
            bytes_per_event=spec.bytes_per_event,
            headroom=spec.headroom,
            model=model,
        )
        answer = to_json(sizing)
        if options["json"]:
            self._print(answer)
            return
        for name, value in answer.items():
            if value is not None:
                self.stdout.write(
                    f"{name:<18} {value:,.6g}"
                    if value != int(value)
                    else f"{name:<18} {int(value):,}"
                )

    def _print(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))

    def _refuse(self, faults: list[str]) -> None:
        for fault in faults:
            self.stderr.write(fault)
        sys.exit(1)


def told(result: MatchResult) -> Any:
    """The result as JSON, with each reason in words and whether and how full memory is."""
    answer = worded(to_json(result))
    for package, cells in zip(result.packages, answer["packages"], strict=True):
        memory = package.memory
        cells["memory"] |= {"total": memory.total, "share": memory.share, "fits": memory.fits}
    return answer


def worded(value: Any) -> Any:
    """The value with `words` beside each message id."""
    if isinstance(value, list):
        return [worded(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: worded(item) for key, item in value.items()}
    if set(value) == {"code", "text", "params"}:
        found["words"] = str(Reason(value["code"], value["text"], value["params"]))
    return found
