"""Replaces a file or folder by a new one, as a whole or not at all.

What is written has a name of its own beside the target, which cannot be guessed, until it is
renamed. Its writer holds a lock (flock) on it. So writers of one target never share a file, whether
they are threads, processes or containers, and the last to end wins; and a file whose lock is free
was left by a process that was killed: the next writer of the target removes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from crossdock.errors import CrossdockError, make_error
from crossdock.files.paths import PathLike

_BUFFER_BYTES = 1 << 20
_ATTEMPTS = 16
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/(.*)")
_PART = re.compile(r"part-\d{5,}\.[a-z]+")  # the name of a file of a rank, or of a partition
_ACCESS_LIST = "system.posix_acl_access"
_NEXT_STEPS = {
    errno.ENOSPC: "free space, or another disk",
    errno.EDQUOT: "free space, or another disk",
    errno.ENAMETOOLONG: "a shorter name",
}
_unfinished: set[Path] = set()  # of this process


@contextlib.contextmanager
def replacing_file(path: PathLike) -> Iterator[BinaryIO]:
    """A stream into what takes the place of the file `path` when the work inside has succeeded.

    The file is on the disk then (fsync). It has the mode, access list and, where the process may
    give them, owner and group of the file it replaces; of a link, the file it leads to. PathError
    where it cannot be there.
    """
    target = Path(path).expanduser()
    with path_errors(target):
        real = target.resolve()
        # Of a file that few may read the new rows are no more public while they are written.
        with _partial(real, 0o600 if real.exists() else 0o666) as (partial, descriptor):
            with open(descriptor, "wb", buffering=_BUFFER_BYTES, closefd=False) as stream:
                yield stream
            _keep_access(real, descriptor)
            _take_place(partial, real, descriptor)


@contextlib.contextmanager
def replacing_folder(path: PathLike) -> Iterator[Path]:
    """The same for a folder that does not exist or is empty: a folder to write files into."""
    target = Path(path).expanduser()
    with path_errors(target):
        real = target.resolve()
        with _partial(real, None) as (partial, descriptor):
            yield partial
            _take_place(partial, real, descriptor)


@contextlib.contextmanager
def replacing_parts(path: PathLike) -> Iterator[Path]:
    """The same for folders of files in the folder `path`: each takes the place of the one of its
    name when all have been written; others in `path` stay. One is removed before the next one is
    renamed, so that what ends the process between leaves some old and some new ones."""
    target = Path(path).expanduser()
    with path_errors(target):
        real = target.resolve()
        with _partial(real, None) as (partial, descriptor):
            yield partial
            if not real.exists():
                _take_place(partial, real, descriptor)
                return
            for folder in [Path(root) for root, _, files in os.walk(partial) if files]:
                place = real / folder.relative_to(partial)
                place.parent.mkdir(parents=True, exist_ok=True)
                _remove(place)
                folder.replace(place)
                _sync_folder(place.parent)


def remove_unfinished() -> None:
    """Removes what this process has not finished, which it must end after. For signal handlers of
    programs, and other ranks' folders."""
    for partial in list(_unfinished):
        _remove(partial)


@contextlib.contextmanager
def unfinished(partial: Path) -> Iterator[None]:
    """While `partial`, which another process made, is written to by this one too."""
    _unfinished.add(partial)
    try:
        yield
    finally:
        _unfinished.discard(partial)


@contextlib.contextmanager
def path_errors(target: Path) -> Iterator[None]:
    """Turns what the system raises for a file or folder into a PathError."""
    try:
        yield
    except CrossdockError:
        raise
    except OSError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        if error.errno is not None:
            reason = os.strerror(error.errno)  # without the name of the partial file
        raise make_error(
            "CD-502", f"{str(target)!r} cannot be written: {reason}",
            try_=_NEXT_STEPS.get(error.errno or 0, "another folder"),
        ) from error  # fmt: skip


@contextlib.contextmanager
def _partial(real: Path, mode: int | None) -> Iterator[tuple[Path, int]]:
    """A new file of that mode, or folder, beside `real`, locked; it is gone at the end unless it
    was renamed."""
    _remove_stale(real)
    partial, descriptor = _new_partial(real, mode)
    try:
        with unfinished(partial):
            try:
                yield partial, descriptor
            finally:
                _remove(partial)
    finally:
        os.close(descriptor)


