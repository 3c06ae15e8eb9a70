"""Runs a narrowed query: joins in the engine, the little around them with pyarrow.

One `Execution` is one run, used by one thread; another thread may read its `tracker`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.aggregates import Aggregate, fold, narrowed_sum
from crossdock.errors import CrossdockError, ExpressionError, public_errors, stream_errors
from crossdock.evaluation import evaluate, keep_rows, mask_of
from crossdock.expressions import Column
from crossdock.nodes import AggregateAll, Filter, Join, Node, Project, Scan
from crossdock.streaming import call_interruptibly, interruptible, read_stream

# Pairs of rows above which a join gets a thread of its own, so that this one can see Ctrl-C; below,
# even a result of all pairs is short.
_LONG_PAIRS = 1 << 28


@dataclass(frozen=True)
class Step:
    """One measured step of a run: a scan, a join, a filter ..."""

    node: Node
    seconds: float
    rows: int
    profile: str = ""  # JSON of the engine, for joins


class Tracker:
    """What runs now, for progress bars. Written by the running thread, read by any."""

    def __init__(self) -> None:
        self._join: _native.Join | None = None
        self._reading: tuple[str, int] | None = None

    def reading(self, name: str, rows: int) -> None:
        """A source is being read; `rows` is 0 where the number is not known."""
        self._reading, self._join = (name, rows), None

    def joining(self, join: _native.Join) -> None:
        """A join runs."""
        self._reading, self._join = None, join

    def idle(self) -> None:
        """Nothing runs."""
        self._reading = self._join = None

    def progress(self) -> tuple[str, int, int] | None:
        """(phase, rows done, rows in all; 0 = not known), or None when nothing runs."""
        join, reading = self._join, self._reading
        if join is not None:
            return join.progress()
        return (f"read {reading[0]}", 0, reading[1]) if reading is not None else None


class Execution:
    """One run of one query on an engine."""

    def __init__(self, engine: _native.Engine, tracker: Tracker, profiling: bool = False) -> None:
        self.engine = engine
        self.tracker = tracker
        self.profiling = profiling
        self.steps: list[Step] = []
        self._residual_error: CrossdockError | None = None
        self._may_be_long = False

    def table(self, node: Node) -> Any:
        """The whole result as a pyarrow.Table."""
        if isinstance(node, Scan):
            self.tracker.reading(node.source.name, 0)
            start = time.perf_counter()
            found = node.source.table(node.columns, node.predicate)
            self._record(node, start, found.num_rows)
            return found
        if isinstance(node, Join):
            return self._run_join(node, lambda join: read_stream(join.collect()))
        if isinstance(node, Filter):
            return keep_rows(self.table(node.input), node.predicate)
        if isinstance(node, Project):
            return _project(node, self.table(node.input))
        return self._aggregate(node)

    def batches(self, node: Node) -> Iterator[Any]:
        """The result as RecordBatches, in bounded memory beside the inputs of joins."""
        if isinstance(node, Scan):
            with stream_errors():
                yield from node.source.reader(node.columns, node.predicate)
        elif isinstance(node, Join):
            join = self.join(node)
            self.tracker.joining(join)
            try:
                with self._run_errors():
                    reader = pa.RecordBatchReader.from_stream(join.stream())
                    yield from interruptible(reader, join.cancel)
            finally:
                self.tracker.idle()
        elif isinstance(node, Filter):
            for batch in self.batches(node.input):
                kept = keep_rows(batch, node.predicate)
                if kept.num_rows:
                    yield kept
        elif isinstance(node, Project):
            for batch in self.batches(node.input):
                yield _project(node, batch)
        else:
            yield from self._aggregate(node).to_batches()

    def count(self, node: Node) -> int:
        """Number of result rows, without building them where a node can tell."""
        if isinstance(node, Scan):
            return node.source.count_rows(node.predicate)
        if isinstance(node, Join):
            return int(self._run_join(node, _native.Join.count))
        if isinstance(node, Project):
            return self.count(node.input)
        if isinstance(node, AggregateAll):
            return 1
        return sum(batch.num_rows for batch in self.batches(node))

    def join(self, node: Join) -> _native.Join:
        """The planned join, its inputs read; nothing joined yet."""
        left, left_names = self.native(node.left)
        right, right_names = self.native(node.right)
        self._may_be_long = left.num_rows * right.num_rows > _LONG_PAIRS
        options = node.options

        def located(outputs: tuple[tuple[str, str, str], ...]) -> list[tuple[str, str, str]]:
            return [
                (side, (right_names if side == "right" else left_names)[column], name)
                for side, column, name in outputs
            ]

        with public_errors():
            return _native.Join(
                self.engine,
                left,
                right,
                on=[(left_names[a], right_names[b]) for a, b in node.on],
                how=node.how,
                output=located(node.outputs),
                null_equals_null=options.null_equals_null,
                strategy=options.strategy,
                build=options.build,
                materialize=options.materialize,
                filter=options.filter,
                partition_bits=options.partition_bits,
                batch_rows=options.batch_rows,
                residual=self._residual(node),
                residual_columns=located(node.residual_columns),
            )

    def native(self, node: Node) -> tuple[_native.Table, dict[str, str]]:
        """The result as a table of the engine, and node column -> column of that table."""
        if isinstance(node, Project):
            renames = node.renames()
            if renames is not None:
                found, names = self.native(node.input)
                return found, {name: names[source] for name, source in renames.items()}
        start = time.perf_counter()
        if isinstance(node, Scan):
            self.tracker.reading(node.source.name, 0)
            with public_errors():
                found = node.source.native(self.engine, node.columns, node.predicate)
        elif isinstance(node, Join):
            found = self._run_join(
                node, lambda join: _native.Table.from_stream(self.engine, join.collect())
            )
        else:
            reader = pa.RecordBatchReader.from_batches(node.schema, self.batches(node))
            found = self._from_stream(reader)
        if not isinstance(node, Join):
            self._record(node, start, found.num_rows)
        return found, {name: name for name in node.schema.names}

    def _from_stream(self, source: object) -> _native.Table:
        with public_errors():
            return _native.Table.from_stream(self.engine, source)

    def _run_join(self, node: Join, run: Callable[[_native.Join], Any]) -> Any:
        join = self.join(node)
        self.tracker.joining(join)
        start = time.perf_counter()
        try:
            with self._run_errors():
                found = call_interruptibly(lambda: run(join), join.cancel, self._may_be_long)
        finally:
            self.tracker.idle()
        self._record(node, start, 0, join)
        return found

    @contextlib.contextmanager
    def _run_errors(self) -> Iterator[None]:
        """Public errors of a running join; what a residual predicate raised comes out itself."""
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

        def keep(pairs: Any) -> Any:
            try:
                return mask_of(predicate, pa.record_batch(pairs))
            except CrossdockError as error:
                self._residual_error = error
                raise

        return keep

    def _record(
        self, node: Node, start: float, rows: int, join: _native.Join | None = None
    ) -> None:
        if self.profiling:
            seconds = time.perf_counter() - start
            self.steps.append(Step(node, seconds, rows, join.profile() if join else ""))

    def _aggregate(self, node: AggregateAll) -> Any:
        aggregates = tuple(item for _, item in node.items)
        columns = {item.column for item in aggregates if item.column is not None}
        if not columns:
            rows = self.count(node.input)
            values = [pa.scalar(rows, pa.int64()) for _ in aggregates]
        elif isinstance(node.input, Join) and _engine_can_fold(node):
            return self._aggregate_join(node, node.input)
        else:
            values = fold(aggregates, node.input.schema, self.batches(node.input))
        arrays = [pa.array([v], f.type) for v, f in zip(values, node.schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=node.schema)

    def _aggregate_join(self, node: AggregateAll, input_join: Join) -> Any:
        """Aggregates in the engine, over pairs of rows that are never built."""
        items = [(item.function, item.column or "") for _, item in node.items]
        once = list(dict.fromkeys(items))
        row = self._run_join(input_join, lambda join: read_stream(join.aggregate(once)))
        arrays = []
        for (function, column), field in zip(items, node.schema, strict=True):
            found = row.column(f"{function}_{column}" if column else function)
            arrays.append(found if found.type == field.type else narrowed_sum(found, field))
        return pa.Table.from_arrays(arrays, schema=node.schema)


def _engine_can_fold(node: AggregateAll) -> bool:
    """True where the engine takes every aggregate: count of anything, sums of numbers, least and
    largest of numbers, dates and times."""
    schema = node.input.schema

    def takes(item: Aggregate) -> bool:
        if item.column is None or item.function == "count":
            return True
        column_type = schema.field(item.column).type
        kinds = [pa.types.is_integer, pa.types.is_decimal128, pa.types.is_float32]
        kinds += [pa.types.is_float64]
        kinds += [] if item.function == "sum" else [pa.types.is_date, pa.types.is_timestamp]
        return any(is_kind(column_type) for is_kind in kinds)

    return all(takes(item) for _, item in node.items)


def _project(node: Project, rows: Any) -> Any:
    """The projection of a Table or RecordBatch, of the node's schema."""
    arrays = []
    for (_, item), field in zip(node.items, node.schema, strict=True):
        array = rows.column(item.name) if isinstance(item, Column) else evaluate(item, rows)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return type(rows).from_arrays(arrays, schema=node.schema)
