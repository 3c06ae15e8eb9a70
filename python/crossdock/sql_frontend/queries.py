"""From the text of a query to a relation."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crossdock.errors import SqlError
from crossdock.expressions.expression import Column
from crossdock.files.sources import ArrowSource
from crossdock.plan.nodes import Node
from crossdock.plan.planning import plan_project, plan_scan
from crossdock.sql_frontend.bindable_schemas import bindable_schema
from crossdock.sql_frontend.binding import Bound, bind
from crossdock.sql_frontend.catalog import Catalog, Variables
from crossdock.sql_frontend.errors import (
    AmbiguousNameError,
    ListPlaceError,
    OtherTypeError,
    RepeatedNameError,
    UnknownNameError,
    UnknownTableError,
    ZonedValueError,
    sql_error,
    unsupported,
    with_place,
)
from crossdock.sql_frontend.expansion import expanded
from crossdock.sql_frontend.kept_plans import key_of
from crossdock.sql_frontend.pivoting import is_pivot, without_pivot
from crossdock.sql_frontend.recursion import is_recursive
from crossdock.sql_frontend.text.correlations import Correlations
from crossdock.sql_frontend.text.derived import Derived, part_of
from crossdock.sql_frontend.text.list_parameters import is_list, with_list_parameters
from crossdock.sql_frontend.text.refusals import require_closed
from crossdock.sql_frontend.text.respelling import respelled
from crossdock.sql_frontend.text.rewriting import rewrite
from crossdock.sql_frontend.text.rewritten import HIDDEN, NUMBERED, Meant, Rewritten
from crossdock.sql_frontend.text.templates import written_out
from crossdock.sql_frontend.text.tokens import place_of_word, tokens_of
from crossdock.sql_frontend.text.using_joins import ColumnsOf
from crossdock.sql_frontend.translation.join_planning import JoinOrders, as_json, decisions_of
from crossdock.sql_frontend.translation.plans import Translation
from crossdock.values.engine_types import distinct_names

if TYPE_CHECKING:
    import pyarrow as pa

    from crossdock.ranks.members import Ranks
    from crossdock.relation import Relation


@dataclass(frozen=True)
class Settings:
    """What SET can change for queries."""

    nulls_first: bool = False
    as_written: bool = False  # the order of joins
    seed: int | None = None  # of random() and uuid(); None: each statement draws one


Parameters = Mapping[str, Any] | Sequence[Any] | None


_NO_TABLES: dict[str, Any] = {}


def plan_query(
    catalog: Catalog,
    text: str,
    parameters: Parameters,
    around: tuple[Variables, Settings],
    local: Mapping[str, Relation] = _NO_TABLES,
) -> Relation:
    """A query with the names of its columns; `local` are tables before those of the catalog. A text
    that comes again is the same relation, as long as the catalog stays. Errors: SqlError, those of
    opening files, and of the run of recursive tables."""
    given = _named_values(parameters)
    is_part = local is not _NO_TABLES  # whose plan goes into that of the whole
    key = None if given is None or is_part else key_of(text, given, around[1])
    if (kept := catalog.kept(key)) is not None:
        return kept
    if given and any(map(is_list, given.values())):
        text, parameters = with_list_parameters(text, given)
    require_closed(text)
    text = respelled(written_out(text))
    if is_pivot(tokens_of(text)):
        select = without_pivot(
            text,
            lambda part: plan_query(catalog, part_of(part, text), None, around, {**local}),
            catalog.over_ranks() is not None,
        )
        return plan_query(catalog, part_of(select, text), parameters, around, local)
    if is_recursive(tokens_of(text)):
        return _recursive(catalog, text, parameters, around)
    parts = Parts(catalog, text, given or {}, around, local)
    if (longer := expanded(text, parts.relation, catalog.over_ranks() is not None)) is not None:
        tables = {**local, **longer.tables} if longer.tables else local
        return plan_query(catalog, longer.text, parameters, around, tables)

    def columns_of(name: str) -> list[str] | None:
        relation_of_name = local.get(name.lower()) or catalog.find(name) or around[0].table(name)
        return None if relation_of_name is None else relation_of_name.columns

    rewritten = rewrite(text, columns_of)
    values = parameter_values(rewritten, parameters)
    plans = catalog.plans  # a change of the catalog meanwhile makes others
    try:
        node, is_of_catalog = _planned_with_items(
            rewritten, values, (catalog, *around), (columns_of, local)
        )
    except SqlError as error:
        decoupled = Correlations(text, lambda part: parts.relation(part).columns).decoupled()
        if decoupled is None:
            raise
        try:
            return plan_query(catalog, decoupled, parameters, around, local)
        except SqlError:
            raise error from None
    relation = catalog.relation(node)
    if is_of_catalog and not rewritten.files:
        plans.put(key, relation)
    return relation


class Parts:
    """Parts of a text as relations, for what they have of columns and values."""

    def __init__(
        self,
        catalog: Catalog,
        text: str,
        given: Mapping[str, Any],
        around: tuple[Variables, Settings],
        local: Mapping[str, Relation],
    ) -> None:
        self._catalog = catalog
        self._text = text
        self._given = given
        self._around = around
        self._local = local

    def relation(self, part: str) -> Relation:
        """A part of the text, with the parameters that it has. SqlError where the text is one that
        it is a part of, as malformed ones may be, whose parts have no end."""
        around: str = self._text
        while str(around) != part and isinstance(around, Derived):
            around = around.origin
        if str(around) == part:
            raise sql_error("this is no query", self._text, 0)
        named = {t.text[1:] for t in tokens_of(part) if t.kind == "parameter"}
        if "" in named:
            raise unsupported(
                "? where the columns of a query are looked up", self._text,
                try_="$name, {'name': value}",
            )  # fmt: skip
        given = {name: value for name, value in self._given.items() if name in named}
        written = part_of(part, self._text)
        return plan_query(self._catalog, written, given or None, self._around, {**self._local})


def _recursive(
    catalog: Catalog, text: str, parameters: Parameters, around: tuple[Variables, Settings]
) -> Relation:
    def planned(part: str, local: Mapping[str, Relation]) -> Relation:
        given = parameters
        if isinstance(parameters, Mapping):
            named = {t.text[1:] for t in tokens_of(part) if t.kind == "parameter"}
            given = {k: v for k, v in parameters.items() if k.removeprefix("$") in named}
        elif parameters:
            raise unsupported("? beside WITH RECURSIVE", text, try_="$name, {'name': value}")
        return plan_query(catalog, part, given or None, around, local)

    node, local = catalog.without_recursion(text, planned)
    return planned(node, local)


def _planned_with_items(
    rewritten: Rewritten,
    values: Mapping[str, Any],
    around: tuple[Catalog, Variables, Settings],
    tables: tuple[ColumnsOf, Mapping[str, Relation]],
) -> tuple[Node, bool]:
    """As `_planned`; names that are no columns stand for select items that have them, or are
    numbers of columns of one name, and items do not take the names of a star's columns."""
    columns_of, local = tables
    meant = Meant()
    while True:
        relations = _relations(around[0], rewritten, local)
        try:
            return _planned(relations, rewritten, values, around)
        except ZonedValueError as zoned:
            meant.of_instants.add(zoned.args[0])
            rewritten = rewrite(rewritten.original, columns_of, meant)
        except ListPlaceError as listed:
            meant.of_lists.add(listed.args[0])
            rewritten = rewrite(rewritten.original, columns_of, meant)
        except (UnknownNameError, RepeatedNameError, AmbiguousNameError, OtherTypeError) as unclear:
            name, error = unclear.args
            if isinstance(unclear, OtherTypeError):
                names = meant.of_others
            elif isinstance(unclear, RepeatedNameError):
                sorted_by = {each.rpartition(".")[2] for each in rewritten.of_tables}
                names = meant.renamed if name in sorted_by else meant.of_stars
            elif isinstance(unclear, AmbiguousNameError):
                names = meant.ambiguous
            elif name in rewritten.of_tables:
                names = meant.no_columns
            else:
                names = meant.items if name in rewritten.item_names else meant.numbered
                name = name.rpartition(".")[2]
            if name in names or (names is meant.numbered and not NUMBERED.fullmatch(name)):
                raise error from None
            names.add(name)
            rewritten = rewrite(rewritten.original, columns_of, meant)


