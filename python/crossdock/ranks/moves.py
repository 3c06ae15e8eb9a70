"""Rows between ranks: in bulk where MPI started all of them, else through channels; few rows go
eagerly, with what ranks agree on anyway.

In bulk, rows are counted first, and then each is written once to where it ends, in memory that the
ranks of a host share, or by a put. Through a channel they go in segments, and are copied on both
sides. Few rows of every rank are in all of them when these have agreed to move rows, and each takes
what is for it. Either way they arrive in the order of the ranks and, of each rank, in the order of
its rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.orders import Order
from crossdock.group import Group
from crossdock.values.engine_types import empty_table
from crossdock.values.row_taking import filter_rows, table_bytes

EAGERLY = "eagerly"  # how few rows move
_SEGMENTS_BYTES = 1 << 29  # of one channel in one rank: fewer bytes per segment among many ranks


@dataclass(frozen=True)
class Move:
    """Rows that went between ranks, as this one saw it; bytes are those of the columns. Phases, and
    the bytes that went to others, are known where rows went in bulk."""

    rule: str
    how: str
    sent_rows: int
    sent_bytes: int
    received_rows: int
    received_bytes: int
    seconds: float
    phases: list[dict[str, Any]] = field(default_factory=list)
    wire_bytes: int | None = None


@dataclass(frozen=True)
class JoinRoute:
    """How the rows of a join went: straight into partitions, or as tables, and why these."""

    on: tuple[str, ...]  # keys of its left side
    how: str
    reason: str = ""  # of tables
    unless: str = ""  # of a plan: what only the rows can tell


@dataclass(frozen=True)
class Filtered:
    """What a filter did to the rows of this rank; bytes are those of the columns."""

    keys: list[str]
    side: str
    rows: int | None  # None: of a stream, whose rows are not counted
    kept_rows: int
    dropped_bytes: int
    filter_bytes: int
    expected_share: float  # of rows that pass


@dataclass(frozen=True)
class Route:
    """Where the rows of a table go: by options of Group.channel; or, if these say no more than
    ranks, all of them there; or by `to`, a column of ranks that does not travel; or by `pieces`, so
    many rows to rank 0, 1 and so on; or by an order over all ranks, which is for moves in bulk.
    """

    rule: str
    options: dict[str, Any] = field(default_factory=dict)
    to: str = ""
    pieces: Sequence[int] = ()
    orders: tuple[Order, ...] = ()


def move_in_bulk(
    group: Group, table: pa.Table, route: Route, threads: int
) -> tuple[pa.Table, dict[str, Any]]:
    """What comes to this rank, and the facts of the exchange. Collective, for a rank that fails,
    too: the others get its error."""
    options: dict[str, Any] = dict(route.options)
    if route.to:
        numbers = table.column(route.to).cast(pa.uint16()).combine_chunks()
        table = table.drop_columns([route.to])
        options["named"] = b"" if not len(numbers) else numbers.buffers()[1]
    elif route.pieces:
        options["named"] = b"".join(
            rank.to_bytes(2, sys.byteorder) * rows for rank, rows in enumerate(route.pieces)
        )
    elif route.orders:
        options["orders"] = route.orders
    moved = group.move(table, threads=threads, **options)
    return conformed(moved, table.schema), group.exchange_facts or {}


def move_by_channel(group: Group, table: pa.Table, route: Route) -> pa.Table:
    """What comes to this rank."""
    options = {**route.options, "segment_bytes": segment_bytes(group.size)}
    if route.to:
        options["to"] = route.to
    is_named = not {"by", "to", "broadcast"} & options.keys()
    with group.channel(table.schema, **options) as channel:
        if route.pieces:
            for distance in range(group.size):
                to = (group.rank + distance) % group.size
                begin = sum(route.pieces[:to])
                channel.send(table.slice(begin, route.pieces[to]), to=to)
        else:
            channel.send(table, to=0 if is_named else None)
        batches = channel.by_source() if channel.is_destination else []
    schema = table.schema
    received = pa.Table.from_batches(batches) if batches else empty_table(schema)
    received = conformed(received, schema)
    return received.drop_columns([route.to]) if route.to else received


def packed_eagerly(table: pa.Table, most_bytes: int) -> bytes | None:
    """The table as an IPC stream; None if that has more bytes."""
    if table_bytes(table) > most_bytes:
        return None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed = sink.getvalue()
    return packed.to_pybytes() if packed.size <= most_bytes else None


def unpacked_eagerly(packed: bytes) -> pa.Table:
    """The table of `packed_eagerly`."""
    return pa.ipc.open_stream(packed).read_all()


def can_go_eagerly(route: Route) -> bool:
    """Whether a rank can tell which rows of all are for it: not by a hash, bounds or an order."""
    return not route.orders and not {"by", "bounds"} & route.options.keys()


def arriving(
    tables: Sequence[pa.Table], pieces: Sequence[Sequence[int]], route: Route, rank: int
) -> pa.Table:
    """What of the rows of all ranks is for this one; `pieces`: those of the route of each rank."""
    if route.to:
        kept = [filter_rows(table, pc.equal(table.column(route.to), rank)) for table in tables]
        return pa.concat_tables(kept).drop_columns([route.to])
    if route.pieces:
        cut = [
            table.slice(sum(its_pieces[:rank]), its_pieces[rank])
            for table, its_pieces in zip(tables, pieces, strict=True)
        ]
        return pa.concat_tables(cut)
    destinations = route.options.get("destinations")
    is_mine = destinations is None or rank in destinations
    return pa.concat_tables(tables) if is_mine else tables[rank].slice(0, 0)


def segment_bytes(ranks: int) -> int:
    """Of a channel among so many ranks."""
    return max(16 << 10, min(256 << 10, _SEGMENTS_BYTES // (16 * ranks)))


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """What arrived, with the types that were sent: dictionaries arrive as their values."""
    if table.schema == schema:
        return table
    columns = []
    for column, field_ in zip(table.columns, schema, strict=True):
        if column.type == field_.type:
            columns.append(column)
        elif pa.types.is_dictionary(field_.type):
            columns.append(column.dictionary_encode().cast(field_.type))
        else:
            columns.append(column.cast(field_.type))
    return pa.Table.from_arrays(columns, schema=schema)
