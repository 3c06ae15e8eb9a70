"""File systems of fsspec as those of pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as file_systems

from crossdock.files.tries import tried

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class TriedHandler(file_systems.FSSpecHandler):  # type: ignore[misc]
    """Of which each read is tried again where that may help."""

    def __init__(self, fs: AbstractFileSystem) -> None:
        super().__init__(fs)

    def get_file_info(self, paths: list[str]) -> list[file_systems.FileInfo]:
        return tried(lambda: super(TriedHandler, self).get_file_info(paths))

    def get_file_info_selector(
        self, selector: file_systems.FileSelector
    ) -> list[file_systems.FileInfo]:
        return tried(lambda: super(TriedHandler, self).get_file_info_selector(selector))

    def open_input_stream(self, path: str) -> pa.PythonFile:
        return pa.PythonFile(_TriedFile(tried(lambda: self.fs.open(path, mode="rb"))), mode="r")

    open_input_file = open_input_stream


class _TriedFile:
    """A file of fsspec. Where its server gives no ranges it cannot be read from a place again."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._has_ranges = bool(getattr(file, "blocksize", 0))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        return tried(lambda: bytes(self._file.read(size)), lambda: self._has_ranges)
