"""Every function of SQL with an example, and the page that shows what each gives."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import crossdock as xd
from crossdock.sql_frontend.text.function_calls import DATE_PARTS, SYNONYMS
from crossdock.sql_frontend.text.rewritten import HIDDEN
from crossdock.sql_frontend.text.templates import OF_GROUPS as GROUP_TEMPLATES
from crossdock.sql_frontend.text.templates import OF_ROWS as ROW_TEMPLATES
from crossdock.sql_frontend.translation.aggregation import AGGREGATES
from crossdock.sql_frontend.translation.called_aggregates import HISTOGRAM, MARKED
from crossdock.sql_frontend.translation.functions import FUNCTIONS
from crossdock.sql_frontend.translation.pair_aggregates import COMPOSED
from crossdock.sql_frontend.translation.window_values import WINDOW_FUNCTIONS

ONE = """select 7 as a, 2 as b, -2.5::double as f, 12.345 as m, 'Ann Lee' as s, null::int as n,
date '2024-02-29' as d, timestamp '2024-02-29 13:45:10' as ts, a > b as t
from (values (7, 2)) v(a, b)"""
SEVERAL = """select * from (values (1, 10, 'x', true), (2, 20, 'y', false), (2, 40, 'x', true),
(5, 80, null, null)) v(i, k, s, t)"""

# Examples over ONE, by the names that plans have.
SCALARS = {
    "equal": "a = b", "not_equal": "a <> b", "lt": "a < b", "lte": "a <= b", "gt": "a > b",
    "gte": "a >= b", "is_not_distinct_from": "a is not distinct from n",
    "is_distinct_from": "a is distinct from n", "and": "t and a > 9", "or": "t or a > 9",
    "not": "not t", "is_null": "n is null", "is_not_null": "n is not null", "is_true": "t is true",
    "is_false": "t is false", "is_not_true": "t is not true", "is_not_false": "t is not false",
    "is_unknown": "t is unknown", "is_not_unknown": "t is not unknown", "negate": "-a",
    "power": "power(a, b)", "abs": "abs(f)", "ceil": "ceil(f)", "floor": "floor(f)",
    "round": "round(m, 1)", "trunc": "trunc(m, 1)", "signum": "sign(f)", "sqrt": "sqrt(a + b)",
    "exp": "exp(a - 7)", "ln": "ln(a - 6)", "log2": "log2(a + 1)", "logb": "log(2, a + 1)",
    "log10": "log10(a + 93)", "is_nan": "isnan(f)", "str_concat": "s || '!'",
    "bitwise_and": "a & b", "bitwise_shift_right": "a >> b", "concat": "concat(s, n, '!')",
    "lower": "lower(s)", "upper": "upper(s)", "btrim": "trim(s, 'Ae')",
    "character_length": "length(s)", "octet_length": "strlen(s)",
    "substr": "substr(s, 5)", "substring": "substring(s, 1, 3)",
    "left": "left(s, 3)", "right": "right(s, 3)", "replace": "replace(s, 'n', 'm')",
    "lpad": "lpad(s, 9, '.')", "rpad": "rpad(s, 9, '.')", "starts_with": "starts_with(s, 'Ann')",
    "ends_with": "ends_with(s, 'Lee')", "contains": "contains(s, 'n L')", "like": "s like 'A%'",
    "ilike": "s ilike 'a%'", "coalesce": "coalesce(n, a)", "nvl": "nvl(n, b)",
    "nullif": "nullif(a, 7)", "greatest": "greatest(a, b, n)", "least": "least(a, b, n)",
    "regexp_like": "regexp_matches(s, 'l', 'i')", "regex_match": "s ~ '^A'",
    "regex_not_match": "s !~ '^A'", "regex_imatch": "s ~* '^a'", "regex_not_imatch": "s !~* '^a'",
    "regexp_full_match": "regexp_full_match(s, 'A.*')",
    "regexp_replace": "regexp_replace(s, '(.)e', '<\\1>', 'g')",
    "regexp_extract": "regexp_extract(s, '([a-z]+) ', 1)", "strpos": "strpos(s, 'L')",
    "string_split": "string_split(s, ' ')",
    "string_split_regex": "string_split_regex(s, '[ e]+')",
    "regexp_extract_all": "regexp_extract_all(s, '([A-Z])[a-z]', 1)",
    "reverse": "reverse(s)", "repeat": "repeat(s, b)", "split_part": "split_part(s, ' ', -1)",
    "initcap": "initcap(lower(s))", "ltrim": "ltrim(s, 'An')", "rtrim": "rtrim(s, 'e')",
    "ascii": "ascii(s)", "chr": "chr(a + 60)", "hex": "hex(a + 20)",
    "concat_ws": "concat_ws(', ', s, n, 'x')", "bitwise_or": "a | 8", "bitwise_xor": "xor(a, b)",
    "bitwise_shift_left": "a << b", "gcd": "gcd(a, 21)", "lcm": "lcm(a, b)", "cbrt": "cbrt(a + 1)",
    "sin": "sin(f)", "cos": "cos(f)", "tan": "tan(f)", "asin": "asin(f / 5)",
    "acos": "acos(f / 5)", "atan": "atan(f)", "atan2": "atan2(f, b)", "cot": "cot(f)", "pi": "pi()",
    "degrees": "degrees(f)", "radians": "radians(f)",
    "strftime": "strftime(ts, '%d.%m.%Y %H:%M')", "strptime": "strptime('29.2.2024', '%d.%m.%Y')",
    "try_strptime": "try_strptime(s, '%Y')", "to_timestamp": "to_timestamp('2024', '%Y')",
    "to_date": "to_date('29.2.2024', '%d.%m.%Y')", "dayname": "dayname(d)",
    "monthname": "monthname(d)", "last_day": "last_day(date '2023-02-01')",
    "date_diff": "date_diff('hour', d, ts)", "date_sub": "date_sub('day', d, ts)",
    "make_date": "make_date(2024, b::int, a::int)",
    "make_array": "[a, b]", "named_struct": "{'x': a, 'y': s}", "array_element": "[a, b][1]",
    "array_length": "array_length([a, b])",
    "cardinality": "cardinality(map {a: b})", "map": "map {s: a, 'x': b}",
    "map_keys": "map_keys(map {s: a})", "map_values": "map_values(map {s: a})",
    "map_entries": "map_entries(map {s: a})", "map_extract": "map_extract(map {s: a}, 'x')",
    "array_has": "list_contains([a, b], 2)",
    "array_sort": "list_sort([a, b, n], 'desc')", "array_reverse": "list_reverse([a, b])",
    "array_distinct": "list_distinct([a, a, n])", "array_slice": "[a, b, n][-2:2]",
    "array_position": "list_position([a, b], 2)",
    "array_to_string": "array_to_string([a, n, b], '-')", "array_concat": "list_concat([a], [b])",
    "array_append": "list_append([a], b)", "array_prepend": "list_prepend(b, [a])",
    "array_sum": "list_sum([a, b, n])", "array_avg": "list_avg([a, b])",
    "array_min": "list_min([a, b])", "array_max": "list_max([a, b])",
    "flatten": "flatten([[a], [b, n]])",
    "array_has_any": "list_has_any([a, b], [2, 3])",
    "array_has_all": "list_has_all([a, b], [2, 3])",
    "array_intersect": "list_intersect([a, b], [2, 3])",
    "array_resize": "list_resize([a, b], 3, 0)", "list_median": "list_median([a, b, n])",
    "list_product": "list_product([a, b])", "list_stddev_samp": "list_stddev_samp([a, b])",
    "list_stddev_pop": "list_stddev_pop([a, b])", "list_var_samp": "list_var_samp([a, b])",
    "list_var_pop": "list_var_pop([a, b])", "list_reverse_sort": "list_reverse_sort([b, a])",
    "array_reverse_sort": "array_reverse_sort([b, a, n])", "list_unique": "list_unique([a, a, n])",
    "array_unique": "array_unique([a, b])", "list_count": "list_count([a, n])",
    "list_any_value": "list_any_value([n, b])", "list_first": "list_first([a, b])",
    "list_last": "list_last([a, b])", "list_where": "list_where([a, b], [false, true])",
    "list_select": "list_select([a, b], [2, 1])", "map_contains": "map_contains(map {s: a}, s)",
    "map_contains_value": "map_contains_value(map {s: a}, 7)",
    "regexp_escape": "regexp_escape('a.b')", "timezone": "timezone('Europe/Berlin', ts)",
    "epoch_ns": "epoch_ns(ts)",
    "get_current_timestamp": "get_current_timestamp() > timestamp '2020-01-01'",
    "transaction_timestamp": "transaction_timestamp() > timestamp '2020-01-01'",
    "get_field": "{'x': a}['x']",
    "struct": "row(a, s)", "range": "range(a, 9)", "generate_series": "generate_series(a, 9)",
    "json_extract": "'{\"x\": [1, 2]}' -> 'x'",
    "json_extract_string": "'{\"x\": \"y\"}' ->> 'x'",
    "json_array_length": "json_array_length('[1, 2]')",
    "json_type": "json_type('{\"x\": 1.5}', '$.x')", "json_keys": "json_keys('{\"x\": 1}')",
    "json_exists": "json_exists('{\"x\": 1}', 'x')", "json_valid": "json_valid('{')",
    "md5": "md5(s)", "sha1": "sha1(s)", "sha256": "sha256(s)",
    "levenshtein": "levenshtein(s, 'Anna Lea')", "hamming": "hamming(s, 'Ann Leo')",
    "jaccard": "jaccard(s, 'Lea')", "jaro_similarity": "jaro_similarity(s, 'Lena')",
    "jaro_winkler_similarity": "jaro_winkler_similarity(s, 'Anne')",
    "strip_accents": "strip_accents('élan')", "url_encode": "url_encode(s)",
    "url_decode": "url_decode('Ann%20Lee')", "translate": "translate(s, 'ne', 'm')",
    "bin": "bin(a)", "to_base": "to_base(a + 20, 16)",
    "format": "format('{} of {:.2f}', s, f)", "printf": "printf('%05d: %s', a, s)",
    "make_time": "make_time(a, b, 1.5)",
    "factorial": "factorial(a::int)",
    "isinf": "isinf(f / 0)", "isfinite": "isfinite(f)", "typeof": "typeof(f)", "mod": "mod(a, b)",
    "date_add": "date_add(d, interval 1 month)", "if": "if(a > b, 'more', 'less')",
    "to_years": "d + to_years(a)", "to_months": "d + to_months(a::int)",
    "to_weeks": "d + to_weeks(b::int)", "to_days": "d + to_days(a::int)",
    "to_hours": "ts + to_hours(a)", "to_minutes": "ts + to_minutes(a)",
    "to_seconds": "ts + to_seconds(a)",
    "make_timestamp": "make_timestamp(2024, b, a, 13, 45, 10.5)",
    "make_timestamp_ms": "make_timestamp_ms(a * 1000)",
    "even": "even(f)", "date_part": "extract(month from d)",
    "date_trunc": "date_trunc('month', ts)",
}  # fmt: skip
# Over SEVERAL.
OF_GROUPS = {
    "count": "count(distinct i)", "sum": "sum(k)", "avg": "avg(i)", "min": "min(s)",
    "max": "max(k)", "bool_and": "bool_and(t)", "bool_or": "bool_or(t)",
    "any_value": "any_value(s)", "median": "median(k)", "approx_median": "approx_median(k)",
    "bit_and": "bit_and(k)", "bit_or": "bit_or(k)", "bit_xor": "bit_xor(k)",
    "corr": "corr(i, k)", "covar": "covar_samp(i, k)", "covar_pop": "covar_pop(i, k)",
    "covar_samp": "covar_samp(i, k)", "mode": "mode(i)", "product": "product(i)",
    "quantile_disc": "quantile_disc(k, 0.25)",
    "regr_avgx": "regr_avgx(i, k)", "regr_avgy": "regr_avgy(i, k)",
    "regr_count": "regr_count(i, k)", "regr_intercept": "regr_intercept(i, k)",
    "regr_r2": "regr_r2(i, k)", "regr_slope": "regr_slope(i, k)",
    "regr_sxx": "regr_sxx(i, k)", "regr_sxy": "regr_sxy(i, k)", "regr_syy": "regr_syy(i, k)",
    "approx_distinct": "approx_distinct(i)", "stddev": "stddev(k)",
    "stddev_samp": "stddev_samp(k)", "stddev_pop": "stddev_pop(k)", "var": "var(k)",
    "var_samp": "variance(k)", "var_sample": "var_sample(k)", "var_pop": "var_pop(k)",
    "first_value": "first(s order by k desc)", "last_value": "last(s order by i, k)",
    "string_agg": "string_agg(s, '-' order by k desc)",
    "approx_percentile_cont": "approx_percentile_cont(k, 0.25)",
    "quantile_cont": "quantile_cont(k, 0.25)",
    "array_agg": "list(s order by k desc)",
    "count_star": "count_star()", "count_if": "count_if(k > 20)", "countif": "countif(t)",
    "sem": "sem(k)", "geomean": "geomean(k)",
    "geometric_mean": "geometric_mean(k)", "favg": "favg(k)",
    "fsum": "fsum(k)", "kahan_sum": "kahan_sum(k)", "sumkahan": "sumkahan(k)",
    "skewness": "skewness(k)", "kurtosis": "kurtosis(k)", "kurtosis_pop": "kurtosis_pop(k)",
    "mad": "mad(k)", "histogram": "histogram(s)", "entropy": "entropy(s)",
    "percentile_cont": "percentile_cont(0.25) within group (order by k)",
}  # fmt: skip
WINDOWS = {
    "any_value": "any_value(t) over (partition by s)",
    "row_number": "row_number() over (order by k)", "rank": "rank() over (order by i)",
    "dense_rank": "dense_rank() over (order by i)",
    "percent_rank": "percent_rank() over (order by i)",
    "cume_dist": "cume_dist() over (order by i)", "ntile": "ntile(2) over (order by k)",
    "lag": "lag(k) over (order by k)", "lead": "lead(k, 1, 0) over (order by k)",
    "first_value": "first_value(k) over (order by k)",
    "last_value": "last_value(k) over (order by i)",
    "nth_value": "nth_value(k, 2) over (order by k)",
}  # fmt: skip
# What DuckDB has not, or not by that name.
OTHERS = frozenset(
    ("approx_median", "approx_percentile_cont", "quantile_cont", "percentile_cont", "var",
     "var_sample", "approx_distinct", "median", "nvl", "is_unknown", "is_not_unknown",
     "initcap", "struct", "regex_imatch", "regex_not_imatch", "to_timestamp", "to_date")
)  # fmt: skip


def _also(names: frozenset[str], templates: Mapping[tuple[str, int], str]) -> frozenset[str]:
    return names | {name for name, _ in templates}


def named() -> dict[str, frozenset[str]]:
    """The functions that there are, by the heading of the page."""
    marked = {str(mark).removeprefix(HIDDEN) for mark in (*MARKED, HISTOGRAM)}
    return {
        "Of a row": _also(
            frozenset(name for name in FUNCTIONS if not name.startswith(HIDDEN)), ROW_TEMPLATES
        )
        | {"printf"},
        "Of groups": _also(
            AGGREGATES | COMPOSED | marked,
            GROUP_TEMPLATES,
        ),
        "Of windows": WINDOW_FUNCTIONS,
    }


EXAMPLES = {"Of a row": SCALARS, "Of groups": OF_GROUPS, "Of windows": WINDOWS}
SOURCES = {"Of a row": ONE, "Of groups": SEVERAL, "Of windows": SEVERAL}


def query(heading: str, example: str) -> str:
    order = " order by k" if heading == "Of windows" else ""
    return f"select {example} as x from ({SOURCES[heading]}) q{order}"


def page(dock: xd.Dock) -> str:
    """docs/reference-sql-functions.md."""
    parts = [_HEAD]
    for heading, examples in EXAMPLES.items():
        parts.append(f"\n## {heading}\n\n{_SHOWN[heading]}\n\n| example | gives |\n| --- | --- |\n")
        for example in sorted(examples.values()):
            values = dock.sql(query(heading, example)).collect()["x"].to_pylist()
            shown = _cell(", ".join(map(_text, values)))
            parts.append(f"| <code>{_cell(example)}</code> | {shown} |\n")
    synonyms = ", ".join(f"`{name}` is `{of}`" for name, of in sorted(SYNONYMS.items()))
    parts.append(f"\n## Other names\n\n{synonyms}.\n\n")
    parts.append("Parts of dates are functions, too: " + _names(DATE_PARTS) + ".\n")
    return "".join(parts)


def _cell(text: str) -> str:
    return html.escape(text, quote=False).replace("|", "&#124;")


def _names(names: Any) -> str:
    return ", ".join(f"`{name}(x)`" for name in sorted(names))


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_HEAD = (
    "# Functions of SQL\n\n"
    "All functions that SQL and `xd.sql_expr` may call beside `+ - * / % //`, `~`, `pi()`, "
    "`now()`, CASE and CAST, and queries also `random()` and `uuid()`, each "
    "with an example. The page is made from the tables of the frontend by "
    "`GOLDEN_UPDATE=1 pytest tests/sql/test_function_reference.py`, which runs every\n"
    "example, here and in DuckDB. What is not here is refused by name; what there is beside "
    "functions says the [guide](guide-sql.md#what-there-is).\n"
)
_SHOWN = {
    "Of a row": "Over one row with `a` = 7, `b` = 2, `f` = -2.5, `m` = 12.345, `s` = 'Ann Lee', "
    "`n` NULL, `d` the date 2024-02-29, `ts` 2024-02-29 13:45:10 and `t` true. Patterns, options, "
    "formats, fillings, names of periods and numbers of digits are constants.",
    "Of groups": "Over rows `(i, k, s, t)`: (1, 10, 'x', true), (2, 20, 'y', false), "
    "(2, 40, 'x', true), (5, 80, NULL, NULL). All take FILTER; `count`, `min` and `max` take "
    "DISTINCT; `first`, `last`, `string_agg` and `list` take ORDER BY.",
    "Of windows": "Over the same rows, in the order of `k`. Functions of groups are functions of "
    "windows, too: of any frame all but `arg_max` and `arg_min`, which are of whole partitions, as "
    "are those with ORDER BY in the call.",
}
