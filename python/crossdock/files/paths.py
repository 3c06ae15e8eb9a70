"""Finds the files behind a path, URL, folder, glob or list, and their format by their names."""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error, nearest
from crossdock.files.far_files import FarFile, FileSystemLike, open_file, path_of
from crossdock.files.far_paths import alternatives, far_files, is_glob, is_url, without_query

PathLike: TypeAlias = str | os.PathLike[str]
# Paths, URLs, bytes in memory and files that are open for them; one or several.
Paths: TypeAlias = PathLike | bytes | BinaryIO | pa.Buffer | Sequence[PathLike | bytes | BinaryIO]

_PACKED = (".gz", ".zst")


def _with_packed(*endings: str) -> tuple[str, ...]:
    return tuple(ending + packed for ending in endings for packed in ("", *_PACKED))


FORMATS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "ipc": (".arrow", ".feather", ".ipc", ".arrows"),
    "csv": _with_packed(".csv", ".tsv"),
    "json": _with_packed(".json", ".ndjson", ".jsonl"),
}

DELTA_LOG = "_delta_log"  # the folder that says which files of its table count

FILE_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

_MAGIC = {b"PAR1": "parquet", b"PARE": "parquet", b"ARROW1": "ipc"}
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
    return "\t" if path_of(name).lower().endswith(_with_packed(".tsv")) else ","


def is_file_name(path: PathLike) -> bool:
    """Whether the name has the ending of a format."""
    return os.fspath(path).lower().endswith(_ENDINGS)


def detect_format(paths: Paths, filesystem: FileSystemLike | None = None) -> str:
    """The format of the files behind `paths`, by their names, or the first bytes of what is no
    file; PathError where they have several."""
    of_formats: dict[str, str] = {}
    for item in _items(paths, filesystem):
        text = os.fspath(item)
        if isinstance(item, FarFile):
            format = format_of(item) if is_file_name(item) else _format_of_bytes(item)
            of_formats.setdefault(format, item)
            continue
        if filesystem is not None or is_url(text):
            for name in _far(text, filesystem, _ENDINGS):
                of_formats.setdefault(format_of(name), name)
            continue
        place = Path(text).expanduser()
        if place.is_dir():
            names = [name for name in _files_below(place) if is_file_name(name)]
            # JSON beside tables mostly says something about them.
            names = [name for name in names if format_of(name) != "json"] or names
            if not names:
                raise _nothing(text, "the folder holds no Parquet, Arrow, CSV or JSON file")
        elif is_file_name(text) and not is_glob(text):
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


def _far(text: str, filesystem: FileSystemLike | None, endings: Sequence[str]) -> Sequence[str]:
    """Files that lie elsewhere; one whose name tells its format is not looked for."""
    if is_file_name(path_of(text)) and not is_glob(text):
        return [path_of(text)]
    return far_files(text, filesystem, endings)


def _format_of_bytes(name: str) -> str:
    with open_file(name) as file:
        begin = file.read(6)
    kind_of_bytes = next((kind for magic, kind in _MAGIC.items() if begin.startswith(magic)), None)
    if kind_of_bytes is None:
        raise make_error(
            "CD-503", "what is in memory begins neither as Parquet nor as Arrow IPC",
            try_="read_csv(...) or read_json(...), which say what it is",
        )  # fmt: skip
    return kind_of_bytes


def find_files(
    paths: Paths, format_name: str, filesystem: FileSystemLike | None = None
) -> list[str]:
    """The files behind `paths`, sorted within each item; PathError when an item has none, and
    OptionError when it is no path. Paths in `filesystem`, where one is given.

    A folder is searched with its subfolders for files of `format_name`. A glob knows `*`, `?`,
    `[ab]`, `{one,other}` and `**` for any folders. Names in them that begin with "." or "_" are
    passed over, as other engines do.
    """
    files: list[str] = []
    for item in _items(paths, filesystem):
        if isinstance(item, FarFile):
            files.append(item)
        elif filesystem is not None or is_url(item):
            files += far_files(os.fspath(item), filesystem, FORMATS.get(format_name, ()))
        else:
            files += _expand(Path(item).expanduser(), format_name)
    return files


