"""crossdock simulate: what a join would take on a machine, in virtual time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import machines, output


@verbs.verb(
    "simulate",
    examples=(
        'crossdock simulate --machine superpod-h100:128 --join "1e9 x 4e9, 16 B, Zipf 0.5"',
        'crossdock simulate --machine superpod-a100:128 --join "1.5e8 x 6e8 each" '
        "--sweep gpus=8..1024 --svg scaling.svg",
        'crossdock simulate --machine dgx-a100:4 --join "1e8 x 4e8, merge" --planned --json',
        'crossdock simulate --machine superpod-h100:64 --join "1e9 x 4e9" --slow-servers 1 '
        "--slowness 2 --seed 7",
        "crossdock simulate --machine superpod-h100:16 --plan plan.json --times 1000",
    ),
    short_help="Simulate a join on a machine that you need not have.",
)
@machines.options
@click.option("--join", "join", metavar="SIZE",
              help='Rows of both sides, "1e9 x 4e9" or "1e6 x 4e6 each", then "16 B", '
              '"Zipf 0.5", "merge".')  # fmt: skip
@click.option("--plan", "plan", metavar="FILE",
              help="Instead: every join of a plan that --explain --json printed.")  # fmt: skip
@click.option("--times", default=1.0, metavar="N",
              help="So many times the rows of --plan.")  # fmt: skip
@click.option("--gpus", default=0, metavar="N",
              help="Among the first N GPUs (CPUs where there is none) instead of all.")  # fmt: skip
@click.option("--planned", is_flag=True,
              help="What the planner chooses, and no other strategy beside it.")  # fmt: skip
@click.option("--coded", "coded_share", default=1.0, metavar="SHARE",
              help="What coding leaves of the bytes between servers: 0.25.")  # fmt: skip
@click.option("--rates", default="", metavar="NAME",
              help="Rates of ranks: a100, h100, xc30 or here.")  # fmt: skip
@click.option("--rate", "changes", metavar="NAME=VALUE", multiple=True,
              help="Another rate in its place: build=2e10.")  # fmt: skip
@click.option("--slow-servers", default=0, metavar="N", help="Servers that compute slowly.")
@click.option("--slowness", default=2.0, show_default=True, metavar="TIMES",
              help="How slowly they do.")  # fmt: skip
@click.option("--slow-links", default=0, metavar="N",
              help="Servers whose links carry less.")  # fmt: skip
@click.option("--link-share", default=0.5, show_default=True, metavar="SHARE",
              help="How much less.")  # fmt: skip
@click.option("--sweep", default="", metavar="NAME=VALUES",
              help="Vary one thing: gpus=8..1024, gpus=8,24, rows=1e6..1e9.")  # fmt: skip
@click.option("--seed", default=1, show_default=True, metavar="N",
              help="Of all that is left to chance.")  # fmt: skip
@verbs.JSON
@click.option("--svg", metavar="FILE", help="Draw phases, or the sweep, into FILE.")
def command(named: machines.Named, svg: str | None, as_json: bool, **options: Any) -> None:
    """Simulates a join among all GPUs of a machine, by the planner's paths and the models' rates.

    Nothing is moved. Strategies stand side by side: what the planner chooses, one level and two,
    streaming and bulk, one path of each pair and all, a broadcast. The same seed gives the same
    result, to the byte. Without a machine named it is about this one. Of a plan each join is
    simulated, with the rows that it expects; a column counts as 8 bytes.
    """
    from crossdock.machines.simulated_joins import Faults
    from crossdock.machines.simulated_plans import simulate_plan
    from crossdock.machines.simulation import simulate

    slow = {name: options.pop(name) for name in ("slow_servers", "slowness", "slow_links",
                                                 "link_share")}  # fmt: skip
    join, plan, times, sweep = (options.pop(name) for name in ("join", "plan", "times", "sweep"))
    options |= {"compare": not options.pop("planned"), "rate": _changed(options.pop("changes")),
                "faults": Faults(**slow)}  # fmt: skip
    if (join is None) == (plan is None):
        raise click.UsageError("It takes --join SIZE or --plan FILE, one of them.")
    if plan is not None:
        if svg is not None or sweep:
            raise click.UsageError("--plan has no --svg and no --sweep.")
        joins = simulate_plan(_plan_in(plan), named.topology(), times=times, **options)
        _show(joins, as_json)
        return
    if times != 1:
        raise click.UsageError("--times is of --plan; --join says how many rows there are.")
    simulation = simulate(join, named.topology(), sweep=sweep, **options)
    if svg is not None:
        machines.write_picture(svg, simulation.svg())
    _show(simulation, as_json)


def _show(simulated: Any, as_json: bool) -> None:
    if as_json:
        output.show_json(simulated.to_dict())
    else:
        output.show(simulated.text())


def _plan_in(file: str) -> Any:
    """What --explain --json printed into a file. Error: UsageError."""
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--plan {file}: {error}.") from None


def _changed(changes: object) -> dict[str, float]:
    """ "build=2e10" to {"build": 2e10}. Error: UsageError."""
    values: dict[str, float] = {}
    for change in changes:  # type: ignore[attr-defined]
        name, _, value = change.partition("=")
        try:
            values[name] = float(value)
        except ValueError:
            raise click.UsageError(
                f"--rate {change}: it is a name and a number, such as build=2e10."
            ) from None
    return values
