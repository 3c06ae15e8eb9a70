"""Compiles expressions into those of the engine (include/crossdock/expressions.hpp). What it cannot
compute, or would compute in another type than pyarrow does, pyarrow evaluates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.expressions.arithmetic import decimal_digits
from crossdock.expressions.evaluation import plain_type
from crossdock.expressions.expression import (
    CHOICES,
    COMPARISONS,
    TURNED,
    Call,
    Column,
    Expr,
    Literal,
    conjuncts,
    may_raise,
)
from crossdock.expressions.literals import fit_literal, literal_types, value_set
from crossdock.expressions.native_kernels import (
    COMPUTED,
    OF_A_TYPE,
    WITH_ARGUMENTS,
    WITH_VALUES,
    arrow_format,
)
from crossdock.expressions.result_types import TypesOver
from crossdock.values.engine_types import empty_table, engine_table, lies_as_it_is
from crossdock.values.type_checks import checking_engine

_PLAIN = COMPARISONS | COMPUTED | frozenset((
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "negate", "abs",
    "and_kleene", "or_kleene", "invert", "is_null", "is_valid", "case", "coalesce",
    "year", "quarter", "month", "week", "day", "day_of_year", "weekday",
    "hour", "minute", "second", "date",
    "length", "lower", "upper", "concat", "greatest", "least",
    "power", "sqrt", "exp", "ln", "log2", "log10", "floor", "ceil", "sign", "is_nan",
))  # fmt: skip
_STRINGS = (pa.string(), pa.large_string())
_MOST_REAL_SCALE = 22  # of decimals that the engine makes of floats
_VIEW = "vu"  # the format of strings that are computed


# What was found out about expressions, by their ids, with what keeps these, and the columns that
# they read. Two threads may work out the same one.
_KNOWN: dict[object, tuple[Expr, bool]] = {}
_MOST_KNOWN = 10_000


def is_computed(expression: Expr, schema: pa.Schema) -> bool:
    """Whether the engine computes a condition or column over a table of `schema`."""
    return are_computed([expression], schema)


def are_computed(expressions: Sequence[Expr], schema: pa.Schema) -> bool:
    """Whether the engine computes all of these. An expression is asked about several times while a
    query is planned, and again when it comes again. Cost: the columns that are read, and each
    expression once."""
    asked: list[tuple[tuple[Any, ...], Expr]] = []
    read: dict[str, pa.Field] = {}
    for expression in expressions:
        fields = [schema.field(name) for name in sorted(expression.columns())]
        key = (id(expression), *((field.name, field.type) for field in fields))
        known = _KNOWN.get(key)
        if known is None:
            asked.append((key, expression))
            read.update((field.name, field) for field in fields)
        elif not known[1]:
            return False
    if not asked:
        return True
    if not all(lies_as_it_is(field.type) for field in read.values()):
        return False
    columns = pa.schema(list(read.values()))
    compiler = Compiler(engine_table(checking_engine(), empty_table(columns)).column, columns)
    return all(_is_compiled(key, expression, compiler) for key, expression in asked)


def _is_compiled(key: tuple[Any, ...], expression: Expr, compiler: Compiler) -> bool:
    is_compiled = all(compiler.compile(part) is not None for part in conjuncts(expression))
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[key] = expression, is_compiled
    return is_compiled


def in_order(predicate: Expr) -> list[Expr]:
    """The parts of a conjunction as evaluation.keep_rows applies them: what may raise is last."""
    return sorted(conjuncts(predicate), key=may_raise)


class Compiler:
    """Compiles over the columns that `columns` gives, which are those of `schema`, what the engine
    computes in the type that evaluation gives it; None for the rest. Not thread-safe."""

    def __init__(self, columns: Callable[[str], _native.Expr], schema: pa.Schema) -> None:
        self._columns = columns
        self._schema = schema
        self._type_of = TypesOver(schema)

    def compile(self, expression: Expr) -> _native.Expr | None:
        """A whole condition or column."""
        try:
            return self._compiled(expression)
        except _native.NativeError:
            return None

    def _compiled(self, expression: Expr) -> _native.Expr | None:
        if isinstance(expression, Column):
            stands = lies_as_it_is(self._schema.field(expression.name).type)
            return self._columns(expression.name) if stands else None
        if isinstance(expression, Literal):
            return _literal(fit_literal(expression.value, pa.null()))
        assert isinstance(expression, Call)
        compiled = self._call(_column_first(expression))
        if compiled is None:
            return None
        expected = self._type_of(expression)
        # Strings that the engine computes are views, which become what is expected in the result.
        is_string = compiled.type == _VIEW and expected in _STRINGS
        return compiled if is_string or compiled.type == arrow_format(expected) else None

    def _call(self, call: Call) -> _native.Expr | None:
        function = call.function
        if function == "like":
            return self._like(call)
        if function == "ilike":
            return self._of("ilike", call.arguments, values=[call.option])
        if function in ("starts_with", "ends_with", "contains"):
            return self._of(function, call.arguments, values=[call.option])
        if function == "is_in":
            return self._is_in(call)
        if function == "cast":
            if self._type_of(call.arguments[0]) == call.option:
                return self._compiled(call.arguments[0])
            if not self._castable(call):
                return None
            return self._of("cast", call.arguments, type=arrow_format(call.option) or "")
        if function in OF_A_TYPE:
            return self._of(function, call.arguments, type=arrow_format(call.option) or "")
        if function in WITH_VALUES or function in WITH_ARGUMENTS:
            return self._with_constants(call)
        if function == "add" and self._type_of(call) in _STRINGS:
            return self._of("concat", self._typed(call))
        if function not in _PLAIN or (function in CHOICES and self._rounds(call)):
            return None
        return self._of(function, self._typed(call))

    def _with_constants(self, call: Call) -> _native.Expr | None:
        constants = call.option if isinstance(call.option, tuple) else (call.option,)
        integers = [pa.scalar(c, pa.int64()) for c in constants if isinstance(c, int)]
        strings = [c for c in constants if isinstance(c, str)]
        arguments = [*call.arguments, *map(Literal, integers)]
        if call.function in WITH_ARGUMENTS:
            arguments += map(Literal, strings)
            strings = []
        return self._of(call.function, arguments, values=strings)

    def _rounds(self, call: Call) -> bool:
        """Whether integers become floats that could be others, which pyarrow refuses."""
        if not pa.types.is_floating(self._type_of(call)):
            return False
        types = [self._type_of(a) for a in call.arguments if not isinstance(a, Literal)]
        return any(
            pa.types.is_integer(data_type) and data_type.bit_width > 32 for data_type in types
        )

    def _of(
        self, function: str, arguments: Sequence[Expr], values: Sequence[Any] = (), type: str = ""
    ) -> _native.Expr | None:
        of = []
        for argument in arguments:
            compiled = self._compiled(argument)
            if compiled is None:
                return None
            of.append(compiled)
        return _native.Expr.call(function, of, values, type)

    def _typed(self, call: Call) -> list[Expr]:
        """The arguments, with literals of the type that they take beside the others."""
        types = [
            None if isinstance(argument, Literal) else self._type_of(argument)
            for argument in call.arguments
        ]
        fitting = literal_types(call, types)
        if call.function in CHOICES and all(map(pa.types.is_null, fitting)):
            fitting = [self._type_of(call)] * len(types)  # literals alone, and NULL among them
        return [
            Literal(_same_kind(fit_literal(argument.value, target), target))
            if isinstance(argument, Literal)
            else argument
            for argument, target in zip(call.arguments, fitting, strict=True)
        ]

    def _is_in(self, call: Call) -> _native.Expr | None:
        subject = self._type_of(call.arguments[0])
        if pa.types.is_floating(subject):
            return None
        values = value_set(call.option, subject)
        if arrow_format(plain_type(values.type)) is None:
            return None
        return self._of("is_in", call.arguments, values=list(map(_value, values)))

    def _like(self, call: Call) -> _native.Expr | None:
        """Patterns that are a plain string with % at its ends have simpler functions."""
        pattern = call.option
        inner = pattern.strip("%")
        if not inner or any(letter in inner for letter in "%_\\"):
            return self._of("like", call.arguments, values=[pattern])
        begins, ends = pattern.startswith("%"), pattern.endswith("%")
        if not (begins or ends):
            return self._of("equal", (call.arguments[0], Literal(inner)))
        function = "contains" if begins and ends else "ends_with" if begins else "starts_with"
        return self._of(function, call.arguments, values=[inner])

    def _castable(self, call: Call) -> bool:
        """Casts that the engine checks as pyarrow does."""
        source, target = self._type_of(call.arguments[0]), call.option
        if target in _STRINGS:
            kinds = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_date32)
            # pyarrow writes decimals with more zeros behind the point with an exponent.
            is_plain = pa.types.is_decimal128(source) and 0 <= source.scale <= 6
            return is_plain or any(is_kind(source) for is_kind in kinds)
        if source in (pa.float32(), pa.float64()) and target != pa.float64():
            is_decimal = pa.types.is_decimal128(target) and 0 <= target.scale <= _MOST_REAL_SCALE
            return bool(is_decimal or pa.types.is_integer(target))
        if pa.types.is_decimal128(source):
            return bool(pa.types.is_decimal128(target) or target == pa.float64())
        if _are_ticks(source, target) or _are_ticks(target, source):
            return True
        if pa.types.is_integer(source):
            if pa.types.is_decimal128(target):
                # pyarrow refuses types that could not hold every integer.
                return bool(target.precision - target.scale >= decimal_digits(source)[0])
            return bool(target == pa.float64() or pa.types.is_integer(target))
        return bool(source == pa.float32() and target == pa.float64())


def _are_ticks(number: pa.DataType, instant: pa.DataType) -> bool:
    """Whether numbers of a type are the days of a date, or the ticks of a timestamp."""
    if pa.types.is_timestamp(instant):
        return bool(number == pa.int64() and instant.tz is None)
    return bool(number == pa.int32() and pa.types.is_date32(instant))


def _column_first(call: Call) -> Call:
    """A comparison of a string literal with a column, turned around."""
    if call.function not in COMPARISONS or not isinstance(call.arguments[0], Literal):
        return call
    left, right = call.arguments
    return Call(TURNED.get(call.function, call.function), (right, left))


def _same_kind(literal: pa.Scalar, target: pa.DataType) -> pa.Scalar:
    """A date or time as the type it is compared with, where that loses nothing."""
    both = pa.types.is_temporal(literal.type) and pa.types.is_timestamp(target)
    if not both or literal.type == target or target.tz is not None:
        return literal
    if getattr(literal.type, "tz", None) is not None:
        return literal
    try:
        return literal.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # the latter of durations
        return literal


def _literal(scalar: pa.Scalar) -> _native.Expr | None:
    data_type = arrow_format(plain_type(scalar.type))
    return None if data_type is None else _native.Expr.literal(_value(scalar), data_type)


def _value(scalar: pa.Scalar) -> str | float | bool | None:
    if not scalar.is_valid:
        return None
    data_type = scalar.type
    if pa.types.is_decimal(data_type):
        sign, digits, exponent = scalar.as_py().as_tuple()
        unscaled = int("".join(map(str, digits))) * 10 ** (int(exponent) + data_type.scale)
        return str(-unscaled if sign else unscaled)
    if pa.types.is_temporal(data_type):
        return str(scalar.value)
    value = scalar.as_py()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
