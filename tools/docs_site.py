"""Builds the documentation site: `make docs`, or `python tools/docs_site.py [FOLDER]`.

The pages of the site are the Markdown files of this repository, at the same places, so that their
links hold in both. They are copied to build/docs-source, where two kinds of pages are added: the
reference of Python (mkdocstrings reads it from python/crossdock) and of C++ (cpp_reference.py reads
the public headers), and a page for every source that a page links. mkdocs.yml has the navigation;
whatever is not in it, or does not resolve, ends the build.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cpp_reference

ROOT = Path(__file__).resolve().parent.parent
STAGED = ROOT / "build" / "docs-source"
PAGES = [
    "*.md",
    "docs/**/*.md",
    "bench/README.md",
    "bench/baselines/*.md",
    "examples/*/README.md",
]
LINK = re.compile(r"(?<=\]\()([^)\s#]+)")
# Signs that Markdown reads inside <code>, where code hosts leave them alone.
CODE = re.compile(r"(?<=<code>).*?(?=</code>)")
SIGNS = {ord(sign): f"&#{ord(sign)};" for sign in "*_[]"}
# A bar in code in a table, whose backslash only code hosts take away.
BAR = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
CODE_KINDS = {
    ".hpp": "cpp",
    ".cpp": "cpp",
    ".cuh": "cpp",
    ".cu": "cpp",
    ".py": "python",
    ".sh": "bash",
    ".toml": "toml",
    ".json": "json",
    ".yaml": "yaml",
    ".txt": "cmake",
    ".proto": "protobuf",
    ".slurm": "bash",
}

# The public names of Python, in the order of the reference.
PYTHON_REFERENCE = {
    "Sessions and files": [
        *("connect", "Dock", "default_dock", "read", "read_parquet", "read_csv"),
        *("read_csv_rejects", "read_json", "read_json_rejects"),
        *("read_ipc", "read_delta", "read_iceberg", "from_arrow", "register", "unregister", "sql"),
        *("from_substrait", "current_settings"),
    ],
    "Relations": ["Relation", "Grouping", "Partitions", "Plan", "Profile", "asc", "desc", "Order"],
    "Expressions": [
        *("Expr", "col", "lit", "when", "coalesce", "nullif", "greatest", "least", "concat"),
        *("make_date", "sql_expr"),
    ],
    "Aggregates": [
        *("Aggregate", "count", "count_if", "sum", "mean", "min", "max", "any", "first", "last"),
        *("arg_min", "arg_max", "bool_and", "bool_or", "var", "stddev", "count_distinct"),
        *("approx_distinct", "median", "median_exact", "quantile", "quantile_exact"),
        *("quantile_disc", "string_agg", "list_agg", "mode", "product", "bit_and", "bit_or"),
        *("bit_xor", "entropy", "mad", "skewness", "kurtosis", "kurtosis_pop"),
    ],
    "Window functions": [
        *("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"),
        *("first_value", "last_value", "nth_value"),
    ],
    "Groups of processes": ["join_group", "Group", "Channel", "Rendezvous", "to_prometheus"],
    "Machines": [
        *("Topology", "simulate", "Simulation", "simulate_plan", "SimulatedPlan", "Device"),
        "DeviceTable",
    ],
    "Errors": [
        *("CrossdockError", "CancelledError", "CapacityError", "ClosedError", "ColumnError"),
        *("ControlError", "DataError", "DeviceError", "ExpressionError", "InternalError"),
        *("OptionError", "PathError", "SqlError", "TopologyError", "TypeError", "error_table"),
    ],
    "About this build": ["build_info", "machine_info"],
}


def home_of(name: str) -> str:
    """The module that defines a public name, as python/crossdock/__init__.pyi imports it."""
    text = (ROOT / "python" / "crossdock" / "__init__.pyi").read_text(encoding="utf-8")
    if (match := re.search(rf"from (\S+) import {name} as", text)) is not None:
        return match[1]
    raise SystemExit(f"{name} is not public: correct PYTHON_REFERENCE")


def python_reference() -> str:
    parts = ["# Python\n\nThe names of `crossdock`, with their types. Guides show them at work.\n"]
    for title, names in PYTHON_REFERENCE.items():
        parts.append(f"\n## {title}\n")
        parts += [f"\n::: {home_of(name)}.{name}\n" for name in names]
    return "".join(parts)


def stage() -> None:
    """Copies the pages, and adds what they link."""
    shutil.rmtree(STAGED, ignore_errors=True)
    pages = {file.relative_to(ROOT): file for pattern in PAGES for file in ROOT.glob(pattern)}
    sources = {page: file.read_text(encoding="utf-8") for page, file in pages.items()}
    sources[Path("docs/reference-python.md")] = python_reference()
    sources[Path("docs/reference-cpp.md")] = cpp_reference.page(ROOT)
    for page, text in sources.items():
        linked = LINK.sub(lambda match, page=page: staged_link(page, match[1], sources), text)
        barred = BAR.sub(lambda match: code_with_bars(match[1]), linked)
        put(page, CODE.sub(lambda match: match[0].translate(SIGNS), barred))
    for name in ("docs/site.css", "docs/iframe-worker.js"):
        put(Path(name), (ROOT / name).read_text(encoding="utf-8"))


def code_with_bars(code: str) -> str:
    return f"<code>{html.escape(code)}</code>".replace("\\|", "&#124;")


def put(page: Path, text: str) -> None:
    (STAGED / page).parent.mkdir(parents=True, exist_ok=True)
    (STAGED / page).write_text(text, encoding="utf-8")


def staged_link(page: Path, link: str, pages: dict[Path, str]) -> str:
    """The link as the site has it: to a page, a picture, or a page made of a source."""
    if re.match(r"[a-z]+:", link):
        return link
    target = Path(os.path.normpath(page.parent / link))
    if target in pages:
        return link
    file = ROOT / target
    if not file.is_file():
        return link  # mkdocs says so
    if file.suffix == ".svg" or file.suffix not in CODE_KINDS:
        (STAGED / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, STAGED / target)
        return link
    code = file.read_text(encoding="utf-8")
    head = f"---\nsearch:\n  exclude: true\n---\n# {target.as_posix()}\n\n"
    put(Path(f"{target}.md"), f"{head}````{CODE_KINDS[file.suffix]}\n{code}````\n")
    return f"{link}.md"


def main(arguments: list[str]) -> int:
    site = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    stage()
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"]
    # The theme warns of what will become of mkdocs, which is no matter of this build.
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run([*command, "--site-dir", str(site)], cwd=ROOT, env=quiet, check=False)
    if ended.returncode == 0:
        print(f"docs: {site}/index.html")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
