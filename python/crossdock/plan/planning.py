"""Builds nodes from what users write, and refuses what cannot run as early as it can be known:
unknown columns, keys that do not compare, ambiguous names, predicates of a wrong type."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa

from crossdock.errors import make_error, nearest, unknown_choice, unknown_column
from crossdock.expressions.evaluation import not_boolean, plain_type
from crossdock.expressions.expression import Column, Expr, Literal, conjunction
from crossdock.expressions.result_types import TypesOver, result_type
from crossdock.files.sources import Source
from crossdock.option_checks import require_flag, require_integer, require_rows, require_text
from crossdock.plan.nodes import Filter, Join, JoinOptions, Node, Output, Project, Scan
from crossdock.values.engine_types import is_late
from crossdock.values.type_checks import require_comparable

KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware")
_CONSTANT = "\x01constant"  # the key of joins without keys; no column is called so
LEFT_ONLY = frozenset(("semi", "anti", "anti_null_aware"))
_CHOICES = {
    "strategy": ("auto", "radix", "direct", "dense", "merge"),
    "build": ("auto", "left", "right"),
    "materialize": ("auto", "early", "late"),
    "filter": ("auto", "bloom", "off"),
    "exchange": ("auto", "repartition", "broadcast"),
}
# Options of other libraries, and ours.
_FAMILIAR = {
    "left_on": 'on={"left": "right"}',
    "right_on": 'on={"left": "right"}',
    "suffixes": 'suffix="_right"',
    "condition": "residual=",
    "rsuffix": 'suffix="_right"',
    "lsuffix": 'suffix="_right", of columns of the right side',
    "validate": "relation.group_by(key).agg(n=xd.count()).filter('n > 1'), which has keys twice",
    "indicator": "how='semi' and how='anti'",
    "join_nulls": "null_equals_null=",
    "nulls_equal": "null_equals_null=",
    "maintain_order": "nothing: sort(...) behind it, where an order is needed",
    "sort": "strategy='merge', or sort(...) behind it",
}

JOIN_DEFAULTS = {name: each.default for name, each in JoinOptions.__dataclass_fields__.items()}
Keys: TypeAlias = str | Sequence[str | tuple[str, str]] | Mapping[str, str]


def plan_scan(source: Source) -> Scan:
    """All columns of a source."""
    return Scan(source, tuple(source.schema.names), source.schema)


def plan_filter(node: Node, predicates: Sequence[Expr]) -> Node:
    """Rows of `node` where all `predicates` hold. ColumnError, ExpressionError."""
    type_of = TypesOver(node.schema)
    for predicate in predicates:
        require_columns(predicate.columns(), node.schema, "filter()")
        data_type = type_of(predicate)
        if not pa.types.is_boolean(data_type):
            raise not_boolean(predicate, data_type)
    both = conjunction(predicates)
    return node if both is None else Filter(node, both)


def plan_project(node: Node, items: Sequence[tuple[str, Expr]], where: str) -> Project:
    """Named expressions over `node`. ColumnError, ExpressionError."""
    fields = []
    type_of = TypesOver(node.schema)
    for name, item in items:
        require_columns(sorted(item.columns()), node.schema, where)
        if isinstance(item, Column):
            fields.append(node.schema.field(item.name).with_name(name))
        else:
            fields.append(pa.field(name, type_of(item)))
    require_different(items, where)
    return Project(node, tuple(items), pa.schema(fields))


def plan_rename(node: Node, names: object) -> Node:
    """All columns, some under new names. ColumnError, OptionError."""
    advice = 'rename({"old": "new"})'
    if not isinstance(names, Mapping):
        problem = f"rename() takes new names by old ones, not {names!r}"
        raise make_error("CD-105", problem, try_=advice)
    require_columns(names, node.schema, "rename()")
    for name in names.values():
        require_text(name, "rename()", advice)
    items = [(names.get(name, name), Column(name)) for name in node.schema.names]
    return plan_project(node, items, "rename()")


def plan_join(
    left: Node,
    right: Node,
    keys: tuple[tuple[str, str], ...],
    how: str,
    extras: tuple[str, Expr | None, JoinOptions],
) -> Join:
    """The join of two nodes; `extras` are the suffix, the residual predicate and the options.

    Errors: ColumnError (unknown key, a result name twice), TypeError (keys that cannot be
    compared), OptionError (a word that is no choice, no key), ExpressionError (residual).
    """
    suffix, residual, options = extras
    if how not in KINDS:
        raise unknown_choice("how", how, (*KINDS, "cross"), {"outer": "full", "full_outer": "full"})
    for option, choices in _CHOICES.items():
        if getattr(options, option) not in choices:
            raise unknown_choice(option, getattr(options, option), choices)
    if how == "full" and options.exchange == "broadcast":
        raise make_error(
            "CD-105", "no side of a full join can go to all ranks: each would find the same rows "
            "without a partner", try_='exchange="repartition"',
        )  # fmt: skip
    for left_key, right_key in keys:
        require_columns([left_key], left.schema, "the left side of join()")
        require_columns([right_key], right.schema, "the right side of join()")
    left, right = (
        _with_typed_nulls(left, right, keys),
        _with_typed_nulls(right, left, tuple((b, a) for a, b in keys)),
    )
    require_comparable(left.schema, right.schema, keys)
    both, schema = _join_outputs(left.schema, right.schema, keys, (how, suffix))
    outputs = both
    if how in LEFT_ONLY:
        outputs = tuple(item for item in both if item[0] == "left")
        schema = pa.schema(list(schema)[: len(outputs)])
    require_unique(
        [name for _, _, name in outputs],
        "the join's result",
        'another suffix=, or rename({"old": "new"}) on one side',
    )
    needed = _residual_outputs(residual, both, left.schema, right.schema)
    return Join(left, right, keys, how, outputs, schema, residual, needed, options)


def plan_keyless_join(
    left: Node,
    right: Node,
    on: Keys | None,
    how: str,
    extras: tuple[str, Expr | None, JoinOptions],
) -> Node:
    """The join of two nodes whose residual predicate decides about every pair of rows: a join on a
    constant of both sides. Errors as for plan_join; OptionError (keys of a cross join)."""
    if on is not None:
        raise make_error(
            "CD-105", 'how="cross" pairs each row with each and has no keys',
            values=repr(on), try_='how="inner"',
        )  # fmt: skip
    kind = "inner" if how == "cross" else how
    sides = (_with_constant(left), _with_constant(right))
    join = plan_join(*sides, ((_CONSTANT, _CONSTANT),), kind, extras)
    items = [(name, Column(name)) for name in join.schema.names if name != _CONSTANT]
    return plan_project(join, items, "join()")


def _with_constant(node: Node) -> Project:
    items: list[tuple[str, Expr]] = [(name, Column(name)) for name in node.schema.names]
    return plan_project(node, [*items, (_CONSTANT, Literal(1))], "join()")


def key_pairs(on: Keys | None) -> tuple[tuple[str, str], ...]:
    """(left, right) column names from "k", ["a", "b"], {"l": "r"} or [("l", "r")]."""
    if on is None:
        raise make_error(
            "CD-105",
            "join() takes keys, or a residual that decides about every pair of rows",
            try_='on="k", residual=xd.col("a") < xd.col("b"), or how="cross"',
        )
    if isinstance(on, str):
        return ((on, on),)
    pairs: Iterable[Any] = on.items() if isinstance(on, Mapping) else on
    key_names: tuple[tuple[Any, ...], ...] = ()
    if isinstance(pairs, Iterable):
        key_names = tuple((key, key) if isinstance(key, str) else _as_tuple(key) for key in pairs)
    named = all(len(pair) == 2 and all(isinstance(key, str) for key in pair) for pair in key_names)
    if not key_names or not named:
        raise make_error(
            "CD-105",
            f"on={on!r} names no key columns",
            forms='"k", ["a", "b"], {"left": "right"}, [("left", "right")]',
        )
    return key_names


def pair_schema(left: Node, right: Node, on: Keys | None, suffix: str) -> pa.Schema:
    """The columns of pairs of rows, under the names that a condition on pairs has for them."""
    pairs = () if on is None else key_pairs(on)
    shared = {a for a, b in pairs if a == b}
    fields = list(left.schema)
    for field in right.schema:
        if field.name not in shared:
            is_taken = field.name in left.schema.names
            fields.append(field.with_name(field.name + suffix if is_taken else field.name))
    return pa.schema(fields)


def join_options(options: Mapping[str, Any]) -> JoinOptions:
    """The options of a join by their names. OptionError for other names, and for bad values."""
    known = JoinOptions.__dataclass_fields__
    for name in options:
        if name not in known:
            close = nearest(name, [*known, "on", "how", "suffix", "residual"])
            raise make_error(
                "CD-505",
                f"join() has no option {name!r}",
                options="on, how, suffix, residual, " + ", ".join(known),
                try_=_FAMILIAR.get(name) or (f"{close}=" if close else ""),
            )
    result = JoinOptions(**options)
    require_flag(result.null_equals_null, "null_equals_null", "join")
    what = "join(partition_bits=...) takes a number of bits"
    bits = require_integer(result.partition_bits, what, "-1, the default")
    rows = require_rows(result.batch_rows, "join(batch_rows=...)")
    return replace(result, partition_bits=bits, batch_rows=rows)


def _as_tuple(key: object) -> tuple[Any, ...]:
    return tuple(key) if isinstance(key, Iterable) else (key,)


def require_columns(names: Iterable[str], schema: pa.Schema, where: str) -> None:
    """ColumnError for the first of `names` that is not in `schema`."""
    for name in names:
        if schema.get_field_index(name) < 0:
            raise unknown_column(name, schema.names, where)


def _with_typed_nulls(side: Node, other: Node, keys: tuple[tuple[str, str], ...]) -> Node:
    """`side` with keys of type null as NULLs of the type of their partners."""
    items: dict[str, Expr] = {name: Column(name) for name in side.schema.names}
    for key, partner in keys:
        target = plain_type(other.schema.field(partner).type)
        target = target.value_type if pa.types.is_dictionary(target) else target
        untyped = pa.types.is_null(side.schema.field(key).type)
        if untyped and not (pa.types.is_null(target) or is_late(target)):
            items[key] = Column(key).cast(target)
    if all(isinstance(item, Column) for item in items.values()):
        return side
    return plan_project(side, list(items.items()), "join()")


def _join_outputs(
    left: pa.Schema, right: pa.Schema, keys: tuple[tuple[str, str], ...], kind: tuple[str, str]
) -> tuple[tuple[Output, ...], pa.Schema]:
    """Result columns: all of left, then those of right but for keys of the same name."""
    how, suffix = kind
    shared = {left_key for left_key, right_key in keys if left_key == right_key}
    coalesced = shared if how in ("right", "full") else set()
    outputs: list[Output] = []
    fields = []
    for field in left:
        if field.name in coalesced:
            partner = right.field(field.name)
            _require_same_type(field, partner, how)
            fields.append(field.with_nullable(field.nullable or partner.nullable))
            outputs.append(("key", field.name, field.name))
        else:
            fields.append(field.with_nullable(field.nullable or how in ("right", "full")))
            outputs.append(("left", field.name, field.name))
    left_names = set(left.names)
    for field in right:
        if field.name in shared:
            continue
        name = field.name + suffix if field.name in left_names else field.name
        nullable = field.nullable or how in ("left", "full")
        fields.append(field.with_name(name).with_nullable(nullable))
        outputs.append(("right", field.name, name))
    return tuple(outputs), pa.schema(fields)


def _residual_outputs(
    residual: Expr | None, both: tuple[Output, ...], left: pa.Schema, right: pa.Schema
) -> tuple[Output, ...]:
    """The columns a residual predicate reads, under the names it uses for them."""
    if residual is None:
        return ()
    # A candidate pair has both keys, so a coalesced key is simply that of the left row.
    named = {name: ("left" if side == "key" else side, column) for side, column, name in both}
    for name in sorted(residual.columns()):
        if name not in named:
            raise unknown_column(name, named, "residual=")
    used = [name for _, _, name in both if name in residual.columns()]
    require_unique(used, "residual=", "another suffix=")
    needed = tuple((*named[name], name) for name in named if name in residual.columns())
    fields = [
        (left if side == "left" else right).field(column).with_name(name)
        for side, column, name in needed
    ]
    data_type = result_type(residual, pa.schema(fields))
    if not pa.types.is_boolean(data_type):
        raise not_boolean(residual, data_type)
    if not needed:
        raise make_error("CD-504", f"residual={residual!r} reads no column")
    return needed


def _require_same_type(left: pa.Field, right: pa.Field, how: str) -> None:
    if left.type == right.type:
        return
    raise make_error(
        "CD-103",
        f"key {left.name!r} of a {how} join is one result column, but its sides differ in type",
        types=f"left {left.type}, right {right.type}",
        try_=f"rename one side's key, or select(..., {left.name}=xd.col({left.name!r})"
        f".cast({str(left.type)!r})) on the right",
    )


def require_unique(names: Sequence[str], where: str, advice: str) -> None:
    """ColumnError for names that occur more than once in `names`."""
    if len(set(names)) == len(names):
        return
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    raise make_error(
        "CD-104", f"two columns named {', '.join(map(repr, twice))} in {where}", try_=advice
    )


def require_different(items: Sequence[tuple[str, object]], where: str) -> None:
    """ColumnError for items of one name; it says what each is, and proposes a name."""
    names = [name for name, _ in items]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is None:
        return
    given = [repr(value) for name, value in items if name == twice]
    free = next(name for i in itertools.count(2) if (name := f"{twice}_{i}") not in names)
    raise make_error(
        "CD-104",
        f"two columns named {twice!r} in {where}",
        values=f"{twice} is {' and '.join(given)}",
        try_=f"each column once in {where}" if len(set(given)) == 1 else
        f"{where.removesuffix(')')}..., {free}={given[-1]})",
    )  # fmt: skip
