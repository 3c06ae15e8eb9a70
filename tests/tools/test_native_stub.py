"""The hand-written types of the compiled modules name what these have, and nothing else.

mypy's stubtest does not know nanobind's function objects, so names and parameters are compared
here, the parameters from the signatures that nanobind keeps with each function.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import ChainMap
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("crossdock._native")
FOLDER = Path(__file__).resolve().parents[2] / "python" / "crossdock"
MODULES = ("_native", "_control")

# Members: name -> the parameters' names, or None for a property or an attribute.
Members = dict[str, list[str] | None]


def is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__" or name.startswith("__arrow_")


def of_stub(body: list[ast.stmt]) -> Members:
    result: Members = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and is_public(node.name):
            decorators = {getattr(decorator, "id", "") for decorator in node.decorator_list}
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            names = [argument.arg for argument in arguments if argument.arg != "self"]
            result[node.name] = None if "property" in decorators else names
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            result[node.target.id] = None
    return result


def parameters(function: object) -> list[str] | None:
    """The parameters' names of a nanobind function; None for anything else."""
    signatures = getattr(function, "__nb_signature__", None)
    if not signatures:
        return None
    parsed = ast.parse(re.sub(r"\\\d+", "None", signatures[0][0]) + ": ...").body[0]
    assert isinstance(parsed, ast.FunctionDef)
    arguments = [*parsed.args.posonlyargs, *parsed.args.args, *parsed.args.kwonlyargs]
    return [argument.arg for argument in arguments if argument.arg != "self"]


def of_object(holder: object) -> Members:
    names = [name for name in vars(holder) if is_public(name)]
    values = {name: getattr(holder, name) for name in names}
    return {
        name: parameters(value) for name, value in values.items() if not isinstance(value, type)
    }


@cache
def stub(module: str) -> ast.Module:
    return ast.parse((FOLDER / f"{module}.pyi").read_text(encoding="utf-8"))


def stub_classes(module: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in stub(module).body if isinstance(node, ast.ClassDef)}


def of_class(module: str, name: str) -> Members:
    """The members of a class and of the private classes it is derived from."""
    described = stub_classes(module)[name]
    bases = [base.id for base in described.bases if isinstance(base, ast.Name)]
    inherited = [of_class(module, base) for base in bases if not is_public(base)]
    return dict(ChainMap(of_stub(described.body), *inherited))


def public_classes(module: str) -> list[str]:
    return [name for name in stub_classes(module) if is_public(name)]


def built_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"crossdock.{name}")
    except ModuleNotFoundError:
        pytest.skip(f"crossdock.{name} was not built")


@pytest.mark.parametrize("module", MODULES)
def test_the_functions_agree(module: str) -> None:
    assert of_stub(stub(module).body) == of_object(built_module(module))


@pytest.mark.parametrize("module", MODULES)
def test_the_classes_agree(module: str) -> None:
    members = vars(built_module(module)).items()
    built = {name for name, value in members if isinstance(value, type)}
    assert set(public_classes(module)) == {name for name in built if is_public(name)}


@pytest.mark.parametrize(
    ("module", "name"),
    [(m, n) for m in MODULES for n in public_classes(m) if not n.endswith("Error")],
)
def test_the_members_agree(module: str, name: str) -> None:
    described = of_class(module, name)
    built = of_object(getattr(built_module(module), name))
    if "__init__" not in described:  # made by the engine only
        built.pop("__init__", None)
    assert described == built
