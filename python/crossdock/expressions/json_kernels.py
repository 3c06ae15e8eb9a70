"""The keys of JSON objects as lists, which the engine gives as JSON: it has no columns of lists."""

from __future__ import annotations

import json

import pyarrow as pa

from crossdock.expressions.distinct_values import once_per_value
from crossdock.expressions.native_kernels import computed
from crossdock.values.arrow_kinds import Datum

_KEYS = pa.list_(pa.string())


def json_keys(documents: Datum, path: str) -> Datum:
    """The keys of the object at a path, of which there are none in other values; NULL where nothing
    is. ArrowException for what is no JSON and for paths that are none."""
    written = computed("json_keys", [documents], path)
    if isinstance(written, pa.Scalar):
        text = written.as_py()
        return pa.scalar(None if text is None else json.loads(text), _KEYS)
    return once_per_value(written, _lists)


def _lists(written: pa.Array) -> pa.Array:
    return pa.array([None if t is None else json.loads(t) for t in written.to_pylist()], _KEYS)
