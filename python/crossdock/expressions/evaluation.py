"""Evaluates expressions with pyarrow.compute, and fills the gaps of its kernels.

string_view and binary_view columns (the type Parquet files of other engines often carry, and what
Polars exports) have no comparison or selection kernels in pyarrow; they are cast to string or
binary for the kernel and back for the result, so that the types users see stay as they were.
Everything here is pure and thread-safe.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import CrossdockError, first_line, make_error, system_limits
from crossdock.expressions.arithmetic import (
    arithmetic,
    cast,
    common_type,
    compare,
)
from crossdock.expressions.choices import choose, choose_lazily
from crossdock.expressions.expression import (
    ARITHMETIC,
    COMPARISONS,
    OF_ELEMENTS,
    Call,
    Column,
    Expr,
    Literal,
    conjunction,
    conjuncts,
    may_raise,
)
from crossdock.expressions.function_kernels import (
    OF_STRINGS,
    OF_VALUES,
    are_strings,
    concat,
    decoded,
    extreme,
    power,
)
from crossdock.expressions.json_kernels import json_keys
from crossdock.expressions.list_kernels import OF_LISTS, OF_SEVERAL, of_elements, of_lists
from crossdock.expressions.literals import fit_literal, literal_types, value_set
from crossdock.expressions.map_kernels import OF_MAPS
from crossdock.expressions.native_kernels import CALENDAR_PARTS, COMPUTED, calendar_part, computed
from crossdock.expressions.nested_kernels import OF_NESTED, list_of, struct_of
from crossdock.expressions.row_kernels import ROW_FUNCTIONS, of_rows
from crossdock.values.arrow_kinds import ArrayLike, Datum, Rows
from crossdock.values.engine_types import with_schema
from crossdock.values.row_taking import filter_rows

_OF_VALUE = re.compile(r"Failed to parse|is of a string that is no|not in range|out of bounds")
_NO_KERNEL = re.compile(r"Function '(\w+)' has no kernel matching input types \((.*)\)")
_TYPES_OF_NULLS = (pa.int64(), pa.bool_(), pa.string(), pa.timestamp("us"))


def evaluate(expression: Expr, rows: Rows) -> ArrayLike:
    """The value of `expression` per row of a pyarrow Table or RecordBatch: an Array or
    ChunkedArray of as many rows. ExpressionError when a kernel refuses or a value does not fit."""
    try:
        with system_limits(expression):
            value = _evaluate(expression, rows)
    except (pa.ArrowException, OverflowError) as error:
        raise _refused(expression, rows.schema, error) from None
    except CrossdockError as error:
        raise _inside(expression, error) from None
    if isinstance(value, pa.Scalar):
        count = rows.num_rows  # no rows of a list are more than repeat can make
        return pa.repeat(value, count) if count else pa.nulls(0, value.type)
    return value


def mask_of(predicate: Expr, rows: Rows) -> ArrayLike:
    """`predicate` per row as booleans; ExpressionError when it is of another type."""
    mask = evaluate(predicate, rows)
    if not pa.types.is_boolean(mask.type):
        raise not_boolean(predicate, mask.type)
    return mask


def not_boolean(predicate: Expr, data_type: pa.DataType) -> CrossdockError:
    """The error for a predicate that is not a boolean."""
    return make_error(
        "CD-504",
        f"the predicate {predicate!r} is of type {data_type}, not bool",
        try_="a comparison, such as xd.col('a') > 0",
    )


def keep_rows(rows: Rows, predicate: Expr) -> Rows:
    """The rows of a Table or RecordBatch for which `predicate` is true; the schema stays.

    Parts of a conjunction that can raise see only rows for which the parts before them, and all
    that cannot raise, are true."""
    schema = rows.schema
    kept = without_views(rows)
    parts = conjuncts(predicate)
    safe = conjunction([part for part in parts if not may_raise(part)])
    for part in (safe, *(part for part in parts if may_raise(part))):
        if part is not None:
            kept = filter_rows(kept, mask_of(part, kept))
    return with_schema(kept, schema)


def without_views(rows: Rows) -> Rows:
    """`rows` with view columns as string or binary; `rows` itself when it has none."""
    return with_schema(rows, plain_schema(rows.schema))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """`schema` with string_view as string and binary_view as binary."""
    if not any(plain_type(field.type) is not field.type for field in schema):
        return schema
    return pa.schema([field.with_type(plain_type(field.type)) for field in schema])


def _evaluate(expression: Expr, rows: Rows) -> Datum:
    if isinstance(expression, Column):
        return _plain(rows.column(expression.name))
    if isinstance(expression, Literal):
        return fit_literal(expression.value, pa.null())
    assert isinstance(expression, Call)
    lazy = expression.function in ("case", "coalesce")
    if lazy and expression.columns() and any(map(may_raise, expression.arguments[1:])):
        needed = without_views(rows.select(sorted(expression.columns())))
        return choose_lazily(expression, needed, _evaluate)
    arguments = _evaluated(expression, rows)
    try:
        with system_limits(expression):
            return _of_any(expression, arguments)
    except (pa.ArrowException, OverflowError) as error:
        raise _refused(expression, rows.schema, error) from None


def _evaluated(expression: Call, rows: Rows) -> list[Datum]:
    """The values of the arguments; literals take the type that fits those they stand beside."""
    values = [
        None if isinstance(argument, Literal) else _for_kernels(_evaluate(argument, rows))
        for argument in expression.arguments
    ]
    beside = literal_types(expression, [None if v is None else v.type for v in values])
    return [
        fit_literal(argument.value, target) if isinstance(argument, Literal) else value
        for argument, value, target in zip(expression.arguments, values, beside, strict=True)
    ]


def _for_kernels(values: Datum) -> Datum:
    """Run-end encoded values decoded, UUIDs as their bytes, and short decimals as longer ones."""
    data_type = values.type
    if pa.types.is_run_end_encoded(data_type):
        return pc.run_end_decode(values)
    if pa.types.is_decimal32(data_type) or pa.types.is_decimal64(data_type):
        return values.cast(pa.decimal128(data_type.precision, data_type.scale))
    return values.cast(data_type.storage_type) if data_type == pa.uuid() else values


def _of_any(expression: Call, values: list[Datum]) -> Datum:
    """The function of `expression`. NULLs of type null are of a type that it takes, if there is
    one: a column without values should not be refused for its type."""
    try:
        return _applied(expression, values)
    except pa.ArrowNotImplementedError:
        if not any(pa.types.is_null(value.type) for value in values):
            raise
        for data_type in _TYPES_OF_NULLS:
            typed = [v.cast(data_type) if pa.types.is_null(v.type) else v for v in values]
            with contextlib.suppress(pa.ArrowNotImplementedError):
                return _applied(expression, typed)
        raise


def _applied(expression: Call, values: list[Datum]) -> Datum:
    """The function of `expression`, of the values of its arguments."""
    function, option = expression.function, expression.option
    if function in COMPARISONS:
        return compare(function, *values)
    if function == "add" and are_strings([value.type for value in values]):
        return concat(values)
    if function in ARITHMETIC:
        return arithmetic(function, *values)
    if function == "case":
        return choose(values)
    if function == "coalesce":
        both = common_type([value.type for value in values])
        return pc.coalesce(*(cast(value, both) for value in values))
    if function == "is_in":
        return _is_in(values[0], option)
    if function == "concat":
        return concat(values)
    if function == "power":
        return power(*values)
    if function in ("greatest", "least"):
        return extreme(function, values)
    if function in COMPUTED or (function in OF_STRINGS and len(values) > 1):
        return computed(function, [decoded(value) for value in values], option)
    if function in OF_STRINGS:
        return OF_STRINGS[function](decoded(values[0]), option)
    if function in CALENDAR_PARTS:
        return calendar_part(function, values[0])
    if function == "list_of":
        both = common_type([value.type for value in values])
        return list_of([cast(decoded(value), both) for value in values], both)
    if function == "struct_of":
        return struct_of(list(map(decoded, values)), option)
    if function in ROW_FUNCTIONS:
        return of_rows(function, [decoded(value) for value in values])
    if function == "json_keys":
        return json_keys(decoded(values[0]), option)
    if function in OF_ELEMENTS:
        evaluated = mask_of if function == "list_filter" else evaluate
        return of_elements(function, values, lambda elements: evaluated(option, elements))
    if function in OF_LISTS:
        return of_lists(function, values[0], option)
    if function in OF_SEVERAL:
        return OF_SEVERAL[function](values, option)
    if function in OF_MAPS:
        return OF_MAPS[function](values, option)
    if function in OF_NESTED:
        return OF_NESTED[function](values[0], option)
    if function in OF_VALUES:
        return OF_VALUES[function](values[0], option)
    return pc.call_function(function, values)


def _is_in(subject: Datum, values: tuple[Any, ...]) -> Datum:
    listed = value_set(values, subject.type)
    is_member = pc.is_in(subject, value_set=listed)
    if pa.types.is_floating(subject.type) and pc.any(pc.is_nan(listed)).as_py():
        is_member = pc.or_(is_member, pc.is_nan(subject))  # there are many, of which lists have one
    return pc.if_else(pc.is_valid(subject), is_member, pa.scalar(None, pa.bool_()))


def _plain(column: ArrayLike) -> ArrayLike:
    data_type = column.type
    plain = plain_type(data_type)
    return column if plain is data_type else column.cast(plain)


def plain_type(data_type: pa.DataType) -> pa.DataType:
    """The type that values of `data_type` have in kernels: string for string_view, and so on."""
    if data_type == pa.string_view():
        return pa.string()
    if data_type == pa.binary_view():
        return pa.binary()
    if pa.types.is_dictionary(data_type):
        values = plain_type(data_type.value_type)
        if values is not data_type.value_type:
            return pa.dictionary(data_type.index_type, values, data_type.ordered)
    return data_type


def _refused(expression: Expr, schema: pa.Schema, error: Exception) -> CrossdockError:
    names = [name for name in schema.names if name in expression.columns()]
    types = ", ".join(f"{name}: {schema.field(name).type}" for name in names)
    reason = first_line(error)
    if (unlike := _NO_KERNEL.fullmatch(reason)) is not None:
        reason = f"no {unlike[1]} of {unlike[2].replace(', ', ' and ')}"
    is_of_value = _OF_VALUE.search(reason) is not None
    of_types = "xd.col(...).cast(...) on one side of the operator" if types else ""
    return make_error(
        "CD-504",
        f"{expression!r} cannot be evaluated: {reason}",
        columns=types,
        try_="try_cast, which is NULL there" if is_of_value else of_types,
    )


def _inside(expression: Expr, error: CrossdockError) -> CrossdockError:
    """The error of a part of `expression`, with the whole beside it."""
    whole = repr(expression)
    if error.code != "CD-504" or whole in error.text:
        return error
    first, *rest = error.text.splitlines()
    error.text = "\n".join([first, f"  in       {whole}", *rest])
    error.args = (error.code, error.text)
    return error
