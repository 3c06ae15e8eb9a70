"""Binds SQL with DataFusion, over schemas alone: it sees names and types, and never a row. What
comes back is its optimised plan as a Substrait message."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error, nearest
from crossdock.sql_frontend.added_functions import added_functions
from crossdock.sql_frontend.advice import (
    explained,
    instead_of_function,
    instead_of_name,
    instead_of_syntax,
    is_plain,
)
from crossdock.sql_frontend.bindable_schemas import with_numbers
from crossdock.sql_frontend.binder_marks import average, marks
from crossdock.sql_frontend.deep_stack import begin, with_deep_stack
from crossdock.sql_frontend.errors import (
    AmbiguousNameError,
    Fragment,
    OtherTypeError,
    RepeatedNameError,
    UnknownNameError,
    UnknownTableError,
    place_of,
    sql_error,
    unsupported,
)
from crossdock.sql_frontend.kept_plans import KeptPlans, key_of
from crossdock.sql_frontend.text.rewritten import HIDDEN, ROWS, Rewritten
from crossdock.sql_frontend.text.tokens import place_of_word, quoted, tokens_of

if TYPE_CHECKING:
    from datafusion import DataFrame, SessionContext
    from google.protobuf.message import Message

_SETTINGS = {
    "datafusion.sql_parser.parse_float_as_decimal": "true",  # 0.06 has two digits, as in a table
    "datafusion.optimizer.max_passes": "3",
    "datafusion.catalog.information_schema": "false",
    "datafusion.execution.time_zone": "UTC",  # without it TIMESTAMPTZ has no zone
}
_NULL_ORDER = "datafusion.sql_parser.default_null_ordering"
# Rules of DataFusion that are done here: it computes constants as it would compute columns, with
# sums that wrap around and casts that cut; and what several expressions have in common the engine
# computes once.
_LEFT_OUT = ("simplify_expressions", "common_sub_expression_eliminate")
# What drops columns and rows that nothing reads, and moves expressions: where one is an UNNEST,
# other rows would come of it. The engine does all of that, knowing of it.
_NOT_WITH_UNNEST = (
    "optimize_projections", "push_down_limit", "push_down_filter", "extract_leaf_expressions",
    "push_down_leaf_projections",
)  # fmt: skip
_PLACE = re.compile(r"at Line: (\d+), Column: (\d+)")
_NO_FIELD = re.compile(
    r"No field named (?P<name>.+?)\.(?: Did you mean '(?P<near>[^']*)'| Valid|\n|$)", re.S
)
_NO_TABLE = re.compile(r"table '(?:[^'.]+\.)*([^']+)' not found")
_NOT_GROUPED = re.compile(r'column "([^"]+)" must appear in the GROUP BY')
_AMBIGUOUS = re.compile(
    r"Ambiguous reference to unqualified field (\S+)"
    r"|Schema contains duplicate qualified field name (\S+)"
)
_REPEATED = re.compile(
    r"qualified field name .+\.(.+?) and unqualified field name"
    r"|unique expression names but the expression \"(?:.+?\.)?([^\".]+)\" at position"
)
_OTHER_TYPES = re.compile(
    r"Function '(\w+)' failed to match any signature|satisfy a call to '(\w+)' function"
    r"|^.*\b(array_element) does not support type Utf8"
)
_OF_STRINGS = ("array_slice", "array_element")  # that brackets are of, or characters
# What to write of values that a function does not take.
_OF_TYPES = {
    "avg": "x::double, or extract(epoch from b - a) of differences of times",
    "array_slice": "substr(s, 1, 3) of strings", "array_element": "substr(s, 2, 1) of strings",
    "date_part": "make_timestamp_ms(x) of numbers, x::timestamp of strings",
}  # fmt: skip
_NO_FUNCTION = re.compile(r"Invalid function '([^']+)'")
# What is no column, such as Int64(5), before IN: its comparison becomes a filter of the subquery,
# where NULLs are gone.
_CONSTANT_IN = re.compile(r"(?:\)|NULL) (?:NOT )?IN \(<subquery>\)")
# What a subquery gives where it finds nothing DataFusion computes, with casts that cut.
_CAST_COUNT = re.compile(r"Projection: .*CAST\(.*count\(.* AS (?:U?Int|Decimal)")
_ROW_ONCE = re.compile(r"DISTINCT (?:named_)?struct\(")
_KEYS = re.compile(r"Aggregate: groupBy=\[\[(.*?)\]\]")
_TOTALS = re.compile(r"Aggregate: groupBy=\[\[(?:\]|ROLLUP|CUBE|GROUPING SETS)")
# What DataFusion binds and Substrait has not: a pattern of what it says, the construct, a word of
# it in the text, and what to write instead.
_REFUSALS = (
    ("OuterReferenceColumn|outer_ref", "a subquery with an outer column in this way",
     "select", "a join with a GROUP BY, or EXISTS in WHERE with equal columns"),
    ("Unsupported plan type: <subquery>", "LATERAL of this shape", "lateral", "a GROUP BY, joined"),
    ("Correlated scalar subquery can only", "a correlated subquery in ORDER BY, ON or a function",
     "select", "a subquery in FROM that has the value as a column"),
    ("Collate", "COLLATE", "collate", "lower(x), where the case does not count"),
    ("Cannot access field at argument", "a field of what is no struct", "select",
     "another name for the table, where it is that of a column, too"),
    ("PGOverlap|AtArrow|ArrowAt", "an operator of lists", "select",
     "list_has_any(a, b), or list_has_all(a, b)"),
    ("Unsupported interval argument", "an interval of no constant", "interval", "day + n of dates"),
    ("SimilarTo", "SIMILAR TO a pattern that is no constant", "similar", "LIKE, or OR of several"),
    ("Unsupported plan type: RecursiveQuery", "WITH RECURSIVE in a subquery", "recursive",
     "WITH RECURSIVE at the beginning of the text"),
)  # fmt: skip


@dataclass(frozen=True)
class Bound:
    """A plan: the message, whose names are those of the result, and of each anti join, as they
    come, whether NULL on its right side leaves nothing over."""

    message: Message
    null_aware: tuple[bool, ...]
    marks: str = ""  # what LeftMark joins are of: "in", "exists", or "" where the text has both
    unnests: int = 0  # that the plan must have
    decimals: frozenset[tuple[int, int]] | None = None  # that the text has; None: all of the plan
    seed: int | None = None  # of random() and uuid(); None: one is drawn


_kept: KeptPlans[Bound] = KeptPlans()


@cache
def _library() -> Any:
    """The modules of DataFusion and Substrait; OptionError where they are not installed."""
    try:
        import datafusion
        from datafusion import substrait
        from google._upb import _message
        from substrait.plan_pb2 import Plan
    except ImportError as error:
        raise make_error(
            "CD-514", f"SQL needs packages that are not installed: {error}",
            try_="pip install 'crossdock[sql]'",
        ) from None  # fmt: skip
    # A message nests three levels per operator, and the limit is a hundred otherwise.
    _message.SetAllowOversizeProtos(True)
    return datafusion, substrait.Producer, Plan


def require_library() -> None:
    """OptionError where the packages that SQL needs are not installed."""
    _library()


def prepare() -> None:
    """Begins to load DataFusion, beside what the caller does: a first text need not wait for all
    of it."""
    begin(_library)


def bind(
    text: Rewritten,
    tables: Mapping[str, pa.Schema],
    values: Mapping[str, Any],
    nulls_first: bool = False,
) -> Bound:
    """The plan of a query over `tables`, schemas by name, with the values of its parameters. A text
    that comes again, with the same schemas and values, has the plan that it had before.

    Errors: UnknownTableError; UnknownNameError; RepeatedNameError; AmbiguousNameError; SqlError.
    """
    schemas = tuple(sorted(tables.items(), key=lambda item: item[0]))
    key = key_of(text.text, values, (schemas, nulls_first))
    kept = None if text.has_moment else _kept.get(key)
    if kept is None:
        length = len(text.text)
        kept = with_deep_stack(lambda: _bound(text, tables, values, nulls_first), length)
        _kept.put(key, kept)
    return kept


def _bound(
    text: Rewritten, tables: Mapping[str, pa.Schema], values: Mapping[str, Any], nulls_first: bool
) -> Bound:
    try:
        return _planned(text, tables, values, nulls_first)
    except BaseException as error:  # all kinds that DataFusion raises, its panics among them
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        # It refuses functions of columns of type null, which have no value to refuse.
        numbers = {name: with_numbers(schema) for name, schema in tables.items()}
        if numbers != tables:
            with contextlib.suppress(Exception):
                return _planned(text, numbers, values, nulls_first)
        raise _public_error(error, text, tables) from None


def _planned(
    text: Rewritten, tables: Mapping[str, pa.Schema], values: Mapping[str, Any], nulls_first: bool
) -> Bound:
    datafusion, producer, plan_type = _library()
    context = _context(tables, nulls_first)
    only_queries = (
        datafusion.SQLOptions()
        .with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    )  # fmt: skip

    def parsed() -> DataFrame:
        return context.sql_with_options(text.text, only_queries, param_values=dict(values) or None)

    frame = parsed()
    unoptimized = frame.logical_plan().display_indent()
    if _casts_counts(unoptimized):
        raise unsupported(
            "a cast of count() in a correlated subquery", text.original,
            place_of_word(text.original, "count"), "the cast outside of the subquery",
        )  # fmt: skip
    if outside := _compared_with_itself(unoptimized):
        raise unsupported(
            f"{outside} = {outside}, both from outside of the subquery,", text.original,
            place_of_word(text.original, outside.rpartition(".")[2]), f"{outside} is not null",
        )  # fmt: skip
    wrong = list(_wrong_rules(unoptimized))
    if text.unnests:
        wrong += _NOT_WITH_UNNEST
        keys = [match[1].split(", ") for match in _KEYS.finditer(unoptimized)]
        if all(len(set(each)) == len(each) for each in keys):
            # It drops what a sort has behind unique keys, and keys of groups that are there twice.
            wrong.append("eliminate_duplicated_expr")
    if text.has_share:
        wrong.append("push_down_limit")
    if wrong:
        for rule in wrong:
            context.remove_optimizer_rule(rule)
        frame = parsed()
    plan = frame.optimized_logical_plan()
    message = plan_type.FromString(producer.to_substrait_plan(plan, context).encode())
    null_aware = _null_aware(plan.display_indent())
    return Bound(message, null_aware, text.marks, text.unnests, text.decimals)


def _context(tables: Mapping[str, pa.Schema], nulls_first: bool) -> SessionContext:
    datafusion, *_ = _library()
    order = {_NULL_ORDER: "nulls_first" if nulls_first else "nulls_last"}
    context: SessionContext = datafusion.SessionContext(datafusion.SessionConfig(_SETTINGS | order))
    for name, schema in tables.items():
        empty = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
        context.register_record_batches(name, [[empty]])
    context.register_udaf(average(datafusion))
    for function in (*marks(datafusion), *added_functions(datafusion)):
        context.register_udf(function)
    for rule in _LEFT_OUT:
        context.remove_optimizer_rule(rule)
    if ROWS in tables:  # aggregates of a text by itself stay what they are
        context.remove_optimizer_rule("single_distinct_aggregation_to_group_by")
    return context


def _wrong_rules(plan: str) -> Iterator[str]:
    """The rules of DataFusion that would change the rows of a printed plan. What they are for is
    done here as well, with conditions and with orders of joins."""
    if _filters_totals(plan) or _CONSTANT_IN.search(plan):
        yield "push_down_filter"
    if "get_field(" in plan and "map(" in plan:
        # Moves elements of a map to a column below that only has the map's name.
        yield "push_down_leaf_projections"
    if _ROW_ONCE.search(plan):
        # Groups by rows `(a, b)`, which here are counted once by their fields.
        yield "single_distinct_aggregation_to_group_by"
    if "IS NOT DISTINCT FROM" in plan and "Join:" in plan:
        # Joins that it puts together again compare with =, where NULL equals nothing.
        yield "eliminate_cross_join"


def _casts_counts(plan: str) -> bool:
    """Whether a subquery of a printed plan that reads columns from outside casts what it counts."""
    if "outer_ref(" not in plan or not _CAST_COUNT.search(plan):
        return False
    begun: list[int] = []
    for line in plan.splitlines():
        depth = len(line) - len(line.lstrip())
        while begun and begun[-1] >= depth:
            begun.pop()
        if begun and _CAST_COUNT.search(line):
            return True
        if line.lstrip().startswith("Subquery:"):
            begun.append(depth)
    return False


def _compared_with_itself(plan: str) -> str:
    """What a condition of a subquery in a printed plan compares with itself, though it comes from
    outside; "" if there is nothing. DataFusion drops such a condition, which NULL does not meet."""
    for line in plan.splitlines():
        operator, _, conditions = line.lstrip().partition(": ")
        for condition in conditions.split(" AND ") if operator == "Filter" else ():
            left, is_equal, right = condition.partition(" = ")
            if is_equal and left == right and "outer_ref(" in left:
                return re.sub(r"outer_ref\(([^)]*)\)", r"\1", left)
    return ""


def _filters_totals(plan: str) -> bool:
    """Whether a printed plan has a filter or a join above a projection of rows that there are
    without input, too: totals. DataFusion moves a condition on a constant of that projection below
    the aggregate, so that the row of totals stays, and counts nothing."""
    above: list[tuple[int, str]] = []
    for line in plan.splitlines():
        operator = line.lstrip()
        depth = len(line) - len(operator)
        while above and above[-1][0] >= depth:
            above.pop()
        if _TOTALS.match(operator):
            is_projected = False
            for _, each in reversed(above):
                if each.startswith("Subquery:"):
                    break
                if is_projected and (each.startswith("Filter:") or "Join:" in each):
                    return True
                is_projected = is_projected or each.startswith("Projection:")
        above.append((depth, operator))
    return False


def _null_aware(plan: str) -> tuple[bool, ...]:
    """Of each anti join of a printed plan whether it is NOT IN. Substrait does not say."""
    lines = (line.strip() for line in plan.splitlines())
    return tuple(
        line.endswith(" null_aware") for line in lines if line.startswith("LeftAnti Join:")
    )


def _public_error(
    error: BaseException, text: Rewritten, tables: Mapping[str, pa.Schema]
) -> Exception:
    """The error of a text that DataFusion refused, with the place where it is known."""
    if isinstance(error, CrossdockError):
        return error
    message = str(error)
    if (match := _NO_TABLE.search(message)) is not None:
        return UnknownTableError(match[1])
    if (match := _NO_FIELD.search(message)) is not None:
        return _unknown_name(match, text, tables)
    if text.unnests and "array_element does not support" in message:
        return sql_error(
            "UNNEST of what is no list", text.original, place_of_word(text.original, "unnest"),
            "a column of lists, [a, b], or string_split(s, ',')",
        )  # fmt: skip
    if (match := _NO_FUNCTION.search(message)) is not None:
        return unsupported(
            f"the function {match[1]!r}",
            text.original,
            place_of_word(text.original, match[1]),
            instead_of_function(match[1]),
        )
    if (match := _OTHER_TYPES.search(message)) is not None:
        name = match[1] or match[2] or match[3]
        error = sql_error(
            f"{name}() does not take values of these types", text.original,
            place_of_word(text.original, name),
            _OF_TYPES.get(name, "a cast of the arguments, x::double"),
        )  # fmt: skip
        is_epoch = name == "date_part" and place_of_word(text.original, "epoch_ms") is not None
        other = "epoch_ms" if is_epoch else name
        return OtherTypeError(other, error) if is_epoch or name in _OF_STRINGS else error
    if (match := _NOT_GROUPED.search(message)) is not None:
        name = match[1].rpartition(".")[2]
        return sql_error(
            f"the column {name!r} is neither in GROUP BY nor in an aggregate", text.original,
            place_of_word(text.original, name), f"any_value({name}), or {name} in GROUP BY",
        )  # fmt: skip
    if (match := _REPEATED.search(message)) is not None:
        name = (match[1] or match[2]).replace('"', "")
        error = sql_error(
            f"a select item has the name {name!r} of a column beside it", text.original,
            place_of_word(text.original, name), f"another name behind AS, or * EXCLUDE ({name})",
        )  # fmt: skip
        return RepeatedNameError(name, error)
    if (match := _AMBIGUOUS.search(message)) is not None:
        name = (match[1] or match[2]).rpartition(".")[2]
        error = sql_error(
            f"the column {name!r} is in several tables", text.original,
            place_of_word(text.original, name), f"the table before it: t.{name}",
        )  # fmt: skip
        return AmbiguousNameError(name, error)
    if "found: EOF" in message:
        return sql_error(_plain(message), text.original, len(text.original.rstrip()))
    if (match := _PLACE.search(message)) is not None:
        return _syntax_error(message, match, text, tables)
    for pattern, what, word, instead in _REFUSALS:
        if re.search(pattern, message):
            place = place_of_word(text.original, word)
            return unsupported(what, text.original, place, instead)
    return _error_without_place(_plain(message), text)


def _syntax_error(
    message: str, place: re.Match[str], text: Rewritten, tables: Mapping[str, pa.Schema]
) -> Exception:
    where = text.place_of(place_of(text.text, int(place[1]), int(place[2])))
    plain = _plain(_PLACE.sub("", message))
    typed = re.match(r"\w+|\S", text.original[where:])
    if typed is not None:  # names without AS have one, and divisions are products before them
        plain = re.sub(r"found: (AS\b|\*)", lambda _: f"found: {typed[0]}", plain)
    if isinstance(text.original, Fragment) and text.original.is_closed(where):
        plain = plain.replace("Expected: ),", "Expected: end of the expression,")
    instead = instead_of_syntax(text.original, where)
    instead = instead or instead_of_name(text.original, where, _names_of(tables))
    return sql_error(plain, text.original, where, instead)


def _error_without_place(plain: str, text: Rewritten) -> Exception:
    """The same of a message that names no place."""
    what, word, instead = explained(plain) or (plain, "", "")
    is_missing = re.search("NotImplemented|(?i:not implemented)|Unsupported", what)
    refusal = unsupported if word == "top" or is_missing else sql_error
    place = place_of_word(text.original, word) if word else None
    return refusal(what, text.original, place, instead)


def _unknown_name(
    match: re.Match[str], text: Rewritten, tables: Mapping[str, pa.Schema]
) -> Exception:
    name = match["name"].replace('"', "")
    column = name.rpartition(".")[2]
    known = _names_of(tables)
    close = nearest(column, known)
    place = _place_of_column(text.original, name)
    if place is not None and (whole := instead_of_name(text.original, place, known)):
        instead = whole
    elif close and close != column:
        instead = close
    elif place is not None and text.original[place] == '"':
        instead = f"'{column}' for a string: double quotes are around names"
    else:
        has_tables = place_of_word(text.original, "from") is not None
        instead = _listed(known) if known or not has_tables else ""
    error = sql_error(f"no column {name!r}", text.original, place, try_=instead)
    return UnknownNameError(name, error)


def _names_of(tables: Mapping[str, pa.Schema]) -> set[str]:
    """The names of all columns, in lower case."""
    names = (name for schema in tables.values() for name in schema.names)
    return {name for name in names if not name.startswith(HIDDEN)}


def _place_of_column(text: str, name: str) -> int | None:
    """Where a column stands, behind its table where `name` has one."""
    table, _, column = name.rpartition(".")
    tokens = tokens_of(text)
    for dot, word in itertools.pairwise(tokens):
        if word.name.lower() == column.lower() and (not table or dot.is_operator(".")):
            return word.start
    return place_of_word(text, column)


def _listed(names: Collection[str]) -> str:
    shown = [name if is_plain(name) else quoted(name) for name in sorted(names)[:12]]
    return "one of " + ", ".join(shown) if names else "a FROM, which has columns"


def _plain(message: str) -> str:
    """What DataFusion says, without the names of its own layers."""
    for _ in range(6):
        shorter = re.sub(
            r"^\s*(?:DataFusion error|Error during planning|SQL error|Schema error|type_coercion|"
            r"This feature is not implemented|External error|Optimizer rule '\w+' failed|"
            r"Arrow error|caused by)\s*:?\s*",
            "",
            message,
        )
        if shorter == message:
            break
        message = shorter
    message = message.replace(ROWS + ".", "")
    inner = re.search(
        r'^(?:ParserError|TokenizerError|NotImplemented|Substrait)\("(.*)"\)\s*$',
        message.strip(),
        re.S,
    )
    message = inner[1].replace('\\"', '"') if inner else message
    message = " ".join(message.split())
    return message if len(message) <= 300 else message[:297] + "..."
