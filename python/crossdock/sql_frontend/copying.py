"""COPY (query) TO: a file in one of several formats, or a folder per value of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossdock.engine.execution import Execution
from crossdock.errors import unknown_choice
from crossdock.files.partitioned_writes import Layout
from crossdock.files.replacement import replacing_file
from crossdock.files.text_formats import write_rows
from crossdock.files.writers import WriteOptions, require_target
from crossdock.plan.planning import require_columns
from crossdock.sql_frontend.errors import sql_error

if TYPE_CHECKING:
    import pyarrow as pa

    from crossdock.relation import Relation

_SYNONYMS = {"jsonl": "ndjson", "md": "markdown", "ipc": "arrow", "feather": "arrow"}
_FORMATS = ("parquet", "csv", "arrow", "json", "ndjson", "markdown")
_OF_PARQUET = {
    "compression": "compression", "compression_level": "level", "row_group_size": "row_group_rows",
}  # fmt: skip
_OF_CSV = {"delimiter": "delimiter", "delim": "delimiter", "sep": "delimiter", "header": "header"}
_KINDS_OF_FILES = {
    "parquet": "parquet", "csv": "csv", "arrow": "ipc", "json": "json", "ndjson": "json",
}  # fmt: skip
_OPTIONS = ("format", "partition_by", "overwrite", *_OF_CSV, *_OF_PARQUET)


def copy_to(relation: Relation, target: Path, options: dict[str, object]) -> int:
    """Writes the rows; gives their number. Errors: SqlError, OptionError, PathError, those of the
    run."""
    for name in options:
        if name not in _OPTIONS:
            raise unknown_choice("COPY option", name, _OPTIONS)
    overwrite = bool(options.get("overwrite", False))
    kind = _kind(options)
    if kind and kind not in _FORMATS:
        raise unknown_choice("FORMAT", kind, _FORMATS)
    if "partition_by" in options:
        return _partitioned(relation, target, options, overwrite)
    ending = target.suffix.lower().removeprefix(".")
    of_parquet = _of_parquet(options)
    if of_parquet and kind not in ("", "parquet"):
        raise sql_error(f"{', '.join(of_parquet).upper()} of {kind} files", try_="FORMAT parquet")
    of_csv = _of_csv(options)
    if of_csv and (
        of_parquet or kind not in ("", "csv") or ending in ("parquet", "json", "ndjson")
    ):
        raise sql_error(f"{', '.join(of_csv).upper()} of other files than CSV", try_="FORMAT csv")
    if of_parquet or kind == "parquet":
        return relation.write_parquet(target, overwrite=overwrite, **of_parquet)
    if kind in ("json", "ndjson", "markdown") or (not kind and ending in ("json", "ndjson")):
        return _text(relation, target, kind or ending, overwrite)
    if not kind:
        return relation.write(target, overwrite=overwrite, **of_csv)
    options_of_file = WriteOptions.checked("COPY", _KINDS_OF_FILES[kind], of_csv)
    return relation.write_as(target, options_of_file, overwrite)


def _kind(options: dict[str, object]) -> str:
    kind = str(options.get("format", "")).lower()
    return _SYNONYMS.get(kind, kind)


def _of_csv(options: dict[str, object]) -> dict[str, Any]:
    """The options of CSV files, as write calls them."""
    write_options = {name: options[given] for given, name in _OF_CSV.items() if given in options}
    if write_options.get("delimiter") == r"\t":
        write_options["delimiter"] = "\t"
    return write_options


def _text(relation: Relation, target: Path, kind: str, overwrite: bool) -> int:
    def write_batches(batches: Iterator[pa.RecordBatch]) -> int:
        with replacing_file(target.expanduser()) as stream:
            return write_rows(batches, relation.schema, stream, kind)

    return write_whole(relation, target, overwrite, write_batches)


def write_whole(
    relation: Relation,
    target: Path,
    overwrite: bool,
    write: Callable[[Iterator[pa.RecordBatch]], int],
) -> int:
    """Hands all rows to `write`, which gives their number; over ranks the first one has those of
    all. Errors: PathError where the target is one of the inputs, those of the run."""
    execution = relation._dock.execution()
    if isinstance(execution, Execution):
        require_target(target, relation.files(), overwrite)
        return write(relation.to_batches())
    from crossdock.ranks import writing

    destination = writing.Target(target, overwrite, inputs=tuple(relation.files()))
    return writing.write_by_first(execution, relation.narrowed(), destination, write)


def _partitioned(
    relation: Relation, target: Path, options: dict[str, object], overwrite: bool
) -> int:
    """A folder `name=value` for each value of the columns, with files of their rows."""
    asked = options["partition_by"]
    names = [asked] if isinstance(asked, str) else list(asked)  # type: ignore[call-overload]
    known = {name.lower(): name for name in relation.columns}
    keys = tuple(known.get(str(name).lower(), str(name)) for name in names)
    require_columns(keys, relation.schema, "PARTITION_BY")
    kind = _kind(options) or "parquet"
    if kind not in _KINDS_OF_FILES:
        raise unknown_choice("FORMAT with PARTITION_BY", kind, _KINDS_OF_FILES)
    given = _of_csv(options) if kind == "csv" else {}
    written = WriteOptions.checked("COPY", _KINDS_OF_FILES[kind], given | _of_parquet(options))
    return relation.write_folders(target, Layout(keys, written), overwrite=overwrite)


def _of_parquet(options: dict[str, object]) -> dict[str, Any]:
    """The options of Parquet files, as write_parquet calls them."""
    write_options: dict[str, Any] = {
        name: options[spelled] for spelled, name in _OF_PARQUET.items() if spelled in options
    }
    if "compression" in write_options:
        write_options["compression"] = str(write_options["compression"]).lower()
    return write_options
