"""The help, compared with golden files."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

VERBS = (
    "head",
    "schema",
    "count",
    "describe",
    "convert",
    "join",
    "groupby",
    "sort",
    "partition",
    "topo",
    "plan",
    "simulate",
    "perf",
    "controller",
    "agent",
    "status",
    "demo",
    "generate",
    "calibrate",
    "info",
    "doctor",
    "config",
    "config list",
)


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help(crossdock: Any, golden: Callable[[str, str], None], verb: str) -> None:
    ended = crossdock(*verb.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    golden("help-" + (verb.replace(" ", "-") or "crossdock"), ended.out)


def test_no_verb_shows_help(crossdock: Any) -> None:
    ended = crossdock()
    assert ended.code == 2
    assert "crossdock demo" in ended.out + ended.err


@pytest.mark.parametrize(
    "verb",
    [
        "join",
        "groupby",
        "sort",
        "partition",
        "head",
        "schema",
        "describe",
        "convert",
    ],
)
def test_the_examples_are_understood(crossdock: Any, folder: Any, verb: str) -> None:
    lines = [
        line.strip() for line in crossdock(verb, "--help").out.splitlines()
        if line.strip().startswith("crossdock ")
    ]  # fmt: skip
    assert len(lines) == 3
    for line in lines:
        ended = crossdock(*shlex.split(line)[1:])
        assert ended.code == 1, ended.err  # the files are not there, the usage is right
        assert "CD-502" in ended.err


def test_version(crossdock: Any) -> None:
    import crossdock as xd

    assert crossdock("--version").out == f"crossdock {xd.__version__}\n"


def test_help_loads_neither_pyarrow_nor_rich() -> None:
    program = (
        "import sys; from crossdock_cli.main import run; code = run(['--help']);"
        "heavy = [m for m in ('pyarrow', 'rich') if m in sys.modules];"
        "assert code == 0 and not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)
