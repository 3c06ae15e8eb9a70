"""Finds the files behind a path, folder, glob or list, and their format by the end of the name."""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from crossdock.errors import CrossdockError, make_error, nearest

PathLike: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = PathLike | Sequence[PathLike]

_PACKED = (".gz", ".zst")


def _with_packed(*endings: str) -> tuple[str, ...]:
    return tuple(ending + packed for ending in endings for packed in ("", *_PACKED))


FORMATS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "ipc": (".arrow", ".feather", ".ipc", ".arrows"),
    "csv": _with_packed(".csv", ".tsv"),
    "json": _with_packed(".json", ".ndjson", ".jsonl"),
}

FILE_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

_SHOWN_CHARACTERS = 80
_ALTERNATIVES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_ADDRESS = re.compile(r"([a-z][a-z0-9+]+):/")
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
        known=" ".join(end for end in _ENDINGS if not end.endswith(_PACKED))
        + "; those of CSV and JSON also with .gz or .zst",
        try_="a name with one of these endings",
    )


def delimiter_of(name: str) -> str:
    """What stands between the values of a line in a CSV file of that name."""
    return "\t" if name.lower().endswith(_with_packed(".tsv")) else ","


def is_file_name(path: PathLike) -> bool:
    """Whether the name has the ending of a format."""
    return os.fspath(path).lower().endswith(_ENDINGS)


def detect_format(paths: Paths) -> str:
    """The format of the files behind `paths`, by their names; PathError where they have several."""
    of_formats: dict[str, str] = {}
    for item in _items(paths):
        text = os.fspath(item)
        place = Path(text).expanduser()
        if place.is_dir():
            names = [name for name in _files_below(place) if is_file_name(name)]
            # JSON beside tables mostly says something about them.
            names = [name for name in names if format_of(name) != "json"] or names
            if not names:
                raise _nothing(text, "the folder holds no Parquet, Arrow, CSV or JSON file")
        elif is_file_name(text) and not _is_pattern(text):
            names = [text]
        else:
            names = _expand(place, "")
        for name in names:
            of_formats.setdefault(format_of(name), name)
    if len(of_formats) > 1:
        (first, name), (second, other), *_ = of_formats.items()
        raise make_error(
            "CD-503",
            f"files of several formats cannot be read as one: {name!r} is {first}, and {other!r} "
            f"is {second}",
            try_=f"read_{first}(...), which leaves out those of other formats in a folder",
        )
    return next(iter(of_formats))


def find_files(paths: Paths, format_name: str) -> list[str]:
    """The files behind `paths`, sorted within each item; PathError when an item has none, and
    OptionError when it is no path.

    A folder is searched with its subfolders for files of `format_name`. A glob knows `*`, `?`,
    `[ab]`, `{one,other}` and `**` for any folders. Names in them that begin with "." or "_" are
    passed over, as other engines do.
    """
    return [
        name for item in _items(paths) for name in _expand(Path(item).expanduser(), format_name)
    ]


def has_partitions(paths: Paths) -> bool:
    """Whether names of folders such as `year=2024` stand for columns: in one folder or glob."""
    if not isinstance(paths, str | os.PathLike):
        return False
    place = Path(paths).expanduser()
    return place.is_dir() or (not place.is_file() and _is_pattern(str(place)))


def _items(paths: Paths) -> list[PathLike]:
    """One path, or several, as a list of them."""
    items: list[Any] = [paths]
    if isinstance(paths, Sequence) and not isinstance(paths, str | bytes | bytearray):
        items = list(paths)
    if not items:
        raise _nothing("[]", "the list of paths is empty")
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise make_error(
                "CD-105",
                f"a path is a str or a pathlib.Path, not {_shortened(item)}",
                try_="from_arrow(pyarrow.parquet.read_table(...)) for bytes and open files; "
                "pyarrow.csv and pyarrow.ipc have the like",
            )
        address = _ADDRESS.match(os.fspath(item))
        if address is not None and not Path(item).exists():
            raise make_error(
                "CD-502",
                f"nothing to read at {os.fspath(item)!r}: it is an address, not a path",
                try_="the path alone"
                if address[1] == "file"
                else "from_arrow(pyarrow.dataset.dataset(ADDRESS).scanner().to_reader())",
            )
    return items


def _shortened(item: object) -> str:
    text = repr(item)
    return text if len(text) <= _SHOWN_CHARACTERS else f"an object of type {type(item).__name__}"


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
    if _is_pattern(str(path)):
        found = _matches(str(path))
        if not found:
            raise _nothing(str(path), "no file matches the pattern")
        return found
    raise _nothing(str(path), _what_is_there(path))


def _is_pattern(text: str) -> bool:
    return glob.has_magic(text) or _ALTERNATIVES.search(text) is not None


def _matches(pattern: str) -> list[str]:
    """The files that a pattern stands for, each once, in order."""
    found: set[str] = set()
    for plain in _alternatives(pattern):
        # Path.glob takes no absolute patterns, which users write.
        for name in glob.glob(plain, recursive=True):  # noqa: PTH207
            if not _is_hidden(name, plain) and Path(name).is_file():
                found.add(name)
    return sorted(found)


def _alternatives(pattern: str) -> Iterator[str]:
    """The pattern with each of the parts of `{one,other}`, the innermost first."""
    match = _ALTERNATIVES.search(pattern)
    if match is None:
        yield pattern
        return
    for part in match[1].split(","):
        yield from _alternatives(pattern[: match.start()] + part + pattern[match.end() :])


def _is_hidden(name: str, pattern: str) -> bool:
    """Whether a part of the name begins with "." or "_" that the pattern does not spell so."""
    spelled = {part[:1] for part in Path(pattern).parts}
    plain = itertools.takewhile(
        lambda pair: pair[0] == pair[1],
        zip(Path(name).parts, Path(pattern).parts, strict=False),
    )
    parts = Path(name).parts[len(list(plain)) :]
    return any(part[0] in "._" and part[0] not in spelled for part in parts)


def _what_is_there(path: Path) -> str:
    """Why a path that is neither a file nor a folder cannot be read."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "no such file or folder"
    except OSError as error:
        return os.strerror(error.errno or 0)
    return f"it is {FILE_KINDS.get(stat.S_IFMT(mode), 'no file')}, not a file or folder"


def _files_below(folder: Path) -> Iterator[str]:
    def refused(error: OSError) -> None:
        raise _nothing(str(error.filename), os.strerror(error.errno or 0)) from error

    for root, folders, names in os.walk(folder, onerror=refused):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        yield from (str(Path(root, name)) for name in sorted(names) if name[0] not in "._")


def _nothing(text: str, why: str) -> CrossdockError:
    path = Path(text)
    close = ""
    if not os.path.lexists(path) and not _is_pattern(text):
        with contextlib.suppress(OSError):  # no such folder, or none that may be looked into
            name = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
            close = repr(str(path.with_name(name))) if name else ""
    return make_error(
        "CD-502",
        f"nothing to read at {text!r}: {why}",
        where="" if path.is_absolute() else f"working folder {Path.cwd()}",
        try_=close,
    )
