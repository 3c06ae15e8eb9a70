"""Rewrites a query so that readers and joins touch only what the result needs.

`narrow` walks from the result to the sources with the set of columns needed above and the simple
comparisons that may be applied earlier. Rules for a comparison on a join's result: it moves to a
side when each row it drops there could only have led to rows it would drop from the result.

    inner  either side            left  left side           right  right side
    semi, anti  left side         full  stays above the join
    a key  also the other side, if it has the same type there, so that each comparison means the
           same (equal values: no simple condition tells -0.0 from 0.0, or one NaN from another);
           not under full and null-aware anti

Through a sort and a union every filter moves, and through group_by comparisons of keys; through
limit, sample and a sort that cuts rows off or numbers them none does, since it would change which
rows are left.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pyarrow as pa

from crossdock.expressions.aggregates import BY_POSITION
from crossdock.expressions.expression import (
    Column,
    Expr,
    conjunction,
    conjuncts,
    is_simple,
    rename_columns,
)
from crossdock.files.listed_files import ListedFiles
from crossdock.plan.first_rows import of_groups, rows_up_to
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import (
    AssumeSorted,
    Draws,
    Filter,
    FrameLists,
    GroupBy,
    GroupLists,
    Join,
    Limit,
    Node,
    Partition,
    Project,
    Scan,
    Shared,
    Sort,
    Union,
    Unnest,
    Window,
)

_UNLIMITED = (1 << 63) - 1  # rows of a limit that only leaves out the first ones
_LEFT = frozenset(("inner", "left", "semi", "anti", "anti_null_aware"))
_RIGHT = frozenset(("inner", "right"))
_KEY_TO_LEFT = frozenset(("inner", "left", "right", "semi", "anti", "anti_null_aware"))
_KEY_TO_RIGHT = frozenset(("inner", "left", "right", "semi", "anti"))


def narrow(node: Node, needed: frozenset[str], predicates: tuple[Expr, ...] = ()) -> Node:
    """`node` with at least the columns `needed`, only rows for which all `predicates` hold, and
    everything below it narrowed. Columns keep their order. Pure; cost: one walk of the query."""
    if isinstance(node, Filter):
        if not node.predicate.columns():
            needed = _some_column(needed, node.input)
        return narrow(node.input, needed, (*predicates, *conjuncts(node.predicate)))
    if isinstance(node, Project):
        return _narrow_project(node, needed, predicates)
    if isinstance(node, Join):
        return _narrow_join(node, needed, predicates)
    if isinstance(node, Scan):
        return _narrow_scan(node, needed, predicates)
    if isinstance(node, GroupBy):
        return _narrow_group(node, needed, predicates)
    if isinstance(node, Sort):
        return _narrow_sort(node, needed, predicates)
    if isinstance(node, Union):
        return _narrow_union(node, needed, predicates)
    if isinstance(node, AssumeSorted):
        return _narrow_assumption(node, needed, predicates)
    if isinstance(node, Window):
        return _narrow_window(node, needed, predicates)
    required = needed.union(*(part.columns() for part in predicates))
    if isinstance(node, Shared):
        node.needed.update(required)
        return _kept_above(node, predicates)
    if isinstance(node, Unnest):
        return _narrow_unnest(node, required, predicates)
    if isinstance(node, Draws):
        return _narrow_draws(node, required, predicates)
    if isinstance(node, GroupLists):
        return _kept_above(_narrow_lists(node, required), predicates)
    if isinstance(node, FrameLists):
        return _kept_above(_narrow_frame_lists(node, required), predicates)
    if isinstance(node, Limit):
        below = narrow(node.input, required)
        return _kept_above(_limited(below, node.rows, node.offset), predicates)
    if isinstance(node, Partition):
        required = required.union(node.keys)
    return _kept_above(replace(node, input=narrow(node.input, required)), predicates)


def _narrow_scan(node: Scan, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    if isinstance(node.source, ListedFiles):
        node = replace(node, source=node.source.narrowed(predicates))
    pushed, rest = node.source.split_filter([part for part in predicates if is_simple(part)])
    rest = (*rest, *(part for part in predicates if not is_simple(part)))
    required = needed.union(*(part.columns() for part in rest))
    columns = tuple(name for name in node.columns if name in required)
    schema = node.schema
    if len(columns) != len(node.columns):
        schema = pa.schema([schema.field(name) for name in columns])
    applied = [] if node.predicate is None else [node.predicate]  # what was narrowed may be again
    return _kept_above(
        replace(node, columns=columns, schema=schema, predicate=conjunction([*applied, *pushed])),
        rest,
    )


def _narrow_project(node: Project, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    plain = {name: item.name for name, item in node.items if isinstance(item, Column)}
    pushed = tuple(
        rename_columns(part, plain)
        for part in predicates
        if is_simple(part) and part.columns() <= plain.keys()
    )
    rest = tuple(p for p in predicates if not (is_simple(p) and p.columns() <= plain.keys()))
    required = needed.union(*(part.columns() for part in rest))
    items = tuple((name, item) for name, item in node.items if name in required)
    below = frozenset[str]().union(*(item.columns() for _, item in items))
    if items:
        below = _some_column(below, node.input)
    schema = pa.schema([node.schema.field(name) for name, _ in items])
    return _kept_above(_fold(Project(narrow(node.input, below, pushed), items, schema)), rest)


def _some_column(needed: frozenset[str], node: Node) -> frozenset[str]:
    """`needed`, or the narrowest column where that is none: the values of constants are as many as
    rows, and rows without columns are not counted on their way."""
    if needed or not node.schema.names:
        return needed
    widths = {f.name: _bits(f.type) for f in node.schema}
    return frozenset((min(widths, key=widths.__getitem__),))


def _bits(data_type: pa.DataType) -> int:
    """Bits of a value; of types whose values differ in length, a guess."""
    try:
        return int(data_type.bit_width)
    except ValueError:
        return 256


def _fold(node: Project) -> Node:
    """A projection that only picks and renames becomes part of the join, sort, scan or projection
    below; one that changes nothing goes."""
    renames = node.renames()
    below = node.input
    if renames is None:
        return node
    if isinstance(below, Join):
        produced = {name: (side, column) for side, column, name in below.outputs}
        outputs = tuple((*produced[source], name) for name, source in renames.items())
        return replace(below, outputs=outputs, schema=node.schema)
    if isinstance(below, Sort) and not below.index:
        columns = {name: column for column, name in below.outputs}
        picked = tuple((columns[source], name) for name, source in renames.items())
        return replace(below, outputs=picked, schema=node.schema)
    if isinstance(below, Project):
        items_below = dict(below.items)
        return Project(
            below.input,
            tuple((name, items_below[source]) for name, source in renames.items()),
            node.schema,
        )
    if all(name == source for name, source in renames.items()):
        if isinstance(below, Scan):
            return replace(below, columns=tuple(renames), schema=node.schema)
        if below.schema.names == list(renames):
            return below
    return node


def _narrow_group(node: GroupBy, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    keys = {name: item.name for name, item in node.keys if isinstance(item, Column)}
    pushed: list[Expr] = []
    rest: list[Expr] = []
    for part in predicates:
        on_keys = is_simple(part) and bool(part.columns()) and part.columns() <= keys.keys()
        (pushed if on_keys else rest).append(part)
    required = needed.union(*(part.columns() for part in rest))
    items = tuple((name, item) for name, item in node.items if name in required)
    if not items and not node.keys:
        items = node.items[:1]  # a result of one row, whatever is in it
    names = [name for name, _ in (*node.keys, *items)]
    below = frozenset[str]().union(
        *(item.columns() for _, item in node.keys), *(item.columns() for _, item in items)
    )
    input_node = narrow(node.input, below, tuple(rename_columns(part, keys) for part in pushed))
    if not any(item.function in BY_POSITION for _, item in items):
        input_node = without_order(input_node)
    input_node = of_groups(input_node, node.keys, [item for _, item in items])
    schema = pa.schema([node.schema.field(name) for name in names])
    return _kept_above(replace(node, input=input_node, items=items, schema=schema), tuple(rest))


def without_order(node: Node) -> Node:
    """`node` without sorts that decide on nothing but the order of its rows."""
    if isinstance(node, Filter | Project):
        return replace(node, input=without_order(node.input))
    if not isinstance(node, Sort) or node.index or not node.keeps_all_rows:
        return node
    items = tuple((name, Column(column)) for column, name in node.outputs)
    picked = Project(without_order(node.input), items, node.schema)
    return narrow(picked, frozenset(node.schema.names))


def _narrow_sort(node: Sort, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    columns = {name: column for column, name in node.outputs}
    moves = node.keeps_all_rows and not node.index
    pushed, rest = (predicates, ()) if moves else ((), predicates)
    required = needed.union(*(part.columns() for part in rest))
    outputs = tuple(item for item in node.outputs if item[1] in required)
    below = frozenset(column for column, _ in outputs)
    moved = tuple(rename_columns(part, columns) for part in pushed)
    if not outputs and not node.index:
        # No consumer sees the order of rows that have no columns.
        kept = node.input
        if not node.keeps_all_rows:
            kept = Limit(kept, _UNLIMITED if node.limit is None else node.limit, node.offset)
        return _kept_above(narrow(kept, frozenset(), moved), rest)
    keys = frozenset(order.column for order in node.orders)
    input_node = narrow(node.input, below | keys, moved)
    if not node.stable and not node.index:
        input_node = without_order(input_node)
    names = [name for _, name in outputs] + ([node.index] if node.index else [])
    schema = pa.schema([node.schema.field(name) for name in names])
    sort = replace(node, input=input_node, outputs=outputs, schema=schema)
    return _kept_above(_computed_above(sort), rest)


def _limited(node: Node, rows: int, offset: int) -> Node:
    """The first rows of `node`: below projections, by the limit below, or by a sort's own."""
    if isinstance(node, Project):
        return replace(node, input=_limited(node.input, rows, offset))
    if isinstance(node, Limit):
        left = max(0, node.rows - offset)
        return Limit(node.input, min(rows, left), node.offset + offset)
    if isinstance(node, Sort):
        left = rows if node.limit is None else max(0, node.limit - offset)
        return _computed_above(replace(node, limit=min(rows, left), offset=node.offset + offset))
    return Limit(node, rows, offset)


