"""What the tables of every bench are made with.

Every table is made from a fixed seed, so two runs see the same rows. Integer columns are numpy
buffers handed to Arrow without a copy, in chunks of `CHUNK_ROWS` rows that each start at offset 0,
the shape in which a file reader would deliver them. Cost: about one second per 10 M rows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.turns import turn_at

CHUNK_ROWS = 1 << 20
SEED = 20_260_101
DATA = Path(__file__).resolve().parents[2] / "build" / "data"

Int64 = npt.NDArray[np.int64]
Source = pa.Table | Path


@dataclass(frozen=True, slots=True)
class Inputs:
    """The named tables of a row: all of them Arrow tables in memory, or all Parquet files."""

    sources: dict[str, Source]
    row_counts: dict[str, int]

    @property
    def rows(self) -> int:
        return sum(self.row_counts.values())

    @property
    def in_memory(self) -> bool:
        return all(isinstance(source, pa.Table) for source in self.sources.values())

    @property
    def bytes(self) -> int:
        return sum(table.nbytes for table in self.sources.values())


def in_memory(**tables: pa.Table) -> Inputs:
    return Inputs(dict(tables), {name: table.num_rows for name, table in tables.items()})


def scaled(rows: int, scale: float) -> int:
    """`rows` at full size, shrunk for a test run; never empty."""
    return max(1, round(rows * scale))


def scatter(ids: Int64) -> Int64:
    """Spread row numbers over all of int64 (the splitmix64 finalizer).

    It is a bijection on 64 bits: distinct ids stay distinct, so the keys are unique, sparse and
    without pattern, and no engine can use a dense array or a clever multiplicative inverse.
    """
    x = ids.astype(np.uint64)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x.view(np.int64)


def zipf_ranks(rng: np.random.Generator, rows: int, distinct: int) -> Int64:
    """Ranks 0 to `distinct` - 1 with Zipf exponent 1.0.

    floor((n+1)**u) - 1 with u uniform has P(rank k) = ln(1 + 1/k) / ln(n + 1), which is
    proportional to 1/k but for the first few ranks, and needs no table of n probabilities.
    """
    ranks: Int64 = np.power(distinct + 1.0, rng.random(rows)).astype(np.int64) - 1
    np.clip(ranks, 0, distinct - 1, out=ranks)
    return ranks


def chunk_starts(rows: int) -> range:
    return range(0, max(rows, 1), CHUNK_ROWS)


def chunked(columns: dict[str, npt.NDArray[np.generic]]) -> pa.Table:
    """A table over numpy columns in chunks of `CHUNK_ROWS`, zero copy."""
    starts = chunk_starts(len(next(iter(columns.values()))))
    arrays = [
        pa.chunked_array([pa.array(values[start : start + CHUNK_ROWS]) for start in starts])
        for values in columns.values()
    ]
    return pa.table(arrays, names=list(columns))


def sides(left: pa.Table, right: pa.Table) -> Inputs:
    """The two sides of a join, under the names that all forms of it use."""
    return in_memory(l=left, r=right)


def keyed(keys: Int64, payload: str) -> pa.Table:
    """Key column `k` and an int64 payload that numbers the rows."""
    return chunked({"k": keys, payload: np.arange(len(keys), dtype=np.int64)})


def tpch_file(table: str, scale: float) -> Path:
    """A table of TPC-H scale factor 5 (times `scale`); made once, kept under build/data."""
    return tpch_folder(max(0.001, 5.0 * scale), ("lineitem", "orders")) / f"{table}.parquet"


def tpch_folder(factor: float, tables: Sequence[str], kind: str = "parquet") -> Path:
    """Where the files of a scale factor are, of kind parquet or csv; those that are missing are
    made."""
    folder = DATA / f"tpch{'' if kind == 'parquet' else '-' + kind}-sf{factor:g}"
    with turn_at(folder):
        missing = [table for table in tables if not (folder / f"{table}.{kind}").is_file()]
        if missing:
            make_tpch(factor, folder, missing, kind)
    return folder


def make_tpch(factor: float, folder: Path, tables: Sequence[str], kind: str) -> None:
    """Generate into a neighbour folder and rename: a broken run leaves nothing half done."""
    beside = Path(sys.executable).with_name("tpchgen-cli")
    tool = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if tool is None:
        raise SystemExit("bench: tpchgen-cli is missing; try: pip install tpchgen-cli")
    unfinished = folder.with_name(folder.name + ".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    print(f"# making TPC-H SF{factor:g} in {folder}", file=sys.stderr, flush=True)
    command = [tool, kind, "-s", f"{factor:g}", "--tables", ",".join(tables)]
    command += ["--output-dir", str(unfinished)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    folder.mkdir(exist_ok=True)
    for file in unfinished.iterdir():
        file.replace(folder / file.name)
    unfinished.rmdir()


def tpch_table(table: str, scale: float, columns: list[str]) -> pa.Table:
    """Columns read into Arrow; strings stay string_view, as the files declare them."""
    import pyarrow.parquet as pq

    return pq.read_table(tpch_file(table, scale), columns=columns)
