"""Plans the nodes that order rows, cut them off, or draw some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error, unknown_choice
from crossdock.expressions.expression import Column, Expr, as_column
from crossdock.expressions.orders import Order
from crossdock.option_checks import integer_of, require_flag, require_rows
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import (
    AssumeSorted,
    Draw,
    Draws,
    FirstShare,
    Limit,
    Node,
    Partition,
    Sample,
    Sort,
)
from crossdock.plan.planning import plan_project, require_columns, require_unique
from crossdock.values.type_checks import require_partitionable, require_sortable

PARTITIONS_MOST = 1 << 16
_SORT_STRATEGIES = ("auto", "msd", "lsd")
RANDOM_TYPES = {"number": pa.float64(), "uuid": pa.string()}
_PARTITION_HOW = ("hash", "range", "explicit")


@dataclass(frozen=True)
class SortOptions:
    """What a sort may be asked for beside its orders."""

    limit: int | None = None
    offset: int = 0
    stable: bool = False
    strategy: str = "auto"


def plan_sort(node: Node, orders: tuple[Order, ...], options: SortOptions, method: str) -> Sort:
    """The rows of `node` in order; computed orders become columns below that the result has not.

    Errors: ColumnError, TypeError (rows cannot be ordered by it), OptionError, ExpressionError.
    """
    limit = options.limit
    if limit is not None:
        limit = require_rows(limit, f"{method}(limit=...)")
    offset = require_rows(options.offset, f"{method}(offset=...)")
    require_flag(options.stable, "stable", method)
    if options.strategy not in _SORT_STRATEGIES:
        raise unknown_choice("strategy", options.strategy, _SORT_STRATEGIES)
    below, plain = _resolved(node, orders, method)
    outputs = tuple((name, name) for name in node.schema.names)
    return Sort(
        below, plain, outputs, node.schema, limit, offset,
        stable=options.stable, strategy=options.strategy,
    )  # fmt: skip


def plan_arg_sort(node: Node, orders: tuple[Order, ...], stable: bool) -> Sort:
    """Where in `node` the rows of its sorted self stand: one int64 column "index". As plan_sort."""
    require_flag(stable, "stable", "arg_sort")
    below, plain = _resolved(node, orders, "arg_sort")
    schema = pa.schema([pa.field("index", pa.int64(), nullable=False)])
    return Sort(below, plain, (), schema, stable=stable, index="index")


def plan_limit(
    node: Node, rows: int | None, offset: int, fraction: float | None = None
) -> Limit | FirstShare:
    """`rows` rows of `node`, or a share of all, after the first `offset`. OptionError."""
    offset = require_rows(offset, "limit(offset=...)")
    if fraction is None:
        return Limit(node, require_rows(rows, "limit(n)"), offset)
    if rows is not None:
        raise make_error(
            "CD-105", "limit() takes either a number of rows or a fraction",
            values=f"n={rows}, fraction={fraction}", try_="limit(1000) or limit(fraction=0.01)",
        )  # fmt: skip
    return FirstShare(node, _share(fraction, "limit"), offset)


def plan_draws(node: Node, items: Sequence[Draw]) -> Draws:
    """The rows of `node` with columns of random values behind. ColumnError (a name twice)."""
    names = [*node.schema.names, *(each.name for each in items)]
    require_unique(names, "with_random()", "another name")
    fields = [pa.field(each.name, RANDOM_TYPES[each.kind], nullable=False) for each in items]
    return Draws(node, tuple(items), pa.schema([*node.schema, *fields]))


def draw(name: str, kind: str, seed: int) -> Draw:
    """One of them. OptionError."""
    if kind not in RANDOM_TYPES:
        raise unknown_choice("kind", kind, tuple(RANDOM_TYPES))
    return Draw(name, kind, _require_seed(seed, "with_random"))


def plan_sample(node: Node, rows: int | None, fraction: float | None, seed: int) -> Sample:
    """Random rows of `node`, at every run the same. OptionError."""
    if (rows is None) == (fraction is None):
        raise make_error(
            "CD-105", "sample() takes either a number of rows or a fraction",
            values=f"n={rows}, fraction={fraction}",
            try_="sample(n=1000) or sample(fraction=0.01)",
        )  # fmt: skip
    if rows is not None:
        rows = require_rows(rows, "sample(n=...)")
    share = None if fraction is None else _share(fraction, "sample")
    return Sample(node, share, rows, _require_seed(seed, "sample"))


def _share(fraction: float, method: str) -> float:
    is_number = isinstance(fraction, int | float) and not isinstance(fraction, bool)
    if not is_number or not 0 <= fraction <= 1:
        raise make_error(
            "CD-105", f"{method}(fraction={fraction!r}) is not a share of the rows",
            limits="0 to 1", try_="fraction=0.01",
        )  # fmt: skip
    return float(fraction)


def _require_seed(seed: object, method: str) -> int:
    """The seed. OptionError."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 63:
        raise make_error(
            "CD-105", f"{method}(seed={seed!r}) is no seed", limits="0 to 2^63 - 1", try_="seed=1"
        )
    return seed


