"""Parquet files through the engine's reader without an operator, or with one: rows in the order of
the file and of its types, batch by batch, and no more of the file than is needed."""

from __future__ import annotations

import decimal
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.files.parquet_files import ParquetSource

col = xd.col
nan = float("nan")
ROWS = 40_000


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    draw = random.Random(11)

    def some(value: Callable[[], Any]) -> list[Any]:
        return [None if draw.random() < 0.1 else value() for _ in range(ROWS)]

    return pa.table(
        {
            "id": range(ROWS),
            "n": pa.array(some(lambda: draw.randrange(1000)), pa.int32()),
            "price": pa.array(some(lambda: decimal.Decimal(draw.randrange(10**6)).scaleb(-2))),
            "text": pa.array(some(lambda: "x" * draw.randrange(30) + str(draw.random()))),
            "kind": pa.array(some(lambda: draw.choice(["", "a", "a text that is no short one"]))),
            "large": pa.array(some(lambda: str(draw.randrange(9)) * 9), pa.large_string()),
            "view": pa.array(some(lambda: draw.choice("ab") * 20), pa.string_view()),
            "bytes": pa.array(some(lambda: draw.randbytes(draw.randrange(20))), pa.binary()),
            "flag": pa.array(some(lambda: draw.random() < 0.5)),
            "ratio": pa.array(some(lambda: draw.choice([0.0, -0.0, nan, draw.gauss(0, 1)]))),
            "day": pa.array(some(lambda: draw.randrange(-800_000, 800_000)), pa.date32()),
        }
    )


@pytest.fixture
def path(rows: pa.Table, tmp_path: Path) -> Path:
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=3000)
    return tmp_path / "rows.parquet"


