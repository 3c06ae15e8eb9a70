"""crossdock config: the settings, their values and where they come from."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from crossdock_cli import command as verbs
from crossdock_cli import output

if TYPE_CHECKING:
    from crossdock.settings import Setting


@click.group(
    "config",
    cls=verbs.Verbs,
    examples=("crossdock config list", "CROSSDOCK_THREADS=4 crossdock config list --changed"),
    short_help="Show settings and where their values come from.",
)
def command() -> None:
    """Settings are given as a flag, or as an environment variable CROSSDOCK_NAME. A flag wins over
    the environment, which wins over the default."""


@command.command(
    "list",
    cls=verbs.Verb,
    examples=("crossdock config list", "crossdock config list --changed --json"),
    short_help="List all settings.",
)
@click.option("--changed", is_flag=True, help="Only those that do not have their default value.")
@verbs.JSON
def list_settings(changed: bool, as_json: bool) -> None:
    """Lists each setting with its value, where that comes from, the default, and what it does."""
    from crossdock.reports.display import align
    from crossdock.settings import check_environment, current_settings

    check_environment()
    shown = [s for s in current_settings() if not changed or s.origin != "default"]
    if as_json:
        listed = [{**asdict(s), "value": _shown(s), "variable": s.variable} for s in shown]
        output.show_json({"settings": listed})
        return
    if not shown:
        output.say("every setting has its default value")
        return
    rows = [("setting", "value", "from", "default", "what it does")]
    for s in shown:
        origin = f"env {s.variable}" if s.origin == "env" else s.origin
        rows.append((s.name, _shown(s), origin, s.default, s.doc))
    output.show("\n".join(align(rows)))


def _shown(setting: Setting) -> str:
    """The value, unless it is a secret."""
    return "(hidden)" if setting.name.endswith("token") and setting.value else setting.value
