"""Options refuse what they cannot be, at once and with a next step."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock import col
from crossdock.option_checks import require_type

Write = Callable[[xd.Relation], object]

REFUSED: tuple[tuple[str, Write], ...] = (
    ("sum(wide='no')", lambda r: xd.sum("k", wide="no")),  # type: ignore[arg-type]
    ("sum(wide=1)", lambda r: xd.sum("k", wide=1)),  # type: ignore[arg-type]
    ("floats=True", lambda r: xd.mean("k", floats=True)),  # type: ignore[arg-type]
    ("ddof=-1", lambda r: xd.var("k", ddof=-1)),
    ("ddof=True", lambda r: xd.stddev("k", ddof=True)),
    ("2^63 - 1", lambda r: xd.var("k", ddof=2**70)),
    ("q=2", lambda r: xd.quantile("k", 2)),
    ("nulls='lst'", lambda r: xd.desc("k", nulls="lst")),
    ("sort(stable='no')", lambda r: r.sort("k", stable="no")),  # type: ignore[arg-type]
    ("arg_sort(stable=0)", lambda r: r.arg_sort("k", stable=0)),  # type: ignore[arg-type]
    ("sort(offset=...) takes a number of rows, not -1", lambda r: r.sort("k", offset=-1)),
    ("sort(offset=...) takes a number of rows, not True", lambda r: r.sort("k", offset=True)),
    ("join(null_equals_null='no')", lambda r: r.join(r, on="k", null_equals_null="no")),
    ("partition_bits=...) takes a number of bits, not 'x'",
     lambda r: r.join(r, on="k", partition_bits="x")),
    ("batch_rows=...) takes a number of rows, not -1", lambda r: r.join(r, on="k", batch_rows=-1)),
    ("join(suffix=...) takes a text, not 1",
     lambda r: r.join(r, on="k", suffix=1)),  # type: ignore[arg-type]
    ("on=1 names no key columns", lambda r: r.join(r, on=1)),  # type: ignore[arg-type]
    ("on=[1] names no key columns", lambda r: r.join(r, on=[1])),  # type: ignore[list-item]
    ("on=[('k', 1)] names no", lambda r: r.join(r, on=[("k", 1)])),  # type: ignore[list-item]
    ("explain(read='no')", lambda r: r.explain(read="no")),  # type: ignore[arg-type]
    ("explain(read=1)", lambda r: r.partition_by("k").explain(read=1)),  # type: ignore[arg-type]
    ("write(overwrite='no')",
     lambda r: r.write("x.parquet", overwrite="no")),  # type: ignore[arg-type]
    ("show(rows) takes a number of rows, not -1", lambda r: r.show(-1)),
    ("rename() takes a text, not 1", lambda r: r.rename({"k": 1})),  # type: ignore[dict-item]
    ("col() takes a text, not 1", lambda r: col(1)),  # type: ignore[arg-type]
    ("like() takes a text, not None", lambda r: col("t").like(None)),  # type: ignore[arg-type]
    ("starts_with() takes a text, not t",
     lambda r: col("t").starts_with(col("t"))),  # type: ignore[arg-type]
    ("ends_with() takes a text, not 1", lambda r: col("t").ends_with(1)),  # type: ignore[arg-type]
    ("contains() takes a text, not 1", lambda r: col("t").contains(1)),  # type: ignore[arg-type]
    ("strip() takes a text, not 1", lambda r: col("t").strip(1)),  # type: ignore[arg-type]
    ("is_in() takes a list of values, not 'xy'", lambda r: col("t").is_in("xy")),
    ("is_in() takes a list of values, not 3", lambda r: col("k").is_in(3)),  # type: ignore[arg-type]
    ("round() takes a number of digits, not 1.5",
     lambda r: col("k").round(1.5)),  # type: ignore[arg-type]
    ("not 'int46'\n  try      'int64'", lambda r: col("k").cast("int46")),
    ("cast() takes an Arrow type, not 3", lambda r: col("k").cast(3)),
    ("compression='zst'", lambda r: r.write_parquet("x.parquet", compression="zst")),
)  # fmt: skip


@pytest.fixture
def rows(dock: xd.Dock) -> xd.Relation:
    return dock.from_arrow(pa.table({"k": [1, 2, 3], "t": ["x", "y", None], "f": [0.5, 1.5, 2.5]}))


@pytest.mark.parametrize(("words", "write"), REFUSED, ids=[words for words, _ in REFUSED])
def test_refused_with_a_next_step(rows: xd.Relation, words: str, write: Write) -> None:
    with pytest.raises(xd.OptionError) as caught:
        write(rows)
    assert words in str(caught.value)
    assert "\n  try " in str(caught.value) or "\n  forms " in str(caught.value)


def test_integers_of_every_kind_and_lists_of_every_kind_are_taken(rows: xd.Relation) -> None:
    numpy = pytest.importorskip("numpy")
    assert repr(xd.var("k", ddof=numpy.int64(0))) == "var(k, ddof=0)"
    assert rows.sort("k", offset=numpy.int32(1)).count() == 2
    for values in ([1, 2], {1, 2}, numpy.array([1, 2]), range(1, 3), pa.array([1, 2])):
        assert rows.filter(col("k").is_in(values)).count() == 2, type(values)


def test_an_option_that_would_be_ignored(rows: xd.Relation) -> None:
    with pytest.raises(xd.TypeError, match=r"sum\(f, wide=True\) needs integers(.|\n)*exact"):
        rows.agg(s=xd.sum("f", wide=True))
    with pytest.raises(xd.ExpressionError, match=r"is_in\(\) takes values(.|\n)*try"):
        col("k").is_in([col("k")])
    with pytest.raises(xd.ExpressionError, match="not bool"):
        rows.join(rows, on="k", residual="t")  # type: ignore[arg-type]


def test_options_of_csv(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1;2\n")
    result = dock.read_csv(path, delimiter=";", types={"a": "int8", "b": pa.string()})
    assert [str(field.type) for field in result.schema] == ["int8", "string"]
    for delimiter in (";;", "", "é", 1):
        with pytest.raises(xd.OptionError, match=r"is not one ASCII character(.|\n)*try"):
            dock.read_csv(path, delimiter=delimiter)  # type: ignore[arg-type]
    with pytest.raises(xd.OptionError, match=r"types\['a'\] takes an Arrow type(.|\n)*'int8'"):
        dock.read_csv(path, delimiter=";", types={"a": "int9"})
    with pytest.raises(xd.ColumnError, match=r"no column 'c' in types="):
        dock.read_csv(path, delimiter=";", types={"c": "int8"})


@pytest.mark.parametrize(
    ("name", "expected"),
    [("timestamp[us, tz=Europe/Berlin]", pa.timestamp("us", "Europe/Berlin")),
     ("timestamp[ns,tz=UTC]", pa.timestamp("ns", "UTC")),
     ("decimal128(9, 2)", pa.decimal128(9, 2))],
)  # fmt: skip
def test_types_are_written_as_arrow_shows_them(name: str, expected: pa.DataType) -> None:
    assert require_type(name, "cast()") == expected
    assert require_type(str(expected), "cast()") == expected


@pytest.mark.parametrize(
    ("given", "proposed"), [("varchar", "'string'"), (str, "'string'"), ("BIGINT", "'int64'"),
                            (float, "'float64'"), ("timestamptz", "'timestamp[us, tz=UTC]'")]
)  # fmt: skip
def test_other_names_of_types_are_proposed(given: object, proposed: str) -> None:
    with pytest.raises(xd.OptionError, match=re.escape(proposed)):
        require_type(given, "types['a']")  # type: ignore[arg-type]
