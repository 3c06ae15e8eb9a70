"""Rows of a statement on standard output or in a file, in the format that was asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossdock_cli import command, output
from crossdock_cli.progress import progress_bar
from crossdock_cli.termination import removing_unfinished

if TYPE_CHECKING:
    from crossdock.relation import Relation
    from crossdock.session import Dock

# "table", and the formats of crossdock.files.text_formats, which help need not load.
KINDS = ("table", "csv", "json", "ndjson", "markdown", "arrow", "parquet")
_SYNONYMS = {"jsonl": "ndjson", "md": "markdown"}
_BY_ENDING = {".md": "markdown"}  # that relations do not write themselves


class Format(command.Word):
    """One of KINDS, or another name of one."""

    def __init__(self, kinds: tuple[str, ...] = KINDS) -> None:
        super().__init__(kinds)

    def convert(self, value: Any, *place: Any) -> str:
        return super().convert(_SYNONYMS.get(value, value), *place)


@dataclass(frozen=True)
class Shown:
    """How results are shown, and how many rows of a table."""

    kind: str
    limit: int


@dataclass(frozen=True)
class Target:
    """A file for rows; where no format is given its ending says it."""

    path: Path
    kind: str | None
    overwrite: bool


def seconds_since(start_s: float) -> str:
    """The time since then, as it is shown."""
    from crossdock.sizes import format_seconds

    return str(format_seconds(time.perf_counter() - start_s))


def show(dock: Dock, done: Any, shown: Shown) -> None:
    """Runs what a statement gave and prints it; what it did is talk."""
    relation = done.relation
    if done.kind.startswith("explain"):
        shown = replace(shown, kind="table")
    if relation.columns == ["done"]:
        output.say(relation.collect()["done"][0].as_py())
        return
    show_rows(dock, relation, shown)


def show_rows(dock: Dock, relation: Relation, shown: Shown) -> None:
    """Runs the relation and prints its rows."""
    if shown.kind == "table":
        with progress_bar(dock):
            preview = relation.preview(shown.limit)
        output.show(preview.text())
        return
    sys.stdout.flush()
    with progress_bar(dock):
        _write_to(dock, relation, sys.stdout.buffer, shown.kind)
    sys.stdout.buffer.flush()


def write(dock: Dock, relation: Relation, target: Target) -> int:
    """Runs the relation into a file; gives the number of rows. Errors: PathError, those of the
    run."""
    with progress_bar(dock), removing_unfinished():
        return write_rows(relation, target)


def write_rows(relation: Relation, target: Target) -> int:
    """The same without a progress bar, and without a look at signals."""
    from crossdock.files.replacement import replacing_file
    from crossdock.files.text_formats import write_rows as write_as
    from crossdock.reports.display import Preview
    from crossdock.sql_frontend.copying import write_whole

    def write_batches(batches: Iterator[Any]) -> int:
        with replacing_file(target.path) as stream:
            if kind != "table":
                return write_as(batches, relation.schema, stream, str(kind))
            preview = Preview.of_batches(batches, relation.schema, sys.maxsize)
            stream.write(f"{preview.text()}\n".encode())
            return preview.rows

    kind = target.kind or _BY_ENDING.get(target.path.suffix.lower())
    if kind is None:
        return int(relation.write(target.path, overwrite=target.overwrite))
    return write_whole(relation, target.path, target.overwrite, write_batches)


def _write_to(dock: Dock, relation: Relation, stream: Any, kind: str) -> int:
    """Over ranks the rows of all, by the first one."""
    from crossdock.files.text_formats import write_rows
    from crossdock.files.writers import writing_errors

    with writing_errors("standard output", kind):
        if dock.over_ranks() is None:
            return write_rows(relation.to_batches(), relation.schema, stream, kind)
        whole = relation.gather()
        return 0 if whole is None else write_rows(whole.to_batches(), whole.schema, stream, kind)
