"""Owners of processes and throughput of the node, read from made-up /proc and /sys trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.attribution import JobFiles, Processes
from collector.model import COLUMNS
from collector.nodeio import NodeRates
from tests.collector.conftest import ROOT

HOST = "pid:[4026531836]"
CONTAINER = "3f" * 32


class Proc:
    """A /proc of made-up processes."""

    def __init__(self, folder: Path, namespace: str = HOST) -> None:
        self.folder = folder
        (folder / "self/ns").mkdir(parents=True)
        (folder / "self/ns/pid").symlink_to(namespace)

    def add(self, pid: int, cgroup: str = "0::/user.slice", state: str = "S") -> None:
        home = self.folder / str(pid)
        home.mkdir()
        rest = " ".join(["0"] * 18 + [str(1000 + pid)])
        (home / "stat").write_text(f"{pid} (a (strange) name) {state} {rest}\n")
        (home / "cgroup").write_text(cgroup + "\n")


def test_processes_are_grouped_by_user_job_and_container(tmp_path: Path) -> None:
    proc = Proc(tmp_path)
    slurm = "0::/system.slice/slurmstepd.scope/job_4242/step_0/user/task_0"
    proc.add(1, slurm)
    proc.add(2, slurm)
    proc.add(3, f"0::/kubepods.slice/cri-containerd-{CONTAINER}.scope")
    proc.add(4, f"12:memory:/docker/{CONTAINER}\n1:name=systemd:/slurm/uid_1000/job_7/step_1")
    owners, reasons = Processes(str(tmp_path)).summary([(1, 10), (2, 20), (3, 5), (4, None)])
    assert reasons == []
    found = [(o["job"], o["container"], o["count"], o["memory_bytes"]) for o in owners]
    assert found == [
        ("4242", None, 2, 30),
        (None, CONTAINER[:12], 1, 5),
        ("7", CONTAINER[:12], 1, None),
    ]
    assert {owner["user"] for owner in owners} == {
        "root" if os.getuid() == 0 else owners[0]["user"]
    }


def test_the_dead_and_the_undead_are_orphans_and_nothing_breaks(tmp_path: Path) -> None:
    proc = Proc(tmp_path)
    proc.add(1)
    proc.add(2, state="Z")
    owners, reasons = Processes(str(tmp_path)).summary([(1, 10), (2, 100), (99, 1000)])
    assert reasons == ["processes:orphan"]
    assert [(bool(o.get("orphan")), o["memory_bytes"]) for o in owners] == [
        (True, 1100),
        (False, 10),
    ]


def test_without_the_hosts_process_ids_nobody_is_named(tmp_path: Path) -> None:
    proc = Proc(tmp_path, "pid:[4026532201]")
    proc.add(1)  # a stranger with the same number inside the container
    owners, reasons = Processes(str(tmp_path)).summary([(1, 10)])
    assert reasons == ["processes:pid_namespace"]
    assert [(o["user"], o["count"], o["memory_bytes"]) for o in owners] == [(None, 1, 10)]


def test_a_process_id_that_is_used_again_is_looked_up_again(tmp_path: Path) -> None:
    proc = Proc(tmp_path)
    proc.add(1, "0::/slurm/job_1/step")
    processes = Processes(str(tmp_path))
    assert processes.summary([(1, 1)])[0][0]["job"] == "1"
    for name in ("stat", "cgroup"):
        path = tmp_path / "1" / name
        path.write_text(path.read_text().replace("1001", "2002").replace("job_1", "job_2"))
    assert processes.summary([(1, 1)])[0][0]["job"] == "2"
    assert processes.summary([]) == ([], [])
    assert processes._known == {}


def test_only_the_largest_owners_are_kept(tmp_path: Path) -> None:
    proc = Proc(tmp_path)
    for pid in range(1, 30):
        proc.add(pid, f"0::/slurm/job_{pid}/step")
    owners, _ = Processes(str(tmp_path)).summary([(pid, pid) for pid in range(1, 30)])
    assert [owner["job"] for owner in owners] == [str(pid) for pid in range(29, 21, -1)]


def test_job_files(tmp_path: Path) -> None:
    (tmp_path / "GPU-1").write_text("55 bob\n")
    (tmp_path / "GPU-2").write_text("")
    files = JobFiles(str(tmp_path))
    assert files.owner("GPU-1") == ("55", "bob", None)
    assert files.owner("GPU-2") == (None, None, None)
    (tmp_path / "1").write_text("66")
    assert files.owner("GPU-2") == (None, None, "job_file_ambiguous")
    assert JobFiles(str(tmp_path / "none")).owner("GPU-1") == (None, None, "job_files_unreadable")
    with_job, _ = files.add("GPU-1", [{"user": "root", "job": None}])
    assert with_job == [{"user": "root", "job": "55"}]


def _node(folder: Path, rx: int, read: int, physical: bool) -> None:
    (folder / "proc/net").mkdir(parents=True, exist_ok=True)
    lines = ["head", "head"]
    for name, count in (("lo", 10**9), ("eth0", rx), ("veth1", 7 * rx)):
        lines.append(f"  {name}: {count} 0 0 0 0 0 0 0 {2 * count} 0 0 0 0 0 0 0")
        (folder / "sys/class/net" / name).mkdir(parents=True, exist_ok=True)
    if physical:
        (folder / "sys/class/net/eth0/device").mkdir(exist_ok=True)
    (folder / "proc/net/dev").write_text("\n".join(lines) + "\n")
    for disk in ("nvme0n1", "loop0", "dm-0"):
        home = folder / "sys/block" / disk
        home.mkdir(parents=True, exist_ok=True)
        (home / "stat").write_text(f"1 0 {read} 0 1 0 {3 * read} 0 0 0 0\n")


@pytest.mark.parametrize(("physical", "factor"), [(True, 1), (False, 8)])
def test_throughput_of_the_node(tmp_path: Path, physical: bool, factor: int) -> None:
    now = [100.0]
    rates = NodeRates(str(tmp_path / "proc"), str(tmp_path / "sys"), clock=lambda: now[0])
    _node(tmp_path, rx=1000, read=10, physical=physical)
    assert rates.read() == {}
    now[0] += 1
    assert rates.read() == {}  # looked at every few seconds only
    now[0] += 9
    _node(tmp_path, rx=6000, read=30, physical=physical)
    assert rates.read() == {
        "net_rx_bytes_per_s": 500 * factor,
        "net_tx_bytes_per_s": 1000 * factor,
        "disk_read_bytes_per_s": 20 * 512 / 10,
        "disk_write_bytes_per_s": 60 * 512 / 10,
    }
    now[0] += 10
    _node(tmp_path, rx=10, read=40, physical=physical)
    found = rates.read()
    assert "net_rx_bytes_per_s" not in found  # counters that fell give no figure
    assert found["disk_read_bytes_per_s"] == 512.0


def test_a_node_without_proc_gives_nothing(tmp_path: Path) -> None:
    now = [0.0]
    rates = NodeRates(str(tmp_path), str(tmp_path), clock=lambda: now[0])
    assert rates.read() == {}
    now[0] += 10
    assert rates.read() == {}


def test_the_documentation_names_every_column() -> None:
    text = (ROOT / "docs/collector.md").read_text()
    assert [name for name in ("seq", "card", "minute", *COLUMNS) if f"`{name}`" not in text] == []
