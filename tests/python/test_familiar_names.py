"""Names that other libraries have: each is refused, with what it is here, which is there."""

from __future__ import annotations

import re
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.familiar_names import (
    FAMILIAR,
    FAMILIAR_OF_DOCKS,
    FAMILIAR_OF_EXPRESSIONS,
    FAMILIAR_OF_GROUPS,
    FAMILIAR_OF_MODULE,
)


@pytest.fixture
def rows(dock: xd.Dock) -> xd.Relation:
    return dock.from_arrow(pa.table({"a": [3, 1, 2], "b": [10, 20, 30]}))


def assert_answered(refuser: Any, name: str, ours: str, owner: Any) -> None:
    assert not hasattr(refuser, name)
    with pytest.raises(AttributeError, match="here it is ") as raised:
        getattr(refuser, name)
    first = re.split(r"[( ]", ours)[0]
    assert hasattr(xd if first.startswith("xd.") else owner, first.removeprefix("xd.")), (
        f"{raised.value} names {first}, which is not there"
    )


@pytest.mark.parametrize("name", sorted(FAMILIAR))
def test_of_relations(rows: xd.Relation, name: str) -> None:
    assert_answered(rows, name, FAMILIAR[name], rows)


@pytest.mark.parametrize("name", sorted(FAMILIAR_OF_EXPRESSIONS))
def test_of_expressions(name: str) -> None:
    assert_answered(xd.col("a"), name, FAMILIAR_OF_EXPRESSIONS[name], xd.Expr)


@pytest.mark.parametrize("name", sorted(FAMILIAR_OF_GROUPS))
def test_of_groups(rows: xd.Relation, name: str) -> None:
    groups = rows.group_by("a")
    owner = groups if FAMILIAR_OF_GROUPS[name].startswith("agg") else rows
    assert_answered(groups, name, FAMILIAR_OF_GROUPS[name], owner)


@pytest.mark.parametrize("name", sorted(FAMILIAR_OF_DOCKS))
def test_of_docks(dock: xd.Dock, name: str) -> None:
    assert_answered(dock, name, FAMILIAR_OF_DOCKS[name], dock)


@pytest.mark.parametrize("name", sorted(FAMILIAR_OF_MODULE))
def test_of_the_module(name: str) -> None:
    assert_answered(xd, name, FAMILIAR_OF_MODULE[name], xd)


def test_other_names_are_plain_errors(dock: xd.Dock, rows: xd.Relation) -> None:
    with pytest.raises(AttributeError, match=r"^a relation has no frobnicate$"):
        rows.frobnicate  # noqa: B018
    with pytest.raises(AttributeError, match=r"^a dock has no frobnicate$"):
        dock.frobnicate  # noqa: B018
    ours = r"^an expression has no sinh; xd\.sql_expr\('sinh\(x\)'\) takes functions of SQL$"
    with pytest.raises(AttributeError, match=ours):
        xd.col("a").sinh  # noqa: B018


def test_columns_are_no_attributes(rows: xd.Relation) -> None:
    with pytest.raises(AttributeError, match=r"^a relation has no b; here it is xd\.col\('b'\)$"):
        rows.b  # noqa: B018


@pytest.mark.parametrize(
    ("use", "ours"),
    [
        (lambda r: r["a"], r"xd\.col\('a'\) in an expression, select\('a'\)"),
        (lambda r: r[["a", "b"]], r"select\(\.\.\.\)"),
        (lambda r: r[xd.col("a") > 1], r"filter\(a > 1\)"),
        (lambda r: r[:2], r"limit\(n, offset\)"),
        (list, r"collect\(\)\.to_pylist\(\)"),
        (lambda r: "a" in r, r"collect\(\)"),
    ],
)
def test_relations_have_no_items(rows: xd.Relation, use: Any, ours: str) -> None:
    with pytest.raises(TypeError, match=f"a relation has no items; here it is .*{ours}"):
        use(rows)
