"""Joins while they run: cancelled, interrupted, several at once, with predicates that fail."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from background import Ended, interrupt_python, run_python
from crossdock import _native

EQUAL_ROWS = 100_000  # on both sides, all of one key: 10^10 pairs


@pytest.fixture
def engine() -> Iterator[_native.Engine]:
    opened = _native.Engine(threads=2, memory_bytes=512 << 20)
    yield opened
    gc.collect()
    assert opened.memory_used_bytes == 0


def equal_keys(rows: int) -> pa.Table:
    return pa.table({"k": np.zeros(rows, np.int64), "v": np.arange(rows)})


def spread_keys(rows: int, keys: int) -> pa.Table:
    numbers = np.arange(rows)
    return pa.table({"k": (numbers * 7919) % keys, "v": numbers})


def make_sum(
    engine: _native.Engine, left: pa.Table, right: pa.Table, **options: Any
) -> _native.Query:
    """A sum over the pairs of a join."""
    sides = [
        _native.Plan.scan(_native.Table.from_stream(engine, side), ["k", "v"], "side")
        for side in (left, right)
    ]
    pairs = sides[0].join(sides[1], None, on=[("k", "k")], output=[("left", "v", "a")], **options)
    return _native.Query(
        engine, pairs.group_by(keys=[], aggregates=[("sum", "a", "", "a", {"wide": True})])
    )


def make_join(
    engine: _native.Engine, left: pa.Table, right: pa.Table, **options: Any
) -> _native.Join:
    return _native.Join(
        engine,
        _native.Table.from_stream(engine, left),
        _native.Table.from_stream(engine, right),
        on=[("k", "k")],
        **{"how": "inner", "output": [("left", "v", "a"), ("right", "v", "b")], **options},
    )


@pytest.mark.parametrize("strategy", ["radix", "direct", "merge"])
@pytest.mark.parametrize("how", ["inner", "full", "left"])
@pytest.mark.parametrize("make", [make_join, make_sum])
def test_cancel_ends_a_long_join_within_a_second(
    engine: _native.Engine, make: Callable[..., Any], how: str, strategy: str
) -> None:
    """Of work."""
    keys = equal_keys(EQUAL_ROWS if make is make_sum else EQUAL_ROWS // 20)
    run = make(engine, keys, keys, strategy=strategy, how=how)
    ended = Ended(lambda: pa.RecordBatchReader.from_stream(run.collect()).read_all())
    while run.progress()[0] in ("", "waiting") and not ended.wait(0.001):
        pass
    time.sleep(0.05)
    start = time.process_time()
    run.cancel()
    assert ended.wait(30)
    assert time.process_time() - start < 1
    assert isinstance(ended.error, _native.NativeError)
    assert ended.error.args[:2] == ("CD-401", "CancelledError")
    ended.error = None


def test_a_cancelled_join_runs_again(engine: _native.Engine) -> None:
    join = make_join(engine, spread_keys(500_000, 500_000), spread_keys(500_000, 500_000))
    join.cancel()
    assert join.count() == 500_000


def test_a_stream_reader_hears_of_cancel(engine: _native.Engine) -> None:
    join = make_join(engine, equal_keys(10_000), equal_keys(10_000))
    reader = pa.RecordBatchReader.from_stream(join.stream(2))
    reader.read_next_batch()
    join.cancel()
    with pytest.raises((pa.ArrowException, OSError), match="CD-401"):
        reader.read_all()


@pytest.mark.parametrize("how", ["inner", "full", "semi", "anti"])
@pytest.mark.parametrize("strategy", ["radix", "direct", "merge"])
def test_ten_thousand_million_pairs_are_counted(
    engine: _native.Engine, strategy: str, how: str
) -> None:
    """Of rows with one key, the first stands for all."""
    keys = equal_keys(EQUAL_ROWS)
    output = [("left", "v", "a")]
    join = make_join(engine, keys, keys, strategy=strategy, how=how, output=output)
    rows = {"semi": EQUAL_ROWS, "anti": 0}.get(how, EQUAL_ROWS**2)
    start = time.process_time()
    assert join.count() == rows
    assert time.process_time() - start < 5


@pytest.mark.parametrize("strategy", ["radix", "direct", "merge"])
def test_a_thousand_million_pairs_of_mixed_keys_are_counted(
    engine: _native.Engine, strategy: str
) -> None:
    keys = spread_keys(45_000, 2)
    assert make_join(engine, keys, keys, strategy=strategy).count() == 2 * 22_500**2


def test_ten_thousand_million_pairs_stream_in_bounded_memory(engine: _native.Engine) -> None:
    keys = equal_keys(EQUAL_ROWS)
    reader = pa.RecordBatchReader.from_stream(make_join(engine, keys, keys).stream(4))
    for _ in range(200):
        assert reader.read_next_batch().num_rows > 0
        assert engine.memory_used_bytes < 100 << 20


def test_two_joins_of_one_engine_at_once(engine: _native.Engine) -> None:
    left, right = spread_keys(300_000, 300_000), spread_keys(200_000, 300_000)

    def run() -> list[int]:
        return [make_join(engine, left, right).count() for _ in range(5)]

    runs = [Ended(run), Ended(run)]
    assert all(ended.wait(60) for ended in runs)
    assert [ended.result for ended in runs] == [[200_000] * 5] * 2


def test_an_unread_stream_holds_up_no_other_join(engine: _native.Engine) -> None:
    waiting = pa.RecordBatchReader.from_stream(
        make_join(engine, equal_keys(5_000), equal_keys(5_000)).stream(1)
    )
    waiting.read_next_batch()
    other = make_join(engine, spread_keys(300_000, 300_000), spread_keys(300_000, 300_000))
    ended = Ended(other.count)
    assert ended.wait(30)
    assert ended.result == 300_000
    rows = 0
    del other, ended
    for batch in waiting:
        rows += batch.num_rows
    assert rows > 20_000_000


RESIDUAL = {"residual_columns": [("left", "v", "a"), ("right", "v", "b")]}


def test_a_residual_that_raises_is_named(engine: _native.Engine) -> None:
    def fail(pairs: Any) -> Any:
        raise ValueError("seventeen is not allowed")

    join = make_join(
        engine, spread_keys(1_000, 50), spread_keys(1_000, 50), residual=fail, **RESIDUAL
    )
    with pytest.raises(_native.NativeError, match="seventeen is not allowed") as raised:
        join.count()
    assert raised.value.args[1] == "ExpressionError"


@pytest.mark.parametrize(
    "answer",
    [
        lambda rows: pa.array([True] * (rows + 1)),
        lambda rows: pa.array([1] * rows),
        lambda rows: None,
        lambda rows: pa.nulls(rows),
    ],
    ids=["length", "type", "none", "null type"],
)
def test_a_residual_must_answer_one_boolean_a_pair(
    engine: _native.Engine, answer: Callable[[int], Any]
) -> None:
    join = make_join(
        engine,
        spread_keys(1_000, 50),
        spread_keys(1_000, 50),
        residual=lambda pairs: answer(len(pa.array(pairs))),
        **RESIDUAL,
    )
    with pytest.raises(_native.NativeError) as raised:
        join.count()
    assert raised.value.args[1] == "ExpressionError"


def test_a_dropped_stream_does_not_wait_for_a_residual() -> None:
    """The predicate needs the interpreter's lock, which the one who drops the stream holds."""
    ended = run_python(
        """
import gc, time, numpy as np, pyarrow as pa, pyarrow.compute as pc
from crossdock import _native
engine = _native.Engine(threads=2, memory_bytes=256 << 20)
table = pa.table({"k": np.zeros(20_000, np.int64), "v": np.arange(20_000)})
def less(pairs):
    time.sleep(0.01)
    columns = pa.array(pairs)
    return pc.less(columns.field("a"), columns.field("b"))
for batches in (0, 1, 3):
    join = _native.Join(engine, _native.Table.from_stream(engine, table),
        _native.Table.from_stream(engine, table), on=[("k", "k")], how="inner",
        output=[("left", "v", "a")], residual=less,
        residual_columns=[("left", "v", "a"), ("right", "v", "b")])
    reader = join.stream(1)
    if batches:
        reader = pa.RecordBatchReader.from_stream(reader)
    for _ in range(batches):
        reader.read_next_batch()
    time.sleep(0.1)
    del reader
    gc.collect()
    assert engine.memory_used_bytes == 0
print("done")
""",
        30,
    )
    assert ended.stdout == "done\n", ended.stderr


