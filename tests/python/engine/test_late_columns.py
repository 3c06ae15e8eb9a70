"""Columns that the engine does not have go along with those that operators compute with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

col = xd.col
TAGS = [["a"], None, [], ["b", "c"], ["d"]]
POINTS = [{"x": 1}, {"x": None}, None, {"x": 4}, {"x": 5}]


@pytest.fixture
def table() -> pa.Table:
    schema = pa.schema(
        [
            pa.field("k", pa.int64()),
            pa.field("tags", pa.list_(pa.field("tag", pa.string(), nullable=False))),
            pa.field("p", pa.struct([pa.field("x", pa.int32())])),
            pa.field("v", pa.float64()),
        ]
    )
    columns = {"k": [3, 1, None, 2, 1], "tags": TAGS, "p": POINTS, "v": [1.0, 2.0, 3.0, 4.0, 5.0]}
    return pa.table(columns, schema=schema)


@pytest.fixture
def rows(dock: xd.Dock, table: pa.Table) -> xd.Relation:
    return dock.from_arrow(pa.concat_tables([table.slice(0, 2), table.slice(2)]))


def test_sorts(rows: xd.Relation) -> None:
    result = rows.sort("k", "v").collect()
    assert result.schema == rows.schema
    assert result["tags"].to_pylist() == [None, ["d"], ["b", "c"], ["a"], []]
    assert rows.top_k(1, "k").collect()["tags"].to_pylist() == [["a"]]
    assert rows.sort("k", "v", limit=2, offset=1).collect()["p"].to_pylist() == POINTS[4:2:-1]
    assert rows.sort("k", "v").limit(1).select("tags").collect().to_pydict() == {"tags": [None]}
    assert rows.arg_sort("k", "v").collect()["index"].to_pylist() == [1, 4, 3, 0, 2]
    assert rows.select("tags", w=-col("v")).sort("w").collect()["tags"].to_pylist() == TAGS[::-1]


def test_joins_of_joins(rows: xd.Relation) -> None:
    names = pa.table({"k": [1, 2, 9], "points": [[[1]], None, [[9], []]]})
    once = rows.join(names, on="k", how="full")
    twice = once.join(names.rename_columns(["k", "again"]), on="k").filter(col("v") > 2)
    result = twice.sort("v").collect()
    assert result.schema == twice.schema
    assert result.select(["tags", "points", "again"]).to_pylist() == [
        {"tags": ["b", "c"], "points": None, "again": None},
        {"tags": ["d"], "points": [[1]], "again": [[1]]},
    ]
    assert twice.count() == 2
    assert sum(batch.num_rows for batch in twice.to_batches()) == 2
    assert once.filter(col("points").is_null()).count() == 3
    alone = once.filter(col("tags").is_null() & col("v").is_null()).collect()
    assert alone["points"].to_pylist() == [[[9], []]]
    with_itself = rows.join(rows, on="k").select("tags", "tags_right").collect()
    pairs = [(["a"], ["a"]), (["b", "c"], ["b", "c"]), (["d"], ["d"]), (None, None)]
    pairs += [(None, ["d"]), (["d"], None)]
    found_pairs = [tuple(row.values()) for row in with_itself.to_pylist()]
    assert sorted(found_pairs, key=repr) == sorted(pairs, key=repr)


def test_a_residual_may_look_at_them(rows: xd.Relation) -> None:
    other = pa.table({"k": [1, 1, 3], "notes": [["n"], None, ["m"]]})
    condition = col("notes").is_not_null() & col("tags").is_not_null() & (col("v") > 1)
    result = rows.join(other, on="k", residual=condition).collect()
    assert result.select(["k", "tags", "notes"]).to_pylist() == [
        {"k": 1, "tags": ["d"], "notes": ["n"]}
    ]


def test_groups(rows: xd.Relation) -> None:
    result = (
        rows.group_by("k")
        .agg(
            first=xd.first("tags"), any=xd.any("p"), n=xd.count("tags"),
            late=xd.first("tags").where(col("v") > 2), s=xd.sum("v"),
        )
        .sort("k")
    )  # fmt: skip
    assert result.collect().schema == result.schema
    assert result.collect().to_pylist() == [
        {"k": 1, "first": ["d"], "any": {"x": None}, "n": 1, "late": ["d"], "s": 7.0},
        {"k": 2, "first": ["b", "c"], "any": {"x": 4}, "n": 1, "late": ["b", "c"], "s": 4.0},
        {"k": 3, "first": ["a"], "any": {"x": 1}, "n": 1, "late": None, "s": 1.0},
        {"k": None, "first": [], "any": None, "n": 1, "late": [], "s": 3.0},
    ]
    by_null = rows.group_by(empty=col("tags").is_null()).agg(f=xd.first("tags"), n=xd.count())
    assert by_null.sort("empty").collect().to_pylist() == [
        {"empty": False, "f": ["a"], "n": 4}, {"empty": True, "f": None, "n": 1},
    ]  # fmt: skip
    assert rows.agg(n=xd.count("tags"), f=xd.first("p")).collect().to_pylist() == [
        {"n": 4, "f": {"x": 1}}
    ]
    assert rows.agg(n=xd.count().where(col("tags").is_null())).collect().to_pylist() == [{"n": 1}]


def test_counts_of_a_column_over_a_join(rows: xd.Relation) -> None:
    other = pa.table({"k": [1, 3], "notes": [None, ["m"]], "w": [None, 2]})
    joined = rows.join(other, on="k")
    assert joined.agg(a=xd.count("notes"), b=xd.count("w"), c=xd.count()).collect().to_pylist() == [
        {"a": 1, "b": 1, "c": 3}
    ]
    assert joined.agg(b=xd.count("w")).collect().to_pylist() == [{"b": 1}]


def test_partitions_samples_and_unions(rows: xd.Relation, table: pa.Table) -> None:
    parts = list(rows.partition_by("k", 3))
    assert sum(part.num_rows for part in parts) == 5
    assert all(part.schema == rows.schema for part in parts)
    again = pa.concat_tables(parts).sort_by("v")
    assert again.to_pylist() == table.to_pylist()
    assert rows.sample(n=5).sort("v").collect().to_pylist() == table.to_pylist()
    assert rows.sort("v").sample(fraction=1.0).collect().to_pylist() == table.to_pylist()
    doubled = rows.union(rows.sort("k")).sort("v", stable=True).collect()
    assert doubled["tags"].to_pylist() == [tag for tag in TAGS for _ in (0, 1)]


def test_files(dock: xd.Dock, table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    rows = dock.read_parquet(tmp_path / "a.parquet")
    kept = rows.filter(col("v") > 1).sort("v")
    assert kept.collect().to_pylist() == table.to_pylist()[1:]
    assert kept.write_parquet(tmp_path / "b.parquet") == 4
    assert pq.read_table(tmp_path / "b.parquet").to_pylist() == table.to_pylist()[1:]
    assert rows.join(table.select(["k"]), on="k").count() == 6
    assert "tags" in str(kept.explain())
    assert "@" not in str(kept.explain())
    assert "@" not in str(kept.profile())
    with pytest.raises(xd.PathError, match="CD-503"):
        kept.write(tmp_path / "c.csv")


def test_extension_types_that_pyarrow_has_not(dock: xd.Dock, tmp_path: Path) -> None:
    geometry = {b"ARROW:extension:name": b"geoarrow.wkb", b"ARROW:extension:metadata": b"{}"}
    fields = [pa.field("k", pa.int64(), metadata={"a": "note"})]
    fields += [pa.field("g", pa.binary(), metadata=geometry)]
    fields += [pa.field("l", pa.list_(pa.binary()), metadata=geometry | {b"a": b"note"})]
    table = pa.table([[2, 1], [b"x", b"y"], [[b"x"], None]], schema=pa.schema(fields))
    pq.write_table(table, tmp_path / "g.parquet")
    for rows in (dock.from_arrow(table), dock.read(tmp_path / "g.parquet")):
        other = rows.rename({"g": "h", "l": "m"})
        for query in (rows, rows.sort("k"), rows.join(other, on="k"), rows.filter(col("k") > 1)):
            for schema in (query.schema, query.collect().schema, next(query.to_batches()).schema):
                by_name = {field.name: field.metadata for field in schema}
                assert not by_name.pop("k")
                assert all(metadata == geometry for metadata in by_name.values())
    rows.sort("k").write_parquet(tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").field("g").metadata == geometry


def test_names_do_not_meet(dock: xd.Dock) -> None:
    table = pa.table({"@0": [2, 1], "@1": [[1], [2]], "@2": [["x"], None], "@3": [0, 0]})
    result = dock.from_arrow(table).sort("@0").collect()
    assert result.to_pylist() == table.to_pylist()[::-1]


def test_what_must_compare_them_is_refused(rows: xd.Relation) -> None:
    tries = [
        lambda: rows.sort("tags"),
        lambda: rows.distinct(),
        lambda: rows.group_by("tags").agg(n=xd.count()),
        lambda: rows.join(rows, on="tags"),
        lambda: rows.partition_by("tags"),
        lambda: rows.agg(n=xd.max("tags")),
        lambda: rows.agg(n=xd.count_distinct("tags")),
    ]
    for attempt in tries:
        with pytest.raises(xd.TypeError, match=r"CD-102(.|\n)*'tags' of type list(.|\n)*try"):
            attempt()
    runs = pa.table({"k": [1, 2], "r": pc.run_end_encode(pa.array([7, 8]))})
    relation = rows.select("k").union(pa.table({"k": [1]})).join(runs, on="k")
    with pytest.raises(xd.TypeError) as caught:
        relation.sort("r")
    call = str(caught.value).splitlines()[-1].split(maxsplit=1)[1]
    as_said = eval("relation." + call, {"relation": relation, "xd": xd})
    assert as_said.sort("r").collect()["r"].to_pylist() == [7, 7, 7, 8]


def test_tables_with_empty_columns(dock: xd.Dock, tmp_path: Path) -> None:
    """As CSV files, pandas and Polars have them."""
    (tmp_path / "note.csv").write_text("a,note\n2,\n1,\n2,\n")
    (tmp_path / "comma.csv").write_text("a,\n2,\n1,\n2,\n")
    (tmp_path / "header.csv").write_text("a,b\n")
    for name in ("note.csv", "comma.csv"):
        rows = dock.read_csv(tmp_path / name)
        assert rows.sort("a").collect()["a"].to_pylist() == [1, 2, 2]
        assert rows.distinct().count() == 2
        assert rows.join(rows, on="a").count() == 5
        assert rows.group_by("a").agg(n=xd.count()).count() == 2
    header = dock.read_csv(tmp_path / "header.csv")
    assert header.sort("a", "b").collect().num_rows == 0
    assert header.join(header, on="a").collect().num_rows == 0
    assert header.distinct().count() == 0
    assert header.group_by("a").agg(n=xd.count("b")).collect().num_rows == 0


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_with_columns_of_none(dock: xd.Dock, package: str) -> None:
    frames: Any = pytest.importorskip(package)
    frame = frames.DataFrame({"a": [2, 1, 2], "note": [None, None, None]})
    rows = dock.from_arrow(frame)
    assert rows.sort("note", "a").collect()["a"].to_pylist() == [1, 2, 2]
    assert rows.distinct().count() == 2
    assert rows.join(frame, on="a").collect().num_rows == 5
    assert rows.join(frame, on=["a", "note"]).count() == 0


def test_nested_columns_of_polars(dock: xd.Dock) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "a": [2, 1],
            "strings": [["x", None], []],
            "s": [{"b": "y"}, None],
            "two": polars.Series([[1, 2], None], dtype=polars.Array(polars.Int64, 2)),
        }
    )
    result = dock.from_arrow(frame).sort("a").join(frame, on="a", how="left").sort("a")
    assert polars.from_arrow(result.collect()).select(frame.columns).equals(frame.sort("a"))


def test_integers_of_128_bits_are_named(dock: xd.Dock) -> None:
    polars = pytest.importorskip("polars")
    big = polars.Series([1], dtype=polars.Int128)
    frame = polars.DataFrame({"a": [1], "big": big, "b": [2], "bigger": big})
    with pytest.raises(xd.DataError, match=r"CD-302(.|\n)*'big', 'bigger'(.|\n)*Decimal"):
        dock.from_arrow(frame)


def test_one_column_as_two_keys(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"a": [1, 1, 2], "s": ["x", "x", None], "v": [1, 2, 3]}))
    twice = rows.select(p=col("a") + 0, q=col("a") + 0).distinct()
    assert sorted(twice.collect().to_pylist(), key=repr) == [{"p": 1, "q": 1}, {"p": 2, "q": 2}]
    names = rows.select(p="s", q="s", v="v").group_by("p", "q").agg(n=xd.count(), s=xd.sum("v"))
    assert sorted(names.collect().to_pylist(), key=repr) == [
        {"p": "x", "q": "x", "n": 2, "s": 3}, {"p": None, "q": None, "n": 1, "s": 3},
    ]  # fmt: skip
    result = rows.group_by("a", q=col("a"), r=col("a") * 2).agg(n=xd.count())
    assert result.schema.names == ["a", "q", "r", "n"]
    above = result.group_by("q").agg(m=xd.max("n"), a=xd.sum("a")).sort("q")
    assert above.collect().to_pylist() == [{"q": 1, "m": 2, "a": 1}, {"q": 2, "m": 1, "a": 2}]
    assert result.count() == 2
    assert result.join(rows, on="a").sort("v").collect()["q"].to_pylist() == [1, 1, 2]


def test_a_union_of_what_is_computed_of_lists() -> None:
    with xd.connect(threads=2, ranks="off") as dock:
        lists = dock.from_arrow(pa.table({"l": [[1, 2], [3], [1]], "a": [1, 2, 3]}))
        firsts = lists.select(p=xd.col("l").list_element(0), a="a")
        groups = firsts.union(firsts.filter(xd.col("a") > 1)).group_by("p").agg(n=xd.count())
        assert groups.sort("p").collect().to_pylist() == [{"p": 1, "n": 3}, {"p": 3, "n": 2}]
