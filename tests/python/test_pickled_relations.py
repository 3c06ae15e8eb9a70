"""Relations go through pickles: with tables in memory, over files, and into other processes."""

from __future__ import annotations

import datetime
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from crossdock.plan.nodes import inputs_of

TABLE = pa.table(
    {
        "k": [1, 2, 2, None, 3],
        "x": [1.5, None, 2.5, 3.5, 4.5],
        "s": ["a", "b", None, "c", "a"],
        "d": [datetime.date(2020, 1, day) for day in range(1, 6)],
    }
)
Make = Callable[[xd.Relation], xd.Relation]
MAKES: tuple[Make, ...] = (
    lambda t: t,
    lambda t: t.filter((xd.col("x") > 2) & xd.col("s").is_in(["a", "c"]), "k > 1"),
    lambda t: t.select("k", y=xd.when(xd.col("k") > 1).then("big").otherwise(None)),
    lambda t: t.with_columns(z=xd.col("x").cast("string"), w=xd.col("d").truncate("month")),
    lambda t: t.group_by("s").agg(n=xd.count(), m=xd.mean("x").where(xd.col("k") > 0)),
    lambda t: t.agg(q=xd.median_exact("x"), j=xd.string_agg("s", "-", order_by=xd.desc("d"))),
    lambda t: t.join(t.select("k", y="x"), on="k", how="left", residual=xd.col("y") > 2),
    lambda t: t.join(t.distinct("k"), on="k", how="semi", null_equals_null=True),
    lambda t: t.sort(xd.desc("x", nulls="first"), "k", limit=3, offset=1),
    lambda t: t.select("s", r=xd.sum("x").over("s", order_by="d", rows=(-1, 0))),
    lambda t: t.union(t.filter("k = 2")).except_(t.limit(1)).intersect(t),
    lambda t: t.sample(3, seed=7).top_k(1, "x", per="s"),
    lambda t: t.sort("d").assume_sorted("d").join_asof(t.select("d", v="x"), "d"),
)


@pytest.fixture(scope="module")
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=1, ranks="off") as opened:
        yield opened


def rows(relation: xd.Relation) -> list[str]:
    return sorted(map(repr, relation.collect().to_pylist()))


@pytest.mark.parametrize("make", range(len(MAKES)))
def test_a_pickle_gives_the_same_rows(make: int, dock: xd.Dock) -> None:
    relation = MAKES[make](dock.from_arrow(TABLE))
    came = pickle.loads(pickle.dumps(relation))
    assert came.schema.equals(relation.schema)
    assert rows(came) == rows(relation)
    assert came._dock is xd.default_dock()


def test_what_is_used_twice_stays_one(dock: xd.Dock) -> None:
    groups = dock.from_arrow(TABLE).group_by("k").agg(n=xd.count())
    came = pickle.loads(pickle.dumps(groups.join(groups.select("k", m="n"), on="k")))
    left, right = inputs_of(came._node)
    assert inputs_of(right)[0] is left


def test_rows_of_a_slice_alone_are_pickled(dock: xd.Dock) -> None:
    many = pa.table({"x": range(1_000_000)})
    assert len(pickle.dumps(dock.from_arrow(many.slice(5, 10)))) < 10_000


def test_sql_goes_along(dock: xd.Dock) -> None:
    dock.register("t", TABLE)
    relation = dock.sql("select s, sum(x) as y from t where k is not null group by s order by s")
    assert rows(pickle.loads(pickle.dumps(relation))) == rows(relation)


def written(folder: Path, kind: str) -> Path:
    path = folder / f"t.{kind}"
    plain = TABLE.select(["k", "x", "s"])
    if kind == "parquet":
        pyarrow.parquet.write_table(plain, path)
    elif kind == "arrow":
        pyarrow.feather.write_feather(plain, str(path), compression="uncompressed")
    else:
        pyarrow.csv.write_csv(plain, path, pyarrow.csv.WriteOptions(delimiter=";"))
    return path


def opened(dock: xd.Dock, path: Any, kind: str) -> xd.Relation:
    if kind == "csv":
        return dock.read_csv(path, delimiter=";", types={"k": "int32"})
    return dock.read(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_files_are_opened_again(
    kind: str, dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, kind)
    for paths in (f"t.{kind}", [Path(f"t.{kind}")], f"*.{kind}"):
        relation = opened(dock, paths, kind).filter(xd.col("x") > 2)
        kept = pickle.dumps(relation)
        assert len(kept) < 10_000
        monkeypatch.chdir("/")
        came = pickle.loads(kept)
        assert came.files() == [str(tmp_path / f"t.{kind}")]
        assert sorted(came.collect()["x"].to_pylist()) == [2.5, 3.5, 4.5]
        monkeypatch.chdir(tmp_path)


def test_folders_that_stand_for_columns(dock: xd.Dock, tmp_path: Path) -> None:
    dock.register("t", TABLE)
    dock.sql(f"copy (select k, x from t where k > 0) to '{tmp_path}/p' (partition_by (k))")
    relation = dock.read_parquet(tmp_path / "p")
    assert rows(pickle.loads(pickle.dumps(relation))) == rows(relation)


def test_files_that_have_changed(dock: xd.Dock, tmp_path: Path) -> None:
    kept = pickle.dumps(dock.read(written(tmp_path, "parquet")))
    pyarrow.parquet.write_table(pa.table({"other": [1]}), tmp_path / "t.parquet")
    with pytest.raises(xd.DataError, match="has changed since it was pickled"):
        pickle.loads(kept)
    (tmp_path / "t.parquet").unlink()
    with pytest.raises(xd.PathError):
        pickle.loads(kept)


def test_another_process_runs_it(dock: xd.Dock, tmp_path: Path) -> None:
    relation = dock.read(written(tmp_path, "parquet")).join(dock.from_arrow(TABLE), on="k")
    (tmp_path / "kept").write_bytes(pickle.dumps(relation))
    program = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).count())"
    command = [sys.executable, "-c", program, str(tmp_path / "kept")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert ended.stdout.split() == [str(relation.count())]


def test_functions_of_the_default_dock_are_those_of_docks() -> None:
    for name in ("read_parquet", "read_csv", "from_arrow", "register"):
        function, method = getattr(xd, name), getattr(xd.Dock, name)
        assert pickle.loads(pickle.dumps(function)) is function
        _, *parameters = inspect.signature(method).parameters.values()
        assert list(inspect.signature(function).parameters.values()) == parameters
        assert function.__doc__ == method.__doc__
