"""Arrow data that break their format end in an error, whatever reads them."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.ranks.shares import plain_table
from crossdock.values.validation import require_valid


def packed(form: str, *values: int) -> pa.Buffer:
    return pa.py_buffer(struct.pack(f"<{len(values)}{form}", *values))


def view(length: int, buffer: int, offset: int) -> pa.Array:
    item = struct.pack("<i4sii", length, b"abcd", buffer, offset)
    return pa.Array.from_buffers(
        pa.string_view(), 1, [None, pa.py_buffer(item), pa.py_buffer(b"abcd")]
    )


BAD: dict[str, pa.Array] = {
    "offset": pa.Array.from_buffers(
        pa.string(), 3, [None, packed("i", 0, 1_000_000_000, 2, 3), pa.py_buffer(b"abc")]
    ),
    "large offset": pa.Array.from_buffers(
        pa.large_string(), 2, [None, packed("q", 0, 1 << 40, 2), pa.py_buffer(b"abc")]
    ),
    "view": view(100, 0, 1 << 30),
    "view's buffer": view(100, 7, 0),
    "index": pa.DictionaryArray.from_arrays(
        pa.array([0, 1 << 20], pa.int32()), pa.array(["a"]), safe=False
    ),
    "list": pa.Array.from_buffers(
        pa.list_(pa.int8()), 2, [None, packed("i", 0, 1 << 20, 1)],
        children=[pa.array([1], pa.int8())],
    ),
}  # fmt: skip
WAYS: dict[str, Callable[[xd.Relation], object]] = {
    "filter on another column": lambda rows: rows.filter(xd.col("i") >= 0).collect(),
    "count": lambda rows: rows.filter(xd.col("x").is_null()).count(),
    "collect": lambda rows: rows.collect(),
    "computed": lambda rows: rows.select(y=xd.col("x").is_null()).collect(),
    "show": lambda rows: rows.show(),
    "stream": lambda rows: list(rows.to_batches()),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("place", ["table", "stream"])
def test_bad_arrays(dock: xd.Dock, name: str, way: str, place: str) -> None:
    table = pa.table({"i": range(len(BAD[name])), "x": BAD[name]})
    relation = dock.from_arrow(table if place == "table" else table.to_reader())
    with pytest.raises(xd.DataError, match=r"CD-301\] column 'x' of pyarrow.* breaks the Arrow"):
        WAYS[way](relation)


@pytest.mark.parametrize("name", BAD)
def test_bad_arrays_of_a_rank(name: str) -> None:
    """Dictionaries are decoded before they travel."""
    with pytest.raises(xd.DataError, match=r"CD-301\] column 'x' of the rows of this rank"):
        plain_table(pa.table({"x": BAD[name]}))


def test_good_arrays_pass() -> None:
    strings = pa.array(["a", "bb", None, "c"] * 10).slice(3, 5)
    table = pa.table(
        {
            "string": strings,
            "dictionary": strings.dictionary_encode(),
            "view": strings.cast(pa.string_view()),
            "list": pa.array([["a"], None, [], ["b", None], ["c"]]),
            "json": pa.array(["1"] * 5, pa.json_()),
            "null": pa.nulls(5),
        }
    )
    require_valid(table, "a table")
    require_valid(table.slice(2, 0), "a table")
    not_utf8 = pa.Array.from_buffers(
        pa.string(), 1, [None, packed("i", 0, 1), pa.py_buffer(b"\xff")]
    )
    require_valid(pa.table({"x": not_utf8}), "a table")


READ_FLIPPED = """
import sys
import crossdock as xd
dock = xd.connect(threads=2, memory="256MiB", ranks="off")
for name in sys.argv[1:]:
    for run in (
        lambda rows: rows.filter(xd.col("i") > 500).collect(),
        lambda rows: rows.filter(xd.col("s") == "v7").collect(),
        lambda rows: rows.select(u=xd.col("s").upper()).collect(),
        lambda rows: rows.preview(5).text(),
        lambda rows: rows.collect(),
        lambda rows: rows.filter(xd.col("d") == "v3").count(),
    ):
        try:
            run(dock.read(name))
        except xd.CrossdockError:
            pass
print("done")
"""


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_files_with_flipped_bytes_crash_nothing(tmp_path: Path, compression: str | None) -> None:
    rows = 1000
    strings = pa.array([f"v{i % 97}" for i in range(rows)])
    table = pa.table({"i": range(rows), "s": strings, "d": strings.dictionary_encode()})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(str(tmp_path / "good.arrow"), table.schema, options=options) as writer:
        writer.write_table(table, 250)
    good = (tmp_path / "good.arrow").read_bytes()
    draw = random.Random(7)
    names = []
    for number in range(120):
        bad = bytearray(good)
        for _ in range(draw.choice((1, 4, 16))):
            bad[draw.randrange(8, len(bad))] = draw.randrange(256)
        names.append(str(tmp_path / f"{number}.arrow"))
        Path(names[-1]).write_bytes(bad)
    ended = subprocess.run(
        [sys.executable, "-c", READ_FLIPPED, *names], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