@pytest.fixture(autouse=True)
def _engine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow reads no row."""

    def refuse(*_: object) -> Any:
        raise AssertionError("pyarrow reads the file")

    for way in ("table", "reader"):
        monkeypatch.setattr(ParquetSource, way, refuse)


Form = Callable[[xd.Relation], xd.Relation]
FORMS: dict[str, Form] = {
    "all": lambda r: r,
    "columns": lambda r: r.select("kind", "id"),
    "filter": lambda r: r.filter(col("n") < 20),
    "filter that keeps much": lambda r: r.filter(col("n") > 20),
    "filter of strings": lambda r: r.filter(col("kind") == "a"),
    "filters": lambda r: r.filter(col("n") < 500, col("text").contains("xx"), col("flag")),
    "filter that keeps nothing": lambda r: r.filter(col("n") == 5000),
    "computed": lambda r: r.select("id", double=col("n") * 2, shown=col("kind")),
    "filter of computed": lambda r: r.with_columns(m=col("n") % 7).filter(col("m") == 3),
    "limit": lambda r: r.limit(7),
    "limit of many": lambda r: r.limit(20_000, offset=11_111),
    "limit of none": lambda r: r.limit(0),
    "limit beyond": lambda r: r.limit(10, offset=ROWS + 5),
    "limit behind a filter": lambda r: r.filter(col("n") < 9).limit(30, offset=12),
    "limit of limits": lambda r: r.limit(500).filter(col("flag")).limit(50, offset=3),
    "filter behind a limit": lambda r: r.limit(9000).filter(col("n") < 9),
    "group behind a limit": lambda r: r.limit(9000).group_by("kind").agg(n=xd.count()).sort("kind"),
    "sort": lambda r: r.sort("n", "id"),
    "sort of strings": lambda r: r.sort(xd.desc("text"), "id").select("text", "kind", "id"),
    "first of the order": lambda r: r.top_k(25, "n", "id"),
    "first of an order of strings": lambda r: r.top_k(25, "kind", "id"),
    "first numbers": lambda r: r.sort(xd.asc("n", nulls="first"), xd.desc("id")).limit(5000),
    "first of decimals": lambda r: r.top_k(9, xd.desc("price"), "id").select("price", "text", "id"),
    "first of floats": lambda r: r.sort("ratio", "id").limit(12),
    "last of floats": lambda r: r.top_k(12, xd.desc("ratio"), "id"),
    "first days": lambda r: r.sort("day", "id").limit(2000),
    "last days": lambda r: r.top_k(30, xd.desc("day"), "id").select("id", "kind"),
    "first of large strings": lambda r: r.sort("large", "id").limit(30),
    "first behind a filter": lambda r: r.filter(col("flag")).top_k(15, "price", "id"),
    "first of computed": lambda r: r.with_columns(m=col("n") % 7).top_k(15, "m", "n", "id"),
    "behind the first": lambda r: r.sort("n", "id").limit(20, offset=900),
    "first of a join": lambda r: r.join(r.select("id", p="price"), on="id").top_k(9, "p", "id"),
    "months": lambda r: (
        r.group_by(y=col("day").year(), m=col("day").month(), d=col("day").day())
        .agg(n=xd.count(), s=xd.sum("price"))
        .sort("y", "m", "d")
    ),
    "union": lambda r: r.filter(col("n") < 9).union(r.limit(3)),
    "numbered": lambda r: r.arg_sort("n", "id"),
}


def plain(table: pa.Table) -> pa.Table:
    """The same with floats by their bits, so that a NaN equals itself."""
    columns = [
        c.combine_chunks().view(pa.int64()) if c.type == pa.float64() else c.combine_chunks()
        for c in table.columns
    ]
    return pa.table(columns, names=table.column_names)


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_those_of_a_table(dock: xd.Dock, path: Path, rows: pa.Table, form: str) -> None:
    expected = FORMS[form](dock.from_arrow(rows)).collect()
    relation = FORMS[form](dock.read_parquet(path))
    result = relation.collect()
    assert result.schema.equals(expected.schema)
    assert plain(result).equals(plain(expected))
    result.validate(full=True)
    streamed = list(relation.to_batches())
    assert plain(pa.Table.from_batches(streamed, expected.schema)).equals(plain(expected))
    assert relation.count() == expected.num_rows


def test_few_rows_come_together(dock: xd.Dock, path: Path) -> None:
    """A filter that leaves little of each row group does not make a batch of each."""
    batches = list(dock.read_parquet(path).filter(col("n") < 20).to_batches())
    assert len(batches) == 1


def test_groups_and_joins(dock: xd.Dock, path: Path, rows: pa.Table) -> None:
    other = rows.slice(0, 900).select(["id", "kind"]).rename_columns(["id", "other"])
    result = []
    for relation in (dock.read_parquet(path), dock.from_arrow(rows)):
        joined = relation.join(other, on="id")
        assert joined.count() == 900
        assert relation.agg(n=xd.count("n"), s=xd.sum("price")).collect().num_rows == 1
        assert relation.distinct("kind").count() == 4
        result.append(joined.sort("id").collect())
    assert plain(result[0]).equals(plain(result[1]))


SQL = {
    "top decimals": (
        lambda r: r.top_k(30, xd.desc("price"), "id").select("id", "price", "text"),
        "SELECT id, price, text FROM rows ORDER BY price DESC NULLS LAST, id LIMIT 30",
    ),
    "first days": (
        lambda r: (
            r.filter(col("kind") != "").sort("day", "id").limit(700).select("id", "day", "kind")
        ),
        "SELECT id, day, kind FROM rows WHERE kind <> '' ORDER BY day NULLS LAST, id LIMIT 700",
    ),
    "first strings": (
        lambda r: r.sort("text", "id").limit(50, offset=7).select("text", "id", "flag"),
        "SELECT text, id, flag FROM rows ORDER BY text NULLS LAST, id LIMIT 50 OFFSET 7",
    ),
    "rows behind a filter": (
        lambda r: r.filter(col("n") < 50, col("flag")).select("id", "bytes").limit(40, offset=9),
        "SELECT id, bytes FROM rows WHERE n < 50 AND flag LIMIT 40 OFFSET 9",
    ),
    "months": (
        lambda r: (
            r.group_by(y=col("day").year(), m=col("day").month())
            .agg(n=xd.count(), s=xd.sum("n"))
            .sort("y", "m")
        ),
        "SELECT year(day) AS y, month(day) AS m, count(*) AS n, sum(n) AS s FROM rows "
        "GROUP BY ALL ORDER BY y NULLS LAST, m NULLS LAST",
    ),
}


@pytest.mark.parametrize("query", SQL)
def test_rows_are_those_of_duckdb(dock: xd.Dock, path: Path, query: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    form, sql = SQL[query]
    result = form(dock.read_parquet(path)).collect()
    connection = duckdb.connect()
    connection.sql(f"CREATE VIEW rows AS SELECT * FROM '{path}'")
    expected = connection.sql(sql).to_arrow_table()
    assert result.num_rows == expected.num_rows
    assert result.equals(expected.cast(result.schema))


def test_a_limit_reads_no_further_row_group(dock: xd.Dock, path: Path, rows: pa.Table) -> None:
    """Everything behind the first row groups is damaged: a column's pages there are no pages."""
    data = bytearray(path.read_bytes())
    columns = [
        pq.read_metadata(path).row_group(group).column(column)
        for group in range(4, pq.read_metadata(path).num_row_groups)
        for column in range(rows.num_columns)
    ]
    for column in columns:
        begin = column.dictionary_page_offset or column.data_page_offset
        data[begin : begin + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(bytes(data))
    files = dock.read_parquet(path)
    assert plain(files.limit(50).collect()).equals(plain(rows.slice(0, 50)))
    kept = [
        row["id"]
        for row in rows.slice(0, 200).select(["id", "n"]).to_pylist()
        if (row["n"] or 999) < 500
    ]
    assert files.filter(col("n") < 500).limit(50).collect()["id"].to_pylist() == kept[:50]
    with pytest.raises(xd.DataError):
        files.collect()


def test_an_iterator_that_is_closed_ends_the_run(dock: xd.Dock, path: Path) -> None:
    batches = iter(dock.read_parquet(path).to_batches())
    next(batches)
    assert dock.progress() is not None
    batches.close()  # type: ignore[attr-defined]
    assert dock.progress() is None


def test_an_error_ends_a_stream(dock: xd.Dock, path: Path) -> None:
    """A worker that fails frees those that wait for its rows."""
    relation = dock.read_parquet(path).select("id", broken=col("id") // (col("id") - 25_000))
    with pytest.raises(xd.CrossdockError):
        list(relation.to_batches())
    assert relation.limit(100).collect().num_rows == 100


def test_nested_columns_stream_in_bounded_memory(tmp_path: Path) -> None:
    """pyarrow reads them: by itself it would have all row groups of the file under way."""
    path = tmp_path / "rows.parquet"
    rows = 200_000
    part = pa.table(
        {
            "k": pa.array(range(rows), pa.int64()),
            "l": pa.array([[i, i + 1, i * 7 % 1000] for i in range(rows)]),
            "t": [f"string {i} " * 8 for i in range(rows)],
        }
    )
    with pq.ParquetWriter(path, part.schema, compression="none") as writer:
        for _ in range(6):
            writer.write_table(part, row_group_size=rows)
    program = f"""
import crossdock as xd, pyarrow as pa
rows = xd.connect(threads=2).read_parquet({str(path)!r})
print(sum(batch.num_rows for batch in rows.to_batches()))
print(sum(batch.num_rows for batch in rows.filter(xd.col("k") >= {rows - 10}).to_batches()))
print(pa.default_memory_pool().max_memory() >> 20)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    count, kept, peak = map(int, done.stdout.split())
    assert (count, kept) == (6 * rows, 60)
    assert path.stat().st_size > 120 << 20
    assert peak < 80
