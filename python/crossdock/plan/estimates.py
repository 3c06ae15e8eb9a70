"""About how many rows nodes have, and how many distinct values their columns: from tables' sizes,
ranges in Parquet's footers, and samples of tables in memory. What is not known is None."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import CrossdockError
from crossdock.expressions.evaluation import mask_of, plain_type
from crossdock.expressions.expression import Call, Column, Expr, Literal, conjuncts
from crossdock.files.parquet_files import ParquetSource
from crossdock.files.sources import ArrowSource, Source
from crossdock.plan.join_order import Equality, Input, estimated_rows
from crossdock.plan.nodes import (
    Filter,
    GroupBy,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Shared,
    Union,
    inputs_of,
)
from crossdock.plan.value_numbers import number_of, number_unit
from crossdock.values.arrow_kinds import ArrayLike

_SAMPLE = 1024  # rows of a table in memory that stand for all
_SIDE_BY_SIDE = 32  # pairs of rows of a block
_EQUAL, _RANGE, _TEXT, _OTHER = 0.05, 0.3, 0.1, 0.3  # shares that conditions keep by default
_HAVING = 0.1  # of groups that a condition on aggregates keeps
_BOUNDS = ("less", "less_equal", "greater", "greater_equal")


@dataclass(frozen=True)
class ColumnEstimate:
    """Distinct values of a column, and its range as numbers; None where it is not known."""

    distinct: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Estimate:
    """Rows of a node, and its columns."""

    rows: float | None
    columns: dict[str, ColumnEstimate]

    def distinct(self, name: str) -> float | None:
        """Distinct values of a column: no more than there are rows."""
        count = self.columns.get(name, ColumnEstimate()).distinct
        if count is None or self.rows is None:
            return None
        return max(1.0, min(count, self.rows))

    def share_of_values(self, name: str, others: float) -> float | None:
        """Of `others` distinct values that a column elsewhere has, the share that this one has,
        too. Before rows were left out, the smaller one of two columns had no value that the other
        lacks."""
        left, all_values = self.distinct(name), self.columns.get(name, ColumnEstimate()).distinct
        if left is None or all_values is None:
            return None
        return min(1.0, left / max(all_values, others))


_UNKNOWN = Estimate(None, {})


class Estimator:
    """Estimates of nodes, each made once. `shares`: how many ranks have as many rows of a source as
    this one, where the rows of all are meant. Not thread-safe."""

    def __init__(self, shares: int = 1) -> None:
        self._shares = shares
        self._known: dict[Node, Estimate] = {}

    def __call__(self, node: Node) -> Estimate:
        """The estimate of a node."""
        estimate = self._known.get(node)
        if estimate is None:
            estimate = self._known[node] = self._estimate(node)
        return estimate

    def _estimate(self, node: Node) -> Estimate:
        if isinstance(node, Scan):
            return self._scan(node)
        if isinstance(node, Filter):
            return self._filter(node)
        if isinstance(node, Project):
            return self._project(node)
        if isinstance(node, GroupBy):
            return self._group(node)
        if isinstance(node, Join):
            return self._join(node)
        if isinstance(node, Limit):
            below = self(node.input)
            return replace(
                below, rows=float(node.rows) if below.rows is None else min(below.rows, node.rows)
            )
        if isinstance(node, Union):
            rows = [self(each).rows for each in node.inputs]
            known = [each for each in rows if each is not None]
            return Estimate(sum(known) if len(known) == len(rows) else None, {})
        if isinstance(node, Shared):
            return self(node.input)
        inputs = inputs_of(node)
        return self(inputs[0]) if len(inputs) == 1 else _UNKNOWN

    def _scan(self, node: Scan) -> Estimate:
        rows = node.source.known_rows()
        if rows is None:
            return _UNKNOWN
        shares = 1 if getattr(node.source, "is_replicated", False) else self._shares
        facts, count = facts_of(node.source), float(rows * shares)
        columns = _Columns(facts.names, lambda name: facts.column(name, count))
        estimate = Estimate(count, columns)
        if node.predicate is None:
            return estimate
        return self._kept(estimate, replace(node, predicate=None), conjuncts(node.predicate))

    def _filter(self, node: Filter) -> Estimate:
        estimate = self._kept(self(node.input), node.input, conjuncts(node.predicate))
        if estimate.rows is not None and isinstance(node.input, GroupBy):
            return replace(
                estimate, rows=max(1.0, min(estimate.rows, _HAVING * (self(node.input).rows or 0)))
            )
        return estimate

    def _kept(self, below: Estimate, node: Node, parts: Sequence[Expr]) -> Estimate:
        """The rows of `node` that meet conditions."""
        if below.rows is None:
            return _UNKNOWN
        share = _sampled_share(node, parts)
        if share is None:
            share = share_of_all(parts, below)
        return replace(below, rows=max(1.0, below.rows * share))

    def _project(self, node: Project) -> Estimate:
        below = self(node.input)
        return Estimate(below.rows, _columns_of(node.items, below))

    def _group(self, node: GroupBy) -> Estimate:
        below = self(node.input)
        if not node.keys:
            return Estimate(1.0, {})
        if below.rows is None:
            return _UNKNOWN
        groups = 1.0
        for _, item in node.keys:
            distinct = below.distinct(item.name) if isinstance(item, Column) else None
            groups *= distinct if distinct is not None else below.rows**0.5
        rows = max(1.0, min(groups, below.rows))
        return Estimate(rows, _columns_of(node.keys, below))

    def _join(self, node: Join) -> Estimate:
        left, right = self(node.left), self(node.right)
        if left.rows is None or right.rows is None:
            return _UNKNOWN
        pairs = [(left.distinct(a), right.distinct(b)) for a, b in node.on]
        if any(a is None or b is None for a, b in pairs):
            return _UNKNOWN
        known = [(a or 1.0, b or 1.0) for a, b in pairs]
        if node.how in ("semi", "anti", "anti_null_aware"):
            shares = [
                right.share_of_values(b, a or 1.0)
                for (a, _), (_, b) in zip(pairs, node.on, strict=True)
            ]
            share = prod(each or 1.0 for each in shares)
            rows = left.rows * (share if node.how == "semi" else max(1.0 - share, 0.1))
        else:
            equalities = [Equality({0: a, 1: b}) for a, b in known]
            rows = estimated_rows([Input(left.rows), Input(right.rows)], equalities)
            if node.how in ("left", "full"):
                rows = max(rows, left.rows)
            if node.how in ("right", "full"):
                rows = max(rows, right.rows)
        if node.residual is not None:
            rows *= _OTHER
        sides = {"left": left, "right": right, "key": left}
        places = {
            name: (sides[side], column)
            for side, column, name in node.outputs
            if column in sides[side].columns
        }
        most = {a: one for (a, _), (_, one) in zip(node.on, known, strict=True)}

        def estimated(name: str) -> ColumnEstimate:
            side, column = places[name]
            estimate: ColumnEstimate = side.columns[column]
            if node.how == "semi" and column in most and estimate.distinct is not None:
                return replace(estimate, distinct=min(estimate.distinct, most[column]))
            return estimate

        return Estimate(max(1.0, rows), _Columns(places.keys(), estimated))


class _Columns(dict[str, ColumnEstimate]):
    """Columns of which something is found out when they are asked for, and not before: a wide
    table has many that no key and no condition names."""

    def __init__(self, names: Collection[str], find: Callable[[str], ColumnEstimate]) -> None:
        super().__init__()
        self._names = names
        self._find = find

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __missing__(self, name: str) -> ColumnEstimate:
        self[name] = self._find(name)
        return self[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._names else default


def _columns_of(items: Sequence[tuple[str, Expr]], below: Estimate) -> _Columns:
    """The columns of a node of which some are plain ones of the node below."""
    plain = {
        name: item.name
        for name, item in items
        if isinstance(item, Column) and item.name in below.columns
    }
    return _Columns(plain.keys(), lambda name: below.columns[plain[name]])


class _Facts:
    """What is found out about a source, once; it must live while it is asked about. They do not
    keep it, or what is kept with it would last for ever."""

    def __init__(self, source: Source) -> None:
        self.names = frozenset(source.schema.names)
        # Of a rank's share of files the footers tell what they tell of all.
        self._kept: ReferenceType[Source] = ref(getattr(source, "whole", source))
        self._columns: dict[tuple[str, float], ColumnEstimate] = {}
        self._samples: dict[str, Any] = {}

    @property
    def _source(self) -> Source:
        source = self._kept()
        assert source is not None
        return source

    def column(self, name: str, rows: float) -> ColumnEstimate:
        """Of so many rows of which those of the source are some."""
        if (name, rows) not in self._columns:
            self._columns[name, rows] = self._estimated(name, rows)
        return self._columns[name, rows]

    def _estimated(self, name: str, rows: float) -> ColumnEstimate:
        data_type = self._source.schema.field(name).type
        if isinstance(self._source, ArrowSource):
            estimate = _of_sample(self.sample((name,)).column(0), rows)
            if estimate.distinct is None or estimate.distinct < _SAMPLE:
                return estimate
            runs = rows * _share_of_changes(self._source.data.column(name)) + 1
            return replace(estimate, distinct=min(estimate.distinct, runs))
        if not isinstance(self._source, ParquetSource):
            return ColumnEstimate()
        low, high = _range_in_footers(self._source, name)
        distinct = rows if low is None or high is None else high - low + 1
        if low is None and not pa.types.is_integer(data_type):
            return ColumnEstimate()
        return ColumnEstimate(min(distinct, rows), low, high)

    def sample(self, names: Sequence[str]) -> pa.Table:
        """Rows of a table in memory, evenly spread, the same of all columns."""
        assert isinstance(self._source, ArrowSource)
        for name in names:
            if name not in self._samples:
                self._samples[name] = _sample_of(self._source.data.column(name))
        return pa.table({name: self._samples[name] for name in names})


def _sample_of(column: pa.ChunkedArray) -> ArrayLike:
    step = max(1, len(column) // _SAMPLE)
    places = range(0, len(column), step)[:_SAMPLE]
    data_type = column.type
    plain = plain_type(data_type)
    if plain is data_type:
        return column.take(pa.array(places, pa.int64()))
    return pa.array([column[place].as_py() for place in places], plain)  # views cannot be taken


def _share_of_changes(column: pa.ChunkedArray) -> float:
    """Of pairs of rows one behind the other, how many differ: no column has more distinct values
    than runs of equal ones."""
    if column.type in (pa.string_view(), pa.binary_view()) or len(column) < 2:
        return 1.0
    pairs = len(column) - 1
    step = max(_SIDE_BY_SIDE, pairs // (_SAMPLE // _SIDE_BY_SIDE))
    # At uneven distances: else all may begin where runs of one length do.
    spare = max(1, step - _SIDE_BY_SIDE)
    blocks = [begin + begin // step * 7919 % spare for begin in range(0, pairs, step)]
    places = pa.array(
        [place for begin in blocks for place in range(begin, min(begin + _SIDE_BY_SIDE, pairs))],
        pa.int64(),
    )
    first, second = column.take(places), column.take(pc.add(places, 1))
    try:
        differ = pc.sum(pc.not_equal(first, second)).as_py()
    except pa.ArrowException:
        return 1.0
    return (differ or 1) / len(places)


_FACTS: WeakKeyDictionary[Source, _Facts] = WeakKeyDictionary()


def facts_of(source: Source) -> _Facts:
    """What is known of a source, kept as long as it is."""
    facts = _FACTS.get(source)
    if facts is None:
        facts = _FACTS[source] = _Facts(source)
    return facts


def _of_sample(values: pa.ChunkedArray, rows: float) -> ColumnEstimate:
    """Of integers and dates the range bounds the distinct values; of others the sample tells."""
    count = len(values) - values.null_count
    if count == 0:
        return ColumnEstimate(1.0)
    try:
        seen = float(pc.count_distinct(values, mode="only_valid").as_py())
        ends = pc.min_max(values)
        low, high = number_of(ends["min"]), number_of(ends["max"])
    except (pa.ArrowException, TypeError):
        return ColumnEstimate()
    if count >= rows or seen < 0.5 * count:  # most values have come more than once
        return ColumnEstimate(seen, low, high)
    width = rows if low is None or high is None else (high - low) * (1 + 2 / count) + 1
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        width = rows
    return ColumnEstimate(
        min(rows, width) if seen > 0.9 * count or width < rows else rows * seen / count, low, high
    )


def _range_in_footers(source: ParquetSource, name: str) -> tuple[float | None, float | None]:
    """The least and the largest value that row groups state."""
    unit = number_unit(source.schema.field(name).type)
    stated = None if unit is None else source.stated_range(name)
    if unit is None or stated is None:
        return None, None
    per_number, first = unit
    low, high = (value / per_number + first for value in stated)
    return low, high


def _sampled_share(node: Node, parts: Sequence[Expr]) -> float | None:
    """The share of a sample that meets conditions over a table in memory."""
    names: dict[str, str] = {}
    while isinstance(node, Project):
        plain = node.renames()
        if plain is None:
            return None
        names = {new: plain.get(old, old) for new, old in names.items()} or dict(plain)
        node = node.input
    if not isinstance(node, Scan) or not isinstance(node.source, ArrowSource):
        return None
    if node.predicate is not None:
        return None
    used = sorted({name for part in parts for name in part.columns()})
    if not used or node.source.data.num_rows == 0:
        return None
    rows = facts_of(node.source).sample([names.get(name, name) for name in used])
    rows = rows.rename_columns(used)
    try:
        whole = mask_of(parts[0], rows)
        for part in parts[1:]:
            whole = pc.and_kleene(whole, mask_of(part, rows))
    except CrossdockError:
        return None  # the run says what is wrong with it
    kept = pc.sum(whole).as_py() or 0
    return (kept or 0.5) / len(rows)


def share_of(condition: Expr, below: Estimate) -> float:
    """The share of rows that a condition keeps, by ranges and distinct values."""
    if not isinstance(condition, Call):
        return 1.0 if isinstance(condition, Literal) else 0.5
    function, arguments = condition.function, condition.arguments
    build: dict[str, Callable[[], float]] = {
        "and_kleene": lambda: share_of(arguments[0], below) * share_of(arguments[1], below),
        "or_kleene": lambda: min(
            1.0, share_of(arguments[0], below) + share_of(arguments[1], below)
        ),
        "invert": lambda: 1.0 - share_of(arguments[0], below),
        "is_null": lambda: _EQUAL,
        "is_valid": lambda: 1.0,
        "equal": lambda: _equal_share(arguments, below),
        "not_equal": lambda: 1.0 - _equal_share(arguments, below),
        "is_in": lambda: min(1.0, len(condition.option) * _equal_share(arguments, below)),
    }
    if function in build:
        return build[function]()
    if function in _BOUNDS:
        return _range_share(function, arguments, below)
    return (
        _TEXT if function in ("like", "ilike", "contains", "starts_with", "ends_with") else _OTHER
    )


def share_of_all(parts: Sequence[Expr], below: Estimate) -> float:
    """The share of rows that meet all conditions. Two bounds of one column are one range."""
    share = 1.0
    bounds: dict[str, list[tuple[bool, float]]] = {}
    for part in parts:
        share_of_these = share_of(part, below)
        column = _bounded_column(part)
        if column is None:
            share *= share_of_these
        else:
            assert isinstance(part, Call)
            bounds.setdefault(column, []).append((part.function.startswith("less"), share_of_these))
    for found_bounds in bounds.values():
        below_all = min((each for is_upper, each in found_bounds if is_upper), default=1.0)
        above_all = min((each for is_upper, each in found_bounds if not is_upper), default=1.0)
        share *= max(below_all + above_all - 1.0, 0.001)
    return share


def _bounded_column(condition: Expr) -> str | None:
    """The column of a comparison with a constant on its right."""
    if not isinstance(condition, Call) or condition.function not in _BOUNDS:
        return None
    left, right = condition.arguments
    return left.name if isinstance(left, Column) and isinstance(right, Literal) else None


def _equal_share(arguments: Sequence[Expr], below: Estimate) -> float:
    columns = [each for each in arguments if isinstance(each, Column)]
    if len(columns) == len(arguments) == 2:
        return 0.1
    distinct = below.distinct(columns[0].name) if columns else None
    return _EQUAL if distinct is None else 1.0 / distinct


def _range_share(function: str, arguments: Sequence[Expr], below: Estimate) -> float:
    left, right = arguments
    if isinstance(left, Literal) and isinstance(right, Column):
        flipped = {
            "less": "greater",
            "less_equal": "greater_equal",
            "greater": "less",
            "greater_equal": "less_equal",
        }
        return _range_share(flipped[function], (right, left), below)
    if not isinstance(left, Column) or not isinstance(right, Literal):
        return _RANGE
    known = below.columns.get(left.name, ColumnEstimate())
    place = number_of(right.value)
    if known.low is None or known.high is None or place is None or known.high <= known.low:
        return _RANGE
    share = min(1.0, max(0.0, (place - known.low) / (known.high - known.low)))
    return share if function.startswith("less") else 1.0 - share
