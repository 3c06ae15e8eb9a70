"""Rows of columns of all types, also of those for which pyarrow has no kernels."""

from __future__ import annotations

import crossdock.values.row_taking
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from crossdock.values.row_taking import Blocks, filter_rows, table_bytes, take, take_rows

RUNS = pc.run_end_encode(pa.array([1, 1, None, 2, 2, 2]))
VIEWS = pa.array(["a", None, "b", "a long text that is no inline view", "", "c"], pa.string_view())
UNION = pa.UnionArray.from_dense(
    pa.array([0, 1, 0, 1, 1, 0], pa.int8()),
    pa.array([0, 0, 1, 1, 2, 2], pa.int32()),
    [pa.array([1, None, 2]), pa.array(["a", "b", "c"])],
)
ARRAYS: dict[str, pa.Array] = {
    "int64": pa.array([1, 2, None, 4, 5, 6]),
    "runs": RUNS,
    "views": VIEWS,
    "binary views": VIEWS.cast(pa.binary_view()),
    "list of views": pa.array(
        [["a"], None, [], ["b", None], ["c"], []], pa.list_(pa.string_view())
    ),
    "fixed list of views": pa.array([["a"], None, ["b"]] * 2, pa.list_(pa.string_view(), 1)),
    "large list of views": pa.array([["a"], None, []] * 2, pa.large_list(pa.string_view())),
    "map of views": pa.array(
        [[("a", "b")], None, []] * 2, pa.map_(pa.string_view(), pa.string_view())
    ),
    "list view of views": pa.array([["a"], None, []] * 2, pa.list_view(pa.string_view())),
    "struct of runs": pa.StructArray.from_arrays(
        [RUNS, VIEWS], ["r", "v"], mask=pa.array([False, True, False, False, False, False])
    ),
    "union": UNION,
    "struct of a union": pa.StructArray.from_arrays([UNION], ["u"]),
    "uuid": pa.array([b"0" * 16, None, b"1" * 16] * 2, pa.uuid()),
    "dictionary": pa.DictionaryArray.from_arrays([0, 1, None, 1, 0, 0], VIEWS.slice(2, 2)),
}
each_array = pytest.mark.parametrize("name", list(ARRAYS))


def picked(values: list[object], positions: list[int | None]) -> list[object]:
    return [None if at is None else values[at] for at in positions]


@each_array
def test_take(name: str) -> None:
    for array in (ARRAYS[name], ARRAYS[name].slice(1, 4)):
        positions = [3, 0, None, 1, 1, 2]
        result = take(array, pa.array(positions, pa.uint64()))
        result.validate(full=True)
        assert result.type == array.type
        assert result.to_pylist() == picked(array.to_pylist(), positions)
        assert take(array, pa.array([], pa.uint64())).type == array.type


@each_array
@pytest.mark.parametrize("block_bytes", [1 << 30, 1])
def test_blocks(name: str, block_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With blocks of one byte every chunk is a block, and every row is taken by itself."""
    monkeypatch.setattr(crossdock.values.row_taking, "_BLOCK_BYTES", block_bytes)
    array = ARRAYS[name]
    column = pa.chunked_array([array.slice(0, 0), array, array.slice(2, 3)], array.type)
    positions = [8, None, 0, 5, 6, 7, 7, None, 2]
    expected = picked(column.to_pylist(), positions)
    blocks = Blocks(column)
    result = blocks.take(pa.array(positions))
    result.validate(full=True)
    assert result.type == array.type
    assert result.to_pylist() == expected
    cut = pa.chunked_array([pa.array(positions[:4]), pa.array(positions[4:])])
    assert blocks.take(cut).to_pylist() == expected


@each_array
def test_blocks_of_no_rows(name: str) -> None:
    column = pa.chunked_array([], ARRAYS[name].type)
    assert Blocks(column).take(pa.chunked_array([], pa.int64())).type == column.type
    if name != "struct of runs":  # pyarrow makes no NULL of it that is valid
        assert Blocks(column).take(pa.array([None], pa.int64())).to_pylist() == [None]


@each_array
def test_filter(name: str) -> None:
    array = ARRAYS[name]
    column = pa.chunked_array([array, array.slice(3)])
    table = pa.table({"a": range(9), "x": column})
    mask = pa.array([True, None, False] * 3)
    result = filter_rows(table, mask)
    assert result.schema == table.schema
    assert result["x"].to_pylist() == picked(column.to_pylist(), [0, 3, 6])
    batch = pa.record_batch({"x": array})
    assert filter_rows(batch, mask.slice(0, 6)).num_rows == 2
    assert take_rows(table, pa.array([4, 1]))["a"].to_pylist() == [4, 1]


def test_bytes_of_a_union_of_no_rows() -> None:
    """As they come out of IPC streams: asked for the bytes of its slices, pyarrow crashes."""
    lists = pa.ListArray.from_arrays([0] * 7, UNION.slice(0, 0))
    table = pa.table({"u": UNION, "l": lists})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_batch(table.to_batches()[0].slice(0, 0))
        writer.write_table(table)
    came = pa.ipc.open_stream(sink.getvalue()).read_all()
    assert came.num_rows == 6
    assert table_bytes(came) >= 6
    assert Blocks(came["u"]).take(pa.array([5, 0])).to_pylist() == [2, 1]
    assert table_bytes(pa.table({"a": [1, 2]})) == 16
