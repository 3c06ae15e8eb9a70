"""Writes a result over ranks: a folder with one file of each rank, or one file of all rows."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from crossdock.errors import ControlError, make_error
from crossdock.files import writers
from crossdock.files.partitioned_writes import Layout, require_free_parts, write_parts
from crossdock.files.paths import PathLike, is_file_name
from crossdock.files.replacement import (
    replacing_folder,
    replacing_parts,
    require_free_folder,
    unfinished,
)
from crossdock.files.writers import WriteOptions
from crossdock.plan.nodes import Node
from crossdock.ranks.execution import RankExecution
from crossdock.ranks.members import Ranks

_SUFFIXES = {"parquet": "parquet", "ipc": "arrow", "csv": "csv", "json": "ndjson"}


@dataclass(frozen=True)
class Target:
    """Where a result goes: a file if its name has an ending, else a folder."""

    path: PathLike
    overwrite: bool = False
    options: WriteOptions = field(
        default_factory=WriteOptions
    )  # no kind: by the ending, or Parquet
    keys: tuple[str, ...] = ()  # columns that are folders in the folder
    inputs: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        return bool(self.keys) or not is_file_name(self.path)


def write(execution: RankExecution, node: Node, target: Target) -> int:
    """Runs a query and writes its rows; gives the number of rows of all ranks. Collective.

    A folder must be new or empty, or one to overwrite, and one that all ranks see; it appears under
    its name when all have written. Errors: PathError, OptionError, and those of the run.
    """
    if target.is_folder:
        return _folder(execution, node, target)
    return write_by_first(
        execution,
        node,
        target,
        lambda batches: writers.write_file(batches, node.schema, target.path, target.options),
    )


def write_by_first(
    execution: RankExecution,
    node: Node,
    target: Target,
    write: Callable[[Iterator[pa.RecordBatch]], int],
) -> int:
    """Runs a query, whose rows of all ranks the first one hands to `write`; gives their number.
    Collective. Errors as for `write`."""
    ranks = execution.ranks
    with ranks.call("write"):
        if ranks.rank == 0:
            writers.require_target(target.path, target.inputs, target.overwrite)
        ranks.agree("a file can be written")
        own_rows, is_used = execution.once(node)
        batches = execution.local.batches(own_rows) if is_used else iter(())
        gathered = ranks.rows_to_one(batches, node.schema) if ranks.size > 1 else batches
        rows = 0
        if ranks.rank == 0:
            rows = write(gathered)
        else:
            for _ in gathered:  # sends this rank's rows
                pass
        return sum(ranks.agree("rows of a file", rows))


def _folder(execution: RankExecution, node: Node, target: Target) -> int:
    ranks = execution.ranks
    options = replace(target.options, kind=target.options.kind or "parquet")
    name = f"part-{ranks.rank:05d}"
    require_free = require_free_parts if target.keys else require_free_folder

    def replacing() -> AbstractContextManager[Path]:
        require_free(target.path, target.overwrite)
        return (replacing_parts if target.overwrite else replacing_folder)(target.path)

    with ranks.call("write"), shared_folder(ranks, target.path, replacing) as partial:
        own_rows, is_used = execution.once(node)
        batches: Iterator[pa.RecordBatch] = (
            execution.local.batches(own_rows) if is_used else iter(())
        )
        if target.keys:
            rows = write_parts(batches, node.schema, partial, Layout(target.keys, options, name))
        else:
            path = partial / f"{name}.{_SUFFIXES[options.kind]}"
            rows = writers.write_file(batches, node.schema, path, options)
        return sum(ranks.agree("rows of a folder", rows))


@contextlib.contextmanager
def shared_folder(
    ranks: Ranks, path: PathLike, replacing: Callable[[], AbstractContextManager[Path]]
) -> Iterator[Path]:
    """A folder that rank 0 makes by `replacing` and all ranks write to; it takes the place of
    `path` when all have done so, and is removed where one fails. Inside `Ranks.call`. PathError
    where not all see it."""
    folder = Path(path).expanduser()
    with contextlib.ExitStack() as opened:
        partial = folder
        if ranks.rank == 0:
            partial = opened.enter_context(replacing())
        name = ranks.agree("a folder is there", partial.name)[0]
        if ranks.rank != 0:
            partial = folder.resolve().with_name(name)
            opened.enter_context(unfinished(partial))
        if not partial.is_dir():
            raise make_error(
                "CD-502", f"the folder {str(folder)!r} that rank 0 made is not seen by this rank",
                try_="a folder that all machines share",
            )  # fmt: skip
        try:
            yield partial
            ranks.agree("a folder is complete")
        except ControlError as error:
            if error.code == "CD-617":  # a rank is lost, which may be the one that would remove it
                shutil.rmtree(partial, ignore_errors=True)
            raise
