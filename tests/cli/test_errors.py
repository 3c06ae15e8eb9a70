"""Errors on the command line: messages as golden files, exit codes, and where they are written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

JOIN = ("join", "people.parquet", "visits.parquet", "--on", "id=who")

CASES: dict[str, tuple[int, tuple[str, ...]]] = {
    "verb": (2, ("jion", "a", "b")),
    "option": (2, ("join", "a", "b", "--onn", "id")),
    "kind": (2, (*JOIN, "--how", "iner")),
    "argument": (2, ("join", "people.parquet", "--on", "id")),
    "key-form": (2, ("join", "people.parquet", "visits.parquet", "--on", "id=")),
    "two-faces": (2, (*JOIN, "--count", "--explain")),
    "where-syntax": (2, (*JOIN, "--where", "cost is 2 and id = 1")),
    "where-call": (2, (*JOIN, "--where", "abc(cost) > 2")),
    "left-key": (1, ("join", "people.parquet", "visits.parquet", "--on", "idd=who")),
    "right-key": (1, ("join", "people.parquet", "visits.parquet", "--on", "id=whoo")),
    "select": (1, (*JOIN, "--select", "id,cots")),
    "where-column": (1, (*JOIN, "--where", "cots > 2")),
    "where-type": (1, (*JOIN, "--where", "cost > 'a'")),
    "path": (1, ("join", "peple.parquet", "visits.parquet", "--on", "id=who")),
    "format": (1, ("join", "people.xlsx", "visits.parquet", "--on", "id=who")),
    "out-format": (1, (*JOIN, "--out", "out.txt")),
    "out-folder": (1, (*JOIN, "--out", "missing/out.parquet")),
    "memory": (1, (*JOIN, "--memory", "8 gigs")),
    "config-verb": (2, ("config", "lst")),
    "groupby-nothing": (2, ("groupby", "visits.parquet")),
    "groupby-function": (2, ("groupby", "visits.parquet", "--agg", "n=count(*), s=smu(cost)")),
    "groupby-key": (1, ("groupby", "visits.parquet", "--by", "woh", "--agg", "n=count(*)")),
    "groupby-type": (1, ("groupby", "visits.parquet", "--agg", "s=sum(name)")),
    "sort-word": (2, ("sort", "visits.parquet", "--by", "who dsc")),
    "sort-nulls": (2, ("sort", "visits.parquet", "--by", "who nulls")),
    "sort-column": (1, ("sort", "visits.parquet", "--by", "cots desc")),
    "sort-select": (2, ("sort", "visits.parquet", "--by", "cost", "--select", "a b")),
    "groupby-option": (2, ("groupby", "visits.parquet", "--agg", "s=sum(cost, wdie=true)")),
    "groupby-option-value": (2, ("groupby", "visits.parquet", "--agg", "sum(cost, floats=exct)")),
    "groupby-no-option": (2, ("groupby", "visits.parquet", "--agg", "n=count(*), min(cost, 1)")),
    "spaces-by": (2, ("groupby", "visits.parquet", "--by", "unit price")),
    "spaces-agg": (2, ("groupby", "visits.parquet", "--agg", "s=sum(unit price)")),
    "spaces-where": (2, (*JOIN, "--where", "unit price > 2")),
    "spaces-on": (2, ("join", "people.parquet", "visits.parquet", "--on", "a id=who")),
    "spaces-sort": (2, ("sort", "visits.parquet", "--by", "unit price desc")),
    "sign-select": (2, (*JOIN, "--select", "unit-price")),
    "partition-key": (1, ("partition", "visits.parquet", "--by", "woh")),
    "partition-how": (2, ("partition", "visits.parquet", "--by", "who", "--how", "hsh")),
    "partition-faces": (2, ("partition", "parts", "--by", "who", "--explain", "--profile")),
    "groupby-key-alone": (1, ("groupby", "visits.parquet", "--by", "woh")),
    "limit-out": (2, (*JOIN, "--limit", "1", "--out", "out.parquet")),
    "limit-sort": (2, ("sort", "visits.parquet", "--by", "who", "--count", "--limit", "1")),
    "limit-parts": (
        2,
        ("partition", "visits.parquet", "--by=who", "--limit", "1", "--out", "p"),
    ),
    "threads": (1, (*JOIN, "--threads", "9" * 20)),
    "ratio": (1, ("generate", "pairs", "--ratio", "1e300")),
    "seed": (1, ("generate", "pairs", "--seed", "9" * 23)),
    "partition-many": (1, ("partition", "visits.parquet", "--by", "who", "--partitions", "100000")),
}


@pytest.mark.parametrize("name", list(CASES))
def test_messages(
    crossdock: Any, folder: Path, golden: Callable[[str, str], None], name: str
) -> None:
    code, words = CASES[name]
    (folder / "people.xlsx").write_bytes(b"a sheet")
    ended = crossdock(*words)
    assert (ended.code, ended.out) == (code, "")
    golden(f"error-{name}", ended.err.replace(str(folder), "FOLDER"))


def test_a_limit_beyond_all_numbers_of_rows(crossdock: Any, folder: Path) -> None:
    for words in (JOIN, ("partition", "visits.parquet", "--by", "who")):
        huge, enough = (crossdock(*words, "--limit", limit).out for limit in ("9" * 23, "99"))
        assert sorted(huge.splitlines()) == sorted(enough.splitlines())  # rows come in any order


def test_a_misspelled_variable(
    crossdock: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSDOCK_THREDS", "2")
    ended = crossdock(*JOIN)
    assert ended.code == 1
    assert "try      CROSSDOCK_THREADS" in ended.err


def test_no_trace_back_unless_asked_for(
    crossdock: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Traceback" not in crossdock(*JOIN, "--select", "x").err
    monkeypatch.setenv("CROSSDOCK_DEBUG", "1")
    ended = crossdock(*JOIN, "--select", "x")
    assert ended.code == 1
    assert "Traceback" in ended.err


def test_a_file_that_is_not_parquet(crossdock: Any, folder: Path) -> None:
    (folder / "bad.parquet").write_bytes(b"not a table at all")
    ended = crossdock("join", "bad.parquet", "visits.parquet", "--on", "id=who")
    assert ended.code == 1
    assert "bad.parquet" in ended.err
    assert "CD-302" in ended.err


def call(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    program = "from crossdock_cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


@pytest.fixture
def endless(folder: Path) -> tuple[str, ...]:
    """A join whose result is far larger than its inputs: every row matches every row."""
    ones = pa.table({"k": pa.repeat(1, 200_000), "v": pa.array(range(200_000))})
    pyarrow.parquet.write_table(ones, folder / "ones.parquet")
    return ("join", "ones.parquet", "ones.parquet", "--on", "k")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_run(
    folder: Path, endless: tuple[str, ...], number: signal.Signals, code: int
) -> None:
    # A program inherits what is ignored: under nohup it would not hear of a SIGHUP.
    before = signal.getsignal(number)
    if before == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
    process = call(*endless, "--out", "out.parquet")
    signal.signal(number, before)
    try:
        while not list(folder.glob(".*.partial.*")):
            assert process.poll() is None, "the join must run until it is stopped"
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == code, err
    assert err.strip().splitlines() == (["interrupted"] if number == signal.SIGINT else [])
    assert not (folder / "out.parquet").exists()
    assert not list(folder.glob(".*.partial.*"))


def test_over_the_budget_ends_with_three(folder: Path) -> None:
    rows = 4_000_000
    keys = pa.table(
        {"k": pa.array(range(rows), pa.int64()), "v": pa.array(range(rows), pa.int64())}
    )
    pyarrow.parquet.write_table(keys, folder / "keys.parquet")
    words = ("join", "keys.parquet", "keys.parquet", "--on", "k", "--memory", "16MiB", "--profile")
    process = call(*words, env={**os.environ, "COLUMNS": "100"})
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "CD-201" in err
    assert "Traceback" not in err


def test_a_closed_reader_is_no_error(folder: Path) -> None:
    process = call(*JOIN, "--json")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    assert process.wait(timeout=20) == 0
