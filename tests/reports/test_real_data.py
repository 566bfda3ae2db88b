"""Traces of others through importer, roll-up and `manage.py report`.

Right answers: `data/checks.md` beside the real files; nothing is summed here."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from governance.reports.domain.kpis import sums_of
from governance.telemetry.domain.columns import SHARE
from governance.telemetry.domain.rollup import Usage, add, figures
from tests import make

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(240)]


@pytest.fixture
def real(shared_dir: Path) -> Path:
    return shared_dir / "data" / "real"


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def report(name: str, first: str, last: str, **options: str) -> dict[str, Any]:
    asked = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
    told: dict[str, Any] = json.loads(
        run("report", name, f"--from={first}", f"--to={last}", *asked)
    )
    return told


TEAMS = {
    "vc6YE": (60066.9167, 69888, 0.859474),
    "vcLJZ": (19348.5333, 21504, 0.899764),
    "vcgkz": (2203.6, 2688, 0.819792),
    "vchbv": (8610.8, 21504, 0.400428),
    "vcira": (0, 8064, 0),
    "vcvlY": (15574.2833, 32256, 0.482834),
}
SEVENTH = {
    "vc6YE": 4584.7833,
    "vcLJZ": 1536,
    "vcgkz": 192,
    "vchbv": 1061.8833,
    "vcira": 0,
    "vcvlY": 1075.35,
}


def test_six_teams_of_a_real_cluster(house: make.House, real: Path) -> None:
    """120,960 rows: 105,804.1333 of 155,904.0 GPU-hours allotted, 67.8649 %, by team and day."""
    run(
        "import_occupancy",
        str(real / "helios-teams" / "earth_6teams_2020-05-01_14_1min.csv.gz"),
        "--timezone=Asia/Shanghai",
        "--columns=timestamp=time,group=team,cards_owned=total_gpu_num,"
        "cards_allotted=running_gpu_num,cards_waiting=pending_gpu_num",
    )
    told = report("occupancy", "2020-05-01", "2020-05-14", timezone="Asia/Shanghai")
    found = {row["group"]: row for row in told["rows"]}
    assert set(found) == set(TEAMS)
    for team, (allotted, owned, share) in TEAMS.items():
        assert float(found[team]["allotted_gpu_hours"]) == pytest.approx(allotted, abs=5e-5)
        assert float(found[team]["owned_gpu_hours"]) == owned
        assert found[team]["allotted_share"] == pytest.approx(share, abs=5e-7)
    total = told["total"]
    assert float(total["allotted_gpu_hours"]) == pytest.approx(105804.1333, abs=5e-5)
    assert float(total["owned_gpu_hours"]) == 155904.0
    assert total["allotted_share"] == pytest.approx(0.678649, abs=5e-7)
    day = report("occupancy", "2020-05-07", "2020-05-07", timezone="Asia/Shanghai")
    for row in day["rows"]:
        assert float(row["allotted_gpu_hours"]) == pytest.approx(SEVENTH[row["group"]], abs=5e-5)
    under = [team for team, row in found.items() if row["allotted_share"] < 0.3]
    assert under == ["vcira"]
    days = report("occupancy", "2020-05-01", "2020-05-14", timezone="Asia/Shanghai", group_by="day")
    assert len(days["rows"]) == 14
    assert days["total"] == total


def test_a_table_of_eight_thousand_jobs(house: make.House, real: Path) -> None:
    run(
        "import_jobs",
        str(real / "jobs" / "philly_style_8000jobs.csv"),
        "--format=csv",
        "--origin=2017-10-03T00:00:00+00:00",
        "--unit=minute",
        "--columns=job_id=job_id,group=user,cards=num_gpu,submitted=submit_time,duration=duration",
    )
    told = report("jobs", "2017-10-01", "2017-12-31", timezone="UTC")
    total = told["total"]
    assert (total["jobs"], total["jobs_without_cards"]) == (8000, 55)
    assert float(total["gpu_time"]) == 5915469
    assert len(told["rows"]) == 11
    found = {row["group"]: float(row["gpu_time"]) for row in told["rows"]}
    assert found["vc_0e4a51"] == 691989
    assert found["vc_103959"] == 685908
    assert found["vc_b436b2"] == 575108


def test_the_series_give_the_answers_by_card(house: make.House, real: Path) -> None:
    run(
        "import_telemetry",
        str(real / "series" / "h100ish_8cards_150s.csv"),
        "--format=csv",
        "--columns=card=gpu_index,gpu_duty_share=utilization_gpu_percent,power_w=power_W",
        "--scale=percent",
    )
    whole = report("utilization", "2025-09-24", "2025-09-24", timezone="UTC", group_by="none")
    [row] = whole["rows"]
    assert row["cards"] == 8
    assert row["gpu_duty_mean"] == pytest.approx(0.984844, abs=5e-7)
    assert row["power_mean_w"] == pytest.approx(386.673, abs=5e-4)
    assert row["bandwidth_share_mean"] is None
    assert row["metric_source"] == "unknown"
    by_card = report("utilization", "2025-09-24", "2025-09-24", timezone="UTC", group_by="card")
    means = sorted(round(100 * one["gpu_duty_mean"], 4) for one in by_card["rows"])
    assert means == sorted([98.6338, 98.1753, 98.7230, 98.5070, 98.3599, 98.3912, 98.4961, 98.5884])


def test_a_duty_cycle_is_reported_as_a_bound(house: make.House, real: Path) -> None:
    run(
        "import_telemetry",
        str(real / "series" / "rtx_20gb_1card_5s_2h40.csv"),
        "--format=csv",
        "--columns=0=timestamp,1=gpu_duty_share,2=bandwidth_share,3=memory_used_bytes,6=power_w",
        "--timezone=UTC",
        "--card=rtx",
        "--source=nvml_duty_uncorrected",
    )
    told = report("utilization", "2026-04-25", "2026-04-25", timezone="UTC", group_by="card")
    [row] = told["rows"]
    assert row["gpu_duty_mean"] == pytest.approx(0.01430577, abs=5e-9)
    assert row["bandwidth_share_mean"] == pytest.approx(0.01131045, abs=5e-9)
    assert row["bandwidth_share_active_mean"] == pytest.approx(0.194196, abs=5e-7)
    assert row["power_mean_w"] == pytest.approx(16.5209, abs=5e-5)
    assert row["fidelity"] == "duty_bound"
    assert any("at most" in note for note in told["notes"])


def test_a_mean_over_machines_is_weighted(real: Path) -> None:
    """A machine's figure is a sum over its cards: weighted by cards it is 26.0472 %, by cards and
    seconds 29.4515 %, not the 24.5826 % of the machines' own means."""
    rows = list(
        csv.DictReader(
            io.StringIO(
                (real / "series" / "pai_machine_gpu_sample.csv").read_text(encoding="utf-8")
            )
        )
    )
    assert sum(float(row["gpu_util_per_gpu"]) > 100 for row in rows) == 5
    for seconds, wanted in ((False, 0.260472), (True, 0.294515)):
        weights = [int(r["cap_gpu"]) * (int(r["duration_sec"]) if seconds else 1) for r in rows]
        parts = [
            round(float(r["machine_gpu"]) / int(r["cap_gpu"]) / 100 * SHARE) * weight
            for r, weight in zip(rows, weights, strict=True)
        ]
        whole = sums_of(gpu_duty_total=sum(parts), gpu_duty_weight=sum(weights))
        assert figures(whole)["gpu_duty_mean"] == pytest.approx(wanted, abs=5e-7)


def test_sums_of_parts_weigh_by_samples() -> None:
    """Eight cards at 10 % and one at 100 %: 20 %, whatever the cut."""
    eight = {"bandwidth_total": 8 * SHARE // 10, "bandwidth_samples": 8}
    one = {"bandwidth_total": SHARE, "bandwidth_samples": 1}
    whole: Usage = sums_of(**{key: eight[key] + one[key] for key in eight})
    assert figures(whole)["bandwidth_share_mean"] == pytest.approx(0.2)
    assert add([]).histogram == sums_of().histogram
