"""Devices, and tables that lie there: taken from other libraries without a copy, joined, grouped,
sorted and filtered where they are, and handed on. `dock.device("gpu:0")` opens a device; operators
run at once, and answer when it is done.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crossdock import _native, sizes
from crossdock.device_expressions import conditions_of, native_aggregate, no_expression
from crossdock.errors import (
    CrossdockError,
    from_native,
    make_error,
    public_errors,
    unknown_choice,
    unknown_column,
)
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column, Expr
from crossdock.expressions.orders import Order, orders_of
from crossdock.option_checks import require_rows, require_text
from crossdock.plan import planning

_KINDS = ("inner", "left", "right", "full", "semi", "anti")
HOST_TYPES = (1, 3)  # of DLPack: the host's memory, and what CUDA has pinned of it
_DEFAULT_STREAM = 1
_NAME = re.compile(r"gpu:\d+|threads")


class Device:
    """A device with a pool of its memory. `Dock.device` opens it; tables keep it open."""

    def __init__(self, name: str, memory: str | int | None = None) -> None:
        """Use `Dock.device`."""
        if not _NAME.fullmatch(name):
            raise make_error(
                "CD-105", f"{name!r} names no device", choices="gpu:0, gpu:1, ..., threads",
                try_='device("gpu:0")',
            )  # fmt: skip
        if not hasattr(_native, "Device"):
            raise make_error(
                "CD-510", f"the device {name!r} cannot be opened",
                reason="Crossdock was built without tables on devices",
                try_="make ranks in Crossdock's sources, or pip install .",
            )  # fmt: skip
        limit = 0 if memory is None else sizes.parse_bytes(str(memory))
        try:
            self._native = _native.Device(name, limit)
        except _native.NativeError as error:
            raise _not_opened(name, error) from None

    def table(self, data: object, names: Sequence[str] | None = None) -> DeviceTable:
        """A table of `data`: one object with columns, or a dict of names and columns.

        Memory of this device is used where it lies, and kept as long as it is needed; that of the
        host is copied to it. Taken are `__arrow_c_device_array__` and `__arrow_c_array__` (tables
        and columns), `__arrow_c_stream__` (tables of the host), and of columns also `__dlpack__`:
        objects of cuDF, CuPy, PyTorch, JAX, NumPy, pyarrow, Polars. Do not write to them while
        the table is in use. names: instead of those of the columns.
        Errors: TypeError (nothing of these, or a type that is not taken), DeviceError (memory of
        another device), ColumnError (a name twice), CapacityError, DataError, OptionError.
        """
        columns = (
            [(name, self._column(name, column)) for name, column in data.items()]
            if isinstance(data, Mapping)
            else _parts(self._whole(data))
        )
        if names is not None:
            if len(names) != len(columns):
                raise make_error(
                    "CD-105", f"table(names=...) has {len(names)} names",
                    limits=f"{len(columns)} columns",
                )  # fmt: skip
            columns = [(new, part) for new, (_, part) in zip(names, columns, strict=True)]
        require_unique([name for name, _ in columns])
        with public_errors():
            return DeviceTable(self, self._native.table_of_parts(columns))

    @property
    def name(self) -> str:
        """As it was opened: "gpu:0"."""
        return self._native.name

    @property
    def label(self) -> str:
        """What its maker calls it."""
        return self._native.label

    @property
    def memory_limit_bytes(self) -> int:
        """The budget of tables and operators on it."""
        return self._native.memory_limit_bytes

    @property
    def memory_used_bytes(self) -> int:
        """Bytes of the budget that tables have now."""
        return self._native.memory_used_bytes

    @property
    def memory_held_bytes(self) -> int:
        """Those, and bytes that another library may still read."""
        return self._native.memory_held_bytes

    def trim(self) -> None:
        """Gives memory that no table needs back to the device, for others."""
        self._native.trim()

    def __repr__(self) -> str:
        limit = sizes.format_bytes(self.memory_limit_bytes)
        return f"crossdock.Device {self.name} ({self.label}, memory budget {limit})"

    def _whole(self, data: object) -> _native.DeviceTable:
        """One object with columns."""
        if hasattr(data, "__arrow_c_device_array__"):
            return self._arrow(*data.__arrow_c_device_array__())
        if isinstance(data, pa.Table) or hasattr(data, "__arrow_c_stream__"):
            table = data if isinstance(data, pa.Table) else pa.table(data)
            arrays = [column.combine_chunks() for column in table.columns]
            data = pa.RecordBatch.from_arrays(arrays, schema=table.schema)
        if hasattr(data, "__arrow_c_array__"):
            return self._arrow(*data.__arrow_c_array__())
        raise _no_table(data)

    def _column(self, name: str, column: Any) -> _native.DeviceTable:
        require_text(name, "table()", 'table({"name": column})')
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if hasattr(column, "__arrow_c_device_array__"):
            return self._arrow(*column.__arrow_c_device_array__())
        if hasattr(column, "__dlpack__"):
            place = tuple(int(part) for part in column.__dlpack_device__())
            self._require_reach(place, f"column {name!r}")
            with public_errors():
                return self._native.table_of_tensor(name, self._capsule(column, place))
        if hasattr(column, "__arrow_c_array__"):
            return self._arrow(*column.__arrow_c_array__())
        raise _no_table(column)

    def _arrow(self, schema: object, array: object) -> _native.DeviceTable:
        self._require_reach(_native.place_of_array(array), "the table")
        with public_errors():
            return self._native.table_of_arrow(schema, array)

    def _capsule(self, column: Any, place: tuple[int, ...]) -> object:
        """The column as a DLPack capsule, ready for work on this device's stream."""
        # A producer on the host has no streams, and is done.
        stream = {} if place[0] in HOST_TYPES else {"stream": self._native.stream}
        try:
            return column.__dlpack__(max_version=(1, 0), **stream)
        except builtins.TypeError:  # from before DLPack had versions
            return column.__dlpack__(**stream)

    def _require_reach(self, place: tuple[int, ...], what: str) -> None:
        if self._native.reaches(*place):
            return
        raise make_error(
            "CD-511",
            f"{what} lies on {_native.place_text(*place)}, out of reach of {self.name!r}",
            try_="the device where it lies, or a copy on the host",
        )


