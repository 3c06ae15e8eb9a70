"""Files in a store of objects as Amazon's is, by pyarrow and by fsspec; and what other stores ask
for that are not there."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.fs as file_systems
import pyarrow.parquet as pq
import pytest
import s3fs

from .store_server import KEYS, REGION, StoreServer

ROWS, GROUP_ROWS = 60_000, 10_000
TABLE = pa.table({
    "k": range(ROWS), "v": [(i * 7919) % 1009 for i in range(ROWS)],
    "t": [f"string {(i * 31) % 5000}" for i in range(ROWS)],
})  # fmt: skip
KEYS_OF = r"(?s:.*try .*AWS_ACCESS_KEY_ID.*AWS_ENDPOINT_URL.*filesystem=)"


def parquet_bytes(rows: pa.Table = TABLE) -> bytes:
    stream = io.BytesIO()
    pq.write_table(rows, stream, row_group_size=GROUP_ROWS, compression="none")
    return stream.getvalue()


@pytest.fixture(scope="module")
def server() -> Iterator[StoreServer]:
    running = StoreServer()
    client = running.client()
    client.create_bucket(Bucket="box")
    content = {
        **{f"sales/year={year}/a.parquet": parquet_bytes() for year in (2025, 2026)},
        "sales/_log/b.parquet": b"none",
        "rows.csv": b"k,t\n1,x\n2,y\n",
        "rows.ndjson": b'{"k": 1}\n{"k": 2}\n',
        "a b&c=d.csv": b"k\n7\n",
    }
    for key, body in content.items():
        client.put_object(Bucket="box", Key=key, Body=body)
    yield running
    running.close()


@pytest.fixture
def store(server: StoreServer, monkeypatch: pytest.MonkeyPatch) -> StoreServer:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    server.requests.clear()
    return server


@pytest.fixture(params=["url", "pyarrow", "fsspec"])
def place(request: pytest.FixtureRequest, store: StoreServer) -> tuple[str, dict[str, Any]]:
    """What stands before the names of objects, and the options of reading."""
    if request.param == "url":
        return "s3://box/", {}
    if request.param == "pyarrow":
        system = file_systems.S3FileSystem(endpoint_override=store.url, region=REGION)
        return "box/", {"filesystem": system}
    system = s3fs.S3FileSystem(
        endpoint_url=store.url, key=KEYS["AWS_ACCESS_KEY_ID"],
        secret=KEYS["AWS_SECRET_ACCESS_KEY"], skip_instance_cache=True,
    )  # fmt: skip
    return "s3://box/", {"filesystem": system}


def test_files_folders_and_patterns(dock: xd.Dock, place: tuple[str, dict[str, Any]]) -> None:
    begin, options = place
    one = dock.read_parquet(f"{begin}sales/year=2025/a.parquet", **options)
    assert one.collect().equals(TABLE)
    paths: tuple[Any, ...] = (
        "sales", "sales/", "sales/year=*/*.parquet", "sales/**/a.parquet",
        "sales/year={2025,2026}/a.parquet",
    )  # fmt: skip
    for path in paths:
        both = dock.read_parquet(begin + path, **options)
        assert both.columns == ["k", "v", "t", "year"]
        assert both.count() == 2 * ROWS
        assert both.filter(xd.col("year") == 2026).count() == ROWS
    listed = [f"{begin}sales/year={year}/a.parquet" for year in (2025, 2026)]
    assert dock.read_parquet(listed, **options).count() == 2 * ROWS
    named = dock.read_parquet(listed, filename=True, **options).select("filename").distinct()
    assert all("a.parquet" in name for name in named.collect()["filename"].to_pylist())
    assert dock.read_csv(f"{begin}rows.csv", **options).collect()["t"].to_pylist() == ["x", "y"]
    assert dock.read_json(f"{begin}rows.ndjson", **options).collect()["k"].to_pylist() == [1, 2]
    assert dock.read_csv(f"{begin}a b&c=d.csv", **options).collect()["k"].to_pylist() == [7]


def test_only_ranges_that_filters_leave(
    dock: xd.Dock, store: StoreServer, place: tuple[str, dict[str, Any]]
) -> None:
    begin, options = place
    whole = len(parquet_bytes())

    def asked(relation: xd.Relation) -> int:
        store.requests.clear()
        relation.collect()
        return sum(last - first + 1 for first, last in store.ranges())

    rows = dock.read_parquet(f"{begin}sales/year=2025/a.parquet", **options)
    assert asked(rows) < whole * 1.05
    assert asked(rows.filter(xd.col("k") >= ROWS - 5)) < whole / 5  # one row group of six
    assert asked(rows.select("k").agg(s=xd.sum("k"))) < whole / 2  # one column of three
    assert asked(rows.filter(xd.col("k") < 0)) == 0
    both = dock.read_parquet(f"{begin}sales", **options).filter(xd.col("year") == 2025)
    store.requests.clear()
    assert both.agg(s=xd.sum("v")).collect().num_rows == 1
    assert not [path for _, path, extent in store.requests if extent and "2026" in path]


def test_sql_and_rejects(dock: xd.Dock, store: StoreServer) -> None:
    counted = "SELECT count(*) AS n FROM 's3://box/sales/*/*.parquet' WHERE year = 2025 AND k < 10"
    assert dock.sql(counted).collect()["n"].to_pylist() == [10]
    store.client().put_object(Bucket="box", Key="bad.csv", Body=b"k\n1\nx\n")
    rejects = "SELECT line, value FROM read_csv_rejects('s3://box/bad.csv', types={'k': 'INT'})"
    assert dock.sql(rejects).collect().to_pylist() == [{"line": 3, "value": "x"}]


def test_what_is_not_there(dock: xd.Dock, place: tuple[str, dict[str, Any]]) -> None:
    begin, options = place
    for path in ("none.parquet", "none/", "sales/none.parquet"):
        with pytest.raises(xd.PathError, match=rf"{begin}{path}': no such file or folder"):
            dock.read_parquet(begin + path, **options)
    with pytest.raises(xd.PathError, match=r"box/none/\*\.csv': no file matches the pattern"):
        dock.read_csv(f"{begin}none/*.csv", **options)
    with pytest.raises(xd.PathError, match=r"box/sales': the folder holds no file named \*\.csv"):
        dock.read_csv(f"{begin}sales", **options)


def test_a_bucket_that_is_not_there(dock: xd.Dock, store: StoreServer) -> None:
    for path in ("x.csv", "*.csv", "folder"):
        with pytest.raises(xd.PathError, match=r"'s3://nobox/.*': no bucket 'nobox'" + KEYS_OF):
            dock.read_csv(f"s3://nobox/{path}")


def test_keys_that_are_wrong(dock: xd.Dock, store: StoreServer) -> None:
    rows = dock.read("s3://box/sales/year=2025/a.parquet")
    text = dock.read("s3://box/rows.csv")
    with store.checking_keys():
        for path in ("rows.csv", "*.csv", "sales"):
            with pytest.raises(xd.PathError, match=r"'s3://box/.*AWS Error" + KEYS_OF):
                dock.read_csv(f"s3://box/{path}")
        for opened in (rows, text):
            with pytest.raises(xd.DataError, match=r"AWS Error ACCESS_DENIED.*" + KEYS_OF):
                opened.collect()


def test_a_store_that_is_not_there(
    dock: xd.Dock, store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(xd.PathError, match=r"'s3://box/rows\.csv'.*connect" + KEYS_OF):
        dock.read("s3://box/rows.csv")


def test_keys_in_a_url_are_not_shown(dock: xd.Dock, store: StoreServer) -> None:
    with pytest.raises(xd.PathError, match=r"'s3://\.\.\.@box/none\.csv'") as raised:
        dock.read("s3://me:mysecret@box/none.csv")
    assert "mysecret" not in str(raised.value)


def test_an_object_that_is_replaced_or_gone(dock: xd.Dock, store: StoreServer) -> None:
    client = store.client()
    client.put_object(Bucket="box", Key="one.parquet", Body=parquet_bytes(TABLE.slice(0, 10)))
    rows = dock.read("s3://box/one.parquet")
    assert rows.count() == 10
    client.put_object(Bucket="box", Key="one.parquet", Body=parquet_bytes(TABLE.slice(0, 20)))
    assert rows.count() == 20
    client.delete_object(Bucket="box", Key="one.parquet")
    with pytest.raises(xd.DataError, match=r"(?s)no file 's3://box/one\.parquet'"):
        rows.count()


def test_writing_goes_by_a_file(dock: xd.Dock, store: StoreServer, tmp_path: Path) -> None:
    rows = dock.from_arrow(TABLE)
    message = r"(?s)'s3://box/.*' cannot be written: files are written on this.*copy_files"
    for path in ("x.parquet", "x.csv"):
        with pytest.raises(xd.PathError, match=message):
            rows.write(f"s3://box/{path}")
    with pytest.raises(xd.PathError, match=message):
        rows.write_parquet("s3://box/folder", partition_by="v")
    with pytest.raises(xd.PathError, match=message):
        dock.sql("COPY (SELECT 1 AS a) TO 's3://box/x.parquet'")
    rows.write(tmp_path / "x.parquet")
    file_systems.copy_files((tmp_path / "x.parquet").as_uri(), "s3://box/x.parquet")
    assert dock.read("s3://box/x.parquet").collect().equals(TABLE)


def test_stores_that_are_not_set_up(dock: xd.Dock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(xd.PathError, match=r"(?s)'az://c/x.*AZURE_STORAGE_ACCOUNT_NAME.*export"):
        dock.read("az://c/x.parquet")

    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "none")

    def missing(**_: object) -> None:
        raise ImportError("pyarrow is not built with support for 'AzureFileSystem'")

    monkeypatch.setattr(file_systems, "AzureFileSystem", missing)
    with pytest.raises(xd.PathError, match=r"(?s)'az://c/x.*not built.*try .*filesystem="):
        dock.read("az://c/x.parquet")
    with pytest.raises(xd.PathError, match=r"(?s)'gs://box/x.*try .*gcloud auth.*GcsFileSystem"):
        dock.read(
            "gs://box/x.parquet?endpoint_override=127.0.0.1:9&scheme=http&retry_limit_seconds=1"
        )


def test_packages_that_are_not_there(dock: xd.Dock, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(xd.PathError, match=r"(?s)'hf://.*huggingface_hub.*pip install that"):
        dock.read("hf://datasets/a/b.parquet")
    with pytest.raises(xd.PathError, match=r"(?s)'none://.*no package.*filesystem="):
        dock.read("none://a/b.parquet")
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(xd.PathError, match=r"(?s)hf needs the package.*crossdock\[remote\]"):
        dock.read("hf://datasets/a/b.parquet")
