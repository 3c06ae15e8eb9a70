"""Which machine a verb is about: one of the catalogue, one of a file, or this one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import output

if TYPE_CHECKING:
    from crossdock.machines.topology import Topology


@dataclass(frozen=True)
class Named:
    """What the options said; nothing means this machine."""

    machine: str | None
    path: str | None
    xml: str | None
    matrix: str | None

    @property
    def count(self) -> int:
        options = (self.machine, self.path, self.xml, self.matrix)
        return sum(option is not None for option in options)

    def topology(self) -> Topology:
        """Errors: UsageError (more than one), those of reading."""
        from crossdock.machines.topology import Topology

        if self.count > 1:
            raise click.UsageError(
                "--machine, --file, --hwloc and --nvidia-smi exclude each other."
            )
        if self.machine is not None:
            return Topology.machine(self.machine)
        if self.path is not None:
            return Topology.file(self.path)
        if self.xml is not None:
            return Topology.hwloc(self.xml)
        return Topology.host() if self.matrix is None else Topology.nvidia_smi(self.matrix)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --machine, --file, --hwloc and --nvidia-smi, which become the parameter `named`."""

    @functools.wraps(command)
    def with_named(
        machine: str | None, path: str | None, xml: str | None, matrix: str | None, **others: Any
    ) -> None:
        command(named=Named(machine, path, xml, matrix), **others)

    for option in (
        click.option("--nvidia-smi", "matrix", metavar="TEXT",
                     help="A machine by what `nvidia-smi topo -m` printed."),
        click.option("--hwloc", "xml", metavar="XML",
                     help="A machine that `lstopo --of xml` looked at."),
        click.option("--file", "path", metavar="JSON",
                     help="A topology that --json wrote, or your own."),
        click.option("--machine", metavar="NAME[:N]",
                     help="A machine of the catalogue, or N on one network."),
    ):  # fmt: skip
        with_named = option(with_named)
    return with_named


def write_picture(path: str, picture: str) -> None:
    """Error: PathError (cannot be written)."""
    from crossdock.errors import make_error

    try:
        Path(path).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise make_error("CD-502", f"{path!r} cannot be written: {error}") from None
    output.say(f"wrote    {path}")
