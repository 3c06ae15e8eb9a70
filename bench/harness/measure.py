"""Timing: interleaved rounds, disturbance by others, the memcpy yardstick.

One thread measures; the engines bring their own. Nothing here knows what is measured.
"""

from __future__ import annotations

import gc
import mmap
import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.engines import Form
from harness.results import Fingerprint, WrongResultError, same
from harness.work import Work

DISTURBED_SHARE = 0.10  # of all cores used by others: above this a sample is set aside
HOPELESS = 1.5  # a peer this much slower than the best is not timed again after round two,
HOPELESS_FLOOR_S = 0.01  # unless it is that quick: two calls of microseconds say little
FAR_BEHIND = 4.0  # a peer this much slower in its first run is not run again,
FAR_BEHIND_FLOOR_S = 2.0  # unless it is that quick: first runs pay for fresh memory
TUPLE_BYTES = 16
CPUS = os.cpu_count() or 1
TICK_S = 0.01
STAT, STATUS = Path("/proc/stat"), Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Sample:
    wall_s: float
    foreign_share: float  # of all cores, used by other processes or stolen by the hypervisor
    cpu_s: float | None = None  # of all threads of this process, where it is the one that works


@dataclass(slots=True)
class Series:
    """All timed runs of one form."""

    samples: list[Sample] = field(default_factory=list)

    def clean(self) -> list[float]:
        """Undisturbed times; every time when fewer than three runs went undisturbed."""
        return [sample.wall_s for sample in self.calm()]

    def calm(self) -> list[Sample]:
        undisturbed = [s for s in self.samples if s.foreign_share <= DISTURBED_SHARE]
        return undisturbed if len(undisturbed) >= 3 else self.samples

    def disturbed(self) -> bool:
        calm = sum(s.foreign_share <= DISTURBED_SHARE for s in self.samples)
        return calm < min(3, len(self.samples))

    def median_s(self) -> float:
        return statistics.median(self.clean())

    def median_cpu_s(self) -> float:
        return statistics.median(sample.cpu_s or 0.0 for sample in self.calm())

    def spread(self) -> float:
        """(slowest - fastest) / median of the runs that count."""
        times = self.clean()
        return (max(times) - min(times)) / statistics.median(times)


def ratio_in_turns(peer: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as fast ours is where the two took turns, run by run: the median over turns,
    in each of which both met the same machine."""
    return statistics.median(p / o for p, o in zip(peer, ours, strict=True))


def busy_seconds() -> float:
    """CPU seconds of the whole machine since boot, stolen time included, idle and I/O wait not."""
    ticks = [int(number) for number in STAT.read_text().split(maxsplit=9)[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    return (user + nice + system + irq + softirq + steal) * TICK_S


def own_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def timed(run: Callable[[], pa.Table]) -> tuple[pa.Table, Sample]:
    busy, own_before_s = busy_seconds(), own_seconds()
    start = time.perf_counter()
    result = run()
    wall_s = time.perf_counter() - start
    cpu_s = own_seconds() - own_before_s
    foreign_s = (busy_seconds() - busy) - cpu_s
    # Ticks are 10 ms: below two ticks the difference says nothing.
    share = foreign_s / (wall_s * CPUS) if foreign_s > 2 * TICK_S else 0.0
    return result, Sample(wall_s, share, cpu_s)


def wait_until_idle(limit_s: float) -> None:
    """Let a neighbour's build finish, but never for longer than `limit_s`."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        busy, start = busy_seconds(), time.monotonic()
        time.sleep(0.5)
        if (busy_seconds() - busy) / (time.monotonic() - start) < DISTURBED_SHARE * CPUS:
            return


def warm_up(work: Work, forms: list[Form]) -> dict[str, Sample]:
    """The first run of each; raises WrongResultError unless all results are the same."""
    expected: tuple[str, Fingerprint] | None = None
    samples = {}
    for form in forms:
        result, samples[form.name] = timed(form.run)
        got = work.fingerprint(result)
        del result
        if expected is None:
            expected = (form.name, got)
        elif not same(got, expected[1]):
            raise WrongResultError(f"{form.name} gives {got}, {expected[0]} gives {expected[1]}")
    return samples


def far_behind(peers: list[Form], first: dict[str, Sample]) -> list[Form]:
    """Peers whose first run took so long that minutes of further runs would tell nothing new."""
    fastest_s = min((first[peer.name].wall_s for peer in peers), default=0.0)
    limit_s = max(FAR_BEHIND * fastest_s, FAR_BEHIND_FLOOR_S)
    return [peer for peer in peers if first[peer.name].wall_s > limit_s]


def without_hopeless(peers: list[Form], series: dict[str, Series]) -> list[Form]:
    """Judged by the fastest run of each, so that one disturbed run does not drop a good form."""
    fastest = {p.name: min(s.wall_s for s in series[p.name].samples) for p in peers}
    limit_s = max(HOPELESS * min(fastest.values(), default=0.0), HOPELESS_FLOOR_S)
    return [p for p in peers if fastest[p.name] <= limit_s]


def interleave(
    ours: Form | None, peers: list[Form], repeat: int, between: Callable[[], None]
) -> dict[str, Series]:
    """Round robin: ours, peer 1, ours, peer 2, ... `repeat` times, and `between` before each round.

    While a form has too few undisturbed runs, up to `repeat` more rounds follow (only for
    `repeat` >= 3). Peers that cannot become the fastest are dropped after the second.
    """
    mine = [ours] if ours else []
    series = {form.name: Series() for form in [*mine, *peers]}
    gc.collect()
    gc.disable()
    for turn in range(2 * repeat):
        if turn >= repeat and (
            repeat < 3 or not any(series[form.name].disturbed() for form in [*mine, *peers])
        ):
            break
        between()
        for form in [form for peer in peers for form in (*mine, peer)] or mine:
            result, sample = timed(form.run)
            series[form.name].samples.append(sample)
            del result
        if turn == 1 and repeat >= 3:
            peers = without_hopeless(peers, series)
    gc.enable()
    return series


class Memcpy:
    """Rate at which `threads` threads copy a big buffer, as 16-byte tuples per second.

    The buffers are touched once and stay; huge pages are asked for, as the engines may do too.
    """

    def __init__(self, threads: int, buffer_bytes: int) -> None:
        self.rates: list[float] = []
        self._pool = ThreadPoolExecutor(threads)
        source, target = (self._buffer(buffer_bytes) for _ in range(2))
        self._parts = list(
            zip(np.array_split(source, threads), np.array_split(target, threads), strict=True)
        )
        self._tuples = buffer_bytes / TUPLE_BYTES

    @staticmethod
    def _buffer(size: int) -> npt.NDArray[np.uint8]:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
        buffer = np.frombuffer(memory, dtype=np.uint8)
        buffer.fill(1)
        return buffer

    def measure(self) -> None:
        start = time.perf_counter()
        list(self._pool.map(lambda part: np.copyto(part[1], part[0]), self._parts))
        self.rates.append(self._tuples / (time.perf_counter() - start))

    def tuples_per_s(self) -> float:
        return statistics.median(self.rates)


def resident_bytes(field: str) -> int:
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def peak_rss_bytes() -> int:
    """The kernel's high-water mark of this process since its exec."""
    return resident_bytes("VmHWM:")


def rss_bytes() -> int:
    return resident_bytes("VmRSS:")
