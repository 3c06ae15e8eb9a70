"""What is shown of a query: how much of it runs, and what notebooks and EXPLAIN show."""

from __future__ import annotations

from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MANY = 12_000


@pytest.fixture
def many(dock: xd.Dock) -> xd.Relation:
    return dock.from_arrow(pa.table({"a": range(MANY), "b": [1, 2] * (MANY // 2)}))


def test_first_rows_of_many(many: xd.Relation, capsys: pytest.CaptureFixture[str]) -> None:
    many.show(3)
    assert "12,000 rows (3 shown)" in capsys.readouterr().out
    many.filter("a >= 0").show(3)
    shown = capsys.readouterr().out
    assert "more than 10,000 rows (3 shown)" in shown
    assert shown.count("…") == 0
    many.sort(xd.desc("a")).show(2)
    shown = capsys.readouterr().out
    assert "12,000 rows (2 shown)" in shown
    assert "11998" in shown
    many.limit(10_000).show(3)
    assert "│ 10,000 rows (3 shown)" in capsys.readouterr().out
    many.filter("a >= 0").show(11_999)
    assert "more than 11,999 rows " in capsys.readouterr().out


def test_the_run_ends_behind_the_first_rows(
    dock: xd.Dock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"a": ["1"] * 30_000 + ["x"]})
    rows = dock.from_arrow(table).select(a=xd.col("a").cast("int64"))
    with pytest.raises(xd.ExpressionError):
        rows.preview(3, whole=True)
    rows.show(3)
    assert "30,001 rows (3 shown)" in capsys.readouterr().out


@pytest.mark.parametrize("statement", ["explain", "explain analyze"])
def test_plans_are_shown_whole(
    dock: xd.Dock, many: xd.Relation, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    dock.register("t", many)
    done = dock.sql(f"{statement} select b, sum(a) from t group by b order by b")
    done.show(1)
    lines = done.collect()["plan"].to_pylist()
    assert capsys.readouterr().out == "\n".join(lines) + "\n"
    assert len(lines) > 3
    assert done._repr_html_().count("<pre>") == 1


def test_notebooks_show_cheap_rows(dock: xd.Dock, many: xd.Relation, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["<1>", "<2>"]}), tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("a\n7\n")
    for rows, shown in (
        (dock.read(tmp_path / "x.parquet"), "<td>&lt;1&gt;</td>"),
        (dock.read(tmp_path / "x.csv").select(b="a"), "<td>7</td>"),
        (many.group_by("b").agg(n=xd.count()), "<td>6000</td>"),
        (many, "12,000 rows (10 shown)"),
    ):
        assert shown in rows._repr_html_()
    # How far it is to the first row that a filter of a file keeps is not known.
    assert "not run yet" in dock.read(tmp_path / "x.csv").filter("a > 8")._repr_html_()
    wrong = dock.from_arrow(pa.table({"a": ["x"]})).select(b=xd.col("a").cast("int64"))
    assert "try_cast" in wrong._repr_html_()
