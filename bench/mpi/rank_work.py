"""One rank of a measured run: made rows, a few timed runs, and what they were predicted to take.

Started by bench/mpi/workloads.py, under mpirun or alone; rank 0 prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import crossdock as xd
from crossdock.workload import Workload


def main(text: str) -> None:
    asked = json.loads(text)
    with xd.connect(threads=asked["threads"]) as dock:
        relation, rows = relation_of(dock, asked)
        run = runner(relation, asked["form"])
        result = run()
        samples = []
        for _ in range(asked["repeats"]):
            dock_waits(dock)
            start = time.perf_counter()
            again = run()
            samples.append(time.perf_counter() - start)
            if again != result:
                raise SystemExit(f"two runs gave {result} and {again}")
        found = {"samples_s": samples, "result": result, "rows": rows, "size": dock.size}
        if asked["profiled"]:
            found |= profiled(relation)
        if dock.rank == 0:
            print(json.dumps(found))


def relation_of(dock: Any, asked: dict[str, Any]) -> tuple[Any, int]:
    """The join over this rank's share of both sides, and the rows of both in all ranks."""
    workload = Workload(
        rows=asked["rows_per_rank"] * asked["shares"],
        ratio=asked["ratio"],
        sparse=asked["sparse"],
        zipf=asked["zipf"],
    )
    sides = {}
    for side in ("inner", "outer"):
        rows = workload.rows_of(side)
        begin, end = (rows * n // dock.size for n in (dock.rank, dock.rank + 1))
        sides[side] = workload.table(side, begin, end).combine_chunks()
    inner = dock.from_arrow(sides["inner"].rename_columns(["key", "inner_row"]))
    joined = dock.from_arrow(sides["outer"]).join(inner, on="key", strategy=asked["strategy"])
    if asked["form"] == "sums":
        joined = joined.agg(n=xd.count(), a=xd.sum("row"), b=xd.sum("inner_row"))
    return joined, workload.rows_of("inner") + workload.rows_of("outer")


def runner(relation: Any, form: str) -> Callable[[], Any]:
    if form == "count":
        return lambda: relation.count()
    return lambda: relation.collect().to_pylist()


def dock_waits(dock: Any) -> None:
    """Until all ranks are here: nobody's time includes another's end of the run before."""
    if dock.size > 1:
        dock.group.gather(b"")


def profiled(relation: Any) -> dict[str, Any]:
    """Phases over ranks of one more run, and how even the rows of the last operator are."""
    data = relation.profile().data
    predicted = sum(
        phase.get("predicted_s", 0.0)
        for step in data["steps"] if step["profile"] is not None
        for phase in step["profile"]["phases"]
    )  # fmt: skip
    received = [
        sum(move["received_rows"] for move in rank["exchanges"]) for rank in data.get("ranks", [])
    ]
    busiest = max(received) * len(received) / sum(received) if sum(received) else None
    return {
        "predicted_local_s": predicted,
        "busiest_by_mean": busiest,
        "sent_bytes": sum(
            move["sent_bytes"] for rank in data.get("ranks", []) for move in rank["exchanges"]
        ),
        "over_ranks": data.get("over_ranks"),
    }


if __name__ == "__main__":
    main(sys.argv[1])
