"""The order of joins: the cheapest tree over inner and semi joins, by what is known of rows and
distinct values. Pure: it knows numbers and no tables.

Up to a budget of pairs all trees without cross products are looked at (dynamic programming over
connected sets); beyond it the cheapest pair is joined first, again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

# A tree of numbers of inputs: (probe side, build side), down to the numbers.
Tree: TypeAlias = "int | tuple[Tree, Tree]"

_PAIRS = 20_000  # of sets that are looked at before the greedy rule takes over
_BUILD_WEIGHT = 2.0  # of a row of a table in a build side, beside one that probes
_RESULT_WEIGHT = 5.0  # the same of a row that another join gave: it streams no further
_KEY_SHARE = 0.9  # of the rows that a key's distinct values are at least


@dataclass(frozen=True)
class Input:
    """A table with so many rows; or a filter, the right side of a semi or anti join, which keeps
    the share `keeps` of the rows of a set that has all of `needs`."""

    rows: float
    keeps: float | None = None
    needs: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Equality:
    """Columns that are equal in the result: the distinct values of each by the input it is in."""

    distinct: dict[int, float]


@dataclass(frozen=True)
class Condition:
    """Another condition between inputs, and the share of pairs that meet it."""

    inputs: frozenset[int]
    keeps: float


def order_joins(
    inputs: Sequence[Input], equalities: Sequence[Equality], conditions: Sequence[Condition] = ()
) -> Tree:
    """The cheapest tree found. Inputs that no equality connects come last, by a cross product."""
    search = _Search(inputs, equalities, conditions)
    trees = [search.best(part) for part in search.components()]
    trees.sort(key=lambda orders: search.rows(orders[1]), reverse=True)
    whole, mask = trees[0]
    for tree, part in trees[1:]:
        whole, mask = (whole, tree), mask | part
    return whole


def estimated_rows(
    inputs: Sequence[Input], equalities: Sequence[Equality], conditions: Sequence[Condition] = ()
) -> float:
    """About how many rows the join of all inputs has."""
    return _Search(inputs, equalities, conditions).rows((1 << len(inputs)) - 1)


class _Search:
    """Sets of inputs are bit masks."""

    def __init__(
        self,
        inputs: Sequence[Input],
        equalities: Sequence[Equality],
        conditions: Sequence[Condition],
    ) -> None:
        self._inputs = inputs
        self._equalities = [
            (sum(1 << i for i in each.distinct), each.distinct) for each in equalities
        ]
        self._conditions = [(sum(1 << i for i in c.inputs), c.keeps) for c in conditions]
        self._needs = [sum(1 << i for i in each.needs) for each in inputs]
        self._neighbours = [self._neighbours_of(i) for i in range(len(inputs))]
        self._rows: dict[int, float] = {}

    def _neighbours_of(self, number: int) -> int:
        bit = 1 << number
        neighbours = self._needs[number]
        for mask, _ in self._equalities:
            if mask & bit:
                neighbours |= mask
        for other, needs in enumerate(self._needs):
            if needs & bit:  # what a filter needs is joined before it, without an equality, too
                neighbours |= 1 << other | needs
        return neighbours & ~bit

    def components(self) -> list[int]:
        """The sets of inputs that are connected, as they come."""
        left = (1 << len(self._inputs)) - 1
        result = []
        while left:
            part = left & -left
            while (wider := part | self._around(part)) != part:
                part = wider
            result.append(part)
            left &= ~part
        return result

    def _around(self, mask: int) -> int:
        mask_around = 0
        for number in _numbers(mask):
            mask_around |= self._neighbours[number]
        return mask_around & ~mask

    def best(self, part: int) -> tuple[Tree, int]:
        """The cheapest tree over a connected set, and the set."""
        exact = self._exact(part)
        return (exact if exact is not None else self._greedy(part)), part

    def _exact(self, part: int) -> Tree | None:
        """Over all pairs of connected sets; None beyond the budget."""
        plans: dict[int, tuple[float, Tree]] = {
            1 << number: (0.0, number) for number in _numbers(part)
        }
        sets = self._connected_sets(part)
        if sets is None:
            return None
        pairs = 0
        for mask in sets:
            best: tuple[float, Tree] | None = None
            half = (mask - 1) & mask
            while half:
                pairs += 1
                other = mask ^ half
                if half > other and half in plans and other in plans and self._joins(half, other):
                    cost, tree = self._joined(half, other, plans)
                    if best is None or cost < best[0]:
                        best = (cost, tree)
                half = (half - 1) & mask
            if pairs > _PAIRS:
                return None
            if best is not None:
                plans[mask] = best
        return plans[part][1] if part in plans else None

    def _connected_sets(self, part: int) -> list[int] | None:
        """All connected sets of two inputs or more, small ones first; None where they are many."""
        sets = {1 << number for number in _numbers(part)}
        newest = sets
        ordered: list[int] = []
        while newest:
            wider = {mask | 1 << n for mask in newest for n in _numbers(self._around(mask) & part)}
            newest = wider
            ordered += sorted(wider)
            if len(ordered) > _PAIRS // 8:
                return None
        return ordered

    def _joins(self, left: int, right: int) -> bool:
        """Whether the sets are connected, and filters in them have what they need."""
        for side, other in ((left, right), (right, left)):
            for number in _numbers(side):
                needs = self._needs[number]
                if needs and needs & side != needs:
                    return side == 1 << number and needs & other == needs
        return bool(self._around(left) & right)

    def _joined(
        self, left: int, right: int, plans: dict[int, tuple[float, Tree]]
    ) -> tuple[float, Tree]:
        """The cost of the join of two sets, and its tree: rows of its first side probe."""
        (left_cost, left_tree), (right_cost, right_tree) = plans[left], plans[right]
        before = left_cost + right_cost + self.rows(left | right)
        straight = before + self._side_rows(left) + self._build_cost(right)
        turned = before + self._side_rows(right) + self._build_cost(left)
        if self._is_filter(left) or (turned < straight and not self._is_filter(right)):
            return turned, (right_tree, left_tree)
        return straight, (left_tree, right_tree)

    def _build_cost(self, mask: int) -> float:
        weight = _BUILD_WEIGHT if mask & (mask - 1) == 0 else _RESULT_WEIGHT
        return weight * self._side_rows(mask)

    def _is_filter(self, mask: int) -> bool:
        return mask & (mask - 1) == 0 and self._inputs[mask.bit_length() - 1].keeps is not None

    def _side_rows(self, mask: int) -> float:
        """Rows that are read of a side: a filter has those of its own table."""
        if self._is_filter(mask):
            return self._inputs[mask.bit_length() - 1].rows
        return self.rows(mask)

    def _greedy(self, part: int) -> Tree:
        plans: dict[int, tuple[float, Tree]] = {
            1 << number: (0.0, number) for number in _numbers(part)
        }
        while len(plans) > 1:
            joinable = [
                (self.rows(a | b), a, b)
                for a in plans
                for b in plans
                if a < b and self._joins(a, b)
            ]
            _, left, right = min(joinable)
            joined = self._joined(left, right, plans)
            del plans[left], plans[right]
            plans[left | right] = joined
        return next(iter(plans.values()))[1]

    def rows(self, mask: int) -> float:
        """About how many rows the join of a set has; each set is counted once, so that it has the
        same whatever the order."""
        estimate = self._rows.get(mask)
        if estimate is None:
            last = self._last_of(mask)
            rest = mask & ~(1 << last)
            estimate = self._rows_with(rest, last) if rest else self._own_rows(last)
            self._rows[mask] = estimate
        return estimate

    def _own_rows(self, number: int) -> float:
        leaf = self._inputs[number]
        return leaf.rows if leaf.keeps is None else leaf.keeps

    def _last_of(self, mask: int) -> int:
        """A filter, or else the smallest input that leaves the rest connected."""
        numbers = list(_numbers(mask))
        filters = [n for n in numbers if self._inputs[n].keeps is not None]
        if filters:
            return filters[-1]
        for number in sorted(numbers, key=lambda n: (self._inputs[n].rows, -n)):
            rest = mask & ~(1 << number)
            if not rest or self._is_connected(rest):
                return number
        return numbers[-1]

    def _is_connected(self, mask: int) -> bool:
        part = mask & -mask
        while (wider := part | (self._around(part) & mask)) != part:
            part = wider
        return part == mask

    def _rows_with(self, rest: int, last: int) -> float:
        """The rows of a set and one more input."""
        before, rows_of_last = self.rows(rest), self._own_rows(last)
        whole = rest | 1 << last
        added = [
            keeps for mask, keeps in self._conditions if mask & whole == mask and mask >> last & 1
        ]
        share = prod(added)
        if self._inputs[last].keeps is not None:
            return before * rows_of_last * share
        pairs = []  # distinct values of the new input, and of the set
        for mask, distinct in self._equalities:
            if mask >> last & 1 and mask & rest:
                others = min(distinct[n] for n in _numbers(mask & rest))
                pairs.append((max(distinct[last], 1.0), max(min(others, before), 1.0)))
        return before * rows_of_last * share / _distinct_keys(pairs, rows_of_last, before)


def _distinct_keys(pairs: Sequence[tuple[float, float]], rows_alone: float, before: float) -> float:
    """The distinct values of the larger side's keys. Where a key of several columns is one only as
    a whole, there are no more than rows of the smaller side."""
    if not pairs:
        return 1.0
    product = prod(max(a, b) for a, b in pairs)
    if len(pairs) == 1 or any(
        a >= _KEY_SHARE * rows_alone or b >= _KEY_SHARE * before for a, b in pairs
    ):
        return product
    ours = min(prod(a for a, _ in pairs), max(rows_alone, 1.0))
    theirs = min(prod(b for _, b in pairs), max(before, 1.0))
    return min(product, max(min(ours, theirs), 1.0))


def _numbers(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
