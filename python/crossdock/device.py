"""Devices: where tables of other libraries are taken without a copy.

`dock.device("gpu:0")` opens one; what can be done with its tables is in device_table.py.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from crossdock import _native, sizes
from crossdock.device_table import HOST_TYPES, DeviceTable, require_unique
from crossdock.errors import CrossdockError, from_native, make_error, public_errors
from crossdock.option_checks import require_text

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
