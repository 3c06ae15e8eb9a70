"""What the tests of the command line share: a way to run it, two small files, golden files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from crossdock_cli.main import run

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Ended:
    """How one command line ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def crossdock(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Command:
    """Runs a command line in this process: crossdock("join", "a", "b", "--on", "k")."""
    for name in list(os.environ):
        if name.startswith("CROSSDOCK_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-configuration"))
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: str) -> Ended:
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with people in three formats and visits as Parquet."""
    people = pa.table({"id": [1, 2, 3], "name": ["ann", "bob", None]})
    visits = pa.table({"who": [2, 3, 3], "cost": [1.5, 2.5, 3.5], "name": ["x", "y", "z"]})
    pyarrow.parquet.write_table(people, tmp_path / "people.parquet")
    pyarrow.feather.write_feather(people, str(tmp_path / "people.arrow"))
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    pyarrow.parquet.write_table(visits, tmp_path / "visits.parquet")
    (tmp_path / "parts").mkdir()
    for part in range(2):
        pyarrow.parquet.write_table(visits, tmp_path / "parts" / f"{part}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares a text with tests/cli/golden/NAME.txt; GOLDEN_UPDATE=1 writes it again."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("GOLDEN_UPDATE") == "1":
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
