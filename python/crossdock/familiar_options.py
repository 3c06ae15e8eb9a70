"""Options that other libraries have for methods, and what ours is where one was written."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeVar

from crossdock.errors import make_error, nearest

_CODE_TAKES_ANY = 0x08  # inspect.CO_VARKEYWORDS
_Class = TypeVar("_Class", bound=type)
_Method = TypeVar("_Method", bound=Callable[..., Any])

_COLUMNS = "select('a', 'b') behind it, which reads no others"
_ROWS = "limit(n) behind it"
_OF_READERS = {
    "columns": _COLUMNS, "usecols": _COLUMNS, "n_rows": _ROWS, "nrows": _ROWS,
    "filters": "filter('a > 1') behind it, which leaves row groups out",
    "sep": "delimiter=", "delim": "delimiter=", "separator": "delimiter=",
    "nullstr": "null_values=", "na_values": "null_values=", "dtype": "types={'a': 'int64'}",
    "dtypes": "types={'a': 'int64'}", "schema": "types={'a': 'int64'}",
    "schema_overrides": "types={'a': 'int64'}", "parse_dates": "types={'day': 'date32'}",
    "quotechar": "quote=", "quote_char": "quote=", "escapechar": "escape=",
    "comment_prefix": "comment=", "has_header": "header=", "new_columns": "names=[...]",
    "skiprows": "skip=", "skip_rows": "skip=", "ignore_errors": "bad_values='skip'",
    "on_bad_lines": "ragged='skip'", "lines": "nothing: lines and one array are both read",
    "storage_options": "filesystem=", "include_file_paths": "filename='path'",
    "partitioning": "hive_partitioning=True",
}  # fmt: skip
_ANY = ""  # option
_LIST_KEYS = "the columns alone, METHOD('a', 'b')"
_ANY_ORDER = "nothing: sort(...) behind it, where an order is needed"
_FAMILIAR: dict[str, dict[str, str]] = {
    "sort": {
        "by": "sort('a', xd.desc('b'))", "ascending": "descending=True, or xd.desc('a')",
        "reverse": "descending=True", "nulls_last": "xd.asc('a', nulls='first')",
        "na_position": "xd.asc('a', nulls='first')", "maintain_order": "stable=True",
        "key": "sort(xd.col('a').lower())", "kind": "stable=True",
    },
    "top_k": {"by": "top_k(3, 'a')", "reverse": "top_k(3, xd.asc('a'))",
              "descending": "top_k(3, xd.asc('a'))"},
    "filter": {_ANY: "filter(xd.col('NAME') == value)"},
    "drop": {"columns": _LIST_KEYS}, "select": {"columns": _LIST_KEYS, "exprs": _LIST_KEYS},
    "rename": {"columns": "rename({'old': 'new'})", _ANY: "rename({'NAME': 'new'})"},
    "sample": {"frac": "fraction=", "random_state": "seed="},
    "unnest": {"keep_empty_and_null": "keep_empty=True", "outer": "keep_empty=True"},
    "group_by": {"maintain_order": _ANY_ORDER, "sort": _ANY_ORDER, "as_index": "nothing: keys are "
                 "columns", "dropna": "filter('a is not null') before", "observed": "nothing"},
    "distinct": {"subset": _LIST_KEYS, "maintain_order": _ANY_ORDER,
                 "keep": "top_k(1, xd.asc('b'), per='a') for a whole row of each"},
    "union": {"by_name": "union(other.select(relation.columns))", "how": "union(other)"},
    "join_asof": {"left_on": "on={'left': 'right'}", "right_on": "on={'left': 'right'}",
                  "left_by": "by={'left': 'right'}", "right_by": "by={'left': 'right'}"},
    "show": {"n": "show(20)", "limit": "show(20)", "max_rows": "show(20)"},
    "collect": {"streaming": "to_batches()", "engine": "to_batches(), in bounded memory"},
    "explain": {"analyze": "profile()", "type": "profile() for measured times"},
    "to_pandas": {"types_mapper": "collect().to_pandas(types_mapper=...)"},
    "write_parquet": {
        "row_group_size": "row_group_rows=", "compression_level": "level=",
        "partition_cols": "partition_by=", "partition_on": "partition_by=",
        "index": "nothing: a relation has no index", "codec": "compression=",
    },
    "sql": {"params": "sql(text, [1, 'a']), or parameters=", "query": "sql(text)",
            "alias": "register(name, sql(text))", "eager": "sql(text).collect()",
            "con": "sql(text), or dock.sql(text)", "connection": "sql(text), or dock.sql(text)"},
    "round": {"decimals": "round(2)", "ndigits": "round(2)"},
    "cast": {"strict": "try_cast(data_type), which is NULL where a value does not fit",
             "dtype": "cast('int64')"},
    "contains": {"regex": "matches('^a[0-9]')", "literal": "matches('^a[0-9]') for a pattern",
                 "case": "ilike('%a%')", "pat": "contains('a')", "pattern": "matches('^a[0-9]')"},
    "replace": {"regex": "replace_matches('[0-9]+', '#')", "pat": "replace('a', 'b')",
                "literal": "replace_matches('[0-9]+', '#') for a pattern",
                "pattern": "replace_matches('[0-9]+', '#')", "repl": "replace('a', 'b')"},
    "over": {"partition_by": "over('a')", "partition": "over('a')", "order": "order_by=",
             "mapping_strategy": "nothing: a value for each row"},
    "connect": {"database": "connect(): no database is kept in a file; FROM reads files, and "
                "register(name, relation) names them", "read_only": "connect()",
                "config": "connect(threads=4, memory='8GiB')"},
}  # fmt: skip


def answering(method: _Method) -> _Method:
    """`method`, which answers an option that it has not with an OptionError that says what ours is,
    where Python would say that there is none. A method that looks at its caller sees this one
    between."""
    code = method.__code__
    if code.co_flags & _CODE_TAKES_ANY:
        return method
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        for name in options:
            if name not in known:
                raise unknown_option(method.__name__, name, known)
        return method(*args, **options)

    return call  # type: ignore[return-value]


def answering_class(cls: _Class) -> _Class:
    """A class whose methods are `answering`."""
    for name, method in list(vars(cls).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(cls, name, answering(method))
    return cls


def unknown_option(method: str, name: str, known: Iterable[str]) -> Exception:
    """OptionError for an option that a method has not."""
    choices = [option for option in known if option != "self"]
    return make_error(
        "CD-105", f"{method}() has no option {name!r}",
        choices=", ".join(choices) or "none",
        try_=_instead(method, name, choices) or nearest(name, choices),
    )  # fmt: skip


def refuse_options(method: str, named: Mapping[str, Any], columns: Iterable[str]) -> None:
    """OptionError for an option of other libraries among columns that are computed by name, which
    would be a constant column: `group_by("k", maintain_order=True)`."""
    for name, value in named.items():
        is_constant = value is None or isinstance(value, bool | list | tuple)
        is_word = isinstance(value, str) and value not in columns
        if (is_constant or is_word) and _instead(method, name, ()):
            raise unknown_option(method, name, ("name=expression",))


def _instead(method: str, name: str, known: Collection[str]) -> str:
    if not method.startswith("read"):
        options = _FAMILIAR.get(method, {})
        ours = options.get(name) or options.get(_ANY, "")
        return ours.replace("NAME", name).replace("METHOD", method)
    ours = _OF_READERS.get(name, "")
    option = re.match(r"(\w+)=", ours)  # that readers of other formats need not have
    return "" if option and option[1] not in known else ours
