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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crossdock._native import build_info, machine_info
    from crossdock.channel import Channel
    from crossdock.counters import to_prometheus
    from crossdock.device import Device, DeviceTable
    from crossdock.docks import (
        connect,
        default_dock,
        from_arrow,
        from_substrait,
        read,
        read_csv,
        read_csv_rejects,
        read_delta,
        read_iceberg,
        read_ipc,
        read_json,
        read_json_rejects,
        read_parquet,
        register,
        sql,
    )
    from crossdock.errors import (
        CancelledError,
        CapacityError,
        ClosedError,
        ColumnError,
        ControlError,
        CrossdockError,
        DataError,
        DeviceError,
        ExpressionError,
        InternalError,
        OptionError,
        PathError,
        SqlError,
        TopologyError,
        TypeError,
        error_table,
    )
    from crossdock.expressions.aggregates import (
        Aggregate,
        any,
        approx_distinct,
        arg_max,
        arg_min,
        bit_and,
        bit_or,
        bit_xor,
        bool_and,
        bool_or,
        count,
        count_distinct,
        count_if,
        entropy,
        first,
        kurtosis,
        kurtosis_pop,
        last,
        list_agg,
        mad,
        max,
        mean,
        median,
        median_exact,
        min,
        mode,
        product,
        quantile,
        quantile_disc,
        quantile_exact,
        skewness,
        stddev,
        string_agg,
        sum,
        var,
    )
    from crossdock.expressions.expression import (
        Expr,
        col,
        lit,
        sql_expr,
        when,
    )
    from crossdock.expressions.free_functions import (
        coalesce,
        concat,
        greatest,
        least,
        make_date,
        nullif,
    )
    from crossdock.expressions.orders import Order, asc, desc
    from crossdock.expressions.window_expressions import (
        cume_dist,
        dense_rank,
        first_value,
        lag,
        last_value,
        lead,
        nth_value,
        ntile,
        percent_rank,
        rank,
        row_number,
    )
    from crossdock.group import Group, join_group
    from crossdock.grouping import Grouping
    from crossdock.machines.simulated_plans import SimulatedPlan, simulate_plan
    from crossdock.machines.simulation import Simulation, simulate
    from crossdock.machines.topology import Topology
    from crossdock.partitions import Partitions
    from crossdock.relation import Relation
    from crossdock.rendezvous import Rendezvous
    from crossdock.reports.explain import Plan
    from crossdock.reports.profile import Profile
    from crossdock.session import Dock
    from crossdock.settings import current_settings

    __version__: str

_HOMES = {
    "_native": "build_info machine_info",
    "channel": "Channel",
    "counters": "to_prometheus",
    "device": "Device DeviceTable",
    "docks": (
        "connect default_dock from_arrow from_substrait read read_csv read_csv_rejects read_delta "
        "read_iceberg read_ipc read_json read_json_rejects read_parquet register sql"
    ),
    "errors": (
        "CancelledError CapacityError ClosedError ColumnError ControlError CrossdockError "
        "DataError DeviceError ExpressionError InternalError OptionError PathError SqlError "
        "TopologyError TypeError error_table"
    ),
    "expressions.aggregates": (
        "Aggregate any approx_distinct arg_max arg_min bit_and bit_or bit_xor bool_and bool_or "
        "count count_distinct count_if entropy first kurtosis kurtosis_pop last list_agg mad max "
        "mean median median_exact min mode product quantile quantile_disc quantile_exact skewness "
        "stddev string_agg sum var"
    ),
    "expressions.expression": "Expr col lit sql_expr when",
    "expressions.free_functions": "coalesce concat greatest least make_date nullif",
    "expressions.orders": "Order asc desc",
    "expressions.window_expressions": (
        "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank "
        "row_number"
    ),
    "group": "Group join_group",
    "grouping": "Grouping",
    "machines.simulated_plans": "SimulatedPlan simulate_plan",
    "machines.simulation": "Simulation simulate",
    "machines.topology": "Topology",
    "partitions": "Partitions",
    "relation": "Relation",
    "rendezvous": "Rendezvous",
    "reports.explain": "Plan",
    "reports.profile": "Profile",
    "session": "Dock",
    "settings": "current_settings",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Aggregate", "CancelledError", "CapacityError", "Channel", "ClosedError", "ColumnError",
    "ControlError", "CrossdockError", "DataError", "Device", "DeviceError", "DeviceTable", "Dock",
    "Expr", "ExpressionError", "Group", "Grouping", "InternalError", "OptionError", "Order",
    "Partitions", "PathError", "Plan", "Profile", "Relation", "Rendezvous", "SimulatedPlan",
    "Simulation", "SqlError", "Topology", "TopologyError", "TypeError", "__version__", "any",
    "approx_distinct", "arg_max", "arg_min", "asc", "bit_and", "bit_or", "bit_xor", "bool_and",
    "bool_or", "build_info", "coalesce", "col", "concat", "connect", "count", "count_distinct",
    "count_if", "cume_dist", "current_settings", "default_dock", "dense_rank", "desc", "entropy",
    "error_table", "first", "first_value", "from_arrow", "from_substrait", "greatest", "join_group",
    "kurtosis", "kurtosis_pop", "lag", "last", "last_value", "lead", "least", "list_agg", "lit",
    "machine_info", "mad", "make_date", "max", "mean", "median", "median_exact", "min", "mode",
    "nth_value", "ntile", "nullif", "percent_rank", "product", "quantile", "quantile_disc",
    "quantile_exact", "rank", "read", "read_csv", "read_csv_rejects", "read_delta", "read_iceberg",
    "read_ipc", "read_json", "read_json_rejects", "read_parquet", "register", "row_number",
    "simulate", "simulate_plan", "skewness", "sql", "sql_expr", "stddev", "string_agg", "sum",
    "to_prometheus", "var", "when",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("crossdock._native").build_info()["version"]
    if name not in _HOME_OF:
        raise AttributeError(f"module 'crossdock' has no attribute {name!r}{_hint(name)}")
    value = getattr(importlib.import_module(f"crossdock.{_HOME_OF[name]}"), name)
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
