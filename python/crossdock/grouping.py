"""Groups: what `group_by` gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from crossdock.errors import make_error
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Alias
from crossdock.expressions.named_items import named_aggregates
from crossdock.plan.group_planning import Key

Relation = TypeVar("Relation")  # what the aggregates are


class Grouping(Generic[Relation]):
    """Rows of a relation by their keys, as `group_by` gives it; `agg` says what to compute."""

    def __init__(
        self,
        grouped: Callable[[tuple[Key, ...], Mapping[str, Any]], Relation],
        keys: tuple[Key, ...],
    ) -> None:
        """Use `Relation.group_by`."""
        self._grouped = grouped
        self._keys = keys

    def agg(self, *named: Alias | Sequence[Alias], **aggregates: Aggregate | str) -> Relation:
        """One row per group: the keys, then these aggregates, `n=xd.count()`,
        `xd.count().alias("n")` or an SQL text, `mean="sum(x) / count(*)"`. Row order is not
        defined.

        Errors: ColumnError (unknown, or a name twice), TypeError (sum of text), OptionError (no
        aggregate), ExpressionError.
        """
        aggregates = named_aggregates(named, aggregates, "agg()")
        if not aggregates:
            names = ", ".join(repr(name) for name, _ in self._keys)
            raise make_error(
                "CD-105", "agg() needs at least one aggregate",
                try_=f"agg(n=xd.count()), or distinct({names}) for the groups alone",
            )  # fmt: skip
        return self._grouped(self._keys, aggregates)

    def __getattr__(self, name: str) -> NoReturn:
        from crossdock.familiar_names import FAMILIAR_OF_GROUPS

        ours = FAMILIAR_OF_GROUPS.get(name, "agg(name=xd.count(), ...)")
        raise AttributeError(f"groups have no {name}; here it is {ours}", name=name, obj=self)

    def __repr__(self) -> str:
        shown = ", ".join(_shown(key) for key in self._keys)
        return f"crossdock.Grouping by {shown}: .agg(name=xd.count(), ...) gives a relation"


def _shown(key: Key) -> str:
    name, item = key
    return name if repr(item) == name else f"{name}={item!r}"
