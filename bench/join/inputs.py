"""Input tables of the join bench.

Every table is made from a fixed seed, so two runs join the same rows. Integer columns are numpy
buffers handed to Arrow without a copy, in chunks of `CHUNK_ROWS` rows that each start at offset 0,
the shape in which a file reader would deliver them. Cost: about one second per 10 M rows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

CHUNK_ROWS = 1 << 20
SEED = 20_260_101

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Both sides of a join: Arrow tables in memory, or Parquet files on disk."""

    left: pa.Table | Path
    right: pa.Table | Path
    left_rows: int
    right_rows: int

    @property
    def rows(self) -> int:
        return self.left_rows + self.right_rows

    def tables(self) -> tuple[pa.Table, pa.Table]:
        assert isinstance(self.left, pa.Table)
        assert isinstance(self.right, pa.Table)
        return self.left, self.right

    def paths(self) -> tuple[Path, Path]:
        assert isinstance(self.left, Path)
        assert isinstance(self.right, Path)
        return self.left, self.right


def in_memory(left: pa.Table, right: pa.Table) -> Inputs:
    return Inputs(left, right, left.num_rows, right.num_rows)


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


def chunked(columns: dict[str, npt.NDArray[np.generic]]) -> pa.Table:
    """A table over numpy columns in chunks of `CHUNK_ROWS`, zero copy."""
    rows = len(next(iter(columns.values())))
    starts = range(0, max(rows, 1), CHUNK_ROWS)
    arrays = [
        pa.chunked_array([pa.array(values[start : start + CHUNK_ROWS]) for start in starts])
        for values in columns.values()
    ]
    return pa.table(arrays, names=list(columns))


def keyed(keys: Int64, payload: str) -> pa.Table:
    """Key column `k` and an int64 payload that numbers the rows."""
    return chunked({"k": keys, payload: np.arange(len(keys), dtype=np.int64)})


def unique_keys(rows: int, key_of: Callable[[Int64], Int64]) -> Inputs:
    """One to one: both sides hold the same keys, each side in its own random order."""
    rng = np.random.default_rng(SEED)
    left = key_of(rng.permutation(rows))
    right = key_of(rng.permutation(rows))
    return in_memory(keyed(left, "lv"), keyed(right, "rv"))


def sparse_unique(scale: float) -> Inputs:
    return unique_keys(scaled(20_000_000, scale), scatter)


def dense_unique(scale: float) -> Inputs:
    return unique_keys(scaled(20_000_000, scale), lambda ids: ids + 1)


