"""crossdock demo: makes its data once, and shows result and cost."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from crossdock_cli import tpch

has_generator = (
    shutil.which("tpchgen-cli") or Path(sys.executable).with_name("tpchgen-cli").is_file()
)
needs_generator = pytest.mark.skipif(not has_generator, reason="tpchgen-cli is not installed")


@needs_generator
def test_the_demo_runs_twice_and_makes_data_once(crossdock: Any, tmp_path: Path) -> None:
    first = crossdock("demo", "--scale", "0.01", "--data", str(tmp_path))
    assert first.code == 0, first.err
    assert "data   make TPC-H lineitem and orders at scale 0.01" in first.err
    assert "60,175 rows (10 shown)   3 columns" in first.out
    assert "o_orderpriority" in first.out
    assert "75,175 rows in, 60,175 out" in first.out
    for part in ("rows expected", "thread time", "tuples/s", "peak memory"):
        assert part in first.out
    assert "group by o_orderpriority order by price desc" in first.out
    assert "5 rows" in first.out
    assert [entry.name for entry in tmp_path.iterdir()] == ["tpch-sf0.01"]
    second = crossdock("demo", "--scale", "0.01", "--data", str(tmp_path), "--json")
    assert "make" not in second.err
    report = json.loads(second.out)
    assert report["schema_version"] == 1
    assert report["result_rows"] == 60_175
    assert report["tuples_per_s"] > 0
    assert report["process_peak_bytes"] > 0
    assert report["sql"]["profile"]["result_rows"] == 5


def test_without_the_generator(
    crossdock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = crossdock("demo", "--data", str(tmp_path))
    assert ended.code == 1
    assert "pip install 'crossdock[demo]'" in ended.err


def test_a_generator_that_fails_leaves_nothing(
    crossdock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no space left >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(tpch, "_generator", lambda: str(broken))
    ended = crossdock("demo", "--data", str(tmp_path / "data"))
    assert ended.code == 1
    assert "tpchgen-cli stopped: no space left" in ended.err
    assert list((tmp_path / "data").iterdir()) == []
