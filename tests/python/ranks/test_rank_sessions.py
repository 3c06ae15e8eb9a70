"""Docks over ranks: shares of files, results, and errors that end the call in all ranks."""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from crossdock.files.csv_files import open_csv
from crossdock.files.ipc_files import open_ipc
from crossdock.files.parquet_files import open_parquet
from crossdock.files.sources import Source
from crossdock.ranks.shares import share_of

RunRanks = Callable[..., list[str]]
ROWS = 1000


def numbers(rows: int = ROWS) -> pa.Table:
    return pa.table({"k": [n % 7 for n in range(rows)], "i": range(rows)})


# --- shares of sources


def shares_of(make: Callable[[], Source], ranks: int) -> list[list[int]]:
    """The rows that each rank reads; whatever way they are read, they are the same."""
    result = []
    for rank in range(ranks):
        share = share_of(make(), rank, ranks)
        rows = share.table(("i",), None)["i"].to_pylist()
        assert share.count_rows(None) == len(rows)
        assert share.reader(("i",), None).read_all()["i"].to_pylist() == rows
        kept = share.table(("i",), xd.col("k") == 3)["i"].to_pylist()
        assert kept == [i for i in rows if i % 7 == 3]
        assert share.count_rows(xd.col("k") == 3) == len(kept)
        result.append(rows)
    assert list(itertools.chain(*result)) == list(range(ROWS))
    return result


@pytest.mark.parametrize(
    ("group_rows", "ranks", "spread"),
    [(1000, 3, 1), (300, 2, 1), (7, 5, 7), (1, 8, 1), (100, 7, 1), (10, 1, 0)],
)
def test_parquet_shares_are_even(tmp_path: Path, group_rows: int, ranks: int, spread: int) -> None:
    """Row groups where there are many, rows where there are few."""
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(numbers(), path, row_group_size=group_rows)
    sizes = [len(rows) for rows in shares_of(lambda: open_parquet(path), ranks)]
    assert max(sizes) - min(sizes) <= spread


