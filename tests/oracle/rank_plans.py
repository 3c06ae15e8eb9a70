"""What a rank does: random plans over tables whose rows are spread over the ranks in some way, with
the rows of the same plans step by step in one process.

    mpirun -n 3 python tests/oracle/rank_plans.py SEED PLANS [PLAN]
"""

from __future__ import annotations

import faulthandler
import random
import sys

import crossdock as xd
import pyarrow as pa
from random_plans import MOST_ROWS, PLANS_PER_TABLES, TABLES, random_step
from random_values import KEY_KINDS, comparable_rows, random_table
from rank_run import Run

HANGS_S = 300


class Plans:
    """Makes the plans of a seed in all ranks and runs them."""

    def __init__(self, run: Run, seed: int) -> None:
        self._run = run
        self._seed = seed
        self._opened = -1
        self._tables: list[pa.Table] = []
        self.plans = self.differences = 0

    def check(self, number: int) -> None:
        """Plan `number`, over ranks and step by step in a process alone."""
        chance = random.Random(f"{self._seed}/{number}")
        group = number // PLANS_PER_TABLES
        if group != self._opened:
            making = random.Random(f"{self._seed}/tables/{group}")
            kind = making.choice(KEY_KINDS)
            self._tables = [random_table(making, kind) for _ in range(TABLES)]
            self._opened = group
        memory = [self._run.alone.from_arrow(table) for table in self._tables]
        shares = [self._run.share(t, chance.randrange(1 << 20)) for t in self._tables]
        lazy, eager, names = shares[0], memory[0], []
        for _ in range(chance.randint(1, 5)):
            for _ in range(20):
                try:
                    name, step = random_step(chance, eager.schema, memory)
                    result = step(memory, eager)
                    if result.count() <= MOST_ROWS:
                        eager = self._run.alone.from_arrow(result.collect())
                        break
                except (xd.CrossdockError, pa.ArrowException, OverflowError):
                    pass
            else:
                break
            names.append(name)
            lazy = step(shares, lazy)
        self.plans += 1
        faulthandler.dump_traceback_later(HANGS_S, exit=True)
        try:
            counted, rows, said = lazy.count(), lazy.gather(), ""
        except xd.CrossdockError as error:
            counted, rows, said = 0, None, str(error)
        faulthandler.cancel_dump_traceback_later()
        self._run.dock.group.gather(b"")
        if not self._run.is_judge:
            return
        expected = eager.collect()
        if said:
            self._differ(number, names, said)
        elif counted != expected.num_rows or comparable_rows(rows) != comparable_rows(expected):
            ours, theirs = comparable_rows(rows), comparable_rows(expected)
            more = [r for r in ours if ours[r] != theirs.get(r)][:5]
            less = [r for r in theirs if ours.get(r) != theirs[r]][:5]
            self._differ(
                number, names, f"{counted} of {expected.num_rows} rows: {more}, not {less}"
            )
        elif rows.schema.names != expected.schema.names:  # dictionaries are read as their values
            self._differ(number, names, f"{rows.schema.names}, not {expected.schema.names}")

    def _differ(self, number: int, names: list[str], what: str) -> None:
        self.differences += 1
        steps = "\n".join(f"  {name}" for name in names)
        print(f"=== plan {number} of seed {self._seed}\n{steps}\n  {what[:1500]}", file=sys.stderr)


def main() -> int:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    with xd.connect(threads=1 + seed % 2, memory="1GiB") as dock:
        run = Run(dock)
        plans = Plans(run, seed)
        for number in range(count) if len(sys.argv) < 4 else [int(sys.argv[3])]:
            run.move_eagerly(number % 2 == 1)
            plans.check(number)
        if run.is_judge:
            print(plans.plans, "plans")
    return 1 if plans.differences else 0


if __name__ == "__main__":
    sys.exit(main())
