"""The command line: options from flags, environment and TOML; once, doctor, parse, replay."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from collector.model import Reading
from collector.settings import OPTIONS, SettingsError, load, server_token
from collector.sources.replay import Replay, load_events, parse_speed
from collector.spool import Spool
from tests.collector.conftest import ROOT, run_collector, uuid
from tests.collector.running import TOKEN, Running
from tests.collector.test_push import make_certificate
from tests.collector.test_spool import page

# settings


def test_a_flag_wins_over_environment_over_file_over_default(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('interval = 2\nkeep-days = 3\nbind = "[::1]:9000"\nopen-metrics = true\n')
    settings = load({"interval": "5"}, str(config), {"COLLECTOR_KEEP_DAYS": "4"})
    assert settings.interval == 5
    assert settings.keep_days == 4
    assert settings.bind == "[::1]:9000"
    assert settings.open_metrics is True
    assert settings.fsync == "minute"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("intervall = 1\n", "unknown key 'intervall'"),
        ("interval = 0\n", "interval is a number from 0.1 to 60"),
        ('fsync = "always"\n', "off, minute, tick"),
        ("bind = 8000\n", "bind is text"),
        ('open-metrics = "maybe"\n', "true or false"),
        ("interval = \n", "line 1"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    config = tmp_path / "c.toml"
    config.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load({}, str(config), {})


def test_the_token_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    settings = load({"data_dir": str(tmp_path)}, None, {})
    token = server_token(settings)
    assert len(token) >= 32
    assert server_token(settings) == token
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    (tmp_path / "other").write_text("")
    with pytest.raises(SettingsError, match="the file is empty"):
        server_token(load({"token_file": str(tmp_path / "other")}, None, {}))


def test_help_tells_every_option() -> None:
    text = run_collector("run", "--help").stdout
    for name, *_ in OPTIONS:
        assert f"--{name.replace('_', '-')}" in text


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["fly"], 2, "invalid choice"),
        (["run", "--interval", "never"], 2, "collector: --interval: 'never' is not right"),
        (["run", "--source", "replay:/nonexistent.csv"], 1, "No such file"),
        (["run", "--source", "magic"], 1, "use auto, nvml"),
        (["run", "--source", "replay:x", "--loop", "--replay-speed", "max"], 1, "never ends"),
        (["run", "--bind", "nowhere", "--data-dir", "{tmp}"], 1, "write HOST:PORT"),
        (["run", "--config", "/nonexistent.toml"], 2, "--config /nonexistent.toml: No such file"),
        (["run", "--data-dir", "/proc/none", "--bind", "none"], 1, "--data-dir /proc/none"),
        (["run", "--tls-cert", "/nonexistent", "--data-dir", "{tmp}"], 1, "--tls-cert"),
        (["parse", "/nonexistent", "--format", "csv"], 1, "/nonexistent: No such file"),
        (["parse", "-", "--format", "pdf"], 2, "invalid choice"),
    ],
)
def test_wrong_usage_is_one_clear_line(tmp_path: Path, arguments, status, line) -> None:
    done = run_collector(*(argument.format(tmp=tmp_path) for argument in arguments))
    assert done.returncode == status
    assert line in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_store_that_cannot_be_opened_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "spool.sqlite").mkdir()
    done = run_collector("run", "--data-dir", str(tmp_path), "--bind", "none")
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line == f"collector: --data-dir {tmp_path}: spool.sqlite: unable to open database file"


@pytest.mark.parametrize("command", ["run", "once", "doctor"])
def test_a_missing_binding_is_one_clear_line(tmp_path: Path, command: str) -> None:
    (tmp_path / "pynvml.py").write_text("raise ImportError('none here')\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = run_collector(
        *[command, "--source", "nvml", "--data-dir", str(tmp_path / "d"), "--bind", "none"],
        env=environment,
    )
    assert done.returncode == 1
    assert "install nvidia-ml-py" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_json_is_utf8_whatever_the_locale_says(tmp_path: Path) -> None:
    series = "timestamp,card,power_w\n2026-05-01T10:00:00Z,\u4e2d,5\n"
    done = subprocess.run(
        [sys.executable, "-m", "collector", "parse", "-", "--format", "csv"],
        input=series.encode("utf-8-sig"),
        capture_output=True,
        cwd=ROOT,
        timeout=50,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode())["cards"][0]["uuid"] == "\u4e2d"


def test_standard_input_that_is_no_text_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "collector", "parse", "-", "--format", "dcgm"],
        input=b"DCGM\xff\xfe",
        capture_output=True,
        cwd=ROOT,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (1, b"collector: standard input: not UTF-8 text\n")


# once, doctor


def test_once_prints_one_whole_reading(stub) -> None:
    done = run_collector("once", "--interval", "0.3", env=stub.environment())
    assert done.returncode == 0
    cards = json.loads(done.stdout)["cards"]
    assert [card["uuid"] for card in cards] == [uuid(number) for number in range(8)]
    assert cards[3]["bandwidth"] == pytest.approx(0.23, abs=1e-6)
    assert cards[3]["temperature_c"] == 53
    assert set(cards[0]) >= set(Reading.FIELDS)


def test_doctor_says_what_each_card_gets_and_why(stub) -> None:
    stub.tell("nogpm 1", "gpm 2 4", "mig 3 1", "card 4 15", "handle 5 15")
    done = run_collector("doctor", "--interval", "0.3", env=stub.environment())
    text = done.stdout
    assert done.returncode == 0
    assert "libnvidia-ml.so.1 can be loaded" in text
    assert "GPM" in text
    assert "no_gpm" in text
    assert "gpm:no_permission" in text
    assert "unsupported_mig" in text
    assert "index 5" in text
    assert "lost" in text


def test_doctor_without_any_card_says_so(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": "/nonexistent"}
    done = run_collector("doctor", "--dcgm-url", "http://127.0.0.1:9/metrics", env=environment)
    assert done.returncode == 1
    assert "nothing can be read" in done.stdout


# replay

SERIES = "timestamp,card,bandwidth_share,gpu_duty_share\n" + "".join(
    f"2026-05-01T10:{second // 60:02d}:{second % 60:02d}Z,{card},0.{2 + card}5,0.9\n"
    for second in range(0, 300, 10)
    for card in range(2)
)


@pytest.fixture
def series(tmp_path: Path) -> str:
    path = tmp_path / "series.csv"
    path.write_text(SERIES)
    return str(path)


def player(series: str, **options) -> Replay:
    events = load_events(series, {"metric_source": "nvml_gpm", "node": "n1"})
    defaults = {"speed": None, "loop": False, "shift": None}
    return Replay(series, events, **{**defaults, **options})


def test_recorded_times_are_kept(spool: Spool, series: str) -> None:
    import threading

    player(series).play(spool, threading.Event())
    columns = page(spool)["columns"]
    assert columns["minute"][:2] == [1777629600, 1777629600]
    assert columns["samples"] == [6] * 10
    assert set(columns["bandwidth_mean"]) == {0.25, 0.35}
    assert [card["uuid"] for card in page(spool)["cards"]] == ["n1/0", "n1/1"]
    assert not page(spool)["cards"][0]["simulated"]
    player(series).play(spool, threading.Event())  # a restart goes on behind the last reading
    assert page(spool)["columns"] == columns


def test_history_that_ends_now_and_goes_on_live(spool: Spool, series: str) -> None:
    import threading

    now = [1_800_000_000.0]
    spool.clock = lambda: now[0]
    stop = threading.Event()
    replay = player(series, shift="end", loop=True, clock=lambda: now[0])
    thread = threading.Thread(target=replay.play, args=(spool, stop))
    thread.start()
    deadline = time.monotonic() + 5
    while len(page(spool)["columns"]["seq"]) < 8 and time.monotonic() < deadline:
        time.sleep(0.02)
    columns = page(spool)["columns"]
    stop.set()
    thread.join(10)
    assert len(columns["seq"]) in (8, 10)
    assert all(now[0] - 420 < minute < now[0] for minute in columns["minute"])
    assert page(spool)["cards"][0]["simulated"] is True
    assert page(spool)["cards"][0]["labels"]["simulated"] == "true"


def test_folded_rows_are_played_when_their_minute_is_over(spool: Spool, tmp_path: Path) -> None:
    import threading

    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join(
            json.dumps(
                {
                    "minute": f"2026-05-01T10:0{minute}:00+00:00",
                    "card": {"vendor": "nvidia", "uuid": "GPU-1", "model": "NVIDIA A800"},
                    "source": "nvml_gpm",
                    "samples": 60,
                    "bandwidth_mean": 0.4,
                    "bandwidth_histogram": [0] * 8 + [60] + [0] * 11,
                }
            )
            + "\n"
            for minute in range(3)
        )
    )
    events = load_events(str(path), {})
    Replay(str(path), events, speed=None, loop=False, shift=None).play(spool, threading.Event())
    columns = page(spool)["columns"]
    assert columns["minute"] == [1777629600, 1777629660, 1777629720]
    assert columns["fidelity"] == ["dram_bw"] * 3
    assert columns["bandwidth_histogram"][0][8] == 60


def test_cards_that_are_read_at_different_times_stay_present(tmp_path: Path) -> None:
    path = tmp_path / "apart.csv"
    path.write_text(
        "timestamp,card,power_w\n"
        + "".join(f"2026-05-01T10:00:{second:02d}Z,{second % 2},5\n" for second in range(60))
    )
    arguments = ["--source", f"replay:{path}", "--replay-speed", "max"]
    running = Running(tmp_path / "d", dict(os.environ), *arguments)
    try:
        running.until(lambda: running.page()["columns"]["seq"])
        assert {card["state"] for card in running.page()["cards"]} == {"ok"}
        text = running.get("/metrics")[2].decode()
        assert text.count("gpu_power_watts{") == 2
    finally:
        running.stop()


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan", "inf"])
def test_a_wrong_speed_is_refused(text: str) -> None:
    from collector.formats import FormatError

    with pytest.raises(FormatError, match="factor"):
        parse_speed(text)


def test_replay_in_a_process_of_its_own(tmp_path: Path, series: str) -> None:
    arguments = ["--source", f"replay:{series}", "--metric-source", "dcgm_1005"]
    running = Running(tmp_path / "d", dict(os.environ), *arguments, "--replay-speed", "max")
    try:
        answer = running.until(lambda: (p := running.page())["columns"]["seq"][9:] and p)
        assert set(answer["columns"]["source"]) == {"dcgm_1005"}
        assert running.get("/readyz")[0] == 200
    finally:
        assert running.stop() == 0


def test_parse_prints_a_page_and_nothing_else(series: str) -> None:
    done = run_collector("parse", series, "--format", "csv", "--metric-source", "nvml_gpm")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["format"] == 1
    assert answer["columns"]["samples"] == [6] * 10
    again = json.loads(
        run_collector("parse", series, "--format", "csv", "--metric-source", "nvml_gpm").stdout
    )
    assert again["epoch"] == answer["epoch"]


# packaging


def test_only_what_is_needed_is_loaded(stub) -> None:
    """The agent on NVML loads no HTTP client, no TLS, no e-mail, no logging."""
    heavy = ["ssl", "http", "email", "logging", "urllib.request", "hashlib", "inspect"]
    code = (
        "import sys; from collector import cli, agent, spool, routes, web\n"
        "from collector.settings import load\n"
        "from collector.sources.choose import live_source\n"
        "import time; live_source(load({'data_dir': '/tmp'}, None, {})).poll(time.time())\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    environment = stub.environment()
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "[]"


def test_tls_and_client_certificates(tmp_path: Path, stub) -> None:
    certificate, key = make_certificate(tmp_path, "agent")
    known, known_key = make_certificate(tmp_path, "client")
    running = Running(
        tmp_path / "data",
        stub.environment(),
        *["--tls-cert", str(certificate), "--tls-key", str(key), "--client-ca", str(known)],
    )
    try:
        context = ssl.create_default_context(cafile=str(certificate))
        request = urllib.request.Request(
            f"https://127.0.0.1:{running.port}/v1/samples",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        with pytest.raises((urllib.error.URLError, OSError)):
            urllib.request.urlopen(request, context=context, timeout=5).read()
        context.load_cert_chain(known, known_key)
        with urllib.request.urlopen(request, context=context, timeout=5) as answer:
            assert json.loads(answer.read())["format"] == 1
    finally:
        assert running.stop() == 0
