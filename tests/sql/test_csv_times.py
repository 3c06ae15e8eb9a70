"""`dateformat` and `timestampformat` of read_csv give the columns that DuckDB gives."""

from __future__ import annotations

from pathlib import Path

import crossdock as xd
import duckdb
import pytest

from .conftest import rows_of

CSV = """d,s,i,ts
31/01/2024,x,7,03.02.2024 10:11
01/02/2024,,8,
,30/01/2024,9,29.02.2024 23:59
"""
OPTIONS = (
    "dateformat='%d/%m/%Y'",
    "dateformat='%d/%m/%Y', timestampformat='%d.%m.%Y %H:%M'",
    "types={'d': 'DATE'}, dateformat='%d/%m/%Y'",
    "types={'ts': 'TIMESTAMP', 'd': 'VARCHAR'}, timestampformat='%d.%m.%Y %H:%M'",
    "types={'d': 'VARCHAR'}, dateformat='%d/%m/%Y'",
    "dateformat='%m/%d/%Y'",
    "dateformat='%d/%m/%Y', all_varchar=true",
    "columns={'d': 'DATE', 's': 'VARCHAR', 'i': 'BIGINT', 'ts': 'VARCHAR'}, dateformat='%d/%m/%Y'",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("times") / "times.csv"
    path.write_text(CSV)
    return path


@pytest.mark.parametrize("options", OPTIONS)
def test_columns_are_those_of_duckdb(
    options: str, file: Path, dock: xd.Dock, oracle: duckdb.DuckDBPyConnection
) -> None:
    text = f"select * from read_csv('{file}', {options}) order by i"
    ours, theirs = dock.sql(text).collect(), oracle.sql(text).to_arrow_table()
    assert rows_of(ours) == rows_of(theirs)
    assert [str(t)[:4] for t in ours.schema.types[::3]] == [
        str(t)[:4] for t in theirs.schema.types[::3]
    ]


def test_a_value_of_another_format_is_an_error(file: Path, dock: xd.Dock) -> None:
    text = f"select d from read_csv('{file}', types={{'d': 'DATE'}}, dateformat='%m/%d/%Y')"
    with pytest.raises(xd.CrossdockError, match="no instant in this format"):
        dock.sql(text).collect()
    with pytest.raises(xd.CrossdockError, match="%Q"):
        dock.sql(f"from read_csv('{file}', dateformat='%Q')")
