"""The nodes of a query: immutable values, each knowing its result's schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from crossdock.aggregates import Aggregate
from crossdock.expressions import Column, Expr
from crossdock.sources import Source

Output: TypeAlias = tuple[str, str, str]  # side ("left", "right", "key"), column, result name


@dataclass(frozen=True, eq=False)
class Scan:
    """Columns of a source, and the filter its reader applies."""

    source: Source
    columns: tuple[str, ...]
    schema: Any
    predicate: Expr | None = None


@dataclass(frozen=True, eq=False)
class Filter:
    """The rows of `input` for which `predicate` is true."""

    input: Node
    predicate: Expr

    @property
    def schema(self) -> Any:
        return self.input.schema


@dataclass(frozen=True, eq=False)
class Project:
    """One expression over `input` per result column."""

    input: Node
    items: tuple[tuple[str, Expr], ...]
    schema: Any

    def renames(self) -> dict[str, str] | None:
        """Result name -> column of `input`, when every item is a plain column; else None."""
        found = {name: item.name for name, item in self.items if isinstance(item, Column)}
        return found if len(found) == len(self.items) else None


@dataclass(frozen=True)
class JoinOptions:
    """How the engine runs a join; "auto" lets its model choose. Forced values are for tests."""

    null_equals_null: bool = False
    strategy: str = "auto"
    build: str = "auto"
    materialize: str = "auto"
    filter: str = "auto"
    partition_bits: int = -1
    batch_rows: int = 0


@dataclass(frozen=True, eq=False)
class Join:
    """Rows of `left` and `right` that match on the keys, and the columns of the result."""

    left: Node
    right: Node
    on: tuple[tuple[str, str], ...]
    how: str
    outputs: tuple[Output, ...]
    schema: Any
    residual: Expr | None = None
    residual_columns: tuple[Output, ...] = ()
    options: JoinOptions = field(default_factory=JoinOptions)


@dataclass(frozen=True, eq=False)
class AggregateAll:
    """One row: an aggregate over all rows of `input` per result column."""

    input: Node
    items: tuple[tuple[str, Aggregate], ...]
    schema: Any


Node: TypeAlias = Scan | Filter | Project | Join | AggregateAll
