"""The dock: worker threads, a memory budget, and the relations opened on them."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from crossdock import _native, sizes
from crossdock.engine.execution import Execution, Tracker
from crossdock.errors import make_error
from crossdock.familiar_options import answering_class, unknown_option
from crossdock.files import pickled_sources  # noqa: F401 - for relations in pickles
from crossdock.files.csv_files import csv_rejects, open_csv
from crossdock.files.csv_options import (
    CSV_DEFAULTS,
    READ_DEFAULTS,
    CsvArguments,
    ReadArguments,
)
from crossdock.files.far_files import FileSystemLike
from crossdock.files.file_sources import FILE_OPTIONS, FileOptions
from crossdock.files.ipc_files import open_ipc
from crossdock.files.json_files import JSON_OPTIONS, json_rejects, open_json
from crossdock.files.parquet_files import open_parquet
from crossdock.files.parquet_keys import Decryption
from crossdock.files.paths import DELTA_LOG, Paths, detect_format, placed
from crossdock.files.sources import ArrowSource, Source, import_arrow
from crossdock.option_checks import require_flag
from crossdock.option_signatures import showing
from crossdock.plan.nodes import Node
from crossdock.plan.planning import plan_scan
from crossdock.relation import Relation

if TYPE_CHECKING:
    from crossdock.device import Device
    from crossdock.group import Group
    from crossdock.ranks.execution import RankExecution
    from crossdock.ranks.members import Ranks
    from crossdock.sql_frontend.queries import Parameters
    from crossdock.sql_frontend.session import SqlSession


@answering_class
class Dock:
    """Where relations are opened and run. Use it in a `with` statement, or call `close()`.

    May be shared between threads; runs of several threads share its workers and its budget. Over
    ranks threads take turns, call by call, and come in the same order in all ranks.
    """

    def __init__(
        self,
        engine: _native.Engine,
        restored: Callable[[Node], Relation],
        ranks: Ranks | None = None,
        owned: Group | None = None,
    ) -> None:
        """Use `connect`. `restored` makes a relation of a query in a pickle. The group `owned` is
        closed with the dock."""
        self._engine: _native.Engine | None = engine
        self._restored = restored
        self._tracker = Tracker()
        self._ranks = ranks
        self._owned = owned
        self._devices: dict[str, Device] = {}
        self._sql: SqlSession | None = None

    def __enter__(self) -> Dock:
        self.engine()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives memory and threads back; relations of this dock cannot be run afterwards.

        Results already collected stay valid. May be called twice.
        """
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.trim()
        self._devices.clear()
        group, self._owned, self._ranks = self._owned, None, None
        if group is not None:
            group.close()

    def read_parquet(
        self,
        paths: Paths,
        *,
        union_by_name: bool = True,
        hive_partitioning: bool | None = None,
        filename: bool | str = False,
        filesystem: FileSystemLike | None = None,
        decryption: Decryption | None = None,
    ) -> Relation:
        """A relation over a Parquet file, folder, glob ("2024/**/*.parquet", "{a,b}.parquet") or
        list of files; URLs (file, http, https, s3, gs, az, abfs; others if fsspec knows them);
        bytes, buffers and files that are open for bytes. Files in folders and globs whose names
        begin with "." or "_" are left out.

        Reads the footers, no rows. Columns are matched by name: a file without a column has NULL
        there, and types are widened to what holds the values of all.
        union_by_name: False for files that must all have the same columns. hive_partitioning:
        whether folders `name=value` are columns, integers, dates or strings; by default those of a
        folder or glob. Filters on them leave whole files out. filename: True, or the name of a
        column, for the path of each row's file. filesystem: of pyarrow.fs or fsspec, in which the
        paths are. decryption: of encrypted files, pyarrow's FileDecryptionProperties, or its
        CryptoFactory and KmsConnectionConfig as a pair; pyarrow reads such files.
        Errors: PathError, DataError (not Parquet; columns without a common type, which it names
        with the files), OptionError, ClosedError.
        """
        options = FileOptions.checked(
            "read_parquet", union_by_name, hive_partitioning, filename, filesystem
        )
        return self._open(open_parquet, paths, options, decryption)

    def read_ipc(
        self,
        paths: Paths,
        *,
        union_by_name: bool = True,
        hive_partitioning: bool | None = None,
        filename: bool | str = False,
        filesystem: FileSystemLike | None = None,
    ) -> Relation:
        """A relation over Arrow IPC files (.arrow, .feather, .ipc) and streams (.arrows): file,
        folder, glob or list. Options as for read_parquet.

        Errors: PathError, DataError, OptionError, ClosedError.
        """
        options = FileOptions.checked(
            "read_ipc", union_by_name, hive_partitioning, filename, filesystem
        )
        return self._open(open_ipc, paths, options)

    @showing(CSV_DEFAULTS, CsvArguments.__annotations__)
    def read_csv(
        self,
        paths: Paths,
        *,
        union_by_name: bool = True,
        hive_partitioning: bool | None = None,
        filename: bool | str = False,
        filesystem: FileSystemLike | None = None,
        **options: Unpack[CsvArguments],
    ) -> Relation:
        """A relation over CSV files: file, folder, glob or list; named options as for read_parquet.

        header: whether the first line has the names. names: those of all columns, in its place;
        without both they are column0, column1, ... skip: lines before the header. delimiter: one
        character; by default , ; tab or |, by the first lines. quote, escape: a character, or
        None. comment: begins lines to leave out. null_values: what stands for NULL. encoding: as
        Python names it. decimal: "." or ",". types: Arrow types of columns by name, where the ones
        inferred from the first block of each file are not right. ragged: "error" for rows of
        another number of values, or "skip" them, or "fill" them up with empty ones. bad_values:
        "error" for rows with a value that is none of its column's type, or "skip" them.
        Errors: PathError, DataError, ColumnError (a type for no column), OptionError, ClosedError.
        """
        files = FileOptions.checked(
            "read_csv", union_by_name, hive_partitioning, filename, filesystem
        )
        return self._open(open_csv, paths, options, files)

    @showing(CSV_DEFAULTS, CsvArguments.__annotations__)
    def read_csv_rejects(
        self,
        paths: Paths,
        *,
        filesystem: FileSystemLike | None = None,
        **options: Unpack[CsvArguments],
    ) -> Relation:
        """A relation over the rows that `read_csv` with these options, ragged="skip" and
        bad_values="skip" leaves out; ragged="fill", or "error" for one of these, leaves it as it
        is there. Of each row: filename, line (from 1), column and value (NULL where it is the
        number of values that is wrong), reason, text. Of several wrong values it has the first.

        Errors: those of read_csv.
        """
        places = FileOptions(filesystem=filesystem)
        return self._open(csv_rejects, paths, options, places)

    def read_json(
        self,
        paths: Paths,
        *,
        types: Mapping[str, Any] | None = None,
        bad_values: str = "error",
        union_by_name: bool = True,
        hive_partitioning: bool | None = None,
        filename: bool | str = False,
        filesystem: FileSystemLike | None = None,
    ) -> Relation:
        """A relation over files of JSON (.ndjson, .jsonl, .json): an object per line, or one array
        of objects; file, folder, glob or list. Named options as for read_parquet.

        Members are columns, nested ones structs and lists. types: Arrow types of columns by name,
        where those inferred from the first 4 MiB of each file are not right; a member that comes
        first behind these is an error unless it is one of them. bad_values: "error" for objects
        that are no JSON, or have a value that is none of its column's type, or such a member, or
        "skip" them.
        Errors: PathError, DataError, OptionError, ClosedError.
        """
        files = FileOptions.checked(
            "read_json", union_by_name, hive_partitioning, filename, filesystem
        )
        return self._open(open_json, paths, types, bad_values, files)

    def read_json_rejects(
        self,
        paths: Paths,
        *,
        types: Mapping[str, Any] | None = None,
        filesystem: FileSystemLike | None = None,
    ) -> Relation:
        """A relation over the objects that `read_json` with bad_values="skip" leaves out: filename,
        line (from 1; the number of the object where there is not one on each line), column and
        value (NULL where the object is no JSON), reason, text. Of several wrong values it has the
        first.

        Errors: those of read_json.
        """
        return self._open(json_rejects, paths, types, FileOptions(filesystem=filesystem))

    def read_delta(
        self, table: Any, *, version: int | None = None, filesystem: FileSystemLike | None = None
    ) -> Relation:
        """A relation over a version of a Delta table: its folder or URL, or a DeltaTable of the
        package deltalake (extra `crossdock[delta]`), which reads the log.

        Filters leave files out by the log's statistics before any of them is opened. version: the
        newest by default. filesystem: in which the files are, where their URLs do not say how they
        are opened.
        Errors: PathError, DataError (deletion vectors, mapped columns), OptionError, ClosedError.
        """
        from crossdock.files.delta_tables import open_delta

        return self._opened(lambda: open_delta(table, version, filesystem))

    def read_iceberg(
        self, table: Any, *, snapshot: int | None = None, filesystem: FileSystemLike | None = None
    ) -> Relation:
        """A relation over a snapshot of an Iceberg table: the path or URL of its metadata file, or
        a Table of the package pyiceberg (extra `crossdock[iceberg]`), which reads the metadata.

        Filters leave files out by the manifests' bounds before any of them is opened. snapshot: the
        current one by default. filesystem: as for read_delta.
        Errors: PathError, DataError (deleted rows in files of their own, renamed columns, files
        that are not Parquet), ClosedError.
        """
        from crossdock.files.iceberg_tables import open_iceberg

        return self._opened(lambda: open_iceberg(table, snapshot, filesystem))

    @showing(READ_DEFAULTS, ReadArguments.__annotations__)
    def read(self, paths: Paths, **options: Unpack[ReadArguments]) -> Relation:
        """A relation over a file, folder, glob or list of files whose format the names' ending
        says, which must be one format; with the options of its reader. A folder with the log of a
        Delta table is read as such.

        Errors: PathError (nothing there, ending not known), DataError, OptionError, ClosedError.
        """
        if isinstance(paths, str | os.PathLike) and (Path(paths) / DELTA_LOG).is_dir():
            return self.read_delta(paths, **options)  # type: ignore[misc]
        openers: dict[str, Callable[..., Relation]] = {
            "parquet": self.read_parquet,
            "ipc": self.read_ipc,
            "csv": self.read_csv,
            "json": self.read_json,
        }
        with self._together("read"):
            paths = placed(paths)
            format = detect_format(paths, options.get("filesystem"))
            of_format = {"csv": tuple(CsvArguments.__annotations__), "json": JSON_OPTIONS}
            known = (*FILE_OPTIONS, *of_format.get(format, ()))
            for name in options:
                if name not in known:
                    raise unknown_option(f"read_{format}", name, known)
        return openers[format](paths, **options)

    def from_arrow(self, data: object, *, replicated: bool = False) -> Relation:
        """A relation over anything that exports Arrow data: pyarrow tables, batches and readers,
        Polars frames, DuckDB relations, pandas frames (of these without an index that has no name).

        Tables are taken without a copy, and Arrow's must not be written to; streams are read to
        their end now. Over ranks the rows are some of all, those that this rank has; with
        replicated=True all ranks have the same rows.
        Errors: TypeError (no Arrow export), ColumnError (a name twice), DataError, ClosedError.
        """
        require_flag(replicated, "replicated", "from_arrow")
        return Relation(self, self.scan(data, replicated))

    def scan(self, data: object, replicated: bool = False) -> Node:
        """What `from_arrow` takes, as a source of a query. For modules of this package."""
        self.engine()
        source = import_arrow(data)
        if self._ranks is not None:
            from crossdock.ranks.shares import plain_table

            assert isinstance(source, ArrowSource)
            may_change = source.may_change
            source = ArrowSource(plain_table(source.data), source.name, is_replicated=replicated)
            source.may_change = may_change
        return plan_scan(source)

    def sql(self, text: str, parameters: Parameters = None) -> Relation:
        """The relation of an SQL statement: lazy for a query, done now for COPY, CREATE VIEW, SET
        and the like, whose relation says what they did.

        FROM knows the names of `register`, files ('orders.parquet', read_csv('x.csv', delim=';'))
        and the caller's variables that hold relations or Arrow data. parameters: values for `?`, in
        order, or for `$name` by name; they are values, and never part of the text.
        Errors: SqlError with the place in the text, and those of opening files.
        """
        return self.sql_session().run(text, parameters, sys._getframe(2))

    def from_substrait(self, plan: bytes, tables: Mapping[str, Relation] | None = None) -> Relation:
        """The relation of a Substrait plan, of `to_substrait` or another engine, over tables by
        their names: those given, or else those that `register` named. Errors: SqlError for what
        relations have not, and for tables that are not there."""
        from crossdock.sql_frontend.interchange import from_substrait

        def find(name: str) -> Relation | None:
            return (tables or {}).get(name) or self.sql_session().catalog.find(name)

        return from_substrait(self, plan, find)

    def register(self, name: str, data: object) -> None:
        """Gives a relation of this dock, or anything `from_arrow` takes, a name for SQL, in
        place of what had it. Case does not count. Errors: OptionError, and those of from_arrow."""
        self.sql_session().catalog.register(name, data)

    def unregister(self, name: str) -> None:
        """Takes a name away again. SqlError if nothing has it."""
        self.sql_session().catalog.unregister(name)

    def sql_session(self) -> SqlSession:
        """The names and settings of SQL, for modules of this project."""
        self.engine()
        if self._sql is None:
            from crossdock.sql_frontend.session import SqlSession

            readers: tuple[Callable[..., Relation], ...] = (
                self.read, self.read_parquet, self.read_ipc, self.read_csv, self.read_json,
                self.read_csv_rejects, self.read_json_rejects, self.read_delta, self.read_iceberg,
            )  # fmt: skip
            self._sql = SqlSession(self, {reader.__name__: reader for reader in readers})
        return self._sql

    def named_nodes(self) -> dict[str, Node]:
        """The queries that `register` gave a name, for modules of this package."""
        return {name: one._node for name, one in self.sql_session().catalog.relations().items()}

    def pickled(self, node: Node) -> tuple[Any, ...]:
        """What a pickle has of a query, for modules of this package. OptionError over ranks, of
        which each has a part."""
        if self._ranks is not None:
            raise make_error(
                "CD-105", "a relation over ranks is not pickled: each rank has a part of its rows",
                try_="connect(ranks='off'), or a pickle of relation.gather()",
            )  # fmt: skip
        return self._restored, (node,)

    def device(self, name: str = "gpu:0", *, memory: str | int | None = None) -> Device:
        """A device for tables that lie there: "gpu:0", or "threads" for the kernels of GPUs on
        threads of this process, to try programs without one. The same each time.

        memory: budget of tables and operators there, in bytes or as "8GiB"; None for four fifths
            of what is free when it is opened.
        Errors: DeviceError (no driver, no such GPU, a build without CUDA), OptionError,
        ClosedError.
        """
        self.engine()
        if name not in self._devices:
            from crossdock.device import Device

            self._devices[name] = Device(name, memory)
        elif memory is not None:
            raise make_error(
                "CD-105", f"the device {name!r} is open, and its memory budget given",
                try_=f"device({name!r})",
            )  # fmt: skip
        return self._devices[name]

    @property
    def is_open(self) -> bool:
        """Whether it has not been closed."""
        return self._engine is not None

    @property
    def rank(self) -> int:
        """The number of this process among those of the dock, from 0; 0 where it is alone."""
        return 0 if self._ranks is None else self._ranks.rank

    @property
    def size(self) -> int:
        """How many processes the dock is over."""
        return 1 if self._ranks is None else self._ranks.size

    @property
    def group(self) -> Group | None:
        """The ranks of the dock, for channels of your own; None where it is alone."""
        return None if self._ranks is None else self._ranks.group

    @property
    def threads(self) -> int:
        """Worker threads."""
        return self.engine().threads

    @property
    def memory_limit_bytes(self) -> int:
        """The budget of the operators."""
        return self.engine().memory_limit_bytes

    @property
    def memory_used_bytes(self) -> int:
        """Bytes in use now; memory kept for the next run is not counted (see trim)."""
        return self.engine().memory_used_bytes

    @property
    def memory_peak_bytes(self) -> int:
        """The most that was in use at once since the last run of this dock began."""
        return self.engine().memory_peak_bytes

    def trim(self) -> None:
        """Gives memory kept for the next run back to the system."""
        self.engine().trim()

    def progress(self) -> tuple[str, int, int] | None:
        """(phase, rows done, rows in all; 0 = not known) of what runs now, or None.

        Meant to be called from another thread while a relation runs.
        """
        return self._tracker.progress()

    def engine(self) -> _native.Engine:
        """The engine, for modules of this package. ClosedError after `close()`."""
        if self._engine is None:
            raise make_error(
                "CD-501", "the dock is closed", try_="run relations inside `with xd.connect()`"
            )
        return self._engine

    def execution(self, profiling: bool = False) -> Execution | RankExecution:
        """A new run on this dock, for modules of this package. ClosedError after `close()`."""
        alone = Execution(self.engine(), self._tracker, profiling)
        if self._ranks is None:
            return alone
        from crossdock.ranks.execution import RankExecution

        return RankExecution(alone, self._ranks)

    def over_ranks(self) -> Ranks | None:
        """What the ranks of the dock do together, for modules of this package."""
        return self._ranks

    def random_bits(self, count: int) -> int:
        """So many, in all ranks the same, for modules of this package."""
        return secrets.randbits(count) if self._ranks is None else self._ranks.random_bits(count)

    def __getattr__(self, name: str) -> NoReturn:
        from crossdock.familiar_names import FAMILIAR_OF_DOCKS

        ours = FAMILIAR_OF_DOCKS.get(name)
        hint = f"; here it is {ours}" if ours else ""
        raise AttributeError(f"a dock has no {name}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        if self._engine is None:
            return "crossdock.Dock (closed)"
        limit = sizes.format_bytes(self.memory_limit_bytes)
        place = "" if self._ranks is None else f"rank {self.rank} of {self.size}, "
        return f"crossdock.Dock ({place}{self.threads} threads, memory budget {limit})"

    def _open(self, opener: Callable[..., Source], paths: Paths, *arguments: Any) -> Relation:
        self.engine()
        place = placed(paths)
        return self._opened(lambda: opener(place, *arguments))

    def _opened(self, opener: Callable[[], Source]) -> Relation:
        self.engine()
        if self._ranks is None:
            return Relation(self, plan_scan(opener()))
        from crossdock.ranks.session import open_share

        return Relation(self, plan_scan(open_share(self._ranks, opener)))

    def _together(self, name: str) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if self._ranks is None else self._ranks.call(name)