def _planned(
    relations: dict[str, Any],
    rewritten: Rewritten,
    values: Mapping[str, Any],
    around: tuple[Catalog, Variables, Settings],
) -> tuple[Node, bool]:
    """The node of a query, and whether that is the same while the catalog stays: its tables are the
    catalog's, and it asks for no time."""
    catalog, variables, settings = around
    of_catalog = len(relations)
    while True:
        schemas, spelled = {}, {}
        for name, relation in relations.items():
            schemas[name], spelled[name] = bindable_schema(relation.schema)
        try:
            bound = bind(rewritten, schemas, values, settings.nulls_first)
            break
        except UnknownTableError as unknown:
            name = unknown.args[0]
            table = catalog.find(name) or variables.table(_typed(name, rewritten))
            if table is None or name in relations:
                raise _unknown_table((catalog, variables), name, rewritten) from None
            relations[name] = table
    tables = {
        name: _with_bound_names(relation._node, schemas[name].names)
        for name, relation in relations.items()
    }
    if rewritten.has_moment and settings.seed is None:
        settings = replace(settings, seed=catalog.random_bits(32))
    try:
        node, columns, names = _translated(bound, tables, settings, catalog.over_ranks())
    except RecursionError:
        raise sql_error(
            "expressions are nested too deep", rewritten.original,
            try_="a part of them in a query of its own, WITH",
        ) from None  # fmt: skip
    except SqlError as error:
        text_of = rewritten.original
        raise with_place(error, text_of, lambda word: place_of_word(text_of, word)) from None
    shown = [i for i, name in enumerate(names) if not name.startswith(HIDDEN)]
    written = _result_names([names[i] for i in shown], rewritten, spelled, schemas)
    is_lasting = len(relations) == of_catalog and not rewritten.has_moment
    return named(node, [columns[i] for i in shown], written), is_lasting


