"""Counters of channels and links, for people and for Prometheus.

    text = xd.to_prometheus(group.counters())

`Channel.counters`, `Group.counters` and `crossdock perf --counters json` give plain dictionaries;
docs/reference-counters.md says what is in them. The text is that of Prometheus' exposition format
0.0.4, as its server, its push gateway and the text files of node_exporter take it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Metric:
    """One metric: where in the dictionaries its numbers are, and what Prometheus calls it."""

    owner: str  # "flow", "channel" or "link"
    key: str  # in the dictionary of its owner
    name: str
    is_gauge: bool
    help: str


def _counter(owner: str, key: str, name: str, help_: str) -> Metric:
    return Metric(owner, key, f"crossdock_{owner}_{name}_total", False, help_)


def _gauge(owner: str, key: str, name: str, help_: str) -> Metric:
    return Metric(owner, key, f"crossdock_{owner}_{name}", True, help_)


METRICS: tuple[Metric, ...] = (
    _counter("flow", "segments_published", "segments_published",
             "Segments that the source has filled or sealed."),
    _gauge("flow", "segments_occupied", "segments_occupied",
           "Segments of the source's ring that hold rows and cannot be filled again."),
    _gauge("flow", "slots", "slots", "Segments that the ring has room for."),
    _counter("flow", "rows_sent", "rows_sent", "Rows put in by senders that have flushed."),
    _counter("flow", "segments_resent", "segments_resent",
             "Segments that were sent again, over another path or the same."),
    _counter("flow", "stalls", "stalls",
             "Turns in which rows or segments had to stay, by cause."),
    _counter("flow", "segments_taken", "segments_taken",
             "Segments that receivers of this rank have taken."),
    _gauge("flow", "segments_waiting", "segments_waiting",
           "Segments that are there for receivers of this rank and not taken."),
    _counter("flow", "segments_given_back", "segments_given_back",
             "Segments whose rows are no longer used."),
    _counter("flow", "rows_taken", "rows_taken", "Rows that receivers of this rank have taken."),
    _counter("flow", "bytes_taken", "bytes_taken",
             "Bytes of rows that receivers of this rank have taken."),
    _counter("channel", "refused", "sends_refused",
             "Sends that were answered with no, since rows before them waited for room."),
    _gauge("channel", "memory_bytes", "memory_bytes", "Bytes of the channel's buffers."),
    _counter("link", "frames_sent", "frames_sent", "Segments put on the link."),
    _counter("link", "bytes_sent", "bytes_sent", "Bytes of segments put on the link."),
    _counter("link", "frames_received", "frames_received", "Segments taken from the link."),
    _counter("link", "bytes_received", "bytes_received", "Bytes of segments taken from the link."),
    _counter("link", "notes_sent", "notes_sent", "Notes between movers put on the link."),
    _counter("link", "notes_received", "notes_received", "Notes taken from the link."),
    _counter("link", "resent", "frames_resent", "Segments put again that had been sent before."),
    _counter("link", "duplicates", "frames_duplicate", "Segments that had come before."),
    _counter("link", "relayed", "frames_relayed", "Segments of other ranks that were passed on."),
    _counter("link", "dropped", "frames_dropped", "Segments that found no place, or no channel."),
    _counter("link", "malformed", "malformed", "Segments and notes that could not be read."),
    _counter("link", "stalls", "stalls",
             "Turns in which a flow to the link's peer was kept back, by cause."),
    _gauge("link", "frames_under_way", "frames_under_way", "Segments put and not yet sent."),
    _gauge("link", "bytes_under_way", "bytes_under_way", "Bytes of segments put and not yet sent."),
    _gauge("link", "lost", "lost", "1 if the link is lost."),
)  # fmt: skip


def to_prometheus(counters: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> str:
    """The counters of one rank, or of several, as text for Prometheus.

    Labels say which rank, channel, level, source, outlet and link a number is of, and of stalls
    the cause. A flow's source says what was put in, its outlet what was taken, so that sums over
    ranks count nothing twice. `counters` are what `Group.counters` gives.
    """
    ranks = [counters] if isinstance(counters, Mapping) else list(counters)
    samples: dict[str, list[str]] = {metric.name: [] for metric in METRICS}
    for rank in ranks:
        for owner, labels, numbers in _owners(rank):
            for metric in METRICS:
                if metric.owner == owner and metric.key in numbers:
                    samples[metric.name] += _samples(metric.name, labels, numbers[metric.key])
    lines: list[str] = []
    for metric in METRICS:
        if not samples[metric.name]:
            continue
        kind = "gauge" if metric.is_gauge else "counter"
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {kind}"]
        lines += samples[metric.name]
    return "".join(line + "\n" for line in lines)


def to_text(counters: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> str:
    """The same for people: a line per flow and rank, then a line per link."""
    ranks = [counters] if isinstance(counters, Mapping) else list(counters)
    flows = [
        [
            rank["rank"],
            f"{channel['channel']}" + ("/2" if flow["level"] == 2 else ""),
            f"{flow['source']} to {flow['outlet']}",
            _cell(flow, "segments_published"),
            _cell(flow, "rows_sent"),
            _cell(flow, "segments_taken"),
            _cell(flow, "rows_taken"),
            _cell(flow, "bytes_taken"),
            _cell(flow, "segments_waiting"),
            _stalls(flow),
        ]
        for rank in ranks
        for channel in rank["channels"]
        for flow in channel["flows"]
    ]
    links = [
        [
            rank["rank"],
            link["link"],
            *(_cell(link, key) for key in
              ("frames_sent", "bytes_sent", "frames_received", "bytes_received", "resent")),
            _stalls(link),
            "lost" if link["lost"] else "",
        ]
        for rank in ranks
        for link in rank["links"]
    ]  # fmt: skip
    text = _table(("rank", "channel", "flow", "published", "rows sent", "taken", "rows taken",
                   "bytes taken", "waiting", "stalls"), flows)  # fmt: skip
    if links:
        text += _table(("rank", "link", "frames sent", "bytes sent", "received", "bytes received",
                        "resent", "stalls", ""), links)  # fmt: skip
    return text


def _owners(rank: Mapping[str, Any]) -> Iterator[tuple[str, _Labels, Mapping[str, Any]]]:
    """Each flow, channel and link of a rank: what it is, its labels, and its numbers."""
    label = ("rank", str(rank["rank"]))
    for channel in rank["channels"]:
        of_channel = (label, ("channel", str(channel["channel"])))
        yield "channel", of_channel, channel
        for flow in channel["flows"]:
            ends = tuple((name, str(flow[name])) for name in ("level", "source", "outlet"))
            yield "flow", of_channel + ends, flow
    for link in rank["links"]:
        labels = (label, ("link", link["link"]), ("peer", str(link["peer"])))
        yield "link", labels, {**link, "lost": int(link["lost"])}


def _samples(name: str, labels: _Labels, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [
            line
            for cause, count in value.items()
            for line in _samples(name, (*labels, ("cause", cause)), count)
        ]
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return [f"{name}{{{shown}}} {value}"]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _cell(numbers: Mapping[str, Any], key: str) -> str:
    return f"{numbers[key]:,}" if key in numbers else "-"


def _stalls(numbers: Mapping[str, Any]) -> str:
    causes = [f"{cause} {count:,}" for cause, count in numbers.get("stalls", {}).items() if count]
    return ", ".join(causes) or "-"


def _table(head: Iterable[str], rows: list[list[Any]]) -> str:
    cells = [[str(cell) for cell in row] for row in [list(head), *rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.rjust, row, widths)).rstrip() for row in cells)
    return "".join(line + "\n" for line in lines)
