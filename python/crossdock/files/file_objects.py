"""Bytes in memory and open files of Python as files that are read like others. Imported where there
are such."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as file_systems

from crossdock.errors import make_error
from crossdock.files.far_files import FarFile

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo


class _Shared(io.RawIOBase):
    """A file of Python from its begin, also where another reader of it is at another place."""

    def __init__(self, file: Any, lock: threading.Lock) -> None:
        self._file, self._lock, self._at = file, lock, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._lock:
            if whence == io.SEEK_END:
                self._at = self._file.seek(offset, io.SEEK_END)
            else:
                self._at = offset + (self._at if whence == io.SEEK_CUR else 0)
        return self._at

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            self._file.seek(self._at)
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def file_of_object(item: Any) -> str:
    """Bytes, a buffer or an open file of Python as a file. OptionError for what is none of them,
    or text."""
    if isinstance(item, bytes | bytearray | memoryview | pa.Buffer):
        return _file_of(type(item).__name__, pa.py_buffer(item))
    if isinstance(item, io.BytesIO):
        return _file_of("BytesIO", pa.py_buffer(item.getvalue()))
    path = getattr(item, "name", None)
    if isinstance(item, io.TextIOBase) or not callable(getattr(item, "read", None)):
        raise make_error(
            "CD-105",
            f"a path is a str or a pathlib.Path, or bytes or a file that is open for them, not "
            f"{_shortened(item)}",
            try_='open(path, "rb")' if isinstance(item, io.TextIOBase) else "from_arrow(...)",
        )
    if isinstance(path, str) and _is_local(item, path):
        return str(Path(path).absolute())
    name = path if isinstance(path, str) else type(item).__name__
    can_seek = getattr(item, "seekable", None)
    if can_seek is None or not can_seek():
        return _file_of(name, pa.py_buffer(item.read()))
    return _file_of(name, item)


def _shortened(item: object) -> str:
    text = repr(item)
    return text if len(text) <= 80 else f"an object of type {type(item).__name__}"


def _is_local(item: Any, path: str) -> bool:
    """Whether it is a file that its name leads to, too: that one is read, at full speed."""
    if not isinstance(item, io.BufferedReader | io.FileIO):
        return False
    try:
        return os.path.samestat(os.fstat(item.fileno()), os.stat(path))  # noqa: PTH116
    except OSError:
        return False


def _file_of(name: str, content: Any) -> FarFile:
    return FarFile(name, file_systems.PyFileSystem(OneFile(name, content)), name)


class OneFile(file_systems.FileSystemHandler):  # type: ignore[misc]
    """A file system with one file, which is in memory or one of Python."""

    def __init__(self, name: str, content: Any) -> None:
        self._name, self._content = name, content
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return OneFile, (self._name, self._content)

    def get_type_name(self) -> str:
        return "crossdock"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Iterable[str]) -> list[FileInfo]:
        return [self._about(path) for path in paths]

    def get_file_info_selector(self, selector: Any) -> Iterator[Any]:
        return iter(())

    def _about(self, path: str) -> FileInfo:
        if path != self._name:
            return file_systems.FileInfo(path, file_systems.FileType.NotFound)
        with self.open_input_file(path) as file:
            return file_systems.FileInfo(path, file_systems.FileType.File, size=file.size())

    def open_input_file(self, path: str) -> pa.NativeFile:
        if isinstance(self._content, pa.Buffer):
            return pa.BufferReader(self._content)
        return pa.PythonFile(_Shared(self._content, self._lock), mode="r")

    open_input_stream = open_input_file

    def _refused(self, *_: Any, **__: Any) -> None:
        raise OSError(f"{self._name!r} is only read")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refused
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refused
