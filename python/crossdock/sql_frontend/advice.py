"""What to write in place of what other databases take, by what DataFusion says of it."""

from __future__ import annotations

import re
from collections.abc import Collection

from crossdock.sql_frontend.text.tokens import quoted

# Functions of other databases.
_FUNCTIONS = {
    "age": "date_sub('year', b, a), or a - b",
    "charindex": "strpos(s, 'a')",
    "collect_list": "list(x)",
    "collect_set": "list(distinct x)",
    "convert": "cast(x as int), x::int",
    "date_format": "strftime(x, '%Y-%m-%d')",
    "dateadd": "x + interval 3 day",
    "datepart": "extract(year from x)",
    "day": "extract(day from x)",
    "decode": "case x when 1 then 'a' else 'b' end",
    "explode": "unnest(l)",
    "from_unixtime": "to_timestamp(x)",
    "getdate": "now()",
    "hash": "md5(x), of strings",
    "ifnull": "coalesce(x, y)",
    "iif": "if(x > 1, 'a', 'b')",
    "isnull": "x is null, or coalesce(x, y)",
    "len": "length(x)",
    "list_reduce": "list_sum(l), or UNNEST with a GROUP BY",
    "map_from_entries": "map(keys, values), of two lists",
    "month": "extract(month from x)",
    "nvl2": "if(x is not null, y, z)",
    "parse_date": "strptime(s, '%Y-%m-%d')::date",
    "percentile": "quantile_cont(x, 0.5)",
    "percentile_approx": "approx_quantile(x, 0.5)",
    "rand": "random()",
    "safe_cast": "try_cast(x as int)",
    "sniff_csv": "DESCRIBE FROM 'file.csv'",
    "str_to_date": "strptime(s, '%Y-%m-%d')",
    "sysdate": "now()",
    "to_char": "strftime(x, '%Y-%m-%d')",
    "to_number": "x::double",
    "unix_timestamp": "epoch(x)",
    "year": "extract(year from x)",
}
_TYPE = re.compile(r"Cannot coerce arithmetic expression (\w+).* ([-+*/%]) (\w+)")
_TYPES = {"Utf8": "strings", "Utf8View": "strings", "LargeUtf8": "strings", "Boolean": "booleans"}
_OPENED = re.compile(r"\b(?:from|join)\s+([~.\w-]*/[~\w./*-]*)", re.IGNORECASE)
_MARK = re.compile(r"%\((\w+)\)s|%s")
_COLON = re.compile(r"Cannot parse placeholder id as numeric index: :(\w+)")


def instead_of_function(name: str) -> str:
    """What to write in place of a function that is not there; "" where nothing is known."""
    return _FUNCTIONS.get(name.lower(), "")


def instead_of_syntax(text: str, place: int) -> str:
    """What to write at a place that is no SQL: paths in quotes, and parameters as they are here."""
    for path in _OPENED.finditer(text):
        if path.start() <= place <= path.end():
            return f"quotes around a path: '{path[1]}'"
    if (mark := _MARK.match(text, place)) is not None:
        return f"${mark[1]} for a parameter" if mark[1] else "? for a parameter"
    return ""


def is_plain(name: str) -> bool:
    """Whether a name needs no double quotes."""
    return re.fullmatch(r"[^\W\d]\w*", name) is not None


def instead_of_name(text: str, place: int, names: Collection[str]) -> str:
    """What to write at a place that is in the name of a column with spaces or signs, which stands
    there without double quotes; "" where there is none of `names`, in lower case."""
    odd = [re.escape(name) for name in names if not is_plain(name)]
    any_of = "|".join(sorted(odd, key=len, reverse=True))
    for match in re.finditer(rf'(?<!["\w])(?:{any_of})(?!["\w])', text, re.IGNORECASE):
        if match.start() <= place < match.end():
            return f"double quotes around the name: {quoted(match[0])}"
    return ""


def explained(message: str) -> tuple[str, str, str] | None:
    """What a message without a place says, the word whose place it is, and what to write instead;
    None for other messages."""
    if (mark := _COLON.search(message)) is not None:
        name = mark[1]
        return f":{name} is no parameter", name, f"${name}, and sql(text, {{{name!r}: 1}})"
    if (types := _TYPE.search(message)) is not None:
        odd = next((_TYPES[each] for each in (types[1], types[3]) if each in _TYPES), "these types")
        return f"there is no {types[2]} of {odd} and others", "", "a cast, x::double or x::date"
    if message.endswith("TOP"):
        return "TOP", "top", "LIMIT 5 at the end"
    return None
