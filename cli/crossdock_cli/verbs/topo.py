"""crossdock topo: what a machine is made of, as text, JSON or a picture."""

from __future__ import annotations

import click

from crossdock_cli import command as verbs
from crossdock_cli import machines, output


@verbs.verb(
    "topo",
    examples=(
        "crossdock topo",
        "crossdock topo --machine dgx-a100:13 --svg dgx.svg",
        "crossdock topo --hwloc lstopo.xml --json",
        "nvidia-smi topo -m > matrix.txt && crossdock topo --nvidia-smi matrix.txt",
    ),
    short_help="Show CPUs, GPUs, NICs and links of a machine.",
)
@machines.options
@click.option(
    "--list", "as_list", is_flag=True, help="List the catalogue; with --json also its sources."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the graph as JSON, as --file reads it."
)
@click.option("--svg", metavar="FILE", help="Draw the machine into FILE.")
def command(
    named: machines.Named,
    as_list: bool,
    as_json: bool,
    svg: str | None,
) -> None:
    """Shows what a machine is made of: its devices, the links between them and what these carry,
    and warns of what will be slow. Without an option it looks at this machine.

    Rates are those of the specifications, each way. What no probe tells is said, and marked as
    assumed where the graph needs a number.
    """
    if as_list and named.count:
        raise click.UsageError("--list and options that name a machine exclude each other.")
    if as_list and svg is not None:
        raise click.UsageError("--list draws nothing: --svg wants a machine.")
    if as_list:
        _list_machines(as_json)
        return
    topology = named.topology()
    if svg is not None:
        machines.write_picture(svg, topology.svg())
    if as_json:
        output.show_json(topology.to_dict())
        for probe, what in topology.notes:
            output.say(f"note     {probe}: {what}")
    else:
        output.show(topology.text())


def _list_machines(as_json: bool) -> None:
    from dataclasses import asdict

    from crossdock.machines.topology import Topology
    from crossdock.reports.display import align

    known = Topology.machines()
    if as_json:
        output.show_json({"machines": [asdict(machine) for machine in known]})
        return
    output.show("\n".join(align([(machine.name, machine.summary) for machine in known])))
