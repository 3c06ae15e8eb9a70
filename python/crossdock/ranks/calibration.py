"""Measures the rates of the exchange's model among the ranks of a dock: tables in bulk, and puts.

As crossdock.machines.calibration does for operators: phases and totals are equations, coefficients
come from predictions with one rate changed. What puts cost by their size is measured alone, and
gives equations too; of ranks on several hosts it also says what a host's links carry.
"""

from __future__ import annotations

import json
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from crossdock import _native
from crossdock.errors import make_error, public_errors
from crossdock.group import Group
from crossdock.machines.calibration import LEAST_PHASE_S, TOTAL_WEIGHT, measure_passes, misfit
from crossdock.machines.rate_fit import Equation, fit_rates
from crossdock.ranks.places import Places, form_of, places_of
from crossdock.session import Dock
from crossdock.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1_000_000  # of each rank
PUT_BYTES = (512, 4096, 65_536, 1 << 20)
_STEP = 0.01
_MODEL = "exchange."


@dataclass(frozen=True)
class ExchangeCalibration:
    """What was found, the same in all ranks. rates: those of exchanges alone, in ns. puts: bytes,
    seconds of a message, and whether ranks wrote it themselves."""

    rates: dict[str, float]
    works: list[dict[str, Any]]
    puts: list[tuple[int, float, bool]]
    places: Places
    seconds: float

    def facts(self) -> dict[str, Any]:
        """For the file of the rates."""
        return {
            "ranks": self.places.ranks,
            "ranks_per_node": self.places.ranks_per_node,
            "node_bytes_per_s": self.places.node_bytes_per_s,
            "puts": [list(put) for put in self.puts],
            "works": self.works,
        }

    def misfit(self) -> str:
        """As Calibration.misfit()."""
        return misfit(self.works)


@dataclass
class _Series:
    """One work's runs in all passes. Rows of all ranks."""

    run: Callable[[], dict[str, Any]]
    rows: int
    runs: list[dict[str, Any]] = field(default_factory=list)


class ExchangeCalibrator:
    """Passes over all works among the ranks of a dock, as many as wanted; its methods are
    collective. As Calibrator of crossdock.machines.calibration, between whose passes others may
    measure."""

    def __init__(self, dock: Dock, rows: int = ROWS) -> None:
        """With `rows` rows in each rank, and 200 bytes of memory for each. OptionError unless MPI
        started the ranks."""
        group = dock.group
        with public_errors():
            if group is None or group.size == 1 or not group.native().goes_in_bulk("auto"):
                raise make_error(
                    "CD-105", "rates of exchanges are measured among ranks that MPI started",
                    values=f"ranks: {dock.size}", try_="mpirun -n 2 crossdock calibrate",
                )  # fmt: skip
        self._group = group
        self._hosts = [str(note) for note in _of_all_ranks(group, socket.gethostname())]
        self._puts: list[list[tuple[int, float, bool]]] = []
        self._series = {f"exchange, {name}": one for name, one in _works(dock, group, rows)}
        self._seconds = 0.0

    def measure(self, said: Callable[[str], None] = lambda _: None) -> None:
        """One pass: each work runs once for warming up and once to be timed."""
        start = time.perf_counter()
        said("puts")
        with public_errors():
            self._puts.append(self._group.native().measure_puts(list(PUT_BYTES)))
        for name, work in self._series.items():
            said(name)
            work.run()
            work.runs.append(work.run())
        self._seconds += time.perf_counter() - start

    def result(self) -> ExchangeCalibration:
        """Of the passes so far, of which there is one."""
        puts = [_median_put(sizes) for sizes in zip(*self._puts, strict=True)]
        places = places_of(self._hosts, _link_rate(puts, self._hosts))
        of_works = {
            name: _equations(work.runs, work.rows, places) for name, work in self._series.items()
        }
        equations = [*_put_equations(puts, places), *chain.from_iterable(of_works.values())]
        known = {n: v for n, v in _native.built_in_rates().items() if n.startswith(_MODEL)}
        rates = fit_rates(equations, known)
        works = [
            {
                "work": name,
                "measured_s": result[-1].seconds,
                "spread": _spread([run["total_s"] for run in self._series[name].runs]),
                "predicted_s": result[-1].predicted_s(rates),
            }
            for name, result in of_works.items()
        ]
        return ExchangeCalibration(rates, works, puts, places, self._seconds)


def calibrate_exchange(
    dock: Dock, rows: int = ROWS, repeat: int = 3, said: Callable[[str], None] = lambda _: None
) -> ExchangeCalibration:
    """`repeat` passes of an ExchangeCalibrator. Leaves the rates in use as they were. Collective.
    Cost: some seconds."""
    calibrator = ExchangeCalibrator(dock, rows)
    measure_passes(calibrator.measure, repeat, said)
    return calibrator.result()


