"""The reference of C++ for the documentation site, read from the public headers.

Each declaration of namespace crossdock is shown with the comment above it; types as they are
written, without what is private. Headers are formatted by clang-format, which this relies on:
namespaces stand unindented, and a declaration ends with `;` or `}` at no depth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

NAMESPACE = re.compile(r"^namespace (crossdock|xd) \{$(.*?)^\}  // namespace \1$", re.M | re.S)
TEMPLATE = re.compile(r"^template <[^>]*>\n", re.M)
TYPE = re.compile(r"^(?:class|struct|enum class)\s+(\w+)", re.M)
ALIAS = re.compile(r"^using (\w+) =", re.M)
CALL = re.compile(r"([\w:~]+|operator\s*\S+)\s*\(")
CONSTANT = re.compile(r"(\w+)\s*(?:=|\{)")


@dataclass(frozen=True)
class Declaration:
    name: str
    comment: str
    code: str


def head_of(text: str) -> str:
    """The comment that a header opens with: prose, and code where lines are indented."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    return prose("\n".join(lines))


def prose(comment: str) -> str:
    """A comment as Markdown: what is indented becomes code, and no sign is read as markup."""
    parts = []
    for block in re.split(r"\n(?:[ \t]*\n)+", comment.strip("\n")):
        rows = block.split("\n")
        if all(row.startswith("  ") for row in rows if row):
            code = "\n".join(row.removeprefix("  ") for row in rows)
            parts.append(f"```cpp\n{code}\n```")
        else:
            joined = re.sub(r"\n(?=  )", "  \n", block)
            spans = joined.split("`")
            spans[::2] = [re.sub(r"([*_<>\[\]])", r"\\\1", span) for span in spans[::2]]
            parts.append("`".join(spans))
    return "\n\n".join(parts)


def without_private(code: str) -> str:
    """A type without its private members."""
    kept, is_shown = [], True
    for line in code.split("\n"):
        if re.match(r"^ (?:private|protected):$", line):
            is_shown = False
        elif re.match(r"^ public:$", line) or line.startswith("}"):
            is_shown = True
        if is_shown:
            kept.append(line)
    text = re.sub(r"\n+(\};?)$", r"\n\1", "\n".join(kept))
    return re.sub(r"\n{3,}", "\n\n", text)


def name_of(code: str) -> str:
    code = TEMPLATE.sub("", code)
    for pattern in (TYPE, ALIAS, CALL, CONSTANT):
        if (match := pattern.search(code)) is not None:
            return match[1]
    return ""


def declarations(body: str) -> list[Declaration]:
    """Of what stands between the braces of a namespace."""
    result: list[Declaration] = []
    comment: list[str] = []
    code: list[str] = []
    depth = 0
    for line in body.split("\n"):
        if not code and not line.strip():
            comment = []
        elif not code and line.startswith("//"):
            comment.append(line.removeprefix("//").removeprefix(" "))
        else:
            code.append(line)
            plain = re.sub(r"//.*", "", line)
            depth += sum(map(plain.count, "{(")) - sum(map(plain.count, "})"))
            if depth == 0 and plain.rstrip().endswith((";", "}")):
                text = "\n".join(code)
                is_forward = re.fullmatch(r"(?:class|struct) \w+;", text.strip()) is not None
                if not is_forward:
                    shown = without_private(text)
                    result.append(Declaration(name_of(text), "\n".join(comment), shown))
                comment, code = [], []
    return result


def page(root: Path) -> str:
    headers = sorted((root / "include" / "crossdock").rglob("*.*h*"))
    parts = [
        "# C++\n\nThe public headers, as they are installed. `#include <crossdock/crossdock.hpp>` "
        "has all but those of devices. Examples: [a join](../examples/01-join/README.md), "
        "[a query](../examples/05-query/README.md).\n"
    ]
    for header in headers:
        text = header.read_text(encoding="utf-8")
        name = header.relative_to(root / "include").as_posix()
        parts.append(f"\n## {name}\n\n{head_of(text)}\n\n[The header](../include/{name})\n")
        for _, body in NAMESPACE.findall(text):
            for one in declarations(body):
                parts.append(f"\n### {one.name}\n\n")
                parts.append(f"{prose(one.comment)}\n\n" if one.comment else "")
                parts.append(f"```cpp\n{one.code}\n```\n")
    return "".join(parts)
