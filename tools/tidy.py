"""The house rules that a machine can check; exit status 1 when one is broken.

    python tools/tidy.py                    # check
    python tools/tidy.py --graph rooms.svg  # draw which room includes which, as the sources stand
    python tools/tidy.py --tighten          # lower the ratchet to what the sources reach now
    python tools/tidy.py --report           # how large files and functions are, comments, circles

Rules: includes and Python imports go downwards (tools/layers.toml), and in no circle; a room
defines in its own namespace, and a name means one thing there; files, functions and parameter
lists stay short; no marker words, no printing from the engine, few conditionals; no dead header,
and a source includes the one of its name first; every source opens with a comment; relative links
in the documents lead somewhere; whitespace is clean; no empty folder or file; words and names that
GLOSSARY.md forbids become fewer.

The ratchet (tools/tidy_ratchet.toml) names what is over a limit today and by how much: it may
become better, never worse, and an entry that has become better must be lowered.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import cpp_names
import cpp_scan
import forbidden_words
import python_layers
import room_graph
import size_report
from source_tree import Finding, Tree

FILE_LINES = 500
FUNCTION_LINES = 70
PARAMETERS = 5
CPP_LINE_WIDTH = 120

HEADER_SUFFIXES = {".hpp", ".cuh", ".h"}
CODE_FOLDERS = {"src", "include", "python", "cli", "tests", "bench", "examples", "tools", "docs"}
MAY_BE_EMPTY = {"py.typed", "__init__.py"}

# Spelled in parts, so that this file does not break its own rule.
MARKERS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
VAGUE_NAMES = re.compile(r"(?:^|_)(?:utils?|helpers?|common|managers?|misc)(?:_|$)")
BANNED_IN_CPP = {
    re.compile(r"\busing\s+namespace\s+std\b"): "`using namespace std`",
}
BANNED_IN_ENGINE = {
    re.compile(
        r"(?<![\w.>])(?:std::)?(?:f|v|vf)?printf\s*\("
    ): "printf: the engine returns text or logs",
    re.compile(r"\bstd::(?:cout|cerr|clog)\b"): "std::cout: the engine returns text or logs",
    re.compile(
        r"\bstd::(?:rand|srand)\s*\(|\bsleep\s*\("
    ): "hidden time or randomness: take it as a parameter",
}
CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b(.*)$", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def check_table_of_rooms(tree: Tree) -> Iterator[Finding]:
    seen: set[str] = set()
    level = 0
    for room in tree.rooms:
        if room.level < level:
            yield Finding(
                "tools/layers.toml",
                1,
                "layers",
                f"room {room.name} stands above its level {room.level}",
            )
        level = max(level, room.level)
        for name in sorted(room.may_include - seen):
            yield Finding(
                "tools/layers.toml",
                1,
                "layers",
                f"room {room.name} names {name}, which is not below it",
            )
        seen.add(room.name)


def check_layers(tree: Tree) -> Iterator[Finding]:
    for source in tree.sources:
        if not source.is_cpp or source.top not in ("src", "include", "python"):
            continue
        room = tree.room_of(source.path)
        if room is None:
            if source.top == "src":
                yield Finding(source.path, 1, "layers", "is in no room of tools/layers.toml")
            continue
        for path, line in tree.includes(source):
            target = tree.room_of(path)
            if target is None or target == room or target.name in room.may_include:
                continue
            allowed = ", ".join(sorted(room.may_include)) or "nothing"
            message = (
                f"room {room.name} (level {room.level}) includes {path} of room {target.name} "
                f"(level {target.level}); it may include {allowed}"
            )
            yield Finding(source.path, line, "layers", message)


def check_circles(tree: Tree) -> Iterator[Finding]:
    for edges, verb in (
        (size_report.cpp_edges(tree), "includes itself"),
        (size_report.python_edges(tree), "imports itself"),
    ):
        for group in size_report.circles(edges):
            yield Finding(group[0], 1, "circle", f"{verb}, by way of {', '.join(group[1:])}")


def check_python_layers(tree: Tree) -> Iterator[Finding]:
    sources = [(source.path, source.text) for source in tree.sources]
    for path, line, message in python_layers.findings(tree.python_layers, sources):
        yield Finding(path, line, "layers", message)


def check_names(tree: Tree) -> Iterator[Finding]:
    sources = []
    for source in tree.sources:
        if source.is_cpp and source.top in CODE_FOLDERS:
            room = tree.room_of(source.path)
            name = room.name if room else Path(source.path).parent.as_posix()
            sources.append((source.path, name, source.text))
    for place, message in cpp_names.clashes(sources):
        yield Finding(place.path, place.line, "names", message)


def check_namespaces(tree: Tree) -> Iterator[Finding]:
    spaces = {room.namespace for room in tree.rooms if room.namespace}
    for source in tree.sources:
        room = tree.room_of(source.path) if source.is_cpp else None
        if room is None or not room.namespace:
            continue
        for definition in cpp_names.definitions(source.text):
            name = definition.namespace
            nearest = max(
                (space for space in spaces if f"{name}::".startswith(f"{space}::")), default=None
            )
            if nearest is not None and nearest != room.namespace:
                message = (
                    f"{name}::{definition.name} is defined in room {room.name}, whose namespace is "
                    f"{room.namespace}"
                )
                yield Finding(source.path, definition.line, "namespace", message)


def check_lengths(tree: Tree) -> Iterator[Finding]:
    for source in tree.sources:
        # A stub describes one module of the bindings, many files of C++, and cannot be cut.
        if source.top not in CODE_FOLDERS or not (source.is_cpp or source.suffix == ".py"):
            continue
        lines = len(source.text.splitlines())
        if lines > FILE_LINES:
            message = f"{lines} lines; the limit is {FILE_LINES}"
            yield Finding(source.path, 1, "file-lines", message, measure=lines)
        if source.is_cpp:
            measured = [
                (f.name, f.line, f.lines, f.parameters) for f in cpp_scan.functions(source.text)
            ]
        else:
            measured = list(python_functions(source.text))
        for name, line, length, parameters in measured:
            if length > FUNCTION_LINES:
                message = f"{name} has {length} lines; the limit is {FUNCTION_LINES}"
                yield Finding(source.path, line, "function-lines", message, name, length)
            if parameters > PARAMETERS:
                message = f"{name} has {parameters} parameters; the limit is {PARAMETERS}"
                yield Finding(source.path, line, "parameters", message, name, parameters)


def python_functions(text: str) -> Iterator[tuple[str, int, int, int]]:
    """(name, line, lines, parameters); keyword-only ones read well at the call and do not count."""
    try:
        module = ast.parse(text)
    except SyntaxError:
        return  # ruff and mypy say so better
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
        counted = [name for name in names if name not in ("self", "cls")]
        # A command's parameters are its options, declared by decorators; a test's are its fixtures.
        free = bool(node.decorator_list) or node.name.startswith("test_")
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        yield node.name, node.lineno, length, 0 if free else len(counted)


def check_words(tree: Tree) -> Iterator[Finding]:
    for source in tree.sources:
        for match in MARKERS.finditer(source.text):
            yield Finding(
                source.path,
                source.line_of(match.start()),
                "marker",
                f"unfinished work: {match.group()}",
            )
        stem = Path(source.path).stem
        if source.top in CODE_FOLDERS and VAGUE_NAMES.search(stem):
            yield Finding(
                source.path, 1, "vague-name", f"`{stem}` does not say what the file is for"
            )
        if not source.is_cpp:
            continue
        banned = BANNED_IN_CPP | (BANNED_IN_ENGINE if source.top in ("src", "include") else {})
        for pattern, name in banned.items():
            for match in pattern.finditer(source.code):
                yield Finding(
                    source.path, source.line_of(match.start()), "banned", f"banned here: {name}"
                )
        for number, line in enumerate(source.text.splitlines(), start=1):
            if len(line) > CPP_LINE_WIDTH:
                yield Finding(
                    source.path,
                    number,
                    "width",
                    f"{len(line)} columns; the limit is {CPP_LINE_WIDTH}",
                )


def check_conditionals(tree: Tree) -> Iterator[Finding]:
    engine = [source for source in tree.sources if source.is_cpp and source.top == "src"]
    lines = sum(len(source.text.splitlines()) for source in engine)
    places = []
    for source in engine:
        if source.path in tree.conditionals_free:
            continue
        places += [
            (source.path, source.line_of(match.start()))
            for match in CONDITIONAL.finditer(source.code)
            if "HWY_" not in match.group(1)
        ]
    limit = max(tree.conditionals_per_thousand, tree.conditionals_per_thousand * lines // 1000)
    if len(places) > limit:
        message = (
            f"src/ has {len(places)} preprocessor conditionals; the limit for {lines} lines is "
            f"{limit}: absence is a file"
        )
        for path, line in places:
            yield Finding(path, line, "conditionals", message)


def check_dead_headers(tree: Tree) -> Iterator[Finding]:
    used = {path for source in tree.sources if source.is_cpp for path, _ in tree.includes(source)}
    for source in tree.sources:
        if source.suffix in HEADER_SUFFIXES and source.top == "src" and source.path not in used:
            yield Finding(source.path, 1, "dead-header", "no file includes it")


def check_own_header(tree: Tree) -> Iterator[Finding]:
    """So that compiling the source shows what its header forgot to include; headers without a
    source are compiled alone (cmake/CrossdockModule.cmake)."""
    paths = {source.path for source in tree.sources}
    for source in tree.sources:
        header = source.path.removesuffix(source.suffix) + ".hpp"
        if source.suffix != ".cpp" or source.top != "src" or header not in paths:
            continue
        first, _ = next(source.includes(), ("", 0))
        if f"src/{first}" != header:
            yield Finding(source.path, 1, "own-header", f"does not include {header} first")


def check_heads(tree: Tree) -> Iterator[Finding]:
    """A source beside its header needs none: what it is for stands there."""
    paths = {source.path for source in tree.sources}
    for source in tree.sources:
        first = source.text.lstrip("\ufeff").splitlines()[0]
        if source.suffix == ".cpp" and source.path.removesuffix(".cpp") + ".hpp" in paths:
            continue
        if source.is_cpp and source.top in CODE_FOLDERS:
            is_head = first.startswith(("//", "/*"))
        elif source.suffix in (".py", ".pyi") and source.top in CODE_FOLDERS:
            is_head = first.startswith(("#", '"""', 'r"""'))
        else:
            continue
        if not is_head:
            yield Finding(
                source.path, 1, "head", "the first line does not say what the file is for"
            )


def slug(heading: str) -> str:
    """The anchor that a heading gets, as code hosts make it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text: str) -> set[str]:
    prose = FENCE.sub("", text)
    names: set[str] = set()
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", prose, re.MULTILINE):
        name = slug(heading)
        number = 0
        while (name if number == 0 else f"{name}-{number}") in names:
            number += 1
        names.add(name if number == 0 else f"{name}-{number}")
    return names | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", prose))


