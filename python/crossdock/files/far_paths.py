"""Finds files that lie elsewhere: behind URLs, and paths in a file system of pyarrow or fsspec."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.errors import CrossdockError, first_line, make_error
from crossdock.files.far_files import FarFile, FileSystemLike, of_each_far

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_URL = re.compile(r"([a-z][a-z0-9+.-]+)://")
_KEYS = re.compile(r"://[^/@:]+:[^@]+@")  # of who asks
_ALTERNATIVES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_GOOGLE = ("gs", "gcs")
_RETRY_S = 30
_WEB = ("http", "https")
# What a store may not know of who asks.
_AZURE_ACCESS = (
    "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, az login, or "
    "filesystem=pyarrow.fs.AzureFileSystem(...)"
)
_ACCESS = {
    "s3": "the keys (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), region (AWS_DEFAULT_REGION) and "
    "address (AWS_ENDPOINT_URL) of the store, or filesystem=pyarrow.fs.S3FileSystem(...), such as "
    "one with anonymous=True",
    "gs": "gcloud auth application-default login, or filesystem=pyarrow.fs.GcsFileSystem(...), "
    "such as one with anonymous=True",
    "abfs": _AZURE_ACCESS,
    "abfss": _AZURE_ACCESS,
    "az": _AZURE_ACCESS,
}
# What pyarrow has; others are asked of fsspec.
_OF_ARROW = ("s3", "gs", "gcs", "abfs", "abfss", "az", "hdfs", "viewfs")


def is_url(item: object) -> bool:
    """Whether it is a URL of files that lie elsewhere."""
    match = _URL.match(item) if isinstance(item, str) else None
    return match is not None and match[1] != "file"


def is_glob(text: str) -> bool:
    """Whether it is a pattern, and no URL of the web, whose signs are its own."""
    match = _URL.match(text)
    if match is not None and match[1] in _WEB:
        return False
    return re.search(r"[*?\[]", text) is not None or _ALTERNATIVES.search(text) is not None


def alternatives(pattern: str) -> Iterator[str]:
    """The pattern with each of the parts of `{one,other}`, the innermost first."""
    match = _ALTERNATIVES.search(pattern)
    if match is None:
        yield pattern
        return
    for part in match[1].split(","):
        yield from alternatives(pattern[: match.start()] + part + pattern[match.end() :])


def without_query(text: str) -> tuple[str, str]:
    """A URL without what stands behind a question mark that is none of a pattern, and that."""
    path, sign, query = text.rpartition("?")
    return (path, sign + query) if "=" in query and sign else (text, "")


def far_files(
    item: str, filesystem: FileSystemLike | None, endings: Sequence[str]
) -> list[FarFile]:
    """The files behind a URL, or a path in a file system: one, those of a folder whose names have
    one of the endings (none: of any), or those of a pattern. PathError where there is none."""
    # In a thread, so that an interrupt ends the wait for a store that does not answer.
    (files,) = of_each_far([item], lambda text: _files(text, filesystem, endings))
    return files


def _files(item: str, filesystem: FileSystemLike | None, endings: Sequence[str]) -> list[FarFile]:
    system, prefix, path = _place(item, filesystem)
    if prefix is None:
        return [FarFile(item, system, path)]
    try:
        names = _expand(system, path, endings)
        if not isinstance(names, str):
            return [FarFile(prefix + name, system, name) for name in names]
        bucket = path.partition("/")[0]
        if prefix and not _is_there(system, bucket):
            raise nothing(item, f"no bucket {bucket!r}", store_advice(item))
    except CrossdockError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise nothing(item, first_line(error), store_advice(item)) from error
    raise nothing(item, names)


def listed_places(items: Sequence[str], filesystem: FileSystemLike | None) -> tuple[str, ...]:
    """Files by their whole paths or URLs, of which none is looked for; of `filesystem`, if one is
    given. PathError where nothing reads such a URL."""
    systems: dict[str, Any] = {}
    places: list[str] = []
    for item in items:
        scheme, sign, rest = item.partition("://")
        if filesystem is not None:
            if "" not in systems:
                systems[""] = arrow_system(filesystem)
            places.append(FarFile(item, systems[""], rest if sign else item))
        elif not sign or scheme == "file":
            places.append(rest if sign else item)
        else:
            host = scheme + sign + rest.partition("/")[0]
            if host not in systems:
                systems[host] = _place(item, None)[0]
            is_path = scheme in _OF_ARROW
            places.append(FarFile(item, systems[host], _bare(rest) if is_path else item))
    return tuple(places)


def arrow_system(filesystem: FileSystemLike) -> FileSystem:
    """A file system of pyarrow or fsspec as one of pyarrow; OptionError for what is neither."""
    import pyarrow.fs as file_systems

    from crossdock.files.fsspec_systems import TriedHandler

    if isinstance(filesystem, file_systems.FileSystem):
        return filesystem
    if callable(getattr(filesystem, "cat_file", None)):
        return file_systems.PyFileSystem(TriedHandler(filesystem))
    raise make_error(
        "CD-105", f"filesystem={filesystem!r} is neither of pyarrow.fs nor of fsspec",
        try_='filesystem=pyarrow.fs.S3FileSystem(region="eu-central-1")',
    )  # fmt: skip


def nothing(item: str, why: str, try_: str = "") -> CrossdockError:
    """The error for a path that leads nowhere; it does not show the keys of a URL."""
    shown = _KEYS.sub("://...@", item)
    return make_error("CD-502", f"nothing to read at {shown!r}: {why}", try_=try_)


def _place(item: str, filesystem: FileSystemLike | None) -> tuple[FileSystem, str | None, str]:
    """The file system, what stands before its paths in names (None: they are no paths of a tree),
    and the path."""
    if filesystem is not None:
        return arrow_system(filesystem), "", _without_scheme(item, filesystem)
    match = _URL.match(item)
    assert match is not None
    scheme, rest = match[1], item[match.end() :]
    if scheme in _OF_ARROW:
        rest, query = without_query(rest)
        return _system_of_arrow(item, scheme, rest, query), f"{scheme}://", _bare(rest)
    system = _system_of_fsspec(item, scheme)
    if scheme in _WEB:
        return arrow_system(system), None, item
    return arrow_system(system), f"{scheme}://", str(system._strip_protocol(item))


def _without_scheme(item: str, filesystem: FileSystemLike) -> str:
    """A path of a file system that is given; it may be a URL, with its scheme."""
    strip = getattr(filesystem, "_strip_protocol", None)
    match = _URL.match(item)
    if match is None:
        return item
    return item[match.end() :] if strip is None else str(strip(item))


def store_advice(item: str) -> str:
    """What to try where a store refuses, or has nothing."""
    scheme = item.partition("://")[0]
    return _ACCESS.get(_GOOGLE[0] if scheme in _GOOGLE else scheme, "")


def _bare(path: str) -> str:
    """Without the user and the account beside the bucket."""
    place, sign, rest = path.partition("/")
    if "@" in place:
        user, _, host = place.rpartition("@")
        place = user if "." in host else host
    return (place + sign + rest).rstrip("/")


def _system_of_arrow(item: str, scheme: str, rest: str, query: str) -> FileSystem:
    import pyarrow.fs as file_systems

    try:
        if scheme == "az":
            return file_systems.AzureFileSystem(**_azure_account(item))
        bucket = rest.partition("/")[0]
        if (
            scheme in _GOOGLE and "retry_limit" not in query
        ):  # else it tries for a quarter of an hour
            query += ("&" if query else "?") + f"retry_limit_seconds={_RETRY_S}"
        return file_systems.FileSystem.from_uri(f"{scheme}://{bucket}{query}")[0]
    except CrossdockError:
        raise
    except (ImportError, OSError, ValueError, pa.ArrowException) as error:
        raise nothing(
            item, first_line(error), "filesystem=, made of pyarrow.fs or fsspec"
        ) from error


def _azure_account(item: str) -> dict[str, str]:
    names = {
        "account_name": "AZURE_STORAGE_ACCOUNT_NAME",
        "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
    }
    account = {key: os.environ[name] for key, name in names.items() if name in os.environ}
    if "account_name" in account:
        return account
    raise nothing(
        item,
        "the variable AZURE_STORAGE_ACCOUNT_NAME does not say whose container it is",
        "export AZURE_STORAGE_ACCOUNT_NAME=..., or abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/...",
    )


def _system_of_fsspec(item: str, scheme: str) -> Any:
    try:
        import fsspec
    except ImportError as error:
        raise nothing(
            item,
            f"{scheme} needs the packages fsspec and aiohttp",
            "pip install 'crossdock[remote]'",
        ) from error
    try:
        return fsspec.filesystem(scheme)
    except ImportError as error:
        raise nothing(
            item, str(error), "pip install that package, or filesystem=, made of fsspec"
        ) from error
    except ValueError as error:
        raise nothing(
            item, f"no package that is installed reads {scheme}", "filesystem=, made of fsspec"
        ) from error


def _expand(system: FileSystem, path: str, endings: Sequence[str]) -> list[str] | str:
    """The files of a path or pattern, or why there is none."""
    import pyarrow.fs as file_systems

    if is_glob(path):
        names = sorted({name for one in alternatives(path) for name in _matches(system, one)})
        return names or "no file matches the pattern"
    about = system.get_file_info(path)
    if about.type == file_systems.FileType.File:
        return [path]
    if about.type == file_systems.FileType.NotFound:
        return "no such file or folder"
    below = [
        name
        for name in _below(system, path)
        if not any(part[:1] in "._" for part in _parts(name)[len(_parts(path)) :])
    ]
    names = [name for name in below if not endings or name.lower().endswith(tuple(endings))]
    return sorted(names) or f"the folder holds no file named *{' or *'.join(endings)}"


def _is_there(system: FileSystem, path: str) -> bool:
    import pyarrow.fs as file_systems

    return bool(system.get_file_info(path).type != file_systems.FileType.NotFound)


def _below(system: FileSystem, folder: str) -> Iterator[str]:
    import pyarrow.fs as file_systems

    selector = file_systems.FileSelector(folder, allow_not_found=True, recursive=True)
    for about in system.get_file_info(selector):
        if about.type == file_systems.FileType.File:
            yield about.path


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _matches(system: FileSystem, pattern: str) -> Iterator[str]:
    """The files of a pattern. Names that begin with "." or "_" only where it spells them so."""
    pattern_parts = _parts(pattern)
    plain = next(
        (n for n, part in enumerate(pattern_parts) if re.search(r"[*?\[]", part)),
        len(pattern_parts),
    )
    folder = "/".join(pattern_parts[: min(plain, len(pattern_parts) - 1)])
    for name in _below(system, "/" + folder if pattern.startswith("/") else folder):
        if _fits(_parts(name), pattern_parts):
            yield name


def _fits(parts: list[str], pattern_parts: list[str]) -> bool:
    if not pattern_parts:
        return not parts
    if pattern_parts[0] == "**":
        return _fits(parts, pattern_parts[1:]) or (
            bool(parts) and parts[0][:1] not in "._" and _fits(parts[1:], pattern_parts)
        )
    if not parts or not fnmatch.fnmatchcase(parts[0], pattern_parts[0]):
        return False
    is_hidden = parts[0][:1] in "._" and pattern_parts[0][:1] != parts[0][:1]
    return not is_hidden and _fits(parts[1:], pattern_parts[1:])
