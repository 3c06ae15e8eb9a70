"""crossdock simulate: its table, its JSON, its pictures, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

JOIN = ("--machine", "superpod-h100:128", "--join", "1e9 x 4e9, 16 B, Zipf 0.5")


def test_strategies_are_printed(crossdock: Any, golden: Callable[[str, str], None]) -> None:
    ended = crossdock("simulate", "--machine", "superpod-a100:16", "--join", "1e9 x 4e9")
    assert (ended.code, ended.err) == (0, "")
    golden("simulate", ended.out)


def test_a_sweep_is_printed(crossdock: Any, golden: Callable[[str, str], None]) -> None:
    ended = crossdock("simulate", "--machine", "superpod-a100:16", "--join",
                      "1.5e8 x 6e8 each, 12 B x 8 B", "--sweep", "gpus=8..128")  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    golden("simulate-sweep", ended.out)


def test_json_is_the_same_to_the_byte_for_a_seed(crossdock: Any) -> None:
    slow = ("--slow-servers", "3", "--seed", "7", "--json")
    first = crossdock("simulate", *JOIN, *slow).out
    assert first == crossdock("simulate", *JOIN, *slow).out
    data = json.loads(first)
    assert (data["schema_version"], data["seed"]) == (1, 7)
    (point,) = data["points"]
    assert point["outcomes"][0]["strategy"]["planned"]
    assert {"seconds", "phases", "links", "rank_memory_bytes", "bound"} <= set(point["outcomes"][0])


def test_a_plan_is_simulated(crossdock: Any, tmp_path: Path) -> None:
    scan = {"operator": "scan", "headline": "scan", "columns": ["a", "b"], "inputs": []}
    inputs = [{**scan, "rows_expected": rows} for rows in (1000, 4000)]
    join = {"operator": "join", "headline": "inner join on a = b", "columns": [], "inputs": inputs}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"schema_version": 1, "plan": join}))
    named = ("simulate", "--machine", "superpod-a100:16", "--plan", str(path), "--times", "1e6")
    ended = crossdock(*named, "--json")
    assert (ended.code, ended.err) == (0, "")
    data = json.loads(ended.out)
    (one,) = data["joins"]
    assert one["join"] == "inner join on a = b"
    planned = one["points"][0]["outcomes"][0]
    assert (planned["join"]["build_rows"], planned["join"]["probe_rows"]) == (1e9, 4e9)
    assert data["seconds"] == planned["seconds"]
    assert "1 join as planned" in crossdock(*named, "--planned").out


def test_pictures_are_written(crossdock: Any, tmp_path: Path) -> None:
    path = tmp_path / "join.svg"
    ended = crossdock("simulate", *JOIN, "--planned", "--svg", str(path))
    assert ended.code == 0
    assert path.read_text().startswith("<svg")
    ended = crossdock("simulate", *JOIN, "--planned", "--svg", str(tmp_path / "no" / "x.svg"))
    assert ended.code == 1
    assert "cannot be written" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--machine", "superpod-h10", "--join", "1 x 1"), 1, "did you mean 'superpod-h100"),
        (("--machine", "superpod:128", "--join", "1 x 1"), 1, "superpod-a100, superpod-h100"),
        (("--machine", "dgx-a100", "--join", "1 x 1", "--rate", "build=0"), 1, "1 to 1e+18"),
        (("--machine", "dgx-a100:2", "--join", "1 x 1", "--slow-links", "3"), 1, "0 to 2"),
        (("--machine", "dgx-a100", "--join", "many x 1"), 1, "1e9 x 4e9, 16 B, Zipf 0.5"),
        (("--machine", "dgx-a100", "--join", "1e6 x 1", "--sweep", "gpus=8..16"), 1,
         "the machine has 8"),
        (("--machine", "dgx-a100", "--join", "1e6 x 1", "--rate", "scan=fast"), 2, "build=2e10"),
        (("--machine", "dgx-a100", "--join", "1e6 x 1", "--slowness", "0"), 1, "slowness=0"),
        (("--machine", "dgx-a100"), 2, "--join"),
        (("--machine", "dgx-a100", "--join", "1 x 1", "--plan", "p.json"), 2, "one of them"),
        (("--machine", "dgx-a100", "--plan", "no/such.json"), 2, "no/such.json"),
        (("--machine", "dgx-a100", "--plan", "p", "--sweep", "gpus=2,4"), 2, "no --sweep"),
        (("--machine", "dgx-a100", "--join", "1 x 1", "--times", "2"), 2, "--times is of --plan"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(
    crossdock: Any, arguments: tuple[str, ...], code: int, says: str
) -> None:
    ended = crossdock("simulate", *arguments)
    assert ended.code == code
    assert says in ended.err
