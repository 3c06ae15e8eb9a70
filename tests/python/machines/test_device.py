"""Tables on devices: the whole way from other libraries' memory through the kernels of GPUs and
back, and what is said where there is no GPU. The device is "threads", or CROSSDOCK_TEST_DEVICE says
another, such as gpu:0."""

from __future__ import annotations

import ctypes
import gc
import os
from decimal import Decimal
from typing import Any

import crossdock as xd
import numpy as np
import pyarrow as pa
import pytest
from crossdock.device import Device, consumer_stream

ROWS = 5000
DEVICE = os.environ.get("CROSSDOCK_TEST_DEVICE", "threads")
on_threads = pytest.mark.skipif(DEVICE != "threads", reason="looks into the device's memory")


@pytest.fixture(name="dock")
def _dock() -> Any:
    with xd.connect(threads=2) as dock:
        yield dock


@pytest.fixture(name="device")
def _device(dock: xd.Dock) -> Device:
    return dock.device(DEVICE, memory="256MiB")


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*table.to_pydict().values(), strict=True), key=repr)


def numbers(seed: int, rows: int = ROWS) -> pa.Table:
    """Columns of many types; keys repeat, some are only on one side, one column has NULLs."""
    random = np.random.default_rng(seed)
    keys = random.integers(-200, 300, rows)
    return pa.table(
        {
            "key": pa.array(keys, pa.int64()),
            "small": pa.array(keys % 100, pa.int8()),
            "short": pa.array(random.integers(-9, 9, rows), pa.int32()),
            "wide": pa.array(random.integers(0, 2**64 - 1, rows, dtype=np.uint64)),
            "real": pa.array(random.normal(size=rows)),
            "float": pa.array(random.normal(size=rows).astype(np.float32)),
            "holes": pa.array(keys, mask=random.random(rows) < 0.2),
            "day": pa.array(random.integers(0, 9999, rows), pa.int32()).cast(pa.date32()),
            "name": pa.array([f"name {key % 37}" for key in keys], mask=random.random(rows) < 0.1),
            "flag": pa.array(keys % 3 == 0, mask=random.random(rows) < 0.1),
            "money": pa.array([Decimal(int(key)) / 100 for key in keys], pa.decimal128(12, 2)),
            "gaps": pa.array(
                random.normal(size=rows) * 10.0 ** (keys % 40), mask=random.random(rows) < 0.9
            ),
        }
    )


def test_a_missing_gpu_is_a_clear_error(dock: xd.Dock) -> None:
    """On machines with a GPU and the plugin, the highest number is missing all the same."""
    with pytest.raises(xd.DeviceError, match="cannot be opened") as caught:
        dock.device("gpu:4096")
    assert caught.value.code == "CD-510"
    assert "reason" in caught.value.text
    with pytest.raises(xd.OptionError, match="names no device"):
        dock.device("cuda")


def test_a_dock_has_one_device_of_a_name(dock: xd.Dock, device: Device) -> None:
    assert dock.device(DEVICE) is device
    assert device.memory_limit_bytes == 256 << 20
    with pytest.raises(xd.OptionError, match="is open"):
        dock.device(DEVICE, memory="1GiB")


def test_columns_pass_through_unchanged(device: Device) -> None:
    host = numbers(1)
    table = device.table(host)
    assert table.schema.names == host.schema.names
    assert table.schema.types == host.schema.types
    assert len(table) == ROWS
    assert table.to_arrow().equals(host)
    assert pa.table(table).equals(host)
    part = host.slice(3, 777)  # offsets of values and of bits
    assert device.table(part).to_arrow().equals(part)
    assert device.table(host.slice(0, 0)).to_arrow().equals(host.slice(0, 0))


def test_dictionaries_become_their_values(device: Device) -> None:
    words = ["far", None, "near", "far", "", "nearer than any", None, "near"]
    text = pa.array(words * 9, pa.large_string()).dictionary_encode()
    indices = pa.array([2, None, 0, 1] * 18, pa.uint8())
    number = pa.DictionaryArray.from_arrays(indices, pa.array([7, None, 9]))
    host = pa.table({"text": text, "number": number})
    plain = host.cast(pa.schema({"text": pa.large_string(), "number": pa.int64()}))
    for first, rows in ((0, 72), (3, 41), (0, 0)):
        table = device.table(host.slice(first, rows))
        assert table.to_arrow().equals(plain.slice(first, rows))
    assert device.table(host).group_by("text").agg(n=xd.count()).count() == 5
    indices = pa.array([0, 3, -1], pa.int8())
    wrong = pa.DictionaryArray.from_arrays(indices, pa.array(["one"]), safe=False)
    with pytest.raises(xd.DataError, match="dictionary of 1 values") as caught:
        device.table({"wrong": wrong})
    assert caught.value.code == "CD-301"


