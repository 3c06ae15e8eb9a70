"""String views that leave the engine: their batches hold their own strings, and little else."""

from __future__ import annotations

from collections.abc import Callable

import crossdock as xd
import pyarrow as pa
import pytest

ROWS = 60_000
Make = Callable[[xd.Relation], xd.Relation]


def views(first: int, kind: pa.DataType) -> pa.Table:
    """Keys, and comments of some 50 bytes, in 8 batches with a heap each."""
    batches = []
    for begin in range(first, first + ROWS, ROWS // 8):
        keys = range(begin, begin + ROWS // 8)
        comments = [f"the comment of row {k}, which is long: {k * 7919 % 10**9}" for k in keys]
        columns = [pa.array(keys, pa.int64()), pa.array(comments).cast(kind)]
        batches.append(pa.record_batch(columns, ["k", "c"]))
    return pa.Table.from_batches(batches)


def ipc_bytes(batches: list[pa.RecordBatch]) -> int:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return int(sink.getvalue().size)


def compacted(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    result = []
    for batch in batches:
        columns = [
            column.cast(plain[column.type]).cast(column.type) if column.type in plain else column
            for column in batch.columns
        ]
        result.append(pa.RecordBatch.from_arrays(columns, schema=batch.schema))
    return result


QUERIES: dict[str, Make] = {
    "join": lambda t: t.join(t.select("k", d="c"), on="k"),
    "few": lambda t: t.join(t.filter(xd.col("k") % 50 == 0).select("k"), on="k", how="semi"),
    "group": lambda t: t.group_by("c").agg(n=xd.count()),
    "distinct": lambda t: t.distinct("c", "k"),
    "sort": lambda t: t.sort(xd.desc("c")),
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_results_carry_no_heaps_of_their_inputs(
    dock: xd.Dock, query: str, kind: pa.DataType
) -> None:
    relation = QUERIES[query](dock.from_arrow(views(0, kind)))
    collected = relation.collect()
    assert kind in collected.schema.types
    for batches in (collected.to_batches(), list(relation.to_batches())):
        assert pa.Table.from_batches(batches).num_rows == collected.num_rows
        assert ipc_bytes(batches) <= 1.2 * ipc_bytes(compacted(batches))
        # Who adds up batches (schedulers that place them do) counts no buffer twice.
        places = [b.address for batch in batches for c in batch.columns for b in c.buffers() if b]
        assert len(places) == len(set(places))


def test_values_stay(dock: xd.Dock) -> None:
    short = pa.array(["", "twelve bytes", None, "thirteen byte", "x" * 500] * 5000)
    table = pa.table({"k": range(25_000), "c": short.cast(pa.string_view())})
    rows = dock.from_arrow(table)
    joined = rows.join(rows.select("k", d="c"), on="k").sort("k").collect()
    assert joined["c"].to_pylist() == short.to_pylist()
    assert joined["d"].to_pylist() == short.to_pylist()
