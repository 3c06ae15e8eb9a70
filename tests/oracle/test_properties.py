"""Laws that hold for any two tables: how a join is run, and how its inputs are cut, never shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import EngineOf
from crossdock import _native
from hypothesis import given
from hypothesis import strategies as st
from join_oracle import LEFT_ONLY
from same_rows import assert_same_rows, plain

KINDS = ("inner", "left", "right", "full", "semi", "anti")
LEFT_SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.utf8()), ("a", pa.int32())])
RIGHT_SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.utf8()), ("b", pa.float64())])

few_strings = st.sampled_from(["", "x", "y", "a text that is longer than a view", None])
few_keys = st.one_of(st.none(), st.integers(-2, 6), st.sampled_from([-(2**63), 2**63 - 1, 2**32]))
left_rows = st.lists(
    st.tuples(few_keys, few_strings, st.integers(-(2**31), 2**31 - 1)), max_size=30
)
right_rows = st.lists(
    st.tuples(few_keys, few_strings, st.one_of(st.none(), st.integers(-999, 999))), max_size=30
)
cut_lists = st.lists(st.integers(0, 30), max_size=4)


@dataclass(frozen=True)
class Run:
    """How a join is run; nothing of it may change a result."""

    threads: int = 1
    left_cuts: Sequence[int] = ()
    right_cuts: Sequence[int] = ()
    options: dict[str, Any] = field(default_factory=dict)


runs = st.builds(
    Run,
    threads=st.sampled_from([1, 2, 3]),
    left_cuts=cut_lists,
    right_cuts=cut_lists,
    options=st.fixed_dictionaries(
        {
            "strategy": st.sampled_from(["auto", "radix", "direct", "merge"]),
            "build": st.sampled_from(["auto", "left", "right"]),
            "materialize": st.sampled_from(["auto", "early", "late"]),
            "filter": st.sampled_from(["auto", "bloom", "off"]),
            "partition_bits": st.sampled_from([-1, 0, 1, 5]),
        }
    ),
)
kinds = st.sampled_from(KINDS)
key_lists = st.sampled_from([["k"], ["t"], ["k", "t"]])


def table_of(rows: list[tuple[Any, ...]], schema: pa.Schema, cuts: Sequence[int] = ()) -> pa.Table:
    """The rows as a table whose batches end at `cuts`; equal cuts make empty batches."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, f.type) for values, f in zip(columns, schema, strict=True)]
    whole = pa.record_batch(arrays, schema=schema)
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    pieces = [whole.slice(begin, end - begin) for begin, end in pairwise(bounds)]
    return pa.Table.from_batches(pieces, schema)


@dataclass(frozen=True)
class Question:
    """Two tables and the join that is asked of them."""

    left: list[tuple[Any, ...]]
    right: list[tuple[Any, ...]]
    keys: list[str]
    how: str
    nulls_equal: bool = False

    def output(self) -> list[tuple[str, str, str]]:
        items = [("left", name, f"l_{name}") for name in LEFT_SCHEMA.names]
        if self.how not in LEFT_ONLY:
            items += [("right", name, f"r_{name}") for name in RIGHT_SCHEMA.names]
        return items

    def join(self, engine_of: EngineOf, run: Run) -> _native.Join:
        engine = engine_of(run.threads)
        return _native.Join(
            engine,
            _native.Table.from_stream(engine, table_of(self.left, LEFT_SCHEMA, run.left_cuts)),
            _native.Table.from_stream(engine, table_of(self.right, RIGHT_SCHEMA, run.right_cuts)),
            on=[(name, name) for name in self.keys],
            how=self.how,
            output=self.output(),
            null_equals_null=self.nulls_equal,
            **run.options,
        )

    def aggregates(
        self, engine_of: EngineOf, run: Run, items: list[tuple[str, str]]
    ) -> dict[str, Any]:
        """Of all rows: "count", and each function of a column by both names."""
        engine = engine_of(run.threads)
        sides = [
            _native.Plan.scan(
                _native.Table.from_stream(engine, table_of(rows, schema, cuts)), schema.names, name
            )
            for name, rows, schema, cuts in (
                ("left", self.left, LEFT_SCHEMA, run.left_cuts),
                ("right", self.right, RIGHT_SCHEMA, run.right_cuts),
            )
        ]
        pairs = sides[0].join(
            sides[1],
            None,
            on=[(name, name) for name in self.keys],
            how=self.how,
            output=self.output(),
            null_equals_null=self.nulls_equal,
            **run.options,
        )
        wide = {"sum": {"wide": True}}
        asked = [(f, name, "", f"{f}_{name}", wide.get(f, {})) for f, name in items]
        plan = pairs.group_by(keys=[], aggregates=[("count", "", "", "count", {}), *asked])
        return pa.table(_native.Query(engine, plan).collect()).to_pylist()[0]

    def rows(self, engine_of: EngineOf, run: Run) -> pa.Table:
        source = self.join(engine_of, run).collect()
        return pa.RecordBatchReader.from_stream(source).read_all()


questions = st.builds(Question, left_rows, right_rows, key_lists, kinds, nulls_equal=st.booleans())


