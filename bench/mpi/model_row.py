"""How near predictions are: ten works of other sizes than the calibration's, in one process."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import crossdock as xd
from crossdock.rates_file import use_rates_of_file
from crossdock.workload import Workload

NAME = "model"
TITLE = "predicted within 20 %: joins, sorts, group-bys"
WANTED = 9
NEAR = 0.2
MILLION = 1_000_000


def model_row(scale: float, repeat: int) -> dict[str, Any]:
    """Each work's median beside its prediction, with the rates in use here: of `repeat` passes over
    all works, in each of which a work runs once more for warming up."""
    runs: dict[str, list[dict[str, Any]]] = {}
    with xd.connect() as dock:
        for _ in range(repeat):
            for name, relation in works(dock, scale):
                _profile(relation)
                runs.setdefault(name, []).append(_profile(relation))
    found = [_measured(name, profiles) for name, profiles in runs.items()]
    near = sum(one["is_near"] for one in found)
    return {
        "name": NAME,
        "work": TITLE,
        "rates": use_rates_of_file().text(),
        "works": found,
        "near": near,
        "bar": f"{WANTED} of {len(found)}",
        "met": near >= WANTED,
    }


def works(dock: xd.Dock, scale: float) -> Iterator[tuple[str, Any]]:
    """Names and relations; rows are made when their turn comes."""

    def rows(millions: float) -> int:
        return max(round(millions * MILLION * scale), 1000)

    sums = {"n": xd.count(), "a": xd.sum("row"), "b": xd.sum("inner_row")}

    def joined(workload: Workload, **options: Any) -> Any:
        inner, outer = (workload.table(side).combine_chunks() for side in ("inner", "outer"))
        right = dock.from_arrow(inner.rename_columns(["key", "inner_row"]))
        return dock.from_arrow(outer).join(right, on="key", **options)

    def grouped(groups: int, each: int) -> Any:
        table = Workload(groups, each, sparse=True).table("outer")
        return dock.from_arrow(table).group_by("key").agg(total=xd.sum("row"))

    yield "join, sparse, 5M + 5M, sums", joined(Workload(rows(5), sparse=True)).agg(**sums)
    yield "join, dense, 5M + 5M, sums", joined(Workload(rows(5))).agg(**sums)
    yield "join, sparse, 2M + 10M, all rows", joined(Workload(rows(2), 5, sparse=True))
    yield "join, 0.1M + 8M, all rows", joined(Workload(rows(0.1), 80, sparse=True))
    merged = joined(Workload(rows(4), sparse=True), strategy="merge")
    yield "merge join, 4M + 4M, sums", merged.agg(**sums)
    table = Workload(rows(6), sparse=True).table("inner").combine_chunks()
    yield "sort, 6M pairs", dock.from_arrow(table).sort("key")
    yield "sort, 6M keys", dock.from_arrow(table.select(["key"])).sort("key")
    yield "sort, 100 of 6M", dock.from_arrow(table).top_k(100, "key")
    yield "group by, 8M, 5k groups", grouped(rows(0.005), 1600)
    yield "group by, 8M, 2M groups", grouped(rows(2), 4)


def _measured(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    measured_s = statistics.median(run["total_s"] for run in runs)
    predicted_s = sum(phase.get("predicted_s", 0.0) for phase in runs[0]["phases"])
    return {
        "work": name,
        "strategy": runs[0].get("strategy", ""),
        "measured_s": measured_s,
        "predicted_s": predicted_s,
        "is_near": abs(predicted_s / measured_s - 1) <= NEAR,
    }


def _profile(relation: Any) -> dict[str, Any]:
    steps = relation.profile().data["steps"]
    return next(dict(step["profile"]) for step in steps if step["profile"] is not None)


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
