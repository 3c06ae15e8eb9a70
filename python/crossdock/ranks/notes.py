"""What every rank says at a step: where it is, which must be the same in all of them, then a value
or why it cannot go on, and few rows.

Lines of JSON, with the rows behind them. Where ranks are is compared as bytes, and read only to say
how it differs: ranks come to tens of steps in a query of some milliseconds.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crossdock.errors import CrossdockError, error_of, make_error, part

# Errors of a rank whose work another one's error has ended.
CONSEQUENCES = frozenset(("CD-617", "CD-618"))
_OF_RANK = re.compile(r"rank (\d+): ")
_TEXT_MOST = 4000
_FAILED = b"!"  # before an error, in the place of a value


@dataclass(frozen=True)
class Note:
    """What one rank said."""

    place: bytes
    value: Any
    error: dict[str, Any] | None
    rows: bytes


def place_of(call: str, step: str, threads: int) -> bytes:
    """Where this thread of the rank is; threads: that have come to the dock so far."""
    thread = threading.current_thread().name
    return json.dumps({"call": call, "step": step, "thread": thread, "threads": threads}).encode()


def failure_of(code: str, error: BaseException, text: str, is_echo: bool) -> dict[str, Any]:
    """Why a rank cannot go on. is_echo: it may have heard so from the rank that `text` begins
    with."""
    return {
        "code": code,
        "kind": type(error).__name__,
        "text": text[:_TEXT_MOST],
        "is_echo": is_echo,
        "host": socket.gethostname(),
    }


def cause_in(text: str) -> int | None:
    """The rank whose error ended an exchange in bulk in all ranks."""
    cause = _OF_RANK.match(text)
    return None if cause is None else int(cause[1])


def packed(place: bytes, value: Any, error: dict[str, Any] | None, rows: bytes) -> bytes:
    """What a rank says, as `unpacked` reads it."""
    if error is not None:
        said = _FAILED + json.dumps(error).encode()
    else:
        said = b"" if value is None else json.dumps(value).encode()
    return b"\n".join((place, said, rows))


def unpacked(answer: bytes) -> Note:
    """What a rank said."""
    place, said, rows = answer.split(b"\n", 2)
    if said.startswith(_FAILED):
        return Note(place, None, json.loads(said[1:]), rows)
    return Note(place, json.loads(said.decode()) if said else None, None, rows)


def first_failure(notes: Sequence[Note]) -> int | None:
    """The first rank that cannot go on for a reason of its own; None where all can."""
    failed = [(rank, note.error) for rank, note in enumerate(notes) if note.error]
    causes = [
        rank for rank, error in failed if error["code"] not in CONSEQUENCES and not error["is_echo"]
    ]
    return next(iter(causes or (rank for rank, _ in failed)), None)


def error_in(notes: Sequence[Note], rank: int) -> CrossdockError:
    """The error of a rank that cannot go on, for all of them."""
    error = notes[rank].error
    assert error is not None
    where = part("rank", f"{rank} of {len(notes)}, on {error['host']}")
    if error["code"]:
        return error_of(error["code"], error["text"] + where)
    return error_of("CD-509", f"{error['kind']}: {error['text']}{where}")


def require_same_place(notes: Sequence[Note]) -> None:
    """OptionError where ranks make different calls. Names of threads count where there are
    several."""
    if all(note.place == notes[0].place for note in notes):
        return
    places = [json.loads(note.place) for note in notes]
    several = any(place["threads"] > 1 for place in places)
    for what in ("call", "step", *(("thread",) if several else ())):
        for rank, place in enumerate(places):
            if place[what] == places[0][what]:
                continue
            raise make_error(
                "CD-105", "the ranks of the dock make different calls",
                values=f"rank 0: {places[0][what]}; rank {rank}: {place[what]}",
                try_="the same calls in the same order in all ranks, whatever thread makes "
                "them, over columns of the same types; connect(ranks='off') for work of one "
                "rank alone",
            )  # fmt: skip