def _works(dock: Dock, group: Group, rows: int) -> Iterator[tuple[str, _Series]]:
    shapes = (
        ("rows of 16 bytes", rows, 1),
        ("fewer rows of 16 bytes", max(rows // 8, 1), 1),
        ("rows of 40 bytes", max(rows // 2, 1), 4),
        ("few rows", min(1000, rows), 1),
    )
    for name, count, payload in shapes:
        run = partial(_run, group, _table(group, count, payload))
        yield name, _Series(run, count * group.size)
    for name, relation, sides in _steps(dock, group, rows):
        run = partial(_run_step, group, relation)
        yield name, _Series(run, sides * rows * group.size)


def _median_put(of_size: Sequence[tuple[int, float, bool]]) -> tuple[int, float, bool]:
    size, _, is_near = of_size[0]
    return size, statistics.median(seconds for _, seconds, _ in of_size), is_near


def _spread(totals: list[float]) -> float:
    return (max(totals) - min(totals)) / statistics.median(totals)


def _of_all_ranks(group: Group, mine: Any) -> list[Any]:
    return [json.loads(text) for text in group.gather(json.dumps(mine).encode())]


def _link_rate(puts: list[tuple[int, float, bool]], hosts: list[str]) -> float:
    """What the ranks of a host put to those of the next one, with the longest messages."""
    size, seconds, is_near = puts[-1]
    return 0.0 if is_near else max(hosts.count(host) for host in set(hosts)) * size / seconds


def _steps(dock: Dock, group: Group, rows: int) -> Iterator[tuple[str, Any, int]]:
    """Steps that move rows in ways of their own: name, relation, and tables of `rows` rows that
    each rank has."""
    from crossdock.expressions.aggregates import sum as sum_of

    left, right = (_table(group, rows, 1) for _ in range(2))
    right = dock.from_arrow(right.rename_columns(["key", "other"]))
    for strategy in ("radix", "merge"):
        joined = dock.from_arrow(left).join(right, on="key", strategy=strategy)
        sums = {"a": sum_of("row"), "b": sum_of("other")}
        yield f"{strategy} join, into partitions", joined.agg(**sums), 2
    yield "sort, by order", dock.from_arrow(left).sort("key"), 1


def _table(group: Group, rows: int, payload: int) -> pa.Table:
    whole_table = Workload(rows * group.size, sparse=True).table(
        "inner", rows * group.rank, rows * (group.rank + 1)
    )
    table = whole_table.combine_chunks()
    for number in range(payload - 1):
        table = table.append_column(f"more{number}", table["row"])
    return table


def _run(group: Group, table: pa.Table) -> dict[str, Any]:
    """The phases' means over the ranks, and the time of the last one; the same in all ranks."""
    group.gather(b"")
    group.exchange(table, by="key", how="bulk")
    every = _of_all_ranks(group, group.exchange_facts)
    return {
        "phases": _mean_phases(every),
        "total_s": max(facts["total_s"] for facts in every),
        "row_bytes": every[0]["plain_row_bytes"],
        "wire_bytes": every[0]["sent_row_bytes"],
        "form": {},
    }


def _run_step(group: Group, relation: Any) -> dict[str, Any]:
    """The same of the first exchange of a step; rows are two words of 8 bytes."""
    group.gather(b"")
    moves = [rank["exchanges"][0] for rank in relation.profile().data["ranks"]]
    return {
        "phases": _mean_phases(moves),
        "total_s": max(move["seconds"] for move in moves),
        "row_bytes": 16,
        "wire_bytes": 16,
        "form": form_of(moves[0]),
    }


def _mean_phases(every: list[dict[str, Any]]) -> dict[str, float]:
    phases: dict[str, float] = {}
    for facts in every:
        for phase in facts["phases"]:
            name = str(phase["name"])
            phases[name] = phases.get(name, 0.0) + phase["seconds"] / len(every)
    return phases


def _equations(runs: list[dict[str, Any]], rows: int, places: Places) -> list[Equation]:
    """Of the phases that are predicted, then of the whole."""
    sizes = (rows, runs[0]["row_bytes"], runs[0]["wire_bytes"])
    planned, changed = _predictions(partial(places.phases, *sizes, **runs[0]["form"]))
    equations = []
    for name in planned:
        seconds = statistics.median(run["phases"].get(name, 0.0) for run in runs)
        if seconds >= LEAST_PHASE_S:
            slopes = {rate: slope[name] for rate, slope in changed.items()}
            equations.append(_equation(seconds, planned[name], slopes, 1.0))
    slopes = {rate: sum(slope.values()) for rate, slope in changed.items()}
    total_s = statistics.median(run["total_s"] for run in runs)
    equations.append(_equation(total_s, sum(planned.values()), slopes, TOTAL_WEIGHT))
    return equations


def _predictions(
    predict: Callable[[], dict[str, float]],
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Seconds by phase with the built-in rates, and by rate how they change with it."""
    before, built_in = _native.rates_in_use(), _native.built_in_rates()
    slopes = {}
    try:
        _native.use_rates({})
        planned = predict()
        for name, value in built_in.items():
            if not name.startswith(_MODEL):
                continue
            _native.use_rates({name: value * (1 + _STEP)})
            predictions = predict()
            slopes[name] = {p: (predictions[p] - planned[p]) / (value * _STEP) for p in planned}
    finally:
        _native.use_rates(before)
    return planned, slopes


def _equation(
    seconds: float, planned_s: float, slopes: dict[str, float], weight: float
) -> Equation:
    built_in = _native.built_in_rates()
    charged = {
        name: slope for name, slope in slopes.items()
        if slope * built_in[name] > 1e-4 * max(planned_s, 1e-9)
    }  # fmt: skip
    fixed = planned_s - sum(slope * built_in[name] for name, slope in charged.items())
    return Equation(seconds, max(fixed, 0.0), charged, weight)


def _put_equations(puts: list[tuple[int, float, bool]], places: Places) -> list[Equation]:
    """A message is its own cost and that of its bytes; ranks that share cores take turns. None of
    ranks that write to each other's memory: an exchange writes rows there, and no messages."""
    turns = max(1.0, places.ranks_per_node / places.cores_per_node)
    return [
        Equation(seconds, 0.0, {
            "exchange.put_message": turns * 1e-9, "exchange.put_byte": turns * size * 1e-9,
        })
        for size, seconds, is_near in puts if not is_near
    ]  # fmt: skip
