"""Reads the text of --where into an expression: Python's syntax for comparisons, nothing that runs.

l_quantity > 10 and o_orderpriority == '1-URGENT'
o_orderdate >= '1995-01-01' and l_shipmode in ['AIR', 'RAIL'] and l_comment is not None
"""

from __future__ import annotations

import ast
import operator
from typing import Any

import click
import crossdock as xd

_COMPARE: dict[type[ast.cmpop], Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: dict[type[ast.operator], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def parse_predicate(text: str) -> xd.Expr:
    """The expression that `text` says; click.UsageError with the reason where it says none."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        hint = " Equality is ==." if "=" in text and "==" not in text else ""
        raise click.UsageError(f"--where {text!r}: {error.msg}.{hint}") from None
    return xd.lit(_read(tree.body, text))


def _read(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Name):
        return xd.col(node.id)
    if isinstance(node, ast.Constant):
        return xd.lit(node.value)
    if isinstance(node, ast.Compare):
        return _comparison(node, text)
    if isinstance(node, ast.BoolOp):
        parts = [_read(value, text) for value in node.values]
        join = operator.and_ if isinstance(node.op, ast.And) else operator.or_
        whole = parts[0]
        for part in parts[1:]:
            whole = join(whole, part)
        return whole
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_read(node.operand, text)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _negative(_read(node.operand, text), node)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_read(node.left, text), _read(node.right, text))
    raise _unknown(node, text)


def _negative(value: Any, node: ast.UnaryOp) -> Any:
    if isinstance(node.operand, ast.Constant):
        return xd.lit(-node.operand.value)  # type: ignore[operator]
    return -value


def _comparison(node: ast.Compare, text: str) -> Any:
    sides = [node.left, *node.comparators]
    whole: Any = None
    for left, operation, right in zip(sides, node.ops, sides[1:], strict=False):
        part = _one_comparison(left, operation, right, text)
        whole = part if whole is None else whole & part
    return whole


def _one_comparison(left: ast.expr, operation: ast.cmpop, right: ast.expr, text: str) -> Any:
    subject = _read(left, text)
    if isinstance(operation, ast.In | ast.NotIn):
        if not isinstance(right, ast.List | ast.Tuple | ast.Set):
            raise _unknown(right, text)
        values = [_constant(element, text) for element in right.elts]
        found = subject.is_in(values)
        return found if isinstance(operation, ast.In) else ~found
    if isinstance(operation, ast.Is | ast.IsNot):
        if not (isinstance(right, ast.Constant) and right.value is None):
            raise _unknown(right, text)
        return subject.is_null() if isinstance(operation, ast.Is) else subject.is_not_null()
    return _COMPARE[type(operation)](subject, _read(right, text))


def _constant(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _unknown(node, text) from None


def _unknown(node: ast.expr, text: str) -> click.UsageError:
    part = ast.get_source_segment(text.strip(), node) or text
    return click.UsageError(
        f"--where does not take {part!r}. It takes columns, numbers, 'text', "
        "== != < <= > >=, + - * /, in [...], is None, and, or, not."
    )
