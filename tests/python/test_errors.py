"""Errors: codes, classes, messages; settings and sizes, whose errors users meet first."""

from __future__ import annotations

import resource
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest
from crossdock import errors, settings, sizes
from crossdock.expressions import evaluation
from crossdock.files import writers
from crossdock.values import streaming


def test_every_code_has_a_public_class_and_codes_are_unique() -> None:
    table = xd.error_table()
    codes = [code for code, _, _ in table]
    assert codes == sorted(set(codes))
    for code, kind, summary in table:
        assert issubclass(getattr(xd, kind), xd.CrossdockError), code
        assert summary


def test_the_parts_of_an_error() -> None:
    error = errors.unknown_column("l_shipmod", ["l_shipmode", "l_tax"], "select()")
    assert error.code == "CD-101"
    assert error.report().splitlines() == [
        "crossdock.ColumnError [CD-101]: no column 'l_shipmod' in select()",
        "  columns  l_shipmode, l_tax",
        "  try      'l_shipmode'",
    ]
    assert str(error) == "[CD-101] " + error.text
    assert type(error).__module__ == "crossdock"


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (xd.ColumnError, LookupError),
        (xd.TypeError, TypeError),
        (xd.OptionError, ValueError),
        (xd.CapacityError, MemoryError),
        (xd.PathError, FileNotFoundError),
    ],
)
def test_errors_are_also_python_s_own(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)


def test_many_columns_are_counted() -> None:
    names = [f"c{i}" for i in range(30)]
    assert "… 18 more" in str(errors.unknown_column("zz", names, "select()"))


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("8GiB", 8 << 30), ("512MB", 512_000_000), ("1.5g", 3 << 29), ("64 KiB", 1 << 16), ("0", 0),
     (1024, 1024), ("10B", 10), ("2T", 2 << 40)],
)  # fmt: skip
def test_sizes(text: str | int, size_bytes: int) -> None:
    assert sizes.parse_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "8 gigs", "-1", "GiB", "1e9", True, -5, None])
def test_bad_sizes(text: str | int) -> None:
    with pytest.raises(xd.OptionError, match=r'try\s+memory="8GiB"'):
        sizes.parse_bytes(text)


@pytest.mark.parametrize(
    ("number_text", "text"),
    [
        (sizes.format_bytes(512), "512 B"),
        (sizes.format_bytes(1536), "1.50 KiB"),
        (sizes.format_bytes(5 << 40), "5.00 TiB"),
        (sizes.format_count(950), "950"),
        (sizes.format_count(6_001_215), "6.00 M"),
        (sizes.format_count(123_456), "123 k"),
        (sizes.format_seconds(3.1), "3.10 s"),
        (sizes.format_seconds(0.0412), "41.2 ms"),
        (sizes.format_seconds(0.00084), "840 µs"),
    ],
)
def test_numbers_as_text(number_text: str, text: str) -> None:
    assert number_text == text


def test_a_flag_wins_over_the_environment_and_that_over_the_default() -> None:
    def resolved(flag: str | None, environment: dict[str, str]) -> tuple[str, str]:
        rows = settings.current_settings({"threads": flag}, environment)
        one = next(row for row in rows if row.name == "threads")
        return one.value, one.origin

    assert resolved("3", {"CROSSDOCK_THREADS": "2"}) == ("3", "flag")
    assert resolved(None, {"CROSSDOCK_THREADS": "2"}) == ("2", "env")
    assert resolved(None, {})[1] == "default"


def test_the_environment_reaches_the_dock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSDOCK_THREADS", "1")
    monkeypatch.setenv("CROSSDOCK_MEMORY", "64MiB")
    with xd.connect() as dock:
        assert (dock.threads, dock.memory_limit_bytes) == (1, 64 << 20)
    with xd.connect(threads=2, memory=1 << 30) as dock:
        assert (dock.threads, dock.memory_limit_bytes) == (2, 1 << 30)


def test_misspelled_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSDOCK_THREDS", "1")
    with pytest.raises(xd.OptionError, match=r"try\s+CROSSDOCK_THREADS"):
        xd.connect()
    monkeypatch.delenv("CROSSDOCK_THREDS")
    monkeypatch.setenv("CROSSDOCK_ZZZ", "1")
    with pytest.warns(UserWarning, match="CROSSDOCK_ZZZ is ignored"):
        xd.connect()


@pytest.mark.parametrize("threads", [-1, "many"])
def test_bad_threads(threads: int) -> None:
    with pytest.raises(xd.OptionError, match="threads"):
        xd.connect(threads=threads)


def test_a_plain_connect_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xd.connect().close()


