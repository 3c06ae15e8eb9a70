"""Files that do not lie in a folder of this machine, and how any file is opened, by its name."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa

from crossdock.files.tries import tried
from crossdock.values.streaming import under_way

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from pyarrow.fs import FileInfo, FileSystem

Item = TypeVar("Item")
Result = TypeVar("Result")
FileSystemLike: TypeAlias = "FileSystem | AbstractFileSystem"

_WEB = re.compile(r"https?://")
_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_THREADS_MOST = 8  # that read at the same time


class FarFile(str):
    """The name of a file that lies elsewhere, with the file system that has it. It is a string, so
    that all that only names files takes it for one."""

    system: FileSystem
    path: str  # in the file system

    __slots__ = ("path", "system")

    def __new__(cls, name: str, system: FileSystem, path: str) -> FarFile:
        file_name = super().__new__(cls, name)
        file_name.system = system
        file_name.path = path
        return file_name

    def __reduce__(self) -> tuple[Any, ...]:
        return FarFile, (str(self), self.system, self.path)

    @property
    def fsspec(self) -> Any:
        """The file system of fsspec behind pyarrow's; None where there is none."""
        return getattr(getattr(self.system, "handler", None), "fs", None)


def path_of(name: str) -> str:
    """The name of a file without what stands behind the path of a URL, such as a signature."""
    return name.partition("?")[0] if _WEB.match(name) else name


def place_of(name: str) -> tuple[FileSystem, str]:
    """The pyarrow file system of a file, and its path there."""
    if isinstance(name, FarFile):
        return name.system, name.path
    import pyarrow.fs as file_systems

    return file_systems.LocalFileSystem(), name


def open_stream(name: str) -> pa.NativeFile:
    """A file from its begin, decompressed if its name says so. Raises OSError."""
    return stream_in(name.system, name.path) if isinstance(name, FarFile) else pa.input_stream(name)


def stream_in(system: FileSystem, path: str) -> pa.NativeFile:
    """The same of a path in a file system. (pyarrow tells by the end of a URL, which may be a
    signature.)"""
    codec = next((codec for end, codec in _CODECS.items() if path_of(path).endswith(end)), None)
    return system.open_input_stream(path, compression=codec)


def open_file(name: str) -> pa.NativeFile:
    """A file as it lies, at any place of it. Raises OSError."""
    return name.system.open_input_file(name.path) if isinstance(name, FarFile) else pa.OSFile(name)


def version_of(name: str) -> tuple[Any, ...]:
    """What tells whether a file is still the same. Raises OSError."""
    if not isinstance(name, FarFile):
        status = Path(name).stat()
        return status.st_mtime_ns, status.st_size, status.st_ino
    if name.fsspec is not None:
        known = _known_by_fsspec(name)
        return tuple(str(known.get(key)) for key in ("size", "ETag", "etag", "mtime", "created"))
    about = _about(name)
    return about.mtime_ns, about.size


def size_of(name: str) -> int:
    """Bytes of a file. Raises OSError."""
    if not isinstance(name, FarFile):
        return Path(name).stat().st_size
    size = _known_by_fsspec(name).get("size") if name.fsspec else _about(name).size
    if size is None:
        raise OSError("its server does not say how long it is")
    return int(size)


def of_each_far(items: Sequence[Item], read: Callable[[Item], Result]) -> list[Result]:
    """What `read` gives of each item, several at once. An interrupt ends the wait, not the reads,
    which go on in threads that no read waits for."""
    results: list[Any] = [None] * len(items)
    errors: list[BaseException] = []
    left = iter(range(len(items)))
    lock, done = threading.Lock(), threading.Event()
    running = min(_THREADS_MOST, len(items))

    def work() -> None:
        nonlocal running
        with under_way():
            try:
                while not errors and not done.is_set():
                    with lock:
                        number = next(left, None)
                    if number is None:
                        break
                    results[number] = read(items[number])
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                errors.append(error)
            with lock:
                running -= 1
                if not running or errors:
                    done.set()

    for _ in range(running):
        threading.Thread(target=work, name="crossdock files", daemon=True).start()
    if items:
        try:
            done.wait()
        finally:
            done.set()
            items = ()  # the last to hold what was read must not be a thread that nothing waits for
    if errors:
        raise errors[0]
    return results


def _known_by_fsspec(name: FarFile) -> dict[str, Any]:
    return tried(lambda: dict(name.fsspec.info(name.path)))


def _about(name: FarFile) -> FileInfo:
    import pyarrow.fs as file_systems

    about = name.system.get_file_info(name.path)
    if about.type != file_systems.FileType.File:
        raise FileNotFoundError(f"no file {str(name)!r}")
    return about
