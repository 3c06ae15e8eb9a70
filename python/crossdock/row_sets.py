"""The methods of a relation that put rows of several relations together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from crossdock.familiar_options import answering_class
from crossdock.option_checks import require_text
from crossdock.plan import asof_planning, planning, set_planning

if TYPE_CHECKING:
    from crossdock.plan.nodes import Node


@answering_class
class RowSets(ABC):
    """Unions, intersections and differences; part of every relation."""

    _node: Node

    @abstractmethod
    def _other(self, other: object) -> Self: ...

    @abstractmethod
    def _with(self, node: Node) -> Self: ...

    def join_asof(
        self,
        other: Self | object,
        on: planning.Keys,
        *,
        by: planning.Keys | None = None,
        direction: str = "backward",
        tolerance: Any = None,
        how: str = "left",
        suffix: str = "_right",
    ) -> Self:
        """Each row with the nearest row of `other` in the order of one column: the last one that is
        not above the row ("backward"), the first one not below ("forward"), or the closer of these
        ("nearest"; the one before where both are as close). Of several rows with the
        same value, backward takes the last, forward the first in the input.

        on: the column, "t", or {"left": "right"} where the sides have it under different names.
        by: columns that must be equal, as `on` of `join`; NULL equals nothing, here and in `on`.
        tolerance: how far away it may be: a number, days for dates, a timedelta for times.
        how: "left" keeps rows without a partner, "inner" does not.

        The result has all left columns, then the right ones but for columns of `by` of the same
        name. Row order is not defined. Errors: ColumnError, TypeError, OptionError.
        """
        right = self._other(other)._node
        require_text(suffix, "join_asof(suffix=...)", "suffix='_2'")
        pairs = () if by is None else planning.key_pairs(by)
        columns = asof_planning.ordered_columns(on)
        asked = asof_planning.Asof(*columns, pairs, direction, tolerance, how, suffix)
        return self._with(asof_planning.plan_asof(self._node, right, asked))

    def union(self, *others: Self | object) -> Self:
        """The rows of this relation and of the others, duplicates included, columns matched by
        name. `.distinct()` after it drops duplicates. Columns of several types become one that
        holds all: int32 and int64 int64, an integer and a float float64, decimals with all their
        digits (up to 38), times of the finest unit, a date beside times its midnight; a column of
        type null, as an empty column of a CSV file is, takes that of the others.

        Errors: ColumnError (a column that not all have), TypeError (a string and a number).
        """
        nodes = [self._node, *(self._other(other)._node for other in others)]
        return self._with(set_planning.plan_union(nodes))

    def intersect(self, other: Self | object, *, all: bool = False) -> Self:
        """The different rows that `other` has too, columns matched by name and types widened as in
        `union`; NULL equals NULL. all: rows as often as in both: three and two make two.

        Row order is not defined. Errors as for `union`; TypeError (a nested column).
        """
        right = self._other(other)._node
        return self._with(set_planning.plan_kept(self._node, right, "semi", all, "intersect"))

    def except_(self, other: Self | object, *, all: bool = False) -> Self:
        """The different rows that `other` has not. all: rows as often as here, less as often as
        there: three and two make one. Otherwise as `intersect`."""
        right = self._other(other)._node
        return self._with(set_planning.plan_kept(self._node, right, "anti", all, "except_"))