def check_links(tree: Tree) -> Iterator[Finding]:
    for source in tree.sources:
        if source.suffix != ".md":
            continue
        prose = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source.text)
        for match in LINK.finditer(re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), prose)):
            link = match.group(1) or match.group(2)
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (tree.root / source.path).parent / name if name else tree.root / source.path
            line = source.line_of(match.start())
            if not target.exists():
                yield Finding(source.path, line, "link", f"{link} leads nowhere")
            elif (
                anchor
                and target.suffix == ".md"
                and anchor not in anchors(target.read_text(encoding="utf-8"))
            ):
                yield Finding(
                    source.path, line, "link", f"{name or 'this page'} has no heading #{anchor}"
                )


def check_whitespace(tree: Tree) -> Iterator[Finding]:
    for source in tree.sources:
        if "golden" in source.path.split("/"):
            continue  # what a program printed, kept as it was
        for number, line in enumerate(source.text.split("\n"), start=1):
            if line != line.rstrip():
                yield Finding(
                    source.path, number, "whitespace", "blank characters at the end of the line"
                )
            if "\t" in line and source.suffix not in (".md", ".txt"):
                yield Finding(source.path, number, "whitespace", "a tab")
        if not source.text.endswith("\n") or source.text.endswith("\n\n"):
            yield Finding(
                source.path,
                len(source.text.splitlines()),
                "whitespace",
                "must end in exactly one newline",
            )


