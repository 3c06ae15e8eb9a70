"""Sizes and rates as people write and read them: "8GiB" to bytes, bytes to "8.0 GiB"."""

from __future__ import annotations

import re
from math import nan

from crossdock.errors import make_error

_UNITS = {
    "": 1,
    "b": 1,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_BYTES_MAX = 2**63 - 1
_RATE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kKmMgG]?)bit\s*")
_FORM = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")


def parse_bytes(size: str | int, option: str = "memory", example: str = "8GiB") -> int:
    """Bytes in `size`: an integer, or text such as "8GiB", "512MB", "1.5g" (k, m, g, t are powers
    of 1024, as are the units with an i). OptionError names `option` when it is neither, or is 8 EiB
    or more, which the engine does not count to; it proposes `example`."""
    if isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= _BYTES_MAX:
        return size
    match = _FORM.fullmatch(size) if isinstance(size, str) else None
    size_bytes = float(match[1]) * _UNITS.get(match[2].lower(), nan) if match else nan
    if not size_bytes < _BYTES_MAX:
        raise make_error(
            "CD-105",
            f"{option}={size!r} is not a size",
            form="a number and a unit: B, KiB, MiB, GiB, TiB, KB, MB, GB, TB",
            limit="below 8 EiB",
            try_=f'{option}="{example}"',
        )
    return int(size_bytes)


def parse_rate(rates: str, option: str = "rate") -> float:
    """Bytes per second of links together: "1Gbit", "1Gbit,250Mbit" (bit, kbit, Mbit, Gbit, powers
    of 1000). OptionError names `option` when it is something else."""
    total = 0.0
    for rate in rates.split(","):
        match = _RATE.fullmatch(rate)
        if match is None:
            raise make_error(
                "CD-105",
                f"{option}={rates!r} is not a rate",
                form="numbers with a unit: kbit, Mbit, Gbit",
                try_=f'{option}="1Gbit,250Mbit"',
            )
        total += float(match[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[match[2].lower()] / 8
    return total


def format_bytes(size_bytes: float) -> str:
    """Three digits and a binary unit: "512 B", "1.50 GiB"."""
    return _scaled(size_bytes, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def format_count(number: float) -> str:
    """Three digits and a decimal unit: "950", "6.00 M", "1.20 G"."""
    return _scaled(number, 1000, ("", "k", "M", "G", "T")).rstrip()


def format_seconds(seconds: float) -> str:
    """Three digits and a unit: "840 µs", "41.2 ms", "3.10 s"."""
    if seconds >= 1:
        return f"{seconds:.{_digits(seconds)}f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.{_digits(seconds * 1e3)}f} ms"
    return f"{seconds * 1e6:.0f} µs"


def _scaled(number: float, step: int, units: tuple[str, ...]) -> str:
    if number < step:
        return f"{number:.0f} {units[0]}"
    power = 0
    while number >= step and power < len(units) - 1:
        number /= step
        power += 1
    return f"{number:.{_digits(number)}f} {units[power]}"


def _digits(number: float) -> int:
    return 2 if number < 10 else 1 if number < 100 else 0
