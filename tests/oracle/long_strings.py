"""Strings of 64 KB that differ in their last byte, or in their number of zero bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

LONG = 65_536
LONG_STRINGS = [
    "x" * LONG,
    "x" * (LONG - 1) + "y",
    "x" * (LONG - 1) + "\0",
    "x" * (LONG - 1),
    "\0" * LONG,
    "\0" * (LONG - 1),
    "",
    "\0",
    None,
]
TEXT_TYPES = [
    pa.utf8(),
    pa.large_utf8(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int32(), pa.utf8()),
]


def long_strings(kind: pa.DataType, numbers: np.ndarray) -> pa.Array:
    strings = pa.array(LONG_STRINGS).take(pa.array(numbers))
    if pa.types.is_dictionary(kind):
        return strings.dictionary_encode()
    return strings.cast(pa.binary()).cast(kind) if kind == pa.binary_view() else strings.cast(kind)
