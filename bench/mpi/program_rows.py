"""Rows of C++ programs under mpirun: rows that are exchanged in bulk, packed and not, in phases and
not, on one machine and on hosts with links of a known rate; and the exchange of bucket counts.

Forms of one row take turns in one process group, run by run.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from channels import iperf, places
from channels.places import Place
from harness.measure import ratio_in_turns
from harness.programs import ProgramError, build_all
from harness.report import Row, seconds

# Open MPI's one-sided messages over TCP have to be asked for: docs/transports.md. Hosts share the
# cores of one machine, which Open MPI cannot know: ranks that wait must leave them to others.
OVER_TCP = (
    "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "osc", "pt2pt",
    "--mca", "mpi_yield_when_idle", "1",
)  # fmt: skip
MILLION = 1_000_000
# Orders of puts that fill the same links take the same time; ratios of single turns are some per
# cent apart.
SAME = 0.98
OLD_FORMS = ("task buffers", "chunk buffers")  # of bucket counts: before the pull request and after
FASTEST_FROM_RANKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeWork:
    """`forms`, as bulk_exchange_bench names them: the first is ours, the others are its peers.
    `bars`: how many times as fast as a peer ours must be. A host of no rates is the machine
    itself, whose ranks then reach each other by puts alone."""

    name: str
    title: str
    place: Place
    rows_per_rank: int
    forms: tuple[str, ...]
    bars: Mapping[str, float] = field(default_factory=dict)
    bytes_most: float | None = None  # of the first peer's, sent in all
    line_least: float | None = None  # of iperf3's rate, while rows are on their way
    # Each form in process groups of its own: TCP keeps what it learned of a connection, and a form
    # would go on with what another has taught it.
    is_apart: bool = False


EXCHANGES = (
    ExchangeWork(
        name="packing",
        title="16-byte rows, 2 ranks, puts, packed or not",
        place=Place(2),
        rows_per_rank=4 * MILLION,
        forms=("phases/always", "phases/never"),
        bytes_most=0.5,
    ),
    ExchangeWork(
        name="packing-hosts",
        title="same, 2 hosts with 1 Gbit",
        place=Place(2, ("1gbit",)),
        rows_per_rank=4 * MILLION,
        forms=("phases/always", "phases/never"),
        bars={"phases/never": 1.0},
        bytes_most=0.5,
    ),
    ExchangeWork(
        name="phases-hosts",
        title="16-byte rows, 4 hosts with 1 Gbit, in phases or not",
        place=Place(4, ("1gbit",)),
        rows_per_rank=4 * MILLION,
        forms=("phases/never", "fill/never"),
        bars={"fill/never": SAME},
        line_least=0.85,
    ),
    ExchangeWork(
        name="phases-hosts-200",
        title="same, with 200 Mbit, which the cores can fill",
        place=Place(4, ("200mbit",)),
        rows_per_rank=2 * MILLION,
        forms=("phases/never", "fill/never"),
        bars={"fill/never": SAME},
        line_least=0.85,
    ),
    ExchangeWork(
        name="phases-8-hosts",
        title="same, 8 hosts with 200 Mbit",
        place=Place(8, ("200mbit",)),
        rows_per_rank=3 * MILLION // 2,
        forms=("phases/never", "fill/never"),
        bars={"fill/never": SAME},
        line_least=0.85,
        is_apart=True,
    ),
)
COUNTS = {f"counts-{ranks}": ranks for ranks in (2, 4, 8)}
TASKS, BUCKETS, BUFFER_ELEMENTS = 2, 4096, 1024


def names() -> list[str]:
    return [*(work.name for work in EXCHANGES), *COUNTS]


def rows_wanted(is_wanted: Callable[[str], bool]) -> list[tuple[str, Callable[..., Row]]]:
    """Names, and what measures: called with the rounds and the share of the full rows."""
    rows: list[tuple[str, Callable[..., Row]]] = [
        (work.name, partial(exchange_row, work)) for work in EXCHANGES if is_wanted(work.name)
    ]
    rows += [(name, partial(counts_row, name, n)) for name, n in COUNTS.items() if is_wanted(name)]
    return rows


def built(program: str) -> Path:
    return build_all(program, "crossdock_mpi_openmpi") / program


def said_by(place: Place, command: list[str], options: tuple[str, ...]) -> list[dict[str, Any]]:
    text = places.text_by_mpi(place, command, options)
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def exchange_row(work: ExchangeWork, repeat: int, scale: float) -> Row:
    rows = max(round(work.rows_per_rank * scale), 1000)
    program = [str(built("bulk_exchange_bench")), str(work.place.ranks), str(rows)]
    options = OVER_TCP if work.place.rates else ()

    def run(forms: tuple[str, ...], repeats: int) -> list[dict[str, Any]]:
        return said_by(work.place, [*program, str(repeats), ",".join(forms), "1"], options)

    if work.is_apart:
        rounds = [[run((form,), 3)[0] for form in work.forms] for _ in range(repeat)]
        said = [together(list(of_form)) for of_form in zip(*rounds, strict=True)]
    else:
        said = run(work.forms, 3 * repeat)
    rates = iperf.link_rates(work.place) if work.line_least is not None else []
    return row_of_forms(work, said, sum(rates))


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What one form said in several process groups, as if it were one."""
    samples = [sample for one in runs for sample in one["samples_s"]]
    phases = {
        name: [sample for one in runs for sample in one["phases_s"][name]]
        for name in runs[0]["phases_s"]
    }
    return {**runs[0], "samples_s": samples, "phases_s": phases}


