"""crossdock calibrate: measures what rows cost on this machine, for plans and predictions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import output

if TYPE_CHECKING:
    from crossdock.session import Dock


@verbs.verb(
    "calibrate",
    examples=(
        "crossdock calibrate",
        "crossdock calibrate --rows 1M --dry-run --json",
        "mpirun -n 2 crossdock calibrate",
    ),
    short_help="Measure this machine, so that predictions fit it.",
)
@click.option("--rows", type=click.IntRange(10_000, 1 << 30), default=2_000_000, show_default=True,
              metavar="N", help="Rows of the larger works, beyond what caches hold.")  # fmt: skip
@click.option("--repeat", type=click.IntRange(1, 100), default=6, show_default=True, metavar="N",
              help="Passes over all works; means count.")  # fmt: skip
@verbs.THREADS
@click.option("--dry-run", is_flag=True, help="Measure and show, but store nothing.")
@click.option("--anyway", is_flag=True,
              help="Store rates that fit badly, or that a disturbed machine gave.")  # fmt: skip
@verbs.JSON
def command(
    rows: int, repeat: int, threads: int | None, dry_run: bool, anyway: bool, as_json: bool
) -> None:
    """Runs joins, sorts and group-bys of made rows and fits the rates of the cost models to their
    times: scan, partition, build, probe, sort, merge and so on. Stores them for this machine in the
    file that `crossdock info` names; later runs plan and predict with them.

    Under mpirun it measures the exchange among the ranks instead, and puts by their size, and adds
    their rates to those that one process has stored before.

    The machine should have nothing else to do: where the same work takes much more time in one pass
    than in another, nothing is stored. CROSSDOCK_RATES names another file, or none to have the
    built-in rates again.
    """
    import crossdock as xd
    from crossdock.machines.rates_file import rates_path

    path = rates_path()
    if path is None and not dry_run:
        raise click.UsageError(
            "CROSSDOCK_RATES=none names no file to store rates in; --dry-run measures only."
        )
    with xd.connect(threads=threads) as dock:
        talks = dock.rank == 0
        calibration = (
            _of_exchanges(dock, rows, repeat) if dock.size > 1 else _alone(dock, rows, repeat)
        )
    if not talks:
        return
    is_stored = not dry_run and (anyway or not calibration["misfit"])
    measured = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if is_stored and path is not None:
        _store(path, measured, calibration)
    facts = {"file": str(path) if is_stored else None, "measured": measured, **calibration}
    if as_json:
        output.show_json(facts)
    else:
        _show(facts)
    if calibration["misfit"] and not is_stored and not dry_run:
        raise click.ClickException(
            f"nothing is stored: {calibration['misfit']}. Try again while nothing else runs, or "
            "--anyway."
        )


def _alone(dock: Dock, rows: int, repeat: int) -> dict[str, Any]:
    from crossdock.machines.calibration import calibrate
    from crossdock.machines.rates_file import machine_name

    output.say(f"measure  {machine_name()}, {dock.threads} threads")
    calibration = calibrate(dock, rows, repeat, lambda name: output.say(f"measure  {name}"))
    return {
        "machine": machine_name(),
        "seconds": calibration.seconds,
        "misfit": calibration.misfit(),
        "rates_ns": calibration.rates,
        "rows": rows,
        "threads": dock.threads,
        "works": calibration.works(),
    }


def _of_exchanges(dock: Dock, rows: int, repeat: int) -> dict[str, Any]:
    """Rank 0's machine stands for all; only rank 0 talks."""
    from crossdock.machines.rates_file import machine_name
    from crossdock.ranks.calibration import calibrate_exchange

    def show_progress(name: str) -> None:
        if dock.rank == 0:
            output.say(f"measure  {name}")

    show_progress(f"{machine_name()}, {dock.size} ranks")
    calibration = calibrate_exchange(dock, rows, repeat, show_progress)
    return {
        "machine": machine_name(),
        "seconds": calibration.seconds,
        "misfit": calibration.misfit(),
        "rates_ns": calibration.rates,
        **calibration.facts(),
    }


def _store(path: Path, measured: str, calibration: dict[str, Any]) -> None:
    """Rates of one process and those among ranks stand in one entry, and leave each other alone."""
    from crossdock.errors import make_error
    from crossdock.machines.rates_file import entry_of_machine, store_rates

    entry = entry_of_machine() or {}
    printed = ("machine", "seconds", "misfit", "rates_ns")
    more = {key: value for key, value in calibration.items() if key not in printed}
    if "ranks" not in calibration:
        before = entry.get("rates_ns", {}) if "exchange" in entry else {}
        kept = {name: ns for name, ns in before.items() if name.startswith("exchange.")}
        if kept:
            more["exchange"] = entry["exchange"]
        store_rates(calibration["rates_ns"] | kept, measured, more, path)
        return
    if "rates_ns" not in entry:
        raise make_error(
            "CD-105", "exchanges among ranks are measured, but not yet the work of one process",
            values=str(path), try_="crossdock calibrate, without mpirun, before",
        )  # fmt: skip
    kept = {k: v for k, v in entry.items() if k not in ("measured", "version", "rates_ns")}
    kept["exchange"] = {"measured": measured, **more}
    store_rates(entry["rates_ns"] | calibration["rates_ns"], entry["measured"], kept, path)


def _show(facts: dict[str, Any]) -> None:
    from crossdock import _native
    from crossdock.reports.display import align
    from crossdock.sizes import format_bytes, format_seconds

    built_in = _native.built_in_rates()
    if "puts" in facts:
        puts = [("message", "seconds", "bytes per second")]
        puts += [
            (format_bytes(size), format_seconds(s), f"{format_bytes(size / s)}/s")
            for size, s, _ in facts["puts"]
        ]
        output.show("\n".join([*align(puts, frozenset((0, 1, 2))), ""]))
    lines = [("work", "measured", "predicted", "")]
    for work in facts["works"]:
        off = work["predicted_s"] / work["measured_s"] - 1 if work["measured_s"] else 0.0
        times = (format_seconds(work[key]) for key in ("measured_s", "predicted_s"))
        lines.append((work["work"], *times, f"{off:+.0%}"))
    output.show("\n".join(align(lines, frozenset((1, 2, 3)))))
    output.show("")
    rates = [("rate", "ns", "built-in")]
    rates += [
        (name, f"{value:.2f}", f"{built_in[name]:.2f}")
        for name, value in facts["rates_ns"].items()
        if abs(value - built_in[name]) > 1e-9
    ]
    output.show("\n".join(align(rates, frozenset((1, 2)))))
    stored = f"stored in {facts['file']}" if facts["file"] else "not stored"
    output.say(f"measured in {format_seconds(facts['seconds'])}, {stored}")
