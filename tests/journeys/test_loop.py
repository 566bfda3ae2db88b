"""The closed loop from outside: request, match, approve, rent, measure, report.

Everything is the real thing: web server, Celery worker and collector are processes of their own,
people sign in by the page and work through pages and the API.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from governance.config.env import ROOT
from governance.portal.demo.cast import DOMAIN, PASSWORD
from tests.journeys.living import Living, Person, any_port, wait

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("tidy_servers"),
]
SHANGHAI = ZoneInfo("Asia/Shanghai")
NODE = "journey-01"
SHARE = 0.21
"""Memory bandwidth share of the journey's cards while they work."""


def somebody(system: Living, role: str) -> Person:
    return Person(system.address, f"{role}@{DOMAIN}", PASSWORD)


def wish(tokens: float) -> dict[str, Any]:
    """LoRA of a 70B model, due in three weeks."""
    now = datetime.now(UTC)
    return {
        "business_type": "fine_tuning",
        "starts_at": now.isoformat(),
        "needed_by": (now + timedelta(days=21)).isoformat(),
        "spec": {
            **{"params_b": 70, "method": "lora", "lora_rank": 16, "tokens": tokens},
            **{"seq_len": 2048, "global_batch": 64, "cards_preferred": ["h100-80gb-sxm5"]},
        },
    }


def ask(person: Person, tokens: float) -> dict[str, Any]:
    """A submitted request for the best H100 package."""
    asked = wish(tokens)
    packages = person.api("requests/match/", asked)["packages"]
    best = next(p for p in packages if p["card"] == "h100-80gb-sxm5" and "monthly" in p["costs"])
    body = {**asked, "project": "pretraining", "package": best["key"], "submit": True}
    body["answers"] = {"parallel": "as proposed"}
    return person.api("requests/", body)


def held(person: Person) -> dict[str, Decimal]:
    """What each budget holds."""
    today = datetime.now(SHANGHAI).date().isoformat()
    report = person.api(f"reports/budget/?from={today}&to={today}")
    return {row["budget"]: Decimal(row["held"]) for row in report["rows"]}


def series(file: Path, cards: list[dict[str, Any]], start: datetime, minutes: int) -> None:
    """Rows of a node that works half of each minute, at SHARE of its bandwidth while it does."""
    with file.open("w") as stream:
        for minute in range(minutes):
            at = (start + timedelta(minutes=minute)).isoformat()
            for card in cards:
                row = {
                    **{"minute": at, "card": card, "source": "nvml_gpm"},
                    **{"samples": 60, "active_samples": 30, "bandwidth_mean": SHARE / 2},
                    **{"bandwidth_active_mean": SHARE, "bandwidth_max": SHARE},
                    **{"gpu_duty_mean": 0.5, "sm_mean": 0.3, "power_w_mean": 350.0},
                    **{"memory_total_bytes": 80 * 2**30, "memory_used_bytes_max": 60 * 2**30},
                }
                stream.write(json.dumps(row) + "\n")


@contextmanager
def node(
    system: Living, operator: Person, folder: Path, cards: list[dict[str, Any]], start: datetime
) -> Iterator[str]:
    """A node enrolled by its page, with the real collector playing its series; its page."""
    port = any_port()
    page = operator.post(
        "/nodes/new/",
        **{"name": NODE, "mode": "pull", "address": f"http://127.0.0.1:{port}"},
        **{"interval_seconds": 5, "silent_after_minutes": 10, "labels": ""},
    )
    token = re.search(r"<dt>Token</dt><dd><code>([^<]+)</code>", page.text)
    assert token, re.sub(r"<[^>]+>|\s+", " ", page.text)
    (folder / "token").write_text(token.group(1))
    minutes = int((datetime.now(UTC) - start).total_seconds() // 60)
    series(folder / "series.jsonl", cards, start, minutes)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "collector", "run", "--replay-speed", "max"),
                *("--source", f"replay:{folder / 'series.jsonl'}", "--node", NODE),
                *("--bind", f"127.0.0.1:{port}", "--token-file", str(folder / "token")),
                *("--data-dir", str(folder / "spool")),
            ],
            cwd=ROOT,
            stderr=log,
        )
    try:
        found = re.search(r'href="(/nodes/\d+/)"', page.text)
        assert found
        yield found.group(1)
    finally:
        process.terminate()
        process.wait(30)


def rows(person: Person, name: str, **asked: str) -> list[dict[str, Any]]:
    """A report's rows from yesterday to today."""
    today = datetime.now(SHANGHAI).date()
    span = {"from": (today - timedelta(days=1)).isoformat(), "to": today.isoformat()}
    return person.get(f"/api/v1/reports/{name}/", **span, **asked).json()["rows"]


def test_the_five_steps(demonstration: Living, tmp_path: Path) -> None:
    roles = ("researcher", "approver", "finance", "operator")
    with ExitStack() as stack:
        people = [stack.enter_context(somebody(demonstration, role)) for role in roles]
        walk(demonstration, tmp_path, *people)