def has_partitions(
    paths: Paths, files: Sequence[str], filesystem: FileSystemLike | None = None
) -> bool:
    """Whether names of folders such as `year=2024` stand for columns: in one folder or glob, which
    has these files."""
    if not isinstance(paths, str | os.PathLike) or isinstance(paths, FarFile):
        return False
    text = os.fspath(paths)
    if filesystem is not None or is_url(text):
        return len(files) > 1 or Path(files[0]).name != Path(without_query(text)[0]).name
    place = Path(_local(text)).expanduser()
    return place.is_dir() or (not place.is_file() and is_glob(str(place)))


def _items(paths: Paths, filesystem: FileSystemLike | None = None) -> list[Any]:
    """One path, or several, as a list of them."""
    items: list[Any] = [paths]
    if isinstance(paths, Sequence) and not isinstance(paths, str | bytes | bytearray | memoryview):
        items = list(paths)
    if not items:
        raise _nothing("[]", "the list of paths is empty")
    items = [placed(item) for item in items]
    return items if filesystem is not None else [_local(item) for item in items]


def placed(paths: Paths) -> Any:
    """The same paths, with bytes and open files as files that may be opened again and again.
    OptionError for what is neither."""
    if isinstance(paths, str | os.PathLike):
        return paths
    if isinstance(paths, Sequence) and not isinstance(paths, bytes | bytearray | memoryview):
        return [placed(item) if isinstance(item, str | os.PathLike) else _of_object(item)
                for item in paths]  # fmt: skip
    return _of_object(paths)


def _of_object(item: Any) -> str:
    from crossdock.files.file_objects import file_of_object

    return file_of_object(item)


def _local(item: Any) -> Any:
    """The path of a URL of this machine; else what is given."""
    if isinstance(item, FarFile):
        return item
    if isinstance(item, str) and item.startswith("file:/") and not Path(item).exists():
        return unquote(urlsplit(item).path)
    return item


def shown_name(paths: Paths) -> str:
    """A short name for plans and errors: the last part of the path, or how many files."""
    if isinstance(paths, FarFile):
        return Path(paths).name
    if isinstance(paths, str | os.PathLike):
        return Path(path_of(os.fspath(paths))).name or os.fspath(paths)
    items = list(paths)
    return shown_name(items[0]) if len(items) == 1 else f"{len(items)} files"


def _expand(path: Path, format_name: str) -> list[str]:
    if path.is_file():
        return [str(path)]
    if path.is_dir():
        endings = FORMATS.get(format_name, ())
        names = [name for name in _files_below(path) if name.lower().endswith(endings)]
        if not names:
            raise _nothing(str(path), f"the folder holds no file named *{' or *'.join(endings)}")
        return names
    if is_glob(str(path)):
        names = _matches(str(path))
        if not names:
            raise _nothing(str(path), "no file matches the pattern")
        return names
    raise _nothing(str(path), _what_is_there(path))


def _matches(pattern: str) -> list[str]:
    """The files that a pattern stands for, each once, in order."""
    names: set[str] = set()
    for plain in alternatives(pattern):
        # Path.glob takes no absolute patterns, which users write.
        for name in glob.glob(plain, recursive=True):  # noqa: PTH207
            if not _is_hidden(name, plain) and Path(name).is_file():
                names.add(name)
    return _once(sorted(names)) if "**" in pattern else sorted(names)


def _once(names: Sequence[str]) -> list[str]:
    """Each file by its first name: links to folders have `**` come to those in them again."""
    folders = {str(folder): folder.resolve() for folder in {Path(name).parent for name in names}}
    places: dict[tuple[Path, str], str] = {}
    for name in names:
        path = Path(name)
        places.setdefault((folders[str(path.parent)], path.name), name)
    return list(places.values())


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
    if not os.path.lexists(path) and not is_glob(text):
        with contextlib.suppress(OSError):  # no such folder, or none that may be looked into
            name = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
            close = repr(str(path.with_name(name))) if name else ""
    return make_error(
        "CD-502",
        f"nothing to read at {text!r}: {why}",
        where="" if path.is_absolute() else f"working folder {Path.cwd()}",
        try_=close,
    )
