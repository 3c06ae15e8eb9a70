"""A row of bytes: what a process holds after a thousand channels, beside what it held before."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.programs import watched
from harness.report import Row

from channels import places
from channels.peers import ChannelWork, Peers

LEAST_RATIO = 0.98  # memory that is given back late, and the heap's own pages
# Threads meet the heap's arenas in another order each time: the second round may touch one more
# (3 of 72 MiB, seen once). What grows with channels grows in each of the rounds after it.
FIRST = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthWork:
    """Each of `rounds` opens, uses and closes `channels` channels of `channel`."""

    name: str
    title: str
    channel: ChannelWork
    channels: int
    rounds: int
    bars: dict[str, float] = field(default_factory=lambda: {"second round": LEAST_RATIO})


def growth_row(work: GrowthWork, peers: Peers, row: Row) -> Row:
    # The first channel of a round is not timed, and a channel like the others.
    command = work.channel.command(peers.programs, repeats=work.channels - 1, rounds=work.rounds)
    said, share = watched(lambda: places.ours(work.channel.place, command))
    held = said["resident_bytes"]
    first = held[FIRST]
    row |= {key: value for key, value in said.items() if key not in row and key != "samples_s"}
    row |= {"unit": "bytes", "ours_bytes": held[-1], "peer_bytes": {"after the second": first}}
    row |= {"counted": ["after the second"], "ratio": first / held[-1], "disturbed": share > 1.0}
    row["met"] = first / held[-1] >= LEAST_RATIO
    return row


def print_growth(work: GrowthWork, row: Row) -> None:
    held = ", ".join(f"{count / 2**20:.1f}" for count in row["resident_bytes"])
    print(
        f"      {work.channels * work.rounds:,} channels of {row['endpoints']} endpoints, "
        f"{row['channel_bytes'] / 2**20:.1f} MiB each; {row['wrong_rows']} wrong rows"
    )
    print(f"      MiB held after each {work.channels}: {held}", flush=True)
