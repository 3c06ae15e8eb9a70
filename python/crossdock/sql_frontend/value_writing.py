"""Expressions as those of Substrait plans, with the names that DataFusion has for functions. What
has none is refused by name."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.expressions.expression import Call, Column, Expr, Literal
from crossdock.expressions.result_types import TypesOver
from crossdock.sql_frontend.errors import unsupported

if TYPE_CHECKING:
    from google.protobuf.message import Message

_EPOCH = datetime.date(1970, 1, 1)
_DAY_US = 86_400_000_000
_EXACT = Context(prec=76)  # the default one rounds to 28 digits
# Functions of the same arguments, by our names.
_SAME = {
    "equal": "equal", "not_equal": "not_equal", "less": "lt", "less_equal": "lte",
    "greater": "gt", "greater_equal": "gte", "and_kleene": "and", "or_kleene": "or",
    "invert": "not", "add": "add", "subtract": "subtract", "multiply": "multiply",
    "negate": "negate", "is_null": "is_null", "is_valid": "is_not_null", "coalesce": "coalesce",
    "nullif": "nullif", "lower": "lower", "upper": "upper", "length": "character_length",
    "abs": "abs", "floor": "floor", "ceil": "ceil", "sqrt": "sqrt", "exp": "exp", "ln": "ln",
    "log2": "log2", "log10": "log10", "power": "power", "greatest": "greatest", "least": "least",
    "sin": "sin", "cos": "cos", "tan": "tan", "reverse": "reverse",
}  # fmt: skip
# Functions whose option is an argument.
_WITH_OPTION = {
    "like": "like", "ilike": "ilike", "starts_with": "starts_with", "ends_with": "ends_with",
    "contains": "contains", "round": "round",
}  # fmt: skip
_PARTS = frozenset(("year", "quarter", "month", "week", "day", "hour", "minute", "second"))
_SIMPLE = {
    pa.bool_(): "bool", pa.int8(): "i8", pa.int16(): "i16", pa.int32(): "i32", pa.int64(): "i64",
    pa.uint8(): "i8", pa.uint16(): "i16", pa.uint32(): "i32", pa.uint64(): "i64",
    pa.float32(): "fp32", pa.float64(): "fp64", pa.date32(): "date", pa.string(): "string",
    pa.large_string(): "string", pa.string_view(): "string", pa.binary(): "binary",
    pa.large_binary(): "binary", pa.binary_view(): "binary",
}  # fmt: skip
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def substrait_type(messages: Any, data_type: pa.DataType, *, nullable: bool = True) -> Message:
    """A type as Substrait's. SqlError for one that plans have not."""
    message = messages.type.Type()
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        data_type = data_type.value_type
    kind, options = _kind(data_type)
    part = getattr(message, kind)
    part.nullability = 1 if nullable else 2
    for name, value in options.items():
        setattr(part, name, value)
    if pa.types.is_unsigned_integer(data_type):
        part.type_variation_reference = 1
    if kind == "list":
        part.type.CopyFrom(substrait_type(messages, data_type.value_type))
    return message


def _kind(data_type: pa.DataType) -> tuple[str, dict[str, int]]:
    if data_type in _SIMPLE:
        return _SIMPLE[data_type], {}
    if pa.types.is_decimal(data_type) and data_type.precision <= 38:
        return "decimal", {"precision": data_type.precision, "scale": data_type.scale}
    if pa.types.is_timestamp(data_type):
        kind = "precision_timestamp" if data_type.tz is None else "precision_timestamp_tz"
        return kind, {"precision": _DIGITS[data_type.unit]}
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        return "list", {}
    raise unsupported(f"the type {data_type} in a Substrait plan")


