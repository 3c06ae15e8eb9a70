"""Partitions of a relation: what `partition_by` gives."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crossdock.engine.execution import Execution
from crossdock.errors import unknown_choice
from crossdock.files.paths import PathLike
from crossdock.files.replacement import replacing_folder, require_free_folder
from crossdock.files.writers import WriteOptions, write_file
from crossdock.plan import pushdown
from crossdock.plan.nodes import Partition
from crossdock.query_dock import QueryDock
from crossdock.ranks.placement import parts_of

if TYPE_CHECKING:
    import pyarrow as pa

    from crossdock.ranks.execution import RankExecution
    from crossdock.reports.explain import Plan
    from crossdock.reports.profile import Profile

_FORMATS = {"parquet": "parquet", "arrow": "ipc", "csv": "csv"}


class Partitions:
    """The rows of a relation in parts. `len()` is their number, `[i]` and iteration give parts as
    pyarrow Tables. The relation runs once, when parts are first asked for, and its rows are kept.
    Over ranks each part is in one rank, as `mine` says, and has no rows in others.

    May be shared between threads.
    """

    def __init__(self, dock: QueryDock, node: Partition) -> None:
        self._dock = dock
        self._node = node
        self._lock = threading.Lock()
        self._result: tuple[pa.Table, list[int]] | None = None
        self._rows: list[int] = []  # of all ranks

    @property
    def schema(self) -> pa.Schema:
        """The pyarrow.Schema of every part."""
        return self._node.schema

    @property
    def rows(self) -> list[int]:
        """Number of rows of each part, in whichever rank it is. Runs the relation."""
        self._run()
        return list(self._rows)

    @property
    def mine(self) -> range:
        """The numbers of the parts that are in this rank: all of them where there is one."""
        return range(*parts_of(self._node.partitions, self._dock.rank, self._dock.size))

    def __len__(self) -> int:
        return self._node.partitions

    def __getitem__(self, part: int) -> pa.Table:
        """Part number `part` as a pyarrow.Table, zero copy. Runs the relation. IndexError."""
        number = part + len(self) if part < 0 else part
        if not 0 <= number < len(self):
            raise IndexError(f"part {part} of {len(self)}")
        table, rows = self._run()
        return table.slice(sum(rows[:number]), rows[number])

    def __iter__(self) -> Iterator[pa.Table]:
        table, rows = self._run()
        begin = 0
        for count in rows:
            yield table.slice(begin, count)
            begin += count

    def write(self, folder: PathLike, format: str = "parquet") -> list[Path]:
        """Writes one file per part, part-00000.parquet and so on, also for parts without rows.

        The folder appears under its name when it is complete; it must not exist, or be empty.
        format: parquet, arrow or csv. Gives the paths, by number of the part.
        Errors: PathError, OptionError, and those of running the relation.
        """
        if format not in _FORMATS:
            raise unknown_choice("format", format, _FORMATS, {"ipc": "arrow", "feather": "arrow"})
        target = Path(folder).expanduser()
        names = [f"part-{number:05d}.{format}" for number in range(len(self))]
        options = WriteOptions(_FORMATS[format])
        with self._folder(target) as partial:
            for number, (name, part) in enumerate(zip(names, self, strict=True)):
                if number in self.mine:
                    write_file(part.to_batches(), self.schema, partial / name, options)
        return [target / name for name in names]

    def explain(self, *, read: bool | None = None) -> Plan:
        """The plan, as Relation.explain gives it."""
        from crossdock.reports.explain import explain

        return explain(self._dock.execution(), self._narrowed(), read)

    def profile(self) -> Profile:
        """Runs the relation again, keeps its rows, and gives predicted beside measured times;
        `.table` has the parts one after the other."""
        from crossdock.reports.profile import profiled

        execution = self._dock.execution(profiling=True)

        def run() -> pa.Table:
            with self._lock:
                return self._keep(execution)

        return profiled(execution, run)

    def __repr__(self) -> str:
        from crossdock.reports.display import headline

        state = "not run yet" if self._result is None else f"{sum(self._result[1]):,} rows"
        return f"crossdock.Partitions: {headline(self._node)} ({state})"

    def _run(self) -> tuple[pa.Table, list[int]]:
        with self._lock:
            if self._result is None:
                self._keep(self._dock.execution())
            assert self._result is not None
            return self._result

    def _keep(self, execution: Execution | RankExecution) -> pa.Table:
        self._result = execution.partitions(self._narrowed())
        self._rows = self._result[1]
        if not isinstance(execution, Execution):
            self._rows = execution.ranks.sums("rows of parts", self._rows)
        return self._result[0]

    @contextlib.contextmanager
    def _folder(self, target: Path) -> Iterator[Path]:
        def replacing() -> contextlib.AbstractContextManager[Path]:
            require_free_folder(target)
            return replacing_folder(target)

        ranks = self._dock.over_ranks()
        if ranks is None:
            with replacing() as partial:
                yield partial
            return
        from crossdock.ranks.writing import shared_folder

        with ranks.call("write"), shared_folder(ranks, target, replacing) as partial:
            yield partial

    def require_target(self, path: PathLike) -> None:
        """Refuses what `write` would refuse before anything runs. For modules of this project.
        Errors: PathError."""
        ranks = self._dock.over_ranks()
        if ranks is None:
            require_free_folder(path)
        else:
            ranks.by_first("write", lambda: require_free_folder(path))

    def _narrowed(self) -> Partition:
        node = pushdown.narrow(self._node, frozenset(self._node.schema.names))
        assert isinstance(node, Partition)
        return node