def foreign_key(scale: float, hit_share: float) -> Inputs:
    """20 M rows look for 5 M unique sparse keys; `hit_share` of them find one."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(20_000_000, scale)
    ids = rng.integers(0, build_rows, probe_rows)
    ids[rng.random(probe_rows) >= hit_share] += build_rows  # ids beyond the build side: no partner
    build = keyed(scatter(rng.permutation(build_rows)), "rv")
    return in_memory(keyed(scatter(ids), "lv"), build)


def zipf_probe(scale: float) -> Inputs:
    """Probe keys with Zipf exponent 1.0 over 5 M keys; the hottest takes about 4.5 % of the rows.

    floor((n+1)**u) - 1 with u uniform has P(rank k) = ln(1 + 1/k) / ln(n + 1), which is
    proportional to 1/k but for the first few ranks, and needs no table of n probabilities.
    """
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(20_000_000, scale)
    ranks = np.power(build_rows + 1.0, rng.random(probe_rows)).astype(np.int64) - 1
    np.clip(ranks, 0, build_rows - 1, out=ranks)
    build = keyed(scatter(rng.permutation(build_rows)), "rv")
    return in_memory(keyed(scatter(ranks), "lv"), build)


def equal_probe(scale: float) -> Inputs:
    """Every one of the 20 M probe rows carries the same key, which one of 5 M build rows has."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(20_000_000, scale)
    ids = np.full(probe_rows, build_rows // 2, dtype=np.int64)
    build = keyed(scatter(rng.permutation(build_rows)), "rv")
    return in_memory(keyed(scatter(ids), "lv"), build)


def duplicate_build(scale: float) -> Inputs:
    """5 M build rows with 100 rows per key; 1 M probe rows: 100 M rows result, so it is counted."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(1_000_000, scale)
    keys = max(1, build_rows // 100)
    return in_memory(
        keyed(scatter(rng.integers(0, keys, probe_rows)), "lv"),
        keyed(scatter(rng.permutation(build_rows) % keys), "rv"),
    )


def small_tables(scale: float) -> Inputs:
    """10 k rows x 1 k rows. The row asks for latency, so it does not shrink with the scale."""
    del scale
    rng = np.random.default_rng(SEED)
    ids = rng.integers(0, 1_000, 10_000)
    return in_memory(keyed(scatter(ids), "lv"), keyed(scatter(rng.permutation(1_000)), "rv"))


STRING_COUNT = 50_000  # distinct texts; with 100 numbers they name 5 M (int32, utf8) pairs


def two_column_side(ids: Int64, texts: pa.Array, payload: str) -> pa.Table:
    """Pair id -> (int32, utf8); neither column alone identifies a row."""
    starts = range(0, max(len(ids), 1), CHUNK_ROWS)
    chunks = [ids[start : start + CHUNK_ROWS] for start in starts]
    numbers = [pa.array((chunk // STRING_COUNT).astype(np.int32)) for chunk in chunks]
    words = [texts.take(pa.array(chunk % STRING_COUNT)) for chunk in chunks]
    values = np.arange(len(ids), dtype=np.int64)
    payloads = [pa.array(values[start : start + CHUNK_ROWS]) for start in starts]
    columns = [pa.chunked_array(parts) for parts in (numbers, words, payloads)]
    return pa.table(columns, names=["k1", "k2", payload])


def two_column_key(scale: float) -> Inputs:
    """5 M unique (int32, utf8) keys, texts of 10 to 24 bytes; every probe row hits."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(20_000_000, scale)
    texts = pa.array([f"part-{i:05d}{'-abcdefghijklm'[: i % 15]}" for i in range(STRING_COUNT)])
    return in_memory(
        two_column_side(rng.integers(0, build_rows, probe_rows), texts, "lv"),
        two_column_side(rng.permutation(build_rows), texts, "rv"),
    )


LINEITEM_COLUMNS = ["l_orderkey", "l_linenumber"]
ORDERS_COLUMNS = ["o_orderkey", "o_orderpriority"]


def tpch_files(scale: float) -> Inputs:
    """TPC-H scale factor 5 (times `scale`) as Parquet; made once, kept under build/data."""
    import pyarrow.parquet as pq

    factor = max(0.001, 5.0 * scale)
    root = Path(__file__).resolve().parents[2]
    folder = root / "build" / "data" / f"tpch-sf{factor:g}"
    lineitem, orders = folder / "lineitem.parquet", folder / "orders.parquet"
    if not (lineitem.is_file() and orders.is_file()):
        make_tpch(factor, folder)
    rows = [pq.read_metadata(path).num_rows for path in (lineitem, orders)]
    return Inputs(lineitem, orders, rows[0], rows[1])


def make_tpch(factor: float, folder: Path) -> None:
    """Generate into a neighbour folder and rename: a broken run leaves nothing half done."""
    beside = Path(sys.executable).with_name("tpchgen-cli")
    tool = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if tool is None:
        raise SystemExit("bench: tpchgen-cli is missing; try: pip install tpchgen-cli")
    unfinished = folder.with_name(folder.name + ".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    print(f"# making TPC-H SF{factor:g} in {folder}", file=sys.stderr, flush=True)
    command = [tool, "parquet", "-s", f"{factor:g}", "--tables", "lineitem,orders"]
    command += ["--output-dir", str(unfinished)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    folder.mkdir(exist_ok=True)
    for file in unfinished.iterdir():
        file.replace(folder / file.name)
    unfinished.rmdir()


def tpch_memory(scale: float) -> Inputs:
    """The same two tables read into Arrow; texts stay string_view, as the files declare them."""
    import pyarrow.parquet as pq

    lineitem, orders = tpch_files(scale).paths()
    return in_memory(
        pq.read_table(lineitem, columns=LINEITEM_COLUMNS),
        pq.read_table(orders, columns=ORDERS_COLUMNS),
    )
