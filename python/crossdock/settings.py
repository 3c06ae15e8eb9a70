"""Settings: one table in the engine, seen as keyword, flag and CROSSDOCK_* environment variable.

A flag (or keyword) wins over the environment, which wins over the default.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from crossdock import _native
from crossdock.errors import make_error, nearest

PREFIX = "CROSSDOCK_"
LONGEST_S = 3e7  # about a year, which the engine's clock can count


@dataclass(frozen=True)
class Setting:
    """One setting with the value in force and where that value comes from."""

    name: str
    value: str
    default: str
    origin: str  # "flag", "env" or "default"
    doc: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name.upper().replace(".", "_")


def current_settings(
    flags: Mapping[str, str | None] | None = None, environment: Mapping[str, str] | None = None
) -> list[Setting]:
    """Every setting with the value in force; flags that are None count as not given.

    Reads the environment at each call. Errors: none. Thread-safe.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    variables = os.environ if environment is None else environment
    return [_resolve(row, given, variables) for row in _native.settings_table()]


def setting(name: str, flag: str | None = None) -> str:
    """The value in force of one setting, as text."""
    return next(s.value for s in current_settings({name: flag}) if s.name == name)


def seconds_setting(name: str, given: float | None) -> float:
    """The value in force of a setting that is a number of seconds. Errors: OptionError."""
    text = setting(name, None if given is None else str(given))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST_S:
        raise make_error(
            "CD-105", f"{name}={text!r} is no such number of seconds",
            limits=f"above 0, at most {LONGEST_S:,.0f}", try_=f"{name}=300",
        )  # fmt: skip
    return seconds


def check_environment(environment: Mapping[str, str] | None = None) -> None:
    """Refuses a CROSSDOCK_* variable that looks like a misspelled setting (OptionError proposes
    the nearest), warns about any other unknown one: it may belong to a script of the user."""
    variables = os.environ if environment is None else environment
    known = {s.variable for s in current_settings({}, {})}
    for variable in variables:
        if not variable.startswith(PREFIX) or variable in known:
            continue
        close = nearest(variable, known) if _near_enough(variable, known) else ""
        if close:
            raise make_error(
                "CD-505",
                f"unknown environment variable {variable}",
                values=f"{variable}={variables[variable]}",
                try_=f"{close}  ·  crossdock config list",
            )
        warnings.warn(f"unknown environment variable {variable} is ignored", stacklevel=3)


def _near_enough(variable: str, known: set[str]) -> bool:
    # The shared prefix makes all names look alike, so only what follows it is compared.
    rest = variable.removeprefix(PREFIX)
    return bool(nearest(rest, [name.removeprefix(PREFIX) for name in known]))


def _resolve(
    row: tuple[str, str, str], flags: Mapping[str, str], variables: Mapping[str, str]
) -> Setting:
    name, default, doc = row
    unset = Setting(name, default, default, "default", doc)
    if name in flags:
        return Setting(name, flags[name], default, "flag", doc)
    if unset.variable in variables:
        return Setting(name, variables[unset.variable], default, "env", doc)
    return unset