def _translated(
    bound: Bound, tables: Mapping[str, Node], settings: Settings, ranks: Ranks | None
) -> tuple[Node, list[str], list[str]]:
    """The node, its columns by position, and their names. Over ranks the first one decides on the
    order of joins and on the moment, for each sees other rows and has a clock; where it fails, all
    fail at the same place."""
    decided, moment = None, datetime.datetime.now(datetime.UTC)
    if ranks is not None and ranks.rank > 0:
        said = ranks.agree("the order of joins")[0]
        decided, moment = decisions_of(said["joins"]), datetime.datetime.fromisoformat(said["at"])
    orders = JoinOrders(settings.as_written, decided, 1 if ranks is None else ranks.size)
    try:
        seeded = replace(bound, seed=settings.seed)
        return Translation(seeded, tables, orders, constant_rows, moment).run()
    finally:
        if ranks is not None and ranks.rank == 0:
            said = {"joins": as_json(orders.decisions), "at": moment.isoformat()}
            ranks.agree("the order of joins", said)


def _relations(catalog: Catalog, text: Rewritten, local: Mapping[str, Relation]) -> dict[str, Any]:
    """Files of the text, and names that the catalog has; others are variables, or CTEs."""
    relations: dict[str, Any] = {
        name: catalog.open(call, text.original) for name, call in text.files.items()
    }
    for name in text.tables:
        relation = local.get(name) or catalog.find(name)
        if relation is not None:
            relations[name] = relation
    return relations


# How DataFusion names a field of a struct that has no name: t.address[city], address[city].
_FIELD = re.compile(r"^(?:\w+\.)?\w+(?:\[\w+\])*\[(\w+)\]$")
# How it names a further column of the same name in a subquery.
_DOTTED = re.compile(r"(?:[\w/-]+\.)+$")  # before the last part of a name that has several
_FURTHER = re.compile(r":(\d+)$")


def _with_bound_names(node: Node, names: Sequence[str]) -> Node:
    """The node with the names that the text has for its columns."""
    if node.schema.names == list(names):
        return node
    items = [(new, Column(old)) for new, old in zip(names, node.schema.names, strict=True)]
    return plan_project(node, items, "FROM")


