"""Random statements over tables of many types, from a seed: groups with every aggregate, windows of
any frame, joins of all kinds, set operations, first rows, UNNEST and subqueries. Each has one right
answer: where rows tie, their numbers decide."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

KEYS = ("k", "g", "b", "dict", "d", "i % 3", "x", "m", "ts", "tz", "upper(g)", "k + 1", "k is null")
COMPARABLE = ("k", "g", "b", "dict", "d", "i", "x", "m", "big", "ts", "tz", "id")
NUMBERS = ("k", "i", "m", "x", "big", "id")
AGGREGATES = (
    "count(*)", "count({c})", "sum(i)", "sum(m)", "sum(big)", "avg(m)", "avg(i)", "sum(id)",
    "min({c})", "max({c})", "min({c})", "max({c})", "count(distinct {c})", "sum(distinct i)",
    "avg(distinct k)", "arg_max({c}, id)", "arg_min({c}, id)", "arg_max(id, {n} * 0 + id)",
    "mode(i order by id)", "mode(7)", "mode(g order by id desc)",
    "quantile_cont(i, 0.25)", "quantile_cont(m, 0.5)", "quantile_disc(i, 0.75)", "median(i)",
    "string_agg(g, ',' order by id)", "string_agg(g, ',' order by id desc)",
    "list(i order by id)", "list({c} order by id desc)", "list(distinct i order by i)",
    "array_agg(k order by id)", "first({c} order by id)", "last({c} order by id)",
    "bool_and(b)", "bool_or(b)", "stddev(i)", "var_pop(i)", "stddev_pop(m)", "corr(i, id)",
    "covar_samp(i, id)", "regr_slope(i, id)", "bit_and(i)", "bit_or(i)", "bit_xor(i)",
    "sum(i) filter (where b)", "count(*) filter (where x > 0)", "max({c}) filter (where i > 2)",
    "list(i order by id) filter (where not b)", "string_agg(distinct g, '/' order by g)",
    "count(distinct g) filter (where b)", "max(i) - min(i)", "any_value(7)", "sum(i + k)",
    "count_if(b)", "sum(case when b then m end)", "min(length(g))", "skewness(i)",
    "arg_max(st, id)", "list(st order by id)", "max(i, 2)", "arg_max(g, id, 2)",
    "first(l order by id)",
    "quantile_cont(i, [0.1, 0.9])", "approx_count_distinct(k) > 0", "product(1 + k % 2)",
    "min(st)", "count(distinct l)", "count(l)", "histogram(k)", "mad(i)", "entropy(k)",
)  # fmt: skip
WINDOWS = (
    "row_number() over ({p}order by {o}, id)", "rank() over ({p}order by {o})",
    "dense_rank() over ({p}order by {o} desc)", "ntile(3) over ({p}order by {o}, id)",
    "percent_rank() over ({p}order by {o})", "cume_dist() over ({p}order by {o})",
    "lag({c}) over ({p}order by {o}, id)", "lead({c}, 2) over ({p}order by {o}, id)",
    "sum(i) over ({p}order by {o}, id {f})", "avg(i) over ({p}order by {o}, id {f})",
    "count({c}) over ({p}order by {o}, id {f})", "min({c}) over ({p}order by {o}, id {f})",
    "max({c}) over ({p}order by {o}, id {f})", "sum(m) over ({p}order by {o})",
    "count(*) over ({p}order by {o})", "sum(i) over ({q})", "count(*) over ()",
    "first_value({c}) over ({p}order by {o}, id {f})",
    "last_value({c}) over ({p}order by {o}, id {f})",
    "nth_value({c}, 2) over ({p}order by {o}, id {f})", "median(i) over ({p}order by {o}, id {f})",
    "list(i) over ({p}order by {o}, id {f})", "count(distinct k) over ({p}order by {o}, id {f})",
    "sum(i) filter (where b) over ({p}order by {o}, id {f})",
    "sum(i) over ({p}order by i range between 2 preceding and 1 following)",
    "count(*) over ({p}order by {o} groups between 1 preceding and 1 following)",
    "lag({c} ignore nulls) over ({p}order by {o}, id)", "max({c}) over ({q})",
    "string_agg(g, '-') over ({p}order by {o}, id {f})",
    "first_value(id) over ({p}order by {o}, id)",
    "sum(i) over ({p}order by {o}, id rows between unbounded preceding and unbounded following "
    "exclude current row)", "arg_max(g, id) over ({q})", "count(distinct g) over ({q})",
    "min(ts) over ({p}order by {o}, id {f})", "quantile_cont(i, 0.3) over ({q})",
)  # fmt: skip
FRAMES = (
    "", "rows 2 preceding", "rows between 1 preceding and 1 following",
    "rows between current row and unbounded following",
    "rows between unbounded preceding and 1 preceding", "rows between 1 following and 3 following",
)  # fmt: skip
TESTS = (
    "i > 2", "b", "not b", "k in (1, 2, 3)", "g like 'a%'", "x > 0", "x is null", "m >= 1.5",
    "d > date '2020-01-10'", "k is not null", "dict = 'x'", "id % 7 = 1", "ts is not null",
    "i < -99",
    "tz > timestamptz '2020-01-02 00:00:00+00'", "g is not distinct from null", "id < 400",
    "true",
)  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """A text, and whether its ORDER BY says where every row is."""

    text: str
    is_ordered: bool = False


def random_tables(seed: int) -> dict[str, pa.Table]:
    """Tables of the seed, of which some have no rows."""
    random = Random(f"tables {seed}")
    return {
        "t": _facts(random, random.choice([0, 1, 40, 300, 3000]), 0),
        "u": _facts(random, random.choice([0, 3, 60, 500]), 5000),
        "dim": _dimension(random, random.choice([0, 5, 12])),
    }


def random_statement(seed: int) -> Statement:
    """The statement of a seed."""
    return _Maker(Random(f"statement {seed}")).statement()


def _facts(random: Random, rows: int, first_id: int) -> pa.Table:
    keys = random.choice([3, 12, 200])
    few = random.random() < 0.3
    instant = datetime.datetime(2020, 1, 1)

    def column(value: Any, data_type: pa.DataType) -> pa.Array:
        share = random.choice([0.0, 0.1, 0.6])
        if random.random() < 0.05:
            share = 1.0
        values = [None if random.random() < share else value() for _ in range(rows)]
        return pa.array(values, data_type)

    def moment() -> datetime.datetime:
        return instant + datetime.timedelta(hours=random.randrange(12 if few else 300))

    text = pa.array([random.choice(["x", "y", "zz", None]) for _ in range(rows)], pa.string())
    ids = list(range(first_id, first_id + rows))
    random.shuffle(ids)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "k": column(lambda: random.randrange(keys), pa.int64()),
            "i": column(lambda: random.randrange(-5, 10), pa.int32()),
            "g": column(lambda: random.choice(["a", "ab", "", "B", "é", "long " * 5]), pa.string()),
            "x": column(lambda: random.choice([0.0, -0.0, float("nan"), 1.5, -2.25, 1e9]),
                        pa.float64()),
            "m": column(lambda: Decimal(random.randrange(-900, 900)) / 100, pa.decimal128(9, 2)),
            "big": column(lambda: Decimal(random.randrange(-9, 9)) * 10**20, pa.decimal128(30, 4)),
            "b": column(lambda: random.random() < 0.5, pa.bool_()),
            "d": column(lambda: moment().date(), pa.date32()),
            "ts": column(moment, pa.timestamp("us")),
            "tz": column(lambda: moment().replace(tzinfo=datetime.UTC),
                         pa.timestamp("us", "UTC")),
            "dict": text.dictionary_encode(),
            "l": column(lambda: [random.randrange(5) for _ in range(random.randrange(4))],
                        pa.list_(pa.int64())),
            "st": column(lambda: {"a": random.randrange(4), "b": random.choice(["p", None])},
                         pa.struct([("a", pa.int64()), ("b", pa.string())])),
            "w": column(lambda: [random.choice(["a", "B", "", "é", "a b", None])
                                 for _ in range(random.randrange(4))], pa.list_(pa.string())),
            "j": column(lambda: _document(random, 2), pa.string()),
        }
    )  # fmt: skip


def _document(random: Random, depth: int) -> str:
    """A value of JSON, an object mostly."""
    kind = random.randrange(10 if depth else 5)
    if kind < 5 and depth < 2:
        return random.choice(["1", "-7", "2.5", '"x"', '"é \\"q\\""', "true", "null", '""', "1e3"])
    if kind > 7:
        return f"[{', '.join(_document(random, depth - 1) for _ in range(random.randrange(4)))}]"
    names = random.sample(['"a"', '"b"', '"x y"', '"0"'], random.randrange(4))
    fields = (f"{name}: {_document(random, depth - 1)}" for name in names)
    return f"{{{', '.join(fields)}}}"


def _dimension(random: Random, rows: int) -> pa.Table:
    start = datetime.datetime(2020, 1, 1)
    return pa.table(
        {
            "k": pa.array([n if n % 5 else None for n in range(rows)], pa.int64()),
            "name": pa.array([f"name {n % 4}" for n in range(rows)], pa.string()),
            "w": pa.array([n * 0.5 for n in range(rows)], pa.float64()),
            "since": pa.array([start + datetime.timedelta(hours=25 * n) for n in range(rows)],
                              pa.timestamp("us")),
        }
    )  # fmt: skip


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random

    def statement(self) -> Statement:
        kinds = (
            self._groups, self._groups, self._groups, self._row, self._windows, self._windows,
            self._join, self._join, self._sets, self._first_of, self._qualified, self._top,
            self._unnested, self._subquery, self._asof, self._twice, self._grouped_join,
            self._distinct, self._grouped_again,
        )  # fmt: skip
        statement = self.random.choice(kinds)()
        if self.random.random() < 0.1:
            return Statement(f"select count(*) as n from ({statement.text}) as w")
        if not statement.is_ordered and self.random.random() < 0.1:
            return Statement(f"with w as ({statement.text}) select * from w")
        return statement

    def _one(self, *values: str) -> str:
        return self.random.choice(values)

    def _some(self, values: tuple[str, ...], most: int) -> list[str]:
        return self.random.sample(values, self.random.randint(1, most))

    def _where(self, share: float = 0.5) -> str:
        if self.random.random() > share:
            return ""
        tests = " and ".join(self._some(TESTS, 2))
        return f" where {tests}"

    def _source(self) -> str:
        kind = self.random.randrange(8)
        if kind == 0:
            return f"(select * from t{self._where(1)}) as s"
        if kind == 1:
            return "(select * from t union all select * from u) as s"
        if kind == 2:
            return f"(select * from u{self._where(1)} order by id limit 50) as s"
        if kind == 3:
            return "(select * from t where k in (select k from u where b)) as s"
        return self._one("t", "t", "u")

    def _aggregate(self) -> str:
        shape = self.random.choice(AGGREGATES)
        return shape.replace("{c}", self._one(*COMPARABLE)).replace("{n}", self._one(*NUMBERS))

    def _aggregates(self, most: int = 4) -> list[str]:
        return [self._aggregate() for _ in range(self.random.randint(1, most))]

    def _groups(self) -> Statement:
        keys = self._some(KEYS, 2)
        items = [f"{key} as q{n}" for n, key in enumerate(keys)]
        items += [f"{item} as c{n}" for n, item in enumerate(self._aggregates())]
        by = ", ".join(keys)
        kind = self.random.randrange(8)
        if kind == 0:
            by = f"rollup ({by})"
        elif kind == 1:
            by = f"cube ({by})"
        elif kind == 2:
            by = f"grouping sets (({by}), ({keys[0]}), ())"
            items.append(f"grouping({keys[0]}) as h")
        having = " having count(*) > 1" if self.random.random() < 0.2 else ""
        text = (
            f"select {', '.join(items)} from {self._source()}{self._where()} group by {by}{having}"
        )
        if self.random.random() < 0.2 and kind > 2:
            order = ", ".join(f"q{n} {self._direction()}" for n in range(len(keys)))
            cut = self._one("", " limit 3", " limit 5 offset 2")
            return Statement(f"select * from ({text}) as o order by {order}{cut}", True)
        return Statement(text)

    def _direction(self) -> str:
        return self._one("", "desc", "nulls first", "desc nulls last", "asc nulls last")

    def _grouped_again(self) -> Statement:
        key, other = self.random.sample(KEYS, 2)
        inner = f"select {key} as q, {other} as r, {self._aggregate()} as c, sum(i) as s "
        inner += f"from {self._source()}{self._where()} group by 1, 2"
        outer = self._one("count(c)", "max(s)", "sum(s)", "count(distinct r)", "list(s order by s)")
        by = self._one("q", "q", "r", "q, r")
        return Statement(f"select {by}, {outer} as a from ({inner}) as w group by {by}")

    def _row(self) -> Statement:
        items = [f"{item} as c{n}" for n, item in enumerate(self._aggregates(6))]
        return Statement(f"select {', '.join(items)} from {self._source()}{self._where()}")

    def _window(self) -> str:
        partition = self._one("", "", f"partition by {self._one(*KEYS)} ")
        window = self.random.choice(WINDOWS)
        window = window.replace("{p}", partition).replace("{q}", partition.strip())
        window = window.replace("{o}", f"{self._one(*COMPARABLE)} {self._direction()}")
        if "desc desc" in window or "last desc" in window:
            window = window.replace(" desc desc", " desc").replace("last desc", "last")
        for wrong in ("nulls first desc", "nulls last desc"):
            window = window.replace(wrong, "desc")
        window = window.replace("{f}", self._one(*FRAMES))
        return window.replace("{c}", self._one(*COMPARABLE))

    def _windows(self) -> Statement:
        items = [f"{self._window()} as c{n}" for n in range(self.random.randint(1, 3))]
        text = f"select id, {', '.join(items)} from {self._source()}{self._where()}"
        if self.random.random() < 0.2:
            return Statement(f"select c0, count(*) as n from ({text}) as w group by c0")
        if self.random.random() < 0.2:
            return Statement(f"select * from ({text}) as w where c0 is not null")
        return Statement(text)

    def _on(self, left: str, right: str) -> str:
        pairs = [("k", "k"), ("k", "i"), ("g", "g"), ("d", "d"), ("m", "m"), ("dict", "dict"),
                 ("x", "x"), ("ts", "ts"), ("id", "id"), ("i", "k"), ("g", "dict"), ("tz", "tz"),
                 ("st", "st"), ("b", "b")]  # fmt: skip
        a, b = self.random.choice(pairs)
        test = self._one("=", "=", "=", "=", "is not distinct from")
        text = f"{left}.{a} {test} {right}.{b}"
        if self.random.random() < 0.3:
            a, b = self.random.choice(pairs)
            text += f" and {left}.{a} = {right}.{b}"
        if self.random.random() < 0.2:
            text += f" and {left}.i {self._one('<', '<>', '>=')} {right}.i"
        return text

    def _join(self) -> Statement:
        how = self._one("join", "left join", "right join", "full join", "semi join", "anti join")
        left = self._one("t", "u", f"(select * from t{self._where(1)})")
        right = self._one(
            "u", f"(select * from u{self._where(1)})", "(select * from t where id < 30)"
        )
        on = self._on("a", "z")
        if "=" not in on and how == "full join":
            on = "a.k = z.k"
        sides = f"{left} as a {how} {right} as z on {on}"
        if how in ("semi join", "anti join"):
            items = ", ".join(
                f"a.{c}" for c in ["id", *self._some((*COMPARABLE[:-1], "l", "st"), 3)]
            )
            return Statement(f"select {items} from {sides}")
        items = ["a.id as a_id", "z.id as z_id"]
        items += [f"a.{c} as a_{c}" for c in self._some((*COMPARABLE[:-1], "l"), 2)]
        items += [f"z.{c} as z_{c}" for c in self._some((*COMPARABLE[:-1], "st"), 2)]
        text = f"select {', '.join(items)} from {sides}"
        kind = self.random.randrange(5)
        if kind == 0:
            return Statement(
                f"select count(*) as n, sum(a_id) as s, max(z_id) as x from ({text}) as w"
            )
        if kind == 1:
            return Statement(f"{text} order by a_id nulls last, z_id nulls last limit 20", True)
        if kind == 2:
            name = items[2].split(" as ")[1]
            by = f"select {name}, count(*) as n, count(z_id) as c from ({text}) as w group by 1"
            return Statement(by)
        if kind == 3:
            more = self._one("join", "left join", "full join", "right join")
            on = f"{more} dim on w.a_id = dim.k"
            return Statement(f"select w.*, dim.name from ({text}) as w {on}")
        return Statement(text)

    def _grouped_join(self) -> Statement:
        how = self._one("join", "left join", "full join", "right join")
        key = self._one("k", "g", "d", "dict")
        inner = f"select {key} as q, {self._aggregate()} as c from {self._source()} group by 1"
        other = f"select {key} as r, {self._aggregate()} as e from {self._source()} group by 1"
        text = f"select * from ({inner}) as a {how} ({other}) as z on a.q = z.r"
        return Statement(text)

    def _sets(self) -> Statement:
        columns = self._some(("k", "g", "b", "d", "m", "i", "ts", "dict", "x", "l", "st"), 3)
        operator = self._one(
            "union", "union all", "intersect", "except", "intersect all", "except all",
            "union by name", "union all by name",
        )  # fmt: skip
        sides = []
        for table in ("t", "u"):
            if "by name" in operator:
                self.random.shuffle(columns)
                kept = columns[: self.random.randint(1, len(columns))]
            else:
                kept = columns
            sides.append(f"select {', '.join(kept)} from {table}{self._where()}")
        text = f"{sides[0]} {operator} {sides[1]}"
        if self.random.random() < 0.2:
            return Statement(f"select count(*) as n from ({text}) as w")
        return Statement(text)

    def _distinct(self) -> Statement:
        columns = ", ".join(self._some(("k", "g", "b", "d", "m", "i", "dict", "x", "l", "st"), 3))
        return Statement(f"select distinct {columns} from {self._source()}{self._where()}")

    def _first_of(self) -> Statement:
        key = self._one("k", "g", "dict", "b", "d")
        columns = ", ".join(self._some(("i", "m", "x", "ts", "l", "st"), 2))
        rows = f"{self._source()}{self._where()}"
        text = f"select distinct on ({key}) {key}, id, {columns} from {rows} "
        order = self._one("id", "id desc", "i nulls last, id")
        return Statement(f"{text}order by {key} nulls last, {order}", True)

    def _qualified(self) -> Statement:
        columns = ", ".join(self._some(("g", "m", "x", "ts", "l", "st", "dict"), 2))
        key, order = self._one("k", "g", "b"), self._one("i", "m", "ts", "d")
        test = self._one(
            f"row_number() over (partition by {key} order by {order}, id) <= 2",
            f"rank() over (partition by {key} order by {order}) = 1",
            f"id = max(id) over (partition by {key})",
            f"count(*) over (partition by {key}) > 3", "row_number() over (order by id) < 10",
        )  # fmt: skip
        rows = f"{self._source()}{self._where()}"
        return Statement(f"select id, {columns} from {rows} qualify {test}")

    def _top(self) -> Statement:
        columns = ", ".join(dict.fromkeys(["id", *self._some((*COMPARABLE, "l", "st"), 4)]))
        orders = self._some(("k", "g", "x", "m", "ts", "tz", "dict", "b", "big", "i * -1"), 2)
        order = ", ".join(f"{one} {self._direction()}" for one in orders)
        cut = self._one("", "limit 1", "limit 7", "limit 20 offset 5", "offset 3", "limit 0",
                        "limit 1000 offset 100", "limit 10%")  # fmt: skip
        source = self._one("t", "u", "(select * from t union all select * from u where id < 0)")
        text = f"select {columns} from {source} as s{self._where()} order by {order}, id {cut}"
        if self.random.random() < 0.2:
            return Statement(f"select count(*) as n, sum(id) as s from ({text}) as w")
        return Statement(text, True)

    def _unnested(self) -> Statement:
        return Statement(
            self._one(
                f"select id, unnest(l) as e from {self._source()}{self._where()}",
                "select e, count(*) as n from (select unnest(l) as e from t) group by e",
                "select s.id, w.e from t as s cross join unnest(s.l) as w(e) where w.e > 1",
                f"select st.a as a, count(*) as n from t{self._where()} group by st.a",
                "select s.id, (select sum(e) from unnest(s.l) as w(e)) as z from u as s",
                "select st.b as b, list(st.a order by id) as z from t group by 1",
                "select a.id, e, u.g from (select id, unnest(l) as e from t) as a "
                "join u on a.e = u.k",
                "select id, len(l) as n, l[1] as f, list_sort(l) as s from t "
                "where list_contains(l, 2)",
            )
        )

    def _subquery(self) -> Statement:
        where = self._one(
            "i > (select avg(i) from u)", "k in (select k from u where b)",
            "k not in (select k from u where k is not null)", "k not in (select i from u)",
            "exists (select 1 from u where u.k = s.k and u.i > s.i)",
            "not exists (select 1 from u where u.g = s.g)",
            "i = (select max(i) from u where u.k = s.k)", "i > any (select i from u where b)",
            "m <= all (select m from u where m is not null)",
            "(k, g) in (select k, g from u)", "id in (select max(id) from u group by k)",
            "(select count(*) from u where u.k = s.k) > 1",
            "k in (select k from dim) or i > 5", "exists (select 1 from u where b) and i > 1",
        )  # fmt: skip
        item = self._one(
            "(select max(i) from u where u.k = s.k)", "(select count(*) from u)", "i",
            "(select name from dim where dim.k = s.k)", "exists (select 1 from u where u.k = s.k)",
            "(select string_agg(g, ',' order by id) from u where u.k = s.k)", "m + 1",
        )  # fmt: skip
        text = f"select id, {item} as c from t as s where {where}"
        if self.random.random() < 0.2:
            return Statement(f"select count(*) as n, count(c) as c from ({text}) as w")
        return Statement(text)

    def _asof(self) -> Statement:
        how = self._one("asof join", "asof left join")
        test = self._one(">=", ">", "<=", "<")
        equal = self._one("", "s.i = z.k and ", "s.g = z.name and ")
        text = f"select s.id, s.ts, z.name, z.since from t as s {how} dim as z "
        return Statement(f"{text}on {equal}s.ts {test} z.since")

    def _twice(self) -> Statement:
        rows = f"{self._source()}{self._where()}"
        inner = f"select {self._one('k', 'g', 'dict')} as q, id, i from {rows}"
        return Statement(
            self._one(
                f"with w as ({inner}) select a.q, count(*) as n from w as a join w as b "
                "on a.q = b.q group by 1",
                f"with w as ({inner}) select q, i from w union all "
                "select q, count(*) from w group by q",
                f"with w as (select q, count(*) as n from ({inner}) group by q) "
                "select a.q, a.n, (select max(n) from w) as m from w as a",
                "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) "
                "select r.n, count(t.id) as c from r left join t on t.k = r.n group by 1",
                f"with w as ({inner}) select * from w where i = (select max(i) from w)",
                f"with w as materialized ({inner}) select count(*) as n from w as a, w as b "
                "where a.id = b.id",
            )
        )
