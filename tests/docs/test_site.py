"""The documentation site builds, with every link and every page in its place; pages that are to be
read first stay short."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import crossdock as xd
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import cpp_reference  # noqa: E402  (the tools are scripts, not a package)
import docs_site  # noqa: E402


@pytest.mark.parametrize(
    ("page", "most_bytes", "most_lines"),
    [
        ("README.md", 16_384, 150),
        ("ARCHITECTURE.md", 14_336, 200),
        ("CONTRIBUTING.md", 16_384, 150),
    ],
)
def test_pages_to_begin_with_stay_short(page: str, most_bytes: int, most_lines: int) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(text.encode()) <= most_bytes
    assert len(text.splitlines()) <= most_lines


def test_the_reference_has_every_public_name() -> None:
    named = [name for names in docs_site.PYTHON_REFERENCE.values() for name in names]
    assert sorted(named) == sorted(set(xd.__all__) - {"__version__"})


def test_the_reference_of_cpp_has_every_header_and_nothing_private() -> None:
    page = cpp_reference.page(ROOT)
    for header in (ROOT / "include" / "crossdock").rglob("*.hpp"):
        assert f"\n## {header.relative_to(ROOT / 'include').as_posix()}\n" in page
        text = header.read_text().partition("\nnamespace crossdock {")[2]  # else Arrow's own names
        for name in re.findall(r"^(?:class|struct) (\w+) ?[:{]", text, re.MULTILINE):
            assert f"\n### {name}\n" in page, f"{name} of {header.name}"
    assert "\n private:" not in page
    assert re.search(r"^  [\w:<>, ]+ \w+_(?: = .*)?;", page, re.MULTILINE) is None


def test_declarations_are_shown_with_their_comments() -> None:
    header = """
// Rows <of> a table.
class Rows : public Base {
 public:
  int64_t count() const { return rows_; }

 private:
  int64_t rows_ = 0;
};

class Forward;

// Adds; see `the_sum`.
template <class T>
T sum(const Rows& rows,
      T start);
"""
    rows, total = cpp_reference.declarations(header)
    assert (rows.name, rows.comment) == ("Rows", "Rows <of> a table.")
    assert rows.code == (
        "class Rows : public Base {\n public:\n  int64_t count() const { return rows_; }\n};"
    )
    assert total.name == "sum"
    assert cpp_reference.prose(rows.comment) == "Rows \\<of\\> a table."
    assert cpp_reference.prose(total.comment) == "Adds; see `the_sum`."


def test_decisions_are_all_named_by_their_index() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = {file.name for file in folder.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\((\S+?\.md)\)", index)) == pages


def test_the_site_builds_and_is_searched_without_a_network(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    assert docs_site.main([str(tmp_path)]) == 0
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Fast joins" in index
    searched = (tmp_path / "search" / "search_index.js").read_text(encoding="utf-8")
    assert "docs/guide-joins.html#" in searched
    assert "Relation.join" in searched
    loaded = re.compile(r'<(?:script|link|img)[^>]* (?:src|href)="(https?:[^"]*)')
    for page in tmp_path.rglob("*.html"):
        assert loaded.findall(page.read_text(encoding="utf-8")) == [], page
