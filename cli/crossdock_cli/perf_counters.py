"""What `crossdock perf` shows beside its table: counters of all ranks, and the trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import crossdock as xd

FORMATS = ("text", "json", "prometheus")


def check(counters: str | None, as_json: bool) -> bool:
    """Whether JSON is printed. Error: UsageError for JSON together with another format."""
    if as_json and counters not in (None, "json"):
        raise click.UsageError(f"--json with --counters {counters}: take one of both.")
    return as_json or counters == "json"


def of_all_ranks(group: xd.Group, counters: dict[str, Any]) -> list[dict[str, Any]]:
    """The counters of all ranks, in all of them."""
    return [json.loads(text) for text in group.gather(json.dumps(counters).encode())]


def shown(counters: list[dict[str, Any]], form: str) -> str:
    """As text or for Prometheus, without the last line's end."""
    from crossdock.counters import to_prometheus, to_text

    text = to_text(counters) if form == "text" else to_prometheus(counters)
    return text.rstrip("\n")


def write_trace(path: str, trace: str) -> None:
    """Error: PathError (cannot be written)."""
    from crossdock.errors import make_error

    try:
        Path(path).write_text(trace, encoding="utf-8")
    except OSError as error:
        raise make_error("CD-502", f"{path!r} cannot be written: {error.strerror}") from None
