"""Bulk loading by COPY.

One function, `copy_csv`: rows as CSV bytes in chunks, any iterable. The chunks are read while
the server works, so a generator that encodes the next chunk overlaps with the server's work.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from django.db.backends.utils import CursorWrapper

_EMPTY = "\x00"


BUFFER = 1 << 22
"""Bytes handed over at a time: fewer turns between encoding and sending."""


class _Chunks:
    """The `read` side of a file over an iterable of byte chunks, as psycopg2 wants it."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        if size < 0 or size >= len(self._rest):
            piece, self._rest = self._rest, b""
        else:
            piece, self._rest = self._rest[:size], self._rest[size:]
        return piece


def csv_chunks(rows: Iterable[Sequence[object]], size: int = 2_000) -> Iterator[bytes]:
    """Rows as CSV bytes for `copy_csv`, `size` rows a chunk; None is NULL, "" an empty text."""
    batch = io.StringIO()
    writer = csv.writer(batch, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    for number, row in enumerate(rows, 1):
        writer.writerow([_EMPTY if value == "" else value for value in row])
        if number % size == 0:
            yield batch.getvalue().replace(_EMPTY, '""').encode()
            batch.seek(0)
            batch.truncate()
    yield batch.getvalue().replace(_EMPTY, '""').encode()


def copy_csv(
    cursor: CursorWrapper, table: str, columns: Sequence[str], chunks: Iterable[bytes]
) -> int:
    """COPY `chunks` (CSV without header, an empty unquoted field is NULL) into `table`.

    Returns the number of rows stored. Errors are Django's; the caller owns the
    transaction and, where a clash is expected, the savepoint.
    """
    quote = cursor.db.ops.quote_name
    names = ", ".join(quote(column) for column in columns)
    with cursor.db.wrap_database_errors:
        cursor.copy_expert(
            f"COPY {quote(table)} ({names}) FROM STDIN WITH (FORMAT csv)",
            _Chunks(chunks),
            BUFFER,
        )
    return int(cursor.rowcount)
