"""SQL over ranks: each reads its share, all plan alike, and results are those of one process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
import rank_processes
from crossdock.sql_frontend.translation.join_planning import (
    GroupFilter,
    JoinDecision,
    as_json,
    decisions_of,
)

BENCH = Path(__file__).resolve().parents[2] / "bench"
NAMES = "2,3,5,10,12,14,15,17,18,19,20,21,22"
SCALE = 0.01

# Each rank runs the queries; the first compares them with those of a dock of its own.
QUERIES = """
import sys
sys.path.insert(0, sys.argv[1])
import crossdock as xd
from queries.catalogue import chosen
from queries.comparison import Equality, Expected
from queries.sources import files_of
scale = float(sys.argv[2])
sources = files_of("tpch", scale)
with xd.connect(threads=1, memory="512MiB", ranks="off") as alone, \
        xd.connect(threads=1, memory="512MiB") as dock:
    for name, file in sources.by_name.items():
        alone.register(name, alone.read_parquet(str(file)))
        dock.register(name, dock.read_parquet(str(file)))
    for query in chosen("tpch", sys.argv[3].split(",")):
        text = query.limited_sql(scale)
        found = dock.sql(text).gather()
        if found is not None:
            whole = alone.sql(query.sql(scale)).collect()
            expected = Expected.of(whole, query.order, query.limit)
            print(query.name, expected.difference(found, Equality()) or "same")
"""

STATEMENTS = """
import json, os, sys
import crossdock as xd, pyarrow as pa
found = []
with xd.connect(threads=1, memory="256MiB") as dock:
    mine = pa.table({"k": range(1 + 20_000 * dock.rank)})
    dock.register("mine", mine)
    dock.register("all", dock.from_arrow(pa.table({"k": [0, 1, 2]}), replicated=True))
    for text in json.loads(sys.argv[1]):
        try:
            whole = dock.sql(text).gather()
        except xd.CrossdockError as error:
            found.append(str(error).splitlines()[0])
            continue
        found.append(None if whole is None else whole.to_pylist())
