"""Crossdock joins, groups and sorts tables on every core of a machine: Arrow in, Arrow out.

    import crossdock as xd
    with xd.connect() as dock:
        orders = dock.read_parquet("orders.parquet")
        lines = dock.read_parquet("lineitem.parquet")
        joined = lines.join(orders, on={"l_orderkey": "o_orderkey"})
        print(joined.select("l_orderkey", "o_orderpriority").collect())

Names are loaded when they are first used, so that `import crossdock` alone costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any


def _homes() -> dict[str, str]:
    """The module of each public name, from `from module import name as name` in the stub."""
    stub = __loader__.get_data(  # type: ignore[name-defined]
        f"{__path__[0]}/__init__.pyi"
    ).decode()  # pathlib takes 5 ms
    imports = [line.split() for line in stub.splitlines() if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in imports}


_HOME_OF = _homes()
__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("crossdock._native").build_info()["version"]
    if name not in _HOME_OF:
        raise AttributeError(f"module 'crossdock' has no attribute {name!r}{_hint(name)}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _hint(name: str) -> str:
    import difflib

    from crossdock.familiar_names import FAMILIAR_OF_MODULE

    if name in FAMILIAR_OF_MODULE:
        return f"; here it is {FAMILIAR_OF_MODULE[name]}"
    close = difflib.get_close_matches(name, __all__, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