@on_threads
def test_arrow_crosses_without_a_copy(device: Device) -> None:
    batch = numbers(2).to_batches()[0]
    table = device.table(batch)
    assert device.memory_used_bytes == 0
    back = pa.RecordBatch._import_from_c_device_capsule(*table.__arrow_c_device_array__())
    assert back.equals(batch)
    for name in ("key", "real"):
        assert back[name].buffers()[1].address == batch[name].buffers()[1].address
    assert back.device_type == pa.DeviceAllocationType.CPU


@on_threads
def test_tensors_cross_without_a_copy(device: Device) -> None:
    keys = np.arange(ROWS) % 7
    weights = np.linspace(0, 1, ROWS, dtype=np.float32)
    table = device.table({"key": keys, "weight": weights, "text": pa.array(keys, pa.int16())})
    assert table.schema.types == [pa.int64(), pa.float32(), pa.int16()]
    seen = np.from_dlpack(table["key"])
    assert seen.ctypes.data == keys.ctypes.data
    assert not seen.flags.writeable
    assert np.array_equal(np.from_dlpack(table["weight"]), weights)


class OldTensor:
    """A producer from before DLPack had versions; counts when it is read and released."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, stream: object = None) -> object:
        return self.values.__dlpack__(stream=stream)


def test_tensors_from_before_versions_are_taken(device: Device) -> None:
    values = np.arange(10)
    table = device.table({"a": OldTensor(values)})
    assert table.to_arrow()["a"].to_pylist() == list(range(10))
    capsule = table["a"].__dlpack__()  # without a version asked for, one from before
    valid = ctypes.pythonapi.PyCapsule_IsValid
    valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    assert valid(capsule, b"dltensor")
    del capsule, table


@on_threads
def test_memory_comes_back_and_outlives_the_dock(dock: xd.Dock) -> None:
    device = dock.device(DEVICE, memory="64MiB")
    host = numbers(3)
    table = device.table(host).sort("key")
    used = device.memory_used_bytes
    assert used >= ROWS * 8
    tensor = np.from_dlpack(table["key"])
    del table
    gc.collect()
    assert 0 < device.memory_used_bytes < used  # one column is still seen
    expected = sorted(host["key"].to_pylist())
    dock.close()
    with pytest.raises(xd.ClosedError):
        dock.device(DEVICE)
    assert tensor.tolist() == expected
    del tensor
    gc.collect()
    assert device.memory_used_bytes == 0
    assert device.memory_held_bytes > 0
    device.trim()
    assert device.memory_held_bytes == 0


@pytest.mark.parametrize("how", ["inner", "left", "right", "semi", "anti"])
@pytest.mark.parametrize(
    "key",
    ["key", "wide", "real", "day", "holes", "money", ("small", "name"), ("flag", "short", "key")],
)
def test_joins_agree_with_the_dock(dock: xd.Dock, device: Device, how: str, key: Any) -> None:
    left, right = numbers(4, 700), numbers(5, 400)
    if key in ("wide", "real"):
        right = right.set_column(3, "wide", left["wide"].slice(0, 400))
        right = right.set_column(4, "real", left["real"].slice(100, 400))
    result = device.table(left).join(device.table(right), key, how).to_arrow()
    expected = dock.from_arrow(left).join(right, on=key, how=how).collect()
    assert result.schema.names == expected.schema.names
    assert result.schema.types == expected.schema.types
    assert rows_of(result) == rows_of(expected)


def test_full_joins_agree_with_the_dock(dock: xd.Dock, device: Device) -> None:
    left = numbers(4, 300)
    right = numbers(5, 200).rename_columns([f"{name}2" for name in left.schema.names])
    on = {"small": "small2", "name": "name2"}
    result = device.table(left).join(device.table(right), on, "full").to_arrow()
    assert rows_of(result) == rows_of(
        dock.from_arrow(left).join(right, on=on, how="full").collect()
    )
    with pytest.raises(xd.OptionError, match="values of both tables"):
        device.table(left).join(device.table(left), "key", "full")


def test_keys_of_different_widths_join(device: Device) -> None:
    left = device.table({"a": np.array([1, -2, 3], np.int8), "x": np.arange(3)})
    right = device.table({"b": np.array([3, -2, 9]), "y": np.arange(3.0)})
    result = left.join(right, on={"a": "b"}).sort("a").to_arrow()
    assert result.to_pydict() == {"a": [-2, 3], "x": [1, 2], "b": [-2, 3], "y": [1.0, 0.0]}


EXACT = {"gaps": {"floats": "exact"}}

AGGREGATES: list[dict[str, xd.Aggregate]] = [
    {
        "n": xd.count(), "total": xd.sum("short"), "low": xd.min("real"), "high": xd.max("float"),
        "top": xd.max("wide"), "from": xd.min("day"),
    },
    {
        "n": xd.count("holes"), "total": xd.sum("holes"), "middle": xd.mean("holes"),
        "low": xd.min("holes"), "names": xd.count("name"), "top": xd.max("gaps"),
        "all": xd.count("key"),
    },
    {
        "sum": xd.sum("gaps", floats="exact"), "middle": xd.mean("gaps", floats="exact"),
        "far": xd.mean("wide"), "flags": xd.sum("flag"), "near": xd.mean("float", floats="exact"),
    },
    {
        "sum": xd.sum("money"), "mean": xd.mean("money"), "low": xd.min("money"),
        "high": xd.max("money"), "first": xd.min("name"), "last": xd.max("name"),
        "no": xd.min("flag"), "yes": xd.max("flag"), "late": xd.max("day"),
    },
    {
        "n": xd.count().where(xd.col("short") > 2), "all": xd.count(),
        "names": xd.count("name").where(xd.col("short") > 2),
        "few": xd.sum("money").where((xd.col("real") < 0.5) & xd.col("flag").is_null()),
        "half": xd.sum("holes").where(xd.col("holes") >= 7), "rest": xd.sum("holes"),
        "low": xd.min("name").where(xd.col("key") == 5), "none": xd.max("real").where(
            xd.col("small") > 300
        ), "mean": xd.mean("gaps", floats="exact").where(xd.col("wide") > 2**62),
    },
]  # fmt: skip


@pytest.mark.parametrize(
    "keys", [["key"], ["wide"], ["float"], ["holes"], ["name"], ["flag", "money"], ["day", "small"]]
)
def test_groups_agree_with_the_dock(dock: xd.Dock, device: Device, keys: list[str]) -> None:
    host = numbers(6)
    for aggregates in AGGREGATES:
        result = device.table(host).group_by(*keys).agg(**aggregates).to_arrow()
        expected = dock.from_arrow(host).group_by(*keys).agg(**aggregates).collect()
        assert result.schema.types == expected.schema.types
        assert rows_of(result) == rows_of(expected)


def test_sums_of_floats_are_exact_without_being_asked(device: Device) -> None:
    table = device.table({"k": np.zeros(4, np.int8), "v": np.array([1e300, 1.0, -1e300, 1e-9])})
    rows = table.group_by("k").agg(s=xd.sum("v"), m=xd.mean("v")).to_arrow().to_pylist()
    assert rows == [{"k": 0, "s": 1.000000001, "m": 1.000000001 / 4}]


def test_sums_are_exact_or_an_error(device: Device) -> None:
    big = np.array([2**63, 2**63 - 1, 5], np.uint64)
    table = device.table({"k": np.array([1, 1, 2]), "v": big, "w": np.full(3, 2**62)})
    result = table.group_by("k").agg(s=xd.sum("v")).sort("k").to_arrow()
    assert result["s"].to_pylist() == [2**64 - 1, 5]
    with pytest.raises(xd.DataError, match="does not fit 64 bits"):
        table.group_by("k").agg(s=xd.sum("w"))


def test_sums_of_decimals_are_exact_or_an_error(device: Device) -> None:
    most, least = Decimal(10**38 - 1), Decimal(1 - 10**38)
    values = pa.array([most, least, Decimal(7), least, most, Decimal(1)], pa.decimal128(38, 0))
    keys = np.array([1, 1, 1, 2, 3, 3])
    table = device.table(pa.table({"k": keys, "v": values}))
    fits = table.filter(xd.col("k") < 3).group_by("k").agg(s=xd.sum("v"), m=xd.min("v")).sort("k")
    assert fits.to_arrow().to_pydict() == {"k": [1, 2], "s": [7, least], "m": [least, least]}
    with pytest.raises(xd.DataError, match="38 digits"):
        table.group_by("k").agg(s=xd.sum("v"))
    many = pa.table({"k": np.zeros(40, np.int8), "v": pa.array([most] * 40, pa.decimal128(38, 0))})
    with pytest.raises(xd.DataError, match="38 digits") as caught:
        device.table(many).group_by("k").agg(s=xd.sum("v"))
    assert caught.value.code == "CD-303"


def test_many_aggregates_are_made_at_once(dock: xd.Dock, device: Device) -> None:
    host = numbers(14)
    asked = {
        f"{aggregate.function} {aggregate.argument}": aggregate
        for column in ("key", "short", "holes", "money", "gaps", "flag")
        for aggregate in (xd.sum(column, **EXACT.get(column, {})), xd.min(column), xd.max(column))
    }
    result = device.table(host).group_by("name", "small").agg(**asked).to_arrow()
    expected = dock.from_arrow(host).group_by("name", "small").agg(**asked).collect()
    assert result.schema.types == expected.schema.types
    assert rows_of(result) == rows_of(expected)


ORDERS: list[tuple[Any, ...]] = [
    ("key", "wide"), (xd.desc("real"),), ("small", xd.desc("float"), "day"),
    (xd.desc("holes", nulls="first"), "wide"), ("holes", xd.desc("wide")),
    ("name", "wide"), (xd.desc("name", nulls="first"), xd.desc("money"), "flag", "gaps"),
    ("flag", "money", xd.desc("name")), (xd.desc("flag"), "small", "short", "day"),
]  # fmt: skip


@pytest.mark.parametrize("orders", ORDERS)
def test_sorts_agree_with_the_dock(dock: xd.Dock, device: Device, orders: tuple[Any, ...]) -> None:
    host = numbers(7)
    for limit, offset in ((3000, 11), (7, 0), (None, 0), (5, ROWS)):
        result = device.table(host).sort(*orders, limit=limit, offset=offset).to_arrow()
        ordered = dock.from_arrow(host).sort(*orders, stable=True, limit=limit, offset=offset)
        assert result.equals(ordered.collect())


def test_strings_are_ordered_to_their_last_byte(dock: xd.Dock, device: Device) -> None:
    long = "the same seven words in front of all "
    words = ["", "a", "a\0", "a\0\0b", "exactly", "exactly7", "exactly 14 now", "é", long, None]
    words += [f"{long}{number % 50}" for number in range(200)]
    host = pa.table({"text": words, "row": range(len(words))})
    for order in ("text", xd.desc("text"), xd.desc("text", nulls="first")):
        result = device.table(host).sort(order).to_arrow()
        assert result.equals(dock.from_arrow(host).sort(order, stable=True).collect())


@on_threads
def test_floats_keep_their_kinds_in_order(device: Device) -> None:
    values = np.array([np.nan, 1.0, -np.inf, 0.0, -1.0, np.inf, -0.5])
    table = device.table({"v": values, "k": np.zeros(7, np.int8)})
    result = np.from_dlpack(table.sort("v")["v"])
    assert np.array_equal(result, np.sort(values), equal_nan=True)
    group = table.group_by("k").agg(low=xd.min("v"), high=xd.max("v")).to_arrow().to_pylist()
    assert group == [{"k": 0, "low": -np.inf, "high": np.inf}]


CONDITIONS = [
    xd.col("key") > 17, xd.col("key").between(-5, 5),
    (xd.col("real") <= 0.25) & (xd.col("small") == 3),
    xd.col("short") <= 3, xd.col("wide") > 1 << 62, xd.col("wide") >= -1, xd.col("wide") < 0,
    xd.col("holes") < 40, xd.col("holes").is_null(), xd.col("holes").is_not_null(),
    xd.col("float") > 1, xd.col("short") > 2**40, xd.col("real") == float("nan"),
]  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS, ids=repr)
def test_filters_agree_with_the_dock(dock: xd.Dock, device: Device, condition: xd.Expr) -> None:
    host = numbers(8)
    expected = dock.from_arrow(host).filter(condition).collect()
    assert device.table(host).filter(condition).to_arrow().equals(expected)


def test_columns_are_selected_and_named_without_a_copy(device: Device) -> None:
    table = device.table(numbers(9))
    used = device.memory_used_bytes
    chosen = table.select("real", number="key")
    assert chosen.columns == ["real", "number"]
    assert device.memory_used_bytes == used
    assert device.table(numbers(9).select(["key"]), names=["other"]).columns == ["other"]


@on_threads
def test_the_budget_is_a_limit(dock: xd.Dock) -> None:
    device = dock.device(DEVICE, memory="4MiB")
    table = device.table({"k": np.arange(1 << 18)})
    with pytest.raises(xd.CapacityError) as caught:
        table.sort("k")
    assert caught.value.code == "CD-201"
    assert device.memory_used_bytes == 0


class Elsewhere:
    """A column in the memory of a device that is not the one it is given to."""

    def __init__(self, place: tuple[int, int]) -> None:
        self.place = place

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError("no test asks for memory that is out of reach")


@pytest.mark.parametrize(
    ("place", "named"), [((2, 1), "CUDA device 1"), ((10, 0), "type 10"), ((13, 0), "CUDA manages")]
)
def test_memory_out_of_reach_is_named(device: Device, place: tuple[int, int], named: str) -> None:
    with pytest.raises(xd.DeviceError, match=named) as caught:
        device.table({"far": Elsewhere(place)})
    assert caught.value.code == "CD-511"


class DeviceArray(ctypes.Structure):
    """The head of an ArrowDeviceArray: the array, and where it lies."""

    _fields_ = [("array", ctypes.c_char * 80), ("device", ctypes.c_int64), ("type", ctypes.c_int32)]


class MovedBatch:
    """A batch that says it lies on another device."""

    def __init__(self, batch: Any, place: int) -> None:
        self.batch, self.place = batch, place

    def __arrow_c_device_array__(self) -> tuple[object, object]:
        schema, array = self.batch.__arrow_c_device_array__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype = ctypes.c_void_p
        pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        result = DeviceArray.from_address(pointer(array, b"arrow_device_array"))
        result.type = self.place
        return schema, array


@on_threads
def test_arrow_out_of_reach_is_named_and_left_alone(device: Device) -> None:
    batch = numbers(10).to_batches()[0]
    with pytest.raises(xd.DeviceError, match="CUDA device"):
        device.table(MovedBatch(batch, 2))
    pinned = device.table(MovedBatch(batch, 3))  # the host's, though CUDA's: copied
    assert device.memory_used_bytes > 0
    assert pa.table(pinned).to_batches()[0].equals(batch)


def test_streams_are_numbered_as_dlpack_does() -> None:
    cuda, host = (2, 0), (1, 0)
    assert [consumer_stream(stream, cuda) for stream in (None, 1, 2, 77, -1)] == [1, 1, 2, 77, 0]
    assert [consumer_stream(stream, host) for stream in (None, -1)] == [0, 0]
    for stream, place in ((0, cuda), (-2, cuda), (1, host)):
        with pytest.raises(BufferError, match="no stream"):
            consumer_stream(stream, place)


def test_what_is_not_taken_is_said(device: Device) -> None:
    table = device.table(numbers(11))
    with pytest.raises(xd.TypeError, match=r"\+l") as caught:
        device.table(pa.table({"t": [["text"]]}))
    assert caught.value.code == "CD-102"
    for data in ({"a": 3}, [1, 2]):
        with pytest.raises(xd.TypeError, match="neither Arrow"):
            device.table(data)
    with pytest.raises(xd.OptionError, match="2 dimensions"):
        device.table({"a": np.zeros((2, 2))})
    with pytest.raises(xd.OptionError, match="apart"):
        device.table({"a": np.zeros(8)[::2]})
    with pytest.raises(xd.OptionError, match="3 rows"):
        device.table({"a": np.zeros(2), "b": np.zeros(3)})
    with pytest.raises(xd.ColumnError, match="two columns"):
        device.table(numbers(11), names=["same"] * 12)
    with pytest.raises(xd.DeviceError, match="NULLs"):
        table["holes"].__dlpack__()
    with pytest.raises(xd.DeviceError, match="cannot be a tensor"):
        table["money"].__dlpack__()
    with pytest.raises(BufferError, match="not copied"):
        table["key"].__dlpack__(copy=True)
    with pytest.raises(xd.ColumnError, match="'kye'"):
        table.sort("kye")
    with pytest.raises(xd.ExpressionError, match="comparisons of a column"):
        table.filter(xd.col("key") + 1 > xd.col("short"))
    with pytest.raises(xd.ExpressionError, match=r"xd\.max of columns"):
        table.group_by("key").agg(m=xd.var("real"))
    for column in ("name", "day"):
        with pytest.raises(xd.TypeError, match="sums and means are of integers"):
            table.group_by("key").agg(m=xd.sum(column))
    with pytest.raises(xd.ExpressionError, match=r"agg\(\) on a device"):
        table.group_by("key").agg(m=xd.count().where(xd.col("name") == "name 3"))
    with pytest.raises(xd.ColumnError, match="'kye'"):
        table.group_by("key").agg(m=xd.count().where(xd.col("kye") == 3))
    with pytest.raises(xd.TypeError, match="compared with a float"):
        table.filter(xd.col("key") > 0.5)
    with pytest.raises(xd.TypeError, match="do not compare"):
        table.join(table, on={"key": "real"})
    with pytest.raises(xd.OptionError, match="same device"):
        table.join(numbers(11), on="key")  # type: ignore[arg-type]
