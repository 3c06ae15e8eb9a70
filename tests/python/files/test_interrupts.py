"""Ctrl-C and the close of a stream while files are read that never come to an end: nothing waits
for them, whichever package reads them."""

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
NESTED = pa.table({"k": range(ROWS), "l": [[n] for n in range(ROWS)]})


class Reads:
    """Once they are held up, they wait until the test ends, which does not wait for them."""

    def __init__(self) -> None:
        self.waiting = 0
        self._lock = threading.Lock()
        self._go_on = threading.Event()
        self._go_on.set()

    def hold_up(self) -> None:
        self._go_on.clear()

    def release(self) -> None:
        self._go_on.set()

    def wait(self) -> None:
        with self._lock:
            self.waiting += 1
        self._go_on.wait(60)
        with self._lock:
            self.waiting -= 1


@pytest.fixture
def reads() -> Iterator[Reads]:
    result = Reads()
    yield result
    result.release()


class SlowFile(io.FileIO):
    def __init__(self, path: str, reads: Reads) -> None:
        super().__init__(path)
        self._reads = reads

    def readinto(self, buffer: Any) -> int:
        self._reads.wait()
        return super().readinto(buffer)

    def read(self, size: int = -1) -> bytes:
        self._reads.wait()
        return super().read(size)


class SlowFiles(local.LocalFileSystem):  # type: ignore[misc]
    cachable = False

    def __init__(self, reads: Reads) -> None:
        super().__init__()
        self._reads = reads

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> Any:
        return SlowFile(path, self._reads)


def written(folder: Path, kind: str) -> Path:
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(NESTED, path, row_group_size=2000, compression="none", use_dictionary=False)
    elif kind == "csv":
        pyarrow.csv.write_csv(NESTED.select(["k"]).append_column("s", pa.array(["ä"] * ROWS)), path)
    else:
        path.write_text("".join(f'{{"k": {n}, "s": "a string {n}"}}\n' for n in range(ROWS)))
    return path


def interrupt_once_it_waits(reads: Reads) -> None:
    def interrupt() -> None:
        while reads.waiting == 0:
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()


@pytest.mark.parametrize("kind", ["parquet", "csv", "ndjson"])
@pytest.mark.parametrize("form", ["collect", "group", "stream"])
def test_ctrl_c_while_files_are_read(
    dock: xd.Dock, tmp_path: Path, reads: Reads, kind: str, form: str
) -> None:
    rows = dock.read(str(written(tmp_path, kind)), filesystem=SlowFiles(reads))
    runs = {
        "collect": lambda: rows.collect(),
        "group": lambda: rows.group_by("k").agg(n=xd.count()).collect(),
        "stream": lambda: [batch.num_rows for batch in rows.to_batches()],
    }
    reads.hold_up()
    interrupt_once_it_waits(reads)
    with pytest.raises(KeyboardInterrupt):
        runs[form]()
    assert reads.waiting > 0


def test_a_stream_is_closed(dock: xd.Dock, tmp_path: Path, reads: Reads) -> None:
    rows = dock.read(str(written(tmp_path, "parquet")), filesystem=SlowFiles(reads))
    batches = iter(rows.to_batches())
    next(batches)
    reads.hold_up()
    batches.close()  # type: ignore[attr-defined]
    assert dock.progress() is None
