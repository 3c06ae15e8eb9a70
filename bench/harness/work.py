"""A row of a bench: what is done, to which tables, how each engine says it, and the bar.

A bench derives its own kinds of work from `Work`. Each method spells the same work for one
engine; a method that returns None says that the engine has no form of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from harness.inputs import Inputs
from harness.results import Fingerprint

# compare: beside peers.  own: beside other ways to run ourselves.  latency: many small calls.
# memory: peak of a fresh process per engine.
Kind = Literal["compare", "own", "latency", "memory"]
Run = Callable[[], pa.Table]


@dataclass(frozen=True, slots=True)
class Bar:
    """What a row must reach. A row is met when every given part holds."""

    ratio: float | None = None  # fastest counted peer / ours (memory: least peer / ours)
    strictly: bool = False  # the ratio must be exceeded, not only reached
    memcpy_fraction: float | None = None  # of the memcpy rate of 16-byte tuples, same threads
    at_most_s: float | None = None  # a time of our own, whatever the peers need
    of_input: float | None = None  # memory: input and what the run added / input

    def text(self) -> str:
        parts = []
        if self.ratio is not None:
            parts.append(f"{'>' if self.strictly else '>='} {self.ratio:g}x")
        if self.memcpy_fraction is not None:
            parts.append(f">= {self.memcpy_fraction:.0%} memcpy")
        if self.at_most_s is not None:
            parts.append(f"< {self.at_most_s * 1e3:g} ms")
        if self.of_input is not None:
            parts.append(f"<= {self.of_input:g} inputs")
        return ", ".join(parts)


NOT_SLOWER = Bar(ratio=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(ABC):
    """`name` is for the command line, `title` for the table."""

    name: str
    title: str
    make: Callable[[float], Inputs]
    bar: Bar
    kind: Kind = "compare"
    threads: int | None = None  # where the row has a say in it
    only_peers: frozenset[str] = frozenset()  # no others are run; none named: all are
    not_counted: frozenset[str] = frozenset()  # forms that are shown and do not enter the ratio
    has_plan: bool = True  # ours can be profiled phase by phase

    @abstractmethod
    def sql(self, sides: Mapping[str, str]) -> str:
        """The work over named table expressions; DuckDB and DataFusion read the same text."""

    @abstractmethod
    def polars(self, frames: Mapping[str, Any]) -> Any:
        """A lazy query over named lazy frames."""

    def polars_series(self, frames: Mapping[str, Any]) -> Run | None:
        """For work on one column, which Polars does faster outside of a data frame."""
        del frames
        return None

    def arrow(self, tables: Mapping[str, pa.Table]) -> Run | None:
        """The work with pyarrow's own tables and functions."""
        del tables
        return None

    def numpy(self, tables: Mapping[str, pa.Table]) -> Run | None:
        """The work on numpy arrays, which are made from the tables here, untimed."""
        del tables
        return None

    @abstractmethod
    def ours(self, relations: Mapping[str, Any]) -> Any:
        """The relation whose result is asked for."""

    def variants(self, relations: Mapping[str, Any]) -> dict[str, Any]:
        """For kind "own": other relations with the same result, by the name of the form."""
        del relations
        return {}

    def run_ours(self, relation: Any) -> pa.Table:
        return relation.collect()

    @abstractmethod
    def fingerprint(self, result: pa.Table) -> Fingerprint:
        """What must be the same for every engine."""