def row_of_forms(work: ExchangeWork, said: list[dict[str, Any]], host_bytes_per_s: float) -> Row:
    """Medians, ratios and the verdict. `host_bytes_per_s`: of a host's links, 0 if unknown."""
    forms = {one["form"]: one for one in said}
    if tuple(forms) != work.forms:
        raise ProgramError(f"{list(forms)} were measured, and {list(work.forms)} asked for")
    ours = forms[work.forms[0]]
    ours_s = statistics.median(ours["samples_s"])
    peers = {name: statistics.median(forms[name]["samples_s"]) for name in work.forms[1:]}
    ratios = {name: ratio_in_turns(forms[name]["samples_s"], ours["samples_s"]) for name in peers}
    held = [ratios[name] >= bar for name, bar in work.bars.items()]
    row: Row = {
        "name": work.name, "work": work.title, "ranks": work.place.ranks,
        "place": work.place.text(), "ours_s": ours_s, "ours_spread": spread(ours["samples_s"]),
        "peers": peers, "ratios": ratios, "bars": dict(work.bars), "forms": said,
    }  # fmt: skip
    if work.bytes_most is not None:
        row["bytes_share"] = ours["bytes_sent"] / forms[work.forms[1]]["bytes_sent"]
        row["bytes_most"] = work.bytes_most
        held.append(row["bytes_share"] <= work.bytes_most)
    if work.line_least is not None:
        moving_s = statistics.median(ours["phases_s"]["network partition"])
        sent = ours["bytes_sent"] / work.place.ranks
        row["line_share"] = sent / moving_s / host_bytes_per_s
        row["line_least"] = work.line_least
        held.append(row["line_share"] >= work.line_least)
    return {**row, "met": all(held) if held else None}


def counts_row(name: str, ranks: int, repeat: int, scale: float) -> Row:
    """The five forms of seed 003's exchange of counts."""
    buckets = max(round(BUCKETS * scale), ranks)
    shape = [ranks, TASKS, buckets, BUFFER_ELEMENTS, 7 * repeat, 1]
    command = [str(built("bucket_counts_bench")), *map(str, shape)]
    return row_of_counts(name, ranks, said_by(Place(ranks), command, ()))


def row_of_counts(name: str, ranks: int, said: list[dict[str, Any]]) -> Row:
    """Ours is the fastest of the forms that do not transpose before they send. Met: all forms send
    what the formulas say, each new one no more messages than either old one, and from 8 ranks on
    ours is faster than these."""
    old = {one["form"]: one for one in said if one["form"] in OLD_FORMS}
    new = [one for one in said if one["form"] not in OLD_FORMS]
    ours = min(new, key=lambda one: float(one["seconds"]))
    counted = all(
        (one["messages"], one["bytes"]) == (one["predicted_messages"], one["predicted_bytes"])
        for one in said
    )
    fewest = max(one["messages"] for one in new) <= min(one["messages"] for one in old.values())
    fastest = all(ours["seconds"] <= one["seconds"] for one in old.values())
    return {
        "name": name, "work": f"counts of {ours['buckets']} buckets, {ranks} ranks, 5 forms",
        "ranks": ranks, "ours": ours["form"], "ours_s": ours["seconds"], "ours_spread": None,
        "peers": {form: one["seconds"] for form, one in old.items()},
        "ratios": {form: one["seconds"] / ours["seconds"] for form, one in old.items()},
        "bars": {}, "forms": said, "counted_as_predicted": counted, "fewest": fewest,
        "fastest": fastest, "met": counted and fewest and (fastest or ranks < FASTEST_FROM_RANKS),
    }  # fmt: skip


def spread(samples: list[float]) -> float:
    return (max(samples) - min(samples)) / statistics.median(samples)


def print_program_row(row: Row) -> None:
    met = {True: "yes", False: "NO", None: "-"}[row["met"]]
    off = f" +-{row['ours_spread']:.0%}" if row["ours_spread"] is not None else ""
    print(f"  {row['work']}: {seconds(row['ours_s'])}{off}, met: {met}")
    for peer, peer_s in row["peers"].items():
        required = f", {row['bars'][peer]:g}x wanted" if peer in row["bars"] else ""
        print(f"      {peer}: {seconds(peer_s)}, ours {row['ratios'][peer]:.2f}x{required}")
    if "bytes_share" in row:
        print(f"      bytes sent: {row['bytes_share']:.2f}x, {row['bytes_most']:g}x at most wanted")
    if "line_share" in row:
        required = f"{row['line_least']:.0%} wanted"
        print(f"      while rows move: {row['line_share']:.0%} of iperf3's rate, {required}")
    for one in row["forms"]:
        if "phases_s" in one:
            times = {name: statistics.median(all_s) for name, all_s in one["phases_s"].items()}
            said = ", ".join(f"{name} {seconds(time_s)}" for name, time_s in times.items())
            print(f"      {one['form']}: {one['sent_row_bytes']} bytes a row; {said}")
        else:
            sent = f"{one['messages']:,} messages, {one['bytes']:,} bytes"
            print(f"      {one['form']}: {seconds(one['seconds'])}, {sent}")
