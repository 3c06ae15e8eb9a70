"""Names in FROM, parameters, statements that are no queries, and how results are named."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import crossdock as xd
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

GLOBAL_TABLE = pa.table({"g": [1, 2]})


@pytest.fixture
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=2, ranks="off") as opened:
        yield opened


def rows(relation: xd.Relation) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in relation.collect().to_pylist()]


def test_registered_names_ignore_case(dock: xd.Dock) -> None:
    dock.register("Orders", pa.table({"UserID": [1, 2], "Total": [3.0, 4.0]}))
    result = dock.sql('select USERID, "userid" as "My ID", total * 2 from orders')
    assert result.columns == ["UserID", "My ID", "total * 2"]
    assert rows(result) == [(1, 1, 6.0), (2, 2, 8.0)]
    dock.register("ORDERS", pa.table({"x": [9]}))
    assert rows(dock.sql("from orders")) == [(9,)]
    dock.unregister("orders")
    with pytest.raises(xd.SqlError, match="no table 'orders'"):
        dock.sql("from orders")


def test_variables_of_the_caller(dock: xd.Dock) -> None:
    arrow = pa.table({"a": [1, 2]})
    polars = pl.DataFrame({"a": [2, 3]})
    pandas = pd.DataFrame({"a": [3, 4]})
    relation = dock.from_arrow(pa.table({"a": [4, 5]}))
    duck = duckdb.sql("select 5 as a")
    text = " union all ".join(
        f"select a from {name}" for name in ("arrow", "polars", "pandas", "relation", "duck")
    )
    assert sorted(rows(dock.sql(text))) == [(1,), (2,), (2,), (3,), (3,), (4,), (4,), (5,), (5,)]
    assert rows(dock.sql("select sum(g) from global_table")) == [(3,)]
    del arrow, polars, pandas, relation, duck


def test_of_variables_that_differ_in_case_one_is_typed(dock: xd.Dock) -> None:
    x, X = pa.table({"a": [1]}), pa.table({"a": [2]})  # noqa: N806 - is what is tested
    assert rows(dock.sql("select a from X")) == rows(dock.sql('select a from "X" b')) == [(2,)]
    assert rows(dock.sql("select a from x")) == [(1,)]
    assert rows(dock.sql("select count(*) from x join x y using (a)")) == [(1,)]
    assert rows(dock.sql("select X.a from X join X Y using (a)")) == [(2,)]
    del x, X
    Orders = pa.table({"a": [3]})  # noqa: N806
    assert rows(dock.sql("select a from orders")) == rows(dock.sql("from ORDERS")) == [(3,)]
    del Orders


def test_a_variable_that_is_no_table_is_none(dock: xd.Dock) -> None:
    numbers = [1, 2, 3]
    with pytest.raises(xd.SqlError, match="no table 'numbers'"):
        dock.sql("select * from numbers")
    del numbers


def test_registered_names_come_before_variables(dock: xd.Dock) -> None:
    things = pa.table({"a": [1]})
    dock.register("things", pa.table({"a": [2]}))
    assert rows(dock.sql("from things")) == [(2,)]
    del things


def test_files(dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"a": [1, 2], "s": ["x", "y"]}), "one.parquet")
    Path("two.csv").write_text("a;t\n1;u\n3;v\n")
    assert rows(dock.sql("select one.s from 'one.parquet' where one.a > 1")) == [("y",)]
    joined = "select s, t from 'one.parquet' o join read_csv('two.csv', delim=';') w on o.a = w.a"
    assert rows(dock.sql(joined)) == [("x", "u")]
    typed = "select a from read_csv('two.csv', delim=';', types={'a': 'DOUBLE'})"
    assert dock.sql(typed).schema.field("a").type == pa.float64()
    assert rows(dock.sql("select count(*) from read_parquet(['one.parquet', 'one.parquet'])"))
    assert rows(dock.sql("select count(*) from 'one.parquet' x, 'one.parquet' y")) == [(4,)]
    with pytest.raises(xd.PathError, match=r"none\.parquet"):
        dock.sql("select * from 'none.parquet'")


FILE_CALLS = {
    "read_csv('a.csv', header=false, names=['a', 't'], delim=';', skip=1)": [(1, "u"), (3, None)],
    "read_csv('a.csv', sep=';', nullstr='3')": [(1, "u"), (None, "")],
    "read_csv('a.csv', comment='1', quote='$', escape='!')": [(3, None)],
    "read_csv('b.csv', null_padding=true)": [(1.5, "u"), (3.0, None)],
    "read_csv('b.csv', ignore_errors=true, decimal_separator='.')": [(1.5, "u")],
    "read_csv('b.csv', null_padding=false, ragged='skip')": [(1.5, "u")],
    "read_json('a.json')": [(1, "u"), (3, None)],
    "read_ndjson('a.json', types={'a': 'DOUBLE'})": [(1.0, "u"), (3.0, None)],
    "'a.json'": [(1, "u"), (3, None)],
    "(select a, t from read_parquet('k=*/*.parquet', filename=true) where filename like '%k=7%')": [
        (1, "u")
    ],
    "(select k, t from read_parquet('k=*/*.parquet', hive_partitioning=true) where k = 7)": [
        (7, "u")
    ],
}


@pytest.mark.parametrize("call", FILE_CALLS)
def test_options_of_files(
    dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a;t\n1;u\n3;\n")
    Path("b.csv").write_text("a,t\n1.5,u\n3\n")
    Path("a.json").write_text('{"a": 1, "t": "u"}\n{"a": 3}\n')
    for key in (7, 8):
        Path(f"k={key}").mkdir()
        pq.write_table(pa.table({"a": [1], "t": ["u"]}), f"k={key}/a.parquet")
    assert rows(dock.sql(f"select * from {call} x")) == FILE_CALLS[call]


def test_options_that_a_function_has_not(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").touch()
    with pytest.raises(xd.SqlError, match=r"(?s)has no option 'union_by_nam'.*try\s+union_by_name"):
        dock.sql(f"from read_parquet('{tmp_path}/a.parquet', union_by_nam=true)")


def test_strings_behind_from_in_functions_are_no_files(dock: xd.Dock) -> None:
    assert rows(dock.sql("select trim('  x '), substring('abc' from 2)")) == [("x", "bc")]
    assert rows(dock.sql("select extract(year from date '2020-05-06')")) == [(2020,)]


def test_parameters_are_values(dock: xd.Dock) -> None:
    dock.register("t", pa.table({"a": [1, 2, 3], "s": ["x", "' or 1=1 --", None]}))
    assert rows(dock.sql("select a from t where a > ? and a < ?", [1, 3])) == [(2,)]
    assert rows(dock.sql("select a from t where s = $s", {"s": "' or 1=1 --"})) == [(2,)]
    assert rows(dock.sql("select a from t where s = ?", ["'; drop view t; --"])) == []
    assert rows(dock.sql("select count(*) from t where a = $n or a = $n + 1", {"n": 1})) == [(2,)]
    assert dock.sql("show tables").collect()["name"].to_pylist() == ["t"]


@pytest.mark.parametrize(
    "value",
    [1, -5, 2**62, 1.5, True, "x'y\"z\\", "é\n\x01", Decimal("12.340"), b"\x00\xff",
     datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5, 678), None],
)  # fmt: skip
def test_values_of_parameters_come_back(value: object, dock: xd.Dock) -> None:
    (rows,) = dock.sql("select ? as v", [value]).collect().to_pylist()
    assert rows["v"] == value
    assert type(rows["v"]) is type(value) or isinstance(rows["v"], datetime.datetime)


def test_wrong_parameters(dock: xd.Dock) -> None:
    for text, values in (
        ("select ?", None), ("select ?", []), ("select ?", [1, 2]), ("select $x", {"y": 1}),
        ("select 1", [1]), ("select ?", "x"), ("select 1; select ?", [1]),
    ):  # fmt: skip
        with pytest.raises(xd.SqlError):
            dock.sql(text, values)


def test_identifiers_are_no_text(dock: xd.Dock) -> None:
    name = 'a"; drop table t; --'
    dock.register("t", pa.table({name: [1], "b": [2]}))
    quoted = name.replace('"', '""')
    assert rows(dock.sql(f'select "{quoted}" from t')) == [(1,)]
    assert dock.sql("select * from t").columns == [name, "b"]
    dock.register('we"ird name', pa.table({"x": [5]}))
    assert rows(dock.sql('select x from "we""ird name"')) == [(5,)]


def test_relations_and_statements_compose(dock: xd.Dock) -> None:
    base = dock.sql("select * from (values (1, 'a'), (2, 'b'), (3, 'a')) v(n, k)")
    grouped = base.filter(xd.col("n") > 1)
    again = dock.sql("select k, sum(n) as total from grouped group by k order by k")
    assert grouped.count() == 2
    assert rows(again.with_columns(double=xd.col("total") * 2)) == [("a", 3, 6), ("b", 2, 4)]


def test_views(dock: xd.Dock, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), file)
    dock.sql(f"create view v (n) as select a * 10 from '{file}'")
    assert rows(dock.sql("select n from V")) == [(10,), (20,)]
    pq.write_table(pa.table({"a": [3]}), file)
    assert rows(dock.sql("select n from v")) == [(30,)]
    with pytest.raises(xd.SqlError, match="is there already"):
        dock.sql("create view v as select 1 as n")
    dock.sql("create view if not exists v as select 1 as n")
    dock.sql("create or replace temp view v as select 1 as n")
    assert rows(dock.sql("from v")) == [(1,)]
    dock.sql("drop view v; drop view if exists v")
    with pytest.raises(xd.SqlError):
        dock.sql("drop view v")


def test_tables_keep_their_rows(dock: xd.Dock, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), file)
    dock.sql(f"create table kept as select a from '{file}'")
    file.unlink()
    assert rows(dock.sql("select sum(a) from kept")) == [(3,)]


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", "json", "ndjson", "markdown"])
def test_copy(kind: str, dock: xd.Dock, tmp_path: Path) -> None:
    dock.register("t", pa.table({"a": [1, 2], "s": ["x", None]}))
    file = tmp_path / f"out.{kind}"
    done = dock.sql(f"copy (select a, s from t where a > 0) to '{file}' (format {kind})")
    assert rows(done) == [(2, str(file))]
    if kind in ("parquet", "csv", "arrow"):
        back = {"parquet": dock.read_parquet, "csv": dock.read_csv, "arrow": dock.read_ipc}[kind]
        assert rows(back(str(file))) == [(1, "x"), (2, None)]
    elif kind == "json":
        assert json.loads(file.read_text()) == [{"a": 1, "s": "x"}, {"a": 2, "s": None}]
    elif kind == "ndjson":
        lines = file.read_text().splitlines()
        assert list(map(json.loads, lines)) == [{"a": 1, "s": "x"}, {"a": 2, "s": None}]
    else:
        assert file.read_text() == "| a | s |\n| ---: | --- |\n| 1 | x |\n| 2 |  |\n"


def test_copy_by_columns(dock: xd.Dock, tmp_path: Path) -> None:
    dock.register("t", pa.table({"a": [1, 2, 3], "k": ["x", "y", "x"]}))
    folder = tmp_path / "parts"
    dock.sql(f"copy t to '{folder}' (format parquet, partition_by (K))")
    assert sorted(path.name for path in folder.iterdir()) == ["k=x", "k=y"]
    result = dock.sql(f"select k, sum(a) from read_parquet('{folder}') group by k order by k")
    assert rows(result) == [("x", 4), ("y", 2)]
    with pytest.raises(xd.PathError):
        dock.sql(f"copy t to '{folder}' (partition_by k)")
    dock.sql(f"copy (select * from t where a = 1) to '{folder}' (partition_by k, overwrite)")
    with pytest.raises(xd.ColumnError):
        dock.sql(f"copy t to '{tmp_path / 'other'}' (partition_by nope)")


def test_copy_replaces_no_input(dock: xd.Dock, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), file)
    with pytest.raises(xd.PathError, match="input"):
        dock.sql(f"copy (select a from '{file}') to '{file}'")
    dock.sql(f"copy (select a from '{file}' where a > 1) to '{file}' (overwrite)")
    assert rows(dock.read_parquet(str(file))) == [(2,)]


def test_describe_summarize_and_show(dock: xd.Dock) -> None:
    dock.register("t", pa.table({"a": [1, 2, None], "s": ["x", "y", "y"]}))
    described = dock.sql("describe t").collect().to_pylist()
    assert [(row["column_name"], row["column_type"]) for row in described] == [
        ("a", "BIGINT"),
        ("s", "VARCHAR"),
    ]
    described = dock.sql("describe select a + 1.5 as x from t").collect()
    assert described.column("column_name").to_pylist() == ["x"]
    summary = {row["column_name"]: row for row in dock.sql("summarize t").collect().to_pylist()}
    assert (summary["a"]["min"], summary["a"]["max"], summary["a"]["avg"]) == ("1", "2", 1.5)
    assert summary["a"]["null_percentage"] == pytest.approx(100 / 3)
    assert (summary["s"]["approx_unique"], summary["s"]["count"]) == (2, 3)
    assert rows(dock.sql("show tables")) == [("t",)]


def test_explain(dock: xd.Dock) -> None:
    dock.register("t", pa.table({"a": [1, 2, 3]}))
    plan = "\n".join(dock.sql("explain select a from t where a > 1").collect()["plan"].to_pylist())
    assert "filter a > 1" in plan
    assert "a > 1" in plan
    ran = dock.sql("explain analyze select a, count(*) from t group by a").collect()["plan"]
    assert any("group_by" in line for line in ran.to_pylist())


def test_settings(dock: xd.Dock) -> None:
    dock.register("t", pa.table({"a": [2, None, 1]}))
    assert rows(dock.sql("select a from t order by a")) == [(1,), (2,), (None,)]
    dock.sql("set default_null_order = nulls_first")
    assert rows(dock.sql("select a from t order by a")) == [(None,), (1,), (2,)]
    assert rows(dock.sql("show default_null_order")) == [("nulls_first",)]
    dock.register("shown", pa.table({"a": [1]}))
    assert rows(dock.sql("show shown")) == [("a", "BIGINT", "YES")]
    dock.sql("reset default_null_order; set join_order to 'as_written'")
    assert rows(dock.sql("show all")) == [
        ("default_null_order", "nulls_last"),
        ("join_order", "as_written"),
        ("seed", "drawn"),
    ]
    dock.sql("set seed = 7")
    assert rows(dock.sql("show seed")) == [("7",)]
    with pytest.raises(xd.OptionError, match="seed='some'"):
        dock.sql("set seed = some")


def test_several_statements(dock: xd.Dock) -> None:
    first, second = "create view a as select 1 as x", "create view b as select x + 1 as y from a"
    result = dock.sql(f"{first}; {second}; from b;")
    assert rows(result) == [(2,)]


def test_the_default_dock() -> None:
    numbers = pa.table({"a": [1, 2, 3]})
    assert xd.sql("select sum(a) from numbers").collect()[0][0].as_py() == 6
    xd.register("xd_numbers", numbers)
    assert xd.sql("select count(*) from xd_numbers where a > ?", [1]).collect()[0][0].as_py() == 2
    assert xd.from_arrow(numbers).count() == 3
    xd.default_dock().close()
    assert xd.sql("select 1 as x").count() == 1


def test_a_closed_dock_refuses(dock: xd.Dock) -> None:
    dock.close()
    with pytest.raises(xd.ClosedError):
        dock.sql("select 1")


def test_nothing_is_read_while_a_text_is_bound(dock: xd.Dock, tmp_path: Path) -> None:
    """A file whose rows cannot be read binds: only its footer is looked at."""
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), file, compression="none")
    content = bytearray(file.read_bytes())
    content[4:400] = b"\xff" * 396
    file.write_bytes(bytes(content))
    relation = dock.sql(f"select sum(a) from '{file}'")
    assert relation.columns == ["sum(a)"]
    with pytest.raises(xd.DataError):
        relation.collect()


def test_variables_that_are_no_tables_are_named(dock: xd.Dock) -> None:
    lazy, numbers = pl.LazyFrame({"a": [1]}), [1, 2]
    with xd.connect(ranks="off") as another:
        foreign = another.from_arrow(pa.table({"a": [1]}))
        for name, advice in [
            (
                "lazy",
                r"\.collect\(\) on it first: the variable 'lazy' is of type polars\.",
            ),
            ("numbers", r"pyarrow\..*: the variable 'numbers' is of type list"),
            ("foreign", r"one xd\.connect\(\): the relation 'foreign' belongs to another dock"),
            ("xd", r"dock\.register"),
        ]:
            with pytest.raises(xd.SqlError, match=rf"no table '{name}'(.*\n)*  try +{advice}"):
                dock.sql(f"select * from {name}")
        assert foreign.count() == lazy.collect().height == len(numbers) - 1


def test_a_subquery_of_several_rows_is_an_error_of_the_run(dock: xd.Dock) -> None:
    dock.register("t", pa.table({"a": [1, 2], "b": [3, 3]}))
    correlated = "select (select x.a from t x where x.a > 0 and x.b = t.b) from t"
    for text in ("select (select a from t)", correlated):
        with pytest.raises(
            xd.ExpressionError, match=r"^\[CD-304\] more than one row of a subquery(.*\n)*.*LIMIT 1"
        ):
            dock.sql(text).collect()
    text = "select (select a from t where a = 2), (select a from t where a > 5)"
    assert rows(dock.sql(text)) == [(2, None)]


def test_lists_are_unnested_beside_columns_of_any_layout(dock: xd.Dock) -> None:
    lists = pa.array([["a", "b"], [], ["c"]], pa.list_(pa.string()))
    names = pa.array(["x", "y", "z"], pa.string_view())
    dock.register("t", pa.table({"k": names, "l": lists}))
    assert rows(dock.sql("select k, x from t, unnest(l) as w(x)")) == [
        ("x", "a"),
        ("x", "b"),
        ("z", "c"),
    ]
    result = dock.sql("select k, unnest(string_split(k || ',1', ',')) as x from t")
    assert [row[1] for row in rows(result)] == ["x", "1", "y", "1", "z", "1"]


def test_options_of_csv_as_duckdb_calls_them(tmp_path: Path, dock: xd.Dock) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("01,x\n+2,y\n")
    both = f"read_csv('{path}', header=false, columns={{'n': 'VARCHAR', 's': 'VARCHAR'}})"
    assert_same_rows(dock, f"select * from {both}")
    all_strings = f"read_csv('{path}', header=false, all_varchar=true)"
    assert dock.sql(f"select * from {all_strings}").collect()["column0"].to_pylist() == ["01", "+2"]


@pytest.mark.parametrize("options", ["(DELIMITER ';')", "(HEADER false, SEP '|')", "(delim '\\t')"])
def test_copy_to_csv(tmp_path: Path, dock: xd.Dock, options: str) -> None:
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    query = "(select 1 as a, 2.5::double as b)"
    dock.sql(f"copy {query} to '{ours}' {options}")
    duckdb.sql(f"copy {query} to '{theirs}' {options}")
    assert ours.read_text().replace('"', "") == theirs.read_text()


def test_files_like_a_pattern(tmp_path: Path, dock: xd.Dock) -> None:
    for name in ("b.csv", "a.csv", "c.txt"):
        (tmp_path / name).write_text("x\n1\n")
    assert_same_rows(dock, f"select file from glob('{tmp_path}/*.csv')")
    with pytest.raises(xd.PathError):
        dock.sql(f"from glob('{tmp_path}/*.json')")
    with pytest.raises(xd.SqlError, match="one pattern"):
        dock.sql("from glob(1)")


def test_copy_options_of_other_files(tmp_path: Path, dock: xd.Dock) -> None:
    with pytest.raises(xd.SqlError, match="DELIMITER of other files than CSV"):
        dock.sql(f"copy (select 1 as a) to '{tmp_path / 'x.parquet'}' (delimiter ';')")
    with pytest.raises(xd.OptionError, match="no single character"):
        dock.sql(f"copy (select 1 as a) to '{tmp_path / 'x.csv'}' (delimiter ';;')")
    with pytest.raises(xd.OptionError, match="is an option of CSV, not of parquet"):
        dock.sql("select 1 as a").write(tmp_path / "x.parquet", delimiter=";")


def assert_same_rows(dock: xd.Dock, text: str) -> None:
    ours = [tuple(row.values()) for row in dock.sql(text).collect().to_pylist()]
    assert ours == duckdb.sql(text).fetchall()


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("select x.*, y.* from u x join u y using (k)", ["k", "v", "k_1", "v_1"]),
        ("select *, v + 1 as V from u", ["k", "V", "V_1"]),
        ("select v as a, k as a from u", ["a", "a_1"]),
        ("select min(columns(*)), columns('v') from u group by v", ["min(k)", "min(v)", "v"]),
        ("select * rename (v as w) from u", ["k", "w"]),
        ("select * from u positional join (select v as z from u) b", ["k", "v", "z"]),
        ("select a.* from u a asof join u b on a.k = b.k and a.v >= b.v", ["k", "v"]),
        ("select * from (pivot u on k using sum(v)) p", ["1", "2"]),
    ],
)
def test_names_of_columns_that_are_given_twice(
    text: str, columns: list[str], dock: xd.Dock
) -> None:
    dock.register("u", pa.table({"k": [1, 2], "v": [3, 4]}))
    result = dock.sql(text)
    assert result.columns == columns
    assert result.collect().num_columns == len(columns)


def test_a_sample_keeps_its_seed(dock: xd.Dock) -> None:
    dock.register("numbers", pa.table({"n": range(10_000)}))
    text = "select n from numbers tablesample 10% repeatable (7)"
    first = rows(dock.sql(text))
    assert 800 < len(first) < 1200
    assert rows(dock.sql(text)) == first
    assert rows(dock.sql("select n from numbers tablesample bernoulli(10%)")) != first


def test_parameters_beside_columns_that_are_looked_up(dock: xd.Dock) -> None:
    dock.register("u", pa.table({"k": [1, 2], "v": [3, 4]}))
    text = "select columns(*) from (select * from u where v > $least)"
    assert rows(dock.sql(text, {"least": 3})) == [(2, 4)]
    assert rows(dock.sql("select columns('k') from u where v > ?", [3])) == [(2,)]
    with pytest.raises(xd.SqlError, match="looked up"):
        dock.sql("select columns(*) from (select * from u where v > ?)", [3])


def test_copy_under_any_name(tmp_path: Path, dock: xd.Dock) -> None:
    for form, reader in (("csv", "read_csv"), ("jsonl", "read_json"), ("feather", "read_ipc"),
                         ("parquet", "read_parquet")):  # fmt: skip
        path = tmp_path / f"{form}.txt"
        dock.sql(f"copy (select 1 as a, 'x' as b) to '{path}' (format {form})")
        rows = getattr(dock, reader)(path).collect().to_pylist()
        assert rows == [{"a": 1, "b": "x"}]
    dock.sql(f"copy (select 1 as a) to '{tmp_path / 't.data'}' (format md)")
    assert (tmp_path / "t.data").read_text().splitlines()[0] == "| a |"


def test_tables_have_columns_of_any_layout_of_lists() -> None:
    pairs = pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))
    views = pa.array([[1], None], pa.list_view(pa.int64()))
    rows = pa.table({"id": [1, 2], "pair": pairs, "view": views})
    relation = xd.from_arrow(rows)
    assert relation.filter("id > 1").collect().to_pylist() == rows.slice(1).to_pylist()
    shown = xd.sql("select pair[2] as y, list_sum(pair) as s from rows order by id").collect()
    assert shown.to_pylist() == [{"y": 2.0, "s": 3.0}, {"y": None, "s": None}]
