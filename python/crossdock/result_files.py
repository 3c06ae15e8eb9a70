"""The methods of a relation that run it into files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crossdock.engine.execution import Execution
from crossdock.familiar_options import answering_class
from crossdock.files import writers
from crossdock.files.partitioned_writes import Layout, write_partitioned
from crossdock.files.paths import PathLike, format_of, is_file_name
from crossdock.files.replacement import require_free_folder
from crossdock.files.writers import WriteOptions
from crossdock.option_checks import require_flag, require_values
from crossdock.option_signatures import showing
from crossdock.plan.known_orders import DECLARED, known_order
from crossdock.query_dock import QueryDock

if TYPE_CHECKING:
    import pyarrow as pa

    from crossdock.plan.nodes import Node


# What `write` takes besides paths.
_WRITE_DEFAULTS = {
    name: WriteOptions.__dataclass_fields__[name].default
    for name in ("compression", "level", "row_group_rows", "delimiter", "header")
}


@answering_class
class ResultFiles(ABC):
    """Files of results; part of every relation."""

    _dock: QueryDock

    @property
    @abstractmethod
    def schema(self) -> pa.Schema: ...

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]: ...

    @abstractmethod
    def files(self) -> list[str]: ...

    @abstractmethod
    def narrowed(self) -> Node: ...

    def write_parquet(
        self,
        path: PathLike,
        *,
        compression: str = "zstd",
        level: int | None = None,
        row_group_rows: int | None = None,
        partition_by: str | Sequence[str] = (),
        overwrite: bool = False,
    ) -> int:
        """Runs the relation into a Parquet file, in bounded memory; gives the number of rows.
        Over ranks a name without ending is a new folder, in which each rank writes a file of its
        rows, part-00000.parquet and so on, or with overwrite=True one of such files, in their
        place; rank 0 writes the rows of all into a file.

        The file appears under its name when it is complete, in place of one that is there. A file
        that the relation reads, by its own name or by a link, is only replaced if overwrite=True.
        compression: zstd, snappy, lz4, gzip, brotli or none, with the level that the codec takes.
        row_group_rows: rows of each row group but the last; by default 131,072, or fewer of 64 MiB.
        partition_by: columns whose values name folders, `year=2026/month=1/part-00000.parquet`,
        which read_parquet reads as columns again; then the path is a new folder, or with
        overwrite=True one in which folders of the same values are replaced.
        Errors as for `collect`, PathError, OptionError, ColumnError.
        """
        given = {"compression": compression, "level": level, "row_group_rows": row_group_rows}
        options = WriteOptions.checked("write_parquet", "parquet", given)
        keys = (partition_by,) if isinstance(partition_by, str) else require_values(
            partition_by, "write_parquet(partition_by=...)"
        )  # fmt: skip
        if keys:
            return self.write_folders(path, Layout(keys, options), overwrite=overwrite)
        return self.write_as(path, options, overwrite)

    @showing(_WRITE_DEFAULTS, WriteOptions.__annotations__)
    def write(self, path: PathLike, *, overwrite: bool = False, **options: Any) -> int:
        """Runs the relation into a .parquet, .arrow, .csv, .ndjson or .json file, of the last two
        also with .gz or .zst; gives the number of rows. options: those of `write_parquet`, for a
        .parquet file; delimiter=";" and header=False, for a .csv file.

        Folders of several ranks, overwrites and errors as for `write_parquet`.
        """
        is_folder = self._dock.over_ranks() is not None and not is_file_name(path)
        kind = "" if is_folder else format_of(path)
        return self.write_as(path, WriteOptions.checked("write", kind, options), overwrite)

    def write_folders(self, path: PathLike, layout: Layout, *, overwrite: bool = False) -> int:
        """Runs the relation into folders by the values of columns. For modules of this project.
        Errors as for `write_parquet`."""
        require_flag(overwrite, "overwrite", "write_parquet")
        layout.check(self.schema)
        if self._dock.over_ranks() is None:
            return write_partitioned(self.to_batches(), self.schema, path, layout, overwrite)
        return self._written(path, layout.options, overwrite, layout.keys)

    def require_target(
        self, path: PathLike, *, overwrite: bool = False, any_name: bool = False
    ) -> None:
        """Refuses what `write` would refuse before anything runs; any_name: but for the ending of
        the file's name. For modules of this project. Errors: PathError, OptionError."""
        ranks = self._dock.over_ranks()

        def check() -> None:
            if ranks is not None and not any_name and not is_file_name(path):
                require_free_folder(path, overwrite)
                return
            if not any_name:
                format_of(path)
            writers.require_target(path, self.files(), overwrite)

        check() if ranks is None else ranks.by_first("write", check)

    def write_as(self, path: PathLike, options: WriteOptions, overwrite: bool) -> int:
        """Runs the relation into a file of a format that its name need not say. For modules of
        this project. Errors as for `write_parquet`."""
        if self._dock.over_ranks() is not None:
            return self._written(path, options, overwrite)
        writers.require_target(path, self.files(), overwrite)
        order = known_order(self.narrowed())
        if order.origin != DECLARED:  # by who may be wrong
            options = replace(options, sorted_by=tuple(one.key for one in order.orders))
        return writers.write_file(self.to_batches(), self.schema, path, options)

    def _written(
        self, path: PathLike, options: WriteOptions, overwrite: bool, keys: tuple[str, ...] = ()
    ) -> int:
        from crossdock.ranks import writing

        execution = self._dock.execution()
        assert not isinstance(execution, Execution)
        destination = writing.Target(path, overwrite, options, keys, tuple(self.files()))
        return writing.write(execution, self.narrowed(), destination)
