"""Simulated joins as pictures (SVG): bars of phases, a line for each strategy along a sweep."""

from __future__ import annotations

import math

from crossdock.machines.simulated_joins import Outcome, SimulatedJoins
from crossdock.machines.simulation_text import headline
from crossdock.machines.topology_picture import FAINT, LEFT, document, text
from crossdock.machines.transfers_picture import COLOURS
from crossdock.sizes import format_count, format_seconds

_WIDTH = 860.0
_BAR = 26.0
_STEP = 40.0
_LABELS = 190.0  # pixels for the names of strategies
_PLOT_HEIGHT = 320.0
_VALUES_SHOWN = 8  # of the sweep, below the plot


def draw(simulation: SimulatedJoins) -> str:
    """The whole picture as an SVG document."""
    return _lines(simulation) if simulation.swept else _bars(simulation)


def _bars(simulation: SimulatedJoins) -> str:
    outcomes = simulation.outcomes
    longest = max(outcome.seconds for outcome in outcomes)
    names = list(dict.fromkeys(name for outcome in outcomes for name, _ in outcome.phases))
    room = _WIDTH - _LABELS - 2 * LEFT - 90
    parts = [
        document(_WIDTH, 120 + _STEP * len(outcomes)),
        text(LEFT, 32, headline(simulation), size=15, weight=600),
    ]
    x = float(LEFT)
    for i, name in enumerate(names):
        parts.append(f'<rect x="{x:.1f}" y="50" width="12" height="12" fill="{_colour(i)}"/>')
        parts.append(text(x + 17, 61, name, size=12))
        x += 34 + 6.6 * len(name)
    for row, outcome in enumerate(outcomes):
        y = 84 + _STEP * row
        parts.append(text(LEFT, y + 18, outcome.strategy.label, size=12))
        x = LEFT + _LABELS
        for name, seconds in outcome.phases:
            width = room * seconds / longest
            fill = _colour(names.index(name))
            title = f"<title>{name}: {format_seconds(seconds)}</title>"
            parts.append(
                f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{_BAR:.0f}" '
                f'fill="{fill}">{title}</rect>'
            )
            x += width
        parts.append(text(x + 6, y + 18, format_seconds(outcome.seconds), size=12, fill=FAINT))
    return "\n".join([*parts, "</svg>", ""])


def _lines(simulation: SimulatedJoins) -> str:
    """Rows per second over what is swept, both logarithmic."""
    by_label: dict[str, list[tuple[float, Outcome]]] = {}
    for at, outcomes in simulation.points:
        for outcome in outcomes:
            by_label.setdefault(outcome.strategy.label, []).append((at, outcome))
    rates = [one.rows_per_s for line in by_label.values() for _, one in line]
    low, high = (math.log10(bound) for bound in (min(rates), max(rates)))
    values = [at for at, _ in simulation.points]
    first, last = math.log2(values[0]), math.log2(values[-1])
    right = _WIDTH - 210

    def place(at: float, rate: float) -> tuple[float, float]:
        x = (math.log2(at) - first) / (last - first) if last > first else 0.5
        y = (math.log10(rate) - low) / (high - low) if high > low else 0.5
        return 90 + (right - 90) * x, 80 + _PLOT_HEIGHT * (1 - y)

    parts = [
        document(_WIDTH, _PLOT_HEIGHT + 150),
        text(LEFT, 32, headline(simulation), size=15, weight=600),
        text(LEFT, 54, f"rows per second over {simulation.swept}", fill=FAINT),
    ]
    for at in values[:: math.ceil(len(values) / _VALUES_SHOWN)]:
        x, _ = place(at, 10**low)
        shown = f"{at:,.0f}" if at < 1e6 else format_count(at)
        parts.append(text(x, 80 + _PLOT_HEIGHT + 24, shown, size=11, anchor="middle"))
    for rate in (10**low, 10 ** ((low + high) / 2), 10**high):
        _, y = place(values[0], rate)
        parts.append(text(80, y + 4, format_count(rate), size=11, anchor="end"))
        parts.append(f'<path d="M90 {y:.1f}H{right:.1f}" stroke="#e1e5ea"/>')
    # The planned strategy last, which would be below those that it is as fast as.
    for i, (label, line) in reversed(list(enumerate(by_label.items()))):
        points = [place(at, one.rows_per_s) for at, one in line]
        path = "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{_colour(i)}" stroke-width="2.4"/>')
        for x, y in points:
            parts.append(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="3.2" fill="{_colour(i)}"/>')
        y = 96 + 22 * i
        parts.append(f'<rect x="{right + 20:.1f}" y="{y - 10}" width="12" height="12" '
                     f'fill="{_colour(i)}"/>')  # fmt: skip
        parts.append(text(right + 38, y, label, size=12))
    return "\n".join([*parts, "</svg>", ""])


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
