"""Footers of Parquet whose bytes are changed, of files that pyarrow reads: it ends a process that
asks it for statistics of columns that it does not take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = pa.table({"f": pa.array([b"abc", None], pa.binary(3)), "k": [1, 2]})

OPEN_ALL = """
import sys
from pathlib import Path
import crossdock as xd

path = Path(sys.argv[1])
whole = path.read_bytes()
end = len(whole) - 8
begin = end - int.from_bytes(whole[-8:-4], "little")
rows = refused = 0
with xd.connect(threads=1) as dock:
    for place in range(begin, end):
        for value in (whole[place] ^ 1, whole[place] ^ 2, (whole[place] + 1) % 256):
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                rows += dock.read_parquet(path).filter(xd.col("k") > 1).collect().num_rows
            except xd.CrossdockError:
                refused += 1
print(rows > 0, refused > 0)
"""


def test_no_byte_ends_the_process(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(ROWS, path, row_group_size=1, store_schema=False)
    command = [sys.executable, "-c", OPEN_ALL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


@pytest.mark.parametrize("repetition", [0, 3])
def test_levels_that_the_schema_has_not(dock: xd.Dock, tmp_path: Path, repetition: int) -> None:
    """A column that may be NULL, changed into one that may not, or into neither."""
    path = tmp_path / "rows.parquet"
    pq.write_table(ROWS, path, store_schema=False)
    whole = path.read_bytes()
    optional, name = b"\x25\x02", b"\x18\x01k"
    assert whole.count(optional + name) == 1
    path.write_bytes(whole.replace(optional + name, bytes([0x25, 2 * repetition]) + name))
    with pytest.raises(xd.DataError, match=r"other levels|no known repetition"):
        dock.read_parquet(path).filter(xd.col("k") > 1).collect()
