"""Compiles filters and projections into the engine's expressions, so that an operator above them
computes them while it reads its input, block by block, instead of from a table made for it.

The engine's expressions are JSON (include/crossdock/expressions.hpp). What it cannot compute, or
would compute in another type than pyarrow does, is not fused: pyarrow evaluates it before.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.arithmetic import decimal_digits, fit_literal
from crossdock.engine_types import empty_table, engine_table, lies_as_it_is
from crossdock.evaluation import literal_types, plain_type
from crossdock.expression_types import TypesOver
from crossdock.expressions import (
    COMPARISONS,
    MOST_DEPTH,
    Call,
    Column,
    Expr,
    Literal,
    conjuncts,
    identity,
    may_raise,
)
from crossdock.lowering import unused_name
from crossdock.nodes import Filter, Node, Project, Scan
from crossdock.sources import ArrowSource
from crossdock.type_checks import checking_engine

# Parts of all expressions of one operator; substitution can multiply them.
_MOST_PARTS = 2000
_FORMATS = {
    pa.bool_(): "b", pa.int8(): "c", pa.int16(): "s", pa.int32(): "i", pa.int64(): "l",
    pa.uint8(): "C", pa.uint16(): "S", pa.uint32(): "I", pa.uint64(): "L",
    pa.float32(): "f", pa.float64(): "g", pa.date32(): "tdD", pa.date64(): "tdm",
    pa.string(): "u", pa.large_string(): "U",
}  # fmt: skip
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}
_PLAIN = COMPARISONS | frozenset((
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "negate", "abs",
    "and_kleene", "or_kleene", "invert", "is_null", "is_valid", "case", "coalesce",
    "year", "quarter", "month", "week", "day", "day_of_year", "weekday",
    "hour", "minute", "second", "date",
    "length", "lower", "upper", "concat", "greatest", "least",
    "power", "sqrt", "exp", "ln", "log2", "log10", "floor", "ceil", "sign", "is_nan",
))  # fmt: skip
# Functions whose options are constants: integers and periods as arguments, texts as values.
_WITH_CONSTANTS = frozenset(("strip", "substring", "replace", "lpad", "rpad"))
_WITH_ARGUMENTS = frozenset(("round", "truncate", "add_months"))
_CHOICES = frozenset(("case", "coalesce", "greatest", "least"))
_TEXTS = (pa.string(), pa.large_string())
_TURNED = {"less": "greater", "less_equal": "greater_equal",
           "greater": "less", "greater_equal": "less_equal"}  # fmt: skip
Json = dict[str, Any]


@dataclass(frozen=True)
class Fused:
    """A node as a table and what is computed over it. `names` says for each column of the node
    which column of the table, or which of `computed`, it is; `where` is a JSON list, "" = none."""

    table: Node
    where: str
    computed: tuple[tuple[str, str], ...]  # name, expression as JSON
    names: dict[str, str]

    @property
    def is_fused(self) -> bool:
        """Whether anything is left to the engine."""
        return bool(self.where or self.computed)

    def located(self, places: Mapping[str, str]) -> Fused:
        """The same over a table whose columns have the names that `places` gives."""
        taken = set(places.values())
        names = {name: places[of] for name, of in self.names.items() if of in places}
        computed = []
        for name, text in self.computed:
            found = unused_name(name, taken)
            taken.add(found)
            computed.append((found, json.dumps(_located(json.loads(text), places))))
            names.update({column: found for column, of in self.names.items() if of == name})
        where = json.dumps(_located(json.loads(self.where), places)) if self.where else ""
        return Fused(self.table, where, tuple(computed), names)


def fuse(node: Node) -> Fused:
    """`node` with the filters and projections at its top compiled, as far down as the engine can
    compute them; the rest of it is `Fused.table`."""
    layers: list[Filter | Project] = []
    base = node
    while isinstance(base, Filter | Project):
        layers.append(base)
        base = base.input
    fusing = _Fusing(base)
    for layer in reversed(layers):
        if not fusing.put(layer):
            fusing = _Fusing(layer)
    return fusing.result()


def unfused(node: Node) -> Fused:
    """`node` as a table, with nothing computed over it."""
    return Fused(node, "", (), {name: name for name in node.schema.names})


def compile_expression(expression: Expr, schema: Any) -> str | None:
    """The expression as JSON for the engine, over a table of `schema`; None where the engine
    cannot compute it, or not in the type that evaluation gives it."""
    found = _compiled([expression], schema)
    return None if found is None else json.dumps(found[0])


class _Fusing:
    """The layers so far: conditions and columns as expressions over one table."""

    def __init__(self, base: Node) -> None:
        self.table = base
        self.where: list[Expr] = []
        self.columns: dict[str, Expr] = {name: Column(name) for name in base.schema.names}
        self.schema = base.schema
        self._take_filter_of_scan()

    def put(self, layer: Filter | Project) -> bool:
        """Takes a layer in; False, and nothing changed, if it cannot be fused."""
        where, columns = self.where, self.columns
        parts = [layer.predicate] if isinstance(layer, Filter) else [e for _, e in layer.items]
        if _deepest(parts) + _deepest(columns.values()) > MOST_DEPTH:
            return False
        if isinstance(layer, Filter):
            where = [*where, *(_over(part, columns) for part in in_order(layer.predicate))]
        else:
            columns = {name: _over(item, columns) for name, item in layer.items}
        computed = [item for item in columns.values() if not isinstance(item, Column)]
        if sum(map(_parts, [*where, *computed])) > _MOST_PARTS:
            return False
        if _compiled([*where, *computed], self.schema) is None:
            return False
        self.where, self.columns = where, columns
        return True

    def result(self) -> Fused:
        taken = set(self.schema.names)
        names: dict[str, str] = {}
        computed: dict[str, Expr] = {}
        known: dict[object, str] = {}  # what is computed twice has one name
        for name, item in self.columns.items():
            if isinstance(item, Column):
                names[name] = item.name
                continue
            found = known.setdefault(identity(item), unused_name(name, taken))
            taken.add(found)
            names[name] = found
            computed[found] = item
        where = _compiled(self.where, self.schema) or []
        items = _compiled(list(computed.values()), self.schema) or []
        texts = tuple((name, json.dumps(item)) for name, item in zip(computed, items, strict=True))
        return Fused(self.table, json.dumps(where) if where else "", texts, names)

    def _take_filter_of_scan(self) -> None:
        """The filter of a table in memory is cheaper here than a filtered copy of the table."""
        scan = self.table
        if not isinstance(scan, Scan) or scan.predicate is None:
            return
        if not isinstance(scan.source, ArrowSource):
            return
        parts = in_order(scan.predicate)
        columns = tuple(dict.fromkeys((*scan.columns, *sorted(scan.predicate.columns()))))
        schema = pa.schema([scan.source.schema.field(name) for name in columns])
        if _compiled(parts, schema) is None:
            return
        self.table = replace(scan, columns=columns, schema=schema, predicate=None)
        self.schema = schema
        self.where = parts


def _located(item: Any, places: Mapping[str, str]) -> Any:
    if isinstance(item, list):
        return [_located(part, places) for part in item]
    if not isinstance(item, dict):
        return item
    if "column" in item:
        return {"column": places[item["column"]]}
    return {**item, "of": _located(item["of"], places)} if "of" in item else item


def in_order(predicate: Expr) -> list[Expr]:
    """The parts of a conjunction as evaluation.keep_rows applies them: what may raise is last."""
    return sorted(conjuncts(predicate), key=may_raise)


def _over(expression: Expr, columns: dict[str, Expr]) -> Expr:
    """The expression with each column replaced by what it is made of."""
    if isinstance(expression, Column):
        return columns[expression.name]
    if isinstance(expression, Call):
        arguments = tuple(_over(argument, columns) for argument in expression.arguments)
        return Call(expression.function, arguments, expression.option)
    return expression


def _deepest(expressions: Iterable[Expr]) -> int:
    return max((expression.depth for expression in expressions), default=0)


def _parts(expression: Expr) -> int:
    if isinstance(expression, Call):
        return 1 + sum(map(_parts, expression.arguments))
    return 1


def _compiled(expressions: Sequence[Expr], schema: Any) -> list[Json] | None:
    """All of `expressions`, or None if the engine does not compute one of them as pyarrow does."""
    compiler = _Compiler(schema)
    compiled = [compiler.compile_whole(expression) for expression in expressions]
    return None if None in compiled else [item for item in compiled if item is not None]


@functools.lru_cache(maxsize=10_000)
def _engine_type(call: str, types: tuple[Any, ...]) -> Any:
    """The type that the engine gives a call, as JSON, of columns "0", "1" of `types` (None for the
    arguments that are literals); None where it does not compute it. Asked with no rows, once."""
    schema = pa.schema([pa.field(str(i), t) for i, t in enumerate(types) if t is not None])
    engine = checking_engine()
    try:
        table = engine_table(engine, empty_table(schema))
        computed = pa.schema(_native.compute_columns(engine, table, [("result", call)]))
    except _native.NativeError:
        return None
    return computed.field("result").type


class _Compiler:
    """Compiles over one schema what the engine computes in the type that evaluation gives it."""

    def __init__(self, schema: Any) -> None:
        self._fields = {field.name: field for field in schema}
        self._type_of = TypesOver(schema)

    def compile_whole(self, expression: Expr) -> Json | None:
        """A whole condition or column. A literal is asked about here, too: the engine compares with
        strings, but makes no columns of them."""
        compiled = self.compile(expression)
        if compiled is None or not isinstance(expression, Literal):
            return compiled
        return compiled if _engine_type(json.dumps(compiled), ()) is not None else None

    def compile(self, expression: Expr) -> Json | None:
        if isinstance(expression, Column):
            stands = lies_as_it_is(self._fields[expression.name].type)
            return {"column": expression.name} if stands else None
        if isinstance(expression, Literal):
            return _literal(fit_literal(expression.value, pa.null()))
        assert isinstance(expression, Call)
        call = _column_first(expression)
        compiled = self._call(call)
        if compiled is None or not self._agrees(compiled, expression, call.arguments):
            return None
        return compiled

    def _agrees(self, compiled: Json, expression: Expr, arguments: Sequence[Expr]) -> bool:
        """Whether the engine gives the call the same type, over columns of its arguments' types."""
        alone = dict(compiled)
        types: list[Any] = []
        if "of" in compiled:
            alone["of"] = []
        for part in compiled.get("of", ()):
            is_literal = "literal" in part
            alone["of"].append(part if is_literal else {"column": str(len(types))})
            types.append(None if is_literal else self._argument_type(arguments[len(types)]))
        if "values" in compiled:  # of one type, and there may be many
            alone["values"] = compiled["values"][:8]
        found, wanted = _engine_type(json.dumps(alone), tuple(types)), self._type_of(expression)
        # Strings that the engine computes are views, which become what is wanted in the result.
        return bool(found == wanted or (found == pa.string_view() and wanted in _TEXTS))

    def _argument_type(self, argument: Expr) -> Any:
        if isinstance(argument, Column):
            return self._fields[argument.name].type
        return self._type_of(argument)

    def _call(self, call: Call) -> Json | None:
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
            if not self._castable(call):
                return None
            return self._of("cast", call.arguments, type=_format(call.option))
        if function in _WITH_CONSTANTS or function in _WITH_ARGUMENTS:
            return self._with_constants(call)
        if function == "add" and self._type_of(call) in _TEXTS:
            return self._of("concat", self._typed(call))
        if function not in _PLAIN or (function in _CHOICES and self._rounds(call)):
            return None
        return self._of(function, self._typed(call))

    def _with_constants(self, call: Call) -> Json | None:
        constants = call.option if isinstance(call.option, tuple) else (call.option,)
        integers = [pa.scalar(c, pa.int64()) for c in constants if isinstance(c, int)]
        texts = [c for c in constants if isinstance(c, str)]
        more: dict[str, Any] = {"values": texts} if texts else {}
        arguments = [*call.arguments, *map(Literal, integers)]
        if texts and call.function in _WITH_ARGUMENTS:
            arguments += map(Literal, texts)
            more = {}
        return self._of(call.function, arguments, **more)

    def _rounds(self, call: Call) -> bool:
        """Whether integers become floats that could be others, which pyarrow refuses."""
        if not pa.types.is_floating(self._type_of(call)):
            return False
        types = [self._type_of(a) for a in call.arguments if not isinstance(a, Literal)]
        return any(pa.types.is_integer(found) and found.bit_width > 32 for found in types)

    def _of(self, function: str, arguments: Sequence[Expr], **more: Any) -> Json | None:
        of = [self.compile(argument) for argument in arguments]
        return None if None in of else {"call": function, "of": of, **more}

    def _typed(self, call: Call) -> list[Expr]:
        """The arguments, with literals of the type that they take beside the others."""
        types = [
            None if isinstance(argument, Literal) else self._type_of(argument)
            for argument in call.arguments
        ]
        fitting = literal_types(call, types)
        if call.function in _CHOICES and all(map(pa.types.is_null, fitting)):
            fitting = [self._type_of(call)] * len(types)  # literals alone, and NULL among them
        return [
            Literal(_same_kind(fit_literal(argument.value, wanted), wanted))
            if isinstance(argument, Literal)
            else argument
            for argument, wanted in zip(call.arguments, fitting, strict=True)
        ]

    def _is_in(self, call: Call) -> Json | None:
        from crossdock.evaluation import value_set

        subject = self._type_of(call.arguments[0])
        if pa.types.is_floating(subject):
            return None
        values = [_literal(value) for value in value_set(call.option, subject)]
        if any(value is None for value in values):
            return None
        texts = [value["literal"] for value in values if value is not None]
        return self._of("is_in", call.arguments, values=texts)

    def _like(self, call: Call) -> Json | None:
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
        if target in _TEXTS:
            kinds = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_date32)
            return any(is_kind(source) for is_kind in kinds)
        if pa.types.is_decimal128(source):
            return bool(pa.types.is_decimal128(target) or target == pa.float64())
        if pa.types.is_integer(source):
            exact = target == pa.float64() and source.bit_width <= 32
            if pa.types.is_decimal128(target):
                # pyarrow refuses types that could not hold every integer.
                return bool(target.precision - target.scale >= decimal_digits(source)[0])
            return bool(exact or pa.types.is_integer(target))
        return bool(source == pa.float32() and target == pa.float64())


