"""Integers of CSV and JSON that 64 bits do not hold keep their digits."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.files.csv_files import csv_table

_EXACT = pa.decimal128(38, 0)
_ROWS = """id,hash,mixed,price
1,18446744073709551615,1,0.5
2,,1.5,99999999999999999999
3,-99999999999999999999999999999999999999,12345678901234567890,1
"""
_HASHES = [Decimal(2**64 - 1), None, Decimal(1 - 10**38)]


@pytest.mark.parametrize(
    "options",
    [{}, {"comment": "#"}, {"ragged": "skip"}, {"bad_values": "skip"}, {"escape": "\\"}],
    ids=str,
)
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_integers_of_csv(tmp_path: Path, dock: xd.Dock, name: str, options: dict[str, Any]) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(_ROWS.encode()) if name.endswith("gz") else _ROWS.encode())
    rows = dock.read_csv(path, **options)
    assert rows.schema.types == [pa.int64(), _EXACT, pa.float64(), pa.float64()]
    assert rows.collect()["hash"].to_pylist() == _HASHES
    assert rows.agg(n=xd.max("hash")).collect()["n"].to_pylist() == [_HASHES[0]]
    given = dock.read_csv(path, types={"hash": "double"}, **options)
    assert given.schema.field("hash").type == pa.float64()


def test_integers_of_several_files_and_standard_input(tmp_path: Path, dock: xd.Dock) -> None:
    for name, rows in (("a.csv", "hash\n7\n"), ("b.csv", f"hash\n{2**64}\n")):
        (tmp_path / name).write_text(rows)
    both = dock.read_csv(tmp_path / "*.csv").collect()
    assert both["hash"].to_pylist() == [Decimal(7), Decimal(2**64)]
    assert csv_table(_ROWS.encode(), {})["hash"].to_pylist() == _HASHES
    longer = csv_table(f"hash\n{10**38}\n".encode(), {})  # than any type has digits
    assert longer.schema.types == [pa.float64()]


def test_integers_of_json(tmp_path: Path, dock: xd.Dock) -> None:
    path = tmp_path / "rows.json"
    for content, expected in (
        (f'{{"v": {2**64 - 1}}}\n{{"v": {2**53 + 1}}}\n', [2**64 - 1, 2**53 + 1]),
        (f'[{{"v": null}}, {{"v": {-(2**63) - 1}}}]', [None, -(2**63) - 1]),
    ):
        path.write_text(content)
        rows = dock.read_json(path).collect()
        assert rows.schema.types == [_EXACT]
        assert rows["v"].to_pylist() == expected
    for content in (f'{{"v": {2**64}}}\n{{"v": 1.5}}\n', f'{{"v": 1e3, "w": {2**64}}}\n'):
        path.write_text(content)
        assert dock.read_json(path).schema.field("v").type == pa.float64()