def test_names_do_not_command_the_terminal(dock: xd.Dock, tmp_path: Path) -> None:
    name = "a\x1b]0;title\x07\r\x9b31m"
    shown = r"a\x1b]0;title\x07\r\x9b31m"
    table = pa.table({name: [1, 2], "b\nc": ["x", "y"], "é 日": [1, 2]})
    path = tmp_path / "x\x1b[2J.parquet"
    pyarrow.parquet.write_table(table, path)
    for rows in (dock.from_arrow(table), dock.read(path)):
        with pytest.raises(xd.ColumnError) as unknown:
            rows.select("ab")
        with pytest.raises(xd.ExpressionError) as refused:
            rows.filter(xd.col(name) + xd.col("b\nc") > 1)
        with pytest.raises(xd.CrossdockError) as native:
            rows.assume_sorted(xd.desc(name)).sort(xd.desc(name)).collect()
        plan = rows.filter(xd.col(name) > 0).join(rows, on=name).explain()
        profile = rows.sort(name).profile().text
        messages = [str(error.value) for error in (unknown, refused, native)]
        messages += [unknown.value.report(), plan, profile, repr(rows), repr(rows.sort(name))]
        for message in messages:
            assert all(c.isprintable() or c == "\n" for c in message), repr(message)
        assert shown in messages[0]
        assert "b\\nc, é 日" in messages[0]
        assert shown in plan
    with pytest.raises(xd.PathError) as nothing:
        dock.read(tmp_path / "y\x1b[2J.parquet")
    assert "\x1b" not in str(nothing.value)


def test_no_memory_for_a_kernel_or_a_file(
    dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"k": [1, 2]})

    def refused(*_: object) -> Iterator[object]:
        raise pa.ArrowMemoryError("malloc of size 160000000 failed")

    monkeypatch.setattr(evaluation, "arithmetic", refused)
    with pytest.raises(xd.CapacityError, match=r"CD-201\] k \+ 1: the system has no more memory"):
        evaluation.evaluate(xd.col("k") + 1, table)
    monkeypatch.setattr(writers, "_row_groups", refused)
    with pytest.raises(xd.CapacityError, match=r"CD-201\] writing 'x.parquet': the system has no"):
        dock.from_arrow(table).write(tmp_path / "x.parquet")
    assert not list(tmp_path.iterdir())


def test_no_thread_for_a_result(dock: xd.Dock, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(streaming._thread, "start_new_thread", refused)
    batches = dock.from_arrow(pa.table({"k": [2, 1]})).sort("k").to_batches()
    with pytest.raises(xd.CapacityError, match="refused to start a thread"):
        next(batches)


AT_A_LIMIT = """
import resource, sys
import numpy as np
import pyarrow as pa
import pyarrow.csv, pyarrow.dataset, pyarrow.parquet
import crossdock as xd

rows = 1_000_000
table = pa.table({"k": np.arange(rows), "v": np.arange(rows) * 1.5})
pyarrow.parquet.write_table(table, sys.argv[1] + "/t.parquet")
pyarrow.csv.write_csv(table.slice(0, 9), sys.argv[1] + "/t.csv")
dock = xd.connect(threads=4, memory="4GiB", ranks="off")
runs = {
    "sort": lambda: dock.from_arrow(table).sort("v").collect(),
    "join": lambda: dock.from_arrow(table).join(table, on="k").collect(),
    "group": lambda: dock.from_arrow(table).group_by("k").agg(n=xd.sum("v")).collect(),
    "fused": lambda: dock.from_arrow(table).sort(xd.col("k") * 2).collect(),
    "stream": lambda: list(dock.from_arrow(table).limit(9).sort("v").to_batches()),
    "read": lambda: dock.read([sys.argv[1] + "/t.csv"] * 2),
    "read many": lambda: dock.read([sys.argv[1] + "/t.parquet"] * 20),
}
# The stack of a thread has 1 GiB here: there is memory enough, but none for another thread.
for name, run in runs.items():
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 500_000_000, -1))
    try:
        run()
        print(name, "ran")
    except xd.CapacityError as error:
        assert error.code == "CD-201" and "try" in error.text, error
    except Exception as error:
        print(name, type(error).__name__, error)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
print("end")
"""


def test_limits_of_the_system_are_no_internal_errors(tmp_path: Path) -> None:
    def large_stacks() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.RLIM_INFINITY))

    ended = subprocess.run(
        [sys.executable, "-c", AT_A_LIMIT, str(tmp_path)],
        capture_output=True, text=True, check=False, preexec_fn=large_stacks,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "end\n"), ended.stderr


def test_errors_name_columns_as_users_see_them() -> None:
    """Columns that a plan adds begin with a mark that no text has."""
    rows = f"(values ({(1 << 63) - 1}), (1)) v(x)"
    with pytest.raises(xd.DataError, match=r"in SQL sum\(x::decimal") as caught:
        xd.sql(f"select sum(x) from {rows}").collect()
    assert "\x01" not in str(caught.value)
    xd.sql(f"select sum(x::decimal(38, 0)) from {rows}").collect()
