"""crossdock calibrate: measures what rows cost on this machine, for plans and predictions."""

from __future__ import annotations

import time
from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import output


@click.command(
    "calibrate",
    cls=verbs.Verb,
    context_settings=verbs.SETTINGS,
    examples=("crossdock calibrate", "crossdock calibrate --rows 1M --dry-run --json"),
    short_help="Measure this machine, so that predictions fit it.",
)
@click.option("--rows", type=click.IntRange(10_000, 1 << 30), default=2_000_000, show_default=True,
              metavar="N", help="Rows of the larger works, beyond what caches hold.")  # fmt: skip
@click.option("--repeat", type=click.IntRange(1, 100), default=3, show_default=True, metavar="N",
              help="Runs of each work after the first; the median counts.")  # fmt: skip
@click.option("--threads", type=click.IntRange(0), metavar="N",
              help="Worker threads; 0 means one per core.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Measure and show, but store nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with a schema_version.")
def command(rows: int, repeat: int, threads: int | None, dry_run: bool, as_json: bool) -> None:
    """Runs joins, sorts and group-bys of made rows and fits the rates of the cost models to their
    times: scan, partition, build, probe, sort, merge and so on. Stores them for this machine in the
    file that `crossdock info` names; later runs plan and predict with them.

    The machine should have nothing else to do. CROSSDOCK_RATES names another file, or none to have
    the built-in rates again.
    """
    import crossdock as xd
    from crossdock.calibration import calibrate
    from crossdock.rates_file import machine_name, rates_path, store_rates

    path = rates_path()
    if path is None and not dry_run:
        raise click.UsageError(
            "CROSSDOCK_RATES=none names no file to store rates in; --dry-run measures only."
        )
    with xd.connect(threads=threads) as dock:
        output.say(f"measure  {machine_name()}, {dock.threads} threads")
        found = calibrate(dock, rows, repeat, lambda name: output.say(f"measure  {name}"))
        used = dock.threads
    measured = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    more = {"rows": rows, "threads": used, "works": found.works()}
    if not dry_run and path is not None:
        store_rates(found.rates, measured, more, path)
    facts = {
        "machine": machine_name(),
        "measured": measured,
        "file": None if dry_run else str(path),
        "seconds": found.seconds,
        "rates_ns": found.rates,
        **more,
    }
    if as_json:
        output.show_json(facts)
    else:
        _show(facts)


def _show(facts: dict[str, Any]) -> None:
    from crossdock import _native
    from crossdock.display import align
    from crossdock.sizes import format_seconds

    built_in = _native.built_in_rates()
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
