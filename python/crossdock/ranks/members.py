"""The ranks of a dock: what they agree on, and how rows go between them.

All ranks make the same calls in the same order. At each step every rank says how it fares, so an
error of one ends the call of all with the same error, which names the rank. Threads of a rank take
turns: each has the dock for a whole call, in the order in which they came. Where there are several,
their names say whether those of other ranks have come in the same order.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import random
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from crossdock.engine.late_columns import late_names
from crossdock.errors import (
    ControlError,
    CrossdockError,
    make_error,
    part,
    public_errors,
    wire_text,
)
from crossdock.expressions.orders import Order
from crossdock.group import Group
from crossdock.plan.nodes import Exchange, Node
from crossdock.ranks import notes as rank_notes
from crossdock.ranks.calls import call_text
from crossdock.ranks.late_moves import PIECES, move_late, packed, unpacked
from crossdock.ranks.moves import (
    EAGERLY,
    Filtered,
    JoinRoute,
    Move,
    Route,
    arriving,
    can_go_eagerly,
    conformed,
    move_by_channel,
    move_in_bulk,
    packed_eagerly,
    segment_bytes,
    unpacked_eagerly,
)
from crossdock.ranks.notes import Note
from crossdock.settings import setting
from crossdock.values.engine_types import engine_schema, to_engine, with_schema
from crossdock.values.row_taking import table_bytes

_WAIT_S = 3e7  # about a year: ranks wait for one that works, and learn at once of one that died
_INTERRUPTED_S = 10.0
_INTERRUPTED = "it was interrupted (Ctrl-C)"
# As Group.exchange calls them.
_HOW = {"auto": "auto", "bulk": "bulk", "channels": "channel"}


class Turns:
    """A queue of threads, of which the first may act."""

    def __init__(self) -> None:
        self._waiting: deque[int] = deque()
        self._changed = threading.Condition()
        self.threads: set[int] = set()  # that have come so far

    def is_mine(self) -> bool:
        """Whether this thread has the turn already."""
        with self._changed:
            return bool(self._waiting) and self._waiting[0] == threading.get_ident()

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Waits for the turn, and gives it to the next at the end."""
        me = threading.get_ident()
        with self._changed:
            self._waiting.append(me)
            self.threads.add(me)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting[0] == me)
            yield
        finally:
            with self._changed:
                self._waiting.remove(me)
                self._changed.notify_all()


