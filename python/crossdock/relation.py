"""Relations: lazy, immutable descriptions of a result, run when asked for rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias

import pyarrow as pa

from crossdock.engine.execution import Execution
from crossdock.errors import make_error
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Alias, Column, Expr, condition_of
from crossdock.expressions.named_items import flattened, named_aggregates, named_columns
from crossdock.expressions.orders import Order, orders_of
from crossdock.familiar_options import answering_class, refuse_options
from crossdock.grouping import Grouping
from crossdock.option_checks import require_flag, require_integer, require_rows, require_text
from crossdock.option_signatures import showing
from crossdock.partitions import Partitions
from crossdock.plan import planning, pushdown, row_planning, window_planning, windows
from crossdock.plan.group_planning import Key, group_keys, plan_group
from crossdock.plan.list_planning import plan_unnest
from crossdock.plan.nodes import JoinOptions, Node, depth_of, files_of
from crossdock.plan.shared_parts import narrow_whole
from crossdock.query_dock import QueryDock
from crossdock.result_files import ResultFiles
from crossdock.row_sets import RowSets
from crossdock.sql_frontend.sql_strings import read_aggregates, read_sql

if TYPE_CHECKING:
    import pandas
    import polars

    from crossdock.group import Group
    from crossdock.reports.display import Preview
    from crossdock.reports.explain import Plan
    from crossdock.reports.profile import Profile

Keys = planning.Keys
Columns: TypeAlias = str | Expr | Alias | Sequence[str | Expr | Alias]
MOST_STEPS = 100  # operations one over the other: walks over them are recursive


@answering_class
class Relation(RowSets, ResultFiles):
    """A table that is not computed yet. Methods give new relations and read no rows, but for
    `collect`, `count`, `to_batches`, `write_parquet`, `profile`, `show`, `exchange` and Arrow
    export, which run it (again each time). The schema is known at once, and so are errors in names
    and types.

    May be shared between threads, and pickled: it comes back on the default dock.
    """

    def __init__(self, dock: QueryDock, node: Node) -> None:
        self._dock = dock
        self._node = node
        self._narrowings: dict[frozenset[str], Node] = {}  # by the columns that are needed

    @property
    def schema(self) -> pa.Schema:
        """The pyarrow.Schema of the result."""
        return self._node.schema

    @property
    def columns(self) -> list[str]:
        """Column names of the result, in order."""
        return list(self._node.schema.names)

    @showing(planning.JOIN_DEFAULTS, JoinOptions.__annotations__)
    def join(
        self,
        other: Relation | object,
        on: Keys | None = None,
        how: str = "inner",
        *,
        suffix: str = "_right",
        residual: Expr | str | None = None,
        **options: Any,
    ) -> Relation:
        """The join with `other` (a relation, or anything `from_arrow` takes) on equal keys.

        on: "k", ["a", "b"], {"left": "right"} or [("left", "right")]. May be left out where
            `residual` decides about every pair of rows, or for how="cross".
        how: inner, left, right, full, semi, anti, anti_null_aware (SQL's NOT IN), or cross (each
            row with each).
        suffix: put after a right column's name that the left side also has.
        residual: a further condition (or SQL text) on both sides' columns, which pairs must meet.
        options: null_equals_null=False; strategy="merge" for a sort-merge join, whose result is
            sorted by the keys; and, mostly for tests, strategy= auto radix direct dense, build=
            auto left right, materialize= auto early late, filter= auto bloom off, partition_bits=,
            batch_rows=. Over ranks, exchange= auto repartition (both sides by their keys) broadcast
            (one side to all).

        The result has all left columns, then the right ones. Keys of the same name are one column:
        the left value, or in right and full joins the right one where no left row matched. semi
        and anti joins have the left columns only. Row order is not defined but for "merge".
        Errors: ColumnError, TypeError (keys that do not compare), OptionError, ExpressionError.
        """
        right = self._other(other)
        require_text(suffix, "join(suffix=...)", "suffix='_2'")
        both = planning.pair_schema(self._node, right._node, on, suffix)
        condition = None if residual is None else read_sql(condition_of(residual), both)
        extras = (suffix, condition, planning.join_options(options))
        if how == "cross" or (on is None and condition is not None):
            node = planning.plan_keyless_join(self._node, right._node, on, how, extras)
            return self._with(node)
        keys = planning.key_pairs(on)
        return self._with(planning.plan_join(self._node, right._node, keys, how, extras))

    def select(self, /, *columns: Columns, **named: Expr | str) -> Relation:
        """These columns, in this order, by name or in lists; `new=expression` or
        `expression.alias("new")` computes one.

        Errors: ColumnError (unknown, or a name twice), ExpressionError.
        """
        refuse_options("select", named, self.columns)
        columns, named = self._read(columns, named)
        items = named_columns(columns, named, "select()")
        if not items:
            raise make_error("CD-105", "select() needs at least one column", try_=".count()")
        return self._with(window_planning.project(self._node, items, "select()"))

    def with_columns(self, /, *columns: Columns, **named: Expr | str) -> Relation:
        """All columns, with these computed ones, `new=expression` or `expression.alias("new")`,
        replaced or added at the end. A string is the name of a column, as in `select`.

        Errors: ColumnError, ExpressionError.
        """
        items: dict[str, Expr] = {name: Column(name) for name in self.columns}
        columns, named = self._read(columns, named)
        items.update(named_columns(columns, named, "with_columns()"))
        plan = window_planning.project(self._node, list(items.items()), "with_columns()")
        return self._with(plan)

    def drop(self, /, *columns: Columns) -> Relation:
        """All columns but these. ColumnError (unknown), OptionError (none is left)."""
        dropped = [name for name, _ in named_columns(columns, {}, "drop()")]
        planning.require_columns(dropped, self.schema, "drop()")
        return self.select([name for name in self.columns if name not in dropped])

    def rename(self, names: Mapping[str, str]) -> Relation:
        """The same columns under new names, {"old": "new"}. ColumnError."""
        return self._with(planning.plan_rename(self._node, names))

    def filter(self, *predicates: Expr | str) -> Relation:
        """The rows for which all predicates are true (NULL is not). A text is SQL:
        `filter("price > 2 and city like 'A%'")`.

        Simple comparisons reach the readers, through joins too where that changes no result.
        Errors: ColumnError, ExpressionError (not a boolean, no kernel for the types), SqlError.
        """
        parts = [condition_of(each) for each in flattened(predicates)]
        return self._with(window_planning.filtered(self._node, self._read(*parts)))

    def group_by(self, /, *keys: Columns, **computed: Expr | str) -> Grouping[Relation]:
        """The rows by the values of these columns, for `.agg(...)`: one row per combination.

        computed: keys from expressions: `group_by("city", year=xd.col("day").year())`.
            A text is the name of a column, as in `select`; xd.lit("x") is the text.
        NULL is a value like others here; -0.0 and 0.0 are one key, and so are all NaN.
        Errors: ColumnError (unknown, or a name twice), OptionError (no key), ExpressionError.
        """
        refuse_options("group_by", computed, self.columns)
        keys, computed = self._read(keys, computed)
        return Grouping(self.grouped, group_keys(keys, computed, self.schema, "group_by()"))

    def agg(self, /, *named: Alias | Sequence[Alias], **aggregates: Aggregate | str) -> Relation:
        """One row of aggregates over all rows: `agg(n=xd.count(), total=xd.sum("price"))`,
        `agg(xd.count().alias("n"))`, or of SQL, `agg(mean="sum(price) / count(*)")`.

        A join below is aggregated without building its rows where the aggregates are plain.
        Errors: ColumnError, TypeError (sum of text), OptionError (no aggregate), ExpressionError.
        """
        items = named_aggregates(named, aggregates, "agg()")
        if not items:
            raise make_error(
                "CD-105", "agg() needs at least one aggregate", try_="agg(n=xd.count())"
            )
        return self.grouped((), items)

    def grouped(self, keys: tuple[Key, ...], aggregates: Mapping[str, Any]) -> Relation:
        """Aggregates per combination of keys. For modules of this package."""
        items, computed = read_aggregates(aggregates, self.schema)
        relation = self._with(plan_group(self._node, keys, items))
        if not computed:
            return relation
        names = [*(name for name, _ in keys), *aggregates]
        return relation.select(**{name: computed.get(name, Column(name)) for name in names})

    def distinct(self, /, *columns: Columns, **computed: Expr | str) -> Relation:
        """Each combination of these columns (all, if none are named) once, as SELECT DISTINCT.

        computed: columns from expressions, as in `group_by`: `distinct(year=xd.col("day").year())`.
        Row order is not defined. Errors: ColumnError, TypeError (a nested column), ExpressionError.
        """
        refuse_options("distinct", computed, self.columns)
        columns, computed = self._read(columns, computed)
        names = columns if columns or computed else self.columns
        return self.grouped(group_keys(names, computed, self.schema, "distinct()"), {})

    def sort(
        self,
        *by: str | Expr | Order | Sequence[str | Expr | Order],
        descending: bool | Sequence[bool] = False,
        limit: int | None = None,
        offset: int = 0,
        stable: bool = False,
        strategy: str = "auto",
    ) -> Relation:
        """The rows in order: `sort("city", xd.desc("price"))`. NULLs come last unless the order
        says otherwise, in both directions.

        descending: what names and expressions without xd.asc() or xd.desc() mean, or a list that
            says it of each.
        limit: only so many rows, without sorting the rest.
        offset: leaves out the first rows of the order; `limit` counts from there.
        stable: rows that are equal keep the order of the input.
        strategy: "auto"; or "msd" (ranges of the keys, each sorted in cache) or "lsd" (counting
            passes over all rows, from the last digit to the first), for comparison.
        Errors: ColumnError, TypeError (nothing to order by), OptionError, ExpressionError.
        """
        orders = orders_of(flattened(self._read(*by)), "sort", descending)
        options = row_planning.SortOptions(limit, offset, stable, strategy)
        return self._with(row_planning.plan_sort(self._node, orders, options, "sort"))

    def top_k(
        self, k: int, *by: str | Expr | Order, per: str | Expr | Sequence[str | Expr] = ()
    ) -> Relation:
        """The first `k` rows of the sort by these orders, largest first for plain names:
        `top_k(10, "price", xd.asc("name"))`. per: columns; then the first rows of each group of
        rows that are equal in them, `top_k(3, "price", per="shop")`. Errors as for `sort`."""
        by, per = self._read(by, per)
        keys = windows.keys_of(per)
        if keys:
            rows = require_rows(k, "top_k(k)")
            orders = orders_of(by, "top_k", descending=True)
            return self._with(windows.first_rows(self._node, keys, orders, rows))
        options = row_planning.SortOptions(require_rows(k, "top_k(k)"))
        orders = orders_of(by, "top_k", descending=True)
        return self._with(row_planning.plan_sort(self._node, orders, options, "top_k"))

    def arg_sort(self, *by: str | Expr | Order, stable: bool = False) -> Relation:
        """Positions of rows in the order of `sort`: one int64 column "index", counted from 0.
        Errors as for `sort`."""
        orders = orders_of(self._read(*by), "arg_sort")
        return self._with(row_planning.plan_arg_sort(self._node, orders, stable))

    def assume_sorted(self, *by: str | Order) -> Relation:
        """The same rows, declared to be in this order already. Sorts and merge joins use that, and
        check it while they run: a wrong declaration is an OptionError, never a wrong result.

        Errors: ColumnError, TypeError, OptionError.
        """
        orders = orders_of(by, "assume_sorted")
        return self._with(row_planning.plan_assume_sorted(self._node, orders))

    def limit(
        self, n: int | None = None, offset: int = 0, *, fraction: float | None = None
    ) -> Relation:
        """`n` rows, or this share of all rows, rounded down, after the first `offset`. Which ones
        is defined only if the order of rows is; after `sort` no more is sorted than `n` needs.
        Errors: OptionError."""
        return self._with(row_planning.plan_limit(self._node, n, offset, fraction))

    def head(self, n: int = 10) -> Relation:
        """The first `n` rows: `limit(n)`."""
        return self.limit(n)

    def sample(
        self, n: int | None = None, *, fraction: float | None = None, seed: int | None = None
    ) -> Relation:
        """Random rows, in the order of the input: exactly `n` (all, if there are no more), or each
        with probability `fraction`. The same seed draws the same rows of the same input; without
        one it is drawn now, and the relation keeps it. Errors: OptionError.
        """
        seed = self._dock.random_bits(32) if seed is None else seed
        return self._with(row_planning.plan_sample(self._node, n, fraction, seed))

    def with_random(self, name: str, *, kind: str = "number", seed: int | None = None) -> Relation:
        """All columns, and one of random values: numbers from 0 up to 1, or kind="uuid". Seeds are
        those of `sample`. Errors: ColumnError (a name twice), OptionError."""
        require_text(name, "with_random()", 'with_random("r")')
        seed = self._dock.random_bits(32) if seed is None else seed
        drawn = row_planning.draw(name, kind, seed)
        return self._with(row_planning.plan_draws(self._node, [drawn]))

    def unnest(self, *columns: str, keep_empty: bool = False) -> Relation:
        """A row per element of the lists in a column, which becomes the element, beside the other
        columns of the row. Rows whose list is NULL or empty are left out; keep_empty=True keeps
        them, with NULL. Lists of several columns stand side by side, the shorter ones with NULL
        behind their last element. Errors: ColumnError, TypeError (no lists), OptionError."""
        require_flag(keep_empty, "keep_empty", "unnest")
        return self._with(plan_unnest(self._node, columns, keep_empty))

    def partition_by(
        self,
        /,
        *keys: str | int,
        partitions: int | None = None,
        how: str = "hash",
        **computed: Expr | str,
    ) -> Partitions:
        """The rows in so many parts: `partition_by("shop", 64)`, or partitions=64, which is the
        number where none is given. Rows with equal keys are in one part, in the order of the input.

        computed: keys from expressions, as in `group_by`: `partition_by(h=xd.col("id") % 7)`. They
            are no columns of the parts, which have those of the relation.

        how: "hash" spreads keys evenly; "range" gives each part a range of keys, in ascending
            order; "explicit" takes the value of the one integer key as the number of the part.
        Nothing runs before parts are asked for. Errors: ColumnError, TypeError, OptionError,
        ExpressionError.
        """
        (computed,) = self._read(computed)
        node = row_planning.plan_partition(self._node, keys, computed, partitions, how)
        return Partitions(self._dock, node)

    def exchange(
        self, group: Group, by: str | Sequence[str] | None = None, **options: Any
    ) -> Relation:
        """Runs the relation in all ranks of `group`, and gives the rows of all of them that belong
        to this one: those with the same values of the columns `by` are in one rank. So a group-by
        or join on these columns is complete in each rank, for its share of the values.
        It runs now, since all ranks must take part. options, errors: those of `Group.exchange`."""
        execution = self._dock.execution()
        if isinstance(execution, Execution) or self._dock.group is not group:
            return self._other(group.exchange(self, by=by, **options))
        rows = execution.once_among_all(self.narrowed())
        return self._other(group.exchange(rows, by=by, **options))

    def collect(self) -> pa.Table:
        """Runs the relation and gives all rows as a pyarrow.Table; over ranks those of this rank,
        which `gather` gives of all.

        Errors: CapacityError (over the memory budget), DataError, ExpressionError, ClosedError.
        Ctrl-C stops the run with KeyboardInterrupt.
        """
        return self._dock.execution().table(self.narrowed())

    def gather(self, root: int = 0) -> pa.Table | None:
        """Runs the relation and gives the rows of all ranks as a pyarrow.Table in rank `root`, in
        the order of the ranks, which is that of a sort; None in the others. The same as `collect`
        where there is one rank. Errors as for `collect`, OptionError (no rank)."""
        number = require_integer(root, "gather(root=...) takes the number of a rank", "root=0")
        if not 0 <= number < self._dock.size:
            raise make_error(
                "CD-105", f"gather(root={root}) is no rank of the dock",
                limits=f"0 to {self._dock.size - 1}", try_="root=0",
            )  # fmt: skip
        execution = self._dock.execution()
        if isinstance(execution, Execution):
            return execution.table(self.narrowed())
        return execution.gather(self.narrowed(), number)

    def to_pandas(self) -> pandas.DataFrame:
        """Runs the relation and gives all rows as a pandas.DataFrame. Errors as for `collect`;
        ImportError without pandas."""
        return self.collect().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The same as a polars.DataFrame, which shares the rows' memory."""
        import polars

        frame = polars.from_arrow(self.collect())
        assert isinstance(frame, polars.DataFrame)  # of a table
        return frame

    def count(self) -> int:
        """Runs the relation and gives the number of rows, of all ranks where there are several,
        passing no column but keys.

        Errors as for `collect`.
        """
        return self._dock.execution().count(self._narrowed_to(frozenset()))

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Runs the relation and yields pyarrow.RecordBatches in bounded memory (beside the inputs
        of operators). Dropping the iterator cancels the run. Errors as for `collect`."""
        return self._dock.execution().batches(self.narrowed())

    def files(self) -> list[str]:
        """Paths of the files that the relation reads."""
        return files_of(self._node)

    def to_substrait(self, tables: Mapping[str, Relation] | None = None) -> bytes:
        """The plan as a Substrait message, which `from_substrait` and other engines read. Its
        tables have the names of `tables`, those that the dock has for them, or of their own.
        Errors: SqlError for what such plans have not, such as windows; OptionError without the
        extra `crossdock[sql]`."""
        from crossdock.sql_frontend.plan_writing import to_substrait

        nodes = {name: table._node for name, table in (tables or {}).items()}
        return to_substrait(self._dock, self._node, nodes)

    def explain(self, *, read: bool | None = None) -> Plan:
        """The plan as a tree: what each source must read, and the operators' predicted phases.

        Predictions need the inputs' sizes and key ranges. read=True reads the inputs for them (and
        runs nothing), read=False never does, None does below 1 GiB of files.
        """
        from crossdock.reports.explain import explain

        return explain(self._dock.execution(), self.narrowed(), read)

    def profile(self) -> Profile:
        """Runs the relation and gives predicted beside measured times; `.table` has the result.

        Errors as for `collect`.
        """
        from crossdock.reports.profile import run_profiled

        return run_profiled(self._dock.execution(profiling=True), self.narrowed())

    def show(self, rows: int = 10) -> None:
        """Runs the relation and prints its first and last rows and their number. Of more than
        10,000 rows it prints the first ones, and reads no further; over ranks it reads all, and
        prints in rank 0."""
        require_rows(rows, "show(rows)")
        preview = self.preview(rows)
        if self._dock.rank == 0:
            print(preview.text())  # noqa: T201

    def preview(self, rows: int, *, whole: bool = False) -> Preview:
        """What `show` prints; over ranks, in rank 0. whole: reads all rows. For modules of this
        project."""
        from crossdock.reports.previews import preview_of

        return preview_of(self._dock.execution(), self._node, rows, whole)

    def narrowed(self) -> Node:
        """The query as it runs: columns and filters pushed down. For modules of this package."""
        return self._narrowed_to(frozenset(self.columns))

    def _narrowed_to(self, columns: frozenset[str]) -> Node:
        """Each way once: a relation may run often."""
        if columns not in self._narrowings:
            is_over_ranks = self._dock.over_ranks() is not None
            narrow = pushdown.narrow if is_over_ranks else narrow_whole
            self._narrowings[columns] = narrow(self._node, columns)
        return self._narrowings[columns]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Runs the relation as an Arrow C stream, in bounded memory. Errors reach the consumer."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __getattr__(self, name: str) -> Any:
        from crossdock.familiar_names import FAMILIAR

        is_column = "_node" in self.__dict__ and name in self.columns
        ours = f"xd.col({name!r})" if is_column else FAMILIAR.get(name)
        hint = f"; here it is {ours}" if ours else ""
        raise AttributeError(f"a relation has no {name}{hint}", name=name, obj=self)

    def __getitem__(self, key: object) -> NoReturn:
        from crossdock.familiar_names import instead_of_item

        ours = f"filter({key!r})" if isinstance(key, Expr) else instead_of_item(key)
        raise TypeError(f"a relation has no items; here it is {ours}")

    def __reduce__(self) -> tuple[Any, ...]:
        return self._dock.pickled(self._node)

    def __repr__(self) -> str:
        from crossdock.reports.display import relation_text

        return relation_text(self._node)

    def _repr_html_(self) -> str:
        from crossdock.reports.previews import relation_html

        return relation_html(self._dock.execution(), self._node)

    def _read(self, *items: Any) -> list[Any]:
        """The items, with the SQL in them read."""
        return [read_sql(item, self.schema) for item in items]

    def _other(self, other: Self | object) -> Self:
        """Another relation of this dock, or Arrow data opened as one."""
        if not isinstance(other, type(self)):
            return type(self)(self._dock, self._dock.scan(other))
        if other._dock is not self._dock:
            raise make_error(
                "CD-105", "the two relations belong to different docks", try_="one xd.connect()"
            )
        return other

    def _with(self, node: Node) -> Self:
        if depth_of(node) > MOST_STEPS:
            raise make_error(
                "CD-105",
                f"a relation has more than {MOST_STEPS} operations one over the other",
                try_="dock.from_arrow(relation.collect()) on the way; "
                "filter(*conditions) and with_columns(**columns), which take many at once",
            )
        return type(self)(self._dock, node)
