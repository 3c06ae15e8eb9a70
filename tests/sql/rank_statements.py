"""What a rank of test_random_ranks.py does: random statements over tables whose rows are spread
over the ranks in some way. The first rank compares the rows with those of one process, which
others hold against DuckDB, and prints how many were the same and how many were refused alike.

    mpirun -n 3 python tests/sql/rank_statements.py SEED STATEMENTS [STATEMENT]
"""

from __future__ import annotations

import faulthandler
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
from queries.sources import files_of
from sql.conftest import are_same, made_tables, rows_of
from sql.random_analyses import random_analysis
from sql.random_nested import random_nested
from sql.random_sql import random_query, random_top
from sql.random_statements import Statement, random_statement, random_tables
from sql.test_cases import cases

STATEMENTS_PER_TABLES = 15
# One after the other, with their tables.
KINDS = ("random", "nested", "analysis", "random", "case", "tpch")
CASES = cases()
HANGS_S = 300
PLACES = ("even", "random", "one rank", "ends", "file", "replicated", "single rows")
EAGER_BYTES = (0, 1 << 10, 256 << 10)
OVERFLOWS = frozenset(("CD-304", "CD-504"))  # which is whose: the engine's, or pyarrow's
ONLY_ALONE = "CD-513"  # what is not supported over ranks


class Run:
    """The dock of this rank and one of a process alone, over the same tables."""

    def __init__(self, dock: xd.Dock, seed: int) -> None:
        group = dock.group
        assert group is not None
        self._group = group
        self._dock = dock
        self._seed = seed
        self._folder = Path(group.gather(tempfile.mkdtemp().encode())[0].decode())
        self._alone = xd.connect(threads=1, memory="1GiB", ranks="off")
        self._opened = -1
        self._places: dict[str, str] = {}
        self.same = self.refused = self.different = 0

    def check(self, number: int) -> None:
        """Statement `number`, in all ranks."""
        self._open_tables(number // STATEMENTS_PER_TABLES)
        statement = self._statement(number)
        ranks = self._dock.over_ranks()
        assert ranks is not None
        ranks.eager_bytes = EAGER_BYTES[number % len(EAGER_BYTES)]
        faulthandler.dump_traceback_later(HANGS_S, exit=True)
        rows, refusal = _rows_or_refusal(lambda: self._dock.sql(statement.text).gather())
        refusals = [one.decode() for one in self._group.gather(refusal.encode())]
        faulthandler.cancel_dump_traceback_later()
        if self._dock.rank == 0 and (what := self._difference(statement, rows, refusals)):
            self.different += 1
            print(
                f"statement {number} of seed {self._seed}, {self._dock.size} ranks, eager_bytes "
                f"{ranks.eager_bytes}, {self._places}:\n{statement.text}\n{what}\n",
                file=sys.stderr, flush=True,
            )  # fmt: skip

    def _difference(self, statement: Statement, rows: Any, refusals: list[str]) -> str:
        codes = {one[:6] for one in refusals}
        if len(codes) > 1:
            return f"ranks differ: {refusals}"
        expected, refusal = _rows_or_refusal(lambda: self._alone.sql(statement.text).collect())
        code = codes.pop()
        if code or refusal:
            self.refused += 1
            is_alike = code in (refusal[:6], ONLY_ALONE) or {code, refusal[:6]} <= OVERFLOWS
            return "" if is_alike else f"over ranks: {refusals[0]}\nalone: {refusal}"
        if not are_same(rows, expected, statement.is_ordered):
            return _rows_that_differ(rows, expected)
        self.same += 1
        return ""

    def _statement(self, number: int) -> Statement:
        kind, seed = KINDS[self._opened % len(KINDS)], self._seed * 100_000 + number
        if kind == "analysis":
            return Statement(random_analysis(seed))
        if kind == "tpch":
            query = random_top(seed) if seed % 2 else random_query(seed)
            return Statement(query.text, query.is_ordered)
        if kind == "case":
            _, text, is_ordered = Random(seed).choice(CASES)
            return Statement(text, is_ordered)
        return random_nested(seed) if kind == "nested" else random_statement(seed)

    def _open_tables(self, number: int) -> None:
        if number == self._opened:
            return
        self._opened = number
        random = Random(f"{self._seed} places {number}")
        kind = KINDS[number % len(KINDS)]
        if kind in ("random", "nested"):
            tables = random_tables(self._seed * 1000 + number)
        elif kind == "tpch":
            files = files_of("tpch", 0.01).by_name
            tables = {name: pq.read_table(file) for name, file in files.items()}
        else:
            tables = made_tables()
        self._places = {name: random.choice(PLACES) for name in tables}
        for name, table in tables.items():
            self._alone.register(name, table)
            self._dock.register(name, self._spread(name, table, random))

    def _spread(self, name: str, table: pa.Table, random: Random) -> xd.Relation:
        """This rank's rows of a table that all ranks know."""
        rank, ranks, rows = self._dock.rank, self._dock.size, table.num_rows
        owner, group_rows = random.randrange(ranks), random.choice([7, 100, 1000])
        place = self._places[name]
        if place == "replicated":
            return self._dock.from_arrow(table, replicated=True)
        if place == "file":
            path = self._folder / f"{name}.parquet"
            if rank == 0:
                pq.write_table(table, path, row_group_size=group_rows)
            self._group.gather(b"")
            return self._dock.read_parquet(path)
        cuts = {
            "even": [rows * n // ranks for n in range(ranks)],
            "random": [0, *sorted(random.randrange(rows + 1) for _ in range(ranks - 1))],
            "one rank": [0] * (owner + 1) + [rows] * (ranks - owner - 1),
            "ends": [0] + [rows // 2] * (ranks - 1),
            "single rows": [min(n, rows) for n in range(ranks)],
        }[place] + [rows]
        return self._dock.from_arrow(table.slice(cuts[rank], cuts[rank + 1] - cuts[rank]))


def _rows_or_refusal(run: Any) -> tuple[list[tuple[Any, ...]], str]:
    """The rows of a table; none, and the error with its code, where there is one."""
    try:
        table = run()
    except xd.CrossdockError as error:
        return [], f"{error.code} {error}"
    return [] if table is None else rows_of(table), ""


def _rows_that_differ(rows: list[Any], expected: list[Any]) -> str:
    lines, other_lines = set(map(repr, rows)), set(map(repr, expected))
    return (
        f"{len(rows)} rows, not {len(expected)}; of ranks alone "
        f"{sorted(lines - other_lines)[:4]}, of one process alone "
        f"{sorted(other_lines - lines)[:4]}"
    )


def main() -> int:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    numbers = [int(sys.argv[3])] if len(sys.argv) > 3 else range(count)
    with xd.connect(threads=1 + seed % 2, memory="1GiB") as dock:
        run = Run(dock, seed)
        for number in numbers:
            run.check(number)
        if dock.rank == 0:
            print(run.same, run.refused)
    return 1 if run.different else 0


if __name__ == "__main__":
    sys.exit(main())
