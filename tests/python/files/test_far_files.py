"""Files that lie elsewhere: on web servers that are slow, fail or hang, in stores, in memory."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.fs as file_systems
import pyarrow.parquet as pq
import pytest
from crossdock.files.far_files import FarFile

from .range_server import RangeServer, served

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

ROWS = 60_000
GROUP_ROWS = 10_000
TABLE = pa.table(
    {
        "k": pa.array(range(ROWS), pa.int64()),
        "v": pa.array([(i * 7919) % 1009 if i % 11 else None for i in range(ROWS)], pa.int32()),
        "t": [f"string {(i * 31) % 5000}" for i in range(ROWS)],
    }
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RangeServer]:
    with served(tmp_path) as running:
        yield running


@pytest.fixture
def rows(server: RangeServer) -> str:
    """The URL of a file with six row groups."""
    pq.write_table(TABLE, server.folder / "rows.parquet", row_group_size=GROUP_ROWS)
    return f"{server.url}/rows.parquet"


def summed(relation: xd.Relation) -> pa.Table:
    chosen = relation.filter((xd.col("v") < 500) & xd.col("t").contains("7"))
    return chosen.agg(n=xd.count(), s=xd.sum("k"), m=xd.max("t")).collect()


def test_parquet_of_a_web_server(dock: xd.Dock, server: RangeServer, rows: str) -> None:
    far = dock.read_parquet(rows)
    near = dock.read_parquet(server.folder / "rows.parquet")
    assert len(server.ranges) == 1  # the footer
    assert far.schema == near.schema
    assert summed(far).equals(summed(near))
    assert far.collect().equals(near.collect())
    assert far.count() == ROWS
    assert dock.sql(f"SELECT max(k) AS m FROM '{rows}'").collect()["m"].to_pylist() == [ROWS - 1]
    assert "requests" in str(far.filter(xd.col("v") < 500).profile())


def test_ranges_are_coalesced_and_only_of_what_is_read(
    dock: xd.Dock, server: RangeServer, rows: str
) -> None:
    far = dock.read_parquet(rows)
    server.ranges.clear()
    assert far.filter(xd.col("k") >= ROWS - 5).collect().num_rows == 5
    assert len(server.ranges) <= 2  # one row group, whose columns lie side by side
    server.ranges.clear()
    assert far.limit(3).collect().num_rows == 3
    size = (server.folder / "rows.parquet").stat().st_size
    assert sum(end - begin for _, begin, end in server.ranges) < size / 4
    server.ranges.clear()
    assert far.select("k").collect().equals(TABLE.select(["k"]))
    assert len(server.ranges) <= 12


def test_rows_by_number_are_asked_for_at_once(
    dock: xd.Dock, server: RangeServer, rows: str
) -> None:
    far = dock.read_parquet(rows)
    server.ranges.clear()
    result = far.top_k(10, "v", "k").collect()
    assert result.equals(
        dock.read_parquet(server.folder / "rows.parquet").top_k(10, "v", "k").collect()
    )
    assert len(server.ranges) <= 20


MANY = 300_000
MANY_ROWS = pa.table(
    {
        "k": pa.array(range(MANY), pa.int64()),
        "v": pa.array([(i * 7919) % 1009 if i % 11 else None for i in range(MANY)], pa.int32()),
        "t": [f"string {(i * 31) % 5000}" for i in range(MANY)],
        "u": [hashlib.sha256(str(i).encode()).hexdigest() for i in range(MANY)],
    }
)
FEW = [
    xd.col("k") == 150_000,
    (xd.col("k") < 1000) | (xd.col("k") >= MANY - 3),
    xd.col("k").is_in([5, 77_777, 200_000]),
    (xd.col("k") > 123_000) & (xd.col("k") < 124_000) & xd.col("t").contains("7"),
    xd.col("k").between(10_000, 30_000) & xd.col("v").is_null(),
    xd.col("k") == -1,
]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("group_rows", [MANY, 50_000])
def test_pages_of_far_files(server: RangeServer, version: str, group_rows: int) -> None:
    path = server.folder / "pages.parquet"
    pq.write_table(
        MANY_ROWS, path, row_group_size=group_rows, write_page_index=True, max_rows_per_page=200,
        data_page_version=version, use_dictionary=["t"],
    )  # fmt: skip
    size = path.stat().st_size
    with xd.connect(threads=2) as dock:
        far, near = dock.read_parquet(f"{server.url}/pages.parquet"), dock.read_parquet(path)
        for condition in FEW:
            server.ranges.clear()
            result = far.filter(condition).collect()
            assert result.to_pylist() == near.filter(condition).collect().to_pylist(), condition
            asked = sum(end - begin for _, begin, end in server.ranges)
            assert asked < size / 4, (str(condition), asked, size, server.ranges)
            assert len(server.ranges) < 20
        assert "pages skipped" in json.dumps(far.filter(FEW[0]).profile().data)
        half = far.filter(xd.col("k") < MANY * 2 // 3)
        assert (
            half.agg(n=xd.count(), s=xd.sum("v")).collect().to_pylist()
            == (
                near.filter(xd.col("k") < MANY * 2 // 3).agg(n=xd.count(), s=xd.sum("v")).collect()
            ).to_pylist()
        )
        keys = dock.from_arrow(pa.table({"k": pa.array([160_000, 160_007], pa.int64())}))
        server.ranges.clear()
        assert far.join(keys, on="k").count() == 2
        assert sum(end - begin for _, begin, end in server.ranges) < size / 4


def test_places_of_pages_that_are_wrong(server: RangeServer) -> None:
    """Of a page index whose bytes are changed, rows are right or refused."""
    path = server.folder / "pages.parquet"
    rows = MANY_ROWS.slice(0, 20_000)
    pq.write_table(rows, path, write_page_index=True, max_rows_per_page=2000, use_dictionary=False)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    condition = xd.col("k").between(5000, 9000)
    refused = 0
    with xd.connect(threads=1) as dock:
        expected = dock.read_parquet(path).filter(condition).agg(n=xd.sum("k"), m=xd.max("u"))
        right = expected.collect().to_pylist()
        for back in range(1, 130):  # the places of the last column come last
            changed = bytearray(whole)
            changed[footer - back] ^= 1 << back % 8
            path.write_bytes(changed)
            far = dock.read_parquet(f"{server.url}/pages.parquet").filter(condition)
            try:
                assert far.agg(n=xd.sum("k"), m=xd.max("u")).collect().to_pylist() == right
            except xd.CrossdockError:
                refused += 1
    assert refused > 4


def test_several_requests_at_once(dock: xd.Dock, server: RangeServer, rows: str) -> None:
    far = dock.read_parquet(rows)
    server.hangs_from, server.goes_on_at = 0, 4
    assert far.select("k", "v").collect().num_rows == ROWS
    assert server.goes_on.is_set(), "answers were waited for before there were four requests"


def test_faults_that_pass(dock: xd.Dock, server: RangeServer, rows: str) -> None:
    server.fails_of = 3
    far = dock.read_parquet(rows)
    assert summed(far).equals(summed(dock.read_parquet(server.folder / "rows.parquet")))


@pytest.mark.parametrize(("status", "tries"), [(503, 4), (403, 1)])
def test_faults_that_last(
    dock: xd.Dock, server: RangeServer, rows: str, status: int, tries: int
) -> None:
    far = dock.read_parquet(rows)
    server.fails_of, server.status = 1, status
    with pytest.raises(
        xd.DataError, match=rf"rows.parquet: bytes \d+ to \d+ cannot be read: .*{status}"
    ):
        far.filter(xd.col("k") < 3).select("k").collect()
    first = server.ranges[1]
    assert server.ranges.count(first) == tries


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "ndjson"])
def test_faults_of_text(dock: xd.Dock, server: RangeServer, ending: str) -> None:
    table = pa.table({"k": range(1000)})
    dock.from_arrow(table).write(server.folder / f"rows.{ending}")
    url = f"{server.url}/rows.{ending}"
    server.fails_of = 2
    assert dock.read(url).collect().equals(table)
    server.fails_of, server.status = 1, 403
    with pytest.raises(xd.DataError, match=r"its server answers 403 Forbidden\n\s*where") as caught:
        dock.read(url).collect()
    assert "types=" not in str(caught.value)


def test_what_servers_answer(dock: xd.Dock, server: RangeServer) -> None:
    with pytest.raises(xd.DataError, match="its server answers 404 Not Found"):
        dock.read_csv(f"{server.url}/none.csv")
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        port = unheard.getsockname()[1]
        with pytest.raises(xd.DataError, match=f"Cannot connect to host 127.0.0.1:{port}"):
            dock.read_parquet(f"http://127.0.0.1:{port}/rows.parquet")


def test_files_that_are_not_there_or_change(dock: xd.Dock, server: RangeServer, rows: str) -> None:
    with pytest.raises(xd.DataError, match="none"):
        dock.read_parquet(f"{server.url}/none.parquet")
    far = dock.read_parquet(rows)
    pq.write_table(TABLE.rename_columns(["a", "b", "c"]), server.folder / "rows.parquet")
    with pytest.raises(xd.DataError, match="has changed since it was opened"):
        far.collect()
    (server.folder / "rows.parquet").write_bytes(b"nothing of Parquet")
    with pytest.raises(xd.DataError):
        dock.read_parquet(rows)


def test_a_server_without_ranges(dock: xd.Dock, server: RangeServer, rows: str) -> None:
    server.knows_ranges = False
    assert summed(dock.read_parquet(rows)).equals(
        summed(dock.read_parquet(server.folder / "rows.parquet"))
    )


def interrupt(call: Callable[[], object], server: RangeServer) -> None:
    """Ctrl-C while `call` waits for an answer, which does not come."""
    before = server.at_once

    def when_it_waits() -> None:
        while server.at_once == before:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=when_it_waits, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        call()
    assert server.at_once > before, "the answer was waited for"


def test_ctrl_c_while_a_server_hangs(dock: xd.Dock, server: RangeServer, rows: str) -> None:
    far = dock.read_parquet(rows)
    server.hangs_from = 0
    interrupt(far.collect, server)
    interrupt(lambda: dock.read_parquet(rows), server)
    server.goes_on.set()
    assert far.count() == ROWS
    assert far.collect().equals(TABLE)


def test_a_stream_that_is_closed_while_a_server_hangs(
    dock: xd.Dock, server: RangeServer, rows: str
) -> None:
    far = dock.read_parquet(rows)
    second = pq.read_metadata(server.folder / "rows.parquet").row_group(1)
    server.hangs_from = second.column(0).dictionary_page_offset
    batches = iter(far.to_batches())
    assert next(batches).num_rows > 0
    while server.at_once == 0:
        time.sleep(0.01)
    del batches
    assert server.at_once > 0, "an answer was waited for"


def test_memory_of_what_is_asked_for_ahead(server: RangeServer) -> None:
    table = pa.table({f"c{n}": pa.array(range(n, n + 500_000), pa.int64()) for n in range(8)})
    pq.write_table(
        table, server.folder / "large.parquet", row_group_size=20_000,
        compression="none", use_dictionary=False,
    )  # fmt: skip
    with xd.connect(threads=2, memory="64MiB") as small:
        far = small.read_parquet(f"{server.url}/large.parquet")
        assert (
            far.agg(**{name: xd.sum(name) for name in table.column_names}).collect().num_rows == 1
        )
        assert "requests" in str(far.select("c0").profile())


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "ndjson", "arrow"])
def test_other_formats_of_a_web_server(dock: xd.Dock, server: RangeServer, ending: str) -> None:
    small = TABLE.slice(0, 500)
    dock.from_arrow(small).write(server.folder / f"rows.{ending}")
    far = dock.read(f"{server.url}/rows.{ending}?key=a&sign=*")
    assert far.collect().to_pydict() == small.to_pydict()
    assert far.filter(xd.col("k") < 7).count() == 7


def test_file_systems_of_pyarrow_and_fsspec(dock: xd.Dock, tmp_path: Path) -> None:
    for year in (2025, 2026):
        folder = tmp_path / "sales" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"k": [year, 1]}), folder / "a.parquet")
        (folder / "_done").touch()
    local = file_systems.LocalFileSystem()
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "sales"), "/sales", recursive=True)
    for system in (file_systems.SubTreeFileSystem(str(tmp_path), local), memory):
        for path in (
            "sales",
            "sales/*/*.parquet",
            "sales/**/a.parquet",
            "sales/year={2025,2026}/*.parquet",
        ):
            result = dock.read_parquet(path, filesystem=system)
            assert result.columns == ["k", "year"]
            assert (
                result.filter(xd.col("year") == 2026).agg(s=xd.sum("k")).collect()["s"][0].as_py()
                == 2027
            )
        assert dock.read("sales/year=2025/a.parquet", filesystem=system).count() == 2
        with pytest.raises(xd.PathError, match="no file matches"):
            dock.read_parquet("sales/*.csv", filesystem=system)
        with pytest.raises(xd.PathError, match="no such file or folder"):
            dock.read_parquet("sales/none.parquet", filesystem=system)
    assert dock.read("memory://sales/year=2025/a.parquet").columns == ["k"]
    assert dock.read("memory://sales").columns == ["k", "year"]
    with pytest.raises(xd.OptionError, match=r"neither of pyarrow\.fs nor of fsspec"):
        dock.read_parquet("sales", filesystem=7)
    memory.rm("/sales", recursive=True)


def test_a_store_of_objects(
    dock: xd.Dock, server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for year in (2025, 2026):
        folder = server.folder / f"box/sales/year={year}"
        folder.mkdir(parents=True)
        pq.write_table(TABLE, folder / "a.parquet", row_group_size=GROUP_ROWS)
    where = f"?endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
    one = dock.read(f"s3://box/sales/year=2025/a.parquet{where}")
    assert one.columns == ["k", "v", "t"]
    assert summed(one).equals(summed(dock.from_arrow(TABLE)))
    for path in ("sales", "sales/year=*/*.parquet"):
        all_years = dock.read(f"s3://box/{path}{where}")
        assert all_years.files()[0] == "s3://box/sales/year=2025/a.parquet"
        assert all_years.filter(xd.col("year") == 2026).count() == ROWS
    with pytest.raises(xd.PathError, match="no such file or folder"):
        dock.read(f"s3://box/none.parquet{where}")
    server.hangs_from = 0
    interrupt(one.collect, server)


def test_urls_of_this_machine(dock: xd.Dock, tmp_path: Path) -> None:
    place = tmp_path / "a b.parquet"
    pq.write_table(TABLE, place)
    assert dock.read(place.as_uri()).count() == ROWS
    assert (
        dock.sql(f"SELECT count(*) AS n FROM '{place.as_uri()}'").collect()["n"][0].as_py() == ROWS
    )


def test_bytes_and_open_files(dock: xd.Dock, tmp_path: Path) -> None:
    place = tmp_path / "rows.parquet"
    pq.write_table(TABLE, place, row_group_size=GROUP_ROWS)
    content = place.read_bytes()
    expected = summed(dock.read(place))
    with place.open("rb") as file, gzip.open(tmp_path / "p.gz", "wb") as packed:
        packed.write(content)
        opened = fsspec.filesystem("file").open(str(place))
        buffers = bytearray(content), memoryview(content), pa.py_buffer(content)
        for given in (content, *buffers, io.BytesIO(content), file, opened):
            assert summed(dock.read(given)).equals(expected), type(given)
            assert summed(dock.read_parquet([given])).equals(expected)
    with gzip.open(tmp_path / "p.gz") as packed:
        assert summed(dock.read(packed)).equals(expected)
    two = dock.read_parquet([content, place])
    assert two.count() == 2 * ROWS
    assert dock.read_csv(b"a,b\n1,2\n").collect().to_pydict() == {"a": [1], "b": [2]}
    assert dock.read_json(io.BytesIO(b'{"a": 1}\n')).collect().to_pydict() == {"a": [1]}
    with pytest.raises(xd.PathError, match=r"neither as Parquet nor as Arrow IPC(.|\n)*read_csv"):
        dock.read(b"a,b\n1,2\n")
    with pytest.raises(xd.OptionError, match='open\\(path, "rb"\\)'):
        dock.read_csv(io.StringIO("a\n1\n"))


def test_pickles(dock: xd.Dock, server: RangeServer, rows: str) -> None:
    with xd.connect(threads=1) as other:
        far = pickle.loads(pickle.dumps(other.read_parquet(rows).select("k")))
        assert far.count() == ROWS
        held = pickle.loads(pickle.dumps(other.read_csv(b"a\n1\n")))
        assert held.collect().to_pydict() == {"a": [1]}
    name = pickle.loads(pickle.dumps(FarFile("n", file_systems.LocalFileSystem(), "p")))
    assert (name, name.path) == ("n", "p")


def test_what_is_not_installed(dock: xd.Dock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        xd.PathError, match=r"needs the packages(.|\n)*pip install 'crossdock\[remote\]'"
    ):
        dock.read("https://localhost/x.parquet")


def test_urls_that_nothing_reads(dock: xd.Dock, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(xd.PathError, match="no package that is installed reads nosuch"):
        dock.read("nosuch://a/x.parquet")
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(xd.PathError, match="AZURE_STORAGE_ACCOUNT_NAME"):
        dock.read("az://box/x.parquet")
