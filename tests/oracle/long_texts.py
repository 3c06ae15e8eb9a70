"""Texts of 64 KB that differ in their last byte, or in their number of zero bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

LONG = 65_536
LONG_TEXTS = [
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


def long_texts(kind: pa.DataType, numbers: np.ndarray) -> pa.Array:
    texts = pa.array(LONG_TEXTS).take(pa.array(numbers))
    if pa.types.is_dictionary(kind):
        return texts.dictionary_encode()
    return texts.cast(pa.binary()).cast(kind) if kind == pa.binary_view() else texts.cast(kind)
