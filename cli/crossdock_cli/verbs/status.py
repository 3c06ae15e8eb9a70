"""crossdock status: what a controller knows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import control_options, output

if TYPE_CHECKING:
    from crossdock.control import ControlStatus

CHANNELS_SHOWN = 20


@verbs.verb(
    "status",
    examples=(
        "crossdock status",
        "crossdock status --json",
        "crossdock status --at head:7613 --ca ca.pem --token-file token",
    ),
    short_help="Show the agents and channels of a controller.",
)
@control_options.at_option
@click.option("--timeout", metavar="S", type=click.FloatRange(0.1, 3600), default=5.0,
              show_default=True, help="Seconds to wait for an answer.")  # fmt: skip
@verbs.JSON
@control_options.caller_options
def command(address: str, timeout: float, as_json: bool, **options: Any) -> None:
    """Shows the agents and the newest channels of a controller. An agent that listens passes the
    question on."""
    from crossdock.control import Connection

    settings = control_options.caller_settings(address, options)
    status = Connection(settings, timeout).status()
    if as_json:
        output.show_json({"address": address, **asdict(status)})
    else:
        output.show(_text(address, status))


def _text(address: str, status: ControlStatus) -> str:
    from crossdock.reports.display import align

    lines = [
        f"controller at {address}, epoch {status.epoch}, up {status.up_s:.0f} s",
        f"{_count(status.endpoints, 'endpoint')}, {_count(status.open_channels, 'open channel')}; "
        f"{status.channels_created} created and {status.channels_closed} closed in this epoch",
    ]
    if status.agents:
        agents = [("agent", "state", "GPUs", "NICs", "endpoints", "channels", "silent")]
        agents += [
            (a.name, a.state, str(a.gpus), str(a.nics), str(a.endpoints), str(a.channels),
             f"{a.silent_s:.1f} s")
            for a in status.agents
        ]  # fmt: skip
        lines += ["", *align(agents, frozenset(range(2, 7)))]
    else:
        lines += ["", "no agent has joined: crossdock agent"]
    if status.channels:
        shown = status.channels[-CHANNELS_SHOWN:]
        channels = [("channel", "state", "sources", "destinations", "agents")]
        channels += [
            (c.id, c.state, str(c.sources), str(c.destinations), str(c.agents)) for c in shown
        ]
        lines += ["", *align(channels, frozenset({2, 3, 4}))]
        if len(shown) < len(status.channels):
            lines.append(f"… {len(status.channels) - len(shown)} older ones: --json")
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
