"""Replacing files and folders: whole or not at all, whatever else writes; nothing stays."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest
from crossdock.files import replacement
from crossdock.files.replacement import replacing_file, replacing_folder
from crossdock.files.writers import WriteOptions, write_file

WRITER = """
import os, sys, time
from crossdock.files.replacement import replacing_file, replacing_folder
if sys.argv[1] == "file":
    with replacing_file(sys.argv[2]) as stream:
        stream.write(b"half")
        stream.flush()
        print("writing", flush=True)
        time.sleep(60)
else:
    with replacing_folder(sys.argv[2]) as folder:
        (folder / "part").write_text("half")
        print("writing", flush=True)
        time.sleep(60)
"""


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_two_threads_that_write_one_name(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    tables = [pa.table({"k": pa.repeat(number, 20_000)}) for number in range(2)]
    failed: list[Exception] = []

    def write(table: pa.Table) -> None:
        try:
            for _ in range(20):
                write_file(table.to_batches(1000), table.schema, path)
        except Exception as error:  # noqa: BLE001 - shown below
            failed.append(error)

    threads = [threading.Thread(target=write, args=(table,)) for table in tables]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            assert pyarrow.parquet.read_table(path) in tables
    assert not failed
    assert names(tmp_path) == ["x.parquet"]


def test_two_processes_of_one_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in two containers: the numbers of processes are the same, the folder is shared."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with replacing_file(tmp_path / "x") as one, replacing_file(tmp_path / "x") as other:
        one.write(b"one")
        other.write(b"other")
    assert (tmp_path / "x").read_bytes() == b"one"  # which ended last
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_writer_left_goes_with_the_next(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "x"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, kind, str(target)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        with replacing_file(target) as stream:
            stream.write(b"another")
        assert len(names(tmp_path)) == 2, "what a living writer writes must stay"
        writer.kill()
    assert len(names(tmp_path)) == 2
    with replacing_file(target) as stream:
        stream.write(b"new")
    assert names(tmp_path) == ["x"]


def test_the_partial_name_leads_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "victim").write_text("precious")
    tokens = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr(replacement.secrets, "token_hex", lambda _: next(tokens))
    (tmp_path / f".{'0' * 16}.partial.x").symlink_to(tmp_path / "victim")
    with replacing_file(tmp_path / "x") as stream:
        stream.write(b"rows")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "x").read_text() == "rows"
    assert not (tmp_path / "x").is_symlink()


def test_mode_and_owner_stay(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    before = path.stat()
    with replacing_file(path) as stream:
        stream.write(b"new")
        partial = next(entry for entry in tmp_path.iterdir() if entry != path)
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
    after = path.stat()
    assert path.read_text() == "new"
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


def test_an_access_list_stays(tmp_path: Path) -> None:
    # Version 2; user rw, user 65534 r, group -, mask r, others -: tag, bits and number of each.
    entries = [(1, 6, -1), (2, 4, 65534), (4, 0, -1), (16, 4, -1), (32, 0, -1)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    path = tmp_path / "x"
    path.write_text("old")
    os.setxattr(path, "system.posix_acl_access", acl)
    with replacing_file(path) as stream:
        stream.write(b"new")
    assert os.getxattr(path, "system.posix_acl_access") == acl


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    with replacing_file(tmp_path / "x"):
        pass
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_the_disk_has_the_rows_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(partial: Path, target: Path) -> Path:
        assert partial.read_bytes() == b"rows"
        done.append("rename")
        return rename(partial, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    with replacing_file(tmp_path / "x") as stream:
        stream.write(b"rows")
    assert done == ["file", "rename", "folder"]


def test_a_folder(tmp_path: Path) -> None:
    with replacing_folder(tmp_path / "parts") as folder:
        (folder / "one").write_text("1")
        assert not (tmp_path / "parts").exists()
    assert names(tmp_path / "parts") == ["one"]

    def failing() -> None:
        with replacing_folder(tmp_path / "others") as folder:
            (folder / "one").write_text("1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert names(tmp_path) == ["parts"]


def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(xd.PathError, match=r"No space left(.|\n)*free space"),
        replacing_file(tmp_path / "x") as stream,
    ):
        stream.write(b"new")
    assert (tmp_path / "x").read_text() == "old"
    assert names(tmp_path) == ["x"]


def test_a_format_without_a_writer_is_refused(tmp_path: Path) -> None:
    table = pa.table({"k": [1]})
    with pytest.raises(xd.PathError, match="no writer of orc"):
        write_file(table.to_batches(), table.schema, tmp_path / "x.orc", WriteOptions("orc"))
    assert names(tmp_path) == []
