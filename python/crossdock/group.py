"""Groups: processes that work together, and what they send each other.

    import crossdock as xd
    with xd.join_group() as group:                      # mpirun -n 4 python program.py
        mine = group.exchange(table, by="customer")     # all rows of some customers

All ranks make the same calls in the same order. A process that nothing else started is a group of
one, so that a program runs alone as it does among many.
"""

from __future__ import annotations

import contextlib
import json
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from crossdock import _native, sizes
from crossdock.channel import Channel, opened_rows
from crossdock.control import Tls, read_pem, unless_tls
from crossdock.errors import (
    ControlError,
    make_error,
    public_errors,
    wire_text,
)
from crossdock.expressions.orders import Order
from crossdock.files.sources import bare_schema
from crossdock.machines.routes import hashed_to, range_of, routing
from crossdock.option_checks import require_integer
from crossdock.settings import check_environment, seconds_setting, setting
from crossdock.values.type_checks import checking_engine

_TRACE_NOTES_MAX = 1 << 24
_REASON_MOST = 800


def join_group(
    *,
    rank: int | None = None,
    ranks: int | None = None,
    meet: str | os.PathLike[str] | None = None,
    control: str | None = None,
    job: str | None = None,
    token: str | None = None,
    tls: Tls | bool = False,
    insecure: bool = False,
    memory: str | int | None = None,
    transports: str = "auto",
    devices: Sequence[str] = (),
    open_within_s: float | None = None,
    step_within_s: float | None = None,
    lost_after_s: float = 10.0,
) -> Group:
    """Joins the processes that were started together with this one.

    By itself: under mpirun or `srun --mpi=pmix` these say who takes part; CROSSDOCK_RANK and
    CROSSDOCK_RANKS do it elsewhere, with CROSSDOCK_MEET or CROSSDOCK_CONTROL and CROSSDOCK_JOB; a
    process that was given nothing is a group of one. Or as `rank` of `ranks` that meet under
    the name `job`, which no other group uses: at `meet`, the address of a `Rendezvous` (which has a
    job already) or a folder which all can write to, or through `control`, the address of the agent
    of this machine (`crossdock agent --listen`).
    token, tls, insecure: how the agent is spoken to, as in `crossdock.control.connect`.

    memory: budget of channels and of rows that are kept for `recv`, as for `connect`.
    transports: "auto", or of "shm", "tcp" and "ucx" those that may be used, as in "shm,ucx".
    devices: network devices to use; none means all that have an address.
    open_within_s: how long the ranks wait for each other, to join and to open a channel; None for
        CROSSDOCK_OPEN_WITHIN_S, or 30. More where ranks start one by one, as pods do.
    step_within_s: how long a rank waits for the others in each step of bulk transfers and in
        `gather`; None for CROSSDOCK_STEP_WITHIN_S, or 120. More where their work is unequal.
    lost_after_s: a rank on another host that was silent for so long is lost; 1 or more, the same in
        all ranks.
    Returns when all ranks are there. Errors: OptionError, ControlError (CD-617: ranks that did not
    come in time; CD-611: no agent, or no controller).
    """
    check_environment()
    options: dict[str, Any] = {"how": _how(rank, ranks, meet, control)}
    if options["how"] in ("folder", "control"):
        options |= {
            "rank": require_integer(rank, "join_group(rank=...) takes a number", "rank=0"),
            "ranks": require_integer(ranks, "join_group(ranks=...) takes a number", "ranks=2"),
        }
    if options["how"] == "folder":
        options |= {"folder": os.fspath(meet or ""), "job": job or ""}
    if options["how"] == "control":
        options |= {"address": control or "", "job": job or "", "is_insecure": insecure}
        options |= _credentials(token, tls)
    options["step_within_s"] = seconds_setting("step_within_s", step_within_s)
    budget = setting("memory", None if memory is None else str(memory))
    try:
        with public_errors():
            native = _native.Group.join(
                sizes.parse_bytes(budget),
                transports=transports,
                devices=",".join(devices),
                open_within_s=seconds_setting("open_within_s", open_within_s),
                lost_after_s=float(lost_after_s),
                **options,
            )
    except ControlError as error:
        raise unless_tls(error, options) from None
    group = Group(native, options["step_within_s"])
    if options["how"] == "environment":
        global _launched_group
        _launched_group = weakref.ref(group)
    return group


