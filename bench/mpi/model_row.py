"""How near predictions are: ten works of other sizes than the calibration's, in one process, and
over two ranks with a thread each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Over ranks the file is run by its path, from any folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import crossdock as xd
from crossdock import _native
from crossdock.machines.calibration import ROWS, Calibrator, plan_of, typical_s
from crossdock.ranks.calibration import ExchangeCalibrator
from crossdock.reports.operator_text import operator_plans, predicted_seconds
from crossdock.workload import Workload
from harness.programs import ProgramError, output_of

LIMIT_S = 240.0
NAME = "model"
TITLE = "predicted within 20 %: joins, sorts, group-bys"
RANKS_NAME = "model-ranks"
RANKS_TITLE = "the same over 2 ranks: exchanges and steps"
NAMES = (NAME, RANKS_NAME)
PASSES_A_ROUND = 2  # passes are short, and more of them see more of a machine that changes
RANKS = 2
WANTED = 9
NEAR = 0.2
MILLION = 1_000_000


def model_row(scale: float, repeat: int) -> dict[str, Any]:
    """Each work's typical time beside its prediction by a calibration that takes turns with them,
    pass by pass: both see the same minutes. A work is run with what is known by then, and predicted
    with all passes; runs count that went as it would then be planned."""
    runs: dict[str, list[dict[str, Any]]] = {}
    before = _native.rates_in_use()
    with xd.connect() as dock:
        calibrator = Calibrator(dock, max(round(ROWS * scale), 1000))
        passes = PASSES_A_ROUND * repeat
        work_list = list(works(dock, scale))
        try:
            for _ in range(passes):
                calibrator.measure()
                _native.use_rates(calibrator.result().rates)
                for name, relation in work_list:
                    relation.profile()
                    runs.setdefault(name, []).append(relation.profile().data)
            _native.use_rates(calibrator.result().rates)
            plans = {name: plan_of(relation) for name, relation in work_list}
        finally:
            _native.use_rates(before)
    measured = [_measured(name, profiles, plans[name]) for name, profiles in runs.items()]
    return _row(NAME, TITLE, _in_turns(repeat), measured)


def rank_model_row(scale: float, repeat: int, launch: list[str]) -> dict[str, Any]:
    """The same over ranks, each with its share of the rows: the last rank's time beside what the
    exchanges and the ranks' steps are predicted to take by both calibrations, of one process with
    all cores and of exchanges among the ranks. `launch`: starts a command in the ranks."""
    command = [*launch, sys.executable, __file__, json.dumps({"scale": scale, "repeat": repeat})]
    said = output_of(command, LIMIT_S)
    report = json.loads(said.strip().splitlines()[-1])
    return _row(RANKS_NAME, RANKS_TITLE, _in_turns(repeat), report)


def rank_main(text: str) -> None:
    """One of the ranks; rank 0 prints the works."""
    asked = json.loads(text)
    with xd.connect(threads=1) as dock, xd.connect(ranks="off") as alone:
        rates = RankRates(dock, alone, max(round(ROWS * asked["scale"]), 1000))
        runs: dict[str, list[dict[str, Any]]] = {}
        work_list = list(works(dock, asked["scale"]))
        for _ in range(PASSES_A_ROUND * asked["repeat"]):
            rates.measure()
            rates.use()
            for name, relation in work_list:
                relation.profile()
                runs.setdefault(name, []).append(relation.profile().data)
        rates.use()
        last = {name: relation.profile().data for name, relation in work_list}
        if dock.rank == 0:
            measured = [_measured_over_ranks(name, one, last[name]) for name, one in runs.items()]
            print(json.dumps(measured))


class RankRates:
    """Both calibrations, in turns: while rank 0 measures the operators on all cores, the others
    wait."""

    def __init__(self, dock: xd.Dock, alone: xd.Dock, rows: int) -> None:
        assert dock.group is not None
        self._group = dock.group
        self._exchanges = ExchangeCalibrator(dock, rows)
        self._alone = None if dock.rank else Calibrator(alone, rows)

    def measure(self) -> None:
        """A pass of each."""
        if self._alone is not None:
            self._alone.measure()
        self._group.gather(b"")
        self._exchanges.measure()

    def use(self) -> None:
        """In all ranks, what rank 0 has found so far."""
        mine = {} if self._alone is None else self._alone.result().rates
        rates = json.loads(self._group.gather(json.dumps(mine).encode())[0])
        _native.use_rates({**rates, **self._exchanges.result().rates})


def _in_turns(repeat: int) -> str:
    return f"measured in turns, {PASSES_A_ROUND * repeat} passes"


def _row(name: str, title: str, rates: str, measured: list[dict[str, Any]]) -> dict[str, Any]:
    near = sum(one["is_near"] for one in measured)
    return {
        "name": name,
        "work": title,
        "rates": rates,
        "works": measured,
        "near": near,
        "bar": f"{WANTED} of {len(measured)}",
        "met": near >= WANTED,
    }


def works(dock: xd.Dock, scale: float) -> Iterator[tuple[str, Any]]:
    """Names and relations, over ranks of their shares."""

    def rows(millions: float) -> int:
        return max(round(millions * MILLION * scale), 1000)

    sums = {"n": xd.count(), "a": xd.sum("row"), "b": xd.sum("inner_row")}

    def share(workload: Workload, side: str) -> Any:
        whole = workload.rows_of(side)
        begin, end = (whole * rank // dock.size for rank in (dock.rank, dock.rank + 1))
        return workload.table(side, begin, end).combine_chunks()

    def joined(workload: Workload, **options: Any) -> Any:
        inner, outer = (share(workload, side) for side in ("inner", "outer"))
        right = dock.from_arrow(inner.rename_columns(["key", "inner_row"]))
        return dock.from_arrow(outer).join(right, on="key", **options)

    def grouped(groups: int, each: int) -> Any:
        table = share(Workload(groups, each, sparse=True), "outer")
        return dock.from_arrow(table).group_by("key").agg(total=xd.sum("row"))

    yield "join, sparse, 5M + 5M, sums", joined(Workload(rows(5), sparse=True)).agg(**sums)
    yield "join, dense, 5M + 5M, sums", joined(Workload(rows(5))).agg(**sums)
    yield "join, sparse, 2M + 10M, all rows", joined(Workload(rows(2), 5, sparse=True))
    yield "join, 0.1M + 8M, all rows", joined(Workload(rows(0.1), 80, sparse=True))
    merged = joined(Workload(rows(4), sparse=True), strategy="merge")
    yield "merge join, 4M + 4M, sums", merged.agg(**sums)
    table = share(Workload(rows(6), sparse=True), "inner")
    yield "sort, 6M pairs", dock.from_arrow(table).sort("key")
    yield "sort, 6M keys", dock.from_arrow(table.select(["key"])).sort("key")
    yield "sort, 100 of 6M", dock.from_arrow(table).top_k(100, "key")
    yield "group by, 8M, 5k groups", grouped(rows(0.005), 1600)
    yield "group by, 8M, 2M groups", grouped(rows(2), 4)


def _measured(name: str, runs: list[dict[str, Any]], plan: dict[str, Any]) -> dict[str, Any]:
    strategy = str(plan.get("strategy", ""))
    profiles = [_profile(run) for run in runs]
    same = [one["total_s"] for one in profiles if _strategy(one) == strategy]
    return _compared(name, strategy, same, predicted_seconds(plan))


def _measured_over_ranks(
    name: str, runs: list[dict[str, Any]], last: dict[str, Any]
) -> dict[str, Any]:
    """`last`: planned and predicted with the rates of all passes."""
    strategy = _strategy(_profile(last))
    same = [
        run["over_ranks"]["total"]["max_s"]
        for run in runs if _strategy(_profile(run)) == strategy
    ]  # fmt: skip
    return _compared(name, strategy, same, last["over_ranks"]["predicted_s"])


def _compared(name: str, strategy: str, times: list[float], predicted_s: float) -> dict[str, Any]:
    """`times`: of the runs by the strategy that the rates of all passes choose."""
    if not times:
        raise ProgramError(f"{name}: planned as {strategy} with all passes, but never run so")
    measured_s = typical_s(times)
    return {
        "work": name,
        "strategy": strategy,
        "measured_s": measured_s,
        "predicted_s": predicted_s,
        "is_near": abs(predicted_s / measured_s - 1) <= NEAR,
    }


def _profile(run: dict[str, Any]) -> dict[str, Any]:
    return next(dict(step["profile"]) for step in run["steps"] if step["profile"] is not None)


def _strategy(profile: dict[str, Any]) -> str:
    """Of the operator that a cost model plans: each work has one."""
    (plan,) = operator_plans(profile)
    return str(plan.get("strategy", ""))


def print_model(row: dict[str, Any]) -> None:
    met = "yes" if row["met"] else "NO"
    print(f"  {row['work']}: {row['near']} of {len(row['works'])}, {row['bar']} wanted, met: {met}")
    print(f"      rates: {row['rates']}")
    for one in row["works"]:
        off = one["predicted_s"] / one["measured_s"] - 1
        print(
            f"      {one['work']:36} {one['strategy']:10} measured {one['measured_s'] * 1e3:8.1f} "
            f"ms, predicted {one['predicted_s'] * 1e3:8.1f} ms, {off:+.0%}"
        )


if __name__ == "__main__":
    rank_main(sys.argv[1])
