"""What a run over ranks cost, of all ranks side by side."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from crossdock.ranks.execution import RankExecution
from crossdock.ranks.phases import over_ranks, own_phases, phase_lines
from crossdock.ranks.places import predicted_moves, predicted_total, prediction_lines
from crossdock.reports.display import align
from crossdock.reports.operator_text import predicted_seconds
from crossdock.sizes import format_bytes, format_count, format_seconds


def profiled_over_ranks(
    execution: RankExecution, profiled: Callable[[], tuple[pa.Table, dict[str, Any]]]
) -> tuple[pa.Table, dict[str, Any]]:
    """The table and the facts of this rank's run, which `profiled` measures, and beside these, in
    "ranks", what each rank did. Collective."""
    ranks = execution.ranks
    with ranks.call("profile"):
        table, facts = profiled()
        steps = facts["steps"]
        moves = [asdict(move) for move in ranks.moves]
        mine = {
            "rank": ranks.rank,
            "host": socket.gethostname(),
            "result_rows": facts["result_rows"],
            "total_s": facts["total_s"],
            "exchanges": moves,
            "filters": [asdict(done) for done in ranks.filters],
            "joins": [asdict(route) for route in ranks.join_routes],
            "operators": [[step["headline"], step["rows"], step["measured_s"]] for step in steps],
            "phases": own_phases(moves, steps),
            "predicted_s": sum(
                predicted_seconds(step["profile"]) for step in steps if step["profile"]
            ),
        }
        every = ranks.agree("a profile", mine)
    of_ranks = {
        "rank": ranks.rank,
        "ranks": every,
        "moves": {"how": ranks.how, "because": ranks.why_not_in_bulk},
        "is_replicated": execution.is_everywhere,
        "over_ranks": {
            **over_ranks(every),
            "exchanges": predicted_moves(every),
            "predicted_s": predicted_total(every),
        },
    }
    return table, {**facts, **of_ranks}


def rank_lines(data: dict[str, Any]) -> list[str]:
    """The exchanges and steps of all ranks: the most that one had, and what they had on average;
    then their phases."""
    ranks = data["ranks"]
    predicted = prediction_lines(data["over_ranks"]["exchanges"])
    rows = [("over all ranks", "rows", "most in one", "mean", "bytes", "longest", "mean time")]
    for moves in zip(*(rank["exchanges"] for rank in ranks), strict=True):
        received = [move["received_rows"] for move in moves]
        sent_bytes = sum(move["sent_bytes"] for move in moves)
        title = f"exchange {moves[0]['rule']}, {moves[0]['how']}"
        rows.append((title, *_spread(received), format_bytes(sent_bytes), *_times(moves)))
    same = all(len(rank["operators"]) == len(ranks[0]["operators"]) for rank in ranks)
    for steps in zip(*(rank["operators"] for rank in ranks), strict=True) if same else ():
        times = [{"seconds": step[2]} for step in steps]
        rows.append((steps[0][0], *_spread([step[1] for step in steps]), "", *_times(times)))
    results = [rank["result_rows"] for rank in ranks]
    whole = [{"seconds": rank["total_s"]} for rank in ranks]
    rows.append(("result", *_spread(results), "", *_times(whole)))
    table = align(rows, frozenset((1, 2, 3, 4, 5, 6)))
    move_lines = [*_filter_lines(ranks), *_join_lines(ranks[0])]
    if data["moves"]["because"]:
        move_lines.append(f"rows move {data['moves']['how']}, since {data['moves']['because']}")
    return [*table, *move_lines, "", *phase_lines(ranks), *predicted]


def _join_lines(rank: dict[str, Any]) -> list[str]:
    """All ranks go the same ways."""
    return [
        f"join on {', '.join(route['on'])}: rows go {route['how']}"
        + (f", since {route['reason']}" if route["reason"] else "")
        for route in rank["joins"]
    ]


def _filter_lines(ranks: list[dict[str, Any]]) -> list[str]:
    lines = []
    for of_ranks in zip(*(rank["filters"] for rank in ranks), strict=True):
        first = of_ranks[0]
        if first["rows"] is None:
            lines.append(_stream_line(of_ranks))
            continue
        rows, kept, dropped = (
            sum(one[what] for one in of_ranks) for what in ("rows", "kept_rows", "dropped_bytes")
        )
        lines.append(
            f"filter of {', '.join(first['keys'])} ({first['side']} side): kept "
            f"{format_count(kept)} of {format_count(rows)} rows (expected "
            f"{first['expected_share']:.0%}), {format_bytes(dropped)} stayed, for a filter of "
            f"{format_bytes(first['filter_bytes'])}"
        )
    return lines


def _stream_line(of_ranks: Sequence[dict[str, Any]]) -> str:
    first, kept = of_ranks[0], sum(one["kept_rows"] for one in of_ranks)
    return (
        f"filter of {', '.join(first['keys'])} ({first['side']} side, as a stream): kept "
        f"{format_count(kept)} rows (expected {first['expected_share']:.0%}) by a filter of "
        f"{format_bytes(first['filter_bytes'])}"
    )


def _spread(rows: list[int]) -> tuple[str, str, str]:
    return (
        format_count(sum(rows)),
        format_count(max(rows)),
        format_count(sum(rows) / len(rows)),
    )


def _times(of: Any) -> tuple[str, str]:
    seconds = [part["seconds"] for part in of]
    return format_seconds(max(seconds)), format_seconds(sum(seconds) / len(seconds))