class DeviceTable:
    """Columns on a device. Never changes; methods run at once and give new tables.

    May be shared between threads; operators of one device run one after the other.
    """

    def __init__(self, device: Device, native: _native.DeviceTable) -> None:
        self._device = device
        self._native = native

    @property
    def device(self) -> Device:
        """Where it lies."""
        return self._device

    @property
    def schema(self) -> pa.Schema:
        """The pyarrow.Schema."""
        return pa.schema(_Schema(self._native.schema()))

    @property
    def columns(self) -> list[str]:
        """Names of columns, in order."""
        return self._native.column_names

    def count(self) -> int:
        """Number of rows."""
        return self._native.num_rows

    def __len__(self) -> int:
        return self._native.num_rows

    def __getitem__(self, name: str) -> DeviceColumn:
        """One column, for other libraries. ColumnError."""
        self._require([name], "the table")
        return DeviceColumn(self, name)

    def join(
        self, other: DeviceTable, on: planning.Keys, how: str = "inner", *, suffix: str = "_right"
    ) -> DeviceTable:
        """The join with `other` on equal keys, which is a table on the same device.

        on: "k", ["a", "b"], {"left": "right"} or [("left", "right")].
        how: inner, left, right, semi, anti, or full, whose keys need different names.
        Columns are those of `Relation.join`. Row order is not defined.
        Errors: ColumnError, TypeError (keys that do not compare), OptionError, CapacityError.
        """
        self._require_together(other)
        require_text(suffix, "join(suffix=...)", "suffix='_2'")
        if how not in _KINDS:
            raise unknown_choice("how", how, _KINDS)
        pairs = planning.key_pairs(on)
        self._require([left for left, _ in pairs], "the left table")
        other._require([right for _, right in pairs], "the right table")
        with public_errors():
            return self._with(self._native.join(other._native, list(pairs), how, suffix))

    def group_by(self, *keys: str) -> DeviceGrouping:
        """The rows by the values of these columns, for `.agg(...)`. NULL is a value like others,
        and so is NaN. ColumnError (unknown, or a name twice), OptionError (no key)."""
        if not keys:
            raise make_error("CD-105", "group_by() needs at least one key", try_='group_by("a")')
        for key in keys:
            require_text(key, "group_by()", 'group_by("a", "b")')
        self._require(keys, "group_by()")
        require_unique(list(keys))
        return DeviceGrouping(self, keys)

    def sort(
        self, *by: str | Expr | Order, limit: int | None = None, offset: int = 0
    ) -> DeviceTable:
        """The rows in order, `sort("city", xd.desc("price"))`; rows that are equal keep theirs.

        limit, offset: as in `Relation.sort`. Errors: ColumnError, OptionError, CapacityError.
        """
        orders = orders_of(by, "sort")
        for order in orders:
            if not isinstance(order.by, Column):
                raise no_expression("sort", order.by, "a column's name")
        self._require([order.column for order in orders], "sort()")
        rows = None if limit is None else require_rows(limit, "sort(limit=...)")
        first = require_rows(offset, "sort(offset=...)")
        with public_errors():
            return self._with(self._native.sort([order.key for order in orders], rows, first))

    def filter(self, *predicates: Expr) -> DeviceTable:
        """The rows for which all predicates are true, in their order: comparisons of a column with
        a number by ==, <, <=, >, >=, `between`, `is_null`, `is_not_null`, and several with `&`.

        Errors: ColumnError, ExpressionError (another expression), TypeError, CapacityError.
        """
        conditions = conditions_of("filter", *predicates)
        self._require([name for name, _, _ in conditions], "filter()")
        with public_errors():
            return self._with(self._native.filter(conditions))

    def select(self, *columns: str, **named: str) -> DeviceTable:
        """These columns, in this order, without a copy; `new="old"` renames one.

        Errors: ColumnError (unknown, or a name twice), OptionError.
        """
        pairs = [(name, name) for name in columns] + list(named.items())
        if not pairs:
            raise make_error("CD-105", "select() needs at least one column", try_=".count()")
        for _, name in pairs:
            require_text(name, "select()", 'select("a", new="b")')
        self._require([name for _, name in pairs], "select()")
        require_unique([name for name, _ in pairs])
        with public_errors():
            return self._with(self._native.select(pairs))

    def to_arrow(self) -> pa.Table:
        """The rows as a pyarrow.Table, copied to the host."""
        with public_errors():
            schema, array = self._native.host_array()
        return pa.Table.from_batches([pa.RecordBatch._import_from_c_capsule(schema, array)])

    def collect(self) -> pa.Table:
        """As `to_arrow`: what `Relation.collect` gives."""
        return self.to_arrow()

    def __arrow_c_device_array__(
        self, requested_schema: object = None, **_: object
    ) -> tuple[object, object]:
        """The table where it lies, without a copy. Readers wait for its event before they read."""
        with public_errors():
            return self._native.device_array()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows, copied to the host: pa.table(table), pl.from_arrow(table), dock.from_arrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.schema()

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}: {field.type}" for field in self.schema)
        return f"crossdock.DeviceTable on {self._device.name} ({len(self)} rows; {shown})"

    def grouped(self, keys: tuple[str, ...], aggregates: Mapping[str, Aggregate]) -> DeviceTable:
        """Aggregates per combination of keys. For modules of this package."""
        asked = [native_aggregate(name, aggregate) for name, aggregate in aggregates.items()]
        self._require([column for _, _, column, _ in asked if column], "agg()")
        self._require([name for *_, parts in asked for name, _, _ in parts], "agg()")
        require_unique([*keys, *aggregates])
        with public_errors():
            return self._with(self._native.group_by(list(keys), asked))

    def tensor(self, column: str, stream: int, versioned: bool) -> object:
        """A capsule of DLPack. For modules of this package."""
        try:
            return self._native.tensor(column, stream, versioned)
        except _native.NativeError as error:
            explanation = from_native(error)
            if explanation.code != "CD-102":
                raise explanation from None
            raise make_error("CD-511", explanation.text) from None

    def place(self) -> tuple[int, int]:
        """As DLPack says where it lies. For modules of this package."""
        return self._device._native.dlpack_device

    def _require(self, names: Sequence[str], where: str) -> None:
        known = self.columns
        for name in names:
            if name not in known:
                raise unknown_column(name, known, where)

    def _require_together(self, other: object) -> None:
        if isinstance(other, DeviceTable) and other._device is self._device:
            return
        raise make_error(
            "CD-105", "join() takes a table on the same device",
            values=f"{type(other).__name__}", try_="join(device.table(other), ...)",
        )  # fmt: skip

    def _with(self, native: _native.DeviceTable) -> DeviceTable:
        return DeviceTable(self._device, native)


