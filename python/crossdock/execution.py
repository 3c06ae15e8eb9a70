"""Runs a narrowed query: its operators in the engine, the little around them with pyarrow.

One `Execution` is one run, used by one thread; another thread may read its `tracker`.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.engine_types import (
    empty_table,
    engine_schema,
    engine_table,
    to_engine,
    with_schema,
)
from crossdock.errors import (
    CrossdockError,
    ExpressionError,
    public_errors,
    stream_errors,
)
from crossdock.evaluation import evaluate, keep_rows, mask_of
from crossdock.expressions import Column
from crossdock.fusion import fuse, unfused
from crossdock.keyless_groups import column_of, counts_rows, narrowed, needs_no_groups
from crossdock.late_columns import Splitter, has_late, residual_schema, whole_rows
from crossdock.lowering import lower_group, unused_name
from crossdock.native_plans import (
    ReadScan,
    UnplannedError,
    has_several_steps,
    native_plan,
    reads_files,
    runs_as_plan,
    window_query,
)
from crossdock.nodes import (
    AssumeSorted,
    Filter,
    GroupBy,
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
    Window,
    inputs_of,
)
from crossdock.operations import (
    Named,
    Operation,
    plan_native_group,
    plan_native_join,
    plan_native_partition,
    plan_native_sort,
)
from crossdock.sampling import sample_fraction, sample_rows
from crossdock.streaming import interruptible, limited_batches, read_stream

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
        self._next: tuple[Operated, Operation] | None = None
        self._splitter = Splitter(self.table)
        self._places: dict[Node, list[int]] = {}  # of groupings: columns of the operator's rows

    def unread_query(self, node: Node) -> _native.Query | None:
        """As `query`, over inputs without rows, to look at. Reads nothing."""
        plan = self._planned_query(node, self._without_rows)
        return None if plan is None else _native.Query(self.engine, plan)

    def query(self, node: Node) -> _native.Query | None:
        """The node as one query of the engine, its inputs read; None where something in it needs
        Python, or where it is one operator, which runs as it is."""
        self._input_rows = 0

        def read(scan: Scan) -> Named:
            table, names = self._native_rows(scan)
            self._input_rows += table.num_rows
            return table, names

        plan = self._planned_query(node, read)
        if plan is None:
            return None
        like = self._without_rows(node)[0]
        return _native.Query(self.engine, plan, self.profiling, self.without, like)

    def _planned_query(self, node: Node, read: ReadScan) -> _native.Plan | None:
        if has_late(node) or not runs_as_plan(node):
            return None
        if needs_no_groups(node) and not has_several_steps(inputs_of(node)[0]):
            return None  # the one join below counts or adds up pairs that it never makes
        try:
            with public_errors():
                return native_plan(node, read)
        except UnplannedError:
            return None

    def _without_rows(self, node: Node) -> Named:
        with public_errors():
            table = engine_table(self.engine, empty_table(node.schema))
        return table, {name: name for name in node.schema.names}

    def table(self, node: Node) -> Any:
        """The whole result as a pyarrow.Table."""
        query = self.query(node)
        if query is not None:
            start = time.perf_counter()
            with self.tracker.during(query), self._run_errors():
                rows = read_stream(query.collect())
            self._record(node, start, rows.num_rows, query)
            return with_schema(rows, node.schema)
        if isinstance(node, Scan):
            start = time.perf_counter()
            with self.tracker.during(node.source.name):
                found = node.source.table(node.columns, node.predicate)
            self._record(node, start, found.num_rows)
            return found
        if isinstance(node, GroupBy) and not node.keys:
            row = self._row_without_groups(node)
            if row is not None:
                return row
        if isinstance(node, Operated):
            return self._run(node, lambda run: self._whole(node, read_stream(run.collect())))
        if isinstance(node, Filter):
            return keep_rows(self.table(node.input), node.predicate)
        if isinstance(node, Project):
            return _project(node, self.table(node.input))
        if isinstance(node, Union) and node.schema.names:  # concat_tables counts by the columns
            tables = [self.table(below).select(node.schema.names) for below in node.inputs]
            return pa.concat_tables([with_schema(table, node.schema) for table in tables])
        if isinstance(node, AssumeSorted):
            return self.table(node.input)
        return pa.Table.from_batches(self.batches(node), node.schema)

    def batches(self, node: Node) -> Iterator[Any]:
        """The result as RecordBatches, in bounded memory beside the inputs of operators."""
        query = self.query(node)
        if query is not None:
            yield from self._query_batches(node, query)
        elif isinstance(node, Scan):
            with stream_errors():
                yield from node.source.reader(node.columns, node.predicate)
        elif isinstance(node, GroupBy) and not node.keys:
            yield from self.table(node).to_batches()
        elif isinstance(node, Operated):
            yield from self._stream(node)
        elif isinstance(node, Filter):
            for batch in self.batches(node.input):
                kept = keep_rows(batch, node.predicate)
                if kept.num_rows:
                    yield kept
        elif isinstance(node, Project):
            for batch in self.batches(node.input):
                yield _project(node, batch)
        elif isinstance(node, Limit):
            yield from limited_batches(self.batches(node.input), node.rows, node.offset)
        elif isinstance(node, Sample):
            yield from self._sampled(node)
        elif isinstance(node, Union):
            for below in node.inputs:
                for batch in self.batches(below):
                    yield with_schema(batch.select(node.schema.names), node.schema)
        else:
            yield from self.batches(node.input)

    def _query_batches(self, node: Node, query: _native.Query) -> Iterator[Any]:
        with self.tracker.during(query), self._run_errors():
            reader = pa.RecordBatchReader.from_stream(query.stream(_QUEUED_BATCHES))
            for batch in interruptible(reader, query.cancel):
                yield with_schema(batch, node.schema)

    def count(self, node: Node) -> int:
        """Number of result rows, without building them where a node can tell."""
        if isinstance(node, Scan) and node.predicate is None:
            return node.source.count_rows(None)
        query = self.query(node)
        if query is not None:
            with self.tracker.during(query), self._run_errors():
                return int(query.count())
        if isinstance(node, Scan):
            return node.source.count_rows(node.predicate)
        if isinstance(node, GroupBy) and not node.keys:
            return 1
        if isinstance(node, Join | GroupBy):
            return int(self._run(node, lambda operation: operation.count()))
        if isinstance(node, Project | AssumeSorted | Partition | Window):
            return self.count(node.input)
        if isinstance(node, Union):
            return sum(self.count(below) for below in node.inputs)
        if isinstance(node, Limit | Sort):
            rows = max(0, self.count(node.input) - node.offset)
            most = node.rows if isinstance(node, Limit) else node.limit
            return rows if most is None else min(rows, most)
        if isinstance(node, Sample) and node.rows is not None:
            return min(node.rows, self.count(node.input))
        return sum(batch.num_rows for batch in self.batches(node))

    def plan(self, node: Operated) -> dict[str, Any]:
        """What an operator would do, its inputs read. If it runs next, this is not done again."""
        operation = self.operation(node)
        self._next = (node, operation)
        return dict(json.loads(operation.plan()))

    def _planned(self, node: Operated) -> Operation:
        planned, self._next = self._next, None
        return planned[1] if planned is not None and planned[0] is node else self.operation(node)

    def operation(self, node: Operated) -> Operation:
        """The planned operator, its inputs read; nothing run yet; no late columns in its rows."""
        return self._operation(self._splitter.split(node).node)

    def _operation(self, node: Node) -> Operation:
        if isinstance(node, Join):
            return self._join(node)
        if isinstance(node, GroupBy):
            lowered = lower_group(node)
            fused = fuse(lowered.input)
            if fused.where and not lowered.takes_mask:
                fused = unfused(lowered.input)
            table = self.native(fused.table)
            with public_errors():
                found = plan_native_group(self.engine, lowered, fused, self._sized(table))
            self._places[node] = found[1]
            return found[0]
        if isinstance(node, Window):
            return window_query(self.engine, node, self._sized(self.native(node.input)))
        assert isinstance(node, Sort | Partition)
        table = self.native(node.input)
        with public_errors():
            if isinstance(node, Sort):
                return plan_native_sort(self.engine, node, self._sized(table))
            return plan_native_partition(self.engine, node, self._sized(table))

    def _join(self, node: Join) -> _native.Join:
        """The planned join, its inputs read; nothing joined yet."""
        if node.arrived is not None:
            self._input_rows = node.arrived.rows
            arrived: _native.RankSides = node.arrived
            return arrived.join(self.engine)
        left, right = self.native(node.left), self.native(node.right)
        left_rows, right_rows = left[0].num_rows, right[0].num_rows
        self._input_rows = left_rows + right_rows
        with public_errors():
            return plan_native_join(self.engine, node, (left, right), self._residual(node))

    def partitions(self, node: Partition) -> tuple[Any, list[int]]:
        """The rows of all partitions, one after the other, and the number of rows of each."""
        found: list[_native.Partition] = []

        def run(operation: Any) -> Any:
            found.append(operation)
            return self._whole(node, read_stream(operation.collect()))

        return self._run(node, run), found[0].counts()

    def native(self, node: Node) -> Named:
        """The result as a table of the engine, and node column -> column of that table."""
        if isinstance(node, AssumeSorted):
            return self.native(node.input)
        if isinstance(node, Project):
            renames = node.renames()
            if renames is not None:
                found, names = self.native(node.input)
                return found, {name: names[source] for name, source in renames.items()}
            return self._computed(node, takes_mask=False)[0]
        return self._native_rows(node)

    def _native_rows(self, node: Node) -> Named:
        if isinstance(node, Operated):
            return self._native_result(node)
        start = time.perf_counter()
        if isinstance(node, Scan) and not reads_files(node):
            with self.tracker.during(node.source.name), public_errors():
                found = node.source.native(self.engine, node.columns, node.predicate)
        else:
            found = self._streamed(node)
        self._record(node, start, found.num_rows)
        return found, {name: name for name in node.schema.names}

    def _streamed(self, node: Node) -> _native.Table:
        """The batches of a node as a table of the engine. What making one raises stays as it is."""
        raised: list[BaseException] = []

        def batches() -> Iterator[Any]:
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

    def _computed(self, node: Node, takes_mask: bool) -> tuple[Named, str]:
        """The same for a node with filters and projections at its top, which the engine computes if
        it can: columns into new ones, and filters, if they may, into a bool column that says which
        rows they keep; its name, or "" where rows that are not kept are not there."""
        fused = fuse(node)
        if not fused.is_fused or (fused.where and not takes_mask):
            return self._native_rows(node), ""
        table, names = self.native(fused.table)
        if any(column != name for name, column in names.items()):
            return self._native_rows(node), ""
        start = time.perf_counter()
        taken = {*table.column_names, *(name for name, _ in fused.computed)}
        mask = unused_name("kept", taken) if fused.where else ""
        with public_errors():
            found = _native.compute_columns(
                self.engine, table, list(fused.computed), where=fused.where, mask=mask
            )
        self._record(node, start, found.num_rows)
        return (found, fused.names), mask

    def _native_result(self, node: Operated) -> Named:
        if isinstance(node, GroupBy) and not node.keys:
            with public_errors():
                found = engine_table(self.engine, self.table(node))
        else:
            found = self._run(
                node, lambda run: _native.Table.from_stream(self.engine, run.collect(compact=False))
            )
        names = found.column_names
        places = self._places.get(node, range(len(names)))
        named = [names[place] for place in places]
        return found, dict(zip(node.schema.names, named, strict=True))

    def _sized(self, table: Named) -> Named:
        self._input_rows = table[0].num_rows
        return table

    def _run(self, node: Operated, run: Callable[[Any], Any]) -> Any:
        operation = self._planned(node)
        start = time.perf_counter()
        with self.tracker.during(operation), self._run_errors():
            found = run(operation)
        self._record(node, start, 0, operation)
        return found

    def _stream(self, node: Operated) -> Iterator[Any]:
        operation = self._planned(node)
        with self.tracker.during(operation), self._run_errors():
            reader = pa.RecordBatchReader.from_stream(operation.stream())
            for batch in interruptible(reader, operation.cancel):
                yield self._whole(node, batch)

    def _whole(self, node: Operated, rows: Any) -> Any:
        """Rows of the operator that `operation` planned, with the names, types and late columns of
        the node."""
        split = self._splitter.split(node)
        places = self._places.get(split.node)
        return split.whole(rows if places is None else rows.select(places))

    def _sampled(self, node: Sample) -> Iterator[Any]:
        batches = self.batches(node.input)
        if node.rows is not None:
            return sample_rows(batches, node.rows, node.seed)
        assert node.fraction is not None
        return sample_fraction(batches, node.fraction, node.seed)

    @contextlib.contextmanager
    def _run_errors(self) -> Iterator[None]:
        """Public errors of a running operator; what a residual predicate raised comes out as
        it was."""
        try:
            with stream_errors(), public_errors():
                yield
        except ExpressionError:
            raised, self._residual_error = self._residual_error, None
            if raised is None:
                raise
            raise raised.with_traceback(None) from None

    def _residual(self, node: Join) -> Callable[[Any], object] | None:
        """The predicate as the engine calls it: a struct of candidate pairs in, booleans out."""
        predicate = node.residual
        if predicate is None:
            return None
        schema = residual_schema(node)
        seen = self._splitter.residuals.get(node, (schema, {}))

        def keep(pairs: Any) -> Any:
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
            found = self._splitter.origin(node)
            self.steps.append(Step(found, seconds, rows, profile, self._input_rows))

    def _row_without_groups(self, node: GroupBy) -> Any:
        """The row of aggregates that need no grouping: counts of rows, and what a join adds up over
        pairs of rows that are never built. None where the input must be gone through."""
        if not needs_no_groups(node):
            return None
        items = [item for _, item in node.items]
        if not isinstance(node.input, Join) or counts_rows(node):
            rows = self.count(node.input)
            return pa.Table.from_arrays([pa.array([rows])] * len(items), schema=node.schema)
        asked = [(item.function, column_of(item.argument)) for item in items]
        once = list(dict.fromkeys(asked))
        row = self._run(node.input, lambda join: read_stream(join.aggregate(once)))
        found = [row.column(f"{f}_{column}" if column else f) for f, column in asked]
        fields = zip(found, node.schema, strict=True)
        return pa.Table.from_arrays([narrowed(a, f) for a, f in fields], schema=node.schema)


def _project(node: Project, rows: Any) -> Any:
    """The projection of a Table or RecordBatch, of the node's schema."""
    arrays = []
    for (_, item), field in zip(node.items, node.schema, strict=True):
        array = rows.column(item.name) if isinstance(item, Column) else evaluate(item, rows)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return type(rows).from_arrays(arrays, schema=node.schema)