def walk(
    system: Living,
    tmp_path: Path,
    researcher: Person,
    approver: Person,
    finance: Person,
    operator: Person,
) -> None:
    """The loop, once around."""
    # 1. A researcher asks and sees ranked packages.
    packages = researcher.api("requests/match/", wish(1e8))["packages"]
    assert [package["rank"] for package in packages] == list(range(1, len(packages) + 1))
    for package in packages:
        assert package["hours_low"] < package["hours"] < package["hours_high"]
        assert set(package["layers"]) >= {"memory", "interconnect", "network", "compute"}
        assert package["bottleneck"]
        assert package["reason"]["text"]
        assert Decimal(package["cost"]) > 0
    request = ask(researcher, 1e8)
    assert request["state"] == "submitted"
    assert request["package"]["card_name"] in researcher.get(f"/requests/{request['id']}/").text

    # 2. Not by oneself; by the approver, with the hold; never over the budget.
    refused = researcher.api(f"requests/{request['id']}/approve/", {}, expect=(403,))
    assert refused["detail"]
    before = held(finance)
    for signer in (approver, finance, approver):
        answer = signer.api(f"requests/{request['id']}/approve/", {}, expect=(200, 403, 409))
        if answer.get("state") == "approved":
            break
    assert answer["state"] == "approved", answer
    grown = {name: amount - before[name] for name, amount in held(finance).items()}
    assert set(grown.values()) - {Decimal(0)} == {Decimal(request["amount"])}

    dear = ask(researcher, 3e10)
    before = held(finance)
    for signer in (approver, finance, approver):
        answer = signer.api(f"requests/{dear['id']}/approve/", {}, expect=(200, 403, 409))
        if answer.get("code", "").startswith("budget") or answer.get("code") == "overspend":
            break
    assert answer["code"], answer
    assert re.search(r"\d[\d,.]*", answer["detail"]), answer
    assert researcher.api(f"requests/{dear['id']}/")["state"] == "submitted"
    assert held(finance) == before

    # 3 and 4. The node's cards, the rental on them, the pulled minutes.
    midnight = datetime.now(SHANGHAI).replace(hour=0, minute=0, second=0, microsecond=0)
    start = midnight - timedelta(days=1)
    count = request["package"]["count"]
    cards = [
        {"vendor": "nvidia", "uuid": f"GPU-{NODE}-{i}", "model": "NVIDIA H100 80GB HBM3",
         "index": i, "simulated": True}
        for i in range(count)
    ]  # fmt: skip
    with node(system, operator, tmp_path, cards, start) as page:
        number = page.strip("/").split("/")[1]
        wait(lambda: len(card_ids(operator, number)) == count, 60)
        rental = buy(operator, request["id"], start, card_ids(operator, number))
        wait(
            lambda: rows(finance, "utilization", group_by="request", request=str(request["id"])), 90
        )
        whole = int(request["package"]["hours_high"]) * count
        wait(lambda: used(finance, request["id"])["card_hours"] >= whole, 120)
    row = used(finance, request["id"])
    assert row["metric_source"] == "nvml_gpm"
    assert row["cards"] == count
    assert row["bandwidth_share_active_mean"] == pytest.approx(SHARE, abs=1e-4)
    assert row["bandwidth_share_mean"] == pytest.approx(SHARE / 2, abs=1e-4)
    assert row["active_share"] == pytest.approx(0.5)
    assert row["under_30_time_share"] == 1.0
    assert row["simulated"] is True

    # 5. The money, and everything as files.
    system.manage(
        "shell", "-c", "from governance.rentals.tasks import charge_rentals as c; c.delay()"
    )
    wait(lambda: rows(finance, "cost", group_by="rental", rental=str(rental)), 60)
    [cost] = rows(finance, "cost", group_by="rental", rental=str(rental))
    assert Decimal(cost["billed"]) > 0
    [compared] = rows(finance, "price-comparison", rental=str(rental))
    assert {"hourly", "monthly"} <= set(compared["costs"])
    for name in ("utilization", "cost", "price-comparison", "budget"):
        page = finance.get(f"/reports/{name}/")
        assert page.status_code == 200
        file = finance.get(f"/reports/{name}.csv")
        assert file.headers["content-type"].startswith("text/csv")
        assert len(file.text.splitlines()) > 1


def card_ids(operator: Person, node_id: str) -> list[int]:
    """Cards of a node, by its page."""
    page = operator.get("/cards/", node=node_id).text
    return sorted({int(number) for number in re.findall(r'href="/cards/(\d+)/"', page)})


def used(person: Person, request_id: int) -> dict[str, Any]:
    """The request's row of the utilisation report; empty while there is none."""
    found = rows(person, "utilization", group_by="request", request=str(request_id))
    assert len(found) <= 1
    return found[0] if found else {}


def buy(operator: Person, request_id: int, start: datetime, cards: list[int]) -> int:
    """The approved package as an hourly rental on these cards."""
    asked = {
        "request": request_id,
        "plan_kind": "hourly",
        "starts_at": start.isoformat(),
        "card_ids": cards,
    }
    return int(operator.api("rentals/", asked)["id"])
