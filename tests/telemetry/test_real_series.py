"""Series and tables that nobody here wrote, through the importers and the roll-up.

Right answers: `data/checks.md` beside the real files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command

from governance.kernel.periods import Period
from governance.telemetry import queries
from governance.telemetry.domain.sources import Fidelity, Source
from tests import make

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(180)]


@pytest.fixture
def real(shared_dir: Path) -> Path:
    return shared_dir / "data" / "real"


def run(*arguments: str, **options: object) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


def usage(
    house: make.House, start: datetime, days: int = 1, by: tuple[str, ...] = ("none",)
) -> list[queries.UsageRow]:
    period = Period(start, start + timedelta(days=days))
    return queries.usage(
        house.operator, period=period, tz="UTC", group_by=by, now=start + timedelta(days=days)
    )


def test_h100_eight_cards(house: make.House, real: Path) -> None:
    run(
        "import_telemetry",
        str(real / "series" / "h100ish_8cards_150s.csv"),
        "--format=csv",
        "--columns=card=gpu_index,gpu_duty_share=utilization_gpu_percent,power_w=power_W",
        "--scale=percent",
    )
    day = datetime(2025, 9, 24, tzinfo=UTC)
    [whole] = usage(house, day)
    assert whole.cards == 8
    assert whole.usage.sums["samples"] == 8 * 639
    assert whole.figures["gpu_duty_mean"] == pytest.approx(0.984844, abs=5e-7)
    assert whole.figures["power_w_mean"] == pytest.approx(386.673, abs=5e-4)
    assert whole.source is Source.UNKNOWN
    assert whole.figures["bandwidth_share_mean"] is None
    cards = sorted(usage(house, day, by=("card",)), key=lambda one: str(one.group["card"]))
    means = sorted(round(100 * float(one.figures["gpu_duty_mean"] or 0), 4) for one in cards)
    wanted = [98.6338, 98.1753, 98.7230, 98.5070, 98.3599, 98.3912, 98.4961, 98.5884]
    assert means == sorted(wanted)


def test_rtx_two_hours_forty(house: make.House, real: Path) -> None:
    arguments = (
        "import_telemetry",
        str(real / "series" / "rtx_20gb_1card_5s_2h40.csv"),
        "--format=csv",
        "--columns=0=timestamp,1=gpu_duty_share,2=bandwidth_share,3=memory_used_bytes,6=power_w",
        "--timezone=UTC",
        "--card=rtx",
        "--source=nvml_duty_uncorrected",
    )
    first = run(*arguments)
    [found] = usage(house, datetime(2026, 4, 25, tzinfo=UTC))
    assert found.usage.sums["samples"] == 1923
    assert found.fidelity is Fidelity.DUTY_BOUND
    assert found.figures["gpu_duty_mean"] == pytest.approx(0.01430577, abs=5e-9)
    assert found.figures["bandwidth_share_mean"] == pytest.approx(0.01131045, abs=5e-9)
    assert found.usage.sums["active_samples"] == 112
    assert found.figures["bandwidth_share_active_mean"] == pytest.approx(0.194196, abs=5e-7)
    assert found.figures["power_w_mean"] == pytest.approx(16.5209, abs=5e-5)
    assert "161 minutes stored, 0 there already" in first
    assert "0 minutes stored, 161 there already" in run(*arguments)
    assert usage(house, datetime(2026, 4, 25, tzinfo=UTC))[0].figures == found.figures


def test_v100s(house: make.House, real: Path) -> None:
    run(
        "import_telemetry",
        str(real / "series" / "v100s_1card_1s.csv"),
        "--format=csv",
        "--columns=card=index,gpu_duty_share=utilization.gpu [%],"
        "bandwidth_share=utilization.memory [%],model=name",
        "--timezone=UTC",
    )
    [found] = usage(house, datetime(2025, 6, 13, tzinfo=UTC))
    assert found.usage.sums["samples"] == 107
    assert found.figures["gpu_duty_mean"] == pytest.approx(0.036729, abs=5e-7)
    assert found.figures["bandwidth_share_mean"] == pytest.approx(0.003178, abs=5e-7)


def test_smi_dumps_agree_with_the_answers(house: make.House, real: Path) -> None:
    """A day for each dump: their masked UUIDs are the same in several of them."""
    folder = real / "nvidia-smi-xml"
    known = under = 0
    for place, dump in enumerate(sorted(folder.glob("*.xml"))):
        run(
            "import_telemetry",
            str(dump),
            "--format=nvidia-smi-xml",
            f"--at=2026-11-{1 + place:02}T00:00:00Z",
            f"--node=dump-{place}",
        )
    rows = usage(house, datetime(2026, 11, 1, tzinfo=UTC), days=14, by=("card", "day"))
    for found in rows:
        duty = found.figures["memory_duty_mean"]
        if duty is not None:
            known += 1
            under += duty < 0.3
    assert (known, under) == (22, 20)


def test_helios_occupancy(house: make.House, real: Path) -> None:
    file = str(real / "helios-teams" / "earth_6teams_2020-05-01_14_1min.csv.gz")
    said = run("import_occupancy", file, "--timezone=Asia/Shanghai")
    assert "120960 rows of 6 groups: 120960 new" in said
    tz = ZoneInfo("Asia/Shanghai")
    period = Period(datetime(2020, 5, 1, tzinfo=tz), datetime(2020, 5, 15, tzinfo=tz))
    rows = queries.occupancy(house.operator, period=period, tz=tz)
    hours = {
        row.group: (round(row.allotted_seconds / 3600, 4), row.owned_seconds / 3600) for row in rows
    }
    assert hours == {
        "vc6YE": (60_066.9167, 69_888),
        "vcLJZ": (19_348.5333, 21_504),
        "vcgkz": (2_203.6, 2_688),
        "vchbv": (8_610.8, 21_504),
        "vcira": (0, 8_064),
        "vcvlY": (15_574.2833, 32_256),
    }
    total = sum(row.allotted_seconds for row in rows) / sum(row.owned_seconds for row in rows)
    assert total == pytest.approx(0.678649, abs=5e-7)


def test_philly_jobs(house: make.House, real: Path) -> None:
    arguments = (
        "import_jobs",
        str(real / "jobs" / "philly_style_8000jobs.csv"),
        "--columns=group=user,cards=num_gpu,submitted=submit_time",
        "--origin=2026-10-01T00:00:00Z",
        "--unit=minute",
    )
    assert "8000 jobs of 11 groups: 8000 new" in run(*arguments)
    assert "0 new, 0 changed, 8000 there already" in run(*arguments)
    period = Period(datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))
    rows = {row.group: row for row in queries.jobs(house.operator, period=period)}
    assert len(rows) == 11
    assert sum(row.jobs for row in rows.values()) == 8_000
    assert sum(row.without_cards for row in rows.values()) == 55
    assert sum(row.card_seconds for row in rows.values()) == 5_915_469 * 60
    largest = sorted(rows.values(), key=lambda row: -row.card_seconds)[:3]
    assert [(row.group, row.card_seconds // 60) for row in largest] == [
        ("vc_0e4a51", 691_989),
        ("vc_103959", 685_908),
        ("vc_b436b2", 575_108),
    ]


def test_pai_inventory(house: make.House, real: Path) -> None:
    said = run(
        "import_nodes",
        str(real / "jobs" / "pai_machine_spec_noheader.csv"),
        "--columns=0=node,1=card_model,4=cards",
    )
    assert "1897 nodes, 1814 with cards, 6742 cards" in said
    counts = dict(line.split("  ")[0].split(": ") for line in said.splitlines()[1:])
    assert counts == {
        "MISC": "2240",
        "P100": "1596",
        "T4": "994",
        "V100": "832",
        "V100M32": "1080",
    }
    assert "MISC: 2240  not in the catalogue" in said