def launched_group() -> Group | None:
    """The ranks that were started with this process, if they have been joined and not been left."""
    group = None if _launched_group is None else _launched_group()
    return group if group is not None and group.is_open else None


_launched_group: weakref.ref[Group] | None = None


class Group:
    """The ranks of a job. Use it in a `with` statement. One thread at a time, save `abort`."""

    def __init__(self, native: _native.Group, step_within_s: float) -> None:
        """Use `join_group`."""
        self._native: _native.Group | None = native
        self._step_within_s = step_within_s
        self._channels: weakref.WeakSet[Channel] = weakref.WeakSet()
        self._exchange_facts: dict[str, Any] | None = None

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""
        return self.native().rank

    @property
    def size(self) -> int:
        """How many there are."""
        return self.native().size

    def channel(
        self,
        schema: Any,
        *,
        by: str | Sequence[str] | None = None,
        to: str | None = None,
        bounds: Any = None,
        assignment: Sequence[int] | None = None,
        broadcast: bool = False,
        sources: Iterable[int] | None = None,
        destinations: Iterable[int] | None = None,
        segment_bytes: str | int = "256KiB",
        slots: int | None = None,
        memory: str | int = "1GiB",
        open_within_s: float | None = None,
    ) -> Channel:
        """Opens a channel for rows of `schema` (a pyarrow.Schema, or what has one). All ranks call
        it alike, in the same order as other calls that concern all.

        Where rows go: `by` names columns, and rows of equal values go to one destination (of one
        integer column: its value modulo the number of destinations); `to` names an integer column
        that holds the destination's number; broadcast=True sends all rows to all; none of these
        leaves it to `send(rows, to=...)`.
        bounds: a table by which rows go by ascending ranges of `by`, the same in all ranks: those
            columns, one row less than there are destinations, ascending. A row goes to the number
            of bounds that are not above it, and NULL to the last.
        assignment: the destination of each of so many partitions, a power of two of them; rows are
            in partitions by a hash of `by`, also where that is one integer column.
        sources, destinations: ranks; None means all. A destination's number is its place in
            `destinations`: its rank, if that is all of them.
        segment_bytes, slots: rows travel in segments of about this size, of which each pair of
            ranks has `slots`, a power of two; None: 8, and 16 or 32 between hosts where a rank has
            few pairs, and so no more than 32 MiB of them. A segment of narrow rows is smaller,
            since it holds 262,143 rows at most. memory: what segments may take in one process.
        open_within_s: how long ranks wait for each other here; None: as the group was joined.
        Errors: ColumnError, TypeError (a type that cannot travel), OptionError, CapacityError,
        ControlError (a rank that did not come).
        """
        rows = _schema_of(schema)
        options = self._route(
            rows,
            by,
            {
                "to": to,
                "bounds": bounds,
                "assignment": assignment,
                "broadcast": broadcast,
                "sources": sources,
                "destinations": destinations,
            },
        )
        options["segment_bytes"] = sizes.parse_bytes(segment_bytes, "segment_bytes", "256KiB")
        if slots is not None:
            options["slot_bits"] = _slot_bits(slots)
        options["memory_bytes"] = sizes.parse_bytes(memory, "memory", "1GiB")
        if open_within_s is not None:
            options["open_within_s"] = seconds_setting("open_within_s", open_within_s)
        with public_errors():
            native = self.native().channel(rows, **options)
        channel = Channel(native, rows, self.rank, is_named=options["sends"] == "named")
        self._channels.add(channel)
        return channel

    def exchange(
        self,
        rows: Any,
        *,
        by: str | Sequence[str] | None = None,
        how: str = "channel",
        threads: int = 1,
        **options: Any,
    ) -> pa.Table:
        """The rows of all ranks that belong to this one, as a pyarrow.Table: rows whose columns
        `by` are equal come to one rank; or with to="column" those with its number. Dictionaries
        arrive as their values; the order of rows is not defined.

        `rows` is a table or anything else that exports Arrow data, of the same schema everywhere; a
        relation runs while its rows are sent. options: those of `channel`.
        how: "channel"; "bulk", which counts all rows first and then places each with `threads`
            threads, in the order of ranks and of their rows, needs ranks that MPI started, and has
            no use for sizes of channels; "auto", which is bulk where all ranks can.
        """
        if by is None and options.get("to") is None:
            raise make_error("CD-105", "exchange() has no rule for where rows go", try_='by="k"')
        with public_errors():
            goes_in_bulk = self.native().goes_in_bulk(how)
        if goes_in_bulk:
            table = self.move(rows, threads=threads, by=by, **options)
            self.native().raise_interruption()
            return table
        rows = opened_rows(rows)
        schema = _schema_of(rows)
        with self.channel(schema, by=by, **options) as channel:
            if channel.is_source:
                channel.send(rows)
            received = list(channel) if channel.is_destination else []
        return pa.Table.from_batches(received, _received_schema(schema))

    @property
    def exchange_facts(self) -> dict[str, Any] | None:
        """Of this rank's last exchange in bulk: its phases with their seconds, rows and bytes, what
        was sent, the order of puts, and whether integers were packed. None before the first."""
        return self._exchange_facts

    def move(
        self,
        rows: Any,
        *,
        threads: int = 1,
        named: Any = None,
        orders: Sequence[Order] = (),
        **options: Any,
    ) -> pa.Table:
        """The rows of all ranks that belong to this one, in bulk: by the rule of `exchange`; by
        `named`, a buffer of uint16 with a rank for each row; by an order over all ranks; or all of
        them to all `destinations`. For modules of this package, which raise what a signal has
        raised meanwhile. The others get the error of a rank that fails before it says where its
        rows go."""
        native = self.native()
        try:
            rows = opened_rows(rows)
            if not hasattr(rows, "__arrow_c_stream__"):
                rows = pa.Table.from_batches([pa.record_batch(rows)])
            schema = _schema_of(rows)
            route = self._route(schema, options.pop("by", None), options)
            if named is not None:
                route["named"] = named
            if orders:
                route["order"] = [
                    (schema.names.index(order.column), order.descending, order.nulls_first)
                    for order in orders
                ]
            if route["sends"] == "named":
                route["sends"] = "broadcast"
            with public_errors():
                table = _native.Table.from_stream(checking_engine(), rows)
        except BaseException as error:
            native.refuse_exchange(wire_text(error))
            raise
        with public_errors():
            moved, facts = native.exchange(table, threads, **route)
        self._exchange_facts = json.loads(facts)
        return pa.RecordBatchReader.from_stream(moved).read_all()

    def _route(
        self, schema: pa.Schema, by: str | Sequence[str] | None, given: dict[str, Any]
    ) -> dict[str, Any]:
        """Where rows go, as options of the engine."""
        options = routing(schema, by, given.get("to"), bool(given.get("broadcast")))
        if given.get("bounds") is not None:
            options |= range_of(given["bounds"], by)
        if given.get("assignment") is not None:
            options |= hashed_to(given["assignment"], by)
        options["sources"] = self._ranks(given.get("sources"), "sources")
        options["destinations"] = self._ranks(given.get("destinations"), "destinations")
        return options

    def broadcast(
        self, rows: Any, *, root: int = 0, schema: pa.Schema | None = None, **options: Any
    ) -> pa.Table:
        """The rows of rank `root`, in all ranks, as a pyarrow.Table. Others pass rows=None, with
        the `schema` of what they will get. options: those of `channel`."""
        rows = None if rows is None else opened_rows(rows)
        columns = _schema_of(rows if schema is None else schema)
        with self.channel(columns, broadcast=True, sources=[root], **options) as channel:
            if channel.is_source:
                channel.send(rows)
            received = list(channel)
        return pa.Table.from_batches(received, _received_schema(columns))

    def collect(self, rows: Any, *, root: int = 0, **options: Any) -> pa.Table | None:
        """The rows of all ranks, in rank `root`, as a pyarrow.Table; None in the others. Their
        order is not defined. options: those of `channel`."""
        rows = opened_rows(rows)
        schema = _schema_of(rows)
        with self.channel(schema, destinations=[root], **options) as channel:
            channel.send(rows, to=0)
            received = list(channel) if channel.is_destination else []
        if self.rank != root:
            return None
        return pa.Table.from_batches(received, _received_schema(schema))

    def gather(self, note: bytes = b"", *, at_most_s: float | None = None) -> list[bytes]:
        """A few bytes of each rank, by rank, in all of them; also a barrier. Rows do not go this
        way. at_most_s: how long to wait; None: `step_within_s` of the group. Errors:
        ControlError (CD-617: ranks that did not come in time)."""
        with public_errors():
            limit_s = self._step_within_s if at_most_s is None else at_most_s
            gathered = self.native().gather(note, limit_s)
        self.native().raise_interruption()
        return gathered

    def abort(self, reason: str) -> None:
        """Ends the work of all ranks: what they do together, now or later, ends in each of them
        with ControlError (CD-617), which has this rank and the reason, the first 800 characters of
        it. For a rank that cannot go on, or whose framework says that another is lost; the group
        can only be closed then. From any thread, also while another one waits for ranks.
        """
        if not isinstance(reason, str) or not reason:
            raise make_error(
                "CD-105", f"abort(reason={reason!r}) takes a text", try_='abort("worker 3 is lost")'
            )
        self.native().abort(reason[:_REASON_MOST])

    def counters(self) -> dict[str, Any]:
        """What this rank counts: of its channels that are open, and of the links to other hosts.
        docs/reference-counters.md says what each number is; `to_prometheus` makes text of them."""
        with public_errors():
            links = self.native().links()
        channels = []
        for channel in list(self._channels):
            # One that another thread closes meanwhile counts no more.
            with contextlib.suppress(ControlError):
                channels.append(channel.counters())
        channels.sort(key=lambda counts: counts["channel"])
        return {"rank": self.rank, "channels": channels, "links": links}

    @contextlib.contextmanager
    def trace(self, path: str | os.PathLike[str], *, notes: int = 1 << 18) -> Iterator[None]:
        """Traces the segments of all channels while the block runs, in all ranks, and writes what
        all noted to `path` in rank 0: for ui.perfetto.dev or chrome://tracing.

        All ranks use it alike, around the same calls. Each thread keeps up to `notes` notes, of
        which a segment needs one to three; the file says how many found no room. A rank whose block
        ends by an error writes what it noted itself, with its rank before the suffix of the name.
        Errors: OptionError (a trace runs already), CapacityError, ControlError, OSError.
        """
        number = require_integer(notes, "trace(notes=...) takes a number", "notes=100_000")
        if not 1 <= number <= _TRACE_NOTES_MAX:
            raise make_error(
                "CD-105", f"trace(notes={number})", limits=f"1 to {_TRACE_NOTES_MAX:,}",
                try_="notes=100_000",
            )  # fmt: skip
        native = self.native()
        with public_errors():
            native.start_trace(number)
        target = Path(path)
        try:
            self.gather()  # no rank begins before all of them note
            yield
        except BaseException:
            own_file = target.with_name(f"{target.stem}.rank{self.rank}{target.suffix}")
            own_file.write_text(native.finish_trace(own=True), encoding="utf-8")
            raise
        with public_errors():
            text = native.finish_trace(own=False)
        if self.rank == 0:
            target.write_text(text, encoding="utf-8")

    def perf(self, pattern: str = "exchange", **options: Any) -> dict[str, Any]:
        """What `crossdock perf` measures, once; for modules of this project."""
        with public_errors():
            return self.native().perf(pattern=pattern, **options)

    def native(self) -> _native.Group:
        """The group of the engine, for modules of this package. ClosedError after `close()`."""
        if self._native is None:
            raise make_error(
                "CD-501", "the group is closed", try_="work inside `with xd.join_group()`"
            )
        return self._native

    @property
    def is_open(self) -> bool:
        """Whether it has not been closed."""
        return self._native is not None

    def close(self) -> None:
        """Leaves the group. Received rows stay valid. May be called twice."""
        self._native = None

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._native is None:
            return "crossdock.Group (closed)"
        return f"crossdock.Group (rank {self.rank} of {self.size})"

    def _ranks(self, ranks: Iterable[int] | None, option: str) -> list[int]:
        if ranks is None:
            return list(range(self.size))
        numbers = [
            require_integer(rank, f"channel({option}=...) takes ranks", f"{option}=[0]")
            for rank in ranks
        ]
        different = set(numbers)
        if not numbers or len(different) < len(numbers) or not different <= set(range(self.size)):
            raise make_error(
                "CD-105",
                f"channel({option}={numbers}) are not ranks of the group",
                limits=f"different ones of 0 to {self.size - 1}, at least one",
                try_=f"{option}=[0]",
            )
        return numbers


