"""tools/size_report.py: what `tidy.py --report` counts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import size_report  # noqa: E402  (the tools are scripts, not a package)
import tidy  # noqa: E402
from source_tree import Source, Tree  # noqa: E402

CPP = """// What it is.
int f() {
  int x = 1;  // why
  return x;
}
/* A block
   of two lines. */
"""

PYTHON = '''"""What it is,
in two lines."""

import os


def f(path: str) -> str:
    """Does it."""
    # why
    return os.fspath(path)
'''


@pytest.mark.parametrize(
    ("path", "text", "lines", "functions", "comments"),
    [("src/f.cpp", CPP, 7, [4], 4), ("tools/f.py", PYTHON, 10, [4], 4)],
)
def test_lines_functions_and_comments_are_counted(
    path: str, text: str, lines: int, functions: list[int], comments: int
) -> None:
    sizes = size_report.sizes_of(Source(path, text), tidy.python_functions)
    assert (sizes.files, sizes.functions, sizes.comments) == ([lines], functions, comments)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 0.95, 0), ([7], 0.95, 7), (list(range(1, 101)), 0.95, 95), ([1, 2, 3], 0.5, 2)],
)
def test_a_percentile_is_a_value_that_is_there(
    values: list[int], share: float, expected: int
) -> None:
    assert size_report.percentile(values, share) == expected


def test_circles_are_named_and_chains_are_not() -> None:
    edges = {
        "a": {"b"},
        "b": {"c"},
        "c": {"b", "d"},
        "d": set(),
        "e": {"f", "a"},
        "f": {"e"},
        "g": {"g"},
    }
    assert sorted(size_report.circles(edges)) == [["b", "c"], ["e", "f"]]


def test_circles_of_headers_and_of_modules_are_found(tmp_path: Path) -> None:
    contents = {
        "src/base/a.hpp": '// A.\n#include "base/b.hpp"\n',
        "src/base/b.hpp": '// B.\n#include "base/a.hpp"\n',
        "python/p/__init__.py": '"""P."""\n',
        "python/p/x.py": '"""X."""\nimport p.y\n',
        "python/p/y.py": '"""Y."""\n\n\ndef f() -> None:\n    import p.x\n',
        "tools/layers.toml": '[python]\nfolders = ["python"]\n',
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shown = size_report.report(Tree.read(tmp_path), tidy.python_functions).splitlines()
    at = shown.index("circles, includes of C++: 1")
    assert shown[at + 1] == "  src/base/a.hpp src/base/b.hpp"
    assert shown[-2:] == ["circles, imports of Python: 1", "  python/p/x.py python/p/y.py"]
