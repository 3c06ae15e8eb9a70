"""Finds the files behind a path, folder, glob or list, and their format by the end of the name."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from crossdock.errors import CrossdockError, make_error, nearest

PathLike: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = PathLike | Sequence[PathLike]

FORMATS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "ipc": (".arrow", ".feather", ".ipc", ".arrows"),
    "csv": (".csv", ".csv.gz", ".csv.zst", ".tsv"),
}

_ENDINGS = tuple(ending for endings in FORMATS.values() for ending in endings)


def format_of(path: PathLike) -> str:
    """The format of a file by its name; PathError when the ending is not known."""
    name = os.fspath(path).lower()
    for format_name, endings in FORMATS.items():
        if name.endswith(endings):
            return format_name
    raise make_error(
        "CD-503",
        f"no format is known for {os.fspath(path)!r}",
        known=" ".join(_ENDINGS),
        try_="a name with one of these endings",
    )


def delimiter_of(name: str) -> str:
    """What stands between the values of a line in a CSV file of that name."""
    return "\t" if name.lower().endswith(".tsv") else ","


def is_file_name(path: PathLike) -> bool:
    """Whether the name has the ending of a format."""
    return os.fspath(path).lower().endswith(_ENDINGS)


def detect_format(path: PathLike) -> str:
    """The format of the file, folder or glob `path`; of several files, that of the first."""
    text = os.fspath(path)
    if text.lower().endswith(_ENDINGS):
        return format_of(text)
    place = Path(text).expanduser()
    if place.is_dir():
        for name in _files_below(place):
            if name.lower().endswith(_ENDINGS):
                return format_of(name)
        raise _nothing(text, "the folder holds no Parquet, Arrow or CSV file")
    return format_of(find_files(text, "")[0])


def find_files(paths: Paths, format_name: str) -> list[str]:
    """The files behind `paths`, sorted within each item; PathError when an item has none.

    A folder is searched with its subfolders for files of `format_name`; names that begin with
    "." or "_" are passed over, as other engines do.
    """
    items = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not items:
        raise _nothing("[]", "the list of paths is empty")
    return [name for item in items for name in _expand(Path(item).expanduser(), format_name)]


def is_folder(paths: Paths) -> bool:
    """True when `paths` is one folder."""
    return isinstance(paths, str | os.PathLike) and Path(paths).expanduser().is_dir()


def shown_name(paths: Paths) -> str:
    """A short name for plans and errors: the last part of the path, or how many files."""
    if isinstance(paths, str | os.PathLike):
        return Path(paths).name or os.fspath(paths)
    return Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} files"


def _expand(path: Path, format_name: str) -> list[str]:
    if path.is_file():
        return [str(path)]
    if path.is_dir():
        endings = FORMATS.get(format_name, ())
        found = [name for name in _files_below(path) if name.lower().endswith(endings)]
        if not found:
            raise _nothing(str(path), f"the folder holds no file named *{' or *'.join(endings)}")
        return found
    if glob.has_magic(str(path)):
        # Path.glob takes no absolute patterns, which users write.
        matches = glob.glob(str(path), recursive=True)  # noqa: PTH207
        found = sorted(name for name in matches if Path(name).is_file())
        if not found:
            raise _nothing(str(path), "no file matches the pattern")
        return found
    raise _nothing(str(path), "no such file or folder")


def _files_below(folder: Path) -> Iterator[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        yield from (str(Path(root, name)) for name in sorted(names) if name[0] not in "._")


def _nothing(text: str, why: str) -> CrossdockError:
    path = Path(text)
    close = ""
    if path.parent.is_dir() and not glob.has_magic(text):
        close = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    return make_error(
        "CD-502",
        f"nothing to read at {text!r}: {why}",
        where="" if path.is_absolute() else f"working folder {Path.cwd()}",
        try_=repr(str(path.with_name(close))) if close else "",
    )
