"""How large the house is: `tidy.py --report` prints it, by language.

Files and lines, the median file, the 95th percentile of functions, the share of lines that are
comments, and circles: headers that include each other, modules that import each other.
"""

from __future__ import annotations

import ast
import io
import statistics
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import cpp_scan
import python_layers
from source_tree import Source, Tree

PRODUCT = ("src", "include", "python", "cli", "tools")
MEDIAN_FILE_LINES = 120
P95_FUNCTION_LINES = 45

# Of a Python source: (name, line, lines, parameters) of each function.
Measure = Callable[[str], Iterable[tuple[str, int, int, int]]]


@dataclass
class Sizes:
    """The sources of one language below one folder."""

    files: list[int] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    comments: int = 0

    def add(self, other: Sizes) -> None:
        self.files += other.files
        self.functions += other.functions
        self.comments += other.comments


def percentile(values: list[int], share: float) -> int:
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(share * 100) // 100) - 1)] if ordered else 0


def python_comment_lines(text: str) -> int:
    """Lines of comments and of docstrings."""
    try:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        lines = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
        module = ast.parse(text)
    except (SyntaxError, tokenize.TokenError):
        return 0
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(module):
        if isinstance(node, holders) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def cpp_comment_lines(source: Source) -> int:
    """Lines where something but code stands."""
    pairs = zip(source.text.split("\n"), source.code_lines, strict=False)
    return sum(
        1 for line, code in pairs if ("//" in line or "/*" in line or "*" in line) and line != code
    )


def sizes_of(source: Source, python_functions: Measure) -> Sizes:
    lines = len(source.text.splitlines())
    if source.is_cpp:
        functions = [function.lines for function in cpp_scan.functions(source.text)]
        return Sizes([lines], functions, cpp_comment_lines(source))
    functions = [length for _, _, length, _ in python_functions(source.text)]
    return Sizes([lines], functions, python_comment_lines(source.text))


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Sets of nodes that reach each other: strongly connected components of more than one."""
    order: list[str] = []
    seen: set[str] = set()
    for start in sorted(edges):
        stack = [(start, iter(sorted(edges[start])))] if start not in seen else []
        seen.add(start)
        while stack:
            node, rest = stack[-1]
            after = next((one for one in rest if one in edges and one not in seen), None)
            if after is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(after)
                stack.append((after, iter(sorted(edges[after]))))
    back: dict[str, set[str]] = {node: set() for node in edges}
    for node, targets in edges.items():
        for target in targets & edges.keys():
            back[target].add(node)
    groups, taken = [], set()
    for start in reversed(order):
        group, left = [], [start]
        while left:
            node = left.pop()
            if node not in taken:
                taken.add(node)
                group.append(node)
                left += back[node]
        if len(group) > 1:
            groups.append(sorted(group))
    return groups


def cpp_edges(tree: Tree) -> dict[str, set[str]]:
    return {
        source.path: {path for path, _ in tree.includes(source)}
        for source in tree.sources
        if source.is_cpp
    }


def python_edges(tree: Tree) -> dict[str, set[str]]:
    """All imports among the packages' files, those in functions and for type checkers too."""
    folders = tree.python_layers.folders
    files = {
        module: source
        for source in tree.sources
        if (module := python_layers.module_of(source.path, folders)) is not None
    }
    return {
        source.path: {
            files[target].path
            for target, _ in python_layers.imports(source.path, module, source.text, set(files))
        }
        for module, source in files.items()
    }


def report(tree: Tree, python_functions: Measure) -> str:
    languages = {"C++": lambda source: source.is_cpp, "Python": lambda one: one.suffix == ".py"}
    head = f"{'':<18} {'files':>6} {'lines':>8} {'median':>7} {'functions':>10} {'p95':>5}"
    lines = [f"{head} {'comments':>9}"]
    product_sizes = Sizes()
    for language, is_of in languages.items():
        every = Sizes()
        for folder in (*PRODUCT, "tests", "bench"):
            sizes = Sizes()
            for source in tree.sources:
                if source.top == folder and is_of(source):
                    sizes.add(sizes_of(source, python_functions))
            if folder in PRODUCT:
                every.add(sizes)
            if sizes.files:
                lines.append(row(f"{language} {folder}", sizes))
        lines.append(row(f"{language}, product", every))
        product_sizes.add(every)
    lines.append(row("both, product", product_sizes))
    product = [source for source in tree.sources if source.top in PRODUCT]
    lines.append(f"lines of {', '.join(PRODUCT)}: {sum(len(s.text.splitlines()) for s in product)}")
    lines.append(f"limits: median file {MEDIAN_FILE_LINES} lines, p95 {P95_FUNCTION_LINES} lines")
    for name, edges in (
        ("includes of C++", cpp_edges(tree)),
        ("imports of Python", python_edges(tree)),
    ):
        lines.append(f"circles, {name}: {len(circles(edges))}")
        lines += [f"  {' '.join(group)}" for group in circles(edges)]
    return "\n".join(lines)


def row(title: str, sizes: Sizes) -> str:
    total = sum(sizes.files)
    median = int(statistics.median(sizes.files)) if sizes.files else 0
    share = sizes.comments / total if total else 0.0
    return (
        f"{title:<18} {len(sizes.files):>6} {total:>8} {median:>7} {len(sizes.functions):>10} "
        f"{percentile(sizes.functions, 0.95):>5} {share:>9.1%}"
    )
