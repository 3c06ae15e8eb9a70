"""Channels: rows from some ranks of a group to others, while both go on working.

A channel is made by all ranks of a group together (`Group.channel`). Rows arrive once, or every
rank gets the error that ended the channel. There is one end: when all sources have flushed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.errors import make_error, public_errors, stream_errors
from crossdock.option_checks import integer_of

if TYPE_CHECKING:
    from crossdock import _native

_LEFT = "rank {} left the channel before its end"


class Channel:
    """This rank's ends of a channel. Made by `Group.channel`; use it in a `with` statement.

    Nothing that this rank does keeps another from going on: a call that waits for room takes what
    has arrived for this rank meanwhile, and keeps it for `recv` (within the group's memory budget).
    May be shared between threads; calls take turns. `close` does not wait for another thread's
    call: that gets CD-618.
    """

    def __init__(
        self, native: _native.Channel, schema: pa.Schema, rank: int, *, is_named: bool
    ) -> None:
        """Use `Group.channel`."""
        self._native = native
        self._schema = schema
        self._rank = rank
        self._is_named = is_named

    @property
    def schema(self) -> pa.Schema:
        """The pyarrow.Schema of what is sent."""
        return self._schema

    @property
    def is_source(self) -> bool:
        """Whether this rank may send."""
        return self._native.is_source

    @property
    def is_destination(self) -> bool:
        """Whether this rank receives."""
        return self._native.is_destination

    @property
    def ended(self) -> bool:
        """Whether all sources have flushed, and `recv` has given everything that was for this
        rank."""
        return self._native.is_ended

    @property
    def memory_bytes(self) -> int:
        """Bytes of the channel's buffers in this process."""
        with public_errors():
            return self._native.memory_bytes

    def send(self, rows: Any, *, to: int | None = None) -> None:
        """Sends rows: a table, a batch, or anything else that exports Arrow data.

        Returns when all rows are on their way or in line for it; Ctrl-C interrupts. `to` is the
        number of the destination, its place among the channel's destinations, where the channel
        has no rule of its own or the rule is not wanted.
        Errors: TypeError, ColumnError (not the channel's schema), OptionError, DataError (a text
        longer than a segment, a number that is no destination), CapacityError (what arrived
        meanwhile does not fit the memory budget), ControlError (the channel is over).
        """
        number = self._destination(to)
        for batch in _batches_of(opened_rows(rows)):
            with public_errors():
                self._native.send(self._conformed(batch), number)

    def try_send(self, batch: pa.RecordBatch, *, to: int | None = None) -> bool:
        """Takes the whole batch, without waiting, or answers False: earlier rows still wait for
        room. For programs that have other work meanwhile. Best are some 10,000 rows. Errors as for
        `send`."""
        number = self._destination(to)
        if not isinstance(batch, pa.RecordBatch):
            raise make_error(
                "CD-506",
                f"try_send() takes a pyarrow.RecordBatch, not {type(batch).__name__}",
                try_="send(), which takes anything that exports Arrow data",
            )
        with public_errors():
            return self._native.try_send(self._conformed(batch), number)

    def flush(self) -> None:
        """Says that this rank sends no more, and waits until its rows are where the destinations
        can take them. May be called twice. Errors as for `send`."""
        with public_errors():
            self._native.flush()

    def recv(self, wait_s: float | None = None) -> pa.RecordBatch | None:
        """The next rows for this rank, some thousands at a time, with the columns that were sent;
        dictionaries arrive as their values.

        None at the end (`ended` is true then), or when nothing has come within `wait_s` seconds.
        Without `wait_s` it waits for rows or the end, for which a source must have flushed.
        Errors: OptionError (no destination, no time, not flushed), CapacityError, ControlError.
        """
        if not self.is_destination:
            raise make_error(
                "CD-105",
                f"rank {self._rank} is no destination of the channel",
                try_="group.channel(..., destinations=None) for all ranks",
            )
        if wait_s is not None and not 0 <= wait_s < math.inf:
            raise make_error("CD-105", f"recv(wait_s={wait_s!r}) is no time", try_="wait_s=1.0")
        if wait_s is None and self.is_source and not self._native.is_flushed:
            raise make_error(
                "CD-105",
                "recv() would wait for an end that this rank keeps away, since it has not flushed",
                try_="flush() first, or recv(wait_s=0) for what has come already",
            )
        with public_errors():
            batch = self._native.recv(-1.0 if wait_s is None else wait_s)
        return None if batch is None else pa.record_batch(batch)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Flushes, and gives what arrives for this rank until the end."""
        self.flush()
        while (batch := self.recv()) is not None:
            yield batch

    def by_source(self) -> list[pa.RecordBatch]:
        """Flushes, and gives all that arrives for this rank until the end, the rows of one source
        after those of the one before it, each as it sent them. For modules of this package."""
        self.flush()
        batches: list[tuple[int, pa.RecordBatch]] = []
        with public_errors():
            while (rows := self._native.recv(-1.0)) is not None:
                batches.append((rows.source, pa.record_batch(rows)))
        batches.sort(key=lambda part: part[0])
        return [batch for _, batch in batches]

    def counters(self) -> dict[str, Any]:
        """What this rank knows of the channel, as docs/reference-counters.md says: its flows with
        segments, rows, bytes and stalls, and sends without room."""
        with public_errors():
            return self._native.counters()

    def close(self) -> None:
        """Leaves the channel. Before its end that ends it for all ranks, with CD-618. May be called
        twice."""
        self._native.close(_LEFT.format(self._rank))

    def __enter__(self) -> Channel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is not None:
            what = _LEFT.format(self._rank) + f": {type(error).__name__}: {error}"
            self._native.close(what)
            return
        try:
            self.flush()
            # A rank that has read to its last row may not have asked for the end yet.
            if self.is_destination and not self.ended:
                self.recv()
        finally:
            self.close()

    def _destination(self, to: int | None) -> int:
        if not self.is_source:
            raise make_error(
                "CD-105",
                f"rank {self._rank} is no source of the channel",
                try_="group.channel(..., sources=None) for all ranks",
            )
        if to is None:
            if not self._is_named:
                return -1
            raise make_error(
                "CD-105",
                "the channel has no rule for where rows go",
                try_='send(rows, to=0), or group.channel(..., by="k")',
            )
        number = integer_of(to)
        if number is None or not 0 <= number < 1 << 16:
            raise make_error("CD-105", f"to={to!r} is no number of a destination", try_="to=0")
        return number

    def _conformed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of the channel, by name; other columns are refused, a missing one too."""
        if batch.schema.names == self._schema.names:
            return batch
        missing = sorted(set(self._schema.names) - set(batch.schema.names))
        surplus = sorted(set(batch.schema.names) - set(self._schema.names))
        if missing or surplus:
            raise make_error(
                "CD-101",
                "the rows do not have the columns of the channel",
                missing=", ".join(map(repr, missing)),
                surplus=", ".join(map(repr, surplus)),
                columns=", ".join(self._schema.names),
            )
        return batch.select(self._schema.names)


def opened_rows(rows: Any) -> Any:
    """`rows` as a relation, pyarrow.Table, RecordBatch or RecordBatchReader: with a schema, before
    any row is read. TypeError for what exports no Arrow data."""
    if isinstance(rows, pa.RecordBatch | pa.RecordBatchReader) or hasattr(rows, "to_batches"):
        return rows
    if hasattr(rows, "__arrow_c_stream__"):
        with stream_errors():
            return pa.RecordBatchReader.from_stream(rows)
    if hasattr(rows, "__arrow_c_array__"):
        return pa.record_batch(rows)
    raise make_error(
        "CD-506",
        f"{type(rows).__name__} exports no Arrow data",
        try_="pyarrow.table(...)",
    )


def _batches_of(rows: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(rows, pa.RecordBatch):
        yield rows
    elif isinstance(rows, pa.RecordBatchReader):
        with stream_errors():
            yield from rows
    else:
        yield from rows.to_batches()
