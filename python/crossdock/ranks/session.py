"""What docks have over ranks: an engine beside others, and sources that ranks read in shares."""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Callable
from typing import Any

from crossdock import _native
from crossdock.errors import make_error, public_errors
from crossdock.files.far_files import size_of
from crossdock.files.sources import ArrowSource, Source
from crossdock.group import Group, join_group, launched_group
from crossdock.ranks.members import Ranks
from crossdock.ranks.shares import plain_table, rows_of_rank, share_of


def open_ranks(
    group: Group | None,
    asked: tuple[int, int],
    moves: str,
    open_within_s: float | None = None,
    step_within_s: float | None = None,
) -> tuple[_native.Engine, Ranks, Group | None]:
    """What a dock has over the ranks of `group`, or those that were started with this process: an
    engine, the ranks, and their group if it was joined here. `asked` are threads and bytes of
    memory, 0 for this rank's part of what the machine has; moves: as of `connect`; the limits: of
    ranks that are joined here. Collective.

    Errors: those of join_group, OptionError.
    """
    joined = group or launched_group()
    limits = {"open_within_s": open_within_s, "step_within_s": step_within_s}
    owned = join_group(**limits) if joined is None else None  # type: ignore[arg-type]
    try:
        ranks = Ranks(joined or owned, moves=moves)  # type: ignore[arg-type]
        neighbours = _neighbours(ranks)
        with public_errors():
            whole = _native.Engine(0, 0)
            threads = asked[0] or max(1, whole.threads // neighbours[0])
            memory = asked[1] or max(1 << 20, whole.memory_limit_bytes // neighbours[1])
            ranks.threads = threads
            return _native.Engine(threads, memory), ranks, owned
    except BaseException:
        if owned is not None:
            owned.close()
        raise


def open_share(ranks: Ranks, opener: Callable[[], Source]) -> Source:
    """This rank's share of a source that all ranks open. Collective.

    Errors: those of opening it, in all ranks; DataError where ranks see other files.
    """
    with ranks.call("read"):
        source = opener()
        seen = ranks.agree("files", _seen(source))
        for rank, result in enumerate(seen):
            if result != seen[0]:
                raise make_error(
                    "CD-302", f"rank {rank} sees other files than rank 0 at {source.name!r}",
                    values=f"rank 0: {_shown(seen[0])}; rank {rank}: {_shown(result)}",
                    try_="a folder that all machines share, with the same files for all",
                )  # fmt: skip
        if isinstance(source, ArrowSource):  # a stream of Arrow data, which was read as a whole
            rows = rows_of_rank(plain_table(source.data), ranks.rank, ranks.size)
            return ArrowSource(rows, source.name, source.files)
        return share_of(source, ranks.rank, ranks.size)


def _neighbours(ranks: Ranks) -> tuple[int, int]:
    """How many ranks share this one's cores, and its memory."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    mine = [socket.gethostname(), cores]
    notes = ranks.agree("a dock is opened", mine)
    return notes.count(mine), sum(other[0] == mine[0] for other in notes)


def _seen(source: Source) -> list[Any]:
    sizes = [(str(name), size_of(name)) for name in source.files]
    return [len(sizes), sum(size for _, size in sizes), _digest(sizes), _digest(source.schema)]


def _digest(value: object) -> int:
    return zlib.crc32(str(value).encode())


def _shown(seen: list[Any]) -> str:
    return f"{seen[0]:,} files of {seen[1]:,} bytes"
