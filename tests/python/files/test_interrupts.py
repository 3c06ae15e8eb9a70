"""Ctrl-C and the close of a stream while files are read that never come to an end: the wait ends at
once, whichever package reads them."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crossdock as xd
import fsspec.implementations.local as local
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

ROWS = 400_000
AT_ONCE_S = 1  # on a machine with other work; idle ones take some hundredths of a second
_BEGIN_BYTES = 1 << 20
NESTED = pa.table({"k": range(ROWS), "l": [[n] for n in range(ROWS)]})


_released = threading.Event()


@pytest.fixture(autouse=True)
def _reads_end() -> Iterator[None]:
    """Reads that no test waits for go on, and end with it."""
    _released.clear()
    yield
    _released.set()


class SlowFile(io.FileIO):
    """Each read takes a while, unless it is of the begin or the end, which tell the schema."""

    def readinto(self, buffer: Any) -> int:
        self._wait()
        return super().readinto(buffer)

    def read(self, size: int = -1) -> bytes:
        self._wait()
        return super().read(size)

    def _wait(self) -> None:
        if _BEGIN_BYTES < self.tell() < os.fstat(self.fileno()).st_size - (64 << 10):
            _released.wait(5)


class SlowFiles(local.LocalFileSystem):  # type: ignore[misc]
    cachable = False

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> Any:
        return SlowFile(path)


def written(folder: Path, kind: str) -> Path:
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(NESTED, path, row_group_size=2000, compression="none", use_dictionary=False)
    elif kind == "csv":
        pyarrow.csv.write_csv(NESTED.select(["k"]).append_column("s", pa.array(["ä"] * ROWS)), path)
    else:
        path.write_text("".join(f'{{"k": {n}, "s": "a string {n}"}}\n' for n in range(ROWS)))
    return path


def interrupted(run: Any, after_s: float = 0.6) -> float:
    """Seconds from Ctrl-C to its end."""
    began = [0.0]

    def interrupt() -> None:
        time.sleep(after_s)
        began[0] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    thread.join()
    return time.perf_counter() - began[0]


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson"])
@pytest.mark.parametrize("form", ["collect", "group", "stream"])
def test_ctrl_c_while_files_are_read(dock: xd.Dock, tmp_path: Path, kind: str, form: str) -> None:
    rows = dock.read(str(written(tmp_path, kind)), filesystem=SlowFiles())
    runs = {
        "collect": lambda: rows.collect(),
        "group": lambda: rows.group_by("k").agg(n=xd.count()).collect(),
        "stream": lambda: [batch.num_rows for batch in rows.to_batches()],
    }
    assert interrupted(runs[form]) < AT_ONCE_S


def test_a_stream_is_closed(dock: xd.Dock, tmp_path: Path) -> None:
    rows = dock.read(str(written(tmp_path, "parquet")))
    batches = iter(rows.to_batches())
    next(batches)
    begin = time.perf_counter()
    batches.close()  # type: ignore[attr-defined]
    assert time.perf_counter() - begin < AT_ONCE_S