# A part of an error in a literal of C++: a line of its own, two blanks, a word and its text.
ERROR_PART = re.compile(r'(?:\\n|")  ([a-z]+)( {2,})(?=[^\s"])')


def check_error_layout(tree: Tree) -> Iterator[Finding]:
    """The columns that `part` of python/crossdock/errors.py gives."""
    for source in tree.sources:
        if not source.is_cpp or not source.path.startswith("src/"):
            continue
        for match in ERROR_PART.finditer(source.text):
            word, blanks = match.groups()
            if len(word) < 8 and len(word) + len(blanks) != 9:
                yield Finding(
                    source.path,
                    source.line_of(match.start()),
                    "error layout",
                    f"`{word}` has {len(blanks)} blanks behind it; {9 - len(word)} are needed",
                )


def check_glossary(tree: Tree) -> Iterator[Finding]:
    """Words that the glossary forbids; measured, so that the ratchet holds what is left of them."""
    if (glossary := tree.by_path.get("GLOSSARY.md")) is not None:
        yield from forbidden_words.findings(tree.sources, glossary.text)
        yield from forbidden_words.vague_names(tree.sources, glossary.text)


def check_emptiness(tree: Tree) -> Iterator[Finding]:
    for path in tree.empty:
        if Path(path).name not in MAY_BE_EMPTY:
            message = "holds nothing: rooms and files appear when they have something to hold"
            yield Finding(path, 1, "empty", message)