def _column_first(call: Call) -> Call:
    """A comparison of a text literal with a column, turned around."""
    if call.function not in COMPARISONS or not isinstance(call.arguments[0], Literal):
        return call
    left, right = call.arguments
    return Call(_TURNED.get(call.function, call.function), (right, left))


def _same_kind(literal: Any, wanted: Any) -> Any:
    """A date or time as the type it is compared with, where that loses nothing."""
    both = pa.types.is_temporal(literal.type) and pa.types.is_timestamp(wanted)
    if not both or literal.type == wanted or wanted.tz is not None:
        return literal
    if getattr(literal.type, "tz", None) is not None:
        return literal
    try:
        return literal.cast(wanted)
    except pa.ArrowInvalid:
        return literal


def _format(data_type: Any) -> str | None:
    """The Arrow format string of a type that literals and casts can have."""
    if pa.types.is_decimal128(data_type):
        return f"d:{data_type.precision},{data_type.scale}"
    if pa.types.is_timestamp(data_type):
        return f"ts{_UNITS[data_type.unit]}:{data_type.tz or ''}"
    if pa.types.is_time(data_type):
        return f"tt{_UNITS[data_type.unit]}"
    if pa.types.is_duration(data_type):
        return f"tD{_UNITS[data_type.unit]}"
    return _FORMATS.get(data_type)


def _literal(scalar: Any) -> Json | None:
    found = _format(plain_type(scalar.type))
    if found is None:
        return None
    return {"literal": _value(scalar), "type": found}


def _value(scalar: Any) -> Any:
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
