"""Random queries of everyday kinds over small tables with NULLs, from a seed: joins of all kinds,
conditions with subqueries, groups, windows, set operations, UNNEST, computed columns."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

from .random_constants import Expressions, written

COLUMNS = {
    "t": {"a": "bigint", "b": "integer", "s": "varchar", "d": "date", "m": "decimal(6,2)",
          "f": "double", "bo": "boolean"},
    "u": {"a": "bigint", "s": "varchar", "v": "bigint"},
    "names": {"s": "varchar", "n": "bigint"},
    "events": {"ts": "timestamp"},
    "lists": {"a": "bigint"},
}  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "bigint": [0, 1, 2, 3, 5, 9, -1, None],
    "integer": [0, 1, 2, 10, 20, 30, -3, None],
    "tinyint": [0, 1, 2, -2, 7, None],
    "decimal(6,2)": [Decimal("0.25"), Decimal("1.50"), Decimal("-1.50"), None],
    "double": [0.0, 1.5, 2.5, -0.5, 0.1, None],
    "varchar": ["x", "y", "z", "q", "", "a_b", "2", None],
    "date": [None],
    "timestamp": [None],
    "boolean": [True, False, None],
}
JOINS = ("join", "join", "left join", "left join", "right join", "full join")
AGGREGATES = (
    "count({})", "sum({})", "min({})", "max({})", "avg({})", "count(distinct {})",
    "max({}) - min({})",
    "sum({}) filter (where {} > 1)", "stddev({})", "bool_or({} > 1)", "sum(distinct {})",
    "median({})", "avg(distinct {}) filter (where {} < 20)", "covar_pop({}, {})",
    "regr_count({}, {})", "quantile_cont({}, 0.25)",
)  # fmt: skip
WINDOWS = (
    "row_number() over ({p}order by {o})", "rank() over ({p}order by {o})",
    "sum({x}) over ({p}order by {o})", "lag({x}) over ({p}order by {o})",
    "count({x}) over (partition by {k})", "max({x}) over ({p}order by {o} rows 1 preceding)",
    "first_value({x}) over ({p}order by {o})", "sum({x}) over ()",
    "sum({x}) filter (where {x} > 1) over ({p}order by {o})",
    "lag({x} ignore nulls) over ({p}order by {o})",
    "last_value({x} ignore nulls) over ({p}order by {o})",
)  # fmt: skip


def random_analysis(seed: int) -> str:
    """The text of a seed."""
    return _Query(Random(seed)).text()


class _Query(Expressions):
    """One SELECT. Its tables, by alias, have columns of known types."""

    def __init__(self, random: Random, outer: dict[str, dict[str, str]] | None = None) -> None:
        super().__init__(random)
        self._tables: dict[str, dict[str, str]] = {}
        self._outer = outer or {}

    def leaf(self, *kinds: str) -> str:
        columns = [
            f"{alias}.{name}"
            for alias, of_table in self._tables.items()
            for name, kind in of_table.items()
            if kind in kinds
        ]
        if columns and self.random.random() < 0.75:
            return self.random.choice(columns)
        kind = self.random.choice(kinds)
        if kind == "date":
            return f"date '2000-01-0{self.random.randint(1, 6)}'"
        if kind == "timestamp":
            return f"timestamp '2020-01-0{self.random.randint(1, 3)} 02:00:00'"
        return written(self.random.choice(VALUES[kind]), kind)

    def text(self) -> str:
        kind = self.random.randrange(10)
        if kind == 0:
            return self._set_operation()
        if kind == 1:
            inner = _Query(self.random).select(2)
            key = self.random.choice(["c0", "c1", "1"])
            return f"with w as ({inner}) select count(*), min(c0), max(c1) from w group by {key}"
        if kind == 2:
            inner = _Query(self.random).select(2)
            return f"select count(*), count(c0), count(distinct c1) from ({inner}) as w"
        return self.select(self.random.randint(1, 3))

    def select(self, count: int) -> str:
        source = self._from()
        where = self._where()
        kind = self.random.randrange(6)
        if kind == 0:
            return self._grouped(source, where, count)
        if kind == 1:
            items = [self._aggregate() for _ in range(count)]
            return f"select {self._named(items)} from {source}{where}"
        if kind == 2:
            items = [self._value() for _ in range(count - 1)] + [self._window()]
            items += [self._exists()] if self.random.random() < 0.2 else []
            return f"select {self._named(items)} from {source}{where}"
        distinct = "distinct " if kind == 3 else ""
        items = [self._value() for _ in range(count)]
        text = f"select {distinct}{self._named(items)} from {source}{where}"
        if kind == 4:
            orders = ", ".join(f"{i + 1}{self._of_order()}" for i in range(count))
            text += f" order by {orders} limit {self.random.randint(1, 6)}"
        return text

    def _named(self, items: list[str]) -> str:
        return ", ".join(f"{item} as c{i}" for i, item in enumerate(items))

    def _of_order(self) -> str:
        return self.random.choice(["", " desc", " nulls first", " desc nulls last"])

    def _value(self) -> str:
        maker = self.random.choice([self.number, self.number, self.string, self.moment])
        return maker(self.random.randint(0, 2))

    def _from(self) -> str:
        text = ""
        for number in range(self.random.choice([1, 1, 2, 2, 3])):
            name = self.random.choice(["t", "t", "u", "u", "names", "events"])
            alias = f"{name[0]}{number}"
            if not text:
                text = f"{name} as {alias}"
                self._tables[alias] = COLUMNS[name]
                continue
            before = dict(self._tables)
            self._tables[alias] = COLUMNS[name]
            if self.random.random() < 0.1:
                text += f" cross join {name} as {alias}"
                continue
            how = self.random.choice(JOINS)
            text += f" {how} {name} as {alias} on {self._condition(before, alias, how)}"
        if self.random.random() < 0.12:
            self._tables["l0"], self._tables["w"] = COLUMNS["lists"], {"x": "bigint"}
            text += " cross join lists as l0 cross join unnest(l0.l) as w(x)"
        return text

    def _condition(self, before: dict[str, dict[str, str]], alias: str, how: str) -> str:
        pairs = [
            f"{other}.{left} = {alias}.{right}"
            for other, columns in before.items()
            for left, kind in columns.items()
            for right, mine in self._tables[alias].items()
            if kind == mine and kind in ("bigint", "integer", "varchar")
        ]
        if not pairs:
            return "true" if how != "full join" else "1 = 1"
        result = self.random.choice(pairs)
        if self.random.random() < 0.25 and how != "full join":
            result += f" and {self.boolean(1)}"
        return result

    def _where(self) -> str:
        parts = [self._test() for _ in range(self.random.choice([0, 0, 1, 1, 2]))]
        return f" where {' and '.join(parts)}" if parts else ""

    def _test(self) -> str:
        kind = self.random.randrange(10)
        if kind > 4 or self._outer:
            return self.boolean(self.random.randint(1, 2))
        if kind > 2:
            return self._rows(with_query=kind == 3)
        if kind == 0:
            inner = _Query(self.random, self._tables)
            source = inner._from()
            number = inner.leaf("bigint", "integer")
            return (
                f"{self.whole(0)} {self._of_in()} (select {number} from {source}{inner._where()})"
            )
        alias = self.random.choice(list(self._tables))
        equal = next((n for n, k in self._tables[alias].items() if k in ("bigint", "varchar")), "")
        if not equal:
            return self.boolean(1)
        kind_of = self._tables[alias][equal]
        inner = _Query(self.random, self._tables)
        inner._tables = {"i": COLUMNS["u"]}
        column = "i.s" if kind_of == "varchar" else self.random.choice(["i.a", "i.v"])
        extra = f" and {inner.boolean(1)}" if self.random.random() < 0.4 else ""
        if kind == 1:
            negation = self._of_not()
            return (
                f"{negation}exists (select 1 from u as i where {column} = {alias}.{equal}{extra})"
            )
        function = self.random.choice(["max(i.v)", "count(*)", "sum(i.a)", "min(i.a) + 1"])
        inner_text = f"select {function} from u as i where {column} = {alias}.{equal}{extra}"
        return f"{self.whole(0)} {self.random.choice(['<', '>=', '='])} ({inner_text})"

    def _rows(self, *, with_query: bool) -> str:
        """A comparison of two values with two others, or with those of a query."""
        left = f"({self.whole(0)}, {self.string(0)})"
        if not with_query:
            test = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
            right = f"({self.whole(0)}, {self.string(0)})"
            if self.random.random() < 0.5:
                return f"{left} {test} {right}"
            return f"{left} {self._of_in()} ({right}, ({self.whole(0)}, {self.string(0)}))"
        inner = _Query(self.random, self._tables)
        source = inner._from()
        items = f"{inner.leaf('bigint')}, {inner.leaf('varchar')}"
        return f"{left} {self._of_in()} (select {items} from {source}{inner._where()})"

    def _exists(self) -> str:
        """EXISTS as a value."""
        alias = self.random.choice(list(self._tables))
        columns = [n for n, kind in self._tables[alias].items() if kind == "bigint"]
        if not columns:
            return "exists (select 1 from u where v > 3)"
        return f"exists (select 1 from u as i where i.a = {alias}.{columns[0]})"

    def _aggregate(self) -> str:
        shape = self.random.choice(AGGREGATES)
        number = self.random.choice([self.whole, self.number])(self.random.randint(0, 1))
        return shape.replace("{}", number)

    def _grouped(self, source: str, where: str, count: int) -> str:
        keys = [self._value() for _ in range(self.random.randint(1, 2))]
        items = [*keys, *(self._aggregate() for _ in range(count))]
        numbers = ", ".join(str(i + 1) for i in range(len(keys)))
        by = self.random.choice([numbers, numbers, f"rollup ({keys[0]})"])
        if by.startswith("rollup"):
            items = [keys[0], *items[len(keys) :]]
        having = f" having {self._aggregate()} is not null" if self.random.random() < 0.2 else ""
        return f"select {self._named(items)} from {source}{where} group by {by}{having}"

    def _window(self) -> str:
        aliases = [f"{a}.{n}" for a, columns in self._tables.items() for n in columns]
        self.random.shuffle(aliases)
        partition = f"partition by {aliases[0]} " if self.random.random() < 0.5 else ""
        number = self.leaf("bigint", "integer")
        return self.random.choice(WINDOWS).format(
            p=partition, o=", ".join(sorted(aliases)), x=number, k=aliases[0]
        )

    def _set_operation(self) -> str:
        operator = self.random.choice(
            ["union", "union all", "intersect", "except", "intersect all", "except all"]
        )
        kinds = [self.random.choice(["whole", "string"]) for _ in range(2)]
        sides = []
        for _ in range(2):
            side = _Query(self.random)
            source = side._from()
            items = [getattr(side, kind)(1) for kind in kinds]
            sides.append(f"select {side._named(items)} from {source}{side._where()}")
        return f"{sides[0]} {operator} {sides[1]}"
