"""COPY (query) TO: a file in one of several formats, or a folder per value of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.engine_types import with_schema
from crossdock.errors import make_error, unknown_choice
from crossdock.evaluation import plain_schema
from crossdock.execution import Execution
from crossdock.planning import require_columns
from crossdock.replacement import path_errors, replacing_file
from crossdock.sql_frontend.errors import sql_error
from crossdock.text_formats import write_rows
from crossdock.writers import require_target

if TYPE_CHECKING:
    from crossdock.relation import Relation

_FORMATS = ("parquet", "csv", "arrow", "json", "ndjson", "markdown")
_OPTIONS = ("format", "partition_by", "overwrite", "compression", "header")


def copy_to(relation: Relation, target: Path, options: dict[str, object]) -> int:
    """Writes the rows; gives their number. Errors: SqlError, OptionError, PathError, those of the
    run."""
    for name in options:
        if name not in _OPTIONS:
            raise unknown_choice("COPY option", name, _OPTIONS)
    if options.get("header", True) is not True:
        raise sql_error("CSV files are written with a header line", try_="COPY ... without HEADER")
    overwrite = bool(options.get("overwrite", False))
    kind = str(options.get("format", "")).lower()
    if kind and kind not in _FORMATS:
        raise unknown_choice("FORMAT", kind, _FORMATS)
    if "partition_by" in options:
        return _partitioned(relation, target, options, overwrite)
    ending = target.suffix.lower().removeprefix(".")
    if "compression" in options:
        if kind not in ("", "parquet"):
            raise sql_error(f"COMPRESSION of {kind} files", try_="FORMAT parquet")
        chosen = str(options["compression"]).lower()
        return relation.write_parquet(target, compression=chosen, overwrite=overwrite)
    if kind == "parquet":
        return relation.write_parquet(target, overwrite=overwrite)
    if kind in ("json", "ndjson", "markdown") or (not kind and ending in ("json", "ndjson")):
        return _text(relation, target, kind or ending, overwrite)
    if (
        kind
        and {"csv": ("csv", "tsv", "gz", "zst"), "arrow": ("arrow", "feather", "ipc", "arrows")}[
            kind
        ].count(ending)
        == 0
    ):
        raise sql_error(f"a file {target.name!r} of {kind}", try_=f"'{target.name}.{kind}'")
    return relation.write(target, overwrite=overwrite)


def _text(relation: Relation, target: Path, kind: str, overwrite: bool) -> int:
    def write_batches(batches: Iterator[Any]) -> int:
        with replacing_file(target.expanduser()) as stream:
            return write_rows(batches, relation.schema, stream, kind)

    return write_whole(relation, target, overwrite, write_batches)


def write_whole(
    relation: Relation, target: Path, overwrite: bool, write: Callable[[Iterator[Any]], int]
) -> int:
    """Hands all rows to `write`, which gives their number; over ranks the first one has those of
    all. Errors: PathError where the target is one of the inputs, those of the run."""
    execution = relation._dock.execution()
    if isinstance(execution, Execution):
        require_target(target, relation.files(), overwrite)
        return write(relation.to_batches())
    from crossdock.ranks import writing

    wanted = writing.Target(target, overwrite, inputs=tuple(relation.files()))
    return writing.write_by_first(execution, relation.narrowed(), wanted, write)


def _partitioned(
    relation: Relation, target: Path, options: dict[str, object], overwrite: bool
) -> int:
    """A folder `name=value` for each value of the columns, with files of their rows."""
    import pyarrow.dataset as dataset

    asked = options["partition_by"]
    names = [asked] if isinstance(asked, str) else list(asked)  # type: ignore[call-overload]
    known = {name.lower(): name for name in relation.columns}
    keys = [known.get(str(name).lower(), str(name)) for name in names]
    require_columns(keys, relation.schema, "PARTITION_BY")
    kind = str(options.get("format", "parquet")).lower()
    if kind not in ("parquet", "csv", "arrow"):
        raise unknown_choice("FORMAT with PARTITION_BY", kind, ("parquet", "csv", "arrow"))
    plain = plain_schema(relation.schema)
    ranks = relation._dock.over_ranks()
    name = "part-" if ranks is None else f"part-{ranks.rank:05d}-"

    def write_batches(batches: Iterator[Any], folder: Path) -> int:
        counted = _Counted(batches, plain)
        with path_errors(folder):
            dataset.write_dataset(
                pa.RecordBatchReader.from_batches(plain, iter(counted)),
                str(folder),
                format={"arrow": "ipc"}.get(kind, kind),
                partitioning=dataset.partitioning(
                    pa.schema([plain.field(key) for key in keys]), flavor="hive"
                ),
                basename_template=name + "{i}." + kind,
                existing_data_behavior="delete_matching" if overwrite else "error",
            )
        return counted.rows

    folder, execution = target.expanduser(), relation._dock.execution()
    if isinstance(execution, Execution):
        _require_empty(folder, overwrite)
        return write_batches(relation.to_batches(), folder)
    from crossdock.ranks import writing

    if overwrite:
        raise sql_error("COPY with PARTITION_BY and OVERWRITE over ranks", try_="a new folder")
    return writing.write_folder(execution, relation.narrowed(), folder, write_batches)


def _require_empty(folder: Path, overwrite: bool) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not overwrite:
        raise make_error(
            "CD-502", f"{str(folder)!r} is there already, and is not empty",
            try_="another folder, or the option OVERWRITE",
        )  # fmt: skip


class _Counted:
    """Batches without views as they are written, and how many rows have passed."""

    def __init__(self, batches: Iterator[Any], schema: Any) -> None:
        self._batches = batches
        self._schema = schema
        self.rows = 0

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batches:
            self.rows += batch.num_rows
            yield from with_schema(pa.Table.from_batches([batch]), self._schema).to_batches()
