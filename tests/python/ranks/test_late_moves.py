"""Columns of any type between ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import crossdock
import crossdock.ranks.late_moves as late_moves
import pyarrow as pa
import pyarrow.parquet
import pytest

RunRanks = Callable[..., list[str]]


def has_plugin() -> bool:
    folder = Path(crossdock.__file__).parent
    plugins = ("libcrossdock_mpi_openmpi.so", "libcrossdock_pmix.so")
    return all((folder / name).exists() for name in plugins)


def test_tables_as_pieces_of_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [
        pa.table({"tags": pa.array([["a"] * 3000, None, []])}),
        pa.table({"tags": pa.array([], pa.list_(pa.string()))}),
        pa.table({"tags": pa.array([["b"]])}),
    ]
    for piece_bytes in (64, 4096, 1 << 30):
        monkeypatch.setattr(late_moves, "_PIECE_BYTES", piece_bytes)
        pieces = pa.concat_tables([late_moves.packed(table) for table in tables])
        assert pieces.schema == late_moves.PIECES
        assert max(len(piece) for piece in pieces["piece"].to_pylist()) <= piece_bytes
        for batches in (pieces.to_batches(), pieces.to_batches(max_chunksize=1)):
            assert list(late_moves.unpacked(batches)) == tables


OPERATORS = """
import decimal, os
import crossdock as xd, pyarrow as pa, pyarrow.compute as pc
folder = os.environ["FOLDER"]
col = xd.col
N = 300

def lists(seed):
    return [None if i % 7 == seed else [f"t{i}"] * (i % 3) for i in range(N)]

def table(seed, name):
    keys = [None if i % 11 == seed else (i * 7 + seed) % 40 for i in range(N)]
    uuids = [bytes([seed, k or 0] * 8) if i % 5 else None for i, k in enumerate(keys)]
    wide = [decimal.Decimal(k or 0) for k in keys]
    return pa.table({
        "k": pa.array(keys, pa.int64()), f"{name}_id": pa.array(range(N)), "none": pa.nulls(N),
        f"{name}_tags": pa.array(lists(seed)), f"{name}_u": pa.array(uuids, pa.uuid()),
        f"{name}_p": pa.array([{"x": i, "y": [i]} for i in range(N)]),
        f"{name}_r": pc.run_end_encode(pa.array([i // 50 for i in range(N)])),
        f"{name}_d": pa.array(wide, pa.decimal256(60, 2)),
        f"{name}_f": pa.array([bytes([(k or 0) % 9]) for k in keys], pa.binary(1)),
        f"{name}_s": pa.array(wide, pa.decimal32(9, 2)),
    })

left, right = table(1, "l"), table(2, "r")

def queries(l, r):
    for how in ("inner", "left", "right", "full", "semi", "anti"):
        yield how, l.join(r.select("k", "r_id", "r_tags", "r_p", "r_u"), on="k", how=how)
        for key in ("d", "f", "s", "u"):
            on = [(f"l_{key}", f"r_{key}")]
            yield f"{how} {key}", l.select("l_id", "l_tags", f"l_{key}").join(
                r.select("r_id", f"r_{key}", "r_p"), on=on, how=how)
    for exchange in ("repartition", "broadcast"):
        yield exchange, l.join(r.select("k", "r_tags"), on="k", exchange=exchange)
    yield "merge", l.join(r.select("k", "r_tags"), on="k", strategy="merge")
    yield "residual", l.join(r, on="k", residual=col("l_tags").is_null() & col("r_p").is_not_null())
    for key in ("k", "l_d", "l_f", "l_s", "l_u", "none"):
        yield f"sort {key}", l.sort(key, "l_id")
        yield f"sort desc {key}", l.sort(xd.desc(key), "l_id", limit=50, offset=3)
        yield f"group {key}", l.group_by(key).agg(n=xd.count("l_tags"), m=xd.max("l_d"))
        yield f"first {key}", l.sort("l_id").group_by(key).agg(f=xd.first("l_tags"), g=xd.count())
        yield f"distinct {key}", l.distinct(key)
    yield "no keys", l.agg(n=xd.count("l_tags"), m=xd.min("l_f"), d=xd.count_distinct("l_u"))
    yield "filter", l.filter(col("l_tags").is_null()).sort("l_id")
    yield "union", l.select("k", tags="l_tags").union(r.select("k", tags="r_tags"))
    yield "limit", l.limit(40, 5)
    yield "same key", l.select(p="k", q="k").distinct()

def rows(table):
    return sorted(map(repr, table.to_pylist()))

failed = []
with xd.connect(threads=1, memory="512MiB") as dock, xd.connect(1, "512MiB", ranks="off") as alone:
    a, b = N * dock.rank // dock.size, N * (dock.rank + 1) // dock.size
    mine = [dock.from_arrow(t.slice(a, b - a)) for t in (left, right)]
    theirs = [alone.from_arrow(t) for t in (left, right)]
    done = 0
    for (name, over), (_, one) in zip(queries(*mine), queries(*theirs), strict=True):
        try:
            found = over.gather()
        except Exception as error:
            failed.append([name, type(error).__name__, str(error)])
            break
        if found is None:
            continue
        done += 1
        found.validate(full=True)
        wanted = one.collect()
        same = rows(found) == rows(wanted)
        if "sort" in name:
            same = found.to_pylist() == wanted.to_pylist()
        if found.schema != over.schema or not same:
            failed.append([name, str(found.schema), rows(found)[:3], rows(wanted)[:3]])
    if not failed:
        files = dock.read_parquet(f"{folder}/t.parquet")
        assert files.sort(xd.desc("id")).write_parquet(f"{folder}/one.parquet") == 100
        assert files.write_parquet(f"{folder}/many") == 100
        assert sum(batch.num_rows for batch in files.sort("id").to_batches()) <= 100
        parts = mine[0].partition_by("k", 4)
        assert sum(parts.rows) == N
        assert parts[0].schema == mine[0].schema
        mine[0].join(mine[1], on="k").explain()
        mine[0].join(mine[1].select("k", "r_p"), on="k").profile()
        mine[0].show()
    assert not failed, failed
    assert done > 60 or dock.rank != 0
print("all alike", flush=True)
"""


def run_in_bulk(program: str) -> None:
    """Three ranks that MPI starts."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpirun", "--oversubscribe", "-n", "3", sys.executable, "-c", program]
    ran = subprocess.run(
        command, env=os.environ | root, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("all alike") == 3


@pytest.mark.parametrize("way", ["channels", "bulk", "eagerly"])
def test_operators_over_ranks(
    run_ranks: RunRanks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "bulk" and (shutil.which("mpirun") is None or not has_plugin()):
        pytest.skip("needs Open MPI and the plugins")
    monkeypatch.setenv("FOLDER", str(tmp_path))
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", str(1 << 20) if way == "eagerly" else "0")
    rows = pa.table({"id": range(100), "tags": [[str(i)] * (i % 4) for i in range(100)]})
    pyarrow.parquet.write_table(rows, tmp_path / "t.parquet", row_group_size=9)
    if way == "bulk":
        run_in_bulk(OPERATORS)
    else:
        assert all("all alike" in out for out in run_ranks(OPERATORS, 3, within_s=300))
    one = pyarrow.parquet.read_table(tmp_path / "one.parquet")
    assert one.to_pylist() == rows.to_pylist()[::-1]
    many = pyarrow.parquet.read_table(tmp_path / "many").sort_by("id")
    assert many.to_pylist() == rows.to_pylist()
