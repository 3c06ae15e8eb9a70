"""What ranks say at a step, and what follows where they differ or fail."""

from __future__ import annotations

import threading
from typing import Any

import crossdock as xd
import pytest
from crossdock.ranks import notes
from crossdock.ranks.notes import Note


def note(value: Any = None, error: dict[str, Any] | None = None, step: str = "sizes") -> Note:
    place = notes.place_of("count() of join", step, 1)
    return notes.unpacked(notes.packed(place, value, error, b"rows\nof it"))


def failure(code: str, text: str, is_echo: bool = False) -> dict[str, Any]:
    return notes.failure_of(code, ValueError(text), text, is_echo)


@pytest.mark.parametrize("value", [None, 0, [1, None, "a\nb"], {"is_packed": False}, "!"])
def test_notes_come_as_they_were_said(value: Any) -> None:
    come = note(value)
    assert come.value == value
    assert come.error is None
    assert come.rows == b"rows\nof it"


def test_ranks_at_one_place_may_go_on() -> None:
    come = [note(rank) for rank in range(3)]
    assert notes.first_failure(come) is None
    notes.require_same_place(come)


def test_ranks_at_two_places_are_refused() -> None:
    with pytest.raises(xd.OptionError, match="rank 0: sizes; rank 2: rows"):
        notes.require_same_place([note(), note(), note(step="rows")])


def test_names_of_threads_count_where_there_are_several() -> None:
    places: list[bytes] = []

    def come(threads: int) -> None:
        places.append(notes.place_of("count()", "sizes", threads))

    def from_thread(name: str, threads: int) -> Note:
        thread = threading.Thread(target=come, args=(threads,), name=name)
        thread.start()
        thread.join()
        return notes.unpacked(notes.packed(places[-1], None, None, b""))

    notes.require_same_place([from_thread("first", 1), from_thread("second", 1)])
    with pytest.raises(xd.OptionError, match="rank 0: first; rank 1: second"):
        notes.require_same_place([from_thread("first", 1), from_thread("second", 2)])


def test_the_first_cause_is_the_error_of_all() -> None:
    come = [
        note(error=failure("CD-617", "rank 2 is gone")),
        note(error=failure("CD-304", "rank 2: a fault", is_echo=True)),
        note(error=failure("CD-304", "a fault")),
        note(),
    ]
    assert notes.first_failure(come) == 2
    error = notes.error_in(come, 2)
    assert error.code == "CD-304"
    assert "2 of 4" in str(error)


def test_consequences_are_the_error_where_there_is_no_cause() -> None:
    come = [note(), note(error=failure("CD-617", "rank 2 is gone"))]
    assert notes.first_failure(come) == 1
    assert notes.error_in(come, 1).code == "CD-617"


def test_what_a_program_raises_is_an_error_of_ranks_elsewhere() -> None:
    error = notes.error_in([note(error=failure("", "a fault of the program"))], 0)
    assert error.code == "CD-509"
    assert "ValueError: a fault of the program" in str(error)
