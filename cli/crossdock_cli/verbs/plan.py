"""crossdock plan: which links data would take on a machine, and how long."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from crossdock_cli import command as verbs
from crossdock_cli import machines, output

if TYPE_CHECKING:
    from crossdock.machines.transfers import ExchangePlan, TransferPlan


@verbs.verb(
    "plan",
    examples=(
        "crossdock plan --machine dgx-a100 --from gpu0 --to gpu5 --svg plan.svg",
        "crossdock plan --machine dgx-a100:2 --from node0/gpu0 --to node1/gpu5 --bytes 64GiB",
        "crossdock plan --machine figure-2i --from node0/gpu0 --to node1/gpu0 --table node0/gpu0",
        "crossdock plan --machine superpod-h100:128 --all-to-all --bytes 16GiB --json",
    ),
    short_help="Plan which links a transfer or an exchange uses.",
)
@machines.options
@click.option("--from", "source", metavar="VERTEX",
              help="Where the data are: gpu0, or node0/gpu0 of several servers.")  # fmt: skip
@click.option("--to", "destination", metavar="VERTEX", help="Where they go.")
@click.option("--all-to-all", is_flag=True,
              help="Every GPU sends to every GPU; CPUs where there is none.")  # fmt: skip
@click.option("--bytes", "size", default="1GiB", show_default=True, metavar="SIZE",
              help="How much; with --all-to-all, what each of them sends.")  # fmt: skip
@click.option("--table", "vertices", metavar="VERTEX", multiple=True,
              help="Show the forwarding table of VERTEX too.")  # fmt: skip
@click.option("--tables", "all_tables", is_flag=True, help="Show all forwarding tables.")
@verbs.JSON
@click.option("--svg", metavar="FILE", help="Draw the plan over the machine into FILE.")
def command(
    named: machines.Named,
    source: str | None,
    destination: str | None,
    all_to_all: bool,
    size: str,
    vertices: tuple[str, ...],
    all_tables: bool,
    as_json: bool,
    svg: str | None,
) -> None:
    """Plans a transfer between two devices, or an exchange among all, and predicts its time.

    Nothing is moved. Rates are those of the specifications: what links carry, not what is free. At
    most two CPUs or GPUs relay data on a server. Without a machine named it is about this one.
    """
    if all_to_all and (source is not None or destination is not None):
        raise click.UsageError("--all-to-all and --from or --to exclude each other.")
    if all_tables and vertices:
        raise click.UsageError("--tables shows all tables already: leave --table out.")
    if not all_to_all and source is None and destination is None:
        raise click.UsageError("Say what to plan: --from and --to, or --all-to-all.")
    topology = named.topology()
    planned: TransferPlan | ExchangePlan
    if all_to_all:
        planned = topology.plan_exchange(size)
    elif source is not None and destination is not None:
        planned = topology.plan(source, destination, size)
    else:
        raise click.UsageError("--from and --to belong together.")
    tables = planned.tables() if all_tables else [planned.table(vertex) for vertex in vertices]
    if svg is not None:
        machines.write_picture(svg, planned.svg())
    if as_json:
        shown = {"tables": [asdict(table) for table in tables]} if tables else {}
        output.show_json({**planned.to_dict(), **shown})
    else:
        output.show("\n\n".join([planned.text(), *(table.text() for table in tables)]))
