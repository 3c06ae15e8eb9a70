"""crossdock topo: what a machine is made of, as text, JSON or a picture."""

from __future__ import annotations

from pathlib import Path

import click

from crossdock_cli import command as verbs
from crossdock_cli import output


@click.command(
    "topo",
    cls=verbs.Verb,
    context_settings=verbs.SETTINGS,
    examples=(
        "crossdock topo",
        "crossdock topo --machine dgx-a100:13 --svg dgx.svg",
        "crossdock topo --hwloc lstopo.xml --json",
        "nvidia-smi topo -m > matrix.txt && crossdock topo --nvidia-smi matrix.txt",
    ),
    short_help="Show CPUs, GPUs, NICs and links of a machine.",
)
@click.option(
    "--machine", metavar="NAME[:N]", help="A machine of the catalogue, or N on one network."
)
@click.option("--file", "path", metavar="JSON", help="A topology that --json wrote, or your own.")
@click.option("--hwloc", "xml", metavar="XML", help="A machine that `lstopo --of xml` looked at.")
@click.option(
    "--nvidia-smi",
    "matrix",
    metavar="TEXT",
    help="A machine by what `nvidia-smi topo -m` printed.",
)
@click.option("--list", "as_list", is_flag=True, help="List the catalogue with its sources.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the graph as JSON, as --file reads it."
)
@click.option("--svg", metavar="FILE", help="Draw the machine into FILE.")
def command(
    machine: str | None,
    path: str | None,
    xml: str | None,
    matrix: str | None,
    as_list: bool,
    as_json: bool,
    svg: str | None,
) -> None:
    """Shows what a machine is made of: its devices, the links between them and what these carry,
    and warns of what will be slow. Without an option it looks at this machine.

    Rates are those of the specifications, each way. What no probe tells is said, and marked as
    assumed where the graph needs a number.
    """
    from crossdock.topology import Topology

    if sum(value is not None for value in (machine, path, xml, matrix)) + as_list > 1:
        raise click.UsageError(
            "--machine, --file, --hwloc, --nvidia-smi and --list exclude each other."
        )
    if as_list:
        _list_machines(as_json)
        return
    if machine is not None:
        topology = Topology.machine(machine)
    elif path is not None:
        topology = Topology.file(path)
    elif xml is not None:
        topology = Topology.hwloc(xml)
    elif matrix is not None:
        topology = Topology.nvidia_smi(matrix)
    else:
        topology = Topology.host()
    if svg is not None:
        _write(Path(svg), topology.svg())
    if as_json:
        output.show_json(topology.to_dict())
        for probe, what in topology.notes:
            output.say(f"note     {probe}: {what}")
    else:
        output.show(topology.text())


def _list_machines(as_json: bool) -> None:
    from dataclasses import asdict

    from crossdock.display import align
    from crossdock.topology import Topology

    machines = Topology.machines()
    if as_json:
        output.show_json({"machines": [asdict(machine) for machine in machines]})
        return
    output.show("\n".join(align([(machine.name, machine.summary) for machine in machines])))


def _write(path: Path, text: str) -> None:
    from crossdock.errors import make_error

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise make_error("CD-502", f"{str(path)!r} cannot be written: {error}") from None
    output.say(f"wrote    {path}")
