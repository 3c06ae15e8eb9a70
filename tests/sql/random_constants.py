"""Random expressions from a seed, of constants or of the columns of a table with one row, in SQL
that means the same here and in DuckDB."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

MOST = 9223372036854775807
VALUES: dict[str, list[Any]] = {
    "bigint": [0, 1, 2, 3, 7, -1, -5, 100, 2147483647, MOST, -MOST, None],
    "integer": [0, 1, 2, -3, 10, 46341, 2147483647, -2147483648, None],
    "tinyint": [0, 1, -2, 100, 127, None],
    "decimal(6,2)": [Decimal(x) for x in ("0.00", "1.50", "2.50", "-1.50", "9999.99", "0.05")]
    + [None],
    "double": [0.0, 1.5, 2.5, -2.5, 0.1, 1e18, -1e18, None],
    "varchar": ["", "a", "Abc", "12", "-7", "1.5", "%b_", "é x", None],
    "date": [
        datetime.date(2024, 1, 31),
        datetime.date(2000, 2, 29),
        datetime.date(1969, 12, 31),
        None,
    ],
    "timestamp": [
        datetime.datetime(2024, 2, 29, 13, 45, 10),
        datetime.datetime(1969, 12, 31, 23),
        None,
    ],
    "boolean": [True, False, None],
}
TYPES = {
    "bigint": pa.int64(), "integer": pa.int32(), "tinyint": pa.int8(),
    "decimal(6,2)": pa.decimal128(6, 2), "double": pa.float64(), "varchar": pa.string(),
    "date": pa.date32(), "timestamp": pa.timestamp("us"), "boolean": pa.bool_(),
}  # fmt: skip
INTEGERS = ("bigint", "integer", "tinyint")
NUMBERS = (*INTEGERS, "decimal(6,2)", "double")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from")


@dataclass
class Constants:
    """An expression twice: of constants, and of the columns of `row`."""

    constant: str = ""
    of_columns: str = ""
    row: dict[str, tuple[Any, str]] = field(default_factory=dict)  # name -> value, type

    def table(self) -> Any:
        """The row; one column of it is not used."""
        columns = {name: pa.array([v], TYPES[kind]) for name, (v, kind) in self.row.items()}
        return pa.table({"unused": pa.array([0]), **columns})


def random_constants(seed: int) -> Constants:
    """The expression of a seed."""
    maker = _Maker(Random(seed))
    kind = maker.random.choice(["number", "number", "boolean", "boolean", "string", "moment"])
    template = getattr(maker, kind)(3)
    names = {name: f"c{i}" for i, name in enumerate(maker.constants.row)}
    result = maker.constants
    result.constant = template.format(**{k: written(*v) for k, v in result.row.items()})
    result.of_columns = template.format(**names)
    result.row = {names[k]: v for k, v in result.row.items()}
    return result


def written(value: Any, kind: str) -> str:
    """A constant of a type."""
    if value is None:
        return f"cast(null as {kind})"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, datetime.datetime | datetime.date):
        return f"{kind} '{value}'"
    if isinstance(value, bool):
        return str(value).lower()
    return f"cast({value} as {kind})"


class Expressions:
    """Random expressions of a type, of values that `leaf` gives."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def leaf(self, *kinds: str) -> str:
        """A value of one of the types."""
        raise NotImplementedError

    def number(self, depth: int) -> str:
        if depth == 0:
            return self.leaf(*NUMBERS)
        return self._one_of(
            [
                lambda: f"({self.whole(depth - 1)} {self._of('+ - *')} {self.whole(depth - 1)})",
                lambda: f"({self.number(depth - 1)} / {self.number(depth - 1)})",
                lambda: f"cast({self.number(depth - 1)} as {self._of('bigint integer double')})",
                lambda: f"cast({self.leaf('decimal(6,2)')} as decimal(5,1))",
                lambda: (
                    f"({self.leaf('decimal(6,2)')} {self._of('+ - *')} "
                    f"{self.leaf('decimal(6,2)', 'tinyint')})"
                ),
                lambda: f"abs({self.number(depth - 1)})",
                lambda: f"-{self.leaf('bigint', 'double', 'decimal(6,2)')}",
                lambda: f"round({self.leaf('double', 'decimal(6,2)')}, {self._of('0 1')})",
                lambda: f"{self._of('floor ceil sign')}({self.leaf('double', 'decimal(6,2)')})",
                lambda: f"coalesce({self.whole(depth - 1)}, {self.whole(0)})",
                lambda: f"nullif({self.whole(depth - 1)}, {self.whole(0)})",
                lambda: f"{self._of('greatest least')}({self.whole(0)}, {self.whole(depth - 1)})",
                lambda: (
                    f"case when {self.boolean(depth - 1)} then {self.whole(depth - 1)} "
                    f"else {self.whole(0)} end"
                ),
                lambda: f"case {self.whole(0)} when {self.whole(0)} then {self.whole(0)} end",
                lambda: (
                    f"try_cast({self.leaf('varchar', 'bigint')} as {self._of('integer double')})"
                ),
                lambda: f"{self._of('length ascii')}({self.string(depth - 1)})",
                lambda: f"extract({self._of('year month day doy')} from {self.moment(depth - 1)})",
                lambda: f"date_diff('{self._of('day month')}', {self.moment(0)}, {self.moment(0)})",
                lambda: f"({self.leaf('bigint')} % {self.leaf('bigint')})",
                lambda: f"({self.leaf('bigint')} // {self.leaf('bigint')})",
                lambda: f"({self.leaf('date')} - {self.leaf('date')})",
            ]
        )

    def whole(self, depth: int) -> str:
        if depth == 0:
            return self.leaf(*INTEGERS)
        return self._one_of(
            [
                lambda: f"({self.whole(depth - 1)} {self._of('+ - *')} {self.whole(depth - 1)})",
                lambda: f"cast({self.leaf('decimal(6,2)', 'double')} as {self._of('bigint int')})",
                lambda: f"cast({self.leaf('bigint')} as {self._of('integer smallint')})",
                lambda: self.leaf(*INTEGERS),
            ]
        )

    def boolean(self, depth: int) -> str:
        if depth == 0:
            return self.leaf("boolean")
        test = self.random.choice(COMPARISONS)
        return self._one_of(
            [
                lambda: f"({self.number(depth - 1)} {test} {self.number(depth - 1)})",
                lambda: f"({self.string(depth - 1)} {test} {self.string(0)})",
                lambda: f"({self.moment(depth - 1)} {test} {self.moment(0)})",
                lambda: f"({self.whole(0)} {self._of_in()} ({self.whole(0)}, {self.whole(0)}))",
                lambda: f"({self.leaf('varchar')} {self._of_in()} ('a', {self.leaf('varchar')}))",
                lambda: f"({self.whole(0)} {self._of_in()} ({self.whole(0)}, null))",
                lambda: f"({self.number(0)} between {self.number(0)} and {self.number(0)})",
                lambda: (
                    f"({self.boolean(depth - 1)} {self._of('and or')} {self.boolean(depth - 1)})"
                ),
                lambda: f"(not {self.boolean(depth - 1)})",
                lambda: f"({self.number(depth - 1)} is {self._of_not()}null)",
                lambda: f"({self.boolean(depth - 1)} is {self._of_not()}{self._of('true false')})",
                lambda: f"({self.string(depth - 1)} like '{self._of('a% %b% _ % A_c')}')",
            ]
        )

    def string(self, depth: int) -> str:
        if depth == 0:
            return self.leaf("varchar")
        return self._one_of(
            [
                lambda: f"({self.string(depth - 1)} || {self.string(0)})",
                lambda: f"{self._of('upper lower trim reverse')}({self.string(depth - 1)})",
                lambda: f"substr({self.string(0)}, {self._of('-2 0 1 2')}, {self._of('0 1 3')})",
                lambda: f"cast({self.leaf('bigint', 'boolean', 'date')} as varchar)",
                lambda: f"concat({self.string(0)}, {self.string(depth - 1)})",
                lambda: f"replace({self.string(depth - 1)}, 'a', 'bb')",
                lambda: f"lpad({self.string(0)}, 4, '*')",
                lambda: f"{self._of('left right')}({self.string(0)}, {self._of('-1 0 2')})",
                lambda: f"coalesce({self.string(0)}, {self.string(depth - 1)})",
            ]
        )

    def moment(self, depth: int) -> str:
        if depth == 0:
            return self.leaf("date", "timestamp")
        unit = self._of("day month year")
        return self._one_of(
            [
                lambda: f"({self.leaf('date')} {self._of('+ -')} interval '1' {unit})",
                lambda: f"({self.leaf('timestamp')} + interval '30' {self._of('minute hour')})",
                lambda: f"date_trunc('{unit}', {self.moment(0)})",
                lambda: f"cast({self.leaf('timestamp')} as date)",
                lambda: f"({self.leaf('date')} + {self.random.randint(-40, 40)})",
                lambda: f"last_day({self.leaf('date')})",
            ]
        )

    def _of(self, listed: str) -> str:
        return self.random.choice(listed.split())

    def _of_in(self) -> str:
        return self.random.choice(["in", "not in"])

    def _of_not(self) -> str:
        return self.random.choice(["", "not "])

    def _one_of(self, makers: list[Any]) -> str:
        result = self.random.choice(makers)()
        assert isinstance(result, str)
        return result


class _Maker(Expressions):
    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.constants = Constants()

    def leaf(self, *kinds: str) -> str:
        """A place for a value of one of the types."""
        kind = self.random.choice(kinds)
        name = f"v{len(self.constants.row)}"
        self.constants.row[name] = self.random.choice(VALUES[kind]), kind
        return "{" + name + "}"
