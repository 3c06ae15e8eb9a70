"""The functions of lists and structs that expressions have as methods. nested_kernels.py computes
them with pyarrow: the engine has no nested columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossdock.expressions.functions import Functions
from crossdock.option_checks import require_integer, require_text

if TYPE_CHECKING:
    from crossdock.expressions.expression import Expr


class NestedFunctions(Functions):
    """Functions of lists, whose elements are counted from 0, and of structs."""

    __slots__ = ()

    def list_length(self) -> Expr:
        """The number of elements, NULL among them: int64."""
        return self._called("list_length")

    def list_element(self, index: int) -> Expr:
        """The element at `index`, counted from the end where that is below 0; NULL where a list has
        none there."""
        index = require_integer(index, "list_element() takes a place", "list_element(0)")
        return self._called("list_element", index)

    def list_contains(self, value: object) -> Expr:
        """True where an element equals `value`. NULL equals nothing."""
        return self._called("list_contains", value)

    def field(self, name: str) -> Expr:
        """A field of a struct; NULL where the struct is."""
        return self._called("field", require_text(name, "field()", "'city'"))
