"""Writing results: every format, whole files or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest
from crossdock.writers import write_file

TABLE = pa.table(
    {"k": range(1000), "v": pa.array([f"v{i}" for i in range(1000)], pa.string_view())}
)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "csv.gz"])
def test_a_result_comes_back(dock: xd.Dock, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    assert dock.from_arrow(TABLE).write(path) == 1000
    assert dock.read(path).collect().to_pydict() == TABLE.to_pydict()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_parquet_with_a_compression(dock: xd.Dock, tmp_path: Path) -> None:
    dock.from_arrow(TABLE).write_parquet(tmp_path / "x.parquet", compression="snappy")
    column = pyarrow.parquet.ParquetFile(tmp_path / "x.parquet").metadata.row_group(0).column(0)
    assert column.compression == "SNAPPY"


def test_small_batches_become_one_row_group(tmp_path: Path) -> None:
    write_file(TABLE.to_batches(10), TABLE.schema, tmp_path / "x.parquet")
    assert pyarrow.parquet.ParquetFile(tmp_path / "x.parquet").metadata.num_row_groups == 1


def test_an_empty_result_is_a_file(dock: xd.Dock, tmp_path: Path) -> None:
    assert dock.from_arrow(TABLE.slice(0, 0)).write_parquet(tmp_path / "x.parquet") == 0
    assert dock.read(tmp_path / "x.parquet").columns == ["k", "v"]


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches()
        raise KeyboardInterrupt

    (tmp_path / "x.parquet").write_text("the old one")
    with pytest.raises(KeyboardInterrupt):
        write_file(failing(), TABLE.schema, tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").read_text() == "the old one"
    assert len(list(tmp_path.iterdir())) == 1


def test_where_nothing_can_be_written(dock: xd.Dock, tmp_path: Path) -> None:
    relation = dock.from_arrow(TABLE)
    with pytest.raises(xd.PathError, match="no folder"):
        relation.write_parquet(tmp_path / "missing" / "x.parquet")
    with pytest.raises(xd.PathError, match="CD-503"):
        relation.write(tmp_path / "x.xlsx")


def test_what_a_format_cannot_hold(dock: xd.Dock, tmp_path: Path) -> None:
    nested = dock.from_arrow(pa.table({"x": [[1], [2]]}))
    with pytest.raises(xd.PathError, match=r"cannot hold this result(.|\n)*parquet"):
        nested.write(tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []
