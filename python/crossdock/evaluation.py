"""Evaluates expressions with pyarrow.compute, and fills the gaps of its kernels.

string_view and binary_view columns (the type Parquet files of other engines often carry, and what
Polars exports) have no comparison or selection kernels in pyarrow; they are cast to string or
binary for the kernel and back for the result, so that the types users see stay as they were.
Everything here is pure and thread-safe.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import CrossdockError, make_error
from crossdock.expressions import COMPARISONS, Call, Column, Expr, Literal

_OPERATORS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "and_kleene": operator.and_,
    "or_kleene": operator.or_,
}
_CHECKED = {
    "add": pc.add_checked,
    "subtract": pc.subtract_checked,
    "multiply": pc.multiply_checked,
    "negate": pc.negate_checked,
}


def evaluate(expression: Expr, rows: Any) -> Any:
    """The value of `expression` per row of a pyarrow Table or RecordBatch: an Array or
    ChunkedArray of as many rows. ExpressionError when a kernel refuses or a value does not fit."""
    try:
        value = _evaluate(expression, rows)
    except pa.ArrowException as error:
        raise _refused(expression, rows.schema, error) from None
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, rows.num_rows)
    return value


def result_type(expression: Expr, schema: Any) -> Any:
    """The Arrow type `expression` has over `schema`; ExpressionError when it has none."""
    return evaluate(expression, schema.empty_table()).type


def mask_of(predicate: Expr, rows: Any) -> Any:
    """`predicate` per row as booleans; ExpressionError when it is of another type."""
    mask = evaluate(predicate, rows)
    if not pa.types.is_boolean(mask.type):
        raise not_boolean(predicate, mask.type)
    return mask


def not_boolean(predicate: Expr, found: Any) -> CrossdockError:
    """The error for a predicate that is not a boolean."""
    return make_error(
        "CD-504",
        f"the predicate {predicate!r} is of type {found}, not bool",
        try_="a comparison, such as xd.col('a') > 0",
    )


def keep_rows(rows: Any, predicate: Expr) -> Any:
    """The rows of a Table or RecordBatch for which `predicate` is true; the schema stays."""
    schema = rows.schema
    kept = without_views(rows).filter(mask_of(predicate, rows))
    return kept if kept.schema == schema else kept.cast(schema)


def without_views(rows: Any) -> Any:
    """`rows` with view columns as string or binary; `rows` itself when it has none."""
    schema = rows.schema
    plain = plain_schema(schema)
    return rows if plain is schema else rows.cast(plain)


def plain_schema(schema: Any) -> Any:
    """`schema` with string_view as string and binary_view as binary."""
    if not any(_plain_type(field.type) is not field.type for field in schema):
        return schema
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema])


def to_pyarrow(expression: Expr, schema: Any) -> Any:
    """A simple expression (expressions.is_simple) as a filter for a dataset that is read with
    plain_schema(schema), where `schema` is that of its files."""
    views = frozenset(f.name for f in schema if _plain_type(f.type) is not f.type)
    return _to_pyarrow(expression, plain_schema(schema), views, exact=False)


def _to_pyarrow(expression: Expr, schema: Any, views: frozenset[str], exact: bool) -> Any:
    """`exact`: is_in of NULL must be NULL, not just something that is not true; readers skip row
    groups only by the form that is not exact."""
    if isinstance(expression, Column):
        field = pc.field(expression.name)
        # The readers would compare a plain literal with statistics of the view type, for which
        # there is no kernel; they look for statistics of bare fields only.
        return pc.coalesce(field) if expression.name in views else field
    if isinstance(expression, Literal):
        return pc.scalar(expression.value)
    assert isinstance(expression, Call)
    function = expression.function
    exact = exact or function == "invert"
    arguments = _coerced(expression, schema)
    left, *rest = (_to_pyarrow(part, schema, views, exact) for part in arguments)
    if function == "is_in":
        subject = expression.arguments[0]
        found = left.isin(_value_set(expression.option, result_type(subject, schema)))
        null = pc.scalar(pa.scalar(None, pa.bool_()))
        return pc.if_else(left.is_valid(), found, null) if exact else found
    if function == "invert":
        return ~left
    if function == "is_null":
        return left.is_null()
    if function == "is_valid":
        return left.is_valid()
    return _OPERATORS[function](left, rest[0])


def _evaluate(expression: Expr, rows: Any) -> Any:
    if isinstance(expression, Column):
        return _plain(rows.column(expression.name))
    if isinstance(expression, Literal):
        return _scalar(expression.value)
    assert isinstance(expression, Call)
    arguments = [_evaluate(argument, rows) for argument in _coerced(expression, rows.schema)]
    function = expression.function
    if function == "is_in":
        return _is_in(arguments[0], expression.option)
    if function == "cast":
        return pc.cast(arguments[0], expression.option)
    if function == "divide":
        return _divide(*arguments)
    if function in _CHECKED:
        return _CHECKED[function](*arguments)
    return pc.call_function(function, arguments)


def _coerced(expression: Call, schema: Any) -> tuple[Expr, ...]:
    """The arguments, with a literal that is compared read as what it is compared with: text as a
    date or time, an integer as a decimal."""
    if expression.function not in COMPARISONS or len(expression.arguments) != 2:
        return expression.arguments
    left, right = expression.arguments
    return (_as_type_of(left, right, schema), _as_type_of(right, left, schema))


def _as_type_of(literal: Expr, other: Expr, schema: Any) -> Expr:
    if not isinstance(literal, Literal) or isinstance(other, Literal):
        return literal
    value = literal.value
    if not isinstance(value, str | int) or isinstance(value, bool):
        return literal
    if isinstance(other, Column):
        wanted = schema.field(other.name).type
    else:
        wanted = result_type(other, schema)
    if isinstance(value, str) and pa.types.is_temporal(wanted):
        return Literal(pa.scalar(value).cast(wanted))
    if isinstance(value, int) and pa.types.is_decimal(wanted):
        # As an int64 it would count as 19 digits, which do not fit beside those of the column.
        return Literal(pa.scalar(Decimal(value)))
    return literal


def _is_in(subject: Any, values: tuple[Any, ...]) -> Any:
    if isinstance(subject, pa.Scalar):
        subject = pa.array([subject.as_py()], subject.type)
    found = pc.is_in(subject, value_set=_value_set(values, subject.type))
    return pc.if_else(pc.is_valid(subject), found, pa.scalar(None, pa.bool_()))


def _value_set(values: tuple[Any, ...], wanted: Any) -> Any:
    value_type = wanted.value_type if pa.types.is_dictionary(wanted) else wanted
    return pa.array([value for value in values if value is not None], value_type)


def _divide(left: Any, right: Any) -> Any:
    if pa.types.is_integer(left.type) and pa.types.is_integer(right.type):
        left = pc.cast(left, pa.float64())
    return pc.divide(left, right)


def _scalar(value: Any) -> Any:
    return value if isinstance(value, pa.Scalar) else pa.scalar(value)


def _plain(column: Any) -> Any:
    plain = _plain_type(column.type)
    return column if plain is column.type else column.cast(plain)


def _plain_type(data_type: Any) -> Any:
    if data_type == pa.string_view():
        return pa.string()
    if data_type == pa.binary_view():
        return pa.binary()
    if pa.types.is_dictionary(data_type):
        values = _plain_type(data_type.value_type)
        if values is not data_type.value_type:
            return pa.dictionary(data_type.index_type, values, data_type.ordered)
    return data_type


def _refused(expression: Expr, schema: Any, error: Exception) -> CrossdockError:
    names = [name for name in schema.names if name in expression.columns()]
    types = ", ".join(f"{name}: {schema.field(name).type}" for name in names)
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return make_error(
        "CD-504",
        f"{expression!r} cannot be evaluated: {reason}",
        columns=types,
        try_="xd.col(...).cast(...) on one side of the operator" if types else "",
    )
