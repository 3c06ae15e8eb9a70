"""Draws the walk of a row through a radix join, docs/pictures/walk.svg.

python docs/draw_walk.py            # write the picture
python docs/draw_walk.py --check    # exit status 1 if it is not what the sources give
"""

from __future__ import annotations

import itertools
import sys

from drawing import (
    BOX_HEIGHT,
    BOX_WIDTH,
    FILLS,
    ROOT,
    Station,
    arrow,
    box,
    document,
    legend,
    note,
    require_declared,
    room_of,
    write_or_check,
)

PICTURE = ROOT / "docs" / "pictures" / "walk.svg"
TITLE = "The walk of a row through a radix join"
WIDTH, HEIGHT = 1090, 390
COLUMN_STEP = 182
LEFT = 16
LANES = {"build": 96, "both": 190, "probe": 284}
HASH_JOIN = "src/operators/hash_join"
RUN = "src/operators/run"
ROOMS = ["table", "data/sorters", "operators", "session"]


def station(name: str, file: str, about: tuple[str, str], column: int, lane: str) -> Station:
    return Station(name, file, about, LEFT + column * COLUMN_STEP, LANES[lane])


def side(lane: str) -> list[Station]:
    """What build and probe side have alike."""
    sorters = "src/data/sorters"
    return [
        station("RowStore", "src/table/row_store.hpp", ("batches stay where", "they are"), 0, lane),
        station(
            "KeyEncoder", f"{HASH_JOIN}/key_plan.hpp", ("keys become", "64-bit words"), 1, lane
        ),
        station(
            "RadixScatter",
            f"{sorters}/radix_scatter.hpp",
            ("by the top bits,", "one pass"),
            2,
            lane,
        ),
        station("Segment", f"{sorters}/segment.hpp", ("handed over", "by pointer"), 3, lane),
    ]


TABLE = station(
    "RunTable", f"{HASH_JOIN}/run_table.hpp", ("one partition,", "runs in cache"), 4, "build"
)
PROBER = station("Prober", f"{HASH_JOIN}/prober.hpp", ("rounds, verify,", "residual"), 4, "probe")
BUILDER = station(
    "BatchBuilder",
    f"{HASH_JOIN}/batch_builder.hpp",
    ("write, gather or", "pass through"),
    5,
    "both",
)
LANE_STATIONS = ([*side("build"), TABLE], [*side("probe"), PROBER])
# Where finished batches go.
SINKS = (
    ("CountSink", f"{RUN}/row_sink.hpp"),
    ("GroupStream", "src/operators/group_by/group_stream.hpp"),
    ("CollectSink", f"{RUN}/row_sink.hpp"),
    ("QueueSink", f"{RUN}/row_sink.hpp"),
)


def arrows() -> list[str]:
    """Between neighbours of a lane, from table to prober, and from prober to builder."""
    lines = [
        arrow((here.right, here.y), (following.x - 3, here.y))
        for lane in LANE_STATIONS
        for here, following in itertools.pairwise(lane)
    ]
    gap = BOX_HEIGHT / 2
    lines.append(arrow((TABLE.middle, TABLE.y + gap), (TABLE.middle, PROBER.y - gap - 3)))
    corner = (BUILDER.middle, PROBER.y)
    lines.append(arrow((PROBER.right, PROBER.y), corner, (BUILDER.middle, BUILDER.y + gap + 3)))
    return lines


def sinks() -> list[str]:
    """What the finished batches go to, above the builder."""
    x = LEFT + 5 * COLUMN_STEP
    parts = []
    for row, (name, file) in enumerate(SINKS):
        require_declared(name, file)
        y = 14 + 30 * row
        parts.append(
            f'<g><title>{file}</title><rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="24" '
            f'rx="5" fill="{FILLS[room_of(file)]}"/><text class="about" x="{x + BOX_WIDTH / 2:g}" '
            f'y="{y + 17}" text-anchor="middle">{name}</text></g>'
        )
    top = LANES["both"] - BOX_HEIGHT / 2
    parts.append(arrow((x + BOX_WIDTH / 2, top), (x + BOX_WIDTH / 2, 14 + 30 * len(SINKS) - 3)))
    return parts


def draw() -> str:
    """The picture as SVG text."""
    notes = [
        note(LEFT, 40, "build side: the smaller one, mostly"),
        note(LEFT, 340, "probe side: passes a KeyFilter before the scatter, where that pays"),
        note(LEFT + 3 * COLUMN_STEP - 60, 194, "a list of segments per partition and worker"),
    ]
    boxes = [box(each) for lane in LANE_STATIONS for each in lane]
    parts = [*arrows(), *boxes, box(BUILDER), *sinks(), *notes, *legend(ROOMS, LEFT, 362)]
    return document(TITLE, WIDTH, HEIGHT, parts)


if __name__ == "__main__":
    sys.exit(write_or_check(PICTURE, draw))
