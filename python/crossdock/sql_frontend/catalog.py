"""The names that FROM knows: what was registered and created, files, and variables of the
caller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from crossdock.errors import make_error, nearest
from crossdock.files.csv_options import CsvArguments
from crossdock.files.sources import way_to_arrow
from crossdock.option_checks import require_text
from crossdock.query_dock import QueryDock
from crossdock.relation import Relation
from crossdock.sql_frontend.csv_times import FORMATS, with_times
from crossdock.sql_frontend.errors import sql_error
from crossdock.sql_frontend.kept_plans import KeptPlans
from crossdock.sql_frontend.recursion import Planned, without_recursion
from crossdock.sql_frontend.standard_input import (
    STANDARD_INPUT,
    read_by_first,
    read_standard_input,
)
from crossdock.sql_frontend.text.rewritten import FileCall
from crossdock.sql_frontend.text.row_functions import ROW_FUNCTIONS, rows_of_call
from crossdock.sql_frontend.type_names import arrow_type_named

if TYPE_CHECKING:
    from crossdock.plan.nodes import Node
    from crossdock.ranks.members import Ranks

_READERS = {
    "read": "read", "read_parquet": "read_parquet", "parquet_scan": "read_parquet",
    "read_ipc": "read_ipc", "read_arrow": "read_ipc", "read_csv": "read_csv",
    "read_csv_auto": "read_csv", "read_csv_rejects": "read_csv_rejects", "read_json": "read_json",
    "read_json_auto": "read_json", "read_json_rejects": "read_json_rejects",
    "read_ndjson": "read_json", "read_delta": "read_delta",
    "delta_scan": "read_delta", "read_iceberg": "read_iceberg", "iceberg_scan": "read_iceberg",
}  # fmt: skip
_OF_FILES = {name: name for name in ("union_by_name", "hive_partitioning", "filename")}
_TYPES = dict.fromkeys(("types", "dtypes", "columns"), "types")
_OF_CSV = {
    **{name: name for name in CsvArguments.__annotations__},
    "delim": "delimiter", "sep": "delimiter", "nullstr": "null_values",
    "decimal_separator": "decimal",
}  # fmt: skip
_OPTIONS = {
    "read_parquet": _OF_FILES, "read_ipc": _OF_FILES,
    "read_csv": _OF_FILES | _TYPES | _OF_CSV, "read_csv_rejects": _TYPES | _OF_CSV,
    "read_json": _OF_FILES | _TYPES | {"bad_values": "bad_values"}, "read_json_rejects": _TYPES,
    "read_delta": {"version": "version"},
    "read_iceberg": {"snapshot": "snapshot", "snapshot_from_id": "snapshot"},
}  # fmt: skip
_CSV_METHODS = ("read_csv", "read_csv_rejects")
_FLAGS = {
    "read_json": ("ignore_errors",),
    **dict.fromkeys(_CSV_METHODS, ("ignore_errors", "null_padding")),
}
_REJECTS = ("read_csv_rejects", "read_json_rejects")


class Catalog:
    """Relations by name, whatever the case of its letters. Thread-safe."""

    def __init__(self, dock: QueryDock, readers: Mapping[str, Callable[..., Relation]]) -> None:
        self._dock = dock
        self._readers = readers
        self._lock = threading.Lock()
        self._stdin: Relation | None = None
        self._relations: dict[str, tuple[str, Relation]] = {}  # by name in lower case
        self.plans: KeptPlans[Relation] = KeptPlans()  # over these alone; gone with a change

    def over_ranks(self) -> Ranks | None:
        """What the ranks of the dock do together."""
        return self._dock.over_ranks()

    def random_bits(self, count: int) -> int:
        """So many, in all ranks the same."""
        return self._dock.random_bits(count)

    def kept(self, key: object) -> Relation | None:
        """The relation that is kept by a key, over ranks if all of them have it: that ends their
        call."""
        result = self.plans.get(key)
        ranks = self.over_ranks()
        if ranks is None:
            return result
        if not all(ranks.agree("a plan that is kept", result is not None)):
            return None
        ranks.end_call()
        return result

    def relation(self, node: Node) -> Relation:
        """A node as a relation of the dock."""
        return Relation(self._dock, node)

    def shared_rows(self, data: object) -> Relation:
        """Rows that a statement itself gives: over ranks, all of them have the same."""
        return self._from_arrow(data, replicated=self.over_ranks() is not None)

    def _from_arrow(self, data: object, replicated: bool = False) -> Relation:
        return self.relation(self._dock.scan(data, replicated))

    def without_recursion(self, text: str, planned: Planned) -> tuple[str, dict[str, Relation]]:
        """A text without its recursive tables, and these."""
        return without_recursion(self._dock, text, planned)

    def register(self, name: str, data: object) -> None:
        """`data`, a relation or Arrow data, under a name, in place of what had it."""
        require_text(name, "register()", 'register("orders", table)')
        if not name:
            raise make_error("CD-105", "register() needs a name", try_='register("orders", table)')
        relation = self._relation_of(data)
        with self._lock:
            self._relations[name.lower()] = name, relation
            self.plans = KeptPlans()

    def unregister(self, name: str) -> None:
        """Forgets a name. SqlError if it has none."""
        with self._lock:
            if self._relations.pop(name.lower(), None) is None:
                raise sql_error(f"no table {name!r}", try_=self._near(name))
            self.plans = KeptPlans()

    def names(self) -> list[str]:
        """All names, as they were given, in order."""
        with self._lock:
            return sorted(name for name, _ in self._relations.values())

    def relations(self) -> dict[str, Relation]:
        """All relations by their names."""
        with self._lock:
            return dict(self._relations.values())

    def find(self, name: str) -> Relation | None:
        """What has the name."""
        with self._lock:
            relation = self._relations.get(name.lower())
        return None if relation is None else relation[1]

    def _near(self, name: str) -> str:
        known = [shown for shown, _ in self._relations.values()]
        return nearest(name, known) or ("one of " + ", ".join(sorted(known)[:12]) if known else "")

    def advice(self, name: str) -> str:
        """What to write in place of a name that nothing has."""
        with self._lock:
            near = f"FROM '{name}'" if Path(name).exists() else self._near(name)
        return near or "dock.register(name, table), or a file: FROM 'orders.parquet'"

    def open(self, call: FileCall, text: str) -> Relation:
        """The file that a text reads, or rows that it makes. Errors as those of `read`; SqlError
        for arguments and options."""
        if call.function in ROW_FUNCTIONS:
            return self.shared_rows(rows_of_call(call, text))
        if len(call.arguments) != 1:
            raise sql_error(f"{call.function}() takes one path, or a list", text, call.place)
        paths: Any = call.arguments[0]
        method = _READERS[call.function]
        known = _OPTIONS.get(method, {})
        options: dict[str, Any] = {}
        formats: dict[str, str] = {}
        all_strings = False
        for name, value in call.options:
            if method in _CSV_METHODS and name == "columns" and isinstance(value, dict):
                options |= {"types": _types_of(value), "names": [str(each) for each in value]}
            elif method == "read_csv" and name == "all_varchar":
                all_strings = value is True
            elif method == "read_csv" and name in FORMATS and isinstance(value, str):
                formats[name] = value
            elif name in known:
                options[known[name]] = _types_of(value) if known[name] == "types" else value
            elif name in _FLAGS.get(method, ()) and isinstance(value, bool):
                options = _with_flag(options, name, method) if value else options
            elif name != "auto_detect" or value is not True:
                raise sql_error(
                    f"{call.function}() has no option {name!r}", text, call.place,
                    try_=nearest(name, known) or "one of " + ", ".join(known),
                )  # fmt: skip
        if paths in STANDARD_INPUT:
            if method in _REJECTS:
                raise sql_error(
                    f"{call.function}() does not read standard input", text, call.place,
                    try_="a file",
                )  # fmt: skip
            return self.standard_input(method, options)
        types = options.get("types", {})
        if formats and not all_strings and isinstance(types, dict):
            read = self._readers[method]
            options.pop("types", None)
            return with_times(lambda of: read(paths, **options, types=of), types, formats)
        relation = self._readers[method](paths, **options)
        if all_strings:
            strings = dict.fromkeys(relation.columns, "string") | options.get("types", {})
            relation = self._readers[method](paths, **(options | {"types": strings}))
        return relation

    def standard_input(self, method: str, options: dict[str, Any]) -> Relation:
        """What standard input holds, read once: Parquet, Arrow, JSON or CSV."""
        with self._lock:
            if self._stdin is None:
                ranks = self._dock.over_ranks()
                table = (
                    read_standard_input(options, method)
                    if ranks is None
                    else read_by_first(ranks, options, method)
                )
                self._stdin = self._from_arrow(table)
            return self._stdin

    def _relation_of(self, data: object) -> Relation:
        if isinstance(data, Relation):
            if data._dock is not self._dock:
                raise make_error(
                    "CD-105", "the relation belongs to another dock", try_="one xd.connect()"
                )
            return data
        return self._from_arrow(data)

    def table_of(self, value: object) -> Relation | None:
        """A relation of this dock, or what exports an Arrow stream; nothing else is a table."""
        if isinstance(value, Relation):
            return value if value._dock is self._dock else None
        if isinstance(value, type) or not hasattr(value, "__arrow_c_stream__"):
            return None
        return self._from_arrow(value)


class Variables:
    """Variables of the caller, by names in lower case."""

    def __init__(self, catalog: Catalog, frame: FrameType | None) -> None:
        self._catalog = catalog
        self._frame = frame

    def table(self, name: str) -> Relation | None:
        """The first one of the name that holds a relation or a table."""
        tables = map(self._catalog.table_of, self._named(name))
        return next((table for table in tables if table is not None), None)

    def advice(self, name: str) -> str:
        """What makes a table of the variable of this name, which is none; "" where there is
        none."""
        value = next(self._named(name), None)
        if value is None or isinstance(value, ModuleType) or callable(value):
            return ""
        if isinstance(value, Relation):
            return f"one xd.connect(): the relation {name!r} belongs to another dock"
        kind = type(value)
        shown = f"{kind.__module__.partition('.')[0]}.{kind.__name__}".removeprefix("builtins.")
        return f"{way_to_arrow(value)}: the variable {name!r} is of type {shown}"

    def _named(self, name: str) -> Iterator[Any]:
        """Those of the name, whatever the case, from the caller outwards; the exact one first."""
        frame = self._frame
        while frame is not None:
            for variables in (frame.f_locals, frame.f_globals):
                if name in variables:
                    yield variables[name]
                for spelled, value in list(variables.items()):
                    if spelled != name and spelled.lower() == name.lower():
                        yield value
            frame = frame.f_back


def _with_flag(options: dict[str, Any], name: str, method: str) -> dict[str, Any]:
    """With what a name of DuckDB's says of rows: padding goes before leaving out."""
    if name == "null_padding":
        return options | {"ragged": "fill"}
    if method == "read_json":
        return options | {"bad_values": "skip"}
    return {"ragged": "skip"} | options | {"bad_values": "skip"}


def _types_of(value: object) -> object:
    """Types by column: names of SQL's types are those of Arrow."""
    if not isinstance(value, dict):
        return value
    return {str(name): arrow_type_named(str(data_type)) for name, data_type in value.items()}
