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
        (("--machine", "dgx-a100", "--join", "many x 1"), 1, "1e9 x 4e9, 16 B, Zipf 0.5"),
        (("--machine", "dgx-a100", "--join", "1e6 x 1", "--sweep", "gpus=8..16"), 1,
         "the machine has 8"),
        (("--machine", "dgx-a100", "--join", "1e6 x 1", "--rate", "scan=fast"), 2, "build=2e10"),
        (("--machine", "dgx-a100", "--join", "1e6 x 1", "--slowness", "0"), 1, "slowness=0"),
        (("--machine", "dgx-a100"), 2, "--join"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(
    crossdock: Any, arguments: tuple[str, ...], code: int, says: str
) -> None:
    ended = crossdock("simulate", *arguments)
    assert ended.code == code
    assert says in ended.err
