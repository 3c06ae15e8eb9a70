"""What a path leads to, and what is said where it leads to nothing that can be read."""

from __future__ import annotations

import io
import os
import socket
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest

TABLE = pa.table({"k": [1, 2]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    pyarrow.parquet.write_table(TABLE, tmp_path / "b.pq")
    return tmp_path


def test_a_list_of_paths(dock: xd.Dock, folder: Path) -> None:
    assert dock.read([folder / "a.parquet", str(folder / "b.pq")]).count() == 4
    assert dock.read((folder, folder / "a.parquet")).count() == 6
    with pytest.raises(xd.PathError, match="list of paths is empty"):
        dock.read([])


def test_links_to_folders(dock: xd.Dock, folder: Path) -> None:
    """`**` comes to each file once, also where links lead round."""
    (folder / "round").symlink_to(".")
    (folder / "there").mkdir()
    (folder / "there" / "c.parquet").symlink_to("../a.parquet")
    (folder / "again").symlink_to("there")
    assert dock.read(folder).count() == 6
    assert dock.read(folder / "**" / "*.parquet").count() == 4
    assert dock.read(folder / "again" / "**" / "*.parquet").count() == 2
    assert dock.read(folder / "*" / "c.parquet").count() == 4


@pytest.mark.parametrize("paths", ["", "*", "list"])
def test_several_formats_are_not_one(dock: xd.Dock, folder: Path, paths: str) -> None:
    (folder / "c.csv").write_text("k\n3\n")
    asked = [folder / "a.parquet", folder / "c.csv"] if paths == "list" else folder / paths
    with pytest.raises(
        xd.PathError, match=r"a.parquet' is parquet, and '.*c.csv' is csv(.|\n)*read_parquet"
    ):
        dock.read(asked)
    assert dock.read_parquet(folder).count() == 4
    assert dock.read_csv(folder).count() == 1


@pytest.mark.parametrize("method", ["read", "read_parquet", "read_csv", "read_ipc"])
def test_what_is_no_path(dock: xd.Dock, method: str) -> None:
    given: list[Any] = [7, None, [7], [TABLE], io.StringIO("x")]
    for paths in given:
        with pytest.raises(xd.OptionError, match=r"a path is a str or a pathlib.Path, or bytes"):
            getattr(dock, method)(paths)


def test_addresses_of_what_is_not_here(dock: xd.Dock) -> None:
    with pytest.raises(xd.PathError, match="no such file or folder"):
        dock.read("file:///nowhere/x.parquet")


def test_what_is_no_file(dock: xd.Dock, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    (tmp_path / "loop.parquet").symlink_to("loop.parquet")
    (tmp_path / "null.csv").symlink_to("/dev/null")
    (tmp_path / "lost.parquet").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{tmp_path}/x.sock")
    for name, why in {
        "pipe.parquet": "it is a pipe, not a file or folder",
        "loop.parquet": "Too many levels of symbolic links",
        "null.csv": "it is a device",
        "x.sock": "it is a socket",
        "lost.parquet": "no such file or folder",
    }.items():
        with pytest.raises(xd.PathError, match=why) as error:
            dock.read(tmp_path / name)
        assert f"try      '{tmp_path / name}'" not in str(error.value)


def test_an_empty_folder_is_not_its_own_next_step(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(xd.PathError, match="holds no Parquet") as error:
        dock.read(tmp_path / "empty")
    assert "try" not in str(error.value)


def test_a_folder_that_may_not_be_listed(
    dock: xd.Dock, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0)
    scan = os.scandir

    def refusing(path: Any) -> Any:  # root, whom tests may run as, may list anything
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    for asked in (closed, folder):
        with pytest.raises(xd.PathError, match=r"closed': Permission denied"):
            dock.read(asked)