@dataclass(frozen=True)
class DeviceGrouping:
    """Rows of a table on a device by keys; `agg` says what to compute."""

    table: DeviceTable
    keys: tuple[str, ...]

    def agg(self, **aggregates: Aggregate) -> DeviceTable:
        """One row per combination of keys: these, then the aggregates: xd.count, xd.sum and xd.mean
        of integers, floats, decimals and booleans, xd.min and xd.max of anything; each also
        `.where(...)` with what `DeviceTable.filter` takes. Types, NULLs and NaN are as in
        `Relation.group_by`; sums of floats are always exact. Row order is not defined.

        Errors: ColumnError, TypeError, ExpressionError, OptionError, DataError (a sum beyond 64
        bits, or 38 digits), CapacityError.
        """
        if not aggregates:
            raise make_error(
                "CD-105", "agg() needs at least one aggregate", try_="agg(n=xd.count())"
            )
        return self.table.grouped(self.keys, aggregates)


@dataclass(frozen=True)
class DeviceColumn:
    """A column of a table on a device, for libraries that read DLPack."""

    table: DeviceTable
    name: str

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.table.place()

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """The column without a copy, read-only, ready for work on `stream` as DLPack numbers them.

        Errors: DeviceError, which is a BufferError (NULLs, another device, a copy, a bad stream).
        """
        place = self.table.place()
        if copy or (dl_device is not None and tuple(map(int, dl_device)) != place):
            raise make_error(
                "CD-511", f"column {self.name!r} is shared where it lies, and not copied",
                try_="to_arrow()",
            )  # fmt: skip
        versioned = max_version is not None and max_version[0] >= 1
        return self.table.tensor(self.name, consumer_stream(stream, place), versioned)


