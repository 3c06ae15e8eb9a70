"""Simulated joins as text."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.machines.simulated_joins import Outcome, SimulatedJoins
from crossdock.machines.topology_advice import rate_text
from crossdock.reports.display import align
from crossdock.sizes import format_bytes, format_count, format_seconds

_LINKS_SHOWN = 4


def describe(simulation: SimulatedJoins) -> str:
    """Strategies side by side, or along the sweep; then what the planned one spends its time on."""
    parts = [headline(simulation), *_facts(simulation), ""]
    parts += _sweep_table(simulation) if simulation.swept else _table(simulation.outcomes)
    return "\n".join([*parts, "", *_details(simulation.planned)])


def describe_all(joins: Sequence[tuple[str, SimulatedJoins]], seconds: float) -> str:
    """Each join as above, and how long all of them take."""
    parts = [f"{text}\n{describe(simulation)}" for text, simulation in joins]
    number = len(joins)
    took = f"{number} join{'s' if number > 1 else ''} as planned: {format_seconds(seconds)}"
    return "\n\n".join([*parts, took])


def headline(simulation: SimulatedJoins) -> str:
    """ "1.00 G x 4.00 G rows among 1,024 GPUs on 128 servers, simulated"."""
    last = simulation.planned
    kind = "sort-merge join" if last.join.merge else "hash join"
    return (
        f"{kind} of {rows_text(last)} rows among {last.endpoints:,} endpoints on "
        f"{last.servers:,} server{'s' if last.servers > 1 else ''}, simulated"
    )


def rows_text(outcome: Outcome) -> str:
    join = outcome.join
    return f"{format_count(join.build_rows)} x {format_count(join.probe_rows)}"


def _facts(simulation: SimulatedJoins) -> list[str]:
    rates = simulation.rates
    facts = [("rates", f"{rates.name}: {rates.source}"), ("seed", str(simulation.seed))]
    coded = any(outcome.strategy.coded_share < 1 for outcome in simulation.outcomes)
    if coded and rates.codec_bytes_per_s == 0:
        facts.append(("coding", "takes no time: no rate is known (codec_bytes_per_s)"))
    return align(facts)


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [("strategy", "time", "rows/s", "to servers", "messages", "memory", "bound by")]
    for outcome in outcomes:
        label = outcome.strategy.label
        if outcome.strategy.planned:
            label = f"{label}: {outcome.form}"
        rows.append(
            (
                label,
                format_seconds(outcome.seconds),
                format_count(outcome.rows_per_s),
                format_bytes(outcome.bytes_between_servers),
                format_count(outcome.messages_between_servers + outcome.messages_inside),
                format_bytes(outcome.rank_memory_bytes),
                outcome.bound,
            )
        )
    return align(rows, right=frozenset({1, 2, 3, 4, 5}))


def _sweep_table(simulation: SimulatedJoins) -> list[str]:
    """A line per point: the planned strategy, and rows per second of the others."""
    labels = [outcome.strategy.label for outcome in simulation.outcomes]
    rows = [(simulation.swept, "time", "rows/s", "form", *labels[1:])]
    for at, outcomes in simulation.points:
        planned = outcomes[0]
        by_label = {one.strategy.label: format_count(one.rows_per_s) for one in outcomes}
        rows.append(
            (
                f"{at:,.0f}",
                format_seconds(planned.seconds),
                format_count(planned.rows_per_s),
                planned.form,
                *(by_label.get(label, "-") for label in labels[1:]),
            )
        )
    return align(rows, right=frozenset({0, 1, 2, *range(4, len(rows[0]))}))


def _details(outcome: Outcome) -> list[str]:
    phases = ", ".join(f"{name} {format_seconds(seconds)}" for name, seconds in outcome.phases)
    rows = [("phases", phases), ("bound by", outcome.bound)]
    for i, link in enumerate(outcome.links[:_LINKS_SHOWN]):
        several = f", on {link.servers:,} servers alike" if link.servers > 1 else ""
        busy = f"{link.start} → {link.end}: {rate_text(link.bytes_per_s)}, busy "
        busy += f"{format_seconds(link.busy_s)}{several}"
        rows.append(("busiest" if i == 0 else "", busy))
    sizes = f"{format_bytes(outcome.message_bytes)} each, "
    sizes += f"{outcome.messages_between_servers:,.0f} between servers, "
    rows.append(("messages", f"{sizes}{outcome.messages_inside:,.0f} inside"))
    rows.append(("memory", f"{format_bytes(outcome.rank_memory_bytes)} of the fullest rank"))
    return align(rows)
