"""The words that GLOSSARY.md says are not used, counted by folder.

What is there today stands in the ratchet, so that a folder may lose such words and never gain them.
"""

from __future__ import annotations

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


def words_of(glossary: str) -> dict[str, str]:
    """Word -> what is written instead, from the last table of the glossary."""
    _, _, table = glossary.partition("## Words that are not used")
    rows = [match.groups() for match in ROW.finditer(table) if match[1] not in ("not", "---")]
    return {word.strip(): instead for words, instead in rows for word in words.split(",")}


def findings(sources: list[Source], glossary: str) -> Iterator[Finding]:
    """One for each word of each folder that has it; root documents are the folder `.`."""
    instead = words_of(glossary)
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