def _computed_above(sort: Sort) -> Node:
    """A sort that leaves few rows, with what is computed of these and orders none above it."""
    below = sort.input
    if sort.limit is None or sort.index or not isinstance(below, Project):
        return sort
    ordered = {order.column for order in sort.orders}
    items = dict(below.items)
    computed = {
        name: items[column]
        for column, name in sort.outputs
        if column not in ordered and not isinstance(items[column], Column)
    }
    if not computed:
        return sort
    shown = [(column, name) for column, name in sort.outputs if name not in computed]
    kept = ordered.union(column for column, _ in shown)
    read = sorted(frozenset[str]().union(*(item.columns() for item in computed.values())))
    taken = {*items, *below.input.schema.names, *sort.schema.names}
    carried = {}
    for name in read:
        carried[name] = unused_name(name, taken)
        taken.add(carried[name])
    fields = [below.schema.field(name) for name in items if name in kept]
    fields += [below.input.schema.field(name).with_name(new) for name, new in carried.items()]
    plain = tuple((name, item) for name, item in below.items if name in kept)
    plain += tuple((new, Column(name)) for name, new in carried.items())
    outputs = (*shown, *((new, new) for new in carried.values()))
    known = {field.name: field for field in fields}
    few = replace(
        sort,
        input=_fold(Project(below.input, plain, pa.schema(fields))),
        outputs=outputs,
        schema=pa.schema([known[column].with_name(name) for column, name in outputs]),
    )
    above = tuple(
        (name, rename_columns(computed[name], carried) if name in computed else Column(name))
        for _, name in sort.outputs
    )
    return Project(few, above, sort.schema)


