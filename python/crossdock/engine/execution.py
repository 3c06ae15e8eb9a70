"""Runs a narrowed query: one plan of the engine, and the little around it with pyarrow.

One `Execution` is one run, used by one thread; another thread may read its `tracker`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakMethod

import pyarrow as pa

from crossdock import _native
from crossdock.engine.late_columns import Split, Splitter, residual_schema, whole_rows
from crossdock.engine.list_columns import grouped_lists, lists_of_frames, unnested
from crossdock.engine.native_plans import (
    Named,
    Operation,
    is_streamed_here,
    native_plan,
    plan_native_partition,
    reads_files,
)
from crossdock.errors import (
    CrossdockError,
    ExpressionError,
    public_errors,
    stream_errors,
)
from crossdock.expressions.evaluation import evaluate, keep_rows, mask_of
from crossdock.expressions.expression import Column
from crossdock.plan.nodes import (
    AssumeSorted,
    Draws,
    Filter,
    FirstShare,
    FrameLists,
    GroupLists,
    Join,
    Limit,
    Node,
    Operated,
    Partition,
    Project,
    Sample,
    Scan,
    Sort,
    Union,
    Unnest,
    Window,
    kept_with,
    reads_memory_only,
)
from crossdock.values.arrow_kinds import Rows
from crossdock.values.engine_types import (
    engine_schema,
    engine_table,
    to_engine,
    with_schema,
)
from crossdock.values.sampling import sample_fraction, sample_rows, with_random
from crossdock.values.streaming import (
    in_pieces,
    interruptible,
    limited_batches,
    read_stream,
    unawaited,
)

# Of a batch that pyarrow computes columns of at once: lists of a range of 50 numbers each, of 2
# million rows, take 0.44 s where all at once take 2.6.
_PIECE_ROWS = 1 << 16
_QUEUED_BATCHES = 2  # of a query whose reader is behind: each may be 20 MB, and more are under way


@dataclass(frozen=True)
class Step:
    """One measured step of a run: a table read or made for the engine, or an operator of it."""

    node: Node
    seconds: float
    rows: int
    profile: str = ""  # JSON of the engine, for operators
    input_rows: int = 0  # of an operator: of all its inputs


class Tracker:
    """What runs now, for progress bars. Written by the running thread, read by any."""

    def __init__(self) -> None:
        self._now: Operation | str | None = None

    @contextlib.contextmanager
    def during(self, now: Operation | str) -> Iterator[None]:
        """While an operator runs, or a source of that name is read."""
        self._now = now
        try:
            yield
        finally:
            self._now = None

    def progress(self) -> tuple[str, int, int] | None:
        """(phase, rows done, rows in all; 0 = not known), or None when nothing runs."""
        now = self._now
        if now is None:
            return None
        return (f"read {now}", 0, 0) if isinstance(now, str) else now.progress()


class Execution:
    """One run of one query on an engine."""

    without: tuple[str, ...] = ()  # rules of the engine that are switched off, for tests

    def __init__(self, engine: _native.Engine, tracker: Tracker, profiling: bool = False) -> None:
        self.engine = engine
        self.tracker = tracker
        self.profiling = profiling
        self.steps: list[Step] = []
        self._residual_error: CrossdockError | None = None
        self._input_rows = 0
        self._is_lasting = False  # of the plan that is being made: it does as well for other runs
        # In no circle: what ranks put into windows would lie there until Python's collector runs.
        self._splitter = Splitter(WeakMethod(self.table))

    def table(self, node: Node) -> pa.Table:
        """The whole result as a pyarrow.Table."""
        if not is_streamed_here(node):
            return self._run(node, lambda run: self._whole(node, read_stream(run.collect())))
        if isinstance(node, Scan):
            start = time.perf_counter()
            with self.tracker.during(node.source.name):
                rows = node.source.table(node.columns, node.predicate)
            self._record(node, start, rows.num_rows)
            return rows
        return pa.Table.from_batches(self.batches(node), node.schema)

    def batches(self, node: Node) -> Iterator[pa.RecordBatch]:
        """The result as RecordBatches, in bounded memory beside the inputs of operators."""
        if is_streamed_here(node):
            yield from self._streamed_here(node)
            return
        operation = self.operation(node)
        with self.tracker.during(operation), self._run_errors():
            reader = pa.RecordBatchReader.from_stream(operation.stream(_QUEUED_BATCHES))
            for batch in interruptible(reader, operation.cancel):
                yield self._whole(node, batch)

    def count(self, node: Node) -> int:
        """Number of result rows, without building them where a node can tell."""
        if isinstance(node, Scan):
            is_known = node.predicate is None and node.source.known_rows() is not None
            if is_known or is_streamed_here(node):
                return node.source.count_rows(node.predicate)
        if isinstance(node, Project | AssumeSorted | Partition | Window | FrameLists | Draws):
            return self.count(node.input)
        if isinstance(node, Union):
            return sum(self.count(below) for below in node.inputs)
        if isinstance(node, Limit | Sort):
            rows = max(0, self.count(node.input) - node.offset)
            most = node.rows if isinstance(node, Limit) else node.limit
            return rows if most is None else min(rows, most)
        if isinstance(node, Sample) and node.rows is not None:
            return min(node.rows, self.count(node.input))
        if is_streamed_here(node):
            return sum(batch.num_rows for batch in self.batches(node))
        return int(self._run(node, lambda run: run.count()))

    def operation(self, node: Node) -> Operation:
        """What the engine runs for a node, its inputs read; nothing run yet. Its rows have no late
        columns."""
        self._input_rows = 0
        flat = self._split(node).node
        if isinstance(flat, Partition):
            table = self.native(flat.input)
            self._input_rows = table[0].num_rows
            with public_errors():
                return plan_native_partition(self.engine, flat, table)
        return self._query(flat, self._plan_of(flat))

    def _plan_of(self, node: Node) -> _native.Plan:
        """Kept with the node where all that it reads are tables in memory: a query that comes again
        is not planned again."""
        kept = kept_with(node)
        engine, lasting = kept.get("plan", (None, None))
        if engine is self.engine and lasting is not None and not self.profiling:
            plan: _native.Plan = lasting
            return plan
        self._is_lasting = reads_memory_only(node)
        with public_errors():
            plan = native_plan(node, self._read, self._residual)
        if self._is_lasting:
            kept["plan"] = self.engine, plan
        return plan

    def unread_operation(self, node: Node) -> Operation:
        """The same over inputs without rows, to look at. Reads nothing; `node` has no late columns,
        and is no Partition."""
        with public_errors():
            plan = native_plan(node, self._without_rows, self._residual)
        return self._query(node, plan)

    def partitions(self, node: Partition) -> tuple[pa.Table, list[int]]:
        """The rows of all partitions, one after the other, and the number of rows of each."""
        planned: list[_native.Partition] = []

        def run(operation: _native.Partition) -> pa.Table:
            planned.append(operation)
            return self._whole(node, read_stream(operation.collect()))

        return self._run(node, run), planned[0].counts()

    def native(self, node: Node) -> Named:
        """The result as a table of the engine, and node column -> column of that table."""
        if isinstance(node, AssumeSorted):
            return self.native(node.input)
        if isinstance(node, Project) and (renames := node.renames()) is not None:
            rows, names = self.native(node.input)
            return rows, {name: names[source] for name, source in renames.items()}
        if is_streamed_here(node) or (isinstance(node, Scan) and not reads_files(node)):
            return self._read(node)
        rows = self._run(
            node, lambda run: _native.Table.from_stream(self.engine, run.collect(compact=False))
        )
        return rows, {name: name for name in node.schema.names}

    def _query(self, node: Node, plan: _native.Plan) -> _native.Query:
        like = self._without_rows(node)[0]
        with public_errors():
            return _native.Query(self.engine, plan, (self.profiling, self.without), like)

    def _without_rows(self, node: Node) -> Named:
        with public_errors():
            # pyarrow's empty_table() would import pandas where it is installed.
            table = engine_table(self.engine, pa.Table.from_batches([], node.schema))
        return table, {name: name for name in node.schema.names}

    def _read(self, node: Node) -> Named:
        """The rows of what a plan does not have, for a plan."""
        is_lasting = self._is_lasting and isinstance(node, Scan) and node.predicate is None
        start = time.perf_counter()
        if isinstance(node, Scan) and not reads_files(node):
            with self.tracker.during(node.source.name), public_errors():
                rows = node.source.native(self.engine, node.columns, node.predicate)
        else:
            rows = self._as_table(node)
        self._record(node, start, rows.num_rows)
        self._input_rows += rows.num_rows
        self._is_lasting = is_lasting  # whatever other plans were made to read them
        return rows, {name: name for name in node.schema.names}

    def _as_table(self, node: Node) -> _native.Table:
        """The batches of a node as a table of the engine. What making one raises stays as it is."""
        raised: list[BaseException] = []

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from self.batches(node)
            except BaseException as error:
                raised.append(error)
                raise

        schema = engine_schema(node.schema)
        reader = pa.RecordBatchReader.from_batches(schema, map(to_engine, batches()))
        try:
            with public_errors():
                return _native.Table.from_stream(self.engine, reader)
        except CrossdockError:
            if not raised or isinstance(raised[0], GeneratorExit):
                raise
            raise raised.pop().with_traceback(None) from None

    def _streamed_here(self, node: Node) -> Iterator[pa.RecordBatch]:
        if isinstance(node, Scan):
            with stream_errors():
                reader = node.source.reader(node.columns, node.predicate)
                yield from unawaited(reader) if node.source.files else reader
        elif isinstance(node, Filter):
            for batch in self.batches(node.input):
                kept = keep_rows(batch, node.predicate)
                if kept.num_rows:
                    yield kept
        elif isinstance(node, Project):
            for batch in in_pieces(self.batches(node.input), _PIECE_ROWS):
                yield _project(node, batch)
        elif isinstance(node, Limit):
            yield from limited_batches(self.batches(node.input), node.rows, node.offset)
        elif isinstance(node, FirstShare):
            yield from self._first_share(node)
        elif isinstance(node, Draws):
            items = [(each.name, each.kind, each.seed) for each in node.items]
            yield from with_random(self.batches(node.input), items, node.schema)
        elif isinstance(node, Sample):
            yield from self._sampled(node)
        elif isinstance(node, GroupLists):
            yield from grouped_lists(node, self.table).to_batches()
        elif isinstance(node, FrameLists):
            yield from lists_of_frames(node, self.table(node.input))
        elif isinstance(node, Unnest):
            yield from unnested(node, self.batches(node.input))
        elif isinstance(node, Union):
            for below in node.inputs:
                for batch in self.batches(below):
                    yield with_schema(batch.select(node.schema.names), node.schema)
        else:
            assert isinstance(node, AssumeSorted)
            yield from self.batches(node.input)

    def _first_share(self, node: FirstShare) -> Iterator[pa.RecordBatch]:
        rows = self.table(node.input)
        most = int(node.fraction * rows.num_rows)
        return limited_batches(iter(rows.to_batches()), most, node.offset)

    def _sampled(self, node: Sample) -> Iterator[pa.RecordBatch]:
        batches = self.batches(node.input)
        if node.rows is not None:
            return sample_rows(batches, node.rows, node.seed)
        assert node.fraction is not None
        return sample_fraction(batches, node.fraction, node.seed)

    def _split(self, node: Node) -> Split:
        if isinstance(node, Operated):
            return self._splitter.split(node)
        return Split(node, node.schema)

    def _run(self, node: Node, run: Callable[[Any], Any]) -> Any:
        operation = self.operation(node)
        start = time.perf_counter()
        with self.tracker.during(operation), self._run_errors():
            result = run(operation)
        self._record(node, start, 0, operation)
        return result

    def _whole(self, node: Node, rows: Rows) -> Rows:
        """Rows of the operation of a node with the names, types and late columns of the node."""
        return self._split(node).whole(rows)

    @contextlib.contextmanager
    def _run_errors(self) -> Iterator[None]:
        """Public errors of a running operation; what a residual predicate raised comes out as
        it was."""
        try:
            with stream_errors(), public_errors():
                yield
        except ExpressionError:
            raised, self._residual_error = self._residual_error, None
            if raised is None:
                raise
            raise raised.with_traceback(None) from None

    def _residual(self, node: Join) -> Callable[[Any], object]:
        """The predicate as the engine calls it: a struct of candidate pairs in, booleans out."""
        self._is_lasting = False
        predicate = node.residual
        assert predicate is not None
        schema = residual_schema(node)
        seen = self._splitter.residuals.get(node, (schema, {}))

        def keep(pairs: object) -> pa.Array:
            try:
                rows = with_schema(pa.record_batch(pairs), schema)
                return mask_of(predicate, whole_rows(rows, *seen))
            except CrossdockError as error:
                self._residual_error = error
                raise

        return keep

    def _record(
        self, node: Node, start: float, rows: int, operation: Operation | None = None
    ) -> None:
        if self.profiling:
            seconds = time.perf_counter() - start
            profile = operation.profile() if operation else ""
            step = Step(self._splitter.origin(node), seconds, rows, profile, self._input_rows)
            self.steps.append(step)


def _project(node: Project, rows: pa.RecordBatch) -> pa.RecordBatch:
    """The projection of a Table or RecordBatch, of the node's schema."""
    arrays = []
    for (_, item), field in zip(node.items, node.schema, strict=True):
        array = rows.column(item.name) if isinstance(item, Column) else evaluate(item, rows)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return type(rows).from_arrays(arrays, schema=node.schema)
