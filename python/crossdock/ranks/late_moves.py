"""Columns between ranks that cannot travel with the others, being of types that the engine does not
have (engine_types.is_late).

The rows go without them, each with its place: the rank it was in, and its row there. Then each rank
asks those ranks for the rows that came, and gets them as Arrow IPC streams, in pieces that fit a
segment. So such a column goes where its row goes, once for each move.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.engine.late_columns import late_names
from crossdock.plan.lowering import unused_name
from crossdock.ranks.moves import Route
from crossdock.values.arrow_kinds import ArrayLike, Rows
from crossdock.values.row_taking import Blocks

# A piece of an IPC stream of a table, and whether it is the last one of that table.
PIECES = pa.schema([pa.field("piece", pa.binary(), False), pa.field("is_last", pa.bool_(), False)])
_PIECE_BYTES = 4096  # fits the heap of the smallest segments
_ROW_BITS = 40  # of a place, below the rank

FlatMove = Callable[[pa.Table, Route], pa.Table]


def move_late(place: tuple[int, int], table: pa.Table, route: Route, move: FlatMove) -> pa.Table:
    """What comes to a rank of a table that has late columns. place: the rank, and their number;
    move: moves a table that has none. Collective."""
    rank, ranks = place
    names = late_names(table.schema)
    held = {name: Blocks(table.column(name)) for name in names}
    place_name = unused_name("place", table.schema.names)
    first = rank << _ROW_BITS
    places = pa.array(range(first, first + table.num_rows), pa.int64())
    flat = table.drop_columns(names).append_column(place_name, places)
    moved = move(flat, route)
    places = moved.column(place_name).combine_chunks()
    order = pc.array_sort_indices(pc.shift_right(places, _ROW_BITS))
    places_in_order = places.take(order)
    asked = pa.table(
        {
            "place": places_in_order,
            "by": pa.repeat(pa.scalar(rank, pa.int64()), len(places_in_order)),
        }
    )
    pieces = _counts(pc.shift_right(places_in_order, _ROW_BITS), ranks)
    asked = move(asked, Route("places of late columns", pieces=pieces))
    rows = pc.bit_wise_and(asked.column("place").combine_chunks(), (1 << _ROW_BITS) - 1)
    answers, begin = [], 0
    for count in _counts(asked.column("by"), ranks):
        taken = [held[name].take(rows.slice(begin, count)) for name in names]
        schema = pa.schema([table.schema.field(name) for name in names])
        answers.append(packed(pa.Table.from_arrays(taken, schema=schema)))
        begin += count
    sizes = [answer.num_rows for answer in answers]
    came = move(pa.concat_tables(answers), Route("late columns", pieces=sizes))
    values = pa.concat_tables(unpacked(came.to_batches()))
    places_of = pc.array_sort_indices(order)
    late = {name: Blocks(values.column(name)).take(places_of) for name in names}
    schema = pa.schema([field for field in table.schema if field.name != route.to])
    columns = [late[name] if name in late else moved.column(name) for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)


def packed(rows: Rows) -> pa.Table:
    """A Table or RecordBatch as the pieces of an IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    whole = sink.getvalue()
    begins = range(0, whole.size, _PIECE_BYTES)
    pieces = [whole.slice(at, min(_PIECE_BYTES, whole.size - at)).to_pybytes() for at in begins]
    lasts = [False] * (len(pieces) - 1) + [True]
    return pa.table([pieces, lasts], schema=PIECES)


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The tables whose pieces these are."""
    held = io.BytesIO()
    for batch in batches:
        for piece, is_last in zip(batch.column(0), batch.column(1), strict=True):
            held.write(piece.as_buffer())
            if is_last.as_py():
                yield pa.ipc.open_stream(held.getvalue()).read_all()
                held = io.BytesIO()


def _counts(numbers: ArrayLike, ranks: int) -> list[int]:
    """How often each rank is among `numbers`."""
    counted = pc.value_counts(numbers)
    counts = dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))
    return [counts.get(rank, 0) for rank in range(ranks)]
