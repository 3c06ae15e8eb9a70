"""One rank of a measured run: made rows or TPC-H's, a few timed runs, and what they were predicted
to take. Rank 0 may take turns with them, run by run, and do the same in one process (`beside`).

Started by bench/mpi/workloads.py, under mpirun; rank 0 prints one JSON object. Alone it runs
another engine on the same rows of TPC-H: `engine`, as bench/harness/engines.py names it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

# The script is run by its path, from any folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import crossdock as xd
from crossdock.reports.operator_text import predicted_seconds
from crossdock.workload import Workload
from harness.engines import OURS, PEERS, Setting, limit_threads
from join.workloads import WORKS

TPCH = next(work for work in WORKS if work.name == "tpch-memory")


def main(text: str) -> None:
    asked = json.loads(text)
    if asked["engine"] != OURS:
        other_engine(asked)
        return
    with ExitStack() as stack:
        dock = stack.enter_context(xd.connect(threads=asked["threads"]))
        relation, rows = relation_of(dock, asked)
        run = runner(relation, asked["form"])
        result = sums_of(dock, run())
        embedded = embedded_run(stack, asked) if asked["beside"] and dock.rank == 0 else None
        if embedded is not None:
            check(result, embedded()[1])
        samples: dict[str, list[float]] = {"ours": []}
        for _ in range(asked["repeats"]):
            dock_waits(dock)
            seconds, again = timed(run)
            samples["ours"].append(seconds)
            check(result, sums_of(dock, again))
            del again
            if embedded is not None:
                seconds, again = embedded()
                samples.setdefault("embedded", []).append(seconds)
                check(result, again)
        report = {"samples_s": samples, "result": result, "rows": rows, "size": dock.size}
        if asked["profiled"]:
            report |= profiled(relation)
        if dock.rank == 0:
            print(json.dumps(report))


def embedded_run(stack: ExitStack, asked: dict[str, Any]) -> Callable[[], tuple[float, Any]]:
    """All rows in this process, with as many threads as ranks take cores: seconds and the result,
    while the ranks wait."""
    threads = min(asked["shares"], os.cpu_count() or 1)
    alone = stack.enter_context(xd.connect(threads=threads, ranks="off"))
    run = runner(relation_of(alone, asked)[0], asked["form"])

    def once() -> tuple[float, Any]:
        seconds, result = timed(run)
        return seconds, sums_of(alone, result)

    return once


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def check(expected: Any, result: Any) -> None:
    if result != expected:
        raise SystemExit(f"two runs gave {expected} and {result}")


def other_engine(asked: dict[str, Any]) -> None:
    """TPC-H's join by a peer: loading is not timed, and the first run does not count."""
    limit_threads(asked["threads"])
    inputs = TPCH.make(asked["scale"])
    with ExitStack() as stack:
        run = PEERS[asked["engine"]](Setting(TPCH, inputs, asked["threads"], stack))
        assert run is not None
        result = facts_of(run())
        samples = []
        for _ in range(asked["repeats"]):
            seconds, table = timed(run)
            samples.append(seconds)
            del table
    print(
        json.dumps(
            {
                "samples_s": {asked["engine"]: samples},
                "result": result,
                "rows": inputs.rows,
                "size": 1,
            }
        )
    )


def facts_of(table: Any) -> list[int]:
    """Rows, and sums of the first two columns."""
    import pyarrow.compute as pc

    return [table.num_rows, *(pc.sum(column).as_py() or 0 for column in table.columns[:2])]


def sums_of(dock: Any, result: Any) -> Any:
    """What is compared between runs and engines: of a table the facts of all ranks' rows."""
    if not hasattr(result, "num_rows"):
        return result
    mine = facts_of(result)
    if dock.size == 1:
        return mine
    gathered = dock.group.gather(json.dumps(mine).encode())
    return [sum(place) for place in zip(*map(json.loads, gathered), strict=True)]


def relation_of(dock: Any, asked: dict[str, Any]) -> tuple[Any, int]:
    """The join over this rank's share of both sides, and the rows of both in all ranks."""
    if asked["source"] == "tpch":
        inputs = TPCH.make(asked["scale"])
        shares = {}
        for side, table in inputs.sources.items():
            begin, end = (table.num_rows * n // dock.size for n in (dock.rank, dock.rank + 1))
            shares[side] = dock.from_arrow(table.slice(begin, end - begin))
        return TPCH.ours(shares), inputs.rows
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
    if form == "rows":
        return lambda: relation.collect()
    return lambda: relation.collect().to_pylist()


def dock_waits(dock: Any) -> None:
    """Until all ranks are here: no rank's time includes another's end of the run before."""
    if dock.size > 1:
        dock.group.gather(b"")


def profiled(relation: Any) -> dict[str, Any]:
    """Phases over ranks of one more run, and how even the rows of the last operator are."""
    data = relation.profile().data
    profiles = [step["profile"] for step in data["steps"] if step["profile"] is not None]
    predicted = sum(map(predicted_seconds, profiles))
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
