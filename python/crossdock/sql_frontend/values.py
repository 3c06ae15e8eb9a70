"""Expressions of a Substrait plan as ours: fields by position become columns by name."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from crossdock.expression_types import result_type
from crossdock.expressions import Call, Column, Expr, Literal, when
from crossdock.sql_frontend.added_functions import ADDED, instants_of
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.functions import FUNCTIONS
from crossdock.sql_frontend.rewritten import INVERTED, OPERATOR_MARKS, WHOLE
from crossdock.sql_frontend.substrait_types import Interval, arrow_type, constant_of
from crossdock.sql_frontend.window_values import window_value

_COMPARISONS = frozenset(
    ("equal", "not_equal", "lt", "lte", "gt", "gte", "is_not_distinct_from", "is_distinct_from")
)
# What DataFusion makes of a double that it compares with a decimal. Here both become doubles.
_DOUBLE_BESIDE_DECIMAL = pa.decimal128(30, 15)

_MOST_DIGITS = 38  # of a decimal128

# Gives a scalar or IN subquery of the message as a column of the rows that are there.
Subquery = Callable[[Any], Expr]


class Values:
    """Translates the expressions over one input, whose columns stand by position in `columns`.
    `schema` gives the input's, when a type is asked for."""

    def __init__(
        self,
        names: Mapping[int, str],
        columns: Sequence[str],
        schema: Callable[[], Any],
        subquery: Subquery | None = None,
    ) -> None:
        self._names = names
        self._columns = columns
        self._schema = schema
        self._subquery = subquery

    def __call__(self, message: Any) -> Expr:
        """The expression. SqlError for what expressions have not."""
        found = self._any(message)
        if isinstance(found, Interval):
            raise unsupported(
                "an interval by itself", try_="x + interval '1' day, of a date or timestamp"
            )
        return found

    def type_of(self, expression: Expr) -> Any:
        """The Arrow type of an expression over the input."""
        return result_type(expression, self._schema())

    def _any(self, message: Any) -> Expr | Interval:
        kind = message.WhichOneof("rex_type")
        if kind == "selection":
            return self._field(message.selection)
        if kind == "literal":
            return constant_of(message.literal)
        if kind == "scalar_function":
            return self._function(message.scalar_function)
        if kind == "cast":
            return self._cast(message.cast)
        if kind == "if_then":
            return self._case(message.if_then)
        if kind == "singular_or_list":
            return self._listed(message.singular_or_list)
        if kind == "window_function":
            name = self._names[message.window_function.function_reference]
            return window_value(message.window_function, name, self._any)
        if kind == "subquery" and self._subquery is not None:
            return self._subquery(message.subquery)
        if kind == "subquery":
            raise unsupported(
                "a query in an expression", word="select", try_="a join, or dock.sql()"
            )
        raise unsupported(str(kind).replace("_", " ") + " in an expression")

    def _field(self, message: Any) -> Expr:
        if message.WhichOneof("root_type") == "outer_reference":
            raise unsupported(
                "a subquery that uses a column of the outer query in this way",
                try_="a join with a GROUP BY, or a condition of equality between the two",
            )
        field = message.direct_reference.struct_field
        if field.HasField("child"):
            raise unsupported("a field of a struct")
        return Column(self._columns[field.field])

    def _function(self, message: Any) -> Expr | Interval:
        name = self._names[message.function_reference]
        if name in OPERATOR_MARKS:
            return Column(name)
        if name in ("and", "or"):
            parts = [self(part) for part in self._chain(message, name)]
            return balanced("and_kleene" if name == "and" else "or_kleene", parts)
        found = [self._any(argument.value) for argument in message.arguments]
        if any(isinstance(argument, Interval) for argument in found):
            return self._moved(name, found)
        arguments = [argument for argument in found if isinstance(argument, Expr)]
        if name in ("add", "subtract", "multiply", "divide", "modulus"):
            return self._arithmetic(name, arguments)
        if name in _COMPARISONS:
            arguments = self._compared(arguments)
        if name == "bitwise_and" and _is_mark(arguments[0], INVERTED):
            return self._narrow(arguments[1]).bit_not()
        if name in ADDED and any(instants_of(name)):
            arguments = list(map(self._instant, arguments))
        if name not in FUNCTIONS:
            raise unsupported(f"the function {name}", word=name)
        return FUNCTIONS[name](arguments)

    def _chain(self, message: Any, name: str) -> list[Any]:
        """What a chain of one operator connects, from left to right; such chains can be long."""
        found: list[Any] = []
        waiting = [argument.value for argument in reversed(message.arguments)]
        while waiting:
            part = waiting.pop()
            is_call = part.WhichOneof("rex_type") == "scalar_function"
            if is_call and self._names[part.scalar_function.function_reference] == name:
                waiting += [each.value for each in reversed(part.scalar_function.arguments)]
            else:
                found.append(part)
        return found

    def _moved(self, name: str, arguments: Sequence[Expr | Interval]) -> Expr | Interval:
        """A date or timestamp and an interval."""
        if name == "negate" and isinstance(arguments[0], Interval):
            return -arguments[0]
        if name not in ("add", "subtract") or len(arguments) != 2:
            raise unsupported(f"{name} of intervals")
        subject, interval = arguments
        if name == "add" and isinstance(subject, Interval):
            subject, interval = interval, subject
        if isinstance(subject, Interval) or not isinstance(interval, Interval):
            raise unsupported(f"{name} of intervals")
        moved = -interval if name == "subtract" else interval
        if moved.months:
            subject = subject.add_months(moved.months)
        days, rest = moved.days, moved.microseconds
        if rest % 86_400_000_000 == 0:
            days, rest = days + rest // 86_400_000_000, 0
        if days or rest:
            subject = subject + datetime.timedelta(days=days, microseconds=rest)
        return subject

    def _arithmetic(self, name: str, arguments: list[Expr]) -> Expr:
        left, right = arguments
        if _is_mark(right, WHOLE):
            return Call(name, (left, right))
        if _is_whole(left):
            assert isinstance(left, Call)
            return self._whole_quotient(left.arguments[0], right)
        if name == "divide":
            return self._quotient(left, right)
        if name == "modulus":
            return self._remainder(left, right)
        if name == "subtract" and all(pa.types.is_date(self.type_of(side)) for side in arguments):
            return left.cast(pa.int32()).cast(pa.int64()) - right.cast(pa.int32()).cast(pa.int64())
        for this, other in ((left, right), (right, left)):
            if _is_cast_to(this, pa.types.is_decimal) and pa.types.is_decimal(self.type_of(other)):
                left, right = self._exact(left), self._exact(right)
                break
        return Call(name, (left, right))

    def _exact(self, expression: Expr) -> Expr:
        """A decimal or an integer without a cast that changes no value of it."""
        if not _is_cast_to(expression, pa.types.is_decimal):
            return expression
        assert isinstance(expression, Call)
        inner, target = expression.arguments[0], expression.option
        found = self.type_of(inner)
        if pa.types.is_decimal(found) and found.scale <= target.scale:
            return inner
        return inner if pa.types.is_integer(found) else expression

    def _compared(self, arguments: list[Expr]) -> list[Expr]:
        """Both sides of a comparison without casts that change no value: integers and decimals
        compare exactly, a decimal and a double as doubles."""
        plain = [self._exact(self._narrow(argument)) for argument in arguments]
        kinds = [None if isinstance(each, Literal) else self.type_of(each) for each in plain]
        known = [kind for kind in kinds if kind is not None]
        if any(map(pa.types.is_floating, known)) and any(map(pa.types.is_decimal, known)):
            return [
                each.cast(pa.float64()) if kind is not None and pa.types.is_decimal(kind) else each
                for each, kind in zip(plain, kinds, strict=True)
            ]
        return plain

    def _narrow(self, expression: Expr) -> Expr:
        if not _is_cast_to(expression, pa.types.is_integer):
            return expression
        assert isinstance(expression, Call)
        inner = expression.arguments[0]
        found = self.type_of(inner)
        return inner if _widens(found, expression.option) else expression

    def _quotient(self, left: Expr, right: Expr) -> Expr:
        """A division of doubles: texts were rewritten so that there is no other."""
        sides = [self._without_float_cast(side) for side in (left, right)]
        return sides[0] / sides[1]

    def _without_float_cast(self, expression: Expr) -> Expr:
        if not _is_cast_to(expression, pa.types.is_float64):
            return expression
        assert isinstance(expression, Call)
        inner = expression.arguments[0]
        found = self.type_of(inner)
        is_number = pa.types.is_integer(found) or pa.types.is_decimal(found)
        return inner if is_number else expression

    def _whole_quotient(self, left: Expr, right: Expr) -> Expr:
        """Towards zero, where ours is rounded down; of 0 it is NULL, as the remainder."""
        if not all(pa.types.is_integer(self.type_of(side)) for side in (left, right)):
            raise unsupported("// of other than integers", try_="a / b, or floor(a / b)")
        found = left // right
        wrong = ((left < 0) != (right < 0)) & (found * right != left)
        return when(right == 0).then(None).when(wrong).then(found + 1).otherwise(found)

    def _instant(self, value: Expr) -> Expr:
        """A date or timestamp without the cast to the one type that DataFusion has for both."""
        if not _is_cast_to(value, pa.types.is_timestamp):
            return value
        assert isinstance(value, Call)
        found = self.type_of(value.arguments[0])
        is_instant = pa.types.is_date32(found) or pa.types.is_timestamp(found)
        return value.arguments[0] if is_instant else value

    def _remainder(self, left: Expr, right: Expr) -> Expr:
        """SQL's remainder has the sign of the dividend, ours that of the divisor; of 0 it is
        NULL."""
        scales = [
            found.scale for found in map(self.type_of, (left, right)) if pa.types.is_decimal(found)
        ]
        if scales:  # by whole numbers of the smallest unit
            scale = max(scales)
            whole = [self._units(side, scale) for side in (left, right)]
            found = self._remainder(whole[0], whole[1])
            return found.cast(pa.decimal128(38, 0)) * Literal(Decimal(1).scaleb(-scale))
        if isinstance(right, Literal):
            if right.value == 0:
                return Literal(pa.scalar(None, self.type_of(left)))
            found = left % right
            wrong = (left < 0) if right.value > 0 else (left > 0)
            return when(wrong & (found != 0)).then(found - right).otherwise(found)
        found = left % right
        wrong = ((left < 0) != (right < 0)) & (found != 0)
        return when(right == 0).then(None).when(wrong).then(found - right).otherwise(found)

    def _units(self, value: Expr, scale: int) -> Expr:
        """A decimal or an integer as a number of units of 10^-scale."""
        if isinstance(value, Literal):
            return Literal(int(Decimal(value.value).scaleb(scale)))
        return (value * Literal(Decimal(10**scale))).cast(pa.int64())

    def _cast(self, message: Any) -> Expr:
        inner, target = self._any(message.input), arrow_type(message.type)
        if isinstance(inner, Interval):
            raise unsupported("a cast of an interval")
        if _is_whole(inner) or any(_is_mark(inner, mark) for mark in OPERATOR_MARKS):
            return inner
        if isinstance(inner, Literal) and inner.value is None:
            return Literal(pa.scalar(None, target))
        if message.failure_behavior == 1:  # RETURN_NULL
            return _tried(self.converted(inner, target))
        return self.converted(inner, target)

    def converted(self, value: Expr, target: Any) -> Expr:
        """The value as another type, rounded as SQL does where that has fewer digits."""
        found = self.type_of(value)
        if found == target or (pa.types.is_floating(found) and target == _DOUBLE_BESIDE_DECIMAL):
            return value
        if pa.types.is_dictionary(found) and found.value_type == target:
            return value
        if target == pa.timestamp("ns") and not pa.types.is_timestamp(found):
            target = pa.timestamp("us")  # TIMESTAMP counts microseconds here
        if pa.types.is_timestamp(found) and pa.types.is_date(target):
            return value.date()
        if pa.types.is_integer(target) and pa.types.is_decimal(found):
            return _with_room(value, found).round().cast(target)
        if pa.types.is_integer(target) and pa.types.is_floating(found):
            return _nearest_even(value).cast(target)
        if (
            pa.types.is_decimal(target)
            and pa.types.is_decimal(found)
            and found.scale > target.scale
        ):
            return _with_room(value, found).round(target.scale).cast(target)
        if pa.types.is_decimal(target) and pa.types.is_floating(found):
            return value.round(target.scale).cast(target)
        if pa.types.is_integer(found) and pa.types.is_decimal(target):
            # By a type that holds all integers: the cast looks at types, the next one at values.
            wide = pa.decimal128(min(38, 20 + target.scale), target.scale)
            return value.cast(wide) if wide == target else value.cast(wide).cast(target)
        return value.cast(target)

    def _case(self, message: Any) -> Expr:
        parts: list[Expr] = []
        subject: Expr | None = None
        for clause in message.ifs:
            condition = self(getattr(clause, "if"))
            if not clause.HasField("then"):  # CASE x WHEN ...: the first has x alone
                subject = condition
                continue
            if subject is not None:
                condition = Call("equal", tuple(self._compared([subject, condition])))
            parts += (condition, self(clause.then))
        otherwise = self(getattr(message, "else")) if message.HasField("else") else Literal(None)
        return Call("case", (*parts, otherwise))

    def _listed(self, message: Any) -> Expr:
        subject = self(message.value)
        options = [self(option) for option in message.options]
        if not all(isinstance(option, Literal) for option in options):
            whole: Expr | None = None
            for option in options:
                equal = subject == option
                whole = equal if whole is None else whole | equal
            return whole if whole is not None else Literal(False)
        values = [option.value for option in options if isinstance(option, Literal)]
        known = [value for value in values if not _is_null(value)]
        found = self._exact(self._narrow(subject)).is_in(known)
        if len(known) < len(values):  # NULL in the list: no row is known not to be in it
            return when(found).then(True).otherwise(Literal(None))
        return found


