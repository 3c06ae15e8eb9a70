"""Functions of a row that DataFusion does not know by name: it binds them by their types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from crossdock.expressions.list_kernels import LIST_FOLDS
from crossdock.expressions.row_kernels import ROW_FUNCTIONS

if TYPE_CHECKING:
    from types import ModuleType

    from datafusion import ScalarUDF

_STRING, _NUMBER, _REAL, _INSTANT = pa.string(), pa.int64(), pa.float64(), pa.timestamp("us")
INSTANT = "Timestamp(Microsecond, None)"  # as DataFusion writes this type


@dataclass(frozen=True)
class Added:
    """The types of a function's arguments and result, and how the last arguments are written where
    a text leaves them out."""

    arguments: tuple[pa.DataType, ...]
    result: pa.DataType
    defaults: tuple[str, ...] = ()


_NUMBERS = pa.list_(pa.float64())
ADDED = {
    **{f"list_{name}": Added((_NUMBERS,), pa.float64()) for name in LIST_FOLDS},
    "regexp_full_match": Added((_STRING, _STRING, _STRING), pa.bool_(), ("''",)),
    "regexp_extract": Added((_STRING, _STRING, _NUMBER, _STRING), _STRING, ("0", "''")),
    "regexp_extract_all": Added(
        (_STRING, _STRING, _NUMBER, _STRING), pa.list_(_STRING), ("0", "''")
    ),
    "string_split_regex": Added((_STRING, _STRING, _STRING), pa.list_(_STRING), ("''",)),
    "string_split": Added((_STRING, _STRING), pa.list_(_STRING)),
    "hex": Added((_NUMBER,), _STRING),
    "strftime": Added((_INSTANT, _STRING), _STRING),
    "strptime": Added((_STRING, _STRING), _INSTANT),
    "try_strptime": Added((_STRING, _STRING), _INSTANT),
    "dayname": Added((_INSTANT,), _STRING),
    "monthname": Added((_INSTANT,), _STRING),
    "last_day": Added((_INSTANT,), pa.date32()),
    "json_extract": Added((_STRING, _STRING), _STRING),
    "json_extract_string": Added((_STRING, _STRING), _STRING),
    "json_array_length": Added((_STRING, _STRING), _NUMBER, ("'$'",)),
    "json_type": Added((_STRING, _STRING), _STRING, ("'$'",)),
    "json_keys": Added((_STRING, _STRING), pa.list_(_STRING), ("'$'",)),
    "json_exists": Added((_STRING, _STRING), pa.bool_()),
    "json_valid": Added((_STRING,), pa.bool_()),
    "date_diff": Added((_STRING, _INSTANT, _INSTANT), _NUMBER),
    "date_sub": Added((_STRING, _INSTANT, _INSTANT), _NUMBER),
    **{name: Added((_STRING,), _STRING) for name in ("md5", "sha1", "sha256", "url_encode")},
    "translate": Added((_STRING, _STRING, _STRING), _STRING),
    "even": Added((_REAL,), _REAL),
    "levenshtein": Added((_STRING, _STRING), _NUMBER),
    "hamming": Added((_STRING, _STRING), _NUMBER),
    "jaccard": Added((_STRING, _STRING), _REAL),
    "jaro_similarity": Added((_STRING, _STRING), _REAL),
    "jaro_winkler_similarity": Added((_STRING, _STRING), _REAL),
    **{name: Added(of, result) for name, (_, of, result) in ROW_FUNCTIONS.items()},
}


def missing_arguments(name: str, count: int) -> Sequence[str]:
    """What a call of `count` arguments leaves out."""
    left_out = len(ADDED[name].arguments) - count
    return ADDED[name].defaults[-left_out:] if left_out > 0 else ()


def instants_of(name: str) -> list[bool]:
    """Of each argument whether it is a date or a timestamp, of whatever unit."""
    return [argument == _INSTANT for argument in ADDED[name].arguments]


def added_functions(library: ModuleType) -> list[ScalarUDF]:
    """The functions for a context of the library."""
    return _functions(library)


def never_run(*_: object) -> pa.Array:
    """What DataFusion would run, were it to run queries."""
    raise AssertionError("DataFusion binds queries here, and runs none")


@cache
def _functions(library: ModuleType) -> list[ScalarUDF]:
    return [
        library.udf(never_run, list(added.arguments), added.result, "immutable", name=name)
        for name, added in ADDED.items()
    ]