CHECKS = [
    check_table_of_rooms,
    check_layers,
    check_circles,
    check_python_layers,
    check_names,
    check_namespaces,
    check_lengths,
    check_words,
    check_conditionals,
    check_dead_headers,
    check_own_header,
    check_heads,
    check_links,
    check_error_layout,
    check_whitespace,
    check_glossary,
    check_emptiness,
]


def all_findings(tree: Tree) -> list[Finding]:
    return sorted({finding for check in CHECKS for finding in check(tree)})


def read_ratchet(path: Path) -> dict[str, int]:
    return tomllib.loads(path.read_text(encoding="utf-8")).get("worst", {}) if path.exists() else {}


def apply_ratchet(
    findings: list[Finding], worst: dict[str, int]
) -> tuple[list[Finding], dict[str, int]]:
    """What is left to complain about, and the ratchet as it should stand now."""
    reached: dict[str, int] = {}
    for finding in findings:
        if finding.measure and finding.key in worst:
            reached[finding.key] = max(reached.get(finding.key, 0), finding.measure)
    left = [
        finding
        for finding in findings
        if not finding.measure or finding.measure > worst.get(finding.key, 0)
    ]
    for key, value in worst.items():
        now = reached.get(key, 0)
        if now < value:
            better = f"lower it to {now}" if now else "remove it"
            message = f"`{key}` has become better than {value}: {better} (tidy.py --tighten)"
            left.append(Finding("tools/tidy_ratchet.toml", 1, "ratchet", message))
    tightened = {key: min(value, reached[key]) for key, value in worst.items() if key in reached}
    return left, tightened


def write_ratchet(path: Path, worst: dict[str, int]) -> None:
    rows = "".join(f'"{key}" = {value}\n' for key, value in sorted(worst.items()))
    head = "# What is over a limit of tools/tidy.py today. Values may fall, never rise.\n[worst]\n"
    path.write_text(head + rows, encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Check the house rules.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument(
        "--graph", type=Path, metavar="SVG", help="draw the rooms and their includes"
    )
    parser.add_argument(
        "--tighten", action="store_true", help="lower the ratchet to what is reached now"
    )
    parser.add_argument("--report", action="store_true", help="print sizes, comments and circles")
    options = parser.parse_args(arguments)
    tree = Tree.read(options.root)
    if options.report:
        print(size_report.report(tree, python_functions))
        return 0
    if options.graph:
        options.graph.write_text(room_graph.draw(tree), encoding="utf-8")
        return 0
    ratchet = options.root / "tools" / "tidy_ratchet.toml"
    findings, tightened = apply_ratchet(all_findings(tree), read_ratchet(ratchet))
    if options.tighten:
        write_ratchet(ratchet, tightened)
        findings = [finding for finding in findings if finding.rule != "ratchet"]
    for finding in findings:
        print(finding)
    print(f"tidy: {len(tree.sources)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
