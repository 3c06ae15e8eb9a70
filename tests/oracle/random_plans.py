"""Random plans, run as a whole over tables in memory and files, and step by step, each operation
over the collected result of the one before. As a whole they run with one thread or three, and again
without one of the rules of the engine, or of narrowing. A plan whose results differ is a fault of
what moves between operations, of the readers, of a rule, or of what is computed inside an operator.

    python tests/oracle/random_plans.py --seed 1 --plans 3000          every plan that differs
    python tests/oracle/random_plans.py --seed 1 --plan 17             one of them, with its steps
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
from crossdock import _native
from crossdock.engine.execution import Execution
from random_predicates import random_predicate, random_value
from random_values import KEY_KINDS, comparable_rows, kind_of, random_table

PLANS_PER_TABLES = 25
TABLES = 3
NARROWING = "narrowing"  # columns and filters go down, in Python
MOST_ROWS = 3000  # of a step; a plan that gets larger is cut off there
CSV_SHARE = 0.08  # of tables

Step = Callable[[list[xd.Relation], xd.Relation], xd.Relation]


@dataclass
class Tables:
    """Some tables of one kind of key, in memory and as files."""

    memory: list[Any]
    files: list[Path]

    def read(self, dock: xd.Dock, number: int) -> xd.Relation:
        """The table of this number from its file, with the types that it has in memory."""
        file = self.files[number]
        if file.suffix != ".csv":
            return dock.read(file)
        return dock.read_csv(file, types={f.name: f.type for f in self.memory[number].schema})


@dataclass
class Counts:
    """What a run of plans came to."""

    plans: int = 0
    refused: int = 0  # by both ways
    kept_rows: int = 0
    of_csv: int = 0  # sources that were CSV files
    differences: list[str] = field(default_factory=list)


class Differences:
    """Makes the plans of a seed and runs them."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._seed = seed
        self._folder = folder
        self._dock = xd.connect(threads=1 if seed % 2 else 3, memory="1GiB")
        self._rules = [*_native.Query.rules(), NARROWING]
        self._made: tuple[int, Tables] | None = None
        self.counts = Counts()

    def run(self, number: int, shown: bool = False) -> None:
        """Makes plan `number` and runs it both ways."""
        chance = random.Random(f"{self._seed}/{number}")
        tables = self._tables(number // PLANS_PER_TABLES)
        sources = [self._opened(chance, tables, i) for i in range(TABLES)]
        memory = [self._dock.from_arrow(table) for table in tables.memory]
        lazy, eager = sources[0], memory[0]
        names = []
        for _ in range(chance.randint(1, 5)):
            joined = bool(names) and " join " in names[-1]
            result = self._extended(chance, eager, memory, joined)
            if result is None:
                break
            name, step, eager = result
            names.append(name)
            try:
                lazy = step(sources, lazy)
            except xd.CrossdockError as error:
                self._differ(number, names, f"refused as a whole: {error}")
                return
        if shown:
            print(*names, sep="\n")
            print(lazy.explain())
        self.counts.plans += 1
        self._compare(number, names, lazy, eager)
        rule = chance.choice(self._rules)
        self._compare_without(number, [*names, f"without {rule}"], rule, lazy, eager)

    def _compare(
        self, number: int, names: list[str], lazy: xd.Relation, eager: xd.Relation
    ) -> None:
        expected = eager.collect()
        try:
            result = lazy.collect()
            counted = lazy.count()
        except xd.CrossdockError as error:
            self._differ(number, names, f"an error as a whole: {error}")
            return
        self.counts.kept_rows += expected.num_rows
        if counted != expected.num_rows:
            self._differ(number, names, f"count() is {counted}, not {expected.num_rows}")
        self._compare_rows(number, names, result, expected)

    def _compare_without(
        self, number: int, names: list[str], rule: str, lazy: xd.Relation, eager: xd.Relation
    ) -> None:
        execution = self._dock.execution()
        assert isinstance(execution, Execution)
        if rule == NARROWING:
            node = lazy._node
        else:
            execution.without = (rule,)
            node = lazy.narrowed()
        try:
            result = execution.table(node)
        except xd.CrossdockError as error:
            self._differ(number, names, f"an error: {error}")
            return
        self._compare_rows(number, names, result, eager.collect())

    def _compare_rows(self, number: int, names: list[str], actual: Any, expected: Any) -> None:
        if actual.schema != expected.schema:
            self._differ(number, names, f"schema {actual.schema}, not {expected.schema}")
        elif comparable_rows(actual) != comparable_rows(expected):
            self._differ(number, names, f"{actual.to_pydict()}, not {expected.to_pydict()}")

    def _differ(self, number: int, names: list[str], what: str) -> None:
        command = f"python tests/oracle/random_plans.py --seed {self._seed} --plan {number}"
        steps = "\n".join(f"  {name}" for name in names)
        self.counts.differences.append(f"{command}\n{steps}\n  {what[:1000]}")

    def _extended(
        self, chance: random.Random, eager: xd.Relation, memory: list[xd.Relation], joined: bool
    ) -> tuple[str, Step, xd.Relation] | None:
        """One more step that `eager`, a table in memory, takes: its name, itself, its result. After
        a join often a filter of keys, which may go to both sides."""
        keys = pa.schema([field for field in eager.schema if field.name.startswith("k")])
        for _ in range(20):
            if joined and len(keys) and chance.random() < 0.6:
                name, step = _filter(chance, keys, memory)
            else:
                name, step = random_step(chance, eager.schema, memory)
            try:
                result = step(memory, eager)
                if result.count() > MOST_ROWS:
                    continue
                return name, step, self._dock.from_arrow(result.collect())
            except (xd.CrossdockError, pa.ArrowException, OverflowError):
                self.counts.refused += 1
        return None

    def _tables(self, group: int) -> Tables:
        if self._made is None or self._made[0] != group:
            chance = random.Random(f"{self._seed}/tables/{group}")
            kind = chance.choice(KEY_KINDS)
            memory = [random_table(chance, kind) for _ in range(TABLES)]
            if chance.random() < 0.3:
                memory[1] = memory[0].select(memory[0].schema.names[::-1])  # for union
            files = []
            for i, table in enumerate(memory):
                # Of another sequence: how many tables are CSV does not change the others.
                is_csv = random.Random(f"{self._seed}/csv/{group}/{i}").random() < CSV_SHARE
                if is_csv and may_be_csv(table.schema.field("k").type):
                    files.append(self._folder / f"{i}.csv")
                    memory[i] = written_as_csv(table, files[i])
                elif chance.random() < 0.75:
                    files.append(self._folder / f"{i}.parquet")
                    pq.write_table(table, files[i], row_group_size=chance.choice([2, 4, 10, 100]))
                    memory[i] = pq.read_table(files[i])  # seconds come back as milliseconds
                else:
                    files.append(self._folder / f"{i}.arrow")
                    pa.feather.write_feather(table, str(files[i]), chunksize=5)
            self._made = (group, Tables(memory, files))
        return self._made[1]

    def _opened(self, chance: random.Random, tables: Tables, number: int) -> xd.Relation:
        if chance.random() < 0.3:
            return self._dock.from_arrow(tables.memory[number])
        self.counts.of_csv += tables.files[number].suffix == ".csv"
        return tables.read(self._dock, number)


def may_be_csv(data_type: Any) -> bool:
    """Whether pyarrow reads columns of this type from the text that it writes of them."""
    return not (pa.types.is_duration(data_type) or data_type == pa.string_view())


def written_as_csv(table: Any, file: Path) -> Any:
    """Those columns of `table` that a CSV file can have, as they come back: an empty text and NaN
    are NULL there."""
    kept = table.select([f.name for f in table.schema if may_be_csv(f.type)])
    pyarrow.csv.write_csv(kept, file)
    types = {f.name: f.type for f in kept.schema}
    options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    return pyarrow.csv.read_csv(file, convert_options=options)


def random_step(chance: random.Random, schema: Any, memory: list[xd.Relation]) -> tuple[str, Step]:
    """An operation over a relation of `schema`."""
    kinds = ["filter"] * 8 + ["join"] * 4 + ["select"] * 3 + ["group"] * 3
    kinds += ["rename", "sort", "limit", "union", "distinct", "constants", "twice"]
    return _STEPS[chance.choice(kinds)](chance, schema, memory)


def _filter(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    predicate = random_predicate(chance, schema)
    return f"filter {predicate!r}", lambda _, rows: rows.filter(predicate)


def _join(chance: random.Random, schema: Any, memory: list[xd.Relation]) -> tuple[str, Step]:
    how = chance.choice(
        ["inner"] * 4 + ["left", "right", "full", "semi", "anti", "anti_null_aware"]
    )
    other = chance.randrange(TABLES)
    nulls = chance.random() < 0.2 and how != "anti_null_aware"
    pairs = [
        (left.name, right.name)
        for left in schema
        for right in memory[other].schema
        if kind_of(left.type) == kind_of(right.type) != "bool"
    ]
    same = [pair for pair in pairs if pair[0] == pair[1]]
    on = chance.sample(same if same and chance.random() < 0.7 else pairs or [("k", "k")], 1)
    suffix = f"_{len(schema)}"

    def step(sources: list[xd.Relation], rows: xd.Relation) -> xd.Relation:
        return rows.join(sources[other], on=on, how=how, suffix=suffix, null_equals_null=nulls)

    return f"{how} join with table {other} on {on}" + " NULL = NULL" * nulls, step


def _select(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    kept = [name for name in schema.names if chance.random() < 0.7] or schema.names[:1]
    computed = {f"c{len(schema)}{i}": random_value(chance, schema) for i in range(2)}

    def step(_: list[xd.Relation], rows: xd.Relation) -> xd.Relation:
        return rows.select(*kept, **computed)

    return f"select {kept} and {computed}", step


def _constants(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    value = chance.choice([1, "a", 0.5])
    return f"select a={value!r}", lambda _, rows: rows.select(a=xd.lit(value))


def _rename(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    old = chance.choice(schema.names)
    new = f"{old}{len(schema)}"
    return f"rename {old} to {new}", lambda _, rows: rows.rename({old: new})


def _group(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    keys = chance.sample(schema.names, min(len(schema), chance.choice([1, 1, 2])))
    computed = {"key": random_value(chance, schema)} if chance.random() < 0.3 else {}
    aggregates = {"n": xd.count()}
    for i, name in enumerate(chance.sample(schema.names, min(len(schema), 2))):
        make = chance.choice([xd.count, xd.min, xd.max, xd.count_distinct])
        aggregates[f"a{i}"] = make(xd.col(name) if chance.random() < 0.7 else
                                   random_value(chance, schema))  # fmt: skip
    if chance.random() < 0.3:
        aggregates["n"] = xd.count().where(random_predicate(chance, schema))

    def step(_: list[xd.Relation], rows: xd.Relation) -> xd.Relation:
        return rows.group_by(*keys, **computed).agg(**aggregates)

    return f"group by {keys} and {computed}: {aggregates}", step


def _sort(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    by = chance.sample(schema.names, 1)
    return f"sort by {by}", lambda _, rows: rows.sort(*by)


def _limit(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    """Rows that are equal in all columns are all that the limit may choose among."""
    rows_kept, offset = chance.choice([1, 3, 10]), chance.choice([0, 0, 2])
    by = chance.sample(schema.names, len(schema))
    orders = [(xd.desc if chance.random() < 0.5 else xd.asc)(name) for name in by]
    return (
        f"sort by {orders}, limit {rows_kept} after {offset}",
        lambda _, rows: rows.sort(*orders).limit(rows_kept, offset),
    )


def _union(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    other = chance.randrange(TABLES)
    if chance.random() < 0.5:
        predicate = random_predicate(chance, schema)
        return (
            f"union with itself where {predicate!r}",
            lambda _, rows: rows.union(rows.filter(predicate)),
        )
    return f"union with table {other}", lambda sources, rows: rows.union(sources[other])


def _twice(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    """The rows beside the groups that they make: whatever is below is used twice."""
    keys = [field.name for field in schema if kind_of(field.type) != "bool"] or schema.names
    by = chance.sample(keys, min(len(keys), chance.choice([1, 1, 2])))
    names = {name: f"{name}_g{len(schema)}" for name in by}
    value = chance.choice(schema.names)
    how = chance.choice(["inner", "left", "semi", "anti"])

    def step(_: list[xd.Relation], rows: xd.Relation) -> xd.Relation:
        groups = rows.group_by(*by).agg(**{f"most{len(schema)}": xd.max(value)})
        return rows.join(groups.rename(names), on=list(names.items()), how=how)

    return f"{how} join with its own groups by {by}, max({value})", step


def _distinct(chance: random.Random, schema: Any, _: Any) -> tuple[str, Step]:
    names = chance.sample(schema.names, min(len(schema), chance.choice([1, 2, 3])))
    return f"distinct {names}", lambda _, rows: rows.distinct(*names)


_STEPS: dict[str, Callable[[random.Random, Any, Any], tuple[str, Step]]] = {
    "filter": _filter, "join": _join, "select": _select, "constants": _constants,
    "rename": _rename, "group": _group, "sort": _sort, "limit": _limit, "union": _union,
    "distinct": _distinct, "twice": _twice,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plans", type=int, default=3000)
    parser.add_argument("--plan", type=int, help="this one alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        differences = Differences(options.seed, Path(folder))
        one = options.plan is not None
        for number in [options.plan] if one else range(options.plans):
            differences.run(number, shown=one)
    counts = differences.counts
    print(*counts.differences, sep="\n\n")
    print(f"{counts.plans} plans, {counts.kept_rows} rows, {len(counts.differences)} differences, "
          f"{counts.refused} steps refused, {counts.of_csv} sources of CSV")  # fmt: skip
    return 1 if counts.differences else 0


if __name__ == "__main__":
    sys.exit(main())
