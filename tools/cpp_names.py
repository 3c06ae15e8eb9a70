"""What C++ text defines at namespace level, and which names of it mean two things.

Two types of one name in one namespace are undefined behaviour as soon as both are linked: the
linker keeps one destructor for both. Two functions of one name in two rooms are one step from it.

A brace scanner like cpp_scan.py, and as silent about what it does not recognise. What stands in an
unnamed namespace, and what is `static`, belongs to its file and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import cpp_scan

_NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\b\s*([\w:]*)\s*$")
_TYPE = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
    r"(?:alignas\s*\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*"
    r"(\w+)\s*(?:final\s*)?(?::(?!:).*)?$",
    re.DOTALL,
)
_ALIAS = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?(?:using\s+(\w+)\s*=|typedef\b.*?(\w+)\s*$)", re.DOTALL
)
# CUDA's __launch_bounds__, and what stands for it.
_ATTRIBUTE = re.compile(r"\b(?:__\w+__|CD_LAUNCH_BOUNDS)\s*\((?:[^()]|\([^()]*\))*\)")
_INLINE = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?inline\b[^()]*?(\w+)\s*(?:\[[^\]]*\]\s*)?(?:=.*)?$", re.DOTALL
)
_SPACES = re.compile(r"\s+")
_LAST_WORD = re.compile(r"(?<=[\w>&*\]])\s+\w+$|(?<=[&*])\w+$")


@dataclass(frozen=True)
class Definition:
    namespace: str  # "crossdock::rings"
    name: str
    line: int
    parameters: str | None  # of a function, their types, normalised


def parameter_types(inside: str) -> str:
    """The parameters' types as text, without names, defaults and superfluous blanks."""
    parts: list[str] = []
    depth = 0
    for letter in inside:
        if letter in "(<[{":
            depth += 1
        elif letter in ")>]}":
            depth -= 1
        if letter == "," and depth == 0:
            parts.append("")
            continue
        if not parts:
            parts.append("")
        parts[-1] += letter
    types = []
    for part in parts:
        text = _SPACES.sub(" ", re.split(r"(?<![<>=!])=(?!=)", part)[0]).strip()
        text = _LAST_WORD.sub("", text)
        types.append(re.sub(r"\s*([&*<>,:])\s*", r"\1", text).strip())
    return ", ".join(one for one in types if one and one != "void")


def _definition(head: str, namespace: str, line: int) -> Definition | None:
    """What a `{` after this head begins to define, if it has a name that others see."""
    head = _ATTRIBUTE.sub("", head)
    parameters = cpp_scan.parameter_list(head)
    if parameters is None:
        named = _TYPE.search(head) or _INLINE.match(head)
        return Definition(namespace, named.group(1), line, None) if named else None
    name, start, end = parameters
    before = head[:start].rstrip().removesuffix(name).rstrip()
    if before.endswith("::") or re.search(r"\bstatic\b", before):
        return None  # a member, or the file's own
    if cpp_scan.assigns(head[:start]) and not name.startswith("operator"):
        named = _INLINE.match(head)
        return Definition(namespace, named.group(1), line, None) if named else None
    return Definition(namespace, name, line, parameter_types(head[start + 1 : end]))


def definitions(text: str) -> Iterator[Definition]:
    """In the order of the text, with the line that each begins at."""
    code = cpp_scan.without_directives(cpp_scan.without_comments(text))
    scopes: list[str | None] = []  # a namespace's name, or None for what is none
    line = 1
    head = ""
    head_line = 1
    for letter in code:
        if letter == "\n":
            line += 1
        inside = None in scopes or "" in scopes
        if letter == "{":
            space = _NAMESPACE.match(head)
            extern = re.fullmatch(r'\s*extern\s*" *"\s*', head)
            if not inside and not space and not extern:
                where = "::".join(one for one in scopes if one and one != "extern")
                defined = _definition(head, where, head_line)
                if defined:
                    yield defined
            scopes.append(space.group(1) if space else "extern" if extern else None)
            head = ""
        elif letter == "}":
            if scopes:
                scopes.pop()
            head = ""
        elif letter == ";" and head.count("(") == head.count(")"):
            named = _ALIAS.match(head) or _INLINE.match(head)
            if named and not inside:
                where = "::".join(one for one in scopes if one and one != "extern")
                yield Definition(where, next(filter(None, named.groups())), head_line, None)
            head = ""
        elif not inside:
            if not head.strip() and not letter.isspace():
                head_line = line
            head += letter


@dataclass(frozen=True)
class Place:
    path: str
    room: str  # files of one room may overload each other's functions
    line: int

    @property
    def is_variant_of(self) -> str:
        """The same for files of which a build takes one: x_cuda.cu and x_nocuda.cpp, a header and
        what stands in for it in a program without a fix (cmake/CrossdockGpu.cmake)."""
        replaced = re.sub(r"^bench/gpu/variants/\w+/", "src/", self.path)
        return re.sub(r"_(?:no)?cuda\.\w+$", "", replaced)


def clashes(sources: Iterable[tuple[str, str, str]]) -> Iterator[tuple[Place, str]]:
    """(where, message) of every second meaning of a name in (path, room, text)."""
    seen: dict[tuple[str, str], list[tuple[Place, Definition]]] = {}
    for path, room, text in sources:
        for one in definitions(text):
            if one.namespace:
                seen.setdefault((one.namespace, one.name), []).append(
                    (Place(path, room, one.line), one)
                )
    for (namespace, name), uses in sorted(seen.items()):
        for position, (place, one) in enumerate(uses):
            for earlier, other in uses[:position]:
                if earlier.path != place.path and _clash(earlier, other, place, one):
                    message = (
                        f"{namespace}::{name} is also defined in "
                        f"{earlier.path}:{earlier.line}; rename one of them"
                    )
                    yield place, message
                    break


def _clash(earlier: Place, other: Definition, place: Place, one: Definition) -> bool:
    if earlier.is_variant_of == place.is_variant_of:
        return False
    if one.parameters is None or one.parameters == other.parameters:
        return True
    return earlier.room != place.room and not one.name.startswith("operator")