def _is_mark(expression: Expr, mark: str) -> bool:
    return isinstance(expression, Column) and expression.name == mark


def _is_whole(expression: Expr) -> bool:
    """Whether it is the dividend of `//`, with its mark."""
    return isinstance(expression, Call) and _is_mark(expression.arguments[-1], WHOLE)


def _tried(expression: Expr) -> Expr:
    """TRY_CAST of what a cast has become: its casts, and the rounding before them."""
    if not isinstance(expression, Call) or expression.function != "cast":
        return expression
    arguments = tuple(map(_tried, expression.arguments))
    return Call("try_cast", arguments, expression.option)


def _with_room(value: Expr, data_type: Any) -> Expr:
    """A decimal with a digit more, which rounding up may need."""
    if data_type.precision >= _MOST_DIGITS:
        return value
    return value.cast(pa.decimal128(data_type.precision + 1, data_type.scale))


def _is_null(value: Any) -> bool:
    return value is None or (hasattr(value, "is_valid") and not value.is_valid)


def _is_cast_to(expression: Expr, is_kind: Callable[[Any], bool]) -> bool:
    return (
        isinstance(expression, Call)
        and expression.function == "cast"
        and is_kind(expression.option)
    )


def _widens(found: Any, target: Any) -> bool:
    """Whether all values of one integer type are values of another."""
    if not (pa.types.is_integer(found) and pa.types.is_integer(target)):
        return False
    if pa.types.is_signed_integer(found) == pa.types.is_signed_integer(target):
        return bool(found.bit_width <= target.bit_width)
    return bool(pa.types.is_unsigned_integer(found) and found.bit_width < target.bit_width)


def _nearest_even(value: Expr) -> Expr:
    """The nearest whole number; halves go to the even one."""
    below = value.floor()
    odd = below % 2 != 0
    up = (value - below > 0.5) | ((value - below == 0.5) & odd)
    return when(up).then(below + 1).otherwise(below)


def balanced(function: str, parts: Sequence[Expr]) -> Expr:
    """One operator over many parts, as flat as it can be."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    halves = (balanced(function, parts[:middle]), balanced(function, parts[middle:]))
    return Call(function, halves)


def widened_integer(values: Values, expression: Expr) -> Expr:
    """The argument of a sum or count without a cast to a wider integer, which sums have anyway."""
    return values._narrow(expression)


def plain_number(values: Values, expression: Expr) -> Expr:
    """The argument of a mean without a cast to a double, which means have anyway."""
    return values._without_float_cast(expression)
