"""The documents say what is: their snippets run, their tables and help equal the real ones.

GOLDEN_UPDATE=1 writes the help of docs/reference-cli.md again.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import crossdock as xd
import pytest
from crossdock import _native
from crossdock_cli import command as verbs
from crossdock_cli.main import cli

FENCE = re.compile(r"^```(?P<kind>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the line it starts on."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A line after `$ ` of a console block, and the output shown below it."""

    line: str
    output: str


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(match["kind"], match["text"], text.count("\n", 0, match.start()) + 2)
        for match in FENCE.finditer(text)
    ]


def commands(block: Block) -> list[Command]:
    """The commands of a console block."""
    result = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        result.append(Command(line, output))
    return result


def matches(shown: str, actual: str) -> bool:
    """Whether `actual` is what a page shows, where `...` stands for any text, also of several
    lines. Blanks at the ends of lines do not count."""

    def trimmed(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())

    pattern = ".*".join(re.escape(part) for part in trimmed(shown).split("..."))
    return re.fullmatch(pattern, trimmed(actual), re.DOTALL) is not None


def tables(page: Path) -> list[list[list[str]]]:
    """The tables of a page: rows of cells, header first, code marks removed."""
    result: list[list[list[str]]] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if not inside:
            result.append([])
            inside = True
        if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            result[-1].append(cells)
    return result


ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/*/*.md")])
SNIPPETS = [page for page in PAGES if any(b.kind != "" for b in blocks(page))]
BIN = Path(sys.executable).parent
SOURCE_FOLDERS = ("src", "include", "python/crossdock", "cli", "tools", "cmake")
SOURCE_SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".py", ".pyi", ".toml", ".cmake"}


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="session")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small TPC-H tables that the pages use, made as the tutorial makes them."""
    folder = tmp_path_factory.mktemp("tpch")
    run_shell("crossdock demo --scale 0.01 --data .", folder)
    return folder / "tpch-sf0.01"


@pytest.fixture
def folder(tpch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working folder of a page: holds lineitem.parquet and orders.parquet."""
    for table in tpch.glob("*.parquet"):
        shutil.copy(table, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("CROSSDOCK_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    yield tmp_path
    # What a page started and, because it failed, did not end.
    if (tmp_path / "pids").exists():
        for pid in (tmp_path / "pids").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def run_shell(line: str, folder: Path) -> tuple[int, str, str]:
    """Exit status, output and errors of one line of shell."""
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    ended = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=folder,
        env=os.environ | {"PATH": path, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("page", SNIPPETS, ids=page_id)
def test_snippets_run_and_show_what_they_print(page: Path, folder: Path) -> None:
    """Python blocks share one namespace per page; a text block shows the output of the Python
    block before it. A console block shows standard output, or standard error if it failed."""
    names: dict[str, object] = {"__name__": page.stem}
    printed = ""
    for block in blocks(page):
        where = f"{page_id(page)}:{block.line}"
        if block.kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
            printed = out.getvalue()
        elif block.kind == "text" and not page.name.startswith("reference-"):
            assert matches(block.text, printed), f"{where} printed:\n{printed}"
        elif block.kind == "console":
            for command in commands(block):
                code, output, errors = run_shell(command.line, folder)
                actual = output if code == 0 else errors
                assert matches(command.output, actual), f"{where} printed:\n{actual}"


def test_cpp_blocks_stand_in_sources_that_are_compiled() -> None:
    compiled = {
        line.strip()
        for folder in ("examples", "tests/session")
        for source in (ROOT / folder).rglob("*.cpp")
        for line in source.read_text(encoding="utf-8").splitlines()
    }
    for page in PAGES:
        for block in blocks(page):
            if block.kind != "cpp":
                continue
            for line in block.text.splitlines():
                assert line.strip() in compiled, f"{page_id(page)}:{block.line}: {line}"


def test_plain_blocks_name_real_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set()
    for page in PAGES:
        for block in blocks(page):
            if block.kind == "":
                named |= set(re.findall(r"^make ([\w-]+)", block.text, re.MULTILINE))
    assert {"run", "test"} <= named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


def helps() -> Iterator[tuple[str, str]]:
    """(command, help text) of the command line and every verb."""

    def walk(
        command: click.Command, parent: click.Context | None, name: str
    ) -> Iterator[tuple[str, str]]:
        context = click.Context(
            command, parent=parent, info_name=name.split()[-1], **verbs.SETTINGS
        )
        yield name, command.get_help(context) + "\n"
        if isinstance(command, click.Group):
            for verb in command.list_commands(context):
                below = command.get_command(context, verb)
                assert below is not None
                yield from walk(below, context, f"{name} {verb}")

    yield from walk(cli, None, "crossdock")


def test_reference_of_the_command_line_equals_its_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    page = DOCS / "reference-cli.md"
    head = page.read_text(encoding="utf-8").partition("\n## ")[0] if page.exists() else ""
    sections = [f"\n## {name}\n\n```text\n{text}```\n" for name, text in helps()]
    expected = head + "".join(sections)
    if os.environ.get("GOLDEN_UPDATE") == "1":
        page.write_text(expected, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == expected


def test_reference_of_errors_equals_the_table() -> None:
    codes, classes, _ = tables(DOCS / "reference-errors.md")
    shown = [(code, kind.strip("`"), what) for code, kind, what, _ in codes[1:]]
    assert shown == xd.error_table()
    for name, builtin in classes[1:]:
        result = getattr(xd, name.strip("`"))
        assert issubclass(result, getattr(builtins, builtin.strip("`"))), name


def test_reference_of_settings_equals_the_table() -> None:
    (table,) = tables(DOCS / "reference-settings.md")
    shown = [(name.strip("`"), default, doc) for name, _, default, doc in table[1:]]
    assert shown == _native.settings_table()
    for setting, row in zip(xd.current_settings(), table[1:], strict=True):
        assert row[1] == f"`{setting.variable}`"


def test_fields_of_a_profile_are_those_of_the_concept_page() -> None:
    result = tables(DOCS / "concept-hash-join.md")
    table = next(table for table in result if table[0] == ["field", "meaning"])
    shown = {name for field, _ in table[1:] for name in re.findall(r"`(\w+)`", field)}
    with xd.connect() as dock:
        side = dock.from_arrow(xd_table())
        data = side.join(side, on="k").profile().data["steps"][-1]["profile"]
    assert shown - {"strategy_change"} <= data.keys()
    phase_fields = {name for phase in data["phases"] for name in phase}
    assert phase_fields == {"name", "rows", "bytes", "predicted_s", "measured_s"}


def test_rules_of_the_concept_page_are_those_of_the_engine() -> None:
    page = (DOCS / "concept-execution.md").read_text(encoding="utf-8")
    sentence = page.partition("rules with a name")[2].partition(". A query")[0]
    assert re.findall(r"`(\w+)`", sentence) == _native.Query.rules()


def test_rates_of_the_planner_page_are_the_planners() -> None:
    table = next(t for t in tables(DOCS / "concept-planner.md") if "together" in t[0])
    assert len(table) == 6
    for machine, source, destination, ways, rate, time in table[1:]:
        plan = xd.Topology.machine(machine.strip("`")).plan(
            source.strip("`"), destination.strip("`")
        )
        shown = f"{rate} over {ways} way{'' if ways == '1' else 's'}; 1.00 GiB in {time})"
        assert repr(plan).endswith(shown)


def test_fields_of_a_plan_are_those_of_the_planner_page() -> None:
    by_name = {table[0][0]: table for table in tables(DOCS / "concept-planner.md")}
    topology = xd.Topology.machine("figure-2i")
    plans = {
        "field of a transfer": topology.plan("node0/gpu0", "node1/gpu0").to_dict(),
        "field of an exchange": topology.plan_exchange().to_dict(),
    }
    page = (DOCS / "concept-planner.md").read_text(encoding="utf-8")
    for name, data in plans.items():
        shown = [field for row in by_name[name][1:] for field in re.findall(r"`(\w+)`", row[0])]
        assert set(shown) == set(data)
        inner = [value for value in data.values() if isinstance(value, list | dict)]
        for part in inner:
            first = part[0] if isinstance(part, list) else part
            assert all(f"`{field}`" in page for field in first if field != "first")


def xd_table() -> object:
    import pyarrow as pa

    return pa.table({"k": list(range(1000))})


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_relative_links_lead_somewhere(page: Path) -> None:
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:", link):
            target = page.parent / link.partition("#")[0]
            assert target.exists(), f"{page_id(page)}: {link}"


def source_words(*more_folders: str) -> set[str]:
    words: set[str] = set()
    for name in (*SOURCE_FOLDERS, *more_folders):
        for file in (ROOT / name).rglob("*"):
            if file.suffix in SOURCE_SUFFIXES:
                words |= set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
                words.add(file.name)
    return words


def test_names_of_the_glossary_exist_in_the_sources() -> None:
    words = source_words()
    table, *_ = tables(ROOT / "GLOSSARY.md")
    assert 30 < len(table) <= 61
    for row in table[1:]:
        for name in re.findall(r"`([\w.]+)`", row[2]):
            assert name in words, f"GLOSSARY.md: {row[0]}: {name}"


@pytest.mark.parametrize(
    "page",
    [ROOT / "ARCHITECTURE.md", *DOCS.glob("concept-*.md"), *DOCS.glob("decisions/*.md")],
    ids=page_id,
)
def test_type_names_in_the_text_exist_in_the_sources(page: Path) -> None:
    words = source_words()
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for name in set(re.findall(r"`([A-Za-z]\w*[A-Z_]\w*)`", prose)):
        assert name in words, f"{page_id(page)}: {name}"
    for name in set(re.findall(r"`(?:src/)?([\w/]+\.(?:hpp|cpp|toml|py))`", prose)):
        is_there = (ROOT / name).exists() or name.rsplit("/", 1)[-1] in words
        assert is_there, f"{page_id(page)}: {name}"


def test_names_of_the_recipes_exist() -> None:
    """`x` and `X` in a name stand for what is added."""
    words = source_words("tests", "docs", "python/bindings")
    for name in re.findall(r"`([\w/.*]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        if re.search(r"(?:^|[_/])x(?:[_.]|$)|^X|Crossdock|\*", name):
            continue
        is_path = "/" in name or Path(name).suffix in (".hpp", ".cpp", ".py", ".toml", ".pyi")
        is_there = (ROOT / name).exists() or name.rsplit("/", 1)[-1] in words
        assert is_there if is_path else set(name.split(".")) <= words, f"CONTRIBUTING.md: {name}"


def test_rooms_of_the_architecture_stand_in_the_order_of_the_layers() -> None:
    layers = tomllib.loads((ROOT / "tools" / "layers.toml").read_text(encoding="utf-8"))
    folders = [row.get("folder", f"src/{row['name']}") for row in layers["room"]]
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    places = [text.find(f"**{folder}") for folder in folders]
    assert all(place >= 0 for place in places), dict(zip(folders, places, strict=True))
    assert places == sorted(places)


def test_pictures_show_the_sources(tmp_path: Path) -> None:
    for program in ("draw_walk.py", "draw_channel.py", "draw_benchmarks.py"):
        drawn = subprocess.run([sys.executable, DOCS / program, "--check"], check=False)
        assert drawn.returncode == 0, f"python docs/{program}"
    fresh = tmp_path / "rooms.svg"
    tidy = [sys.executable, ROOT / "tools" / "tidy.py", "--graph", fresh]
    subprocess.run(tidy, check=True)
    rooms = (DOCS / "pictures" / "rooms.svg").read_text(encoding="utf-8")
    # How often a room includes another changes with every edit; whether it does, seldom.
    arcs = [
        set(re.findall(r"<title>(.+ includes .+): \d+</title>", text))
        for text in (rooms, fresh.read_text(encoding="utf-8"))
    ]
    assert arcs[0] == arcs[1], "python tools/tidy.py --graph docs/pictures/rooms.svg"


def test_examples_print_what_their_page_shows() -> None:
    for page in ROOT.glob("examples/*/README.md"):
        shown = blocks(page)[0].text
        for script in page.parent.glob("*.py"):
            ended = subprocess.run(
                [sys.executable, script], capture_output=True, text=True, check=True
            )
            assert matches(shown, ended.stdout), script


