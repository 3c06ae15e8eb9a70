"""What the ranks of a simulated join do in a second: named sets of rates with their sources.

Rates of GPUs are bounds: the bytes that an algorithm must touch over what memory is published to
carry. No kernel of ours has been timed on them. Rates can be replaced one by one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crossdock import _native
from crossdock.errors import make_error, nearest

_WORD_BYTES = 8
_DIGITS = 8  # passes of a radix sort over keys of 8 bytes
# The least and the most that a rate may be.
_LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("scan", "partition", "build", "probe", "sort_run", "merge"), (1, 1e18)),
    **dict.fromkeys(
        ("collective_s", "window_s", "message_s", "imbalance_s", "narrower_s", "latency_s"),
        (0, 1e6),
    ),
    "passes": (1, 64),
    "merges": (0, 64),
    "ranks": (1, 65536),
    "codec_bytes_per_s": (0, 1e18),
    "message_bytes": (0, 1e12),
    "segment_bytes": (1, 1e12),
    "crowding": (0, 1),
}
# Of ranks whose rates are the models', these are, too.
_OF_MODELS = frozenset((
    "scan", "partition", "build", "probe", "sort_run", "merge", "collective_s", "window_s",
    "message_s", "passes", "merges", "imbalance_s",
))  # fmt: skip


@dataclass(frozen=True)
class RankRates:
    """Rows per second of one rank, and what else takes time.

    Without `has_own_rates` those of the models in force (`crossdock calibrate`) stand in the place
    of all down to `imbalance_s`. `message_bytes` is what a message costs on a link, in bytes of it;
    `crowding` what each rank on another server takes from a link to the network;
    `codec_bytes_per_s` 0: coding is free; `narrower_s` what reading a row that has come
    takes less than the rates say, since rows became narrower before they left.
    """

    name: str
    source: str
    scan: float = 0.0
    partition: float = 0.0
    build: float = 0.0
    probe: float = 0.0
    sort_run: float = 0.0
    merge: float = 0.0
    collective_s: float = 30e-6
    window_s: float = 0.0
    message_s: float = 0.0
    passes: int = 1
    merges: int = 1
    imbalance_s: float = 0.0
    codec_bytes_per_s: float = 0.0
    narrower_s: float = 0.0
    message_bytes: float = 4.1e6
    crowding: float = 0.0
    latency_s: float = 0.0
    segment_bytes: float = 16 << 20  # of streaming exchanges, at most
    ranks: int = 1  # that share an endpoint
    has_own_rates: bool = True

    def options(self) -> dict[str, Any]:
        """As the engine takes them."""
        fields = dataclasses.asdict(self)
        del fields["name"], fields["source"]
        return fields

    def replaced(self, values: Mapping[str, float]) -> RankRates:
        """Some of them changed. Errors: OptionError (no such rate, with the nearest name; a value
        outside its limits; a rate that the models give)."""
        return dataclasses.replace(
            self, **{name: self._checked(name, value) for name, value in values.items()}
        )

    def _checked(self, name: str, value: float) -> Any:
        if name not in _LIMITS:
            close = nearest(name, _LIMITS)
            raise make_error(
                "CD-105",
                f"there is no rate {name!r} of simulated ranks",
                rates=", ".join(_LIMITS),
                try_=f"{close}={value:g}" if close else "",
            )
        if name in _OF_MODELS and not self.has_own_rates:
            raise make_error(
                "CD-105",
                f"{name}={value:g}: rates {self.name!r} are those of the models in force",
                try_="crossdock calibrate, or another set of rates: rates='xc30'",
            )
        low, high = _LIMITS[name]
        is_count = name in ("passes", "merges", "ranks")
        if not low <= value <= high or (is_count and value != int(value)):
            kind = "an integer" if is_count else "a number"
            raise make_error("CD-105", f"{name}={value:g}", limit=f"{kind}, {low:g} to {high:g}")
        return int(value) if is_count else float(value)


def _gpu(name: str, source: str, memory_bytes_per_s: float, random_per_s: float) -> Any:
    """Rates of a GPU for rows of so many bytes: reading once, reading and writing once, a random
    write for each row that is built, and two random reads for each that probes; a pass of sorting
    for each byte of a key, which reads its keys twice and moves its rows once."""

    def rates(row_bytes: float) -> RankRates:
        moved = 2 * row_bytes
        return RankRates(
            name,
            source,
            scan=memory_bytes_per_s / _WORD_BYTES,
            partition=memory_bytes_per_s / moved,
            build=random_per_s,
            probe=random_per_s / 2,
            sort_run=memory_bytes_per_s / ((_WORD_BYTES + moved) * _DIGITS),
            merge=memory_bytes_per_s / moved,
        )

    return rates


def _xc30(_: float) -> RankRates:
    return RankRates(
        "xc30",
        "one core of a Cray XC30: Barthels et al., PVLDB 10(5), Table 3; 55.2 M rows/s of runs is "
        "what its 1.45 s say, where the table prints 75",
        scan=225e6, partition=120e6, build=120e6, probe=225e6, sort_run=55.2e6, merge=45e6,
        passes=2, message_bytes=0.0, collective_s=0.0,
    )  # fmt: skip


_SETS = {
    "a100": _gpu(
        "a100",
        "bounds by memory: 1,935 GB/s and 134 GB/s of random accesses of 8 bytes, Gao and "
        "Sakharnykh, Scaling joins to a thousand GPUs",
        1935e9,
        134e9 / _WORD_BYTES,
    ),
    "h100": _gpu(
        "h100",
        "bounds by memory: 3,350 GB/s (data sheet of H100 SXM), random accesses assumed in "
        "proportion to an A100's",
        3350e9,
        134e9 / _WORD_BYTES * 3350 / 1935,
    ),
    "xc30": _xc30,
    "here": lambda _: RankRates(
        "here", "one core of this machine: the models, as calibrated", has_own_rates=False
    ),
}


def rate_sets() -> dict[str, str]:
    """Names of the sets and what they are."""
    return {name: make(16.0).source for name, make in _SETS.items()}


def rates_named(name: str, row_bytes: float) -> RankRates:
    """A set, for rows of so many bytes. Error: OptionError (no such set, with the nearest)."""
    if name in _SETS:
        rates: RankRates = _SETS[name](row_bytes)
        return rates
    close = nearest(name, _SETS)
    raise make_error(
        "CD-105",
        f"there are no rates {name!r} of simulated ranks",
        rates=", ".join(_SETS),
        try_=f"rates={close!r}" if close else "rates='a100'",
    )


def rates_for(model: str, kind: str, row_bytes: float) -> RankRates:
    """The set of an endpoint by what its model says. Error: OptionError (a GPU of which none is
    known)."""
    if kind == "cpu":
        cores = _native.machine_info()["cores"]
        return rates_named("here", row_bytes).replaced({"ranks": float(str(cores))})
    for name in ("a100", "h100"):
        if name in model.lower():
            return rates_named(name, row_bytes)
    raise make_error(
        "CD-105",
        f"no rates are known for the GPU {model or 'without a model'}",
        rates=", ".join(_SETS),
        try_="rates='a100'",
    )
