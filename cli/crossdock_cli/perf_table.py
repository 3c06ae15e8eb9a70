"""The lines that `crossdock perf` prints, in the manner of nccl-tests."""

from __future__ import annotations

import statistics
from typing import Any

COLUMNS = ("size", "rows", "type", "time", "algbw", "busbw", "#wrong", "predicted", "efficiency",
           "noise", "bound by", "messages")  # fmt: skip
UNITS = ("", "", "", "", "GB/s", "GB/s", "", "", "", "", "", "")
WIDTHS = (10, 12, 8, 9, 8, 8, 8, 10, 11, 7, 9, 13)


def line_of(report: dict[str, Any]) -> dict[str, Any]:
    """What is printed of one size, and what more is known of it."""
    seconds = report["seconds"]
    time_s = statistics.median(seconds)
    size_bytes = report["rows_per_source"] * report["row_bytes"]
    algorithm = size_bytes * report["algorithm_factor"] / time_s
    return {
        "bytes_per_source": size_bytes,
        "rows_per_source": report["rows_per_source"],
        "time_s": time_s,
        "algbw_bytes_per_s": algorithm,
        "busbw_bytes_per_s": algorithm * report["bus_factor"],
        "wrong_rows": report["wrong_rows"],
        "predicted_s": report["predicted_s"],
        "efficiency": report["predicted_s"] / time_s,
        "noise": (max(seconds) - min(seconds)) / time_s,
        "bound": report["bound"],
        "columns": report["row_bytes"] // 8,
    } | {
        name: report[name]
        for name in ("seconds", "copy_bytes_per_s", "read_bytes_per_s", "link_bytes",
                     "link_bytes_per_s", "segments", "messages",
                     "messages_second_level", "rows", "refused", "waited_share", "channel_bytes",
                     "memory_peak_bytes")
    }  # fmt: skip


def head(setting: dict[str, Any], report: dict[str, Any], processes: int, transport: str) -> str:
    """What is measured, and the columns."""
    from crossdock.sizes import format_bytes

    nodes = f" over {setting['nodes']} nodes" if setting["nodes"] else ""
    levels = f"; 2 levels{nodes}" if setting["levels"] == 2 else ""
    who = f"{report['endpoints']} ranks, threads of one process"
    if processes > 1 or transport != "threads":
        who = f"{processes} {'process' if processes == 1 else 'processes'}, transport {transport}"
    blocks = setting["blocks"]
    keys = f"Zipf {setting['zipf_theta']:g}" if setting["zipf_theta"] else "random"
    flows = report["counters"]["channels"][0]["flows"]
    # Of flows that begin in this process: of a gather none may.
    depths = sorted({flow["slots"] for flow in flows if "slots" in flow})
    slots = " or ".join(str(depth) for depth in depths) + " " if depths else ""
    lines = [
        f"# {setting['pattern']}: {who}; {blocks} thread{'s' if blocks > 1 else ''} each{levels}",
        f"# rows of {report['row_bytes']} bytes, keys {keys}; "
        f"{slots}segments of {format_bytes(setting['segment_bytes'])} per flow; "
        f"{setting['repeats']} timed runs, the median is shown",
        f"# predicted: copying at {report['copy_bytes_per_s'] / 1e9:.2f} GB/s and reading at "
        f"{report['read_bytes_per_s'] / 1e9:.2f} GB/s per thread, as measured before"
        f"{_links(report)}",
        _joined(COLUMNS),
        _joined(UNITS),
    ]
    return "\n".join(lines)


def _links(report: dict[str, Any]) -> str:
    """What is known of the links, if rows go over any."""
    if not report["link_bytes"]:
        return ""
    rate = report["link_bytes_per_s"]
    return f"; links of {8e-9 * rate:.3g} Gbit/s a host" if rate else "; links of unknown rate"


def text_of(line: dict[str, Any]) -> str:
    """One line of the table."""
    from crossdock.sizes import format_bytes, format_seconds

    return _joined(
        (
            format_bytes(line["bytes_per_source"]),
            f"{line['rows_per_source']:,}",
            f"{line['columns']}xint64",
            format_seconds(line["time_s"]),
            _rate(line["algbw_bytes_per_s"]),
            _rate(line["busbw_bytes_per_s"]),
            f"{line['wrong_rows']:,}",
            format_seconds(line["predicted_s"]),
            f"{line['efficiency']:.0%}",
            f"{line['noise']:.0%}",
            line["bound"],
            _messages(line),
        )
    )


def _rate(bytes_per_s: float) -> str:
    """In GB/s; three digits also where links are slow."""
    rate = bytes_per_s / 1e9
    return f"{rate:.2f}" if rate >= 1 else f"{rate:.3g}"


def _messages(line: dict[str, Any]) -> str:
    """Segments of a run that went from an endpoint to another; by level, if there are two."""
    runs = len(line["seconds"])
    second = line["messages_second_level"] // runs
    first = line["messages"] // runs - second
    return f"{first:,} + {second:,}" if second else f"{first:,}"


def _joined(cells: tuple[str, ...]) -> str:
    return " ".join(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()
