"""Where output goes: results as text or JSON to standard output, talk to standard error; of several
ranks one writes."""

from __future__ import annotations

import json
from typing import Any

import click

SCHEMA_VERSION = 1


_hushed = False


def hush(hushed: bool = True) -> None:
    """From now on nothing is written: this process is a rank whose words another one says."""
    global _hushed
    _hushed = hushed


def is_hushed() -> bool:
    """Whether another rank talks."""
    return _hushed


def say(text: str) -> None:
    """One line of talk, on standard error."""
    if not _hushed:
        click.echo(text, err=True)


def show(text: str) -> None:
    """A result, on standard output."""
    if not _hushed:
        click.echo(text)


def show_json(value: dict[str, Any]) -> None:
    """A result as one JSON object with its schema_version, on standard output."""
    whole = {"schema_version": SCHEMA_VERSION, **value}
    show(json.dumps(whole, indent=2, default=str, allow_nan=False))