class ValueWriter:
    """Writes expressions over the columns of one schema. `function` gives the number of a function
    in the plan."""

    def __init__(self, messages: Any, schema: pa.Schema, function: Callable[[str], int]) -> None:
        self._messages = messages
        self._function = function
        self._places = {name: place for place, name in enumerate(schema.names)}
        self._type_of = TypesOver(schema)

    def __call__(self, expression: Expr) -> Message:
        """The message of an expression. SqlError for what plans have not."""
        if isinstance(expression, Column):
            return self.field(self._places[expression.name])
        if isinstance(expression, Literal):
            return self._literal(expression.value)
        if not isinstance(expression, Call):
            raise unsupported(f"{expression!r} in a Substrait plan")
        function = expression.function
        if function in _SAME:
            if function in ("add", "subtract") and self._is_moved(expression):
                return self._moved(expression)
            return self.call(_SAME[function], [self(each) for each in expression.arguments])
        if function in _WITH_OPTION:
            option = [] if expression.option is None else [self._literal(expression.option)]
            arguments = [self(each) for each in expression.arguments]
            return self.call(_WITH_OPTION[function], [*arguments, *option])
        if function in _PARTS:
            arguments = [self._literal(function), self(expression.arguments[0])]
            return self.call("date_part", arguments)
        write = getattr(self, f"_{function}", None)
        if write is None:
            raise unsupported(f"the function {function} in a Substrait plan")
        message: Message = write(expression)
        return message

    def field(self, place: int) -> Message:
        """A column by its place."""
        message = self._messages.algebra.Expression()
        message.selection.direct_reference.struct_field.field = place
        message.selection.root_reference.SetInParent()
        return message

    def call(self, name: str, arguments: Sequence[Message]) -> Message:
        """A call of a function."""
        message = self._messages.algebra.Expression()
        message.scalar_function.function_reference = self._function(name)
        for each in arguments:
            message.scalar_function.arguments.add().value.CopyFrom(each)
        return message

    def cast(self, value: Message, data_type: pa.DataType, *, tries: bool = False) -> Message:
        """A message as another type."""
        message = self._messages.algebra.Expression()
        message.cast.type.CopyFrom(substrait_type(self._messages, data_type))
        message.cast.input.CopyFrom(value)
        message.cast.failure_behavior = 1 if tries else 2
        return message

    def _cast(self, call: Call) -> Message:
        return self.cast(self(call.arguments[0]), call.option)

    def _try_cast(self, call: Call) -> Message:
        return self.cast(self(call.arguments[0]), call.option, tries=True)

    _parsed_as, _written, _try_parsed_as = _cast, _cast, _try_cast

    def _round_even(self, call: Call) -> Message:
        """Of what becomes an integer: casts round where they are read."""
        return self(call.arguments[0])

    def _date(self, call: Call) -> Message:
        return self.cast(self(call.arguments[0]), pa.date32())

    def _divide(self, call: Call) -> Message:
        """Of doubles, whatever it divides."""
        sides = [self.cast(self(each), pa.float64()) for each in call.arguments]
        return self.call("divide", sides)

    def _concat(self, call: Call) -> Message:
        first, *others = (self(each) for each in call.arguments)
        for each in others:
            first = self.call("str_concat", [first, each])
        return first

    def _substring(self, call: Call) -> Message:
        """Counted from 1."""
        if len(call.arguments) > 1 or call.option is None:
            raise unsupported("substring of computed places in a Substrait plan")
        start, length = call.option if isinstance(call.option, tuple) else (call.option, None)
        places = [start + 1] if start >= 0 else [start]
        places += [] if length is None else [length]
        return self.call("substr", [self(call.arguments[0]), *map(self._literal, places)])

    def _is_in(self, call: Call) -> Message:
        message = self._messages.algebra.Expression()
        message.singular_or_list.value.CopyFrom(self(call.arguments[0]))
        for each in call.option:
            message.singular_or_list.options.add().CopyFrom(self._literal(each))
        return message

    def _case(self, call: Call) -> Message:
        message = self._messages.algebra.Expression()
        data_type = self._type_of(call)
        for condition, value in zip(call.arguments[:-1:2], call.arguments[1::2], strict=True):
            clause = message.if_then.ifs.add()
            getattr(clause, "if").CopyFrom(self(condition))
            clause.then.CopyFrom(self._of_type(value, data_type))
        getattr(message.if_then, "else").CopyFrom(self._of_type(call.arguments[-1], data_type))
        return message

    def _of_type(self, value: Expr, data_type: pa.DataType) -> Message:
        if isinstance(value, Literal) and value.value is None:
            return self._literal(pa.scalar(None, data_type))
        return self(value)

    def _add_months(self, call: Call) -> Message:
        interval = self._messages.algebra.Expression()
        interval.literal.interval_year_to_month.months = call.option
        return self.call("add", [self(call.arguments[0]), interval])

    def _is_moved(self, call: Call) -> bool:
        moved = call.arguments[1]
        return isinstance(moved, Literal) and isinstance(moved.value, datetime.timedelta)

    def _moved(self, call: Call) -> Message:
        """A date or a timestamp and a duration."""
        moved = call.arguments[1]
        assert isinstance(moved, Literal)
        whole = moved.value // datetime.timedelta(microseconds=1)
        interval = self._messages.algebra.Expression()
        part = interval.literal.interval_day_to_second
        part.days, rest = divmod(whole, _DAY_US)
        part.seconds, part.subseconds = divmod(rest, 1_000_000)
        part.precision = 6
        return self.call(_SAME[call.function], [self(call.arguments[0]), interval])

    def _literal(self, value: Any) -> Message:
        message = self._messages.algebra.Expression()
        literal = message.literal
        data_type = value.type if isinstance(value, pa.Scalar) else None
        plain = value if data_type is None else value.as_py()
        if plain is None:
            target_type = data_type if data_type is not None else pa.string()
            literal.null.CopyFrom(substrait_type(self._messages, target_type))
        elif isinstance(plain, bool):
            literal.boolean = plain
        elif isinstance(plain, Decimal):
            self._write_decimal(literal, plain, data_type)
        elif isinstance(plain, int):
            kind = _SIMPLE.get(data_type, "i64") if data_type is not None else "i64"
            setattr(literal, kind, plain)
        elif isinstance(plain, float):
            literal.fp64 = plain
        elif isinstance(plain, str):
            literal.string = plain
        elif isinstance(plain, bytes):
            literal.binary = plain
        elif isinstance(plain, datetime.datetime):
            of_type = data_type or pa.timestamp("us", "UTC" if plain.tzinfo else None)
            kind = "precision_timestamp" if of_type.tz is None else "precision_timestamp_tz"
            part = getattr(literal, kind)
            part.precision = _DIGITS[of_type.unit]
            part.value = pa.scalar(plain, of_type).value
        elif isinstance(plain, datetime.date):
            literal.date = (plain - _EPOCH).days
        else:
            raise unsupported(f"the constant {plain!r} in a Substrait plan")
        return message

    def _write_decimal(
        self, literal: Message, value: Decimal, data_type: pa.DataType | None
    ) -> None:
        if data_type is not None:
            precision, scale = data_type.precision, data_type.scale
        else:
            _, digits, exponent = value.as_tuple()
            scale = max(0, -int(exponent))
            precision = max(len(digits) + max(0, int(exponent)), scale, 1)
        unscaled = int(value.scaleb(scale, _EXACT))
        literal.decimal.value = unscaled.to_bytes(16, "little", signed=True)
        literal.decimal.precision, literal.decimal.scale = precision, scale