class _Schema:
    """What pyarrow takes for a schema."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> object:
        return self._capsule


def consumer_stream(stream: int | None, place: tuple[int, int]) -> int:
    """The stream that is to wait, 0 for none. On CUDA nothing said means the default stream, and -1
    that the consumer waits by itself; the host has no streams."""
    if place[0] in HOST_TYPES:
        if stream in (None, -1):
            return 0
    elif stream is None:
        return _DEFAULT_STREAM
    elif stream == -1:
        return 0
    elif stream > 0:
        return stream
    raise make_error(
        "CD-511", f"__dlpack__(stream={stream}) is no stream of this device", try_="stream=None"
    )


def require_unique(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise make_error("CD-104", f"two columns are named {name!r}", try_="names=[...]")


def _parts(table: _native.DeviceTable) -> list[tuple[str, _native.DeviceTable]]:
    return [(name, table.column(at)) for at, name in enumerate(table.column_names)]


def _no_table(data: object) -> CrossdockError:
    return make_error(
        "CD-506",
        f"{type(data).__name__} has neither Arrow data nor a DLPack tensor",
        try_="a table of cuDF, pyarrow or Polars, or a dict of columns",
    )


def _not_opened(name: str, error: _native.NativeError) -> CrossdockError:
    code, _, text = error.args
    if code not in ("CD-105", "CD-603"):
        return from_native(error)
    return make_error(
        "CD-510", f"the device {name!r} cannot be opened", reason=text,
        try_="a machine with an NVIDIA GPU and its driver; without one, the dock's own operators",
    )  # fmt: skip
