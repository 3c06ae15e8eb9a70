"""Times of queries: all engines in one process, query by query and round by round.

A round runs every query once with every engine, so a slow minute of the machine hits all of them.
The first run of each is not timed: its result is compared with the expected one.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from harness.engines import OURS, Form, limit_threads
from harness.measure import Sample, Series, timed, without_hopeless
from harness.results import WrongResultError

from queries.comparison import Expected
from queries.engines import ENGINES, EQUALITIES, EXACT, expected_results
from queries.query import Query
from queries.sources import Mode, Sources, Strings, files_of, loaded

SUITE_TITLES = {"tpch": "TPC-H", "ssb": "SSB"}


@dataclass(frozen=True, slots=True)
class Part:
    """A suite at a scale factor in a mode, and how it is run; measured in a process of its own."""

    suite: str
    scale: float
    mode: Mode
    rounds: int
    threads: int
    engines: tuple[str, ...]
    strings: Strings = "string_view"  # their layout in Arrow tables in memory

    def sources(self, queries: list[Query]) -> Sources:
        files = files_of(self.suite, self.scale)
        return files if self.mode == "parquet" else loaded(files, queries, self.strings)

    @property
    def title(self) -> str:
        place = "in memory" if self.mode == "memory" else "from Parquet"
        return f"{SUITE_TITLES[self.suite]} SF{self.scale:g}, {place}"


Timings = dict[str, dict[str, Series]]  # by query, then by engine


def measured(part: Part, queries: list[Query]) -> Timings:
    """Raises WrongResultError when an engine's first result is not the expected one."""
    limit_threads(part.threads)
    expected = expected_results(files_of(part.suite, part.scale), queries)
    sources = part.sources(queries)
    forms: dict[str, list[Form]] = {query.name: [] for query in queries}
    with ExitStack() as stack:
        for engine in part.engines:
            run_of = ENGINES[engine](sources, part.threads, stack)
            for query in queries:
                run = run_of(query)
                if run is not None:
                    forms[query.name].append(Form(engine, run))
        for name, of_query in forms.items():
            check(name, of_query, expected[name])
        return interleaved(forms, part.rounds)


def check(name: str, forms: list[Form], expected: Expected) -> None:
    for form in forms:
        difference = expected.difference(form.run(), EQUALITIES.get(form.name, EXACT))
        if difference is not None:
            raise WrongResultError(f"query {name}: {form.name} gives {difference}")


def interleaved(forms: dict[str, list[Form]], rounds: int) -> Timings:
    """Peers that cannot become the fastest of a query are dropped from it after the second round.
    Who begins changes from round to round."""
    timings = {name: {form.name: Series() for form in forms[name]} for name in forms}
    gc.disable()
    for turn in range(rounds):
        print(f"# round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        for name, of_query in forms.items():
            gc.collect()
            first = turn % len(of_query)
            for form in (*of_query[first:], *of_query[:first]):
                timings[name][form.name].samples.append(sample_of(form.run))
            if turn == 1 and rounds >= 3:
                forms[name] = with_a_chance(of_query, timings[name])
    gc.enable()
    return timings


def sample_of(run: Callable[[], object]) -> Sample:
    """The result is freed outside of the measured time."""
    result, sample = timed(run)
    del result
    return sample


def with_a_chance(forms: list[Form], series: dict[str, Series]) -> list[Form]:
    peers = without_hopeless([form for form in forms if form.name != OURS], series)
    return [form for form in forms if form.name == OURS or form in peers]
