"""The nodes of a query: immutable values, each knowing its result's schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from crossdock import _native
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column, Expr
from crossdock.expressions.orders import Order
from crossdock.expressions.window_expressions import Frame
from crossdock.files.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

Output: TypeAlias = tuple[str, str, str]  # side ("left", "right", "key"), column, result name


@dataclass(frozen=True, eq=False)
class Scan:
    """Columns of a source, and the filter its reader applies."""

    source: Source
    columns: tuple[str, ...]
    schema: pa.Schema
    predicate: Expr | None = None


@dataclass(frozen=True, eq=False)
class _OfInput:
    """What gives rows of `input` with the columns that they have there."""

    input: Node

    @property
    def schema(self) -> pa.Schema:
        return self.input.schema


@dataclass(frozen=True, eq=False)
class Filter(_OfInput):
    """The rows of `input` for which `predicate` is true."""

    predicate: Expr


@dataclass(frozen=True, eq=False)
class Project:
    """One expression over `input` per result column."""

    input: Node
    items: tuple[tuple[str, Expr], ...]
    schema: pa.Schema

    def renames(self) -> dict[str, str] | None:
        """Result name -> column of `input`, when every item is a plain column; else None."""
        by_name = {name: item.name for name, item in self.items if isinstance(item, Column)}
        return by_name if len(by_name) == len(self.items) else None


@dataclass(frozen=True)
class JoinOptions:
    """How the engine runs a join; "auto" lets its model choose. Forced values are for tests.
    `exchange` is how rows go between ranks."""

    null_equals_null: bool = False
    strategy: str = "auto"
    build: str = "auto"
    materialize: str = "auto"
    filter: str = "auto"
    partition_bits: int = -1
    batch_rows: int = 0
    exchange: str = "auto"


@dataclass(frozen=True, eq=False)
class Join:
    """Rows of `left` and `right` that match on the keys, and the columns of the result."""

    left: Node
    right: Node
    on: tuple[tuple[str, str], ...]
    how: str
    outputs: tuple[Output, ...]
    schema: pa.Schema
    residual: Expr | None = None
    residual_columns: tuple[Output, ...] = ()
    options: JoinOptions = field(default_factory=JoinOptions)
    arrived: _native.RankSides | None = None  # has both sides; then the nodes are not read
    route: Any = None  # in a plan over ranks, a JoinRoute: how the rows of both sides go

    def keys(self, side: int) -> tuple[str, ...]:
        """The key columns of the left (0) or right (1) side."""
        return tuple(pair[side] for pair in self.on)


@dataclass(frozen=True, eq=False)
class GroupBy:
    """One row per distinct combination of `keys`, and its aggregates: a key or an aggregate over
    columns of `input` per result column. No keys: one row over all; no items: the keys alone."""

    input: Node
    keys: tuple[tuple[str, Expr], ...]
    items: tuple[tuple[str, Aggregate], ...]
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class Sort:
    """The rows of `input` in order, from `offset` on and at most `limit` of them."""

    input: Node
    orders: tuple[Order, ...]
    outputs: tuple[tuple[str, str], ...]  # column, result name
    schema: pa.Schema
    limit: int | None = None
    offset: int = 0
    stable: bool = False
    index: str = ""  # an extra last column: the row's position in the input
    strategy: str = "auto"

    @property
    def keeps_all_rows(self) -> bool:
        """False where a limit or an offset cuts rows off."""
        return self.limit is None and self.offset == 0


@dataclass(frozen=True)
class WindowItem:
    """A function of a window, and the column that it becomes. `frame` is None where the function
    has its own; the bounds of a range are numbers, of decimals in units of the last digit, of times
    in units of the column."""

    function: str
    column: str  # "": none
    options: tuple[tuple[str, Any], ...]
    frame: Frame | None
    name: str


@dataclass(frozen=True, eq=False)
class Window:
    """The rows of `input`, and a column for each item, computed from the rows with the same values
    of the columns `partition`, in order."""

    input: Node
    partition: tuple[str, ...]
    orders: tuple[Order, ...]
    items: tuple[WindowItem, ...]
    schema: pa.Schema
    position: str = ""  # a column that orders rows which are equal to all items; "": as they come
    first_rows: int = -1  # of each partition that are asked for, others may be left out; -1: all


@dataclass(frozen=True, eq=False)
class Limit(_OfInput):
    """`rows` rows of `input`, after the first `offset`."""

    rows: int
    offset: int = 0


@dataclass(frozen=True, eq=False)
class FirstShare(_OfInput):
    """The first rows of `input`, as many as this share of them is, after the first `offset`."""

    fraction: float
    offset: int = 0


@dataclass(frozen=True)
class Draw:
    """A column of random values, numbers from [0, 1) or UUIDs, as a seed has them."""

    name: str
    kind: str
    seed: int


@dataclass(frozen=True, eq=False)
class Draws:
    """The rows of `input`, and behind them a column for each item."""

    input: Node
    items: tuple[Draw, ...]
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class Sample(_OfInput):
    """Rows of `input` drawn at random: each with probability `fraction`, or exactly `rows`."""

    fraction: float | None
    rows: int | None
    seed: int


@dataclass(frozen=True, eq=False)
class Unnest:
    """A row per element of the lists in `columns`, which become the elements, beside the other
    columns of the row: their first elements, their second ones and so on, NULL where one list is
    shorter. Rows without an element are left out, or have NULL."""

    input: Node
    columns: tuple[str, ...]
    keeps_empty: bool
    schema: pa.Schema


@dataclass(frozen=True)
class ListItem:
    """A column of lists: the values of `column` in the rows for which `condition`, a column, is
    true ("": all), in order."""

    name: str
    column: str
    condition: str
    orders: tuple[Order, ...]


@dataclass(frozen=True, eq=False)
class GroupLists:
    """A row per distinct combination of the columns `keys`, with its aggregates and its lists. Over
    ranks, all rows with equal keys must be in one."""

    input: Node
    keys: tuple[str, ...]
    items: tuple[tuple[str, Aggregate], ...]
    lists: tuple[ListItem, ...]
    schema: pa.Schema


@dataclass(frozen=True)
class FrameList:
    """A column of lists: the values of `column` in the rows from `begin` to before `end`, which are
    columns of numbers of rows of the input, in its order."""

    name: str
    column: str
    begin: str
    end: str
    ignore_nulls: bool


@dataclass(frozen=True, eq=False)
class FrameLists:
    """The rows of a window, with lists of the rows of their frames: NULL where a frame has none."""

    input: Node
    lists: tuple[FrameList, ...]
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class Union:
    """The rows of all inputs, duplicates included, one input after the other. Inputs have at least
    the columns of `schema`, in any order."""

    inputs: tuple[Node, ...]
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class AssumeSorted(_OfInput):
    """The rows of `input`, which the user declares to be in this order."""

    orders: tuple[Order, ...]


@dataclass(frozen=True, eq=False)
class Partition:
    """The rows of `input`, those of the same partition side by side, with the columns of `schema`:
    keys that were computed for it are none of them."""

    input: Node
    keys: tuple[str, ...]
    partitions: int
    how: str
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class Shared(_OfInput):
    """Stands for a part that a query uses more than once, while it is narrowed; notes which of its
    columns are needed."""

    needed: set[str] = field(default_factory=set)


@dataclass(frozen=True, eq=False)
class Exchange(_OfInput):
    """The rows of `input` of all ranks, by a rule: "by key" and the like. Stands in plans only: a
    run has the rows that arrived in its place."""

    rule: str
    keys: tuple[str, ...] = ()
    how: str = ""


@dataclass(frozen=True, eq=False)
class RankFilter(_OfInput):
    """The rows of `input` whose `keys` may be among those that ranks have put into a filter
    together: blocks of 64 bits, as `_native.filter_keys` gives them."""

    keys: tuple[str, ...]
    blocks: bytes
    first_key: int | None = None


Node: TypeAlias = (
    Scan
    | Filter
    | Project
    | Join
    | GroupBy
    | Sort
    | Limit
    | FirstShare
    | Draws
    | Sample
    | Unnest
    | GroupLists
    | FrameLists
    | Union
    | AssumeSorted
    | Partition
    | Window
    | Exchange
    | RankFilter
    | Shared
)
# What the engine runs; everything else is a stream of batches around it.
Operated: TypeAlias = Join | GroupBy | Sort | Partition | Window | RankFilter


def files_of(node: Node) -> list[str]:
    """Paths of the files that running the node reads."""
    if isinstance(node, Scan):
        return node.source.files
    return [name for below in inputs_of(node) for name in files_of(below)]


def reads_memory_only(node: Node) -> bool:
    """Whether all sources of a query are tables in memory, which stay as they are."""
    kept = kept_with(node)
    if "reads_memory_only" not in kept:
        is_in_memory = not isinstance(node, Scan) or node.source.kind == "arrow"
        kept["reads_memory_only"] = is_in_memory and all(map(reads_memory_only, inputs_of(node)))
    return bool(kept["reads_memory_only"])


def inputs_of(node: Node) -> tuple[Node, ...]:
    """The nodes directly below."""
    if isinstance(node, Scan | Shared):
        return ()
    if isinstance(node, Join):
        return (node.left, node.right)
    return node.inputs if isinstance(node, Union) else (node.input,)


def with_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """`node` over changed inputs; `node` itself where none changes."""
    inputs = inputs_of(node)
    changed = tuple(map(change, inputs))
    if all(new is old for new, old in zip(changed, inputs, strict=True)):
        return node
    if isinstance(node, Join):
        return replace(node, left=changed[0], right=changed[1])
    several: dict[str, Any] = {"inputs": changed} if isinstance(node, Union) else {}
    return replace(node, **(several or {"input": changed[0]}))


def users_of(root: Node) -> Counter[Node]:
    """How many inputs of other nodes each node is, with users before what they use."""
    order: list[Node] = []
    seen: set[Node] = set()
    _visit(root, seen, order)
    users: Counter[Node] = Counter(dict.fromkeys(reversed(order), 0))
    for node in order:
        users.update(inputs_of(node))
    return users


def _visit(node: Node, seen: set[Node], order: list[Node]) -> None:
    if node in seen:
        return
    seen.add(node)
    for below in inputs_of(node):
        _visit(below, seen, order)
    order.append(node)


def has_operator(node: Node) -> bool:
    """Whether the node, or one below it, is an operator."""
    return isinstance(node, Operated) or any(map(has_operator, inputs_of(node)))


class Kept(dict[str, Any]):
    """What was worked out about a node and lives as long as it does. No pickle has it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, ()


def kept_with(node: Node) -> Kept:
    """What is kept with a node: a table of weak references would run Python code as nodes go, where
    a Ctrl-C that comes then is lost."""
    kept: Kept = vars(node).setdefault("_kept", Kept())
    return kept


def depth_of(node: Node) -> int:
    """Nodes from this one down to its farthest source."""
    kept = kept_with(node)
    if "depth" not in kept:
        kept["depth"] = 1 + max(map(depth_of, inputs_of(node)), default=0)
    return int(kept["depth"])
