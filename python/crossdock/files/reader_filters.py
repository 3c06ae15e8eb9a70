"""Which filters the readers of files are given: the rule, and their form for pyarrow.dataset.

A reader evaluates a filter with Arrow's kernels, but first with the statistics of a row group
alone: it skips the group, or takes all of it unseen. Statistics leave NaN out, tell -0.0 from 0.0
in lists, and are compared in the type of the file. So a reader is given only what is known to mean
there, for every value, what evaluation.py makes of it:

    exact       tests of columns of the types in `_is_exact_type`, against literals that are
                values of the very same type, and what & | ~ make of them
    a superset  == < <= > >= of a float column and a literal: NaN passes none of them, so groups
                that are skipped have no row of the result; is_in of one, as a range
    nothing     all else: unlike types and units, other tests of floats, parts of dates
                (their years have 16 bits in Arrow)

What is not exact is evaluated again, by evaluation.py, on the rows that come.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.evaluation import plain_schema, plain_type
from crossdock.expressions.expression import (
    COMPARISONS,
    Call,
    Column,
    Expr,
    Literal,
)
from crossdock.expressions.function_kernels import OF_STRINGS
from crossdock.expressions.functions import DATE_PARTS, TEXT_CHANGES, TEXT_TESTS
from crossdock.expressions.literals import fit_literal, value_set
from crossdock.expressions.native_kernels import CALENDAR_PARTS

_COMBINED = frozenset(("and_kleene", "or_kleene"))
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "and_kleene": operator.and_,
    "or_kleene": operator.or_,
    "invert": operator.invert,
    "is_null": lambda part: part.is_null(),
    "is_valid": lambda part: part.is_valid(),
    "coalesce": pc.coalesce,
    "weekday": pc.day_of_week,
    **{part: getattr(pc, part) for part in DATE_PARTS - {"weekday"}},
}


def split_filter(
    parts: Sequence[Expr], schema: pa.Schema
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """(conditions that the reader of files of `schema` is given, those of `parts` that must be
    evaluated on the rows that come)."""
    plain = plain_schema(schema)
    given: list[Expr] = []
    rest: list[Expr] = []
    for part in parts:
        part_given = _given(part, plain)
        if part_given is not None:
            given.append(part_given)
        if part_given is None or not _is_exact(part, plain):
            rest.append(part)
    return tuple(given), tuple(rest)


def to_pyarrow(
    condition: Expr, schema: pa.Schema, paths: Mapping[str, tuple[str, ...]] | None = None
) -> pc.Expression:
    """A condition that split_filter gave, as a filter of a dataset that is read with
    plain_schema(schema), where `schema` is that of its files. paths: where columns are that are
    fields of structs."""
    return _Form(schema, paths or {}).condition(condition)


def _given(part: Expr, schema: pa.Schema) -> Expr | None:
    """`part`, or a condition that holds for at least its rows; None: the reader can do nothing."""
    if _is_exact(part, schema):
        return part
    if not isinstance(part, Call):
        return None
    if part.function in _COMBINED:
        left, right = (_given(side, schema) for side in part.arguments)
        if left is not None and right is not None:
            return Call(part.function, (left, right))
        one = right if left is None else left
        return one if part.function == "and_kleene" else None
    subject = part.arguments[0]
    if part.function == "is_in" and isinstance(subject, Column):
        return _range(part, schema.field(subject.name).type)
    return part if _is_float_bound(part, schema) else None


def _range(part: Call, data_type: pa.DataType) -> Expr | None:
    """The range of a list of floats."""
    if not _is_float(data_type):
        return None
    values = value_set(part.option, data_type).to_pylist()
    if not values or any(map(math.isnan, values)):
        return None
    subject = part.arguments[0]
    return Call("and_kleene", (subject >= min(values), subject <= max(values)))


def _is_float_bound(part: Call, schema: pa.Schema) -> bool:
    if part.function not in COMPARISONS - {"not_equal"}:
        return False
    for this, other in (part.arguments, part.arguments[::-1]):
        if isinstance(this, Column) and isinstance(other, Literal):
            data_type = schema.field(this.name).type
            bound = literal_of(other, data_type) if _is_float(data_type) else None
            return bound is not None and bound.is_valid and not math.isnan(bound.as_py())
    return False


def _is_exact(test: Expr, schema: pa.Schema) -> bool:
    """Whether the reader's answer is that of evaluation.py, NULL included, for every value."""
    if not isinstance(test, Call):
        return False
    function, arguments = test.function, test.arguments
    if function in _COMBINED or function == "invert":
        return all(_value_type(argument, schema) == pa.bool_() for argument in arguments)
    if function in ("is_null", "is_valid"):
        (subject,) = arguments
        if isinstance(subject, Column):
            data_type = schema.field(subject.name).type
            # Statistics of extension types are compared by kernels that are not there.
            return not (
                pa.types.is_nested(data_type) or isinstance(data_type, pa.BaseExtensionType)
            )
        return _value_type(subject, schema) is not None
    if function in COMPARISONS:
        return _common_type(arguments, schema) is not None
    if function == "is_in":
        return _value_type(arguments[0], schema) is not None
    return function in TEXT_TESTS and _is_text(_value_type(arguments[0], schema))


