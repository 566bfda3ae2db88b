"""Tables of schedulers and inventories: read whole, or refused with line and column."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from governance.telemetry.domain import inventory, jobs, occupancy
from governance.telemetry.domain.jobs import Clock
from governance.telemetry.domain.tabular import TableFault
from governance.telemetry.models import InventoryEntry, Job, MinuteSample, Node, Occupancy

SHANGHAI = ZoneInfo("Asia/Shanghai")
HEAD = "timestamp,group,cards_owned,cards_allotted,cards_waiting"


class TestOccupancy:
    def read(self, *lines: str, columns: str | None = None) -> list[occupancy.Held]:
        return occupancy.read([line + "\n" for line in lines], columns=columns, local=SHANGHAI)

    def test_a_row_holds_until_the_next_but_not_across_a_hole(self) -> None:
        rows = self.read(
            HEAD,
            "2026-11-01 00:00:00,a,8,4,0",
            "2026-11-01 00:05:00,a,8,5,",
            "2026-11-01 00:10:00,a,8,6,1",
            "2026-11-01 03:00:00,a,8,7,1",
        )
        assert [row.seconds for row in rows] == [300, 300, 300, 300]
        assert rows[0].at == datetime(2026, 10, 31, 16, tzinfo=UTC)
        assert [row.waiting for row in rows] == [0, None, 1, 1]

    def test_groups_have_a_step_each(self) -> None:
        rows = self.read(
            HEAD,
            "2026-11-01T00:00:00Z,b,1,1,",
            "2026-11-01T01:00:00Z,b,1,1,",
            "2026-11-01T00:00:00Z,a,1,1,",
        )
        assert [(row.group, row.seconds) for row in rows] == [("a", 60), ("b", 3600), ("b", 3600)]

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("yesterday,a,8,4,0", "line 2, timestamp: “yesterday” is not a time"),
            ("2026-11-01 00:00:00,,8,4,0", "line 2, group"),
            ("2026-11-01 00:00:00,a,-1,4,0", "line 2, cards_owned: “-1” is not a whole number"),
            ("2026-11-01 00:00:00,a,8,4.5,0", "line 2, cards_allotted"),
            ("2026-11-01 00:00:00,a,8,NaN,0", "line 2, cards_allotted"),
            ("2026-11-01 00:00:00,a", "line 2: the row is cut short"),
        ],
    )
    def test_a_bad_row_is_named(self, line: str, words: str) -> None:
        with pytest.raises(TableFault, match=words):
            self.read(HEAD, line)

    def test_a_time_without_zone_needs_one(self) -> None:
        with pytest.raises(TableFault, match="give one with --timezone"):
            occupancy.read([HEAD, "2026-11-01 00:00:00,a,8,4,0"])

    def test_two_rows_that_disagree_are_refused(self) -> None:
        with pytest.raises(TableFault, match="line 3: a has another row"):
            self.read(HEAD, "2026-11-01 00:00:00,a,8,4,0", "2026-11-01 00:00:00,a,8,5,0")

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            ("timestamp=when", "no such column; the file has"),
            ("colour=red", "NAME of timestamp, group"),
            ("timestamp", "write NAME=HEADER"),
            ("0=timestamp,group=team", "mixes numbers and header names"),
        ],
    )
    def test_a_wrong_mapping_is_explained(self, columns: str, words: str) -> None:
        with pytest.raises(TableFault, match=words):
            self.read(HEAD, "2026-11-01 00:00:00,a,8,4,0", columns=columns)

    def test_a_missing_column_is_named(self) -> None:
        with pytest.raises(TableFault, match="the column cards_allotted is missing"):
            self.read("timestamp,group,cards_owned", "2026-11-01 00:00:00,a,8")


SACCT = """JobID|User|Account|AllocTRES|Submit|Start|End|Elapsed|State|NodeList
101|mia|vision|billing=8,cpu=64,gres/gpu=8,mem=512G,node=1|2026-11-01T08:00:00|2026-11-01T08:05:00|2026-11-01T10:05:00|02:00:00|COMPLETED|gpu01
101.batch||vision|cpu=64,gres/gpu=8|2026-11-01T08:05:00|2026-11-01T08:05:00|2026-11-01T10:05:00|02:00:00|COMPLETED|gpu01
102_7|tom|speech|cpu=4,gres/gpu:a100=16,gres/gpu=16|2026-11-01T09:00:00|2026-11-01T09:00:00|Unknown|1-00:00:01|RUNNING|gpu[02-03,11]
103|ann|speech||2026-11-01T09:00:00|Unknown|Unknown|00:00:00|PENDING|None assigned
"""


class TestJobs:
    def sacct(self, text: str) -> dict[str, jobs.JobFact]:
        lines = text.splitlines(keepends=True)
        return {job.job_id: job for job in jobs.read(lines, form="sacct", clock=Clock(SHANGHAI))}

    def test_parsable_sacct(self) -> None:
        found = self.sacct(SACCT)
        assert sorted(found) == ["101", "102_7", "103"]
        first, array, waiting = found["101"], found["102_7"], found["103"]
        assert (first.group, first.person, first.cards) == ("vision", "mia", 8)
        assert first.seconds == 7200
        assert first.started_at == datetime(2026, 11, 1, 0, 5, tzinfo=UTC)
        assert (array.cards, array.seconds, array.ended_at) == (16, 86_401, None)
        assert array.nodes == ("gpu02", "gpu03", "gpu11")
        assert (waiting.cards, waiting.started_at, waiting.nodes) == (0, None, ())

    def test_sacct_in_columns(self) -> None:
        text = (
            "JobID     User  Account         AllocTRES               Start  Elapsed\n"
            "------ -------- -------- ---------------- ------------------- --------\n"
            "7           mia   vision cpu=8,gres/gpu=2 2026-11-01T08:00:00 00:30:00\n"
        )
        found = self.sacct(text)["7"]
        assert (found.group, found.cards, found.seconds) == ("vision", 2, 1800)

    def test_relative_times(self) -> None:
        origin = datetime(2026, 10, 1, tzinfo=UTC)
        lines = ["job_id,user,num_gpu,submit_time,duration\n", "1,vc,4,90,2.5\n"]
        [job] = jobs.read(lines, form="csv", clock=Clock(origin=origin, unit="minute"))
        assert job.submitted_at == datetime(2026, 10, 1, 1, 30, tzinfo=UTC)
        assert (job.group, job.person, job.cards, job.seconds) == ("vc", "", 4, 150)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("1,a,four,0,1", "line 2, cards: “four”"),
            ("1,a,4,soon,1", "line 2, submitted: “soon” is not a number"),
            ("1,a,4,0,-1", "line 2, duration: “-1” is out of range"),
            (",a,4,0,1", "line 2, job_id"),
        ],
    )
    def test_a_bad_row_is_named(self, line: str, words: str) -> None:
        clock = Clock(origin=datetime(2026, 10, 1, tzinfo=UTC))
        lines = ["job_id,user,num_gpu,submit_time,duration\n", line + "\n"]
        with pytest.raises(TableFault, match=words):
            jobs.read(lines, form="csv", clock=clock)

    def test_a_job_twice_with_other_figures_is_refused(self) -> None:
        lines = ["job_id,group,cards\n", "1,a,4\n", "1,a,4\n", "1,a,5\n"]
        with pytest.raises(TableFault, match="line 4: job 1 is there twice"):
            jobs.read(lines, form="csv", clock=Clock())

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("", []),
            ("n1", ["n1"]),
            ("n[1-3]", ["n1", "n2", "n3"]),
            ("n[08-10,12],m", ["n08", "n09", "n10", "n12", "m"]),
            ("a[1]-ib,b[2-3]x", ["a1-ib", "b2x", "b3x"]),
        ],
    )
    def test_host_lists(self, text: str, wanted: Sequence[str]) -> None:
        assert list(jobs.hosts(text)) == wanted

    @given(st.text(max_size=40))
    def test_any_host_list_ends(self, text: str) -> None:
        assert len(list(jobs.hosts(text))) < 100_000


def test_an_inventory_names_a_machine_once_per_model() -> None:
    lines = ["node,card_model,cards\n", "n1,H100,8\n", "n1,H100,8\n"]
    with pytest.raises(TableFault, match="line 3: n1 with H100 is there twice"):
        inventory.read(lines)


@pytest.mark.django_db
class TestCommands:
    def refused(self, *arguments: str) -> str:
        with pytest.raises(CommandError) as caught:
            call_command(*arguments, stdout=StringIO())
        return str(caught.value)

    def test_nothing_is_half_done(self, tmp_path: Path) -> None:
        bad = tmp_path / "bad.csv"
        bad.write_text(f"{HEAD}\n2026-11-01 00:00:00,a,8,4,0\n2026-11-01 00:01:00,a,8,x,0\n")
        said = self.refused("import_occupancy", str(bad), "--timezone=UTC")
        assert said.startswith(f"{bad}: line 3, cards_allotted")
        bad.write_text("job_id,group,cards\n1,a,1\n2,a,x\n")
        assert "line 3, cards" in self.refused("import_jobs", str(bad))
        bad.write_text("node,card_model,cards\nn1,H100,8\nn2,H100,-1\n")
        assert "line 3, cards" in self.refused("import_nodes", str(bad))
        bad.write_text("timestamp,card,gpu_duty_share\nnow,GPU-1,0.5\n")
        assert "line 2" in self.refused("import_telemetry", str(bad), "--format=csv")
        counts = (Occupancy, Job, InventoryEntry, MinuteSample, Node)
        assert [model.objects.count() for model in counts] == [0] * 5

    def test_what_is_not_there_or_not_text(self, tmp_path: Path) -> None:
        gone = tmp_path / "gone.csv"
        assert self.refused("import_jobs", str(gone)) == f"{gone}: No such file or directory"
        gone.write_bytes(b"\xff\xfe\x00")
        assert "not UTF-8" in self.refused("import_nodes", str(gone))
        assert "--timezone Mars" in self.refused("import_occupancy", str(gone), "--timezone=Mars")
        assert "--origin x" in self.refused("import_jobs", str(gone), "--origin=x")

    def test_a_job_is_brought_up_to_date(self, tmp_path: Path) -> None:
        file = tmp_path / "cluster.csv"
        out = StringIO()
        for state in ("RUNNING", "COMPLETED", "COMPLETED"):
            file.write_text(f"job_id,group,cards,state\n1,a,4,{state}\n")
            call_command("import_jobs", str(file), stdout=out)
        assert [line.split(": ")[1] for line in out.getvalue().splitlines()] == [
            "1 new, 0 changed, 0 there already",
            "0 new, 1 changed, 0 there already",
            "0 new, 0 changed, 1 there already",
        ]
        assert Job.objects.get().state == "COMPLETED"