def plan_assume_sorted(node: Node, orders: tuple[Order, ...]) -> AssumeSorted:
    """`node`, declared to be in order. ColumnError, TypeError, OptionError (a computed order)."""
    for order in orders:
        if not isinstance(order.by, Column):
            raise make_error(
                "CD-105", f"assume_sorted() takes columns, not {order.by!r}",
                try_=f"with_columns(name={order.by!r}).assume_sorted('name')",
            )  # fmt: skip
    require_columns((order.column for order in orders), node.schema, "assume_sorted()")
    require_sortable(node.schema.field(order.column) for order in orders)
    return AssumeSorted(node, orders)


def plan_partition(
    node: Node, keys: Sequence[object], computed: Mapping[str, Any], partitions: object, how: str
) -> Partition:
    """The rows of `node` by partition; their number is `partitions`, or the last of the keys, or
    64. Computed keys become columns below that the parts have not. ColumnError, TypeError,
    OptionError, ExpressionError."""
    if partitions is None:
        partitions = 64
        if keys and integer_of(keys[-1]) is not None:
            *keys, partitions = keys
    if not keys and not computed:
        raise make_error(
            "CD-105", "partition_by() needs at least one key", try_='partition_by("k")'
        )
    names = [key for key in keys if isinstance(key, str)]
    for key in keys:
        if not isinstance(key, str):
            raise make_error(
                "CD-105", f"partition_by() takes names of columns, not {key!r}",
                try_=f"partition_by(name={key!r})" if isinstance(key, Expr) else '"k"',
            )  # fmt: skip
    require_columns(names, node.schema, "partition_by()")
    require_unique([*names, *computed], "partition_by()", "each key once")
    number = integer_of(partitions)
    if number is None or not 1 <= number <= PARTITIONS_MOST:
        raise make_error(
            "CD-105", f"partition_by(partitions={partitions!r}) is not a number of partitions",
            limits=f"1 to {PARTITIONS_MOST:,}", try_="partitions=64",
        )  # fmt: skip
    if how not in _PARTITION_HOW:
        raise unknown_choice("how", how, _PARTITION_HOW)
    below, added = _with_keys(node, computed)
    names += added
    if how == "explicit":
        _require_number(names, below.schema)
    require_partitionable((below.schema.field(name) for name in names), how)
    return Partition(below, tuple(names), number, how, node.schema)


def _with_keys(node: Node, computed: Mapping[str, Any]) -> tuple[Node, list[str]]:
    """`node` with a column for each computed key, and the names that these columns have."""
    items: dict[str, Expr] = {name: Column(name) for name in node.schema.names}
    added = []
    for name, item in computed.items():
        added.append(unused_name(name, items))
        items[added[-1]] = as_column(item)
    if not added:
        return node, added
    return plan_project(node, list(items.items()), "partition_by()"), added


def _resolved(node: Node, orders: tuple[Order, ...], method: str) -> tuple[Node, tuple[Order, ...]]:
    """`node` with a column for each computed order, and the orders by columns alone. What a column
    has ordered already, it cannot order again."""
    named: dict[str, Expr] = {name: Column(name) for name in node.schema.names}
    plain: dict[str, Order] = {}
    for order in orders:
        name = order.column
        column, _, direction = name.rpartition(" ")
        if direction in ("asc", "desc") and name not in named and column in named:
            raise make_error(
                "CD-101", f"no column {name!r} in {method}()", try_=f"xd.{direction}({column!r})"
            )
        require_columns(sorted(order.by.columns()), node.schema, f"{method}()")
        if not isinstance(order.by, Column):
            while name in named and named[name] is not order.by:
                name += "'"
            named[name] = order.by
        plain.setdefault(name, Order(Column(name), order.descending, order.nulls_first))
    below = node
    if len(named) > len(node.schema.names):
        below = plan_project(node, list(named.items()), f"{method}()")
    require_sortable(below.schema.field(name) for name in plain)
    return below, tuple(plain.values())


def _require_number(keys: Sequence[str], schema: pa.Schema) -> None:
    types = [schema.field(key).type for key in keys]
    if len(types) != 1 or not pa.types.is_integer(types[0]):
        shown = ", ".join(f"{key}: {kind}" for key, kind in zip(keys, types, strict=True))
        raise make_error(
            "CD-102", "partition_by(how='explicit') takes one integer column, the part's number",
            types=shown, try_="how='hash'",
        )  # fmt: skip