def _value_type(value: Expr, schema: pa.Schema) -> pa.DataType | None:
    """The type of a value that is the same in the reader; None for one that may not be."""
    if isinstance(value, Column):
        data_type = schema.field(value.name).type
        if pa.types.is_dictionary(data_type) and _is_text(data_type.value_type):
            return data_type.value_type
        return data_type if _is_exact_type(data_type) else None
    if not isinstance(value, Call):
        return None
    function, arguments = value.function, value.arguments
    if function == "coalesce":
        plain = all(not _is_dictionary(argument, schema) for argument in arguments)
        return _common_type(arguments, schema) if plain else None
    if function in DATE_PARTS:
        data_type = _value_type(arguments[0], schema)
        if data_type is None or (function in CALENDAR_PARTS and not _has_near_years(data_type)):
            return None
        return pa.int64()
    if function in TEXT_CHANGES or function == "length":
        data_type = _value_type(arguments[0], schema)
        if not _is_text(data_type):
            return None
        return pa.int64() if function == "length" else data_type
    return pa.bool_() if _is_exact(value, schema) else None


def _common_type(values: Sequence[Expr], schema: pa.Schema) -> pa.DataType | None:
    """The one type of all `values`, of which literals are values too; None if there is none."""
    types = [_value_type(v, schema) for v in values if not isinstance(v, Literal)]
    if not types or None in types or any(data_type != types[0] for data_type in types):
        return None
    literals = [literal_of(value, types[0]) for value in values if isinstance(value, Literal)]
    return None if None in literals else types[0]


def literal_of(literal: Literal, data_type: pa.DataType) -> pa.Scalar:
    """The literal as a Scalar of `data_type`; None where it is no value of this type."""
    scalar = fit_literal(literal.value, data_type)
    if scalar.type == data_type:
        return scalar
    if not scalar.is_valid:
        return pa.scalar(None, data_type)
    if _kind(scalar.type) != _kind(data_type):
        return None
    try:
        cast_scalar = scalar.cast(data_type)
        return cast_scalar if cast_scalar.cast(scalar.type).equals(scalar) else None
    except pa.ArrowException:
        return None


def _kind(data_type: pa.DataType) -> str:
    """Literals stand for values of their own kind only."""
    if pa.types.is_timestamp(data_type):
        return "local time" if data_type.tz is None else "instant"
    if pa.types.is_date(data_type):
        return "local time"  # a date is its midnight
    if pa.types.is_integer(data_type) or pa.types.is_decimal(data_type):
        return "number"
    if _is_text(data_type):
        return "text"
    return "bytes" if _is_binary(data_type) else str(data_type.id)


def _is_exact_type(data_type: pa.DataType) -> bool:
    """Types whose values have one order, in statistics as in kernels."""
    kinds = (
        pa.types.is_boolean,
        pa.types.is_integer,
        pa.types.is_decimal128,
        pa.types.is_date32,
        pa.types.is_time,
        pa.types.is_timestamp,
        pa.types.is_duration,
        _is_text,
        _is_binary,
    )
    return any(is_kind(data_type) for is_kind in kinds)


def _has_near_years(data_type: pa.DataType) -> bool:
    """pyarrow's years have 16 bits; only nanoseconds keep within."""
    return bool(pa.types.is_timestamp(data_type)) and data_type.unit == "ns"


def _is_dictionary(value: Expr, schema: pa.Schema) -> bool:
    return isinstance(value, Column) and pa.types.is_dictionary(schema.field(value.name).type)


def _is_float(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_float32(data_type) or pa.types.is_float64(data_type))


def _is_text(data_type: pa.DataType) -> bool:
    return data_type in (pa.string(), pa.large_string())


def _is_binary(data_type: pa.DataType) -> bool:
    return data_type in (pa.binary(), pa.large_binary())


class _Form:
    """Writes conditions and values as pyarrow expressions."""

    def __init__(self, schema: pa.Schema, paths: Mapping[str, tuple[str, ...]]) -> None:
        self._schema = plain_schema(schema)
        self._views = frozenset(f.name for f in schema if plain_type(f.type) is not f.type)
        self._paths = paths

    def condition(self, test: Expr) -> pc.Expression:
        """A condition of which only the true rows count. is_in has a form without NULL, by which
        alone the readers skip row groups."""
        if not isinstance(test, Call):
            return self._value(test)
        if test.function in _COMBINED:
            return _FUNCTIONS[test.function](*map(self.condition, test.arguments))
        if test.function == "is_in":
            return self._is_in(test)
        return self._value(test)

    def _value(self, value: Expr) -> pc.Expression:
        if isinstance(value, Column):
            field = pc.field(*self._paths.get(value.name, (value.name,)))
            # The readers would compare a plain literal with statistics of the view type, for which
            # there is no kernel; they look for statistics of bare fields only.
            return pc.coalesce(field) if value.name in self._views else field
        assert isinstance(value, Call)
        if value.function == "is_in":
            null = pc.scalar(pa.scalar(None, pa.bool_()))
            return pc.if_else(self._value(value.arguments[0]).is_valid(), self._is_in(value), null)
        if value.function in OF_STRINGS:
            subject = self._value(value.arguments[0])
            if _is_dictionary(value.arguments[0], self._schema):
                subject = subject.cast(_value_type(value.arguments[0], self._schema))
            if value.function == "length":
                return pc.utf8_length(subject).cast(pa.int64())
            return OF_STRINGS[value.function](subject, value.option)
        return _FUNCTIONS[value.function](*self._arguments(value))

    def _is_in(self, test: Call) -> pc.Expression:
        data_type = _value_type(test.arguments[0], self._schema)
        return self._value(test.arguments[0]).isin(value_set(test.option, data_type))

    def _arguments(self, call: Call) -> list[pc.Expression]:
        """The arguments, literals in the type of the others."""
        types = [self._type(v) for v in call.arguments if not isinstance(v, Literal)]
        return [
            pc.scalar(literal_of(value, types[0]))
            if isinstance(value, Literal)
            else self._value(value)
            for value in call.arguments
        ]

    def _type(self, value: Expr) -> pa.DataType:
        if isinstance(value, Column) and _is_float(self._schema.field(value.name).type):
            return self._schema.field(value.name).type
        return _value_type(value, self._schema)
