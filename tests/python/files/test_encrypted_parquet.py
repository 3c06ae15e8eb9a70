"""Encrypted Parquet files: with their keys, without, and with others."""

from __future__ import annotations

import base64
import pickle
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

ROWS = pa.table({
    "k": range(1000), "word": [f"w{i % 7}" for i in range(1000)], "x": [i / 4 for i in range(1000)],
})  # fmt: skip
KEYS = {"footer": "0123456789012345", "column": "1234567890123450"}


class LocalKeys(encryption.KmsClient):  # type: ignore[misc]
    """A key management service whose master keys stand in the configuration."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self._keys = config.custom_kms_conf

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(self._keys[master_key_identifier].encode() + key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        master = self._keys[master_key_identifier].encode()
        wrapped = base64.b64decode(wrapped_key)
        if not wrapped.startswith(master):
            raise ValueError(f"{master_key_identifier} is another key")
        return wrapped[len(master) :]


FACTORY = encryption.CryptoFactory(LocalKeys)


def connection(**keys: str) -> Any:
    return encryption.KmsConnectionConfig(custom_kms_conf=KEYS | keys)


def write(path: Path, *, plain_footer: bool, rows: pa.Table = ROWS) -> str:
    """Encrypted but for its column `k`."""
    settings = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["word", "x"]}, plaintext_footer=plain_footer
    )
    properties = FACTORY.file_encryption_properties(connection(), settings)
    with pq.ParquetWriter(path, rows.schema, encryption_properties=properties) as writer:
        writer.write_table(rows, row_group_size=250)
    return str(path)


@pytest.fixture(params=[True, False], ids=["plain footer", "encrypted footer"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return write(tmp_path / "x.parquet", plain_footer=request.param)


def forms() -> list[Any]:
    return [
        (FACTORY, connection()),
        (FACTORY, connection(), encryption.DecryptionConfiguration()),
        FACTORY.file_decryption_properties(connection()),
    ]


@pytest.mark.parametrize("form", range(3))
def test_with_its_keys(dock: xd.Dock, path: str, form: int) -> None:
    rows = dock.read_parquet(path, decryption=forms()[form])
    assert rows.columns == ROWS.column_names
    assert rows.collect().equals(ROWS)
    assert rows.count() == 1000
    assert rows.filter(xd.col("k") >= 900).select("word").collect().num_rows == 100
    assert rows.filter((xd.col("x") < 1) & (xd.col("word") == "w1")).count() == 1
    totals = rows.group_by("word").agg(x=xd.sum("x")).sort("word").collect()
    with duckdb.connect() as connected:
        connected.register("rows", ROWS)
        query = "SELECT word, sum(x) AS x FROM rows GROUP BY word ORDER BY word"
        assert [tuple(row.values()) for row in totals.to_pylist()] == connected.sql(
            query
        ).fetchall()
    assert sum(batch.num_rows for batch in rows.to_batches()) == 1000
    assert "encrypted" in rows.explain()


def test_without_keys(dock: xd.Dock, path: str) -> None:
    """Of a file whose footer is plain, what is not encrypted can be read."""
    message = r"(?s)'x\.parquet' cannot be read: it is encrypted.*read_parquet\(\.\.\., decryption="
    if Path(path).read_bytes()[-4:] == b"PARE":
        with pytest.raises(xd.DataError, match=message):
            dock.read_parquet(path)
        return
    rows = dock.read_parquet(path)
    assert f"pyarrow, since {path}: it is encrypted" in rows.explain()
    assert rows.select("k").collect().equals(ROWS.select(["k"]))
    assert rows.filter(xd.col("k") > 1).count() == 998
    for run in (rows.collect, rows.select("word").collect, lambda: list(rows.to_batches())):
        with pytest.raises(xd.DataError, match=message):
            run()
    with pytest.raises(xd.DataError, match=message):
        rows.filter(xd.col("x") > 1).count()


def test_with_other_keys(dock: xd.Dock, path: str) -> None:
    keys = encryption.create_decryption_properties(b"x" * 16)
    with pytest.raises(xd.DataError, match=r"the keys of decryption= are not its own"):
        dock.read_parquet(path, decryption=keys).collect()


def test_a_service_that_refuses(dock: xd.Dock, path: str) -> None:
    """What the caller's code raises arrives as it is."""
    keys = encryption.CryptoFactory(LocalKeys), connection(column="z" * 16)
    with pytest.raises(ValueError, match="column is another key"):
        dock.read_parquet(path, decryption=keys).collect()
    with pytest.raises(ValueError, match="column is another key"):
        dock.read_parquet(path, decryption=keys).filter(xd.col("x") > 1).collect()


def test_one_key_without_a_service(dock: xd.Dock, tmp_path: Path) -> None:
    path, key = tmp_path / "x.parquet", b"0123456789112345"
    properties = encryption.create_encryption_properties(key)
    with pq.ParquetWriter(path, ROWS.schema, encryption_properties=properties) as writer:
        writer.write_table(ROWS)
    rows = dock.read_parquet(path, decryption=encryption.create_decryption_properties(key))
    assert rows.collect().equals(ROWS)


def test_several_files_in_folders(dock: xd.Dock, tmp_path: Path) -> None:
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        write(tmp_path / f"year={year}" / "a.parquet", plain_footer=year == 2025,
              rows=ROWS.slice(0, year - 2000))  # fmt: skip
    rows = dock.read_parquet(tmp_path, decryption=(FACTORY, connection()))
    assert rows.count() == 51
    assert rows.filter(xd.col("year") == 2026).select("word", "year").collect().num_rows == 26
    named = dock.read_parquet(tmp_path, decryption=(FACTORY, connection()), filename=True)
    assert len(set(named.collect()["filename"].to_pylist())) == 2


def test_files_elsewhere(dock: xd.Dock, path: str) -> None:
    far = {"filesystem": fsspec.filesystem("file")}
    rows = dock.read_parquet(path, decryption=(FACTORY, connection()), **far)
    assert rows.collect().equals(ROWS)
    with pytest.raises(xd.DataError, match="it is encrypted"):
        dock.read_parquet(path, **far).collect()


def test_bytes(dock: xd.Dock, path: str) -> None:
    content = Path(path).read_bytes()
    rows = dock.read_parquet(content, decryption=(FACTORY, connection()))
    assert rows.collect().equals(ROWS)
    with pytest.raises(xd.DataError, match="it is encrypted"):
        dock.read(content).collect()


def test_joined_in_sql(dock: xd.Dock, path: str) -> None:
    dock.register("secret", dock.read_parquet(path, decryption=(FACTORY, connection())))
    assert (
        dock.sql("select count(*) as n from secret where word = 'w3'").collect()["n"][0].as_py()
        == 143
    )
    if Path(path).read_bytes()[-4:] == b"PARE":
        with pytest.raises(xd.DataError, match="it is encrypted"):
            dock.sql(f"select * from '{path}'")


def test_keys_that_are_none(dock: xd.Dock, path: str) -> None:
    for wrong in ("0123456789012345", (FACTORY,), (connection(), FACTORY), b"0123456789012345"):
        with pytest.raises(
            xd.OptionError, match=r"(?s)is neither pyarrow's properties.*factory"
        ) as error:
            dock.read_parquet(path, decryption=wrong)  # type: ignore[arg-type]
        assert "0123456789012345" not in str(error.value)


def test_keys_are_not_pickled(dock: xd.Dock, path: str) -> None:
    rows = dock.read_parquet(path, decryption=(FACTORY, connection()))
    with pytest.raises(xd.OptionError, match="its keys would be in it"):
        pickle.dumps(rows)
