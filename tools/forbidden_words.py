"""The words that GLOSSARY.md says are not used, counted by folder: those that stand nowhere, and
those that name nothing in code.

What is there today stands in the ratchet, so that a folder may lose such words and never gain them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from source_tree import Finding, Source

FOLDERS = {"docs", "python", "cli", "src", "include", "tests", "bench", "examples", "tools"}
# Files that name the words, and what was true when it was written.
FREE = {
    "GLOSSARY.md",
    "CHANGELOG.md",
    "tests/tools/test_tidy.py",
    "tools/tidy_ratchet.toml",
}
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def words_of(glossary: str, heading: str) -> dict[str, str]:
    """Word -> what is written instead, from the table below that heading of the glossary."""
    table = glossary.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [match.groups() for match in ROW.finditer(table) if match[1] not in ("not", "---")]
    return {word.strip(): instead for words, instead in rows for word in words.split(",")}


def findings(sources: list[Source], glossary: str) -> Iterator[Finding]:
    """One for each word of each folder that has it; root documents are the folder `.`."""
    instead = words_of(glossary, "Words that are not used")
    if not instead:
        return
    pattern = re.compile(rf"(?<![A-Za-z])({'|'.join(instead)})(?![A-Za-z])", re.IGNORECASE)
    counts: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], str] = {}
    for source in sources:
        folder = source.top if "/" in source.path else "."
        is_counted = folder in FOLDERS or (folder == "." and source.suffix == ".md")
        if not is_counted or source.path in FREE or "golden" in source.path.split("/"):
            continue
        for match in pattern.finditer(source.text):
            key = (folder, match[1].lower())
            counts[key] += 1
            places[key] = f"{source.path}:{source.line_of(match.start())}"
    for (folder, word), count in counts.items():
        message = (
            f"{count} times `{word}`, the last at {places[folder, word]}; "
            f"write: {instead[word]} (GLOSSARY.md)"
        )
        yield Finding(folder, 1, "word", message, word, count)


def room_of(path: str) -> str:
    """The folder that a file is counted in: each room of sources and of tests alone."""
    parts = path.split("/")
    depth = {"src": 2, "tests": 2, "python": 3}.get(parts[0], 1)
    return "/".join(parts[: min(depth, len(parts) - 1)])


def python_names(text: str) -> Iterator[tuple[str, int]]:
    """(name, line) of everything that Python code gives a name to."""
    try:
        module = ast.parse(text)
    except SyntaxError:
        return  # ruff and mypy say so better
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def vague_names(sources: list[Source], glossary: str) -> Iterator[Finding]:
    """One for each such name of each room that has it; C++ counts each time that it is written,
    and members (`found_`) and types (`Found`), too."""
    instead = words_of(glossary, "Words that name nothing")
    if not instead:
        return
    names = [*instead, *(word.capitalize() for word in instead)]
    pattern = re.compile(rf"\b({'|'.join(names)})_?\b")
    counts: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], str] = {}
    for source in sources:
        if source.top not in FOLDERS or source.path in FREE:
            continue
        if source.is_cpp:
            code = source.code
            named = [
                (match[1].lower(), source.line_of(match.start()))
                for match in pattern.finditer(code)
            ]
        elif source.suffix == ".py":
            named = [(name, line) for name, line in python_names(source.text) if name in instead]
        else:
            continue
        for name, line in named:
            key = (room_of(source.path), name)
            counts[key] += 1
            places[key] = f"{source.path}:{line}"
    for (room, name), count in counts.items():
        message = (
            f"{count} times the name `{name}`, the last at {places[room, name]}; "
            f"write: {instead[name]} (GLOSSARY.md)"
        )
        yield Finding(room, 1, "name", message, name, count)