def named(node: Node, columns: Sequence[str], names: Sequence[str]) -> Node:
    """The columns of a result under their names, each once."""
    final = distinct_names(names)
    if list(columns) == node.schema.names == final:
        return node
    items = [(name, Column(column)) for name, column in zip(final, columns, strict=True)]
    return plan_project(node, items, "SELECT")


def _result_names(
    names: Sequence[str],
    text: Rewritten,
    spelled: Mapping[str, Sequence[str]],
    schemas: Mapping[str, pa.Schema],
) -> list[str]:
    """The names of the result as they are written: by the text where it gives them, else by the
    tables."""
    declared: dict[str, str] = {}
    for table, schema in schemas.items():
        for name, original in zip(schema.names, spelled[table], strict=True):
            declared.setdefault(name, original)
    field_names = [_FIELD.sub(r"\1", name) for name in names]
    return [
        text.aliases.get(n) or declared.get(n) or text.spellings.get(n) or _FURTHER.sub(r"_\1", n)
        for n in field_names
    ]


def parameter_values(text: Rewritten, parameters: Parameters) -> dict[str, Any]:
    """The values of the parameters by the names they have in the text. SqlError where they do not
    fit."""
    markers = text.parameters
    given = _named_values(parameters)
    if given is None:
        raise sql_error("parameters are a list or a dictionary", try_=f"[{parameters!r}]")
    missing = [name for name in markers if name not in given]
    if missing:
        place = next((t.start for t in tokens_of(text.original) if t.kind == "parameter"), None)
        shown = "?" if missing[0].isdecimal() else f"${missing[0]}"
        raise sql_error(
            f"the parameter {shown} has no value", text.original, place,
            try_=f"sql(text, {{{missing[0]!r}: 1}})" if shown != "?" else "sql(text, [1, 2])",
        )  # fmt: skip
    spare = [name for name in given if name not in markers]
    if spare:
        marks = f"in place of :{spare[0]} or %({spare[0]})s"
        raise sql_error(
            f"the text has no parameter {spare[0]!r}", text.original,
            try_="? in place of %s" if spare[0].isdecimal() else f"${spare[0]} {marks}",
        )  # fmt: skip
    return given


def _named_values(parameters: Parameters) -> dict[str, Any] | None:
    """The parameters by their names, "1", "2" and so on for a list; None for what is neither."""
    is_several = parameters is None or isinstance(parameters, Iterable)
    if isinstance(parameters, str | bytes) or not is_several:
        return None
    if isinstance(parameters, Mapping):
        return {str(name).removeprefix("$"): _plain(each) for name, each in parameters.items()}
    return {str(i): _plain(each) for i, each in enumerate(parameters or (), 1)}


def _plain(value: Any) -> Any:
    """A parameter as Python has it: arrays and series are lists, NULLs of pandas None."""
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(value, method) and hasattr(value, "__len__"):
            return getattr(value, method)()
    return value


def _typed(name: str, text: Rewritten) -> str:
    """A name of FROM as it was typed: of variables that differ in case alone, one is meant."""
    place = text.tables.get(name)
    return next((t.name for t in tokens_of(text.original) if t.start == place), name)


def _unknown_table(names: tuple[Catalog, Variables], name: str, text: Rewritten) -> Exception:
    catalog, variables = names
    place = text.tables.get(name)
    if place is None:
        tokens = [t for t in tokens_of(text.original) if t.name.lower() == name]
        paths = [t for t in tokens_of(text.original) if t.name.lower().endswith(f".{name}")]
        if not tokens and paths:  # in double quotes, which a dot takes apart
            name = paths[0].name
            advice = f"a file, in single quotes: '{name}'"
            return sql_error(f"no table {name!r}", text.original, paths[0].start, try_=advice)
        place = tokens[0].start if tokens else None
    before = _DOTTED.search(text.original[:place])
    if place is not None and before is not None:
        name, place = before[0] + name, before.start()
        return sql_error(f"no table {name!r}", text.original, place, try_=f"a file: '{name}'")
    try_ = variables.advice(name) or catalog.advice(name)
    return sql_error(f"no table {name!r}", text.original, place, try_=try_)


def constant_rows(table: pa.Table) -> Node:
    """Rows of the text itself."""
    return plan_scan(ArrowSource(table, "VALUES", is_replicated=True))
