"""The checkout as tidy.py sees it: text files, their includes, the rooms of tools/layers.toml."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import cpp_scan
from python_layers import PythonLayers

CPP_SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
TEXT_SUFFIXES = CPP_SUFFIXES | {
    ".py",
    ".pyi",
    ".md",
    ".toml",
    ".yaml",
    ".yml",
    ".cmake",
    ".txt",
    ".json",
    ".in",
}
IGNORED_FOLDERS = {".git", ".venv", "build", "dist", "__pycache__", ".cache", ".hypothesis"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.MULTILINE)


def is_ignored(folder: str) -> bool:
    return folder in IGNORED_FOLDERS or folder.endswith(("_cache", ".egg-info"))


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str
    item: str = ""  # what is measured, for the ratchet
    measure: int = 0

    @property
    def key(self) -> str:
        return f"{self.rule} {self.path}{' ' + self.item if self.item else ''}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message} [{self.rule}]"


@dataclass(frozen=True)
class Source:
    path: str  # relative to the root, with forward slashes
    text: str

    @property
    def suffix(self) -> str:
        return Path(self.path).suffix

    @property
    def top(self) -> str:
        return self.path.split("/", 1)[0]

    @property
    def is_cpp(self) -> bool:
        return self.suffix in CPP_SUFFIXES

    @cached_property
    def code(self) -> str:
        return cpp_scan.without_comments(self.text)

    @cached_property
    def code_lines(self) -> list[str]:
        return self.code.split("\n")

    def line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def includes(self) -> Iterator[tuple[str, int]]:
        """(name as it is written, line) of every include."""
        for match in INCLUDE.finditer(self.text):
            line = self.line_of(match.start())
            if self.code_lines[line - 1].lstrip().startswith("#"):  # else it stands in a comment
                yield match.group(2), line


@dataclass(frozen=True)
class Room:
    name: str
    folder: str
    level: int
    may_include: frozenset[str]
    namespace: str = ""


@dataclass
class Tree:
    """The sources of a checkout and the table of rooms, read once."""

    root: Path
    sources: list[Source] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # folders and files that hold nothing
    rooms: list[Room] = field(default_factory=list)
    conditionals_per_thousand: int = 2
    conditionals_free: frozenset[str] = frozenset()
    python_layers: PythonLayers = field(default_factory=PythonLayers)

    @classmethod
    def read(cls, root: Path) -> Tree:
        tree = cls(root)
        for folder, subfolders, files in os.walk(root):
            subfolders[:] = sorted(name for name in subfolders if not is_ignored(name))
            for name in sorted(files):
                tree._take(Path(folder, name))
            if not files and not any(Path(folder).iterdir()):
                tree.empty.append(Path(folder).relative_to(root).as_posix())
        layers = root / "tools" / "layers.toml"
        if layers.exists():
            tree._take_layers(tomllib.loads(layers.read_text(encoding="utf-8")))
        return tree

    def _take(self, path: Path) -> None:
        name = path.relative_to(self.root).as_posix()
        if not path.is_file():
            return
        if path.stat().st_size == 0:
            self.empty.append(name)
        elif path.suffix in TEXT_SUFFIXES:
            text = path.read_text(encoding="utf-8", errors="replace")
            self.sources.append(Source(name, text))

    def _take_layers(self, table: dict[str, Any]) -> None:
        for row in table.get("room", []):
            allowed = frozenset(row["may_include"])
            name, namespace = row["name"], row.get("namespace", "")
            folder = row.get("folder", f"src/{name}")
            self.rooms.append(Room(name, folder, row["level"], allowed, namespace))
        self.python_layers = PythonLayers.read(table.get("python", {}))
        settings = table.get("conditionals", {})
        self.conditionals_per_thousand = settings.get("per_thousand_lines", 2)
        self.conditionals_free = frozenset(settings.get("free_files", []))

    def room_of(self, path: str) -> Room | None:
        rooms = [room for room in self.rooms if path.startswith(room.folder + "/")]
        return max(rooms, key=lambda room: len(room.folder), default=None)

    @cached_property
    def by_path(self) -> dict[str, Source]:
        return {source.path: source for source in self.sources}

    def includes(self, source: Source) -> Iterator[tuple[str, int]]:
        """(path in this tree, line) of every include that leads to a file of the project."""
        for name, line in source.includes():
            beside = Path(source.path).parent
            for folder in ("src", "include", "tests", "python", "bench", beside.as_posix()):
                path = f"{folder}/{name}"
                if path in self.by_path:
                    yield path, line
                    break
