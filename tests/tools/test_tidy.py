"""tidy.py against small trees: each rule finds what it should, and a clean tree passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import cpp_scan  # noqa: E402  (the tools are scripts, not a package)
import tidy  # noqa: E402
from source_tree import Tree  # noqa: E402

LAYERS = """
[[room]]
name = "base"
folder = "src/base"
level = 0
may_include = []

[[room]]
name = "table"
folder = "src/table"
level = 2
may_include = ["base"]
"""

CLEAN = {
    "tools/layers.toml": LAYERS,
    "README.md": "# Clean\n\nSee [the rooms](#the-rooms) and [a source](src/base/check.hpp).\n\n"
    "## The rooms\n",
    "src/base/check.hpp": "// Checks.\n#pragma once\nint check(int value);\n",
    "src/base/check.cpp": '// Checks.\n#include "base/check.hpp"\n'
    "int check(int value) { return value; }\n",
    "src/table/row.cpp": '// Rows.\n#include "base/check.hpp"\nint row() { return check(1); }\n',
    "python/pkg/__init__.py": "",
}


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in (CLEAN | files).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def rules(root: Path) -> set[str]:
    return {finding.rule for finding in tidy.all_findings(Tree.read(root))}


def test_a_clean_tree_has_no_findings(tmp_path: Path) -> None:
    assert tidy.all_findings(Tree.read(plant(tmp_path, {}))) == []


MARKER = "TO" + "DO"
LONG_BODY = "  step();\n" * 70
SIX = "int a, int b, int c, int d, int e, int g"
PYTHON_LAYERS = """
[python]
folders = ["python"]
[[python.layer]]
name = "values"
modules = ["pkg", "pkg.low*"]
[[python.layer]]
name = "plans"
modules = ["pkg.plans.*"]
"""


def python_tree(body: str, above: str = "import os\n") -> dict[str, str]:
    return {
        "tools/layers.toml": LAYERS + PYTHON_LAYERS,
        "python/pkg/low.py": f'"""Low."""\n{body}',
        "python/pkg/plans/high.py": f'"""High."""\n{above}',
    }


def in_a(text: str) -> str:
    """Definitions in namespace `a`."""
    return f"// A.\nnamespace a {{\n{text}\n}}\n"


SPACES = LAYERS.replace('"src/base"', '"src/base"\nnamespace = "a"').replace(
    '"src/table"', '"src/table"\nnamespace = "a::table"'
)
UPWARD_TABLE = LAYERS.replace("may_include = []", 'may_include = ["table"]')

BROKEN = {
    "an upward include": (
        {
            "src/base/check.cpp": '// C.\n#include "base/check.hpp"\n#include "table/rows.hpp"\n',
            "src/table/rows.hpp": "// R.\n#pragma once\n",
        },
        "layers",
    ),
    "a folder that is no room": ({"src/odd/x.cpp": "// X.\n"}, "layers"),
    "a table that points upwards": ({"tools/layers.toml": UPWARD_TABLE}, "layers"),
    "a circle": (
        {
            "src/base/a.hpp": '// A.\n#include "base/b.hpp"\n',
            "src/base/b.hpp": '// B.\n#include "base/a.hpp"\n',
        },
        "circle",
    ),
    "a circle of imports": (
        python_tree("def f():\n    from . import lower\n")
        | {"python/pkg/lower.py": '"""Lower."""\nimport pkg.low\n'},
        "circle",
    ),
    "an upward import": (python_tree("import pkg.plans.high\n"), "layers"),
    "an upward import of a name": (python_tree("from .plans.high import low\n"), "layers"),
    "an upward import in a function": (
        python_tree("def f():\n    from pkg.plans import high\n"),
        "layers",
    ),
    "an upward import for types": (
        python_tree("if TYPE_CHECKING:\n    from .plans import high\n"),
        "layers",
    ),
    "a module of no layer": (
        python_tree("import os\n") | {"python/pkg/odd.py": '"""Odd."""\n'},
        "layers",
    ),
    "a forbidden word": (
        {
            "GLOSSARY.md": "# Glossary\n\n## Words that are not used\n\n"
            "| not | but |\n| --- | --- |\n| yonder, hither | there |\n",
            "src/base/f.cpp": "// Rows that yonder_rows has, and none of Hithers.\n",
        },
        "word",
    ),
    "a type defined twice": (
        {
            "src/base/f.cpp": "// F.\nnamespace a::b {\nstruct Row {};\n}\n",
            "src/table/g.cpp": in_a("namespace b {\nclass Row final : X { int y; };\n}"),
        },
        "names",
    ),
    "a definition in another room's namespace": (
        {"src/table/g.cpp": in_a("struct Row {};"), "tools/layers.toml": SPACES},
        "namespace",
    ),
    "a type and an alias": (
        {
            "src/base/f.cpp": in_a("enum class Row : int { kA };"),
            "src/base/g.cpp": in_a("using Row = int;"),
        },
        "names",
    ),
    "an inline constant defined twice": (
        {
            "src/base/f.hpp": in_a("inline constexpr int kMax = f(1);"),
            "src/base/f.cpp": in_a("").replace("// A.", '// F.\n#include "base/f.hpp"'),
            "src/base/g.cpp": in_a("inline constexpr size_t kMax{65'536};"),
        },
        "names",
    ),
    "a function defined twice": (
        {
            "src/base/f.cpp": in_a("int f(const X& x, int n = 3) { return 1; }"),
            "src/base/g.cpp": in_a("int f(const X& y, int) { return 2; }"),
        },
        "names",
    ),
    "overloads in two rooms": (
        {
            "src/base/f.cpp": in_a("int f(int x) { return x; }"),
            "src/table/g.cpp": in_a("int f(bool x) { return x; }"),
        },
        "names",
    ),
    "a type of a test and of the engine": (
        {"src/base/f.cpp": in_a("struct Row {};"), "tests/base/g.cpp": in_a("struct Row {};")},
        "names",
    ),
    "a long file": ({"src/base/long.cpp": "// Long.\n" * 501}, "file-lines"),
    "a long C++ function": (
        {"src/base/f.cpp": "// F.\nvoid f() {\n" + LONG_BODY + "}\n"},
        "function-lines",
    ),
    "a long Python function": (
        {"python/pkg/f.py": '"""F."""\ndef f():\n' + "    step()\n" * 70},
        "function-lines",
    ),
    "many C++ parameters": (
        {"src/base/f.cpp": f"// F.\nint f({SIX}) {{ return 0; }}\n"},
        "parameters",
    ),
    "many Python parameters": (
        {"cli/f.py": '"""F."""\ndef f(a, b, c, d, e, g): ...\n'},
        "parameters",
    ),
    "unfinished work": ({"cli/f.py": f'"""F."""\n# {MARKER}: later\n'}, "marker"),
    "a vague name": ({"src/base/string_utils.cpp": "// S.\n"}, "vague-name"),
    "printing": ({"src/base/f.cpp": '// F.\nvoid f() { std::printf("x"); }\n'}, "banned"),
    "standard output": ({"src/base/f.cpp": "// F.\nvoid f() { std::cout << 1; }\n"}, "banned"),
    "an open namespace": ({"tests/base/f.cpp": "// F.\nusing namespace std;\n"}, "banned"),
    "a wide line": ({"src/base/f.cpp": "// " + "x" * 118 + "\n"}, "width"),
    "many conditionals": ({"src/base/f.cpp": "// F.\n" + "#ifdef A\n#endif\n" * 3}, "conditionals"),
    "a dead header": ({"src/base/dead.hpp": "// Dead.\n"}, "dead-header"),
    "a header that comes second": (
        {
            "src/base/f.hpp": "// F.\n",
            "src/base/f.cpp": '// F.\n#include <vector>\n\n#include "base/f.hpp"\n',
        },
        "own-header",
    ),
    "no head comment": ({"src/base/f.cpp": "int f();\n"}, "head"),
    "no docstring": ({"cli/f.py": "import os\n"}, "head"),
    "a broken link": ({"docs/a.md": "[x](../nowhere.md)\n"}, "link"),
    "a broken anchor": ({"docs/a.md": "[x](../README.md#no-such)\n"}, "link"),
    "blanks at a line's end": ({"docs/a.md": "x \n"}, "whitespace"),
    "an error in other columns": (
        {"src/table/row.cpp": '// Rows.\nconst char* kText = "no\\n  try   {}";\n'},
        "error layout",
    ),
    "no newline at the end": ({"docs/a.md": "x"}, "whitespace"),
    "an empty file": ({"docs/a.md": ""}, "empty"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_rule_finds_what_breaks_it(tmp_path: Path, name: str) -> None:
    files, rule = BROKEN[name]
    assert rules(plant(tmp_path, files)) == {rule}


ALLOWED = {
    "words in comments and literals": {
        "src/base/f.cpp": '// std::cout and printf(.\nchar const* f() { return "std::cout"; }\n'
    },
    "an include in a comment": {
        "src/base/f.cpp": '// F.\n// #include "table/row.hpp"\n',
    },
    "a formatter's method": {"src/base/f.cpp": "// F.\nvoid f(S s) { s.printf(); snprintf(); }\n"},
    "the SIMD library's protocol": {"src/base/f.cpp": "// F.\n" + "#if HWY_ONCE\n#endif\n" * 9},
    "options by keyword": {"cli/f.py": '"""F."""\ndef f(a, *, b, c, d, e, g): ...\n'},
    "a command's options": {"cli/f.py": '"""F."""\n@option("a")\ndef f(a, b, c, d, e, g): ...\n'},
    "what a program printed": {"tests/cli/golden/help.txt": "x  \n"},
    "links elsewhere and in code": {
        "docs/a.md": "[x](https://example.org/y) `[x](y)`\n\n```\n[x](y)\n```\n"
    },
    "imports that go down": python_tree("import os\n", "import pkg.low\nfrom .. import low\n"),
    "one name in two namespaces": {
        "src/base/f.cpp": in_a("struct Row {};\nstruct Out { struct In {}; };\nstruct In {};"),
        "src/base/g.cpp": "// G.\nnamespace b {\nstruct Row {};\n}\n",
    },
    "names of one file": {
        path: in_a(
            "namespace {\nstruct Row {};\n}\nstatic int g() { return 1; }\nconstexpr int k = 1;"
        )
        for path in ("src/base/f.cpp", "src/table/g.cpp")
    },
    "declarations ahead, members and specialisations": {
        "src/base/f.cpp": in_a(
            "struct Row;\nint f(int x);\nint Row::f() { return 1; }\n"
            "template <>\nstruct Hash<Row> {};"
        ),
        "src/table/g.cpp": in_a(
            "struct Row {};\nint f(int x) { return x; }\nint Table::f() { return 1; }\n"
            "template <>\nstruct Hash<Table> {};"
        ),
    },
    "overloads in one room, operators in any": {
        "src/base/f.cpp": in_a("int f(int x) { return x; }\nbool operator==(A, A) { return 1; }"),
        "src/base/g.cpp": in_a("int f(bool x) { return x; }"),
        "src/table/h.cpp": in_a("bool operator==(B, B) { return true; }"),
    },
    "each room in its namespace": {
        "src/base/f.cpp": in_a("struct Row {};\nnamespace steps {\nstruct Row {};\n}"),
        "src/table/g.cpp": in_a("struct Base;\nnamespace table {\nstruct Row {};\n}"),
        "tools/layers.toml": SPACES,
    },
    "two variants of a file": {
        "src/base/f_cuda.cu": in_a("int f() { return 1; }"),
        "src/base/f_nocuda.cpp": in_a("int f() { return 2; }"),
    },
    "ignored folders": {"build/x.hpp": "int x", ".venv/lib/y.py": "x "},
}


@pytest.mark.parametrize("name", ALLOWED)
def test_each_rule_leaves_alone_what_is_fine(tmp_path: Path, name: str) -> None:
    assert rules(plant(tmp_path, ALLOWED[name])) == set()


def test_an_empty_folder_is_found(tmp_path: Path) -> None:
    (plant(tmp_path, {}) / "src" / "model").mkdir()
    assert rules(tmp_path) == {"empty"}


def test_conditionals_of_a_free_file_do_not_count(tmp_path: Path) -> None:
    free = LAYERS + '\n[conditionals]\nper_thousand_lines = 2\nfree_files = ["src/base/f.cpp"]\n'
    files = {"src/base/f.cpp": "// F.\n" + "#ifdef A\n#endif\n" * 9, "tools/layers.toml": free}
    assert rules(plant(tmp_path, files)) == set()


def ratchet_run(root: Path, lines: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    plant(root, {"src/base/long.cpp": "// Long.\n" * lines})
    command = [sys.executable, str(TOOLS / "tidy.py"), "--root", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_ratchet_lets_todays_worst_be_and_turns_one_way(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    ratchet = tmp_path / "tools" / "tidy_ratchet.toml"
    ratchet.write_text('[worst]\n"file-lines src/base/long.cpp" = 520\n')
    assert ratchet_run(tmp_path, 520).returncode == 0
    assert ratchet_run(tmp_path, 521).returncode == 1

    better = ratchet_run(tmp_path, 510)
    assert better.returncode == 1
    assert "lower it to 510" in better.stdout
    assert ratchet_run(tmp_path, 510, "--tighten").returncode == 0
    assert '"file-lines src/base/long.cpp" = 510' in ratchet.read_text()

    assert ratchet_run(tmp_path, 490, "--tighten").returncode == 0
    assert "long.cpp" not in ratchet.read_text()
    assert ratchet_run(tmp_path, 501).returncode == 1


def test_the_drawing_shows_rooms_and_their_includes(tmp_path: Path) -> None:
    drawing = tmp_path / "rooms.svg"
    assert ratchet_run(tmp_path, 9, "--graph", str(drawing)).returncode == 0
    assert "table includes base: 1" in drawing.read_text()


FUNCTIONS = {
    "int f(int a, std::pair<int, int> b,\n      int c = g(1, 2)) {\n  return 1;\n}\n": ("f", 4, 3),
    "template <typename T, int N = 3>\nvoid f(T a) {\n}\n": ("f", 3, 1),
    "struct X {\n  X(int a) : a_{a}, b_(2) { int y; }\n};\n": ("X", 1, 1),
    "struct X : Y<int(int)> {\n  X() : Y<int>{}, b_{2} {}\n};\n": ("X", 1, 0),
    "struct X {\n  ~X() override { }\n};\n": ("~X", 1, 0),
    "struct X {\n  bool operator()(int a, int b) const { return true; }\n};\n": (
        "operator()",
        1,
        2,
    ),
    "struct X {\n  operator bool() const { return true; }\n};\n": ("operator bool", 1, 0),
    "namespace a { namespace {\nauto h() -> std::vector<int> { return {}; }\n}}\n": ("h", 1, 0),
    'extern "C" {\nint f(void) { return 0; }\n}\n': ("f", 1, 0),
    "int f() { if (a) { return \"}{\"[0]; } auto h = [](int) { return '{'; }; return 1'000; }\n": (
        "f",
        1,
        0,
    ),
    'int f() { return R"x({{{)x"[0]; } // {\n': ("f", 1, 0),
    "std::map<int, std::pair<int, int>> X::k(int a, int b) noexcept(true) { }\n": ("k", 1, 2),
    "#define M(x) do { x; } while (0)\nint f() { return 0; }\n": ("f", 1, 0),
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_the_scanner_measures_functions(text: str) -> None:
    result = cpp_scan.functions(text)
    assert [(f.name, f.lines, f.parameters) for f in result] == [FUNCTIONS[text]]


@pytest.mark.parametrize(
    "text",
    [
        "std::array<int, 2> t = {1, 2};\n",
        "auto l = [](int a) { return a; };\n",
        "struct alignas(64) P { int x{0}; std::function<int(int, int)> f; };\n",
        "enum class E : int { kA, kB };\n",
        "constexpr int k = f(3);\nint g(int a);\n",
    ],
)
def test_the_scanner_takes_nothing_else_for_a_function(text: str) -> None:
    assert cpp_scan.functions(text) == []


def test_forbidden_words_are_counted_by_folder(tmp_path: Path) -> None:
    glossary = "## Words that are not used\n\n| not | but |\n| --- | --- |\n| yonder | there |\n"
    files = {
        "GLOSSARY.md": glossary,
        "src/base/f.cpp": "// Yonder and yonder_rows, not beyonder.\n",
        "tests/f.py": '"""yonder"""\n',
    }
    result = [
        (finding.path, finding.item, finding.measure)
        for finding in tidy.check_glossary(Tree.read(plant(tmp_path, files)))
    ]
    assert sorted(result) == [("src", "yonder", 2), ("tests", "yonder", 1)]


def test_vague_names_are_counted_in_code_and_not_in_prose(tmp_path: Path) -> None:
    glossary = "## Words that name nothing\n\n| not | but |\n| --- | --- |\n| found | the thing |\n"
    files = {
        "GLOSSARY.md": glossary,
        "src/base/f.cpp": (
            '// What was found.\nint found = 1;\nauto s = "found"; int found_rows = found;\n'
            "struct Found {\n  int found_ = 0;\n};\n"
        ),
        "python/p/room/f.py": '"""It is found."""\n\n\ndef f(found: int) -> int:\n    return 1\n',
        "docs/page.md": "It is found.\n",
    }
    result = [
        (finding.path, finding.item, finding.measure)
        for finding in tidy.check_glossary(Tree.read(plant(tmp_path, files)))
    ]
    assert sorted(result) == [("python/p/room", "found", 1), ("src/base", "found", 4)]