def _new_partial(real: Path, mode: int | None) -> tuple[Path, int]:
    for _ in range(_ATTEMPTS):
        partial = real.with_name(f".{secrets.token_hex(8)}.partial.{real.name}")
        try:
            descriptor = _new_folder(partial) if mode is None else _new_file(partial, mode)
        except FileExistsError:
            continue
        with contextlib.suppress(OSError):  # a file system without locks: nothing is stale there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Another writer may have seen it before it was locked, and removed it.
        if partial.exists():
            return partial, descriptor
        os.close(descriptor)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _new_file(partial: Path, mode: int) -> int:
    return os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)


def _new_folder(partial: Path) -> int:
    partial.mkdir()
    return os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _remove_stale(real: Path) -> None:
    name = re.compile(r"\.[0-9a-f]{16}\.partial\." + re.escape(real.name))
    with contextlib.suppress(OSError), os.scandir(real.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                _remove_if_unlocked(Path(entry.path))


def _remove_if_unlocked(partial: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(partial)
        finally:
            os.close(descriptor)


def _remove(partial: Path) -> None:
    if partial.is_dir():
        shutil.rmtree(partial, ignore_errors=True)
    else:
        partial.unlink(missing_ok=True)


def _keep_access(real: Path, descriptor: int) -> None:
    """Gives the new file the owner, mode and access list of the one at `real`, if there is one.
    Where the group cannot be given, the bits that were meant for it are not, either."""
    try:
        old = real.stat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode)
    if not _give(descriptor, old.st_uid, old.st_gid) and not _give(descriptor, -1, old.st_gid):
        os.fchmod(descriptor, mode & ~stat.S_IRWXG)
        return
    os.fchmod(descriptor, mode)
    with contextlib.suppress(OSError):
        os.setxattr(descriptor, _ACCESS_LIST, os.getxattr(real, _ACCESS_LIST))


def _give(descriptor: int, user: int, group: int) -> bool:
    """Whether the file could be given to that user (-1: as it is) and group."""
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, user, group)
        return True
    return False


def _take_place(partial: Path, real: Path, descriptor: int) -> None:
    """Renames what is complete. It and its name are on the disk afterwards, in this order: a power
    cut leaves the old file or the new one, never an empty one."""
    os.fsync(descriptor)
    partial.replace(real)
    _sync_folder(real.parent)


def _sync_folder(folder: Path) -> None:
    """Puts the names in a folder on the disk, where its file system can and the process may."""
    with contextlib.suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
        finally:
            os.close(descriptor)


def require_parent(target: Path) -> None:
    """PathError for a file or folder that cannot be made, since none is around it."""
    if target.parent.is_dir():
        return
    url = _URL.match(str(target))
    if url is not None:  # of which Path makes one slash
        raise make_error(
            "CD-502", f"'{url[1]}://{url[2]}' cannot be written: files are written on this machine",
            try_="a file here, then pyarrow.fs.copy_files(file, URL)",
        )  # fmt: skip
    raise make_error(
        "CD-502", f"no folder {str(target.parent)!r} to write {target.name!r} in",
        try_="mkdir, or another folder",
    )  # fmt: skip


def require_free_folder(path: PathLike, overwrite: bool = False) -> None:
    """PathError for a folder that parts cannot be written to: it must not exist, or be empty;
    overwrite: or hold nothing but parts of an earlier write, since it is replaced as a whole."""
    folder = Path(path).expanduser()
    require_parent(folder)
    if not folder.exists():
        return
    with path_errors(folder):
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else None
    if names == [] or (overwrite and names and all(map(_PART.fullmatch, names))):
        return
    if overwrite and names:
        other = next(name for name in sorted(names) if not _PART.fullmatch(name))
        raise make_error(
            "CD-502", f"{str(folder)!r} is not replaced: it holds {other!r}, which is no part",
            try_="another folder",
        )  # fmt: skip
    raise make_error(
        "CD-502", f"{str(folder)!r} is there already, and is not an empty folder",
        try_="the name of a new folder" + (", or overwrite=True" if names else ""),
    )  # fmt: skip
