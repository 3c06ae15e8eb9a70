"""partition_by: parts in memory and as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest

ROWS = 10_000


@pytest.fixture
def table() -> pa.Table:
    return pa.table(
        {
            "k": pa.array([None if i % 97 == 0 else i * 31 % 500 for i in range(ROWS)], pa.int64()),
            "name": [f"n{i % 13}" for i in range(ROWS)],
            "n": pa.array(range(ROWS), pa.int64()),
        }
    )


@pytest.fixture
def rows(dock: xd.Dock, table: pa.Table) -> xd.Relation:
    return dock.from_arrow(table)


@pytest.mark.parametrize("keys", [("k",), ("name",), ("k", "name")], ids=repr)
@pytest.mark.parametrize("count", [1, 3, 64, 1000])
def test_equal_keys_are_in_one_part(
    rows: xd.Relation, table: pa.Table, keys: tuple[str, ...], count: int
) -> None:
    parts = rows.partition_by(*keys, partitions=count)
    assert len(parts) == len(parts.rows) == count
    assert sum(parts.rows) == ROWS
    home: dict[object, int] = {}
    seen = []
    for number, part in enumerate(parts):
        assert part.schema == parts.schema == table.schema
        assert part.num_rows == parts.rows[number]
        assert part["n"].to_pylist() == sorted(part["n"].to_pylist()), "input order is kept"
        seen += part["n"].to_pylist()
        for key in set(zip(*(part[name].to_pylist() for name in keys), strict=True)):
            assert home.setdefault(key, number) == number
    assert sorted(seen) == list(range(ROWS))
    assert parts[-1] == parts[count - 1]
    with pytest.raises(IndexError):
        parts[count]


def test_ranges_ascend(rows: xd.Relation) -> None:
    parts = rows.filter(xd.col("k").is_not_null()).partition_by("k", partitions=8, how="range")
    last = -1
    for part in parts:
        keys = part["k"].to_pylist()
        if keys:
            assert last < min(keys)
            last = max(keys)
    assert max(parts.rows) < ROWS // 2


def test_explicit_parts(dock: xd.Dock) -> None:
    table = pa.table({"p": [2, 0, 2, 1], "v": [1, 2, 3, 4]})
    parts = dock.from_arrow(table).partition_by("p", partitions=4, how="explicit")
    assert [part["v"].to_pylist() for part in parts] == [[2], [4], [1, 3], []]
    beyond = dock.from_arrow(table).partition_by("p", partitions=2, how="explicit")
    with pytest.raises(xd.CrossdockError, match="2"):
        beyond.rows  # noqa: B018


def test_the_number_of_parts_may_follow_the_keys(rows: xd.Relation) -> None:
    assert len(rows.partition_by("k", 5)) == 5
    assert rows.partition_by("k", 5).rows == rows.partition_by("k", partitions=5).rows
    assert len(rows.partition_by("k")) == 64


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_parts_as_files(dock: xd.Dock, rows: xd.Relation, tmp_path: Path, form: str) -> None:
    parts = rows.partition_by("k", partitions=7)
    paths = parts.write(tmp_path / "parts", format=form)
    assert [path.name for path in paths] == [f"part-0000{i}.{form}" for i in range(7)]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "parts"]
    assert sorted((tmp_path / "parts").iterdir()) == paths
    for path, part in zip(paths, parts, strict=True):
        assert dock.read(path).collect()["n"].to_pylist() == part["n"].to_pylist()
    assert dock.read(tmp_path / "parts").count() == ROWS


def test_parts_without_rows_are_files_too(dock: xd.Dock, tmp_path: Path) -> None:
    empty = dock.from_arrow(pa.table({"k": pa.array([], pa.int64())})).partition_by(
        "k", partitions=3
    )
    assert empty.rows == [0, 0, 0]
    paths = empty.write(tmp_path / "parts")
    assert len(paths) == 3
    assert dock.read(tmp_path / "parts").count() == 0


def test_a_folder_is_whole_or_not_there(
    rows: xd.Relation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crossdock import partitions

    calls: list[Path] = []
    write = partitions.write_file

    def failing(*arguments: object) -> int:
        calls.append(Path(str(arguments[2])))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(partitions, "write_file", failing)
    with pytest.raises(KeyboardInterrupt):
        rows.partition_by("k", partitions=4).write(tmp_path / "parts")
    assert len(calls) == 3
    assert list(tmp_path.iterdir()) == []


def test_where_parts_are_not_written(rows: xd.Relation, tmp_path: Path) -> None:
    parts = rows.partition_by("k")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("full", "file"):
        with pytest.raises(xd.PathError, match="is there already"):
            parts.write(tmp_path / name)
    with pytest.raises(xd.PathError, match="no folder"):
        parts.write(tmp_path / "missing" / "parts")
    with pytest.raises(xd.OptionError, match="format='parquet'"):
        parts.write(tmp_path / "x", format="parqet")
    (tmp_path / "empty").mkdir()
    assert len(parts.write(tmp_path / "empty")) == 64


@pytest.mark.parametrize(
    ("write", "error", "match"),
    [
        (lambda r: r.partition_by(), xd.OptionError, r"at least one key"),
        (lambda r: r.partition_by("kk"), xd.ColumnError, r"try\s+'k'"),
        (lambda r: r.partition_by("k", "k"), xd.ColumnError, r"two columns named 'k'"),
        (lambda r: r.partition_by("k", partitions=0), xd.OptionError, r"partitions=0(.|\n)*limits"),
        (lambda r: r.partition_by("k", 0), xd.OptionError, r"partitions=0(.|\n)*limits"),
        (lambda r: r.partition_by(64), xd.OptionError, r"at least one key"),
        (lambda r: r.partition_by(7, "k"), xd.OptionError, r"names of columns, not 7"),
        (lambda r: r.partition_by(xd.col("k") + 1), xd.OptionError, r"partition_by\(name=k \+ 1"),
        (lambda r: r.partition_by("k", k=xd.col("n")), xd.ColumnError, r"two columns named 'k'"),
        (lambda r: r.partition_by(h=xd.col("kk")), xd.ColumnError, r"try\s+'k'"),
        (lambda r: r.partition_by(h=xd.col("name") + 1), xd.ExpressionError, r"name \+ 1"),
        (lambda r: r.partition_by("k", partitions=True), xd.OptionError, r"partitions=True"),
        (lambda r: r.partition_by("k", how="hsh"), xd.OptionError, r"how='hash'"),
        (lambda r: r.partition_by("name", how="explicit"), xd.TypeError, r"name: string"),
    ],
)
def test_refused_at_once(
    rows: xd.Relation, write: Callable[[xd.Relation], object], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        write(rows)


def test_parts_run_once_and_late(rows: xd.Relation) -> None:
    parts = rows.filter(xd.col("n") < 100).partition_by("k", partitions=4)
    assert "not run yet" in repr(parts)
    assert "partition by hash of k into 4" in repr(parts)
    assert parts[0].column("n").chunk(0).buffers()[1].address == (
        parts[0].column("n").chunk(0).buffers()[1].address
    )
    assert "100 rows" in repr(parts)


def test_computed_keys(rows: xd.Relation, tmp_path: Path) -> None:
    """Rows with the same value of the expression are in one part; the parts have no more columns
    than the relation, whatever the key is called."""
    for name in ("h", "k"):
        parts = rows.partition_by(partitions=4, **{name: xd.col("k") % 7})
        assert parts.schema == rows.schema
        assert sum(parts.rows) == ROWS
        homes: dict[int, set[int]] = {}
        for number, part in enumerate(parts):
            assert part.schema == rows.schema
            for key in part["k"].to_pylist():
                homes.setdefault(-1 if key is None else key % 7, set()).add(number)
        assert all(len(result) == 1 for result in homes.values())
    added = rows.with_columns(h=xd.col("k") % 7).partition_by("h", 4)
    assert added.rows == rows.partition_by(h=xd.col("k") % 7, partitions=4).rows
    explicit = rows.filter(xd.col("k").is_not_null())
    numbered = explicit.partition_by(p=xd.col("k") % 3, partitions=3, how="explicit")
    for number, part in enumerate(numbered):
        assert {key % 3 for key in part["k"].to_pylist()} == {number}
    assert "select" in str(numbered.explain())
    assert rows.partition_by(name_="name", partitions=2).rows == rows.partition_by("name", 2).rows
    paths = rows.partition_by("name", odd=xd.col("n") % 2, partitions=2).write(tmp_path / "parts")
    assert pyarrow.parquet.read_schema(paths[0]).names == rows.columns


def test_plans_and_profiles_of_parts(rows: xd.Relation) -> None:
    parts = rows.partition_by("k", partitions=4)
    plan = parts.explain()
    assert plan.splitlines()[0].startswith("partition by hash of k into 4")
    assert json.loads(plan.json)["plan"]["operator"] == "partition"
    profile = parts.profile()
    assert profile.table.num_rows == ROWS
    assert [step["operator"] for step in profile.data["steps"]] == ["read", "partition"]
    assert "10,000 rows" in repr(parts)


@pytest.mark.parametrize(
    ("by", "first"), [("hash", []), ("range", ["scan key range"]), ("explicit", [])]
)
def test_plans_and_profiles_predict_every_phase(dock: xd.Dock, by: str, first: list[str]) -> None:
    rows = dock.from_arrow(pa.table({"k": [i * 7 % 64 for i in range(ROWS)], "n": range(ROWS)}))
    parts = rows.partition_by("k", partitions=64, how=by)
    phases = [*first, "number rows", "place rows", "gather partitions"]
    plan = parts.explain()
    assert plan.splitlines()[0].startswith(f"partition by {by} of k into 64   predicted ")
    assert all(f"    {name}  " in plan for name in phases)
    profile = parts.profile()
    result = profile.data["steps"][-1]["profile"]["phases"]
    assert [phase["name"] for phase in result] == phases
    for phase in result:
        assert phase["rows"] == ROWS, phase
        assert phase["predicted_s"] > 0, phase
        assert phase["measured_s"] > 0, phase
