"""Queries of relations, each beside the same in SQL, over one table of many types with nulls
everywhere: group by with computed keys, conditions and expressions, sort, distinct, top_k, limit,
union, and chains of them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import crossdock as xd
import duckdb_rows
import numpy as np
import pyarrow as pa
import pytest
from same_rows import assert_same_rows, plain_keys

ROWS = 20_000
DAY = datetime.date(1995, 1, 1)


def lines_table() -> pa.Table:
    """Order lines, made up."""
    random = np.random.default_rng(12)

    def holes(share: float = 0.1) -> np.ndarray:
        return random.random(ROWS) < share

    flags = np.array(["A", "N", "R", ""])[random.integers(0, 4, ROWS)]
    words = np.array(["", "air", "air reg", "rail", "ship\0", "a truck with a long name", "mail"])
    cents = random.integers(0, 10**7, ROWS)
    instants = pa.array(random.integers(0, 2**40, ROWS) * 1000, pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "id": pa.array(np.arange(ROWS)),
            "flag": pa.array(flags, mask=holes()),
            "mode": pa.array(words[random.integers(0, 7, ROWS)], mask=holes()),
            "k": pa.array(random.integers(-50, 50, ROWS).astype(np.int32), mask=holes()),
            "big": pa.array(random.integers(-(2**62), 2**62, ROWS), mask=holes()),
            "x": pa.array(random.normal(0, 1000, ROWS), mask=holes()),
            "price": pa.array(cents, pa.int64()).cast(pa.decimal128(19, 0)).cast(
                pa.decimal128(15, 2), safe=False
            ),
            "tax": pa.array(random.integers(0, 9, ROWS)).cast(pa.decimal128(19, 0)).cast(
                pa.decimal128(21, 2)
            ).cast(pa.decimal128(15, 2)),
            "day": pa.array(random.integers(8000, 10_000, ROWS).astype(np.int32), pa.date32()),
            "moment": instants,
            "ok": pa.array(random.random(ROWS) < 0.5, mask=holes()),
            "word": pa.array(words[random.integers(0, 7, ROWS)], mask=holes(0.3))
            .dictionary_encode(),
        }
    )  # fmt: skip


@dataclass(frozen=True)
class Query:
    """A relation and the SQL that says the same; `t` is the table, `u` a part of it."""

    relation: Callable[[xd.Relation, xd.Relation], xd.Relation]
    sql: str


C = xd.col
QUERIES: dict[str, Query] = {
    "count": Query(
        lambda t, u: t.group_by("flag").agg(n=xd.count()),
        "SELECT flag, count(*) FROM t GROUP BY flag",
    ),
    "no keys": Query(
        lambda t, u: t.agg(n=xd.count(), s=xd.sum("k"), m=xd.max("mode"), d=xd.min("day")),
        "SELECT count(*), sum(k)::BIGINT, max(mode), min(day) FROM t",
    ),
    "two keys": Query(
        lambda t, u: t.group_by("flag", "mode").agg(
            n=xd.count("k"), lo=xd.min("price"), hi=xd.max("moment"), all=xd.bool_and("ok")
        ),
        """SELECT flag, mode, count(k), min(price), max(moment), bool_and(ok) FROM t
           GROUP BY flag, mode""",
    ),
    "conditions": Query(
        lambda t, u: t.group_by("flag").agg(
            n=xd.count().where(C("k") > 10),
            s=xd.sum("price").where(C("ok")),
            m=xd.max("k").where((C("x") > 0) & C("mode").starts_with("air")),
            d=xd.count_distinct("mode").where(~C("ok")),
        ),
        """SELECT flag, count(*) FILTER (WHERE k > 10), sum(price) FILTER (WHERE ok),
           max(k) FILTER (WHERE x > 0 AND mode LIKE 'air%'),
           count(DISTINCT mode) FILTER (WHERE NOT ok) FROM t GROUP BY flag""",
    ),
    "computed keys": Query(
        lambda t, u: t.group_by("flag", year=C("day").year(), small=C("k") < 0).agg(
            n=xd.count(), s=xd.sum(C("k") * 3 - 1)
        ),
        """SELECT flag, year(day), k < 0, count(*), sum(k * 3 - 1)::BIGINT FROM t
           GROUP BY ALL""",
    ),
    "decimal expressions": Query(
        lambda t, u: t.group_by("flag").agg(
            s=xd.sum(C("price") * (1 - C("tax"))), t=xd.sum(C("price") + C("tax"))
        ),
        """SELECT flag, sum((price * (1 - tax))::DECIMAL(38, 4)), sum(price + tax) FROM t
           GROUP BY flag""",
    ),
    "filtered rows": Query(
        lambda t, u: t.filter((C("day") >= DAY) & C("k").is_not_null()).group_by("mode").agg(
            n=xd.count(), s=xd.sum("big", wide=True)
        ),
        """SELECT mode, count(*), sum(big)::DECIMAL(38, 0) FROM t
           WHERE day >= DATE '1995-01-01' AND k IS NOT NULL GROUP BY mode""",
    ),
    "having": Query(
        lambda t, u: t.group_by("k", "flag").agg(n=xd.count()).filter(C("n") > 45, C("k") > 0),
        "SELECT k, flag, count(*) AS n FROM t WHERE k > 0 GROUP BY k, flag HAVING n > 45",
    ),
    "groups of groups": Query(
        lambda t, u: t.group_by("k", "flag").agg(n=xd.count()).group_by("n").agg(m=xd.count()),
        """SELECT n, count(*) FROM (SELECT k, flag, count(*) AS n FROM t GROUP BY k, flag)
           GROUP BY n""",
    ),
    "dictionary key": Query(
        lambda t, u: t.group_by("word").agg(n=xd.count(), s=xd.sum("k")),
        "SELECT word, count(*), sum(k)::BIGINT FROM t GROUP BY word",
    ),
    "distinct": Query(
        lambda t, u: t.distinct("flag", "ok", "mode"), "SELECT DISTINCT flag, ok, mode FROM t"
    ),
    "distinct rows": Query(
        lambda t, u: t.select("k", "flag").distinct(), "SELECT DISTINCT k, flag FROM t"
    ),
    "union": Query(
        lambda t, u: t.select("k", "flag").union(u.select("flag", "k")),
        "SELECT k, flag FROM t UNION ALL SELECT k, flag FROM u",
    ),
    "union distinct": Query(
        lambda t, u: t.select("k", "flag").union(u.select("k", "flag")).distinct(),
        "SELECT k, flag FROM t UNION SELECT k, flag FROM u",
    ),
    "join then group": Query(
        lambda t, u: t.join(u, on="k", suffix="_u").group_by("flag").agg(
            n=xd.count(), m=xd.max("id_u")
        ),
        "SELECT t.flag, count(*), max(u.id) FROM t JOIN u ON t.k = u.k GROUP BY t.flag",
    ),
    "group then join": Query(
        lambda t, u: t.group_by("k").agg(n=xd.count()).join(
            u.group_by("k").agg(m=xd.count()), on="k", how="full"
        ),
        """SELECT k, n, m FROM (SELECT k, count(*) AS n FROM t GROUP BY k) a FULL JOIN
           (SELECT k AS k2, count(*) AS m FROM u GROUP BY k) b ON a.k = b.k2
           WHERE k IS NOT NULL OR n IS NOT NULL OR m IS NOT NULL""",
    ),
    "sort limit group": Query(
        lambda t, u: t.sort(xd.desc("big"), "id", limit=500).group_by("flag").agg(n=xd.count()),
        """SELECT flag, count(*) FROM (SELECT flag FROM t ORDER BY big DESC NULLS LAST, id
           LIMIT 500) GROUP BY flag""",
    ),
    "case": Query(
        lambda t, u: t.agg(
            a=xd.sum(xd.when(C("flag") == "A").then(C("k")).otherwise(0)),
            b=xd.count().where(C("flag").is_in(["A", "N"])),
        ),
        """SELECT sum(CASE WHEN flag = 'A' THEN k ELSE 0 END)::BIGINT,
           count(*) FILTER (WHERE flag IN ('A', 'N')) FROM t""",
    ),
}  # fmt: skip

ORDERED: dict[str, Query] = {
    "sort": Query(
        lambda t, u: t.sort("flag", xd.desc("k"), xd.asc("x", nulls="first"), "id"),
        "FROM t ORDER BY flag NULLS LAST, k DESC NULLS LAST, x NULLS FIRST, id",
    ),
    "stable": Query(
        lambda t, u: t.sort(xd.desc("mode", nulls="first"), stable=True),
        "FROM t ORDER BY mode DESC NULLS FIRST, id",
    ),
    "computed": Query(
        lambda t, u: t.sort(C("k") % 7, xd.desc(C("price") * 2), "id").select("id", "k"),
        "SELECT id, k FROM t ORDER BY ((k % 7) + 7) % 7 NULLS LAST, price DESC NULLS LAST, id",
    ),
    "dictionary": Query(
        lambda t, u: t.sort("word", "id").select("id", "word"),
        "SELECT id, word FROM t ORDER BY word::VARCHAR NULLS LAST, id",
    ),
    "limit": Query(
        lambda t, u: t.sort("x", "id", limit=100).select("id"),
        "SELECT id FROM t ORDER BY x NULLS LAST, id LIMIT 100",
    ),
    "limit and offset": Query(
        lambda t, u: t.sort("moment", "id").limit(50, offset=19_980).select("id"),
        "SELECT id FROM t ORDER BY moment NULLS LAST, id LIMIT 50 OFFSET 19980",
    ),
    "top_k": Query(
        lambda t, u: t.top_k(25, "big", xd.asc("id")).select("id", "big"),
        "SELECT id, big FROM t ORDER BY big DESC NULLS LAST, id LIMIT 25",
    ),
    "arg_sort": Query(
        lambda t, u: t.arg_sort(xd.desc("day"), "flag", stable=True),
        "SELECT id FROM t ORDER BY day DESC NULLS LAST, flag NULLS LAST, id",
    ),
    "filter behind sort": Query(
        lambda t, u: t.sort(xd.desc("id")).filter(C("k") > 20).select("id"),
        "SELECT id FROM t WHERE k > 20 ORDER BY id DESC",
    ),
    "filter behind limit": Query(
        lambda t, u: t.sort("k", "id", limit=1000).filter(C("id") % 2 == 0).select("id"),
        """SELECT id FROM (FROM t ORDER BY k NULLS LAST, id LIMIT 1000) WHERE id % 2 = 0
           ORDER BY k NULLS LAST, id""",
    ),
    "groups in order": Query(
        lambda t, u: t.group_by("mode").agg(n=xd.count()).sort(xd.desc("n"), "mode"),
        "SELECT mode, count(*) AS n FROM t GROUP BY mode ORDER BY n DESC, mode NULLS LAST",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def lines() -> pa.Table:
    whole = lines_table()
    pieces = [whole.slice(0, 7000), whole.slice(7000, 0), whole.slice(7000, 5), whole.slice(7005)]
    return pa.concat_tables(pieces)


@pytest.fixture(scope="module", params=[1, 3])
def dock(request: pytest.FixtureRequest) -> Iterator[xd.Dock]:
    with xd.connect(threads=request.param, memory="1GiB") as opened:
        yield opened
        assert opened.memory_used_bytes == 0


def part_of(lines: pa.Table) -> pa.Table:
    return lines.slice(100, 300)


def answer(lines: pa.Table, sql: str) -> pa.Table:
    connection = duckdb_rows.connection()
    connection.register("t", lines)
    connection.register("u", part_of(lines))
    return duckdb_rows.query(sql)


def run(dock: xd.Dock, lines: pa.Table, query: Query) -> tuple[pa.Table, list[pa.Array]]:
    """What the relation gives, and what DuckDB says in the types of that."""
    relation = query.relation(dock.from_arrow(lines), dock.from_arrow(part_of(lines)))
    result = relation.collect()
    result.validate(full=True)
    assert result.schema.types == relation.schema.types
    expected = answer(lines, query.sql)
    assert len(expected.columns) == len(result.columns)
    columns = []
    for column, kind in zip(expected.columns, result.schema.types, strict=True):
        decoded = kind.value_type if pa.types.is_dictionary(kind) else kind
        columns.append(plain_keys(column.cast(decoded)))
    return result, columns


@pytest.mark.parametrize("name", list(QUERIES))
def test_query(dock: xd.Dock, lines: pa.Table, name: str) -> None:
    result, expected = run(dock, lines, QUERIES[name])
    assert len(expected[0]) > 0
    assert_same_rows(expected, result)
    rows = QUERIES[name].relation(dock.from_arrow(lines), dock.from_arrow(part_of(lines)))
    assert rows.count() == result.num_rows == sum(batch.num_rows for batch in rows.to_batches())


@pytest.mark.parametrize("name", list(ORDERED))
def test_ordered_query(dock: xd.Dock, lines: pa.Table, name: str) -> None:
    result, expected = run(dock, lines, ORDERED[name])
    assert len(expected[0]) > 0
    for want, column, title in zip(expected, result.columns, result.column_names, strict=True):
        assert plain_keys(column).equals(want), title
    rows = ORDERED[name].relation(dock.from_arrow(lines), dock.from_arrow(part_of(lines)))
    batches = pa.Table.from_batches(rows.to_batches(), rows.schema)
    for want, column in zip(expected, batches.columns, strict=True):
        assert plain_keys(column).equals(want)
    assert rows.count() == result.num_rows


FLOATS = {
    "mean": ("avg(x)", lambda: xd.mean("x")),
    "mean of decimals": ("avg(price)", lambda: xd.mean("price")),
    "mean of integers": ("avg(k)", lambda: xd.mean("k")),
    "sum": ("sum(x)", lambda: xd.sum("x")),
    "exact sum": ("fsum(x)", lambda: xd.sum("x", floats="exact")),
    "expression": ("sum(x * 2 + k)", lambda: xd.sum(C("x") * 2 + C("k"))),
    "var": ("var_samp(x)", lambda: xd.var("x")),
    "var of all": ("var_pop(k)", lambda: xd.var("k", ddof=0)),
    "stddev": ("stddev_samp(x)", lambda: xd.stddev("x")),
}


@pytest.mark.parametrize("name", list(FLOATS))
def test_float_aggregate(dock: xd.Dock, lines: pa.Table, name: str) -> None:
    sql, make = FLOATS[name]
    result = dock.from_arrow(lines).group_by("flag").agg(a=make()).sort("flag").collect()
    expected = answer(lines, f"SELECT flag, {sql} FROM t GROUP BY flag ORDER BY flag NULLS LAST")
    assert result.column("flag").equals(expected.column(0))
    assert result.schema.field("a").type == pa.float64()
    np.testing.assert_allclose(result.column("a").to_numpy(), expected.column(1), rtol=1e-10)


# --- samples


def test_a_sample_of_n_rows(dock: xd.Dock, lines: pa.Table) -> None:
    """So many rows, none twice, in the order of the input, however that is cut."""
    whole = lines.combine_chunks()
    for n in (0, 1, 100, 19_999, 20_000, 30_000):
        result = dock.from_arrow(lines).sample(n, seed=5).collect()
        assert result.num_rows == min(n, ROWS)
        ids = result.column("id").to_numpy()
        assert (np.diff(ids) > 0).all()
        assert result.equals(lines.take(pa.array(ids)).cast(result.schema))
        assert dock.from_arrow(whole).sample(n, seed=5).collect().equals(result)
    draws = [dock.from_arrow(lines).sample(100, seed=s).collect()["id"] for s in (1, 2)]
    assert not draws[0].equals(draws[1])


def test_samples_are_even(dock: xd.Dock, lines: pa.Table) -> None:
    """Each tenth of the table gets its share of many draws (10,000 rows: 5 sigma are 150)."""
    ids = np.concatenate(
        [
            dock.from_arrow(lines).sample(1000, seed=seed).collect()["id"].to_numpy()
            for seed in range(10)
        ]
    )
    shares = np.bincount(ids * 10 // ROWS, minlength=10)
    assert abs(shares - 1000).max() < 150, shares


def test_a_sampled_fraction(dock: xd.Dock, lines: pa.Table) -> None:
    rows = dock.from_arrow(lines)
    assert rows.sample(fraction=0.0, seed=1).count() == 0
    assert rows.sample(fraction=1.0, seed=1).count() == ROWS
    result = rows.sample(fraction=0.25, seed=1).collect()
    assert abs(result.num_rows - ROWS / 4) < 5 * (ROWS * 0.25 * 0.75) ** 0.5
    assert (np.diff(result["id"].to_numpy()) > 0).all()
    again = rows.sample(fraction=0.25)
    assert again.collect().equals(again.collect())


# --- partitions


@pytest.mark.parametrize("by", ["hash", "range"])
def test_parts_are_tables_and_files(dock: xd.Dock, lines: pa.Table, by: str, tmp_path: Any) -> None:
    parts = dock.from_arrow(lines).partition_by("mode", "k", partitions=16, how=by)
    assert len(parts) == 16
    assert sum(parts.rows) == ROWS
    tables = list(parts)
    assert [table.num_rows for table in tables] == parts.rows
    assert parts[3].equals(tables[3])
    assert parts[-1].equals(tables[15])
    seen: set[tuple[Any, Any]] = set()
    for table in tables:
        keys = set(zip(table["mode"].to_pylist(), table["k"].to_pylist(), strict=True))
        assert not keys & seen
        seen |= keys
        assert (np.diff(table["id"].to_numpy()) > 0).all()
    paths = parts.write(tmp_path / "parts")
    assert [path.name for path in paths] == sorted(path.name for path in paths)
    for path, table in zip(paths, tables, strict=True):
        back = dock.read_parquet(path).collect()
        assert back["id"].equals(table["id"])


# --- declared orders


def test_a_wrong_declaration_is_an_error(dock: xd.Dock, lines: pa.Table) -> None:
    rows = dock.from_arrow(lines)
    assert rows.assume_sorted("id").sort("id").collect()["id"].equals(lines["id"])
    for query in (
        rows.assume_sorted("big").sort("big"),
        rows.assume_sorted("big").join(rows.assume_sorted("big"), on="big", strategy="merge",
                                       suffix="_r"),
    ):  # fmt: skip
        with pytest.raises(xd.OptionError, match=r"order|sorted"):
            query.collect()


@pytest.mark.parametrize("how", ["inner", "left", "full", "semi", "anti"])
def test_a_merge_join_is_sorted_and_right(dock: xd.Dock, lines: pa.Table, how: str) -> None:
    left = dock.from_arrow(lines).select("k", "id")
    right = dock.from_arrow(part_of(lines)).select("k", other="id")
    result = left.join(right, on="k", how=how, strategy="merge").collect()
    expected = left.join(right, on="k", how=how, strategy="radix").collect()
    assert_same_rows([plain_keys(column) for column in expected.columns], result)
    keys = [key for key in result["k"].to_pylist() if key is not None]
    assert keys == sorted(keys)
