"""Pages and dictionaries of Parquet that the engine decompresses together."""

from __future__ import annotations

import random
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from crossdock import col


def test_dictionaries_of_neighbours(tmp_path: Path, dock: xd.Dock) -> None:
    """Dictionaries of some row groups are decompressed together. A fault of one is an error where
    its rows are asked for, and nothing where they are not."""
    groups, each = 40, 12_000
    draw = random.Random(3)
    rows = pa.table(
        {
            "group": pa.array([row // each for row in range(groups * each)], pa.int32()),
            "n": pa.array([draw.randrange(2**40) for _ in range(groups * each)], pa.int64()),
            "text": pa.array([f"text {draw.randrange(10**6)}" for _ in range(groups * each)]),
            "few": pa.array([row % 97 for row in range(groups * each)], pa.int32()),
        }
    )
    path, damaged = tmp_path / "rows.parquet", tmp_path / "damaged.parquet"
    pq.write_table(rows, path, row_group_size=each, compression="snappy")
    assert xd.connect(threads=1).read_parquet(path).collect().equals(rows)
    whole = bytearray(path.read_bytes())
    chunk = pq.read_metadata(path).row_group(21).column(1)
    body = chunk.dictionary_page_offset + 200
    whole[body : body + 5000] = bytes(5000)
    damaged.write_bytes(whole)
    files = dock.read_parquet(damaged)
    others = files.filter(col("group") != 21).agg(n=xd.sum("n")).collect()["n"]
    expected = rows.filter(pc.not_equal(rows["group"], 21))["n"]
    assert others.to_pylist() == [pc.sum(expected).as_py()]
    with pytest.raises(xd.DataError, match="does not decompress"):
        files.agg(n=xd.sum("n")).collect()
    # Few rows are read page by page: of all row groups, of every other one, of all but one.
    few = pc.equal(rows["few"], 5)
    mixed = pc.or_(few, pc.equal(pc.bit_wise_and(rows["group"], 1), 1))
    beside = pc.and_(few, pc.not_equal(rows["group"], 21))
    for source, condition, kept in (
        (dock.read_parquet(path), "few = 5", few),
        (dock.read_parquet(path), 'few = 5 or "group" % 2 = 1', mixed),
        (files, 'few = 5 and "group" <> 21', beside),
    ):
        picked = source.filter(condition).select("n", "text").collect()
        assert picked.equals(rows.filter(kept).select(["n", "text"]))
    with pytest.raises(xd.DataError, match="does not decompress"):
        files.filter("few = 5").select("n").collect()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_large_pages_of_a_chunk(tmp_path: Path, dock: xd.Dock, version: str) -> None:
    """Some pages behind each other are decompressed together. A fault of one is an error where its
    rows are asked for, and nothing where they are not."""
    draw = random.Random(4)
    rows = pa.table(
        {
            "at": range(90_000),
            "n": [draw.randrange(2**40) if draw.random() < 0.9 else None for _ in range(90_000)],
            "text": [f"text {draw.randrange(10**6)} of many" for _ in range(90_000)],
        }
    )
    path, damaged = tmp_path / "rows.parquet", tmp_path / "damaged.parquet"
    pq.write_table(
        rows, path, compression="snappy", use_dictionary=False, data_page_size=100_000,
        data_page_version=version,
    )  # fmt: skip
    assert dock.read_parquet(path).collect().equals(rows)
    for condition in ("at < 70000", "at % 7 = 1", "at % 40 = 1", "at > 30000 and at < 31000"):
        kept = dock.read_parquet(path).filter(condition).collect()
        assert kept.equals(dock.from_arrow(rows).filter(condition).collect())
    whole = bytearray(path.read_bytes())
    chunk = pq.read_metadata(path).row_group(0).column(1)
    last = chunk.data_page_offset + chunk.total_compressed_size - 20_000
    whole[last : last + 5000] = b"\xff" * 5000
    damaged.write_bytes(whole)
    files = dock.read_parquet(damaged)
    before = files.filter("at < 20000").select("n").collect()["n"]
    assert before.to_pylist() == rows["n"][:20_000].to_pylist()
    with pytest.raises(xd.DataError, match="does not decompress"):
        files.agg(n=xd.sum("n")).collect()
