"""Which Python module imports which, and whether that goes downwards (tools/layers.toml).

Every import counts: those inside functions and under TYPE_CHECKING, too, since a module that needs
another's types or calls it later is not below it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

TABLE = "tools/layers.toml"


@dataclass
class PythonLayers:
    folders: list[str] = field(default_factory=list)  # that packages lie in
    layers: list[tuple[str, list[str]]] = field(default_factory=list)  # from the ground up

    @classmethod
    def read(cls, table: dict[str, Any]) -> PythonLayers:
        rows = [(row["name"], row["modules"]) for row in table.get("layer", [])]
        return cls(table.get("folders", []), rows)

    def level_of(self, module: str) -> int | None:
        """Of the layer that names it most closely: a name before a pattern."""
        for is_pattern in (False, True):
            for level, (_, modules) in enumerate(self.layers):
                if any(fnmatchcase(module, one) and ("*" in one) == is_pattern for one in modules):
                    return level
        return None


def module_of(path: str, folders: list[str]) -> str | None:
    """`python/crossdock/ranks/moves.py` -> `crossdock.ranks.moves`; None outside of packages."""
    for folder in folders:
        if path.startswith(folder + "/") and path.endswith((".py", ".pyi")):
            parts = PurePosixPath(path).relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            return ".".join(parts) or None
    return None


def imports(path: str, module: str, text: str, modules: set[str]) -> Iterator[tuple[str, int]]:
    """(module of `modules`, line) of every import of the file."""
    package = module if path.endswith("/__init__.py") else module.rpartition(".")[0]
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return  # ruff and mypy say so better
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            outer = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(outer if node.level else []), *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            target = next((one for one in (name, name.rpartition(".")[0]) if one in modules), None)
            if target and target != module:
                yield target, node.lineno


def findings(table: PythonLayers, sources: list[tuple[str, str]]) -> Iterator[tuple[str, int, str]]:
    """(path, line, message) of what the table does not allow."""
    if not table.layers:
        return
    files = {
        path: (module, text)
        for path, text in sources
        if (module := module_of(path, table.folders)) is not None
    }
    modules = {module for module, _ in files.values()}
    for path, (module, text) in sorted(files.items()):
        level = table.level_of(module)
        if level is None:
            yield path, 1, f"module {module} is in no layer of {TABLE}"
            continue
        targets = sorted(set(imports(path, module, text, modules)), key=lambda one: one[1])
        for target, line in targets:
            above = table.level_of(target)
            if above is None or above <= level:
                continue
            message = (
                f"{module} (layer {table.layers[level][0]}) imports {target} "
                f"(layer {table.layers[above][0]}), which stands above it"
            )
            yield path, line, message
