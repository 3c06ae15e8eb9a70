"""`dateformat` and `timestampformat` of read_csv: columns of strings that are dates or timestamps
in a format of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from crossdock.expressions.expression import Column
from crossdock.relation import Relation

_SAMPLED = 2000  # rows that say whether a column has a format
_KINDS: dict[str, tuple[Callable[[pa.DataType], bool], pa.DataType]] = {
    "dateformat": (pa.types.is_date, pa.date32()),
    "timestampformat": (pa.types.is_timestamp, pa.timestamp("us")),
}
FORMATS = frozenset(_KINDS)


def with_times(
    read: Callable[[dict[str, Any]], Relation],
    types: Mapping[str, pa.DataType],
    formats: Mapping[str, str],
) -> Relation:
    """What `read` gives of columns with some types, those that are declared among them. Dates and
    timestamps that are declared have the format, and so have others of which all of the first
    strings have it; ranks, which see other rows, do not look for these. Errors: those of `read`,
    and of formats."""
    times: dict[str, tuple[str, pa.DataType]] = {}
    for option, format in formats.items():
        is_kind, _ = _KINDS[option]
        times |= {name: (format, each) for name, each in types.items() if is_kind(each)}
    relation = read({**types, **dict.fromkeys(times, "string")})
    if relation._dock.over_ranks() is None:
        strings = [field.name for field in relation.schema if pa.types.is_string(field.type)]
        others = [name for name in strings if name not in types]
        times |= _with_format(relation.select(*others), formats) if others else {}
    items = {name: Column(name).strptime(how).cast(kind) for name, (how, kind) in times.items()}
    return relation.with_columns(**items) if items else relation


def _with_format(
    strings: Relation, formats: Mapping[str, str]
) -> dict[str, tuple[str, pa.DataType]]:
    """The columns that have a format, and the type that they have by it."""
    first = strings.limit(_SAMPLED)
    rows, times = first.collect(), dict[str, tuple[str, pa.DataType]]()
    for option, format in formats.items():
        parsed = {name: Column(name).try_strptime(format) for name in strings.columns}
        read = first.select(**parsed).collect()
        for name in parsed:
            nulls = rows[name].null_count
            if nulls < rows.num_rows and read[name].null_count == nulls:
                times.setdefault(name, (format, _KINDS[option][1]))
    return times
