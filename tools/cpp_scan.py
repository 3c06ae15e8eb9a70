"""Reads C++ text far enough to measure it: its functions, their lengths and their parameters.

A brace scanner, not a parser: it knows namespaces, classes, functions and initialisers by what
stands before a `{`. It errs towards silence: what it does not recognise as a function is not
measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/"""
    r"""|(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)" """.strip()
    + r"""|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_ACCESS = re.compile(r"^\s*(?:public|private|protected|Q_SIGNALS)\s*:(?!:)")
_NOT_A_NAME = {
    "alignas", "decltype", "noexcept", "explicit", "requires", "throw", "sizeof", "static_assert",
    "if", "for", "while", "switch", "catch", "return", "defined", "__attribute__",
}  # fmt: skip
_NAME_BEFORE = re.compile(
    r"(operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|\s[\w:<>*& ]+)|~?[A-Za-z_][\w]*)\s*$"
)
_CLASS = re.compile(r"\b(?:class|struct|union)\b")


@dataclass(frozen=True)
class Function:
    name: str
    line: int
    lines: int
    parameters: int


@dataclass
class _Scope:
    kind: str  # "namespace", "class", "function" or "other"
    name: str = ""
    line: int = 0
    parameters: int = 0


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def without_comments(text: str) -> str:
    """The text with comments blanked and string contents emptied; line numbers stay."""

    def replace(match: re.Match[str]) -> str:
        token = match.group()
        if token.startswith("/"):
            return _blank(token)
        quote = token[-1]
        return quote + _blank(token)[1:-1] + quote if len(token) > 1 else token

    return _TOKENS.sub(replace, text)


def without_directives(code: str) -> str:
    """The text with preprocessor lines, macros' bodies among them, blanked."""
    return _DIRECTIVE.sub(lambda match: _blank(match.group()), code)


def _closing(text: str, start: int) -> int:
    """The index of the parenthesis that closes the one at start, or -1."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] == "(":
            depth += 1
        elif text[index] == ")":
            depth -= 1
            if depth == 0:
                return index
    return -1


def count_parameters(inside: str) -> int:
    """The parameters between the parentheses of a declaration."""
    if inside.strip() in ("", "void"):
        return 0
    depth = 0
    count = 1
    text = inside.replace("->", "  ").replace("<<", "  ").replace("<=", "  ").replace(">=", "  ")
    for letter in text:
        if letter in "(<[{":
            depth += 1
        elif letter in ")>]}":
            depth -= 1
        elif letter == "," and depth == 0:
            count += 1
    return count


def _angle_depths(text: str) -> list[int]:
    """For each character, how deep it stands in template brackets, roughly."""
    depths = []
    depth = 0
    for index, letter in enumerate(text):
        before = text[index - 1] if index else " "
        if letter == "<" and (
            before.isalnum() or before == "_" or text[:index].rstrip().endswith("template")
        ):
            depth += 1
        elif letter == ">" and before != "-" and depth > 0:
            depth -= 1
        depths.append(depth)
    return depths


def parameter_list(head: str) -> tuple[str, int, int] | None:
    """(name, start, end) of the parameter list in the text before a `{`; None without one."""
    angles = [0] * len(head) if re.search(r"\boperator\b", head) else _angle_depths(head)
    index = 0
    while index < len(head):
        if head[index] != "(":
            index += 1
            continue
        end = _closing(head, index)
        if end < 0:
            return None
        name = _NAME_BEFORE.search(head[:index])
        if (
            name
            and re.fullmatch(r"operator\s*", name.group())
            and head[index : end + 1].replace(" ", "") == "()"
        ):
            index = end + 1  # `operator()` itself; its parameters come next
            continue
        if name and angles[index] == 0 and name.group(1).strip() not in _NOT_A_NAME:
            return name.group(1).strip(), index, end
        index = end + 1
    return None


def _is_initialiser(head: str) -> bool:
    """Whether a `{` after this head opens a member's initialiser, as in `Name(int a) : a_{`."""
    parameters = parameter_list(head)
    if parameters is None:
        return False
    rest = head[parameters[2] + 1 :].replace("::", "  ")
    return ":" in rest and bool(re.search(r"[\w>]\s*$", rest))


def assigns(head: str) -> bool:
    """Whether a `=` outside of template brackets makes this a variable."""
    return any(
        letter == "=" and depth == 0
        for letter, depth in zip(head, _angle_depths(head), strict=True)
    )


def _scope_of(head: str, line: int, outer: str) -> _Scope:
    if outer not in ("namespace", "class"):
        return _Scope("other")
    if re.search(r"\bnamespace\b", head) or re.fullmatch(r'\s*extern\s*" *"\s*', head):
        return _Scope("namespace")
    if re.search(r"\benum\b", head):
        return _Scope("other")
    parameters = parameter_list(head)
    if parameters is None:
        return _Scope("class") if _CLASS.search(head) else _Scope("other")
    name, start, end = parameters
    if assigns(head[:start]) and not name.startswith("operator"):
        return _Scope("other")
    return _Scope("function", name, line, count_parameters(head[start + 1 : end]))


def functions(text: str) -> list[Function]:
    """Every function defined at namespace or class level; a lambda is part of its function."""
    code = without_directives(without_comments(text))
    functions_read: list[Function] = []
    scopes: list[_Scope] = []
    line = 1
    head = ""
    head_line = 1
    skipped = 0  # open braces of an initialiser within a head
    for letter in code:
        if letter == "\n":
            line += 1
        outer = scopes[-1].kind if scopes else "namespace"
        if letter == "{":
            if skipped or (outer in ("namespace", "class") and _is_initialiser(head)):
                skipped += 1
                continue
            scopes.append(_scope_of(head, head_line, outer))
            head = ""
        elif letter == "}":
            if skipped:
                skipped -= 1
                head += "}"
                continue
            scope = scopes.pop() if scopes else _Scope("other")
            if scope.kind == "function":
                functions_read.append(
                    Function(scope.name, scope.line, line - scope.line + 1, scope.parameters)
                )
            head = ""
        elif letter == ";" and head.count("(") == head.count(")"):
            head = ""
        elif not skipped and outer in ("namespace", "class"):
            if not head.strip() and not letter.isspace():
                head_line = line
            head = _ACCESS.sub("", head + letter) if letter == ":" else head + letter
    return functions_read