def test_job_files_are_well_formed() -> None:
    """The script is one for bash with options that Slurm takes; the manifest is the one that the
    MPI Operator takes, in the plain YAML of which mappings and lists are made."""
    folder = ROOT / "examples" / "03-ranks"
    script = folder / "job.slurm"
    subprocess.run(["bash", "-n", script], check=True)
    options = re.findall(r"^#SBATCH --([a-z-]+)=\S+$", script.read_text("utf-8"), re.MULTILINE)
    assert script.read_text("utf-8").count("#SBATCH") == len(options) > 3
    job = yaml_of((folder / "mpijob.yaml").read_text("utf-8").splitlines())
    assert job["kind"] == "MPIJob"
    replicas = job["spec"]["mpiReplicaSpecs"]
    for role, container in (("Launcher", "launcher"), ("Worker", "worker")):
        (result,) = replicas[role]["template"]["spec"]["containers"]
        assert result["name"] == container
    (launcher,) = replicas["Launcher"]["template"]["spec"]["containers"]
    line = " ".join(launcher["command"])
    assert line.startswith(f'mpirun -n "{replicas["Worker"]["replicas"]}" crossdock join ')
    claims = {volume["name"] for volume in replicas["Worker"]["template"]["spec"]["volumes"]}
    (worker,) = replicas["Worker"]["template"]["spec"]["containers"]
    assert {mount["name"] for mount in worker["volumeMounts"]} == claims


def yaml_of(lines: list[str]) -> Any:
    """Mappings, lists and plain scalars by indentation; anything else is an error."""
    rows = []
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        assert "\t" not in line, line
        rows.append((len(line) - len(line.lstrip()), line.strip()))

    def value(at: int, indent: int) -> tuple[Any, int]:
        result: Any = [] if rows[at][1].startswith("- ") else {}
        while at < len(rows) and rows[at][0] == indent:
            text = rows[at][1]
            if isinstance(result, list):
                assert text.startswith("- "), text
                if ": " not in text and not text.endswith(":"):
                    result.append(text[2:])
                    at += 1
                    continue
                rows[at] = (indent + 2, text[2:])
                item, at = value(at, indent + 2)
                result.append(item)
                continue
            match = re.fullmatch(r"([\w.-]+):(?: (\S.*))?", text)
            assert match is not None, text
            assert match[1] not in result, text
            at += 1
            if match[2] is None:
                assert at < len(rows), text
                assert rows[at][0] > indent, text
                result[match[1]], at = value(at, rows[at][0])
            else:
                result[match[1]] = match[2]
        return result, at

    whole, end = value(0, 0)
    assert end == len(rows), rows[end]
    return whole
