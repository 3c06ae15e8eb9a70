"""Expressions: their trees, their text, and what they evaluate to."""

from __future__ import annotations

import datetime
from decimal import Decimal

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.evaluation import evaluate, keep_rows, result_type
from crossdock.expressions import conjuncts, is_simple, rename_columns

ROWS = pa.table(
    {
        "i": pa.array([1, 2, None, 4], pa.int64()),
        "j": pa.array([4, 2, 3, None], pa.int32()),
        "f": [0.5, 1.5, 2.5, None],
        "s": ["a", "b", None, "d"],
        "v": pa.array(["a", "b", None, "d"], pa.string_view()),
        "e": pa.array(["a", "b", None, "d"]).dictionary_encode(),
        "d": pa.array([Decimal("1.10"), Decimal("2.20"), None, Decimal("4.40")]),
        "t": pa.array([datetime.date(2020, 1, day) for day in (1, 2, 3, 4)]),
        "b": [True, False, None, True],
    }
)
col = xd.col


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("i") > 1, [False, True, None, True]),
        (col("i") >= col("j"), [False, True, None, None]),
        (col("i") == 2, [False, True, None, False]),
        (col("i") != 2, [True, False, None, True]),
        (3 > col("i"), [True, True, None, False]),  # noqa: SIM300
        (col("i") + 1, [2, 3, None, 5]),
        (10 - col("i"), [9, 8, None, 6]),
        (col("i") * col("j"), [4, 4, None, None]),
        (col("i") / 2, [0.5, 1.0, None, 2.0]),
        (1 / col("f"), [2.0, 1 / 1.5, 0.4, None]),
        (-col("i"), [-1, -2, None, -4]),
        (col("s") == "b", [False, True, None, False]),
        (col("v") == "b", [False, True, None, False]),
        (col("e") == "b", [False, True, None, False]),
        (col("v").is_in(["a", "d"]), [True, False, None, True]),
        (col("e").is_in(["a", "d"]), [True, False, None, True]),
        (col("i").is_in([1, None]), [True, False, None, False]),
        (col("i").is_null(), [False, False, True, False]),
        (col("i").is_not_null(), [True, True, False, True]),
        (col("d") > 2, [False, True, None, True]),
        (col("d") * 2 > 4, [False, True, None, True]),
        (col("d") < 2.5, [True, True, None, False]),
        (col("t") >= "2020-01-03", [False, False, True, True]),
        (~(col("i") > 1), [True, False, None, False]),
        ((col("i") > 1) & (col("f") > 2), [False, False, None, None]),
        ((col("i") > 1) | (col("f") > 2), [False, True, True, True]),
        (col("b") & True, [True, False, None, True]),
        (col("i").cast("string"), ["1", "2", None, "4"]),
        (col("i").cast(pa.float32()), [1.0, 2.0, None, 4.0]),
        (xd.lit(7), [7, 7, 7, 7]),
        (xd.lit(None).is_null(), [True] * 4),
    ],
    ids=repr,
)
def test_values(expression: xd.Expr, expected: list[object]) -> None:
    assert evaluate(expression, ROWS).to_pylist() == expected
    batch = ROWS.combine_chunks().to_batches()[0]
    assert evaluate(expression, batch).to_pylist() == expected
    assert result_type(expression, ROWS.schema) == evaluate(expression, ROWS).type


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (col("a") > 3, "a > 3"),
        ((col("a") + 1) * 2 == col("b"), "((a + 1) * 2) == b"),
        (~(col("a").is_null()), "~(a.is_null())"),
        (col("a").is_in(["x"]) & (col("b") <= "y"), "(a.is_in(('x',))) & (b <= 'y')"),
        (-col("a").cast("int64"), "-(a.cast(int64))"),
    ],
)
def test_text(expression: xd.Expr, text: str) -> None:
    assert repr(expression) == text


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(xd.ExpressionError, match="no truth value"):
        bool(col("a") > 1 and col("b") > 2)
    with pytest.raises(xd.ExpressionError, match="no truth value"):
        bool(1 < col("a") < 3)


def test_overflow_and_division_are_errors_and_no_wraps() -> None:
    rows = pa.table({"x": pa.array([2**62], pa.int64())})
    with pytest.raises(xd.ExpressionError, match="overflow"):
        evaluate(col("x") * 4, rows)
    with pytest.raises(xd.ExpressionError, match="cannot be evaluated"):
        evaluate(xd.lit("a").cast("int64"), rows)


def test_a_refused_expression_names_columns_and_types() -> None:
    with pytest.raises(xd.ExpressionError, match=r"i: int64") as caught:
        evaluate(col("i") == "text", ROWS)
    assert caught.value.code == "CD-504"


@pytest.mark.parametrize(
    ("expression", "simple"),
    [
        (col("a") > 3, True),
        (col("a") == col("b"), True),
        (col("a").is_null() | ~col("b").is_in([1]), True),
        (col("a") + 1 > 3, False),
        (col("a"), False),
        (col("a").cast("int64") == 1, False),
    ],
)
def test_what_is_simple(expression: xd.Expr, simple: bool) -> None:
    assert is_simple(expression) == simple


def test_conjuncts_and_renames() -> None:
    whole = (col("a") > 1) & ((col("b") > 2) & (col("c") > 3))
    assert [repr(part) for part in conjuncts(whole)] == ["a > 1", "b > 2", "c > 3"]
    assert repr(rename_columns(col("a") + col("b") > 1, {"a": "x"})) == "(x + b) > 1"
    assert whole.columns() == {"a", "b", "c"}


def test_keep_rows_keeps_types() -> None:
    kept = keep_rows(ROWS, col("i") > 1)
    assert kept.schema == ROWS.schema
    assert kept["v"].to_pylist() == ["b", "d"]
    assert kept["e"].to_pylist() == ["b", "d"]