LONG_JOIN = """
import decimal, numpy as np, pyarrow as pa, crossdock as xd
rows = {rows}
keys = pa.repeat(pa.scalar(decimal.Decimal(1), pa.decimal128(9)), rows)  # verified pair by pair
table = pa.table({{"k": keys, "v": np.arange(rows)}})
with xd.connect(threads=2, memory="512MiB") as dock:
    joined = dock.from_arrow(table).join(dock.from_arrow(table), on="k", suffix="_b")
    print("started", flush=True)
    {run}
"""


@pytest.mark.parametrize("rows", [100_000, 700_000])
@pytest.mark.parametrize(
    "run",
    ["joined.count()", "joined.agg(s=xd.sum('v')).collect()", "for _ in joined.to_batches(): pass"],
    ids=["count", "agg", "to_batches"],
)
def test_ctrl_c_ends_a_long_join(run: str, rows: int) -> None:
    _, errors = interrupt_python(LONG_JOIN.format(rows=rows, run=run))
    assert errors.rstrip().endswith("KeyboardInterrupt")


def true_or_null(pairs: Any) -> Any:
    columns = pa.array(pairs)
    return pc.if_else(pc.equal(columns.field("a"), columns.field("b")), True, None)


def test_null_residual_answers_are_false(engine: _native.Engine) -> None:
    keys = spread_keys(1_000, 10)
    join = make_join(
        engine,
        keys,
        keys,
        residual=true_or_null,
        **RESIDUAL,
    )
    assert join.count() == 1_000
