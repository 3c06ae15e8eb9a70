"""Made workloads: what a join of them gives, and how they are written."""

from __future__ import annotations

from pathlib import Path

import crossdock as xd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from crossdock.workload import SIDES, Workload


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("ratio", "selectivity", "zipf"), [(1, 1, 0), (8, 0.25, 0), (3, 0.5, 1.2)])
def test_joins_have_the_rows_that_are_promised(
    dock: xd.Dock, ratio: float, selectivity: float, zipf: float, sparse: bool
) -> None:
    workload = Workload(5000, ratio, selectivity, zipf, sparse, seed=3)
    inner, outer = (dock.from_arrow(workload.table(side)) for side in SIDES)
    joined = outer.join(inner, on="key")
    assert joined.count() == workload.result_rows == round(5000 * ratio * selectivity)
    assert pc.count_distinct(workload.table("inner")["key"]).as_py() == 5000
    assert workload.table("outer")["row"].to_pylist() == list(range(int(5000 * ratio)))


def test_parts_are_those_of_the_whole() -> None:
    workload = Workload(200_000, 2, zipf=1)
    whole = workload.table("outer")
    assert workload.table("outer", 150_000, 150_100).equals(whole.slice(150_000, 100))
    assert workload.table("outer", 7, 7).num_rows == 0
    assert not Workload(200_000, 2, zipf=1, seed=2).table("outer").equals(whole)


def test_ranks_write_their_files_and_nothing_else(tmp_path: Path) -> None:
    workload = Workload(10_000, 2, sparse=True)
    for rank in range(3):
        written = workload.write(tmp_path, files=4, row_group_rows=1000, rank=rank, ranks=3)
        assert written["files"] == (4 if rank == 0 else 2)
    for side in SIDES:
        names = sorted(path.name for path in (tmp_path / side).iterdir())
        assert names == [f"part-{number:05}.parquet" for number in range(4)]
        assert pq.read_table(tmp_path / side).sort_by("row").equals(workload.table(side))
    first = pq.ParquetFile(tmp_path / "outer" / "part-00000.parquet").metadata
    assert [first.row_group(group).num_rows for group in range(5)] == [1000] * 5


def test_what_would_be_read_with_it_is_refused(tmp_path: Path) -> None:
    Workload(100).write(tmp_path, files=3)
    Workload(200).write(tmp_path, files=3)  # in place of the files before
    with pytest.raises(xd.OptionError, match=r"part-00002.parquet is no file of this workload"):
        Workload(100).write(tmp_path, files=2)
    with pytest.raises(xd.OptionError, match="3 ranks cannot share 2 files"):
        Workload(100).write(tmp_path / "other", files=2, ranks=3)


@pytest.mark.parametrize(
    "workload",
    [Workload(0), Workload(10, ratio=0), Workload(10, selectivity=2), Workload(10, zipf=-1)],
)
def test_what_cannot_be_made(workload: Workload) -> None:
    with pytest.raises(xd.OptionError):
        workload.table("outer")


def test_rows_that_are_not_there() -> None:
    with pytest.raises(xd.OptionError, match="rows 90 to 110"):
        Workload(100).table("inner", 90, 110)


@pytest.mark.parametrize(
    "fields",
    [{"ratio": 1e300}, {"ratio": float("nan")}, {"ratio": float("inf")}, {"seed": 1 << 70},
     {"seed": -1}, {"rows": 10**30}],
)  # fmt: skip
def test_numbers_beyond_the_limits(tmp_path: Path, fields: dict[str, float]) -> None:
    workload = Workload(**{"rows": 10, **fields})  # type: ignore[arg-type]
    with pytest.raises(xd.OptionError, match=r"a side of a workload has|a seed is 0 to"):
        workload.write(tmp_path)
