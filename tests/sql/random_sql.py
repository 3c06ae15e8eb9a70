"""Random queries over the TPC-H schema, from a seed: joins along keys, filters, groups, choices,
subqueries and orders, in SQL that means the same here and in DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

# Numbers and strings to compare with, by column; ranges that keep some rows and drop others.
NUMBERS = {
    "lineitem": {"l_quantity": (1, 50), "l_linenumber": (1, 7), "l_suppkey": (1, 100)},
    "orders": {"o_custkey": (1, 1500), "o_shippriority": (0, 1), "o_orderkey": (1, 60000)},
    "customer": {"c_nationkey": (0, 24), "c_custkey": (1, 1500), "c_acctbal": (-900, 9900)},
    "part": {"p_size": (1, 50), "p_partkey": (1, 2000)},
    "partsupp": {"ps_availqty": (1, 9999), "ps_suppkey": (1, 100)},
    "supplier": {"s_nationkey": (0, 24), "s_suppkey": (1, 100)},
    "nation": {"n_nationkey": (0, 24), "n_regionkey": (0, 4)},
    "region": {"r_regionkey": (0, 4)},
}
DECIMALS = {
    "lineitem": ["l_extendedprice", "l_discount", "l_tax"],
    "orders": ["o_totalprice"],
    "customer": ["c_acctbal"],
    "part": ["p_retailprice"],
    "partsupp": ["ps_supplycost"],
    "supplier": ["s_acctbal"],
}
STRINGS = {
    "lineitem": {"l_returnflag": ["A", "N", "R"], "l_shipmode": ["AIR", "RAIL", "SHIP", "MAIL"]},
    "orders": {"o_orderstatus": ["O", "F", "P"], "o_orderpriority": ["1-URGENT", "5-LOW"]},
    "customer": {"c_mktsegment": ["BUILDING", "MACHINERY", "AUTOMOBILE"]},
    "part": {"p_brand": ["Brand#12", "Brand#23"], "p_mfgr": ["Manufacturer#1"]},
    "supplier": {"s_name": ["Supplier#000000001"]},
    "nation": {"n_name": ["FRANCE", "GERMANY", "BRAZIL"]},
    "region": {"r_name": ["ASIA", "EUROPE"]},
}
DATES = {"lineitem": ["l_shipdate", "l_commitdate"], "orders": ["o_orderdate"]}
JOINS = [
    ("lineitem", "l_orderkey", "orders", "o_orderkey"),
    ("orders", "o_custkey", "customer", "c_custkey"),
    ("customer", "c_nationkey", "nation", "n_nationkey"),
    ("supplier", "s_nationkey", "nation", "n_nationkey"),
    ("nation", "n_regionkey", "region", "r_regionkey"),
    ("lineitem", "l_partkey", "part", "p_partkey"),
    ("lineitem", "l_suppkey", "supplier", "s_suppkey"),
    ("partsupp", "ps_partkey", "part", "p_partkey"),
    ("partsupp", "ps_suppkey", "supplier", "s_suppkey"),
]

# Joins, and columns of theirs that few rows are left with.
TOPS = (
    ("customer JOIN orders ON c_custkey = o_custkey",
     ["c_name", "c_address", "c_comment", "c_custkey", "o_orderkey", "o_comment"], "o_totalprice"),
    ("lineitem JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey",
     ["l_comment", "l_orderkey", "p_name", "p_comment", "s_name", "s_address"], "l_extendedprice"),
    ("customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey "
     "JOIN nation ON c_nationkey = n_nationkey",
     ["c_name", "c_address", "c_phone", "o_clerk", "l_comment", "n_name"], "c_acctbal"),
    ("orders LEFT JOIN customer ON o_custkey = c_custkey AND c_acctbal > 0",
     ["o_comment", "o_orderkey", "c_comment", "c_name"], "o_totalprice"),
)  # fmt: skip


@dataclass(frozen=True)
class RandomQuery:
    """A text, and whether its order of rows is defined by its ORDER BY."""

    text: str
    is_ordered: bool


def random_query(seed: int) -> RandomQuery:
    """The query of a seed."""
    return _Maker(Random(seed)).query()


def random_top(seed: int) -> RandomQuery:
    """A query of the seed that leaves few rows of wide columns, in an order of all of them."""
    random = Random(f"top {seed}")
    source, columns, number = random.choice(TOPS)
    shown = ", ".join(random.sample(columns, random.randint(2, len(columns))))
    where = random.choice(["", f" WHERE {number} > 500", f" WHERE {number} < 5000"])
    cut = f"LIMIT {random.randint(1, 40)} OFFSET {random.choice([0, 0, 3])}"
    if random.random() < 0.6:
        groups = f"SELECT {shown}, count(*) AS n, sum({number}) AS s FROM {source}{where}"
        return RandomQuery(f"{groups} GROUP BY {shown} ORDER BY s DESC, {shown} {cut}", True)
    order = random.choice([columns[0], f"{number} DESC"])
    rows = f"SELECT {shown}, {number} AS v FROM {source}{where}"
    return RandomQuery(f"{rows} ORDER BY {order}, {shown}, v {cut}", True)


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._tables: list[str] = []

    def query(self) -> RandomQuery:
        source = self._from()
        where = self._where()
        kind = self._random.randrange(4)
        if kind == 0:
            text = f"SELECT count(*), {self._aggregates()} FROM {source}{where}"
            return RandomQuery(text, True)
        if kind == 1:
            return RandomQuery(*self._grouped(source, where))
        if kind == 2:
            columns = ", ".join(self._columns(2))
            return RandomQuery(f"SELECT DISTINCT {columns} FROM {source}{where}", False)
        items = ", ".join(f"{self._value()} AS v{i}" for i in range(3))
        inner = f"SELECT {items} FROM {source}{where}"
        return RandomQuery(f"SELECT count(*), count(v0), min(v1), max(v2) FROM ({inner})", True)

    def _from(self) -> str:
        start = self._random.choice(JOINS)
        self._tables = [start[0]]
        text = start[0]
        for _ in range(self._random.randrange(4)):
            edges = [
                edge for edge in JOINS if (edge[0] in self._tables) != (edge[2] in self._tables)
            ]
            if not edges:
                break
            left, left_key, right, right_key = self._random.choice(edges)
            new = right if left in self._tables else left
            how = self._random.choice(["JOIN", "JOIN", "JOIN", "LEFT JOIN"])
            text += f" {how} {new} ON {left_key} = {right_key}"
            self._tables.append(new)
        return text

    def _where(self) -> str:
        parts = [self._condition() for _ in range(self._random.randrange(4))]
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _condition(self, depth: int = 0) -> str:
        kinds = [self._number_test, self._number_test, self._string_test, self._date_test]
        if depth == 0:
            kinds += [self._subquery_test, self._either]
        result = self._random.choice(kinds)()
        return f"NOT ({result})" if self._random.random() < 0.1 else result

    def _either(self) -> str:
        return f"({self._condition(1)} OR {self._condition(1)})"

    def _number_test(self) -> str:
        table = self._random.choice(self._tables)
        column, (low, high) = self._random.choice(list(NUMBERS[table].items()))
        value = self._random.randint(low, high)
        kind = self._random.randrange(4)
        if kind == 0:
            return f"{column} BETWEEN {value} AND {value + (high - low) // 3}"
        if kind == 1:
            listed = ", ".join(str(self._random.randint(low, high)) for _ in range(4))
            return f"{column} IN ({listed})"
        if kind == 2:
            return f"{column} % {self._random.randint(2, 5)} = 1"
        return f"{column} {self._random.choice(['<', '<=', '>', '>=', '<>'])} {value}"

    def _string_test(self) -> str:
        tables = [table for table in self._tables if table in STRINGS]
        if not tables:
            return self._number_test()
        column, values = self._random.choice(list(STRINGS[self._random.choice(tables)].items()))
        value = self._random.choice(values)
        return self._random.choice(
            [
                f"{column} = '{value}'",
                f"{column} LIKE '%{value[1:3]}%'",
                f"{column} IN ('{value}', 'none')",
                f"substring({column}, 1, 1) = '{value[0]}'",
                f"upper({column}) >= '{value}'",
            ]
        )

    def _date_test(self) -> str:
        tables = [table for table in self._tables if table in DATES]
        if not tables:
            return self._string_test()
        column = self._random.choice(DATES[self._random.choice(tables)])
        year = self._random.randint(1992, 1998)
        return self._random.choice(
            [
                f"{column} >= DATE '{year}-03-01'",
                f"{column} < DATE '{year}-01-01' + INTERVAL '6' MONTH",
                f"extract(year FROM {column}) = {year}",
                f"{column} BETWEEN DATE '{year}-01-01' AND DATE '{year}-12-31'",
            ]
        )

    def _subquery_test(self) -> str:
        edges = [edge for edge in JOINS if edge[0] in self._tables]
        if not edges:
            return self._number_test()
        _, left_key, right, right_key = self._random.choice(edges)
        inner = _Maker(self._random)
        inner._tables = [right]
        test = inner._condition(1)
        alias = f"{right} AS inner_{right}"
        kind = self._random.randrange(4)
        if kind == 0:
            return f"{left_key} IN (SELECT {right_key} FROM {alias} WHERE {test})"
        if kind == 1:
            return f"{left_key} NOT IN (SELECT {right_key} FROM {alias} WHERE {test})"
        if kind == 2:
            return f"{left_key} > (SELECT avg({right_key}) FROM {alias} WHERE {test})"
        return f"{left_key} <= (SELECT max({right_key}) FROM {alias} WHERE {test})"

    def _grouped(self, source: str, where: str) -> tuple[str, bool]:
        keys = self._columns(self._random.randint(1, 2))
        shown = ", ".join(keys)
        having = self._random.choice(["", "", " HAVING count(*) > 3"])
        text = f"SELECT {shown}, count(*) AS n, {self._aggregates()} FROM {source}{where}"
        text += f" GROUP BY {shown}{having}"
        if self._random.random() < 0.4:
            orders = ", ".join(str(i + 1) for i in range(len(keys)))
            return f"{text} ORDER BY n DESC, {orders} LIMIT 10", True
        return text, False

    def _columns(self, count: int) -> list[str]:
        result = []
        for _ in range(count):
            table = self._random.choice(self._tables)
            names = [*STRINGS.get(table, {}), *NUMBERS[table]]
            result.append(self._random.choice(names))
        return list(dict.fromkeys(result))

    def _aggregates(self) -> str:
        table = self._random.choice(self._tables)
        numbers = [*NUMBERS[table], *DECIMALS.get(table, [])]
        column = self._random.choice(numbers)
        other = self._random.choice(numbers)
        return self._random.choice(
            [
                f"sum({column}), min({other})",
                f"avg({column}), max({other})",
                f"sum({column} * 2 + 1), count(DISTINCT {other})",
                f"sum(CASE WHEN {other} > 5 THEN {column} ELSE 0 END)",
                f"sum({column}) FILTER (WHERE {other} > 5), count({column})",
                f"max({column}) - min({column}), sum({other}) / 7",
            ]
        )

    def _value(self) -> str:
        table = self._random.choice(self._tables)
        number = self._random.choice([*NUMBERS[table], *DECIMALS.get(table, [])])
        values = [
            number, f"{number} * 2", f"{number} + 1", f"-{number}", f"{number} / 4",
            f"CASE WHEN {number} > 10 THEN 1 ELSE 0 END", f"coalesce({number}, 0)",
            f"abs({number} - 20)", f"greatest({number}, 5)",
        ]  # fmt: skip
        return self._random.choice(values)