class Ranks:
    """The ranks of a dock, of which there may be one."""

    def __init__(self, group: Group, threads: int = 1, moves: str = "auto") -> None:
        """Collective. threads: of this rank, for moves in bulk. moves: as of `connect`."""
        self.group = group
        self.threads = threads
        self.rank = group.rank
        self.size = group.size
        # Of one call:
        self.moves: list[Move] = []
        self.filters: list[Filtered] = []
        self.join_routes: list[JoinRoute] = []
        self.eager_bytes = _eager_bytes()
        self.in_bulk = False
        self.why_not_in_bulk = ""  # where MPI started the ranks, and they move rows by channel
        self._turns = Turns()
        self._call = ""  # what all ranks are in
        self._agreed = ""  # the last step that all have come to
        self._done = ""  # the step that ends the call
        self._is_together = False
        self._ended: BaseException | None = None
        opened = f"a dock with moves={moves!r}, eager_bytes={self.eager_bytes}"
        said = self.agree(opened, [socket.gethostname(), secrets.randbits(64)])
        self.hosts = [str(host) for host, _ in said]
        self.random_bits = random.Random(said[0][1]).getrandbits  # the same in all ranks
        self._choose(moves)
        # Partitions are finer than ranks, so that their load can be evened out.
        count = 1
        while count < min(16 * self.size, 1 << 16):
            count *= 2
        self.even = tuple(number * self.size // count for number in range(count))

    def _choose(self, moves: str) -> None:
        if self.size == 1:
            return
        with public_errors():
            self.in_bulk = self.group.native().goes_in_bulk(_HOW[moves])
        self.why_not_in_bulk = "" if moves == "channels" else self.group.native().bulk_refusal
        if self.why_not_in_bulk and self.rank == 0:
            logging.getLogger("crossdock").warning(
                "rows move by channel, not in bulk: %s", self.why_not_in_bulk
            )

    @contextlib.contextmanager
    def call(self, name: str, node: Node | None = None) -> Iterator[None]:
        """Around what all ranks do together: it ends when all have done it, or with the first error
        of any of them in all of them. Another thread waits until then. node: the query that is
        run, which must be the same in all ranks but for its data."""
        if self.size == 1 or self._turns.is_mine():
            yield
            return
        done = f"{name}() is done"
        with self._turns.one():
            for record in (self.moves, self.filters, self.join_routes):
                record.clear()
            self._is_together = False
            self._call = call_text(name, node)
            self._done = done
            try:
                yield
                if self._agreed != done:
                    self.agree(done)
            except BaseException as error:
                if error is self._ended or self._agreed == done:
                    raise
                self._tell(name, error)
            finally:
                self._agreed = ""
                self._call = ""
                self._ended = None

    def agree(self, step: str, value: Any = None) -> list[Any]:
        """What each rank passed as JSON can say it, by rank. The error of the first that could not
        go on, or OptionError where ranks make different calls."""
        if self.size == 1:
            return [value]
        notes = self._agreed_on(step, value)
        self.group.native().raise_interruption()
        return [note.value for note in notes]

    def end_call(self) -> None:
        """What all have just agreed on was the last step of the call: nothing can fail after it."""
        self._agreed = self._done

    @contextlib.contextmanager
    def together(self, step: str, has_agreed: bool = False) -> Iterator[None]:
        """Around a call of the engine in which ranks that go in bulk meet again, as often as it
        needs. A signal counts from when that is over: before, no rank would hear of it.
        has_agreed: all have just come to this step, and can go on."""
        self._is_together = self.in_bulk
        if not has_agreed:
            self._agreed_on(step, None)
        yield
        self._is_together = False
        self.group.native().raise_interruption()

    def by_first(self, name: str, act: Callable[[], object]) -> None:
        """What rank 0 does for all; its error is that of all."""
        with self.call(name):
            if self.rank == 0:
                act()
            self.agree(f"{name} goes on")

    def sums(self, step: str, mine: list[int]) -> list[int]:
        """The sums over all ranks, place by place."""
        return [sum(place) for place in zip(*self.agree(step, mine), strict=True)]

    @property
    def how(self) -> str:
        """How rows move, always."""
        return "in bulk" if self.in_bulk else "by channel"

    def planned(self, node: Node, rule: str, keys: Sequence[str] = ()) -> Exchange:
        """What stands in a plan where rows move."""
        return Exchange(node, rule, tuple(keys), self.how)

    def by_partition(
        self, table: pa.Table, keys: Sequence[str], assignment: Sequence[int]
    ) -> pa.Table:
        """The rows of all ranks whose partition, by a hash of `keys`, is assigned to this one."""
        options = {"by": list(keys), "assignment": list(assignment)}
        return self._moved(table, Route("by key", options))

    def by_range(
        self,
        table: pa.Table,
        keys: Sequence[str],
        bounds: pa.Table,
        owners: Sequence[int] | None = None,
    ) -> pa.Table:
        """The rows of all ranks in this one's range of `keys`; `bounds` as of Group.channel, one
        less than there are `owners` of ranges, who are all if it is None."""
        bounds = to_engine(bounds)
        options = {"by": list(keys), "bounds": bounds, "destinations": owners}
        return self._moved(table, Route("by range", options))

    def by_order(self, table: pa.Table, orders: Sequence[Order]) -> pa.Table:
        """The rows of all ranks, by this order, in even parts: rank 0 gets the first ones, of equal
        ones those of the first ranks. Only `in_bulk`."""
        return self._moved(table, Route("by order", orders=tuple(orders)))

    def by_number(self, table: pa.Table, column: str) -> pa.Table:
        """The rows of all ranks for which `column`, which is dropped, holds this one's number."""
        return self._moved(table, Route("by load", to=column))

    def by_piece(self, pieces: Sequence[pa.Table], rule: str = "by order") -> pa.Table:
        """Piece number r of every rank, in rank r, in the order of the ranks."""
        whole = pa.concat_tables(pieces)
        return self._moved(whole, Route(rule, pieces=[piece.num_rows for piece in pieces]))

    def to_all(self, table: pa.Table, rule: str = "to all") -> pa.Table:
        """The rows of all ranks, in each of them."""
        return self._moved(table, Route(rule, {"broadcast": True}))

    def to_one(self, table: pa.Table, root: int = 0) -> pa.Table:
        """The rows of all ranks, in rank `root`, in the order of the ranks; none in the others."""
        return self._moved(table, Route(f"to rank {root}", {"destinations": [root]}))

    def rows_to_one(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """The same as a stream, in bounded memory: rank 0 gets batches of all ranks, in the order
        of the ranks; others send theirs when the iterator is first asked, and get none."""
        batches = _begun(batches)
        if self.rank == 0:
            yield from batches
        for source in range(1, self.size):
            self.agree(f"rows of rank {source} to rank 0")
            options: dict[str, Any] = {"sources": [source], "destinations": [0]}
            options["segment_bytes"] = segment_bytes(self.size)
            has_late = bool(late_names(schema))
            sent_schema = PIECES if has_late else engine_schema(schema)
            with self.group.channel(sent_schema, **options) as channel:
                if channel.is_source:
                    for batch in batches:
                        channel.send(packed(batch) if has_late else to_engine(batch), to=0)
                if channel.is_destination and has_late:
                    for table in unpacked(channel):
                        yield from table.to_batches()
                elif channel.is_destination:
                    for batch in channel:
                        came = conformed(pa.Table.from_batches([batch]), sent_schema)
                        yield from with_schema(came, schema).to_batches()

    def eagerly(self, table: pa.Table, rule: str) -> tuple[list[pa.Table] | None, list[Any]]:
        """The rows of each rank, in all of them, where all together are few; None where they are
        more. And how many rows and bytes each rank has; of none where no rows go eagerly."""
        if not self.eager_bytes:
            return None, []
        notes = self._eager_notes(table, Route(rule))
        self.group.native().raise_interruption()
        return _unpacked(notes, table.schema), [note.value["size"] for note in notes]

    def every(self, rule: str, mine: NDArray[Any]) -> list[bytes]:
        """The bytes of each rank's array, by rank, in one step: for few of them."""
        start = time.perf_counter()
        notes = self._agreed_on(f"all of {rule}", None, mine.tobytes())
        self.group.native().raise_interruption()
        seconds = time.perf_counter() - start
        rows, size = len(mine), mine.nbytes
        move = Move(rule, EAGERLY, rows, size, rows * self.size, size * self.size, seconds)
        self.moves.append(move)
        return [note.rows for note in notes]

    def _eager_notes(self, table: pa.Table, route: Route) -> list[Note]:
        """What all ranks say of their rows, with the rows where those are few."""
        start = time.perf_counter()
        packed = packed_eagerly(table, self.eager_bytes // self.size)
        size = (table.num_rows, table_bytes(table))
        said = {"is_packed": packed is not None, "pieces": list(route.pieces), "size": size}
        notes = self._agreed_on(_step_of(route, table), said, packed or b"")
        if all(note.value["is_packed"] for note in notes):
            sizes = [note.value["size"] for note in notes]
            rows, bytes_of_all = (sum(one[i] for one in sizes) for i in (0, 1))
            seconds = time.perf_counter() - start
            self.moves.append(Move(route.rule, EAGERLY, *size, rows, bytes_of_all, seconds))
        return notes

    def _moved(self, table: pa.Table, route: Route) -> pa.Table:
        if self.size == 1:
            return table.drop_columns([route.to]) if route.to else table
        has_late = bool(late_names(table.schema))
        # Where ranks have agreed to go eagerly and cannot, nothing may fail before they move.
        flat = table if has_late else to_engine(table)
        is_tried = bool(self.eager_bytes) and can_go_eagerly(route)
        if is_tried:
            notes = self._eager_notes(table, route)
            tables = _unpacked(notes, table.schema)
            if tables is not None or has_late:
                self.group.native().raise_interruption()
            if tables is not None:
                pieces = [note.value["pieces"] for note in notes]
                return arriving(tables, pieces, route, self.rank)
        if has_late:
            return move_late((self.rank, self.size), table, route, self._moved)
        moved = self._moved_flat(flat, route, is_tried)
        return with_schema(moved, table.drop_columns([route.to] if route.to else []).schema)

    def _moved_flat(self, table: pa.Table, route: Route, has_agreed: bool) -> pa.Table:
        facts: dict[str, Any] = {}
        with self.together(_step_of(route, table), has_agreed):
            start = time.perf_counter()
            if self.in_bulk:
                moved, facts = move_in_bulk(self.group, table, route, self.threads)
            else:
                moved = move_by_channel(self.group, table, route)
            seconds = time.perf_counter() - start
        self.moves.append(
            Move(
                route.rule,
                self.how,
                table.num_rows,
                table_bytes(table),
                moved.num_rows,
                table_bytes(moved),
                seconds,
                facts.get("phases", []),
                facts.get("bytes_sent"),
            )
        )
        return moved

    def _tell(self, name: str, error: BaseException) -> None:
        """Tells all ranks that this one cannot go on, and raises what all of them raise."""
        code = error.code if isinstance(error, CrossdockError) else ""
        text = error.text if isinstance(error, CrossdockError) else str(error)
        if isinstance(error, KeyboardInterrupt):
            text = _INTERRUPTED
        if self._is_together and not isinstance(error, CrossdockError):
            self._leave(error)  # the others may be where no note of this kind would reach them
            raise error
        # An exchange in bulk ends in all ranks with the first error.
        cause = rank_notes.cause_in(text) if self.in_bulk else None
        is_echo = cause is not None and cause != self.rank
        failure = rank_notes.failure_of(code, error, text, is_echo)
        self._exchanged(name, None, failed=(failure, error))

    def _leave(self, error: BaseException) -> None:
        text = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else wire_text(error)
        self.group.native().give_up(f"617 {text}" if text is _INTERRUPTED else text)

    def _agreed_on(self, step: str, value: Any, rows: bytes = b"") -> list[Note]:
        notes = self._exchanged(step, value, rows)
        self._agreed = step
        return notes

    def _exchanged(
        self,
        step: str,
        value: Any,
        rows: bytes = b"",
        failed: tuple[dict[str, Any], BaseException] | None = None,
    ) -> list[Note]:
        """What all ranks say at this step. failed: why this one cannot go on, in the place of a
        value, and what it raised."""
        failure, mine = failed or (None, None)
        wait_s = _INTERRUPTED_S if isinstance(mine, KeyboardInterrupt) else _WAIT_S
        place = rank_notes.place_of(self._call, step, len(self._turns.threads))
        whole = rank_notes.packed(place, value, failure, rows)
        try:
            with public_errors():
                answers = self.group.native().gather(whole, wait_s)
            notes = [rank_notes.unpacked(answer) for answer in answers]
            self._check(notes, mine)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and error is not mine:
                # Between two steps of this program: no other rank knows of it yet.
                if mine is not None:
                    self._leave(error)
                raise
            if mine is not None and isinstance(error, ControlError) and error is not self._ended:
                error = _with_cause(error, mine)
            self._ended = self._interruption() or error
            raise self._ended from None
        return notes

    def _interruption(self) -> BaseException | None:
        """What a signal has raised while this rank waited, if one has: it would else be raised by
        the next call of the program."""
        try:
            self.group.native().raise_interruption()
        except BaseException as error:  # noqa: BLE001 - a handler of the program may raise anything
            return error
        return None

    def _check(self, notes: list[Note], mine: BaseException | None) -> None:
        first = rank_notes.first_failure(notes)
        if first is None:
            rank_notes.require_same_place(notes)
        elif first == self.rank and mine is not None and not isinstance(mine, CrossdockError):
            raise mine
        else:
            raise rank_notes.error_in(notes, first)


def _eager_bytes() -> int:
    text = setting("eager_bytes")
    if not text.isdecimal():
        raise make_error(
            "CD-105", f"eager_bytes={text!r} is no number of bytes",
            limits="0 or more", try_="CROSSDOCK_EAGER_BYTES=262144",
        )  # fmt: skip
    return int(text)


def _step_of(route: Route, table: pa.Table) -> str:
    return f"move {route.rule} {table.schema.names}"


def _unpacked(notes: Sequence[Note], schema: pa.Schema) -> list[pa.Table] | None:
    """The rows of each rank, as this one has its own; None where those of one were too many."""
    if not all(note.value["is_packed"] for note in notes):
        return None
    return [conformed(unpacked_eagerly(note.rows), schema) for note in notes]


def _with_cause(error: ControlError, mine: BaseException) -> CrossdockError:
    """What this rank raises where another is gone: what it knows of the reason, too."""
    if isinstance(mine, CrossdockError) and mine.code in rank_notes.CONSEQUENCES:
        return mine
    return ControlError(error.code, error.text + part("here", f"{type(mine).__name__}: {mine}"))


def _begun(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches, the first of them made: what makes them works in all ranks at once, while
    they wait for their turn."""
    first = next(batches, None)
    return iter(()) if first is None else itertools.chain([first], batches)
