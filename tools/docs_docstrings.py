"""How docstrings look on the documentation site: an extension of griffe, named by mkdocs.yml.

A line `name: what it is` becomes an item of a list. What is for modules of this project alone is
left out, and so are constructors that say what to use in their place.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ITEM = re.compile(r"^(\*{0,2}\w+(?:, \w+)*): ")
INTERNAL = re.compile(r"\b[Ff]or modules of this (?:package|project)|^Use `")


def as_markdown(text: str) -> str:
    """Paragraphs of items as lists; lines that go on with an item are part of it."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        item = ITEM.match(line)
        if item:
            if not inside and lines and lines[-1]:
                lines.append("")
            inside = True
            lines.append(f"* **{item[1]}**: {line[item.end() :]}")
        elif inside and line.strip():
            lines.append("    " + line.strip())
        else:
            inside = inside and not line.strip()
            lines.append(line)
    return "\n".join(lines)


class Docstrings(griffe.Extension):
    """Changes the docstrings of all that is loaded."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        for name, member in list(cls.members.items()):
            docstring = None if member.is_alias else member.docstring
            if docstring is not None and INTERNAL.search(docstring.value):
                cls.del_member(name)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
