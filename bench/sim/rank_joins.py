"""Joins over ranks that mpirun starts, as bench/mpi runs them, predicted by the simulator before
they run. Rates are calibrated once, by passes of `crossdock calibrate` in one process and among two
ranks; then every join is simulated on a host whose CPU its ranks share, and only then run.

Over ranks the file is run by its path: rank 0 prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

# Over ranks from any folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import crossdock as xd
from crossdock import _native
from crossdock.machines.calibration import Calibration, Calibrator
from crossdock.machines.simulated_joins import Faults, Strategy
from crossdock.machines.simulated_ranks import rates_named
from crossdock.ranks.calibration import ExchangeCalibration, ExchangeCalibrator
from crossdock.workload import Workload
from harness.programs import output_of

from sim.predicted_run import PredictedRun

AnyCalibrator = TypeVar("AnyCalibrator", Calibrator, ExchangeCalibrator)

CALIBRATED_RANKS = 2
# Far more than the caches hold, as the joins have: rates of 2 M rows said 15 % too little.
CALIBRATED_ROWS = 8_000_000
PASSES = 3
RUNS = 5
LIMIT_S = 300.0
ROW_BYTES = 16
HOST = {
    "format": "crossdock-topology",
    "schema_version": 1,
    "shapes": [{"vertices": [{"name": "cpu0", "kind": "cpu"}], "edges": []}],
    "servers": [{"name": "host", "shape": 0}],
}


@dataclass(frozen=True)
class RankJoin:
    """Sums of both payloads; millions of rows of both sides and of all ranks. `exchange`: as
    relation.join() has it, so that what is run is what was simulated."""

    ranks: int
    strategy: str
    build: int
    probe: int
    exchange: str = "repartition"

    @property
    def what(self) -> str:
        form = "" if self.exchange == "repartition" else f", {self.exchange}"
        return f"{self.ranks} ranks, {self.strategy}{form}, {self.build} M x {self.probe} M"

    def simulated_s(self) -> float:
        """With the rates in use. All ranks have the one CPU, so that rows cross no link, and take
        turns where they are more than its cores."""
        turns = max(1.0, self.ranks / (os.cpu_count() or 1))
        faults = Faults(slow_servers=1, slowness=turns)
        channel = _native.ChannelPlan.from_to(json.dumps(HOST), ["host/cpu0"], ["host/cpu0"])
        strategy = Strategy("bulk", bulk=True, broadcast=self.exchange == "broadcast")
        said = _native.simulate_join(
            channel, build_rows=self.build * 1e6, probe_rows=self.probe * 1e6,
            build_row_bytes=ROW_BYTES, probe_row_bytes=ROW_BYTES,
            is_merge=self.strategy == "merge", zipf_theta=0.0, seed=1, **asdict(faults),
            **rates_named("here", ROW_BYTES).replaced({"ranks": self.ranks}).options(),
            **strategy.options(),
        )  # fmt: skip
        seconds: float = json.loads(said)["seconds"]
        return seconds

    def relation(self, dock: xd.Dock) -> Any:
        """Over this rank's share of both sides."""
        workload = Workload(self.build * 1_000_000, self.probe / self.build, sparse=True)
        sides = {}
        for side in ("inner", "outer"):
            whole = workload.rows_of(side)
            begin, end = (whole * rank // dock.size for rank in (dock.rank, dock.rank + 1))
            sides[side] = workload.table(side, begin, end).combine_chunks()
        right = dock.from_arrow(sides["inner"].rename_columns(["key", "inner_row"]))
        joined = dock.from_arrow(sides["outer"]).join(
            right, on="key", strategy=self.strategy, exchange=self.exchange, build="right"
        )
        return joined.agg(n=xd.count(), a=xd.sum("row"), b=xd.sum("inner_row"))


# The first of both strategies on 2 and on 4 ranks are bench/mpi's.
JOINS = (
    RankJoin(2, "radix", 40, 40),
    RankJoin(2, "radix", 20, 20),
    RankJoin(2, "radix", 4, 16),
    RankJoin(2, "radix", 2, 16, "broadcast"),
    RankJoin(2, "merge", 40, 40),
    RankJoin(2, "merge", 20, 20),
    RankJoin(2, "merge", 4, 16),
    RankJoin(4, "radix", 20, 20),
    RankJoin(4, "radix", 4, 16),
    RankJoin(4, "radix", 1, 16, "broadcast"),
    RankJoin(4, "merge", 20, 20),
    RankJoin(4, "merge", 4, 16),
)


def runs(launch: Callable[[int], list[str]]) -> Iterator[PredictedRun]:
    """`launch`: what starts a command in so many ranks."""
    with tempfile.TemporaryDirectory() as folder:
        rates = Path(folder) / "rates.json"
        rates.write_text(_said(launch(CALIBRATED_RANKS), "calibrate"), encoding="utf-8")
        for ranks in sorted({join.ranks for join in JOINS}):
            for one in json.loads(_said(launch(ranks), str(rates))):
                yield PredictedRun(**one)


def _said(launch: list[str], argument: str) -> str:
    return output_of([*launch, sys.executable, __file__, argument], LIMIT_S).strip()


def calibrated() -> dict[str, float]:
    """Of the fastest pass, as the fastest run of a join counts. Collective; rank 0 has them."""
    with xd.connect(threads=1) as dock, xd.connect(ranks="off") as alone:
        assert dock.group is not None
        operators: list[Calibration] = []
        exchanges: list[ExchangeCalibration] = []
        for _ in range(PASSES):
            if dock.rank == 0:  # on all cores, while the others wait
                operators.append(one_pass(Calibrator(alone, CALIBRATED_ROWS)).result())
            dock.group.gather(b"")
            exchanges.append(one_pass(ExchangeCalibrator(dock, CALIBRATED_ROWS)).result())
        if dock.rank > 0:
            return {}
        of_operators = min(operators, key=lambda one: seconds_of(one.works()))
        of_exchanges = min(exchanges, key=lambda one: seconds_of(one.works))
        return {**of_operators.rates, **of_exchanges.rates}


def one_pass(calibrator: AnyCalibrator) -> AnyCalibrator:
    calibrator.measure()
    return calibrator


def seconds_of(works: list[dict[str, Any]]) -> float:
    return sum(float(work["measured_s"]) for work in works)


def measured(join: RankJoin, dock: xd.Dock) -> dict[str, Any]:
    """The least of the runs, of the last rank each: others who use the machine add to a time, and
    so does memory that a rank writes to for the first time."""
    predicted_s = join.simulated_s()
    relation = join.relation(dock)
    relation.profile()
    times = [relation.profile().data["over_ranks"]["total"]["max_s"] for _ in range(RUNS)]
    return {"what": join.what, "measured_s": min(times), "predicted_s": predicted_s}


def main(argument: str) -> None:
    """One of the ranks."""
    if argument == "calibrate":
        rates = calibrated()
        if rates:
            print(json.dumps(rates))
        return
    with xd.connect(threads=1) as dock:  # which takes those of this machine, if there are any
        _native.use_rates(json.loads(Path(argument).read_text(encoding="utf-8")))
        report = [measured(join, dock) for join in JOINS if join.ranks == dock.size]
        if dock.rank == 0:
            print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
