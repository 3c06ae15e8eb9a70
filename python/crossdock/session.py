"""The dock: worker threads, a memory budget, and the relations opened on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from crossdock import _native, sizes
from crossdock.errors import make_error, public_errors
from crossdock.execution import Execution, Tracker
from crossdock.paths import PathLike, Paths, detect_format
from crossdock.planning import plan_scan
from crossdock.relation import Relation
from crossdock.settings import check_environment, setting
from crossdock.sources import Source, import_arrow, open_csv, open_ipc, open_parquet


def connect(threads: int | None = None, memory: str | int | None = None) -> Dock:
    """Opens a dock on this machine.

    threads: worker threads; None or 0 means one per core (or CROSSDOCK_THREADS).
    memory: budget of the operators in bytes, or a size such as "8GiB"; None or 0 means 80 % of
        the memory this process may use (or CROSSDOCK_MEMORY). Data of sources do not count.
    Errors: OptionError for a bad value or a misspelled CROSSDOCK_* variable.
    Cost: well below a millisecond; the first call in a process also imports pyarrow. Thread-safe.
    """
    check_environment()
    wanted_threads = setting("threads", None if threads is None else str(threads))
    wanted_memory = setting("memory", None if memory is None else str(memory))
    if not wanted_threads.isdecimal():
        raise make_error(
            "CD-105",
            f"threads={wanted_threads!r} is not a number of threads",
            try_="threads=0 for one per core",
        )
    with public_errors():
        return Dock(_native.Engine(int(wanted_threads), sizes.parse_bytes(wanted_memory)))


class Dock:
    """Where relations are opened and run. Use it in a `with` statement, or call `close()`.

    May be shared between threads; runs of several threads share its workers and its budget.
    """

    def __init__(self, engine: _native.Engine) -> None:
        self._engine: _native.Engine | None = engine
        self._tracker = Tracker()

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

    def read_parquet(self, paths: Paths) -> Relation:
        """A relation over a Parquet file, folder, glob or list of files.

        Reads the schema from the footer, no rows. Folders may be partitioned as `name=value/`.
        Errors: PathError, DataError (not Parquet), ClosedError.
        """
        return self._open(open_parquet, paths)

    def read_ipc(self, paths: Paths) -> Relation:
        """A relation over Arrow IPC files (.arrow, .feather, .ipc): file, folder, glob or list.

        Errors: PathError, DataError, ClosedError.
        """
        return self._open(open_ipc, paths)

    def read_csv(
        self, paths: Paths, *, delimiter: str | None = None, types: Mapping[str, Any] | None = None
    ) -> Relation:
        """A relation over CSV files with a header line: file, folder, glob or list.

        delimiter: by default "," and for .tsv a tab. types: Arrow types of columns by name, where
        the ones inferred from the first block of the first file are not right.
        Errors: PathError, DataError, ColumnError (a type for no column), OptionError, ClosedError.
        """
        return self._open(open_csv, paths, delimiter, types or {})

    def read(self, path: PathLike) -> Relation:
        """A relation over a file, folder or glob whose format is told by the names' ending.

        Errors: PathError (nothing there, ending not known), DataError, ClosedError.
        """
        openers = {"parquet": self.read_parquet, "ipc": self.read_ipc, "csv": self.read_csv}
        return openers[detect_format(path)](path)

    def from_arrow(self, data: object) -> Relation:
        """A relation over anything that exports Arrow data: pyarrow tables, batches and readers,
        Polars frames, DuckDB relations, pandas frames.

        Tables are taken without a copy; streams are read to their end now.
        Errors: TypeError (no Arrow export), ColumnError (a name twice), DataError, ClosedError.
        """
        return self._open(import_arrow, data)

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

    def execution(self, profiling: bool = False) -> Execution:
        """A new run on this dock, for modules of this package. ClosedError after `close()`."""
        return Execution(self.engine(), self._tracker, profiling)

    def __repr__(self) -> str:
        if self._engine is None:
            return "crossdock.Dock (closed)"
        limit = sizes.format_bytes(self.memory_limit_bytes)
        return f"crossdock.Dock ({self.threads} threads, memory budget {limit})"

    def _open(self, opener: Callable[..., Source], *arguments: Any) -> Relation:
        self.engine()
        return Relation(self, plan_scan(opener(*arguments)))