def _narrow_union(node: Union, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    inputs = tuple(narrow(below, needed, predicates) for below in node.inputs)
    return Union(inputs, pa.schema([field for field in node.schema if field.name in needed]))


def _narrow_assumption(
    node: AssumeSorted, needed: frozenset[str], predicates: tuple[Expr, ...]
) -> Node:
    """A declaration holds as far as its columns are still there."""
    below = narrow(node.input, needed, predicates)
    kept = list(itertools.takewhile(lambda order: order.column in needed, node.orders))
    return AssumeSorted(below, tuple(kept)) if kept else below


def _narrow_window(node: Window, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    """Comparisons of the columns of partitions leave whole partitions out."""
    keys = frozenset(node.partition)
    pushed = tuple(p for p in predicates if is_simple(p) and p.columns() and p.columns() <= keys)
    rest = tuple(p for p in predicates if not any(p is part for part in pushed))
    required = needed.union(*(part.columns() for part in rest))
    items = tuple(item for item in node.items if item.name in required)
    if not items:
        return _kept_above(narrow(node.input, required, pushed), rest)
    read = keys.union(order.column for order in node.orders)
    read = read.union(item.column for item in items if item.column)
    bounds = (bound for i in items if i.frame for bound in (i.frame.start, i.frame.end))
    read = read.union(bound for bound in bounds if isinstance(bound, str))
    below = (required - {item.name for item in items}) | read
    below = below.union([node.position] if node.position else ())
    input_node = narrow(node.input, _some_column(below, node.input), pushed)
    fields = [field for field in input_node.schema if field.name in below]
    fields += [node.schema.field(item.name) for item in items]
    kept = replace(node, input=input_node, items=items, schema=pa.schema(fields))
    return _kept_above(replace(kept, first_rows=rows_up_to(rest, items)), rest)


def _narrow_unnest(node: Unnest, required: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    """Comparisons of the columns beside the lists move below."""
    lists = frozenset(node.columns)
    stays = [bool(lists & part.columns()) or not is_simple(part) for part in predicates]
    pushed = tuple(itertools.compress(predicates, (not stay for stay in stays)))
    below = narrow(node.input, required | lists, pushed)
    fields = [node.schema.field(name) for name in below.schema.names]
    kept = replace(node, input=below, schema=pa.schema(fields))
    return _kept_above(kept, tuple(itertools.compress(predicates, stays)))


def _narrow_draws(node: Draws, required: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    """Comparisons of the columns that are not drawn move below."""
    drawn = frozenset(each.name for each in node.items)
    stays = [bool(drawn & part.columns()) or not is_simple(part) for part in predicates]
    pushed = tuple(itertools.compress(predicates, (not stay for stay in stays)))
    below = narrow(node.input, _some_column(required - drawn, node.input), pushed)
    items = tuple(each for each in node.items if each.name in required)
    fields = [*below.schema, *(node.schema.field(each.name) for each in items)]
    kept = replace(node, input=below, items=items, schema=pa.schema(fields))
    return _kept_above(kept if items else below, tuple(itertools.compress(predicates, stays)))


def _narrow_lists(node: GroupLists, required: frozenset[str]) -> Node:
    items = tuple(item for item in node.items if item[0] in required)
    lists = tuple(item for item in node.lists if item.name in required)
    read = frozenset(node.keys).union(*(item.columns() for _, item in items))
    for each in lists:
        read = read.union([each.column], [each.condition] if each.condition else [])
        read = read.union(order.column for order in each.orders)
    names = [*node.keys, *(name for name, _ in items), *(each.name for each in lists)]
    schema = pa.schema([field for field in node.schema if field.name in names])
    below = narrow(node.input, _some_column(read, node.input))
    return replace(node, input=below, items=items, lists=lists, schema=schema)


def _narrow_frame_lists(node: FrameLists, required: frozenset[str]) -> Node:
    """Rows count from the first one of the window: none is left out below."""
    lists = tuple(each for each in node.lists if each.name in required)
    read = required.difference(each.name for each in node.lists)
    read = read.union(*((each.column, each.begin, each.end) for each in lists))
    below = narrow(node.input, read)
    if not lists:
        return below
    fields = [node.schema.field(each.name) for each in lists]
    return FrameLists(below, lists, pa.schema([*below.schema, *fields]))


def _narrow_join(node: Join, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    to_left, to_right, rest = _split_by_side(node, predicates)
    required = needed.union(*(part.columns() for part in rest))
    outputs = tuple(item for item in node.outputs if item[2] in required)
    schema = node.schema
    if len(outputs) != len(node.outputs):
        schema = pa.schema([schema.field(name) for _, _, name in outputs])
    left = {left_key for left_key, _ in node.on}
    right = {right_key for _, right_key in node.on}
    partner = dict(node.on)
    for side, column, _ in (*outputs, *node.residual_columns):
        if side != "right":
            left.add(column)
        if side != "left":
            right.add(partner[column] if side == "key" else column)
    joined = replace(
        node,
        left=narrow(node.left, frozenset(left), to_left),
        right=narrow(node.right, frozenset(right), to_right),
        outputs=outputs,
        schema=schema,
    )
    return _kept_above(joined, rest)


def _split_by_side(
    node: Join, predicates: tuple[Expr, ...]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]:
    """(for the left side, for the right side, to be applied above)."""
    left_names, right_names = _names_by_side(node)
    to_left: list[Expr] = []
    to_right: list[Expr] = []
    rest: list[Expr] = []
    keys_left = {name for name, source in left_names.items() if source in dict(node.on)}
    right_keys = {right_key for _, right_key in node.on}
    keys_right = {name for name, source in right_names.items() if source in right_keys}
    for part in predicates:
        columns = part.columns()
        on_left = columns <= left_names.keys()
        on_right = columns <= right_names.keys()
        if not is_simple(part) or not columns or not (on_left or on_right):
            rest.append(part)
            continue
        key = (on_left and columns <= keys_left) and (on_right and columns <= keys_right)
        go_left = on_left and node.how in (_KEY_TO_LEFT if key else _LEFT)
        go_right = on_right and node.how in (_KEY_TO_RIGHT if key else _RIGHT)
        if go_left:
            to_left.append(rename_columns(part, left_names))
        if go_right:
            to_right.append(rename_columns(part, right_names))
        if not (go_left or go_right):
            rest.append(part)
    return tuple(to_left), tuple(to_right), tuple(rest)


def _names_by_side(node: Join) -> tuple[dict[str, str], dict[str, str]]:
    """Result name -> column of the left side, and of the right side; a key that is one column of
    the result (or is equal on both sides because the join is inner) is in both, unless its types
    differ: 0.1 is another number beside a float32, an hour is another one in another zone."""
    left: dict[str, str] = {}
    right: dict[str, str] = {}
    alike = [pair for pair in node.on if _same_type(node, *pair)]
    to_right = dict(alike)
    to_left = {right_key: left_key for left_key, right_key in alike}
    for side, column, name in node.outputs:
        if side == "right":
            right[name] = column
            if node.how == "inner" and column in to_left:
                left[name] = to_left[column]
            continue
        left[name] = column
        # In a right or full join a plain left key is NULL where no left row matched: not equal.
        if column in to_right and (side == "key" or node.how in _LEFT):
            right[name] = to_right[column]
    return left, right


def _same_type(node: Join, left_key: str, right_key: str) -> bool:
    return bool(node.left.schema.field(left_key).type == node.right.schema.field(right_key).type)


def _kept_above(node: Node, predicates: tuple[Expr, ...]) -> Node:
    remaining = conjunction(predicates)
    return node if remaining is None else Filter(node, remaining)
