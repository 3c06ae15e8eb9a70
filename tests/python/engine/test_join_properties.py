"""Properties: a join's result does not depend on how its inputs are cut or how it is run."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import crossdock as xd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware")
KEYS = st.one_of(st.none(), st.integers(-3, 12), st.sampled_from([-(2**63), 2**63 - 1]))
STRINGS = st.one_of(st.none(), st.text(max_size=20))
ROWS = st.lists(st.tuples(KEYS, STRINGS), max_size=40)
Row = tuple[Any, ...]


def side(rows: list[Row], name: str, cuts: list[int]) -> pa.Table:
    """The rows as a table in pieces: cut at `cuts`, some pieces empty, all but one with offsets."""
    table = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            name: pa.array([row[1] for row in rows], pa.string()),
        }
    )
    at = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    pieces = [table.slice(begin, end - begin) for begin, end in itertools.pairwise(at)]
    return pa.concat_tables(pieces) if pieces else table


def nested_loops(left: list[Row], right: list[Row], how: str) -> Counter[Row]:
    """The definition of each kind, with loops."""
    pairs = [
        (i, j)
        for i, a in enumerate(left)
        for j, b in enumerate(right)
        if a[0] is not None and a[0] == b[0]
    ]
    left_hit, right_hit = {i for i, _ in pairs}, {j for _, j in pairs}
    left_alone = [a for i, a in enumerate(left) if i not in left_hit]
    right_alone = [b for j, b in enumerate(right) if j not in right_hit]
    if how == "semi":
        return Counter(a for i, a in enumerate(left) if i in left_hit)
    if how == "anti":
        return Counter(left_alone)
    if how == "anti_null_aware":
        if not right:
            return Counter(left)
        unknown = any(b[0] is None for b in right)
        return Counter(a for a in left_alone if not unknown and a[0] is not None)
    result = [(*left[i], right[j][1]) for i, j in pairs]
    if how in ("left", "full"):
        result += [(*a, None) for a in left_alone]
    if how in ("right", "full"):
        result += [(b[0], None, b[1]) for b in right_alone]
    return Counter(result)


@given(
    left=ROWS,
    right=ROWS,
    how=st.sampled_from(KINDS),
    cuts=st.lists(st.integers(0, 100), max_size=4),
    run=st.fixed_dictionaries(
        {
            "strategy": st.sampled_from(["auto", "radix", "direct", "merge"]),
            "build": st.sampled_from(["auto", "left", "right"]),
            "materialize": st.sampled_from(["auto", "early", "late"]),
            "filter": st.sampled_from(["auto", "bloom", "off"]),
            "partition_bits": st.sampled_from([-1, 1, 4, 7]),
            "batch_rows": st.sampled_from([0, 4096]),
        }
    ),
    dock=st.integers(0, 2),
)
def test_the_definition_holds_however_it_is_run(
    docks: list[xd.Dock],
    left: list[Row],
    right: list[Row],
    how: str,
    cuts: list[int],
    run: dict[str, Any],
    dock: int,
) -> None:
    if run["strategy"] != "radix":
        run = {**run, "partition_bits": -1}
    opened = docks[dock]
    joined = opened.from_arrow(side(left, "a", cuts)).join(
        opened.from_arrow(side(right, "b", cuts)), on="k", how=how, **run
    )
    result = joined.collect()
    result.validate(full=True)
    rows = Counter(tuple(row.values()) for row in result.to_pylist())
    assert rows == nested_loops(left, right, how)
    assert joined.count() == result.num_rows