def assert_equal_tables(one: pa.Table, other: pa.Table) -> None:
    assert_same_rows([plain(column) for column in one.columns], other)


@given(question=questions, one=runs, other=runs)
def test_a_result_does_not_depend_on_how_it_is_run(
    engine_of: EngineOf, question: Question, one: Run, other: Run
) -> None:
    assert_equal_tables(question.rows(engine_of, one), question.rows(engine_of, other))


@given(question=questions, run=runs)
def test_count_rows_and_batches_agree(engine_of: EngineOf, question: Question, run: Run) -> None:
    join = question.join(engine_of, run)
    rows = join.count()
    assert rows == pa.RecordBatchReader.from_stream(join.collect()).read_all().num_rows
    assert rows == sum(batch.num_rows for batch in pa.RecordBatchReader.from_stream(join.stream(1)))


@given(question=questions, run=runs)
def test_aggregates_fold_the_rows(engine_of: EngineOf, question: Question, run: Run) -> None:
    items = [(function, name) for function in ("sum", "min", "max") for name in ("l_k", "l_a")]
    if question.how not in LEFT_ONLY:
        items += [("sum", "r_k"), ("sum", "r_b"), ("min", "r_b"), ("max", "r_b")]
    folded = question.aggregates(engine_of, run, items)
    rows = question.rows(engine_of, run)
    assert folded["count"] == rows.num_rows
    for function, name in items:
        values = [value for value in rows.column(name).to_pylist() if value is not None]
        want = {"sum": sum, "min": min, "max": max}[function](values) if values else None
        assert folded[f"{function}_{name}"] == want, (function, name)


def nulls_for(rows: pa.Table, schema: pa.Schema, prefix: str) -> pa.Table:
    """The rows with null columns for the side they lack."""
    for f in schema:
        rows = rows.append_column(prefix + f.name, pa.nulls(rows.num_rows, f.type))
    return rows


@given(left=left_rows, right=right_rows, keys=key_lists, nulls_equal=st.booleans(), run=runs)
def test_kinds_are_made_of_one_another(
    engine_of: EngineOf,
    left: list[tuple[Any, ...]],
    right: list[tuple[Any, ...]],
    keys: list[str],
    nulls_equal: bool,
    run: Run,
) -> None:
    """left = inner + anti, full = left + what right has alone, semi + anti = the left table."""

    def rows(how: str) -> pa.Table:
        return Question(left, right, keys, how, nulls_equal).rows(engine_of, run)

    alone = nulls_for(rows("anti"), RIGHT_SCHEMA, "r_")
    assert_equal_tables(pa.concat_tables([rows("inner"), alone]), rows("left"))
    whole = table_of(left, LEFT_SCHEMA).rename_columns([f"l_{name}" for name in LEFT_SCHEMA.names])
    assert_equal_tables(pa.concat_tables([rows("semi"), rows("anti")]), whole)
    assert rows("full").num_rows - rows("left").num_rows == (
        rows("right").num_rows - rows("inner").num_rows
    )


@given(left=left_rows, right=right_rows, run=runs)
def test_null_aware_anti_is_not_in(
    engine_of: EngineOf,
    left: list[tuple[Any, ...]],
    right: list[tuple[Any, ...]],
    run: Run,
) -> None:
    known = {row[0] for row in right}
    certain = [row for row in left if not right or (row[0] is not None and row[0] not in known)]
    want = table_of([] if None in known else certain, LEFT_SCHEMA)
    question = Question(left, right, ["k"], "anti_null_aware")
    result = question.rows(engine_of, run)
    assert_equal_tables(want.rename_columns(result.column_names), result)


@pytest.mark.parametrize("key", ["k", "t"])
@pytest.mark.parametrize("how", KINDS)
def test_the_number_of_threads_does_not_show(engine_of: EngineOf, how: str, key: str) -> None:
    """Enough rows for two workers, with one key that a tenth of all rows share."""
    random = np.random.default_rng(KINDS.index(how))
    numbers = random.integers(0, 100_000, 150_000)
    numbers[random.random(150_000) < 0.1] = 7
    right_numbers = np.unique(np.append(random.integers(0, 150_000, 60_000), 7))

    def side(keys: np.ndarray, name: str) -> pa.Table:
        values = pa.array(keys, mask=keys % 1000 == 13)
        return pa.table(
            {"k": values, "t": values.cast(pa.utf8()), name: np.arange(len(keys)), "n": keys}
        )

    left, right = side(numbers, "a"), side(right_numbers, "b")
    output = [("left", "a", "a"), ("left", key, "key"), ("left", "n", "n")]
    if how not in LEFT_ONLY:
        output += [("right", "b", "b"), ("right", "t", "t")]
    result = []
    for threads in (1, 2, 4):
        for strategy in ("radix", "direct", "merge"):
            engine = engine_of(threads)
            join = _native.Join(
                engine,
                _native.Table.from_stream(engine, left),
                _native.Table.from_stream(engine, right),
                on=[(key, key)],
                how=how,
                output=output,
                strategy=strategy,
            )
            result.append(pa.RecordBatchReader.from_stream(join.collect()).read_all())
    for other in result[1:]:
        assert_equal_tables(result[0], other)
