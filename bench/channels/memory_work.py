"""A row of bytes: what a channel makes a process grow by, beside what its segments come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.programs import ProgramError, watched
from harness.report import Row

from channels import places
from channels.peers import MIB, ChannelWork, Peers

# What is no segment: a slot's states, frames under way in UCX, heap pages.
BESIDE_BYTES = 8 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWork:
    """`cases`: by what is printed of them, options of perf_bench beside those of `channel`."""

    name: str
    title: str
    channel: ChannelWork
    cases: Mapping[str, Mapping[str, object]]
    bars: dict[str, float] = field(default_factory=lambda: {"bound": 1.0})


def used_by(rank: places.Said) -> tuple[int, int]:
    """What the process of a rank used for channels, and the segments of one of them."""
    channel_bytes: int = rank["channel_here_bytes"]
    used: int = rank["grown_bytes"] - (rank["memory_here_bytes"] - channel_bytes)
    if used <= 0:
        raise ProgramError(f"a process grew by {rank['grown_bytes']} bytes, less than its tables")
    return used, channel_bytes


def memory_row(work: MemoryWork, peers: Peers, row: Row) -> Row:
    """The bound is that of the configuration: `channel_bytes`, which every case has alike, and
    BESIDE_BYTES. Used is what a process grew by from before the measurement to its peak, less the
    tables and windows of the measurement itself, which are accounted for; of the rank that used
    most."""
    cases: dict[str, dict[str, int]] = {}
    disturbed = False
    for name, options in work.cases.items():
        command = work.channel.command(peers.programs, **options)
        said, share = watched(lambda command=command: places.ours(work.channel.place, command))
        disturbed = disturbed or share > 1.0
        used_bytes, channel_bytes = max(used_by(one) for one in said["ranks"])
        cases[name] = {
            "used_bytes": used_bytes,
            "channel_bytes": channel_bytes,
            "wrong_rows": said["wrong_rows"],
        }
    most = max(case["used_bytes"] for case in cases.values())
    bound = min(case["channel_bytes"] for case in cases.values()) + BESIDE_BYTES
    row |= {"unit": "bytes", "ours_bytes": most, "peer_bytes": {"bound": bound}, "cases": cases}
    row |= {"counted": ["bound"], "ratio": bound / most, "disturbed": disturbed}
    row["met"] = most <= bound
    return row


def print_memory(row: Row) -> None:
    for name, case in row["cases"].items():
        print(
            f"      {name}: segments {case['channel_bytes'] / MIB:.1f} MiB, "
            f"grown by {case['used_bytes'] / MIB:.1f} MiB; {case['wrong_rows']} wrong rows"
        )
    print(f"      bound: segments and {BESIDE_BYTES // MIB} MiB beside", flush=True)