print(json.dumps(found, default=str))
"""


def ranks_said(folder: Path, ranks: int, program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    eager = {name: v for name, v in os.environ.items() if name == "CROSSDOCK_EAGER_BYTES"}
    ended = rank_processes.run_ranks(
        command, ranks, folder / "meet", within_s=300, cwd=folder,
        environment=rank_processes.outside_of_groups() | eager,
    )  # fmt: skip
    assert [one.code for one in ended] == [0] * ranks, ended
    return [one.out for one in ended]


def statements(folder: Path, ranks: int, *queries: str) -> list[Any]:
    """What each text gave in the first rank."""
    report: list[Any] = json.loads(ranks_said(folder, ranks, STATEMENTS, json.dumps(queries))[0])
    return report


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = pa.table({"k": [n % 7 for n in range(1000)], "i": range(1000)})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    return tmp_path


@pytest.mark.parametrize(("ranks", "eager_bytes"), [(2, "0"), (4, "0"), (4, "262144")])
def test_tpch_is_that_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int, eager_bytes: str
) -> None:
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", eager_bytes)
    first, *others = ranks_said(tmp_path, ranks, QUERIES, str(BENCH), str(SCALE), NAMES)
    lines = [line for line in first.splitlines() if not line.startswith("#")]
    assert lines == [f"{name} same" for name in NAMES.split(",")]
    assert all(not [line for line in said.splitlines() if line[0] != "#"] for said in others)


def test_lists_have_the_rows_of_all_ranks(folder: Path) -> None:
    by_key = "select k % 3 as m, list(k order by k desc) as ks from mine where k < 8 group by 1"
    whole = "select list(k order by k) as ks, count(*) as n from mine where k < 3"
    grouped, alone = statements(folder, 3, by_key, whole)
    rows = sorted([0] + [*range(8)] * 2)
    expected = [{"m": m, "ks": [k for k in rows[::-1] if k % 3 == m]} for m in range(3)]
    assert sorted(grouped, key=lambda row: row["m"]) == expected
    assert alone == [{"ks": [0, 0, 0, 1, 1, 2, 2], "n": 7}]


def test_frames_of_lists_and_medians_have_the_rows_of_all_ranks(folder: Path) -> None:
    text = (
        "select i, median(k) over (order by i rows 2 preceding) as m, list(i) over (partition by k "
        "order by i) as l, count(distinct k) over (order by i) as n, sum(k) over (partition by k "
        "rows between unbounded preceding and unbounded following exclude current row) as s "
        "from 't.parquet' where i < 30"
    )
    (result,) = statements(folder, 3, text)
    whole = {row["i"]: row for row in result}
    assert [whole[i]["m"] for i in range(9)] == [0, 0.5, 1, 2, 3, 4, 5, 5, 1]
    assert [whole[i]["l"] for i in (3, 23)] == [[3], [2, 9, 16, 23]]
    assert [whole[i]["n"] for i in (0, 5, 29)] == [1, 6, 7]
    assert [whole[i]["s"] for i in (0, 1, 2, 6)] == [0, 4, 6, 18]


def test_ranks_with_other_rows_join_in_one_order(folder: Path) -> None:
    """The first rank has one row of `mine`, the others more than there are in the file."""
    text = (
        "select count(*) as n, sum(a.i) as s from mine m, 't.parquet' a, 't.parquet' b, \"all\" c "
        "where m.k = a.k and a.i = b.i and b.k = c.k"
    )
    kept = [i for i in range(1000) if i % 7 < 3]
    twice = [i for i in kept for _ in range(3 if i % 7 == 0 else 2)]
    assert statements(folder, 3, text)[0] == [{"n": len(twice), "s": sum(twice)}]


def test_tables_of_statements_have_their_rows_once(folder: Path) -> None:
    result = statements(
        folder, 2,
        "create table counted as select count(*) as n from 't.parquet'",
        "select n from counted",
        "create table kept as select i from 't.parquet' where i >= 990",
        "select count(*) as n, sum(i) as s from kept",
        "create table listed as values (1), (2)",
        "select count(*) as n from listed",
        "create view v as select k, max(i) as m from 't.parquet' group by k",
        "select * from v order by k limit 2",
        "select (select max(m) from v) as x, 1 as one",
        "summarize select i from 't.parquet'",
    )  # fmt: skip
    assert result[1] == [{"n": 1000}]
    assert result[3] == [{"n": 10, "s": sum(range(990, 1000))}]
    assert result[5] == [{"n": 2}]
    assert result[7] == [{"k": 0, "m": 994}, {"k": 1, "m": 995}]
    assert result[8] == [{"x": 999, "one": 1}]
    assert (result[9][0]["count"], result[9][0]["max"]) == (1000, "999")


@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "ndjson", "markdown"])
def test_copy_writes_one_file_of_all(folder: Path, kind: str) -> None:
    text = (
        f"copy (select i from 't.parquet' where i >= 995 order by i) to 'x.{kind}' (format {kind})"
    )
    assert statements(folder, 2, text)[0] == [{"rows": 5, "file": f"x.{kind}"}]
    with xd.connect(threads=1, ranks="off") as dock:
        written = folder / f"x.{kind}"
        if kind in ("csv", "parquet"):
            assert dock.read(written).collect()["i"].to_pylist() == list(range(995, 1000))
        else:
            assert [str(n) in written.read_text() for n in range(994, 1000)] == [False] + [True] * 5


def test_copy_by_values_writes_files_of_each_rank(folder: Path) -> None:
    text = "copy (select k, i from 't.parquet') to 'parts' (partition_by (k))"
    result = statements(folder, 2, text, "select count(*) as n, sum(k) as s from 'parts'", text)
    assert result[0] == [{"rows": 1000, "file": "parts"}]
    assert result[1] == [{"n": 1000, "s": sum(n % 7 for n in range(1000))}]
    assert "is there already" in result[2]
    assert len(list((folder / "parts" / "k=3").iterdir())) == 2
    again = statements(folder, 2, text[:-1] + ", overwrite)")[0]
    assert again == [{"rows": 1000, "file": "parts"}]
    with xd.connect(threads=1, ranks="off") as dock:
        assert dock.read(folder / "parts").count() == 1000


def test_now_is_one_moment_of_all_ranks(folder: Path) -> None:
    (rows,) = statements(
        folder, 3, "select distinct now() as at, current_date as d, now() = now() as e "
        "from 't.parquet'",
    )  # fmt: skip
    (row,) = rows
    assert row["e"]
    assert row["at"].startswith(row["d"])


def test_rows_of_totals_without_columns_are_counted(folder: Path) -> None:
    """What nothing reads of a total is not computed; its row is there."""
    sets = "select k, {} from 't.parquet' where i < 20 group by {}"
    counted = statements(
        folder, 3,
        *(
            f"select count(*) as n from ({sets.format(item, by)}) as w"
            for item, by in (
                ("count(*)", "rollup (k)"),
                ("list(i order by i)", "cube (k)"),
                ("bit_xor(i)", "grouping sets ((k), (k), ())"),
            )
        ),
    )  # fmt: skip
    assert counted == [[{"n": 8}], [{"n": 8}], [{"n": 15}]]


def test_errors_are_those_of_all(folder: Path) -> None:
    queries = (
        "select nope from 't.parquet'",
        "select * from nowhere",
        "select * from 'no.parquet'",
        "select count(*) from 't.parquet' tablesample 10%",
    )
    for text, said in zip(queries, statements(folder, 2, *queries), strict=True):
        assert said.startswith("[CD-5"), text


def test_what_becomes_a_longer_text_is_that_of_one_process(folder: Path) -> None:
    queries = (
        "select count(*) as n, sum(b.i) as i from 't.parquet' a asof join 't.parquet' b "
        "on a.k = b.k and a.i > b.i",
        "select columns('k|n') from (select k, count(*) as n from 't.parquet' group by k) "
        "order by all",
        "select columns('n') from (select k, count(*) as n from 't.parquet' group by k) "
        "order by all",
        "select * from (pivot (select k % 2 as o, i from 't.parquet') on o in (0, 1) "
        "using sum(i)) z",
        "select i from 't.parquet' a where exists (select 1 from 't.parquet' b where "
        "b.i > a.i + 997) or i = 5 order by all",
        "select x.i, y.k from (select i from 't.parquet' where i < 3) x positional join "
        "(select k from 't.parquet' where i < 2) y order by all",
        "select count(*) as n, max(i) as m from (select i from 't.parquet' order by i limit 10%)",
        "select count(distinct r) as n, count(distinct u) as m, sum(i) as s from "
        "(select random() as r, uuid() as u, i from 't.parquet')",
        "select x, y, count(*) as n from (select unnest([i, k]) as x, unnest([k]) as y from "
        "'t.parquet' where i < 5) group by all order by all",
    )
    with duckdb.connect() as oracle:
        oracle.execute(f"SET file_search_path = '{folder}'")
        expected = [oracle.sql(text).to_arrow_table().to_pylist() for text in queries]
    for text, said, rows in zip(queries, statements(folder, 2, *queries), expected, strict=True):
        assert [[*row.values()] for row in said] == [
            [None if v is None else int(v) for v in row.values()] for row in rows
        ], text


# --- the command line


def sql(
    folder: Path, *arguments: str, given: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [sys.executable, "-m", "crossdock_cli.main", "sql", *arguments]
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-n", "2", *command],
        cwd=folder, env=os.environ | root, input=given, capture_output=True, check=False,
        timeout=300,
    )  # fmt: skip


needs_mpirun = pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")


@needs_mpirun
def test_results_are_printed_once(folder: Path) -> None:
    text = "create view v as select k, count(*) as n from 't.parquet' group by k; "
    text += "select * from v where k < 2 order by k; explain select * from v"
    ended = sql(folder, text, "--format", "csv")
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.decode().splitlines()
    assert lines[:3] == ['"k","n"', "0,143", "1,143"]
    assert sum("exchange" in line for line in lines[3:]) == 1
    assert ended.stderr.count(b"created v") == 1


@needs_mpirun
@pytest.mark.parametrize("kind", ["json", "table", "parquet"])
def test_results_are_written_once(folder: Path, kind: str) -> None:
    line = ("select count(*) as n from 't.parquet'", "--format", kind, "-o", "out.x")
    ended = sql(folder, *line)
    assert ended.returncode == 0, ended.stderr
    written = (folder / "out.x").read_bytes()
    if kind == "parquet":
        assert pyarrow.parquet.read_table(folder / "out.x").to_pylist() == [{"n": 1000}]
    else:
        assert written.count(b"1000") == 1


@needs_mpirun
def test_standard_input_is_the_first_rank_s(folder: Path) -> None:
    rows = (folder / "t.parquet").read_bytes()
    ended = sql(folder, "select count(*), sum(i) from '-'", "--format", "csv", given=rows)
    assert ended.stdout.decode().splitlines()[1:] == ["1000,499500"], ended.stderr
    ended = sql(folder, "--format", "csv", given=b"select 5 as a; select 6 as b")
    assert ended.stdout.decode().split() == ['"a"', "5", '"b"', "6"], ended.stderr


def test_decisions_go_through_json() -> None:
    decisions = [
        JoinDecision((GroupFilter(1, "a", 0, "b", is_kept=True),), ((0, 2), (1, 3))),
        JoinDecision((), 0),
    ]
    said = json.dumps(as_json(decisions))
    came = decisions_of(json.loads(said))
    assert json.dumps(as_json(came)) == said
    assert [each.filters for each in came] == [each.filters for each in decisions]


KEPT = """
import crossdock as xd, pyarrow as pa
from crossdock.sql_frontend import queries
plan, planned = queries.rewrite, []
queries.rewrite = lambda *given: planned.append(1) or plan(*given)
text = "select sum(a) as s from t"
with xd.connect(threads=1, memory="256MiB") as dock:
    dock.register("t", pa.table({"a": [1, 2]}))
    sums = [dock.sql(text).gather() for _ in range(3)]
    once = len(planned)
    if dock.rank == 0:
        dock.register("t", pa.table({"a": [10]}))
    sums += [dock.sql(text).gather() for _ in range(2)]
    print(once, len(planned), [one["s"].to_pylist() for one in sums if one is not None])
"""


def test_a_text_is_planned_once_by_all_ranks(tmp_path: Path) -> None:
    """Where one rank has other tables then, all plan again."""
    first, *others = ranks_said(tmp_path, 3, KEPT)
    assert first == "1 2 [[9], [9], [9], [16], [16]]\n"
    assert others == ["1 2 []\n"] * 2
