"""Measured rates of the cost models: one JSON file of the user, an entry for each machine.

The file is the one that the setting `rates` names (CROSSDOCK_RATES), or crossdock/rates.json in the
user's configuration folder; "none" means the built-in rates. docs/concept-models.md describes it.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crossdock import _native
from crossdock.errors import CrossdockError, make_error, public_errors
from crossdock.settings import setting
from crossdock.sizes import format_bytes

SCHEMA_VERSION = 1
_BUILT_IN = "none"
_loaded = threading.Lock()
_state: dict[str, RatesInUse] = {}  # by the file's name; guarded by _loaded


@dataclass(frozen=True)
class RatesInUse:
    """Where the rates in use come from. `measured`: date and time (UTC), "" for built-in ones."""

    file: str
    machine: str
    measured: str
    problem: str = ""

    @property
    def is_measured(self) -> bool:
        return bool(self.measured)

    def text(self) -> str:
        """One line."""
        if self.is_measured:
            return f"measured {self.measured}, {self.file}"
        return f"built-in{': ' + self.problem if self.problem else ''}"


def rates_path() -> Path | None:
    """The file of the rates, which need not be there; None where built-in ones are asked for."""
    named = setting("rates")
    if named == _BUILT_IN:
        return None
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "crossdock" / "rates.json"


def machine_name() -> str:
    """What tells machines apart whose rates differ: model, cores, caches, instruction set. Cores
    are those of the machine: mpirun binds each rank to some of them."""
    known = _native.machine_info()
    caches = " ".join(
        f"L{level} {format_bytes(int(str(known[key])))}"
        for level, key in ((1, "l1d_bytes"), (2, "l2_bytes"), (3, "l3_bytes"))
    )
    return f"{_processor()}, {os.cpu_count()} cores, {caches}, {known['simd']}"


def use_rates_of_file() -> RatesInUse:
    """Puts this machine's measured rates in use, once per process and file.

    A file that is not there, or that knows other machines only, leaves the built-in rates; one
    that cannot be read does too, with a warning. Thread-safe.
    """
    path = rates_path()
    with _loaded:
        key = str(path)
        if key not in _state:
            _state.clear()
            _state[key] = _use(path)
        return _state[key]


def store_rates(
    rates: Mapping[str, float], measured: str, more: Mapping[str, Any], path: Path
) -> None:
    """Writes this machine's entry into the file, in place of an older one; others stay.

    more: what else was measured, for the reader. PathError when the file cannot be written, and
    DataError when what is there is no file of rates.
    """
    machines = _read(path)["machines"] if path.exists() else {}
    built_in = _native.built_in_rates()
    entry = {
        "measured": measured,
        "version": _native.build_info()["version"],
        "rates_ns": {name: round(value, 4) for name, value in rates.items() if name in built_in},
        **more,
    }
    machines[machine_name()] = entry
    text = json.dumps({"schema_version": SCHEMA_VERSION, "machines": machines}, indent=1) + "\n"
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise make_error(
            "CD-502",
            f"the rates cannot be written to {path}: {error.strerror}",
            try_="CROSSDOCK_RATES=file that may be written",
        ) from None
    with _loaded:
        _state.clear()


def entry_of_machine() -> dict[str, Any] | None:
    """What the file says of this machine, or None. DataError for a file that cannot be read."""
    path = rates_path()
    if path is None or not path.exists():
        return None
    entry = _read(path)["machines"].get(machine_name())
    return entry if isinstance(entry, dict) else None


def _use(path: Path | None) -> RatesInUse:
    machine = machine_name()
    if path is None:
        _native.use_rates({})
        return RatesInUse("", machine, "", "as asked for")
    try:
        entry = _read(path)["machines"].get(machine) if path.exists() else None
        if entry is None:
            _native.use_rates({})
            there = "for this machine " if path.exists() else ""
            return RatesInUse(str(path), machine, "", f"none measured {there}yet")
        known = _native.built_in_rates()
        rates = {name: value for name, value in entry["rates_ns"].items() if name in known}
        with public_errors():
            _native.use_rates(rates)
        return RatesInUse(str(path), machine, str(entry["measured"]))
    except (CrossdockError, KeyError, AttributeError, OSError, ValueError) as error:
        _native.use_rates({})
        why = error.text if isinstance(error, CrossdockError) else f"{path} is broken: {error!r}"
        why = why.splitlines()[0]
        warnings.warn(f"measured rates are not used: {why}", stacklevel=2)
        return RatesInUse(str(path), machine, "", why)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema_version"] != SCHEMA_VERSION or not isinstance(data["machines"], dict):
            raise ValueError("another schema_version")
    except (ValueError, KeyError, TypeError) as error:
        raise make_error(
            "CD-301",
            f"{path} is no file of rates: {error}",
            try_="crossdock calibrate, after removing it",
        ) from None
    return dict(data)


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
