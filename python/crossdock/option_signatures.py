"""Signatures that name what `**options` takes, for help() and editors that ask Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


def showing(defaults: Mapping[str, Any], types: Mapping[str, Any]) -> Callable[[_Method], _Method]:
    """Gives a method, whose last parameter is `**options`, a signature with these in its place.
    types: as annotations of classes have them."""

    def decorate(method: _Method) -> _Method:
        signature = inspect.signature(method)
        *parameters, _ = signature.parameters.values()
        named = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=value,
                annotation=getattr(types[name], "__forward_arg__", types[name]),
            )
            for name, value in defaults.items()
        ]
        method.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*parameters, *named]
        )
        return method

    return decorate
