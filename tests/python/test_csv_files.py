"""CSV files: encodings, compressions, and texts that are none."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pytest

TEXT = "id,city\n1,Bern\n2,Zürich\n"
ROWS = {"id": [1, 2], "city": ["Bern", "Zürich"]}


def test_texts_that_are_not_utf8(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(
        xd.DataError, match=r"column 'city' of '.*x.csv'(.|\n)*line 3, the byte 0xfc(.|\n)*latin-1"
    ):
        dock.read(path)
    with pytest.raises(xd.DataError, match="not UTF-8"):
        dock.read_csv(path, types={"id": "int32"})
    assert dock.read_csv(path, encoding="latin-1").collect().to_pydict() == ROWS
    assert dock.read_csv(path, types={"city": "binary"}).collect()["city"].to_pylist() == [
        b"Bern", b"Z\xfcrich",
    ]  # fmt: skip
    late = tmp_path / "late.csv"
    late.write_bytes(b"id,city\n" + b"1,Bern\n" * 400_000 + b"2,Z\xfcrich\n")
    with pytest.raises(xd.DataError, match="UTF8"):
        dock.read(late).collect()


@pytest.mark.parametrize("encoding", ["utf-16", "latin1", "cp1252", "utf-8-sig"])
def test_encodings(dock: xd.Dock, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.csv").write_bytes(TEXT.encode(encoding))
    rows = dock.read_csv(tmp_path / "x.csv", encoding=encoding)
    assert rows.collect().to_pydict() == ROWS
    assert rows.filter(xd.col("city") == "Zürich").count() == 1


def test_encodings_that_are_none(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(TEXT)
    with pytest.raises(xd.OptionError, match="encoding='latin-x'"):
        dock.read_csv(tmp_path / "x.csv", encoding="latin-x")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.bz2", "csv.zst"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_compressed_files(dock: xd.Dock, tmp_path: Path, ending: str, encoding: str) -> None:
    path = tmp_path / f"x.{ending}"
    data = TEXT.encode(encoding)
    if ending.endswith("zst"):
        with pa.output_stream(path) as stream:
            stream.write(data)
    else:
        squeeze = {"gz": gzip.compress, "bz2": bz2.compress}.get(ending.rpartition(".")[2], bytes)
        path.write_bytes(squeeze(data))
    rows = dock.read_csv(path, encoding=encoding)
    assert rows.collect().to_pydict() == ROWS
    assert rows.filter(xd.col("id") == 2).collect()["city"].to_pylist() == ["Zürich"]
    if encoding != "utf-8":
        with pytest.raises(xd.DataError, match="not UTF-8"):
            dock.read_csv(path)


def test_a_file_that_is_not_what_it_is_called(dock: xd.Dock, tmp_path: Path) -> None:
    """What pyarrow says of it is no text either."""
    (tmp_path / "x.csv").write_bytes(b"a,b\n\xff\xfe\n1\n")
    (tmp_path / "x.csv.zst").write_bytes(b"a,b\n\xff\xfe\n1\n")
    for name in ("x.csv", "x.csv.zst"):
        with pytest.raises(xd.DataError, match=r"x\.csv"):
            dock.read(tmp_path / name)


def test_a_folder_with_a_compressed_file(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    with pa.output_stream(tmp_path / "b.csv.zst") as stream:
        stream.write(b"id,city\n2.5,Bern\n")
    assert dock.read(tmp_path).collect().to_pydict() == {"id": [1.0, 2.5], "city": [None, "Bern"]}
