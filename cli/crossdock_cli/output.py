"""Where output goes: results as text or JSON to standard output, talk to standard error."""

from __future__ import annotations

import json
from typing import Any

import click

SCHEMA_VERSION = 1


def say(text: str) -> None:
    """One line of talk, on standard error."""
    click.echo(text, err=True)


def show(text: str) -> None:
    """A result, on standard output."""
    click.echo(text)


def show_json(value: dict[str, Any]) -> None:
    """A result as one JSON object with its schema_version, on standard output."""
    whole = {"schema_version": SCHEMA_VERSION, **value}
    click.echo(json.dumps(whole, indent=2, default=str, allow_nan=False))
