"""Expressions of a Substrait plan as ours: fields by position become columns by name."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.errors import CrossdockError
from crossdock.expressions.expression import Call, Column, Expr, Literal, when
from crossdock.expressions.result_types import TypesOver
from crossdock.sql_frontend.added_functions import ADDED, INSTANT, instants_of
from crossdock.sql_frontend.advice import instead_of_function
from crossdock.sql_frontend.errors import ListPlaceError, ZonedValueError, unsupported
from crossdock.sql_frontend.text.rewritten import (
    HIDDEN,
    INVERTED,
    LOCAL,
    MULTIPLIED,
    OF_CHARACTERS,
    OPERATOR_MARKS,
    TIMES,
    WHOLE,
    ZONED,
)
from crossdock.sql_frontend.translation import intervals
from crossdock.sql_frontend.translation.conversions import (
    converted,
    is_cast_to,
    widens,
    with_room,
)
from crossdock.sql_frontend.translation.divisions import remainder, whole_quotient
from crossdock.sql_frontend.translation.element_values import Elements
from crossdock.sql_frontend.translation.folding import balanced, constant, folded, is_never, is_true
from crossdock.sql_frontend.translation.functions import FUNCTIONS, is_null
from crossdock.sql_frontend.translation.intervals import Moving
from crossdock.sql_frontend.translation.messages import (
    MOMENTS,
    RANDOM_KINDS,
    Functions,
    draw_column,
    unnest_column,
    unnest_number,
)
from crossdock.sql_frontend.translation.nan_comparisons import (
    as_float,
    is_one_of,
    with_nan,
    without_nan,
)
from crossdock.sql_frontend.translation.string_functions import formatted
from crossdock.sql_frontend.translation.substrait_types import arrow_type, constant_of
from crossdock.sql_frontend.translation.window_values import window_value
from crossdock.sql_frontend.translation.years import bounds_of_year
from crossdock.sql_frontend.type_names import shown_type

if TYPE_CHECKING:
    from google.protobuf.message import Message

_COMPARISONS = frozenset(
    ("equal", "not_equal", "lt", "lte", "gt", "gte", "is_not_distinct_from", "is_distinct_from")
)
_OF_MAPS = {"cardinality": "map_length", "get_field": "map_value"}
_PRODUCTS = (TIMES, MULTIPLIED)
_OF_LISTS = ("character_length", *OF_CHARACTERS)  # of which DataFusion makes strings
_TURNED = {"lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}
_NANOSECONDS = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))
RETURN_NULL = 1  # the failure behavior of TRY_CAST

# Gives a scalar or IN subquery of the message as a column of the rows that are there.
Subquery = Callable[["Message"], Expr]


class Values:
    """Translates the expressions over one input, whose columns stand by position in `columns`.
    `schema` gives the input's, when a type is asked for."""

    def __init__(
        self,
        names: Functions,
        columns: Sequence[str],
        schema: Callable[[], pa.Schema],
        subquery: Subquery | None = None,
    ) -> None:
        self._names = names
        self._columns = columns
        self._schema = schema
        self._subquery = subquery
        self._types: TypesOver | None = None
        self._elements = Elements(names)
        # The columns of each table that is joined: comparisons of several of them may be keys, and
        # stay plain.
        self.joined: Sequence[frozenset[str]] = ()

    def __call__(self, message: Message) -> Expr:
        """The expression. SqlError for what expressions have not."""
        expression = self.any_of(message)
        if not isinstance(expression, Expr):
            raise unsupported(
                "an interval by itself", try_="x + interval '1' day, of a date or timestamp"
            )
        return folded(expression)

    def type_of(self, expression: Expr) -> pa.DataType:
        """The Arrow type of an expression over the input."""
        if self._types is None or self._subquery is not None:  # which adds columns on the way
            self._types = TypesOver(pa.schema([*self._schema(), *self._elements.fields()]))
        return self._types(expression)

    def forget_types(self) -> None:
        """Elements of lists are others, whose columns are beside those of the input."""
        self._types = None

    def any_of(self, message: Message) -> Expr | Moving:
        """An expression, or an interval and the like, which are a part of one."""
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
            return window_value(message.window_function, name, self)
        if kind == "subquery" and self._subquery is not None:
            return self._subquery(message.subquery)
        if kind == "subquery":
            raise unsupported(
                "a query in an expression", word="select", try_="a join, or dock.sql()"
            )
        raise unsupported(str(kind).replace("_", " ") + " in an expression")

    def _field(self, message: Message) -> Expr:
        if message.WhichOneof("root_type") == "outer_reference":
            raise unsupported(
                "a subquery that uses a column of the outer query in this way",
                try_="a join with a GROUP BY, or a condition of equality between the two",
            )
        field = message.direct_reference.struct_field
        if field.HasField("child"):
            raise unsupported("a field of a struct")
        return Column(self._columns[field.field])

    def _function(self, message: Message) -> Expr | Moving:
        name = self._names[message.function_reference]
        if name in OPERATOR_MARKS:
            return Column(name)
        if name in ("and", "or"):
            parts = [self(part) for part in self._names.chain_of(message, name)]
            if name == "and":
                return balanced("and_kleene", without_nan(parts))
            return balanced("or_kleene", parts)
        if name == "array_element":
            number = unnest_number(message.arguments[1].value, self._names)
            if number:
                return Column(unnest_column(number))
        if (of_elements := self._elements.value_of(name, message, self)) is not None:
            return folded(of_elements)
        if name == "format":
            return folded(self._formatted(message))
        operands = [self.any_of(argument.value) for argument in message.arguments]
        arguments = [argument for argument in operands if isinstance(argument, Expr)]
        if name in RANDOM_KINDS:
            return self._draw(name, message)
        if name == "date_bin":
            return folded(intervals.bucket(operands[0], arguments[-1], self.type_of))
        if name in _PRODUCTS or len(arguments) < len(operands):
            return self._of_intervals(name, operands)
        if name in ("add", "subtract", "multiply", "divide", "modulus"):
            return folded(self._arithmetic(name, arguments))
        if name in _COMPARISONS:
            return folded(self._comparison(name, arguments))
        if name == "bitwise_and" and _is_mark(arguments[0], INVERTED):
            return self.narrow(arguments[1]).bit_not()
        if name in (ZONED, LOCAL):
            return folded(self._at_zone(name, arguments))
        if name == "arrow_cast":
            return self._as_instant(arguments)
        if name in MOMENTS:
            return self._names.moment_of(name)
        if name == "date_part" and pa.types.is_duration(self.type_of(arguments[1])):
            return folded(intervals.part_of_duration(*arguments))
        if name in ADDED and any(instants_of(name)):
            arguments = list(map(self._instant, arguments))
        if name in _OF_MAPS and pa.types.is_map(self.type_of(arguments[0])):
            return folded(Call(_OF_MAPS[name], tuple(arguments)))
        if name == "arrow_typeof":
            return Literal(shown_type(self.type_of(arguments[0])))
        if name not in FUNCTIONS:
            raise unsupported(f"the function {name}", word=name, try_=instead_of_function(name))
        if name in _OF_LISTS and (of_list := self._list_length(arguments[0])) is not None:
            if name in OF_CHARACTERS:
                raise ListPlaceError(constant(arguments[-1], "a place"))
            return folded(of_list)
        if name in ("nullif", "signum") and self._may_be_nan(arguments[0]):
            return self._of_nan(name, arguments)
        if name in ("round", "ceil", "floor"):
            arguments[0] = self._roomy(arguments[0])
        if name in ("round", "trunc", "ceil", "floor"):
            return folded(self._rounded(name, list(map(folded, arguments))))
        return folded(FUNCTIONS[name](list(map(folded, arguments))))

    def _draw(self, mark: str, message: Message) -> Expr:
        """The column that random() or uuid() has become below."""
        column = draw_column(mark, int(message.arguments[0].value.literal.i64))
        if column not in self._schema().names:
            word = mark.removeprefix(HIDDEN)
            raise unsupported(
                f"{word}() in this place", word=word, try_=f"{word}() in a subquery in FROM"
            )
        return Column(column)

    def _of_intervals(self, name: str, operands: list[Expr | Moving]) -> Expr | Moving:
        if name in _COMPARISONS:
            sides = [intervals.as_duration(each) for each in operands]
            return folded(self._comparison(name, sides))
        if name in _PRODUCTS:
            count, interval = operands if name == TIMES else reversed(operands)
            assert isinstance(count, Expr)
            number = folded(self.without_float_cast(count))
            return intervals.multiplied(number, interval, self.type_of(number))
        return intervals.computed(name, operands, self.type_of)

    def _of_nan(self, name: str, arguments: list[Expr]) -> Expr:
        """Functions that see NaN as comparisons do: it equals itself, and has no sign."""
        value = arguments[0]
        if name == "signum":
            return when(value.is_nan()).then(0.0).otherwise(FUNCTIONS[name](arguments))
        null = Literal(pa.scalar(None, self.type_of(value)))
        return when(self._comparison("equal", arguments)).then(null).otherwise(value)

    def _list_length(self, value: Expr) -> Expr | None:
        """The length of a list that is cast to a string; None for others."""
        if not is_cast_to(value, pa.types.is_string):
            return None
        assert isinstance(value, Call)
        is_list = pa.types.is_nested(self.type_of(value.arguments[0]))
        return value.arguments[0].list_length() if is_list else None

    def _formatted(self, message: Message) -> Expr:
        """A value of `format` and `printf`, without the cast that it has for the binder."""
        value, how = (argument.value for argument in message.arguments)
        inner = self(value.cast.input if value.WhichOneof("rex_type") == "cast" else value)
        return formatted(inner, self.type_of(inner), str(constant(self(how), "a format")))

    def _roomy(self, value: Expr) -> Expr:
        data_type = self.type_of(value)
        return with_room(value, data_type) if pa.types.is_decimal(data_type) else value

    def _rounded(self, name: str, arguments: list[Expr]) -> Expr:
        """A decimal keeps the digits that it is rounded to."""
        value = FUNCTIONS[name](arguments)
        data_type = self.type_of(value)
        digits = constant(arguments[1], name) if len(arguments) > 1 else 0
        if not pa.types.is_decimal(data_type) or digits is None:
            return value
        scale = min(max(int(digits), 0), data_type.scale)
        precision = max(data_type.precision - data_type.scale + scale, 1)
        return value.cast(pa.decimal128(precision, scale))

    def _comparison(self, name: str, arguments: list[Expr]) -> Expr:
        """Constants stand on the right, where bounds of columns are looked for."""
        left, right = self._compared(arguments)
        are_constants = isinstance(left, Literal) and isinstance(right, Literal)
        if are_constants and "distinct" not in name and (is_null(left) or is_null(right)):
            return Literal(pa.scalar(None, pa.bool_()))
        if isinstance(left, Literal) and not isinstance(right, Literal):
            name, left, right = _TURNED.get(name, name), right, left
        plain = bounds_of_year(FUNCTIONS[name]([left, right]), self.type_of)
        has_nan = [self._may_be_nan(side) for side in (left, right)]
        is_unknown = is_null(left) or is_null(right)
        if not any(has_nan) or is_unknown or self._is_of_several(left.columns() | right.columns()):
            return plain
        return with_nan(name, plain, (left, right), has_nan)

    def _is_of_several(self, columns: frozenset[str]) -> bool:
        return bool(self.joined) and not any(columns <= each for each in self.joined)

    def _may_be_nan(self, value: Expr) -> bool:
        """Whether a value is a float that is no whole number or decimal by itself."""
        if isinstance(value, Literal):
            constant_value = value.value.as_py() if hasattr(value.value, "as_py") else value.value
            return isinstance(constant_value, float) and math.isnan(constant_value)
        if not pa.types.is_floating(self.type_of(value)):
            return False
        if not is_cast_to(value, pa.types.is_floating):
            return True
        assert isinstance(value, Call)
        of = self.type_of(value.arguments[0])
        return bool(pa.types.is_floating(of) or pa.types.is_string(of))

    def _arithmetic(self, name: str, arguments: list[Expr]) -> Expr:
        left, right = arguments
        if name == "modulus":
            left, right = folded(left), folded(right)
        if _is_mark(right, WHOLE):
            return Call(name, (left, right))
        if _is_whole(left):
            assert isinstance(left, Call)
            return whole_quotient(left.arguments[0], right, self.type_of)
        if name == "divide":
            return self._quotient(left, right)
        if name == "multiply" and self._is_double(left, right):
            return left
        if name == "modulus":
            return remainder(left, right, self.type_of)
        if name == "subtract" and all(pa.types.is_date(self.type_of(side)) for side in arguments):
            return left.cast(pa.int32()).cast(pa.int64()) - right.cast(pa.int32()).cast(pa.int64())
        for this, other in ((left, right), (right, left)):
            if is_cast_to(this, pa.types.is_decimal) and pa.types.is_decimal(self.type_of(other)):
                left, right = self._exact(left), self._exact(right)
                break
        return Call(name, (folded(left), folded(right)))

    def _exact(self, expression: Expr) -> Expr:
        """A decimal or an integer without a cast that changes no value of it."""
        if not is_cast_to(expression, pa.types.is_decimal):
            return expression
        assert isinstance(expression, Call)
        inner, target = expression.arguments[0], expression.option
        data_type = self.type_of(inner)
        if pa.types.is_decimal(data_type) and data_type.scale <= target.scale:
            return inner
        return inner if pa.types.is_integer(data_type) else expression

    def _compared(self, arguments: list[Expr]) -> list[Expr]:
        """Both sides of a comparison without casts that change no value: integers and decimals
        compare exactly, a decimal and a float as floats."""
        plain = [folded(self._exact(self.narrow(argument))) for argument in arguments]
        kinds = [None if isinstance(each, Literal) else self.type_of(each) for each in plain]
        known = [kind for kind in kinds if kind is not None]
        floats = set(filter(pa.types.is_floating, known))
        if not floats:
            return plain
        target = pa.float32() if floats == {pa.float32()} else pa.float64()
        return [as_float(e, kind, target) for e, kind in zip(plain, kinds, strict=True)]

    def narrow(self, expression: Expr) -> Expr:
        if not is_cast_to(expression, pa.types.is_integer):
            return expression
        assert isinstance(expression, Call)
        inner = expression.arguments[0]
        data_type = self.type_of(inner)
        return inner if widens(data_type, expression.option) else expression

    def _is_double(self, left: Expr, right: Expr) -> bool:
        """Whether `left` is a double times the 1.0 by which a division is marked."""
        one = folded(right)
        is_one = isinstance(one, Literal) and isinstance(one.value, float) and one.value == 1.0
        return is_one and bool(pa.types.is_float64(self.type_of(left)))

    def _quotient(self, left: Expr, right: Expr) -> Expr:
        """A division of doubles: statements were rewritten so that there is no other."""
        sides = [folded(self.without_float_cast(side)) for side in (left, right)]
        return sides[0] / sides[1]

    def without_float_cast(self, expression: Expr) -> Expr:
        if not is_cast_to(expression, pa.types.is_float64):
            return expression
        assert isinstance(expression, Call)
        inner = expression.arguments[0]
        data_type = self.type_of(inner)
        is_number = pa.types.is_integer(data_type) or pa.types.is_decimal(data_type)
        return inner if is_number else expression

    def _at_zone(self, name: str, arguments: list[Expr]) -> Expr:
        value, zone = arguments[0], str(constant(arguments[1], "a time zone"))
        data_type = self.type_of(value)
        if name == ZONED and getattr(data_type, "tz", None) is not None:
            raise ZonedValueError(constant(arguments[2], "a place"))
        if name == LOCAL:
            return Call("local_time", (self._instant(value),), zone)
        unit = "ns" if getattr(data_type, "unit", None) == "ns" else "us"
        return Call("instant_of_zone", (self.converted(value, pa.timestamp(unit)),), zone)

    def _as_instant(self, arguments: list[Expr]) -> Expr:
        """What functions of instants take, where their arguments are no timestamps already."""
        value, name = map(folded, arguments)
        if not isinstance(name, Literal) or name.value != INSTANT:
            raise unsupported("arrow_cast", word="arrow_cast", try_="cast(x as timestamp)")
        data_type = self.type_of(value)
        is_instant = pa.types.is_date32(data_type) or pa.types.is_timestamp(data_type)
        return value if is_instant else self.converted(value, pa.timestamp("us"))

    def _instant(self, value: Expr) -> Expr:
        """A date or timestamp without the cast to the one type that DataFusion has for both."""
        if not is_cast_to(value, pa.types.is_timestamp):
            return value
        assert isinstance(value, Call)
        data_type = self.type_of(value.arguments[0])
        is_instant = pa.types.is_date32(data_type) or pa.types.is_timestamp(data_type)
        return value.arguments[0] if is_instant else value

    def _cast(self, message: Message) -> Expr | Moving:
        inner = self.any_of(message.input)
        if not isinstance(inner, Expr):
            return inner
        kind = message.type.WhichOneof("kind")
        is_interval = kind in ("interval_compound", "interval_day")
        if is_interval and pa.types.is_duration(self.type_of(inner)):
            return inner
        if kind == "interval_compound" or (
            kind == "interval_day" and pa.types.is_integer(self.type_of(inner))
        ):
            return intervals.interval_of(folded(inner), counts_seconds=kind == "interval_day")
        target = arrow_type(message.type)
        if _is_whole(inner) or any(_is_mark(inner, mark) for mark in OPERATOR_MARKS):
            return inner
        if isinstance(inner, Literal) and inner.value is None:
            return Literal(pa.scalar(None, target))
        if target in _NANOSECONDS and getattr(self.type_of(inner), "unit", None) != "ns":
            target = pa.timestamp("us", target.tz)  # which TIMESTAMP counts: the year 9999 fits
        return self.converted(inner, target, tries=message.failure_behavior == RETURN_NULL)

    def converted(self, value: Expr, target: pa.DataType, *, tries: bool = False) -> Expr:
        """The value as another type, rounded as SQL does where that has fewer digits; NULL where it
        does not fit, if it only tries."""
        data_type = self.type_of(value)
        if data_type == target or self._names.has_added(data_type, target):
            return value
        if pa.types.is_dictionary(data_type) and data_type.value_type == target:
            return value
        if pa.types.is_duration(data_type) and pa.types.is_string(target):
            raise unsupported("a cast of a difference of times", try_="extract(epoch from b - a)")
        return converted(value, data_type, target, tries=tries)

    def _case(self, message: Message) -> Expr:
        """Without the parts that constants decide on: what is never chosen may be an error."""
        parts: list[Expr] = []
        subject: Expr | None = None
        for clause in message.ifs:
            condition = self(getattr(clause, "if"))
            if not clause.HasField("then"):  # CASE x WHEN ...: the first has x alone
                subject = condition
                continue
            if subject is not None:
                condition = folded(self._comparison("equal", [subject, condition]))
            if is_true(condition):
                return _choice(parts, self(clause.then))
            if not is_never(condition):
                parts += (condition, self(clause.then))
        has_else = message.HasField("else")
        otherwise = self(getattr(message, "else")) if has_else else Literal(None)
        if not parts and isinstance(otherwise, Literal) and otherwise.value is None:
            return self._null_of(message)
        return _choice(parts, otherwise)

    def _null_of(self, choice: Message) -> Expr:
        """NULL of the type that the values of a CASE have, of which none is ever chosen."""
        for clause in choice.ifs:
            if clause.HasField("then"):
                with contextlib.suppress(CrossdockError):
                    return Literal(pa.scalar(None, self.type_of(self(clause.then))))
        return Literal(None)

    def _listed(self, message: Message) -> Expr:
        subject = self(message.value)
        options = [self(option) for option in message.options]
        if not all(isinstance(option, Literal) for option in options):
            whole: Expr | None = None
            for option in options:
                equal = self._comparison("equal", [subject, option])
                whole = equal if whole is None else whole | equal
            return whole if whole is not None else Literal(False)
        values = [option.value for option in options if isinstance(option, Literal)]
        known = [value for value in values if not _is_null(value)]
        plain = self._compared([subject, *options])[0]
        membership = is_one_of(plain, known, self.type_of(plain))
        if len(known) < len(values):  # NULL in the list: no row is known not to be in it
            return when(membership).then(True).otherwise(Literal(pa.scalar(None, pa.bool_())))
        return membership


def _choice(parts: Sequence[Expr], otherwise: Expr) -> Expr:
    return folded(Call("case", (*parts, otherwise))) if parts else otherwise


def _is_mark(expression: Expr, mark: str) -> bool:
    return isinstance(expression, Column) and expression.name == mark


def _is_whole(expression: Expr) -> bool:
    """Whether it is the dividend of `//`, with its mark."""
    return isinstance(expression, Call) and _is_mark(expression.arguments[-1], WHOLE)


def _is_null(value: Any) -> bool:
    return value is None or (hasattr(value, "is_valid") and not value.is_valid)
