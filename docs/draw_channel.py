"""Draws the walk of a row through a channel, docs/pictures/channel.svg.

python docs/draw_channel.py            # write the picture
python docs/draw_channel.py --check    # exit status 1 if it is not what the sources give
"""

from __future__ import annotations

import sys

from drawing import BOX_HEIGHT, ROOT, Station, arrow, box, document, legend, note, write_or_check

PICTURE = ROOT / "docs" / "pictures" / "channel.svg"
TITLE = "The walk of a row through a channel"
WIDTH, HEIGHT = 1240, 452
NEAR, FAR, SAME = 96, 96, 330  # the rows of boxes
LINKS = (60, 132)
CHANNELS = "src/data/channels/channel.hpp"
SORTERS = "src/data/sorters"
RING = ("Ring", "src/data/rings/ring.hpp")
MOVER = ("Mover", "src/data/movers/mover.hpp")
ROOMS = ["data/channels", "data/sorters", "data/rings", "data/movers", "data/transports"]

SENDER = Station("Sender", CHANNELS, ("takes batches,", "answers 0 if full"), 30, 213)
SORTER = Station(
    "RowSorter", f"{SORTERS}/row_sorter.hpp", ("each row once, into", "its segment"), 206, 213
)
NEAR_RING = Station(*RING, ("near end of a", "flow"), 392, NEAR)
NEAR_MOVER = Station(*MOVER, ("the path that is", "through first"), 566, NEAR)
FAR_MOVER = Station(*MOVER, ("segment n into", "slot n"), 894, FAR)
FAR_RING = Station(*RING, ("far end of the", "flow"), 894, 213)
FAR_RECEIVER = Station("Receiver", CHANNELS, ("reads segments as", "Arrow columns"), 1068, 213)
SAME_RING = Station(*RING, ("in memory of both", "processes"), 392, SAME)
SAME_RECEIVER = Station("Receiver", CHANNELS, ("reads segments as", "Arrow columns"), 566, SAME)
BOXES = (
    SENDER,
    SORTER,
    NEAR_RING,
    NEAR_MOVER,
    FAR_MOVER,
    FAR_RING,
    FAR_RECEIVER,
    SAME_RING,
    SAME_RECEIVER,
)


def frame(x: float, y: float, size: tuple[float, float], title: str) -> str:
    """A dashed box around what is in one place."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{size[0]:g}" height="{size[1]:g}" rx="10" fill="none" '
        f'stroke="#9da7b3" stroke-dasharray="5 4"/>{note(x + 12, y + 20, title)}'
    )


def links() -> list[str]:
    """Two links between the movers, and the credits that come back."""
    left, right = NEAR_MOVER.right, FAR_MOVER.x
    parts = []
    for number, y in enumerate(LINKS):
        parts.append(arrow((left, y), (right - 3, y)))
        parts.append(note(left + 46, y - 6, f"Link over eth{number}"))
    parts.append(arrow((right, NEAR), (left + 3, NEAR)))
    parts.append(note(left + 36, NEAR - 5, "arrived, given back"))
    return parts


def arrows() -> list[str]:
    gap = BOX_HEIGHT / 2
    turn = SORTER.right + 18
    return [
        arrow((SENDER.right, SENDER.y), (SORTER.x - 3, SORTER.y)),
        arrow((SORTER.right, SORTER.y), (turn, SORTER.y), (turn, NEAR), (NEAR_RING.x - 3, NEAR)),
        arrow((SORTER.right, SORTER.y), (turn, SORTER.y), (turn, SAME), (SAME_RING.x - 3, SAME)),
        arrow((NEAR_RING.right, NEAR), (NEAR_MOVER.x - 3, NEAR)),
        arrow((FAR_MOVER.middle, FAR + gap), (FAR_MOVER.middle, FAR_RING.y - gap - 3)),
        arrow((FAR_RING.right, FAR_RING.y), (FAR_RECEIVER.x - 3, FAR_RECEIVER.y)),
        arrow((SAME_RING.right, SAME), (SAME_RECEIVER.x - 3, SAME)),
    ]


def draw() -> str:
    """The picture as SVG text."""
    frames = [
        frame(10, 14, (728, 392), "one host"),
        frame(876, 14, (354, 250), "another host"),
        frame(552, 262, (178, 120), "another process"),
    ]
    notes = [
        note(384, 160, "a flow per source and destination,"),
        note(384, 176, "the ring of it at both ends"),
        note(876, 300, "no copy on one host: the receiver reads"),
        note(876, 316, "what the sorter wrote, in place"),
        note(876, 340, "between hosts one frame per segment,"),
        note(876, 356, "with a checksum and a number"),
    ]
    boxes = [box(each) for each in BOXES]
    parts = [*frames, *arrows(), *links(), *boxes, *notes, *legend(ROOMS, 16, 424)]
    return document(TITLE, WIDTH, HEIGHT, parts)


if __name__ == "__main__":
    sys.exit(write_or_check(PICTURE, draw))
