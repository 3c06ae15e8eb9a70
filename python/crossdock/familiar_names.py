"""Names that other libraries have for functions and methods, and ours."""

from __future__ import annotations

FAMILIAR = {
    "where": "filter(...)",
    "query": "filter(...)",
    "groupby": "group_by(...)",
    "aggregate": "agg(...)",
    "order_by": "sort(...)",
    "sort_values": "sort(...)",
    "orderby": "sort(...)",
    "with_column": "with_columns(name=expression)",
    "withColumn": "with_columns(name=expression)",
    "assign": "with_columns(name=expression)",
    "mutate": "with_columns(name=expression)",
    "project": "select(...)",
    "merge": "join(other, on=...)",
    "unique": "distinct(...)",
    "drop_duplicates": "distinct(...)",
    "concat": "union(...)",
    "union_all": "union(...)",
    "vstack": "union(...)",
    "fetch": "limit(n).collect()",
    "fetchall": "collect().to_pylist()",
    "fetch_arrow_table": "collect()",
    "arrow": "collect()",
    "to_arrow": "collect()",
    "execute": "collect()",
    "compute": "collect()",
    "df": "to_pandas()",
    "fetchdf": "to_pandas()",
    "toPandas": "to_pandas()",
    "pl": "to_polars()",
    "len": "count()",
    "height": "count()",
    "shape": "count() and columns",
    "dtypes": "schema",
    "collect_schema": "schema",
    "sink_parquet": "write_parquet(path)",
    "to_parquet": "write_parquet(path)",
    "to_csv": "write('x.csv')",
    "write_csv": "write('x.csv')",
    "describe": "xd.sql('summarize relation')",
    "summary": "xd.sql('summarize relation')",
    "value_counts": "group_by(column).agg(n=xd.count())",
    "pivot": "xd.sql('pivot relation on kind using sum(x)')",
    "pivot_table": "xd.sql('pivot relation on kind using sum(x)')",
    "unpivot": "xd.sql('unpivot relation on a, b')",
    "melt": "xd.sql('unpivot relation on a, b')",
    "fill_null": "with_columns(x=xd.coalesce(xd.col('x'), 0))",
    "fillna": "with_columns(x=xd.coalesce(xd.col('x'), 0))",
    "drop_nulls": "filter(xd.col('x').is_not_null())",
    "dropna": "filter(xd.col('x').is_not_null())",
    "explode": "unnest(column)",
    "slice": "limit(n, offset)",
    "tail": "sort(xd.desc('x'), limit=n)",
    "iter_rows": "collect().to_pylist()",
    "iterrows": "collect().to_pylist()",
    "itertuples": "collect().to_pylist()",
    "rows": "collect().to_pylist()",
    "to_pylist": "collect().to_pylist()",
    "to_pydict": "collect().to_pydict()",
    "to_dict": "collect().to_pydict()",
    "item": "collect()[0][0].as_py()",
    "num_rows": "count()",
    "to_dicts": "collect().to_pylist()",
    "anti_join": "join(other, on=..., how='anti')",
    "top": "top_k(k, ...)",
    "nlargest": "top_k(k, ...)",
}
_FUNCTIONS = (  # of expressions, which are methods elsewhere
    "any asc coalesce concat count desc first greatest lag last lead least max mean median min "
    "mode nullif product quantile sum var"
)
FAMILIAR_OF_EXPRESSIONS = {
    **{name: f"xd.{name}(x)" for name in _FUNCTIONS.split()},
    "fill_null": "xd.coalesce(x, 0)",
    "fillna": "xd.coalesce(x, 0)",
    "isnull": "is_null()",
    "isna": "is_null()",
    "notnull": "is_not_null()",
    "isin": "is_in([...])",
    "str": "upper(), contains('a') and the like, of the expression itself",
    "dt": "year(), truncate('month') and the like, of the expression itself",
    "list": "list_length(), list_element(0) and the like, of the expression itself",
    "struct": "field('name')",
    "astype": "cast('int64')",
    "n_unique": "xd.count_distinct(x)",
    "shift": "xd.lag(x).over(...)",
    "rank": "xd.rank().over(...)",
    "cum_sum": "xd.sum(x).over(order_by=...)",
    "when": "xd.when(condition).then(x).otherwise(y)",
    "startswith": "starts_with('a')",
    "endswith": "ends_with('a')",
    "to_lowercase": "lower()",
    "to_uppercase": "upper()",
    "len_chars": "length()",
    "len": "length()",
    "trim": "strip()",
    "substr": "substring(0, 3)",
    "slice": "substring(0, 3)",
    "date_trunc": "truncate('month')",
    "nunique": "xd.count_distinct(x)",
    "cumsum": "xd.sum(x).over(order_by=...)",
    "over": "xd.sum(x).over(...)",
    "str_contains": "contains('a')",
    "regexp_matches": "matches('a+')",
    "to_date": "strptime('%Y-%m-%d').date()",
    "to_datetime": "strptime('%Y-%m-%d %H:%M:%S')",
}
FAMILIAR_OF_GROUPS = {
    "aggregate": "agg(...)",
    "apply": "agg(...)",
    "count": "agg(n=xd.count())",
    "len": "agg(n=xd.count())",
    "size": "agg(n=xd.count())",
    **{name: f"agg(x=xd.{name}('x'))" for name in ("first", "last", "max", "mean", "min", "sum")},
    "nunique": "agg(n=xd.count_distinct('x'))",
    "head": "top_k(n, ..., per=...) of the relation",
    "collect": "agg(n=xd.count()).collect()",
}
FAMILIAR_OF_DOCKS = {
    "execute": "sql(text)",
    "query": "sql(text)",
    "table": "sql('from name')",
    "from_df": "from_arrow(frame)",
    "from_pandas": "from_arrow(frame)",
    "from_polars": "from_arrow(frame)",
    "from_pydict": "from_arrow(pyarrow.table({...}))",
    "from_pylist": "from_arrow(pyarrow.Table.from_pylist([...]))",
    "create_table": "register(name, table)",
    "create_view": "register(name, relation)",
    "read_ndjson": "read_json(path)",
    "read_feather": "read_ipc(path)",
    "scan_parquet": "read_parquet(path)",
    "scan_csv": "read_csv(path)",
    "scan_ipc": "read_ipc(path)",
    "scan_ndjson": "read_json(path)",
}
FAMILIAR_OF_MODULE = FAMILIAR_OF_DOCKS | {
    "Error": "CrossdockError",
    "DataFrame": "from_arrow(pyarrow.table({...}))",
    "LazyFrame": "from_arrow(pyarrow.table({...}))",
    "Session": "connect()",
    "array_agg": "list_agg(x)",
    "avg": "mean(x)",
    "collect_list": "list_agg(x)",
    "from_dict": "from_arrow(pyarrow.table({...}))",
    "from_dicts": "from_arrow(pyarrow.Table.from_pylist([...]))",
    "if_else": "when(condition).then(x).otherwise(y)",
    "ifnull": "coalesce(x, y)",
    "len": "count()",
    "n_unique": "count_distinct(x)",
    "nunique": "count_distinct(x)",
    "std": "stddev(x)",
    "struct": "sql_expr(\"{'a': x}\")",
    "where": "when(condition).then(x).otherwise(y)",
}


def instead_of_method(name: str) -> str:
    """What ours is where `expression.name` was written."""
    if name in FAMILIAR_OF_EXPRESSIONS:
        return f"here it is {FAMILIAR_OF_EXPRESSIONS[name]}"
    return f"xd.sql_expr('{name}(x)') takes functions of SQL"


def instead_of_item(key: object) -> str:
    """What ours is where `relation[key]` was written."""
    if isinstance(key, str):
        return f"xd.col({key!r}) in an expression, select({key!r}), or collect()[{key!r}]"
    if isinstance(key, list):
        return "select(...)"
    # Loops ask for items, too.
    return "limit(n, offset) for rows, or collect().to_pylist() to go through them"
