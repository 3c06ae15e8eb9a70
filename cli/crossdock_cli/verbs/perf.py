"""crossdock perf: how fast rows go from process to process here, beside what could be expected."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import output, perf_counters, perf_ranks, perf_table, results

PATTERNS = ("exchange", "gather", "scatter", "p2p", "bisection", "broadcast", "loopback")
TRANSPORTS = ("auto", "shm", "tcp", "ucx", "threads")


@verbs.verb(
    "perf",
    examples=(
        "crossdock perf exchange --ranks 4",
        "crossdock perf gather --ranks 4 --transport threads --size 1MiB,16MiB,256MiB",
        "crossdock perf exchange --zipf 1 --width 64 --json",
        "crossdock perf exchange --trace segments.json --counters text",
        "mpirun -n 4 crossdock perf exchange --transport ucx",
    ),
    short_help="Measure how fast rows go between processes.",
)
@click.argument("pattern", type=verbs.Word(PATTERNS))
@click.option("--ranks", type=click.IntRange(1, 1024), default=2, show_default=True, metavar="N",
              help="Processes to start here, unless a launcher started several.")  # fmt: skip
@click.option("--transport", type=verbs.Word(TRANSPORTS), default="auto", show_default=True,
              metavar="WAY", help=f"{', '.join(TRANSPORTS)}; threads: of one process.")  # fmt: skip
@click.option("--size", "sizes", default="64MiB", show_default=True, metavar="SIZE,..",
              help="Bytes that each source sends; several for several lines.")  # fmt: skip
@click.option("--width", type=click.IntRange(16, 512), default=16, show_default=True,
              metavar="BYTES", help="Bytes of a row: 8 a column, the first its key.")  # fmt: skip
@click.option("--zipf", type=click.FloatRange(0, 4), default=0.0, show_default="0",
              metavar="THETA", help="Skew of the keys, by Zipf's law; 0: random keys.")  # fmt: skip
@click.option("--blocks", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N",
              help="Threads of each source and destination.")  # fmt: skip
@click.option("--segment", default="256KiB", show_default=True, metavar="SIZE",
              help="Bytes of the segments that rows travel in.")  # fmt: skip
@click.option("--slots", type=click.IntRange(1, 65536), show_default="8; to other hosts up to 32",
              metavar="N",
              help="Segments of each source for each destination; a power of two.")  # fmt: skip
@click.option("--levels", type=click.IntRange(1, 2), default=1, show_default=True, metavar="N",
              help="2: an exchange between nodes first, then inside each.")  # fmt: skip
@click.option("--nodes", type=click.IntRange(0), default=0, show_default="hosts", metavar="N",
              help="Nodes that the ranks are spread over, for --levels 2.")  # fmt: skip
@click.option("--link-rate", "link_rate", metavar="RATE,..",
              help="Of a host's links, as 1Gbit,250Mbit, where no device says it.")  # fmt: skip
@click.option("--repeat", type=click.IntRange(1, 1000), default=5, show_default=True, metavar="N",
              help="Timed runs, after one that looks at every row.")  # fmt: skip
@click.option("--check-rows", is_flag=True, help="Look at every row in the timed runs too.")
@click.option("--memory", metavar="SIZE", help="Memory budget of each process, such as 8GiB.")
@results.OPEN_WITHIN
@results.STEP_WITHIN
@click.option("--counters", type=verbs.Word(perf_counters.FORMATS), metavar="FORMAT",
              help=f"Print what was counted, as {', '.join(perf_counters.FORMATS)}.")  # fmt: skip
@click.option("--trace", metavar="FILE",
              help="Trace the segments of one more run into FILE.")  # fmt: skip
@verbs.JSON
def command(pattern: str, ranks: int, as_json: bool, **options: Any) -> None:
    """Sends made rows through channels in a PATTERN, and prints a line for each size: exchange (all
    to all, by key), gather (all to one), scatter (one to all, by key), p2p (first to last),
    bisection (first half to second half, by key), broadcast (one to all), loopback (each to
    itself).

    algbw is what the busiest rank sends or receives, per second; busbw what of it comes from or
    goes to others. #wrong counts rows that were lost, doubled or changed, in all runs: if there are
    any, the command fails. predicted is the time in which the same threads copy all rows once and
    read them once, measured just before, or what the busiest host's links take for its rows, if
    that is longer and their rate is known; efficiency is how much of the time that explains.

    --counters and --trace are of the last run of the last size: segments, rows, bytes and stalls by
    flow and link (text below the table, json as part of --json, or prometheus instead of it), and
    the way of each segment through rings and links, for ui.perfetto.dev or chrome://tracing.
    """
    settings = perf_settings(pattern, options)
    as_json = perf_counters.check(options["counters"], as_json)
    transport = options["transport"]
    if transport == "threads" and perf_ranks.is_rank():
        raise click.UsageError("--transport threads is for one process; this is one of several.")
    if options["trace"] is not None and not perf_ranks.is_rank():
        perf_counters.write_trace(options["trace"], "")  # before much is measured
    if ranks > 1 and transport != "threads" and not perf_ranks.is_rank():
        arguments = [pattern, *perf_ranks.as_arguments(options)]
        perf_ranks.run_ranks(ranks, [*arguments, *(["--json"] if as_json else [])])
        return
    _measure(settings, ranks if transport == "threads" else 1, options, as_json)


def perf_settings(pattern: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """What to measure, one after the other. Errors: UsageError, OptionError."""
    from crossdock.sizes import parse_bytes, parse_rate

    if options["width"] % 8:
        raise click.UsageError(f"--width {options['width']}: columns have 8 bytes each.")
    if options["slots"] is not None and options["slots"] & (options["slots"] - 1):
        raise click.UsageError(f"--slots {options['slots']} is no power of two.")
    settings = {
        "pattern": pattern,
        "columns": options["width"] // 8,
        "zipf_theta": options["zipf"],
        "blocks": options["blocks"],
        "segment_bytes": parse_bytes(options["segment"], "--segment", "256KiB"),
        "levels": options["levels"],
        "nodes": options["nodes"],
        "link_bytes_per_s": parse_rate(options["link_rate"] or "0bit", "--link-rate"),
        "repeats": options["repeat"],
        "checks_rows": options["check_rows"],
    }
    if options["slots"] is not None:
        settings["slot_bits"] = options["slots"].bit_length() - 1
    sizes = [parse_bytes(size, "--size", "64MiB") for size in options["sizes"].split(",")]
    return [{**settings, "bytes_per_source": size} for size in sizes]


def _measure(
    settings: list[dict[str, Any]], endpoints: int, options: dict[str, Any], as_json: bool
) -> None:
    """Measures as a rank of the group; rank 0 prints."""
    import crossdock as xd
    from crossdock.errors import make_error

    transport = options["transport"]
    transports = "auto" if transport == "threads" else transport
    lines: list[dict[str, Any]] = []
    with xd.join_group(
        transports=transports,
        memory=options["memory"],
        open_within_s=options["open_within"],
        step_within_s=options["step_within"],
    ) as group:
        shown = group.rank == 0
        talks = shown and not as_json and options["counters"] != "prometheus"
        processes = group.size
        for setting in settings:
            traces = options["trace"] is not None and setting is settings[-1]
            report = group.perf(**setting, endpoints_per_rank=endpoints, traces=traces)
            lines.append(perf_table.line_of(report))
            if talks:
                if len(lines) == 1:
                    output.show(perf_table.head(setting, report, processes, transport))
                output.show(perf_table.text_of(lines[-1]))
        counters: list[dict[str, Any]] = []
        if options["counters"] is not None:
            counters = perf_counters.of_all_ranks(group, report["counters"])
    if shown and options["trace"] is not None:
        perf_counters.write_trace(options["trace"], report["trace"])
    if shown and not as_json and options["counters"] is not None:
        output.show(perf_counters.shown(counters, options["counters"]))
    if shown and as_json:
        first = settings[0]
        facts = {name: value for name, value in first.items() if name != "bytes_per_source"}
        output.show_json(
            {"ranks": processes * endpoints, "processes": processes, "transport": transport}
            | facts | {"lines": lines}
            | ({"counters": counters} if options["counters"] is not None else {})
        )  # fmt: skip
    wrong = sum(line["wrong_rows"] for line in lines)
    if wrong:
        raise make_error("CD-901", f"{wrong:,} rows arrived wrong, twice or not at all")
