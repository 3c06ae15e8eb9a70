"""Ranges of files that lie elsewhere: several at once, each tried a few times, in threads that
no query waits for when they hang."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from crossdock._native import RangeRequest
from crossdock.files.far_files import FarFile
from crossdock.files.tries import tried

_THREADS_MOST = 8
_WHOLE_BYTES_MOST = 256 << 20


class RangeReads:
    """Reads ranges of some files. Thread-safe."""

    def __init__(self, files: Sequence[FarFile]) -> None:
        self._readers = [_reader_of(file) for file in files]
        self._waiting: deque[tuple[int, RangeRequest]] = deque()
        self._lock = threading.Lock()
        self._running: dict[int, RangeRequest | None] = {}  # by number of the thread: what it reads
        self._numbers = itertools.count()

    def ask(self, file: int, request: RangeRequest) -> None:
        """Begins to read a range of a file, by its number."""
        with self._lock:
            self._waiting.append((file, request))
            # A thread that hangs in a read that no query waits for any more counts no longer.
            busy = sum(one is None or one.is_wanted for one in self._running.values())
            if busy >= _THREADS_MOST:
                return
            number = next(self._numbers)
            self._running[number] = None
        threading.Thread(
            target=self._serve, args=(number,), name="crossdock ranges", daemon=True
        ).start()

    def tail(self, file: int, size: int, length: int) -> bytes:
        """The last bytes of a file. Raises what its file system raises."""
        length = min(size, length)
        return _range(self._readers[file], size - length, length)

    def _serve(self, number: int) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    del self._running[number]
                    return
                file, request = self._waiting.popleft()
                self._running[number] = request
            if request.is_wanted:
                _answer(self._readers[file], request)
            del request  # its range may be freed


class _ArrowRanges:
    """Of a file that pyarrow opens."""

    def __init__(self, file: FarFile) -> None:
        self._file, self._lock, self._opened = file, threading.Lock(), None

    def read(self, offset: int, length: int) -> bytes:
        with self._lock:
            if self._opened is None:
                self._opened = self._file.system.open_input_file(self._file.path)
            opened: Any = self._opened
        return bytes(opened.read_at(length, offset))


class _FsspecRanges:
    """Of a file of fsspec. A server that answers with the whole file is asked once."""

    def __init__(self, file: FarFile) -> None:
        self._system, self._path = file.fsspec, file.path
        self._whole: bytes | None = None

    def read(self, offset: int, length: int) -> bytes:
        data = self._whole
        if data is None:
            data = self._system.cat_file(self._path, start=offset, end=offset + length)
            if len(data) <= length:
                return bytes(data)
            if len(data) > _WHOLE_BYTES_MOST:
                raise PermissionError(
                    f"its server gives no ranges, and the file has more than "
                    f"{_WHOLE_BYTES_MOST >> 20} MiB: copy it first"
                )
            self._whole = data
        return data[offset : offset + length]


def _reader_of(file: FarFile) -> _ArrowRanges | _FsspecRanges:
    return _ArrowRanges(file) if file.fsspec is None else _FsspecRanges(file)


def _answer(reader: _ArrowRanges | _FsspecRanges, request: RangeRequest) -> None:
    try:
        request.deliver(_range(reader, request.offset, request.bytes, lambda: request.is_wanted))
    except BaseException as error:  # noqa: BLE001 - who waits for the range raises it
        text = (str(error).splitlines() or [""])[0]
        request.fail(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _range(
    reader: _ArrowRanges | _FsspecRanges,
    offset: int,
    length: int,
    goes_on: Callable[[], bool] = lambda: True,
) -> bytes:
    """A range, tried again where the fault may pass. Raises the last error."""

    def read() -> bytes:
        data = reader.read(offset, length)
        if len(data) != length:
            raise OSError(f"{len(data)} bytes came")
        return data

    return tried(read, goes_on)