@pytest.mark.parametrize("files", [1, 4, 50])
@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_files_are_shared(tmp_path: Path, form: str, files: int) -> None:
    for number in range(files):
        part = numbers().slice(ROWS * number // files, ROWS // files)
        path = tmp_path / f"part-{number:03}.{form}"
        if form == "parquet":
            pyarrow.parquet.write_table(part, path)
        elif form == "arrow":
            with pa.ipc.new_file(path, part.schema) as writer:
                writer.write_table(part, 90)
        else:
            pyarrow.csv.write_csv(part, path)
    openers = {
        "parquet": lambda: open_parquet(tmp_path),
        "arrow": lambda: open_ipc(tmp_path),
        "csv": lambda: open_csv(tmp_path, None, {}),
    }
    sizes = [len(rows) for rows in shares_of(openers[form], 3)]
    assert max(sizes) - min(sizes) <= 20


def test_more_ranks_than_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(numbers(3), path)
    sizes = [share_of(open_parquet(path), rank, 5).count_rows(None) for rank in range(5)]
    assert sorted(sizes) == [0, 0, 1, 1, 1]


# --- results

RESULTS = """
import json, os
import crossdock as xd, pyarrow as pa
folder = os.environ["CROSSDOCK_MEET"]
found = {}
with xd.connect(threads=1, memory="256MiB") as dock:
    rows = dock.read(f"{folder}/t.parquet")
    found["place"] = [dock.rank, dock.size]
    found["count"] = rows.count()
    found["mine"] = rows.collect().num_rows
    whole = rows.sort("i").gather(root=1)
    found["gathered"] = None if whole is None else whole["i"].to_pylist() == list(range(1000))
    found["agg"] = rows.agg(n=xd.count(), s=xd.sum("i"), m=xd.mean("i")).collect().to_pylist()
    sizes = dock.from_arrow(pa.table({"k": [1, 2, 3]}), replicated=True)
    found["replicated"] = [sizes.count(), rows.join(sizes, on="k", how="semi").count(),
                           sizes.join(rows, on="k", how="anti").count()]
    found["exchanged"] = sizes.exchange(dock.group, by="k").count()
    own = dock.from_arrow(pa.table({"k": [dock.rank], "t": ["x"]}))
    found["own"] = [own.count(), own.union(sizes.select("k", t=xd.lit("y"))).count()]
    found["written"] = rows.sort("i").write_parquet(f"{folder}/out")
    found["one file"] = rows.write(f"{folder}/one.csv")
    rows.write_parquet(f"{folder}/by-k", partition_by="k")
    found["by folders"] = dock.read(f"{folder}/by-k").filter(xd.col("k") == 3).count()
    found["streamed"] = sum(batch.num_rows for batch in rows.to_batches())
    found["sampled"] = [rows.sample(100, seed=1).count(), rows.limit(10, 5).count(),
                        rows.sort(xd.desc("i")).limit(10, 5).gather() is None]
    found["without seeds"] = [rows.sample(10).count(),
                              rows.with_random("r").filter("r < 1").count()]
    parts = rows.partition_by("k", 4)
    parts.write(f"{folder}/parts")
    found["parts"] = [parts.rows, sum(parts[i].num_rows for i in parts.mine)]
    try:
        rows.write_parquet(f"{folder}/out")
    except xd.PathError as error:
        found["twice"] = "overwrite=True" in str(error)
    for some in (rows, rows.filter("i < 10")):
        some.write_parquet(f"{folder}/again", overwrite=True)
    rows.filter("k = 3").write_parquet(f"{folder}/by-k", partition_by="k", overwrite=True)
    found["over"] = [dock.read(f"{folder}/{name}").count() for name in ("again", "by-k")]
    try:
        rows.write_parquet(f"{folder}/by-k", overwrite=True)
    except xd.PathError as error:
        found["no parts"] = "'k=0', which is no part" in str(error)
    if dock.rank == 0:
        found["explained"] = str(rows.join(own, on="k").group_by("t").agg(n=xd.count()).explain())
    profile = rows.group_by("k").agg(n=xd.count()).profile()
    found["profile"] = [profile.data["rank"], len(profile.data["ranks"]),
                        "exchange by key" in profile.text]
    across = profile.data["over_ranks"]
    found["phases"] = [across["ranks"], across["phases"][0]["name"], "imbalance" in profile.text,
                       across["imbalance_s"] >= 0]
    assert dock.group.rank == dock.rank
print(json.dumps(found))
"""


@pytest.mark.parametrize("eager_bytes", ["0", "262144"])
def test_results_over_ranks(
    run_ranks: RunRanks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eager_bytes: str
) -> None:
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", eager_bytes)
    (tmp_path / "meet").mkdir()
    pyarrow.parquet.write_table(numbers(), tmp_path / "meet" / "t.parquet", row_group_size=100)
    report = [json.loads(out) for out in run_ranks(RESULTS, 3, within_s=300)]
    assert [one["place"] for one in report] == [[0, 3], [1, 3], [2, 3]]
    assert sum(one["mine"] for one in report) == ROWS
    assert [one["gathered"] for one in report] == [None, True, None]
    for one in report:
        assert one["count"] == ROWS
        assert one["agg"] == [{"n": 1000, "s": 499500, "m": 499.5}]
        assert one["replicated"] == [3, 429, 0]
        assert one["exchanged"] == 3
        assert one["own"] == [3, 6]
        assert one["written"] == one["one file"] == ROWS
        assert one["sampled"][:2] == [100, 10]
        assert one["without seeds"] == [10, ROWS]
        assert one["by folders"] == 143
        assert sum(one["parts"][0]) == ROWS
        assert one["twice"]
        assert one["no parts"]
        assert one["over"] == [10, ROWS]
        assert one["profile"] == [one["place"][0], 3, True]
        assert one["phases"] == [3, "exchange", True, True]
    assert sum(one["streamed"] for one in report) == ROWS
    assert [one["sampled"][2] for one in report] == [False, True, True]
    assert sum(one["parts"][1] for one in report) == ROWS
    assert "exchange by key" in report[0]["explained"]
    written = tmp_path / "meet" / "out"
    names = sorted(path.name for path in written.iterdir())
    assert names == [f"part-0000{rank}.parquet" for rank in range(3)]
    in_order = pa.concat_tables([pyarrow.parquet.read_table(written / name) for name in names])
    assert in_order["i"].to_pylist() == list(range(ROWS))
    parts = sorted(path.name for path in (tmp_path / "meet" / "parts").iterdir())
    assert parts == [f"part-0000{part}.parquet" for part in range(4)]
    assert pyarrow.csv.read_csv(tmp_path / "meet" / "one.csv").num_rows == ROWS


CORNERS = """
import json, os
import crossdock as xd, pyarrow as pa
folder = os.environ["CROSSDOCK_MEET"]
found = {}
with xd.connect(threads=1, memory="256MiB") as dock:
    rows = dock.read(f"{folder}/t.parquet")
    found["written"] = rows.sort(xd.desc("i")).write(f"{folder}/sorted.csv")
    try:
        rows.write_parquet(f"{folder}/bad.parquet", compression="none such")
    except Exception as error:
        found["refused"] = str(error)
    found["after"] = rows.count()
    keyed = rows.select(x="i", a="k").group_by(x=xd.col("a") % 2, y="x")
    groups = keyed.agg(d=xd.count_distinct("a"))
    found["groups"] = [groups.count(), groups.agg(s=xd.sum("y")).collect()["s"][0].as_py()]
    views = dock.from_arrow(pa.table({"t": pa.array([f"t{dock.rank}"], pa.string_view())}))
    found["views"] = views.agg(m=xd.max("t")).collect()["m"][0].as_py()
    sizes = dock.from_arrow(pa.table({"k": range(7)}), replicated=True)
    merged = rows.join(sizes, on="k", strategy="merge").gather()
    found["merged"] = None if merged is None else merged["k"].to_pylist()
    a = dock.from_arrow(pa.table({"k": pa.array([dock.rank, None]), "v": [1, 2]}))
    b = dock.from_arrow(pa.table({"k": pa.array([dock.rank, None, None]), "w": [1, 2, 3]}))
    left = a.join(b, on="k", how="left", exchange="repartition")
    right = b.group_by("k").agg(n=xd.count())
    nulls = left.join(right, on="k", how="full").group_by("k").agg(r=xd.count())
    found["nulls"] = nulls.filter(xd.col("k").is_null()).count()
    if dock.rank == 0:
        found["explained"] = str(rows.sort("k", stable=True, limit=10).explain())
print(json.dumps(found))
"""


@pytest.mark.parametrize("eager_bytes", ["0", "262144"])
def test_corners_over_ranks(
    run_ranks: RunRanks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eager_bytes: str
) -> None:
    """What a review found: order in one file, errors of its writer, names of keys, views,
    merges with a replicated side, NULLs of sides that lie by key, plans of stable sorts."""
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", eager_bytes)
    (tmp_path / "meet").mkdir()
    pyarrow.parquet.write_table(numbers(), tmp_path / "meet" / "t.parquet", row_group_size=100)
    report = [json.loads(out) for out in run_ranks(CORNERS, 3, within_s=300)]
    written = pyarrow.csv.read_csv(tmp_path / "meet" / "sorted.csv")
    assert written["i"].to_pylist() == list(range(ROWS - 1, -1, -1))
    assert not (tmp_path / "meet" / "bad.parquet").exists()
    for one in report:
        assert one["written"] == one["after"] == ROWS
        assert "none such" in one["refused"]
        assert one["groups"] == [ROWS, sum(range(ROWS))]
        assert one["views"] == "t2"
        assert one["nulls"] == 1
    assert report[0]["merged"] == sorted(n % 7 for n in range(ROWS))
    assert "sort" in report[0]["explained"]


def test_a_dock_of_a_group_of_one(run_ranks: RunRanks) -> None:
    with xd.join_group() as group, xd.connect(group=group) as dock:
        rows = dock.from_arrow(numbers())
        assert (dock.rank, dock.size, dock.group) == (0, 1, group)
        assert rows.group_by("k").agg(n=xd.count()).count() == 7
        assert rows.sort(xd.desc("i")).gather()["i"].to_pylist() == list(range(ROWS))[::-1]
        assert rows.join(rows, on="i", suffix="_r").count() == ROWS
    with xd.connect() as alone:
        assert alone.group is None
        assert alone.size == 1


# --- errors

FAILS = """
import os
import crossdock as xd, numpy as np, pyarrow as pa
what = "{what}"

with xd.connect(threads=1, memory="64MiB") as dock:
    rank = dock.rank
    rows = dock.from_arrow(pa.table({{"k": pa.array(range(1000), pa.int64())}}))
    try:
        if what == "file":
            there = f"{{os.environ['CROSSDOCK_MEET']}}/there.parquet"
            dock.read_parquet(there if rank != 1 else "/missing.parquet")
        elif what == "value":
            bad = pa.table({{"k": pa.array([0 if rank == 2 else 1] * 1000, pa.int64())}})
            dock.from_arrow(bad).filter(6 // xd.col("k") > 0).distinct("k").count()
        elif what == "stream":
            made = dock.from_arrow(pa.table({{"k": [1]}}))
            if rank == 1:
                class Torn(type(made._node.source)):
                    def table(self, columns, predicate):
                        raise RuntimeError("the tape is torn")
                    def reader(self, columns, predicate):
                        raise RuntimeError("the tape is torn")
                    def native(self, engine, columns, predicate):
                        raise RuntimeError("the tape is torn")
                made._node.source.__class__ = Torn
            made.join(rows, on="k").group_by("k").agg(n=xd.count()).collect()
        elif what == "memory":
            wide = pa.table({{"k": pa.array(np.arange(12_000_000 if rank == 1 else 10))}})
            dock.from_arrow(wide).distinct("k").count()
        elif what == "calls":
            rows.count() if rank == 0 else rows.sort("k").collect()
    except Exception as error:
        print(type(error).__name__, str(error).replace("\\n", " "))
    else:
        raise AssertionError("no error")
    if what != "calls":
        assert rows.count() == 3000  # the dock goes on
"""


@pytest.mark.parametrize(
    ("what", "rank", "heard"),
    [
        ("file", 1, "PathError [CD-502]"),
        ("value", 2, "ExpressionError"),
        ("memory", 1, "CapacityError [CD-2"),
    ],
)
def test_an_error_of_one_rank_is_that_of_all(
    run_ranks: RunRanks, tmp_path: Path, what: str, rank: int, heard: str
) -> None:
    (tmp_path / "meet").mkdir()
    pyarrow.parquet.write_table(numbers(), tmp_path / "meet" / "there.parquet")
    answers = run_ranks(FAILS.format(what=what), 3, within_s=300)
    for answer in answers:
        assert answer.startswith(heard), answer
        assert f"rank     {rank} of 3" in answer
    assert len(set(answers)) == 1


def test_an_error_of_the_program_is_named_elsewhere(run_ranks: RunRanks) -> None:
    first, second, third = run_ranks(FAILS.format(what="stream"), 3, within_s=300)
    assert second == "RuntimeError the tape is torn\n"
    assert first == third
    assert "ControlError [CD-509] RuntimeError: the tape is torn" in first
    assert "rank     1 of 3" in first


def test_different_calls_are_an_error(run_ranks: RunRanks) -> None:
    for answer in run_ranks(FAILS.format(what="calls"), 2, within_s=300):
        assert "the ranks of the dock make different calls" in answer


DIES = """
import os
import crossdock as xd, pyarrow as pa
with xd.connect(threads=1, memory="64MiB") as dock:
    rows = dock.from_arrow(pa.table({"k": range(10)}))
    assert rows.count() == 20
    if dock.rank == 1:
        os._exit(0)
    try:
        rows.sort("k").count()
    except xd.ControlError as error:
        print(error)
"""


def test_a_rank_that_has_died_ends_the_call(run_ranks: RunRanks) -> None:
    heard, _ = run_ranks(DIES, 2, within_s=300)
    assert "CD-617" in heard
    assert "rank 1" in heard


UNEVEN = """
import json
import crossdock as xd, numpy as np, pyarrow as pa
with xd.connect(threads=1, memory="256MiB") as dock:
    random = np.random.default_rng(dock.rank)
    keys = np.minimum(random.zipf(1.2, 10_000), 5_000) * 8
    probe = dock.from_arrow(pa.table({"k": keys, "i": np.arange(10_000)}))
    build = dock.from_arrow(pa.table({"k": np.arange(dock.rank, 5_001, dock.size) * 8}))
    joined = probe.join(build, on="k", how="left", exchange="repartition")
    print(json.dumps([joined.collect().num_rows, joined.count()]))
"""


def test_uneven_keys_are_evened_out(run_ranks: RunRanks) -> None:
    """Zipf's law with 1.2: one key has a fifth of the rows, which would be 1.6 parts of 8."""
    report = [json.loads(out) for out in run_ranks(UNEVEN, 8, within_s=600)]
    assert {whole for _, whole in report} == {80_000}
    rows = [mine for mine, _ in report]
    assert sum(rows) == 80_000
    assert max(rows) <= 1.3 * 10_000, rows


REPEATED = """
import gc
import crossdock as xd, numpy as np, pyarrow as pa
with xd.connect(threads=1) as dock:
    keys = np.arange(dock.rank, 40_000, dock.size)
    rows = dock.from_arrow(pa.table({"k": keys, "v": keys % 70, "s": [f"s{k}" for k in keys]}))
    few = dock.from_arrow(pa.table({"v": keys[:40] % 70, "w": keys[:40]}))
    gc.collect()
    gc.disable()
    used = []
    for _ in range(6):
        joined = rows.join(few, on="v").join(rows.filter("k > 3"), on="k")
        joined.group_by("s").agg(n=xd.count()).sort("s", limit=5).collect()
        joined.sort("k", limit=5).gather()
        joined.profile()
        used.append((dock.memory_used_bytes, pa.total_allocated_bytes()))
print(used[2:])
"""


def test_runs_that_come_again_leave_nothing(run_ranks: RunRanks) -> None:
    for out in run_ranks(REPEATED, 2):
        used = set(ast.literal_eval(out.strip().splitlines()[-1]))
        assert len(used) == 1, used
