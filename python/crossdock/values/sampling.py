"""Random rows of a stream of batches, reproducible from a seed however the stream is cut.

Row number p of the stream gets the random number p % 65536 of block p // 65536, whose generator
starts from the seed and the block's number. Bernoulli sampling keeps the rows whose number is below
the fraction; n rows are those with the n smallest numbers, which is a uniform draw without
replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crossdock.values.row_taking import filter_rows, take_rows
from crossdock.values.streaming import limited_batches

_BLOCK_ROWS = 1 << 16
_SEEDS = 1 << 63
# An odd number without pattern: consecutive seeds and blocks must not give the same generator.
_STEP = 0x9E3779B97F4A7C15
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_DIGITS = [i for i in range(36) if i not in (8, 13, 18, 23)]


def sample_fraction(
    batches: Iterable[pa.RecordBatch], fraction: float, seed: int
) -> Iterator[pa.RecordBatch]:
    """Each row with probability `fraction`, in the order of the stream, in bounded memory."""
    for batch, numbers in _numbered(batches, seed):
        kept = filter_rows(batch, pc.less(numbers, fraction))
        if kept.num_rows:
            yield kept


def sample_rows(
    batches: Iterable[pa.RecordBatch], rows: int, seed: int
) -> Iterator[pa.RecordBatch]:
    """`rows` rows (all, if there are no more), in the order of the stream. Holds at most twice as
    many, and a block."""
    held: list[pa.RecordBatch] = []
    numbers: list[pa.Array] = []
    held_rows = 0
    for batch, drawn in _numbered(batches, seed):
        held.append(batch)
        numbers.append(drawn)
        held_rows += batch.num_rows
        if held_rows >= 2 * rows + _BLOCK_ROWS:
            held, numbers = _smallest(held, numbers, rows)
            held_rows = sum(batch.num_rows for batch in held)
    held, _ = _smallest(held, numbers, rows)
    yield from held


def with_random(
    batches: Iterable[pa.RecordBatch], items: Iterable[tuple[str, str, int]], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The batches with a column behind theirs for each name, kind and seed; in bounded memory."""
    draws = {"number": _numbers, "uuid": _uuids}
    for name, kind, seed in items:
        batches = _with_column(batches, name, seed, draws[kind])
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _with_column(
    batches: Iterable[pa.RecordBatch], name: str, seed: int, draw: Callable[[int], pa.Array]
) -> Iterator[pa.RecordBatch]:
    for batch, values in _numbered(batches, seed, draw):
        yield batch.append_column(name, values)


def _numbers(start: int) -> pa.Array:
    """A block of numbers from [0, 1)."""
    return pc.random(_BLOCK_ROWS, initializer=start)


def _uuids(start: int) -> pa.Array:
    """A block of UUIDs of version 4 (RFC 9562)."""
    drawn = np.random.Generator(np.random.PCG64(start)).bytes(16 * _BLOCK_ROWS)
    octets = np.frombuffer(drawn, np.uint8).reshape(_BLOCK_ROWS, 16).copy()
    octets[:, 6] = octets[:, 6] & 0x0F | 0x40
    octets[:, 8] = octets[:, 8] & 0x3F | 0x80
    letters = np.full((_BLOCK_ROWS, 36), ord("-"), np.uint8)
    letters[:, _UUID_DIGITS] = _HEX[np.stack([octets >> 4, octets & 15], axis=2)].reshape(-1, 32)
    offsets = np.arange(0, 36 * (_BLOCK_ROWS + 1), 36, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    return pa.Array.from_buffers(pa.string(), _BLOCK_ROWS, buffers)


def _numbered(
    batches: Iterable[pa.RecordBatch], seed: int, draw: Callable[[int], pa.Array] = _numbers
) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Pieces of the batches, with a random value for each row, by default a number from [0, 1)."""
    position = 0
    block, numbers = -1, None
    for batch in batches:
        begin = 0
        while begin < batch.num_rows:
            at = position % _BLOCK_ROWS
            if position // _BLOCK_ROWS != block:
                block = position // _BLOCK_ROWS
                start = (seed * _STEP + (block + 1) * (_STEP >> 7 | 1)) % _SEEDS
                numbers = draw(start)
            rows = min(batch.num_rows - begin, _BLOCK_ROWS - at)
            assert numbers is not None
            yield batch.slice(begin, rows), numbers.slice(at, rows)
            begin += rows
            position += rows


def _smallest(
    held: list[pa.RecordBatch], numbers: list[pa.Array], rows: int
) -> tuple[list[pa.RecordBatch], list[pa.Array]]:
    """The `rows` rows with the smallest numbers, as one batch in the order they came."""
    if not held:
        return held, numbers
    every = pa.concat_arrays(numbers)
    if len(every) <= rows:
        return held, numbers
    drawn = pc.array_sort_indices(every).slice(0, rows)
    places = drawn.take(pc.array_sort_indices(drawn))
    if not held[0].num_columns:  # whose rows are all the same, and which tables do not count
        return list(limited_batches(iter(held), rows, 0)), [every.take(places)]
    return take_rows(pa.Table.from_batches(held), places).to_batches(), [every.take(places)]
