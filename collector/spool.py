"""The durable spool: a SQLite store in WAL mode that survives kill -9.

Readings go in once per tick and are folded to minute rows when their minute is over; both are one
transaction each, so a crash loses at most the tick being written. Rows and gap records share one
sequence. A store that SQLite finds corrupt is set aside and a new epoch begins.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time

from collector.fold import fold
from collector.log import log
from collector.model import COLUMNS, OK, Card, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA_VERSION = 1
KEEP_SET_ASIDE = 2
KEEP_PRUNED = 50
GRACE_S = 2.0  # a minute is folded this long after its end
FSYNC = {"off": ("OFF", "OFF"), "minute": ("NORMAL", "FULL"), "tick": ("FULL", "FULL")}

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS card (
    id INTEGER PRIMARY KEY, vendor TEXT NOT NULL, uuid TEXT NOT NULL, parent TEXT, model TEXT,
    idx INTEGER, state TEXT NOT NULL, state_since REAL NOT NULL, simulated INTEGER NOT NULL,
    labels TEXT NOT NULL, UNIQUE (vendor, uuid));
CREATE TABLE IF NOT EXISTS tick (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, minute INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS row (
    seq INTEGER PRIMARY KEY, card INTEGER NOT NULL, minute INTEGER NOT NULL,
    {", ".join(f"{name} {'TEXT' if kind == 'JSON' else kind}" for name, kind in COLUMNS.items())});
CREATE TABLE IF NOT EXISTS gap (
    seq INTEGER PRIMARY KEY, start REAL NOT NULL, stop REAL NOT NULL, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pruned (
    last_seq INTEGER PRIMARY KEY, start REAL NOT NULL, stop REAL NOT NULL);
"""


class SpoolBusy(Exception):
    """Another agent holds the data folder."""