def _how(rank: int | None, ranks: int | None, meet: object, control: object) -> str:
    given = [value is not None for value in (rank, ranks, meet, control)]
    if all(given[:2]) and sum(given[2:]) == 1:
        return "control" if given[3] else "folder"
    if any(given):
        raise make_error(
            "CD-105",
            "join_group() needs all of rank, ranks and either meet or control, or none of them",
            try_='join_group(rank=0, ranks=2, meet="/tmp/job-1")',
        )
    return "environment" if _native.launch_variable() else "alone"


def _credentials(token: str | None, tls: Tls | bool) -> dict[str, Any]:
    files = tls if isinstance(tls, Tls) else Tls()
    return {
        "token": setting("control_token", token),
        "uses_tls": bool(tls),
        "ca_pem": read_pem(files.ca),
        "certificate_pem": read_pem(files.certificate),
        "key_pem": read_pem(files.key),
    }


def _schema_of(rows: Any) -> pa.Schema:
    """The schema of what is sent, without metadata."""
    schema = rows if isinstance(rows, pa.Schema) else getattr(rows, "schema", None)
    if isinstance(schema, pa.Schema):
        return bare_schema(schema)
    if hasattr(rows, "__arrow_c_schema__"):
        return bare_schema(pa.schema(rows))
    raise make_error(
        "CD-506",
        f"{type(rows).__name__} has no Arrow schema",
        try_='pyarrow.schema([("k", "int64")]), or a pyarrow.Table',
    )


def _received_schema(schema: pa.Schema) -> pa.Schema:
    """Dictionaries arrive as their values, which may be NULL."""
    fields = [
        field.with_type(field.type.value_type).with_nullable(True)
        if pa.types.is_dictionary(field.type)
        else field
        for field in schema
    ]
    return pa.schema(fields)


def _slot_bits(slots: int) -> int:
    number = require_integer(slots, "channel(slots=...) takes a power of two", "slots=8")
    if number < 1 or number & (number - 1):
        raise make_error(
            "CD-105", f"channel(slots={slots!r}) is no power of two", limits="1 to 65,536",
            try_="slots=8",
        )  # fmt: skip
    return number.bit_length() - 1