class Spool:
    """One writer (guarded by a lock), one reader connection for pages.

    ``fsync``: ``off`` trusts the operating system, ``minute`` (default) syncs each folded minute,
    ``tick`` syncs every tick. All of them survive the death of the process; the policy matters
    when the machine loses power.
    """

    def __init__(
        self,
        folder: str,
        *,
        fsync: str = "minute",
        max_age_s: float = 14 * 86400,
        max_bytes: int = 256 * 2**20,
        clock=time.time,
    ) -> None:
        self.folder = folder
        self.path = os.path.join(folder, "spool.sqlite")
        self.max_age_s = max_age_s
        self.max_bytes = max_bytes
        self.clock = clock
        self._tick_sync, self._fold_sync = FSYNC[fsync]
        self._write_lock = threading.RLock()
        self.read_lock = threading.Lock()
        self._cards: dict[tuple[str, str], tuple[int, tuple]] = {}
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._claim_folder()
        self.agent = self._agent_id()
        self._open_or_set_aside()

    def _claim_folder(self) -> None:
        import fcntl

        self._lock_file = open(os.path.join(self.folder, "lock"), "a")  # noqa: SIM115
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock_file.close()
            raise SpoolBusy(f"{self.folder} is in use by another agent") from None

    def _agent_id(self) -> str:
        path = os.path.join(self.folder, "agent-id")
        try:
            with open(path, encoding="ascii") as file:
                agent = file.read().strip()
            if agent:
                return agent
        except (FileNotFoundError, UnicodeDecodeError):
            pass
        agent = os.urandom(8).hex()
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(agent + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)
        return agent

    # opening

    def _open_or_set_aside(self) -> None:
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and not _is_corrupt(error):
                raise
            self.set_aside()

    def _open(self) -> None:
        self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        db = self._db
        db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA cache_size=-512")
        if (answer := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(answer)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise sqlite3.DatabaseError(f"store of a newer version ({version})")
        db.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}COMMIT;")
        have = {name for _, name, *_ in db.execute("PRAGMA table_info(row)")}
        for name, kind in COLUMNS.items():
            if name not in have:
                db.execute(f"ALTER TABLE row ADD COLUMN {name} {kind.replace('JSON', 'TEXT')}")
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        db.execute(f"PRAGMA synchronous={self._tick_sync}")
        fields = ",".join(Reading.FIELDS)
        self.epoch = self._meta("epoch") or self.new_epoch()
        if self._meta("fields") not in (None, fields):
            self.fold_until(None)
        self.set_meta("fields", fields)
        self._reader = sqlite3.connect(
            f"file:{self.path}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        self._reader.execute("PRAGMA cache_size=-512")
        self._cards.clear()

    def set_aside(self) -> str:
        """Rename the corrupt store, begin a new one with a new epoch; says the new name."""
        with self._write_lock, self.read_lock:
            for name in ("_db", "_reader"):
                if (db := getattr(self, name, None)) is not None:
                    db.close()
            since = os.path.getmtime(self.path) if os.path.exists(self.path) else self.clock()
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.clock()))
            aside = os.path.join(self.folder, f"spool-corrupt-{stamp}-{os.urandom(2).hex()}")
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(self.path + suffix):
                    os.replace(self.path + suffix, aside + suffix)
            kept = sorted(
                name
                for name in os.listdir(self.folder)
                if name.startswith("spool-corrupt-") and not name.endswith(("-wal", "-shm"))
            )
            for name in kept[:-KEEP_SET_ASIDE]:
                for suffix in ("", "-wal", "-shm"):
                    if os.path.exists(path := os.path.join(self.folder, name + suffix)):
                        os.remove(path)
            self._open()
            self.add_gap(since, self.clock(), "store_corrupt")
            return aside

    def new_epoch(self) -> str:
        """Begin an epoch; the rows kept stay readable under it."""
        with self._write_lock:
            self.epoch = f"{int(self.clock()):x}{os.urandom(3).hex()}"
            self.set_meta("epoch", self.epoch)
            return self.epoch

    def close(self) -> None:
        with self._write_lock, self.read_lock:
            self._reader.close()
            self._db.close()
            self._lock_file.close()

    # small state

    def _meta(self, key: str) -> str | None:
        with self._write_lock:
            found = self._db.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        return found[0] if found else None

    def meta(self, key: str) -> str | None:
        return self._meta(key)

    def set_meta(self, key: str, value: str) -> None:
        with self._write_lock:
            self._db.execute("REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _next_seq(self) -> int:
        seq = int(self._meta("seq") or 0) + 1
        self.set_meta("seq", str(seq))
        return seq

    # writing

    def card_id(self, card: Card) -> int:
        """The card's row id; makes or updates it."""
        facts = (
            card.parent,
            card.model,
            card.index,
            int(card.simulated),
            json.dumps(card.labels, sort_keys=True),
        )
        cached = self._cards.get(card.key)
        if cached and cached[1] == facts:
            return cached[0]
        self._db.execute(
            "INSERT INTO card (vendor, uuid, parent, model, idx, simulated, labels, state,"
            " state_since) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (vendor, uuid) DO UPDATE SET"
            " parent=excluded.parent, model=excluded.model, idx=excluded.idx,"
            " simulated=excluded.simulated, labels=excluded.labels",
            (*card.key, *facts, OK, self.clock()),
        )
        found = self._db.execute("SELECT id FROM card WHERE vendor=? AND uuid=?", card.key)
        self._cards[card.key] = (found.fetchone()[0], facts)
        return self._cards[card.key][0]

    def set_state(self, key: tuple[str, str], state: str, at: float) -> bool:
        """Record a card's state with the time it began; False when nothing changed."""
        with self._write_lock:
            changed = self._db.execute(
                "UPDATE card SET state=?, state_since=? WHERE vendor=? AND uuid=? AND state<>?",
                (state, at, *key, state),
            )
            return changed.rowcount > 0

    def known_cards(self) -> list[tuple[str, str]]:
        """Identities of all cards ever seen, but those of recordings."""
        with self._write_lock:
            return self._db.execute("SELECT vendor, uuid FROM card WHERE simulated=0").fetchall()

    def store(
        self,
        ticks: Sequence[tuple[float, list[tuple[Card, Reading]]]] = (),
        rows: Sequence[tuple[Card, int, dict[str, object]]] = (),
        meta: dict[str, str] | None = None,
    ) -> None:
        """Store readings ``[(unix time, [(card, reading)])]``, rows that are folded already
        ``[(card, minute, columns)]`` and small state, all in one transaction.
        """
        with self._write_lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for at, batch in ticks:
                    packed = [[self.card_id(card), reading.pack()] for card, reading in batch]
                    self._db.execute(
                        "INSERT INTO tick (at, minute, body) VALUES (?,?,?)",
                        (
                            at,
                            int(at // 60) * 60,
                            json.dumps(packed, separators=(",", ":")),
                        ),
                    )
                for card, minute, row in rows:
                    self._insert_row(self.card_id(card), minute, row)
                if ticks:
                    self.set_meta("last_tick", repr(ticks[-1][0]))
                for key, value in (meta or {}).items():
                    self.set_meta(key, value)
                self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise

    def _rollback(self) -> None:
        self._cards.clear()
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def open_minutes(self) -> list[int]:
        """Minutes with readings that are not folded yet."""
        with self._write_lock:
            found = self._db.execute("SELECT DISTINCT minute FROM tick ORDER BY minute")
            return [minute for (minute,) in found]

    def fold_until(self, until: float | None) -> int:
        """Fold the minutes that ended by ``until`` (None: all); one transaction a minute."""
        rows = 0
        for minute in self.open_minutes():
            if until is None or minute + 60 <= until:
                rows += self._fold_minute(minute)
        return rows

    def _fold_minute(self, minute: int) -> int:
        with self._write_lock:
            fields = tuple((self._meta("fields") or ",".join(Reading.FIELDS)).split(","))
            self._db.execute(f"PRAGMA synchronous={self._fold_sync}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                readings: dict[int, list[tuple[float, Reading]]] = {}
                found = self._db.execute(
                    "SELECT at, body FROM tick WHERE minute=? ORDER BY at, id",
                    (minute,),
                )
                for at, body in found:
                    try:
                        for card, values in json.loads(body):
                            reading = Reading.unpack(values, fields)
                            readings.setdefault(card, []).append((at, reading))
                    except (TypeError, ValueError):
                        log(f"spool: a reading of minute {minute} cannot be read and is left out")
                for card in sorted(readings):
                    try:
                        row = fold(readings[card])
                    except (ArithmeticError, TypeError, ValueError) as error:
                        # kept back it would come again at every tick and hold up all minutes
                        log(f"spool: minute {minute} of card {card} is left out: {error}")
                        continue
                    self._insert_row(card, minute, row)
                self._db.execute("DELETE FROM tick WHERE minute=?", (minute,))
                self._db.execute("COMMIT")
                return len(readings)
            except BaseException:
                self._rollback()
                raise
            finally:
                self._db.execute(f"PRAGMA synchronous={self._tick_sync}")

    def _insert_row(self, card: int, minute: int, row: dict[str, object]) -> None:
        values = [
            json.dumps(row.get(name), separators=(",", ":"))
            if kind == "JSON" and row.get(name) is not None
            else _storable(row.get(name))
            for name, kind in COLUMNS.items()
        ]
        marks = ",".join("?" * (len(values) + 3))
        self._db.execute(
            f"INSERT INTO row (seq, card, minute, {','.join(COLUMNS)}) VALUES ({marks})",
            (self._next_seq(), card, minute, *values),
        )

    def add_gap(self, start: float, stop: float, reason: str) -> None:
        """Record that rows are missing between two times, and why. Synced like a row: a power cut
        must not give the number of a gap that was read to another record.
        """
        with self._write_lock:
            self._db.execute(f"PRAGMA synchronous={self._fold_sync}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute(
                    "INSERT INTO gap VALUES (?,?,?,?)",
                    (self._next_seq(), start, stop, reason),
                )
                self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise
            finally:
                self._db.execute(f"PRAGMA synchronous={self._tick_sync}")

    # retention

    def prune(self, now: float) -> int:
        """Drop rows past the age or beyond the bytes allowed; each drop leaves a gap record."""
        with self._write_lock:
            dropped = self._drop(
                "SELECT max(seq) FROM row WHERE minute < ?", (now - self.max_age_s,)
            )
            while self.bytes_used() > self.max_bytes:
                count = self._db.execute("SELECT count(*) FROM row").fetchone()[0]
                if count == 0:
                    break
                dropped += self._drop(
                    "SELECT max(seq) FROM (SELECT seq FROM row ORDER BY seq LIMIT ?)",
                    (max(1, count // 20),),
                )
            if dropped:
                self._db.execute("PRAGMA incremental_vacuum").fetchall()
            return dropped

    def _drop(self, query: str, parameters: tuple) -> int:
        last = self._db.execute(query, parameters).fetchone()[0]
        if last is None:
            return 0
        self._db.execute("BEGIN IMMEDIATE")
        try:
            start, stop, count = self._db.execute(
                "SELECT min(minute), max(minute) + 60, count(*) FROM row WHERE seq <= ?",
                (last,),
            ).fetchone()
            self._db.execute("DELETE FROM row WHERE seq <= ?", (last,))
            self._db.execute("DELETE FROM gap WHERE seq <= ?", (last,))
            self._db.execute("INSERT INTO pruned VALUES (?,?,?)", (last, start, stop))
            # the oldest records are merged so that the table stays small
            old = self._db.execute(
                "SELECT last_seq, start, stop FROM pruned ORDER BY last_seq DESC LIMIT -1 OFFSET ?",
                (KEEP_PRUNED,),
            ).fetchall()
            if old:
                newest = max(seq for seq, _, _ in old)
                merged = (newest, min(s for _, s, _ in old), max(s for _, _, s in old))
                self._db.execute("DELETE FROM pruned WHERE last_seq <= ?", (newest,))
                self._db.execute("INSERT INTO pruned VALUES (?,?,?)", merged)
            self._db.execute("COMMIT")
        except BaseException:
            self._rollback()
            raise
        return count

    def bytes_used(self) -> int:
        with self._write_lock:
            pages, free, size = (
                self._db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size

    # reading

    def last_tick(self) -> float | None:
        """Time of the newest reading ever stored."""
        text = self._meta("last_tick")
        return float(text) if text else None

    def read(self, query: str, parameters: tuple = ()) -> list[tuple]:
        """Rows of a query on the reader connection; hold ``read_lock`` for a snapshot."""
        return self._reader.execute(query, parameters).fetchall()


def _storable(value: object) -> object:
    """None for a number that SQLite or JSON cannot hold: it must not hold up its whole minute."""
    if isinstance(value, int | float) and not -(2**63) <= value < 2**63:
        return None
    return value


def _is_corrupt(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def is_corrupt(error: sqlite3.Error) -> bool:
    """Whether the error means that the store itself is broken."""
    return _is_corrupt(error)
