"""crossdock topo."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_machine_as_text(crossdock: Any, golden: Callable[[str, str], None]) -> None:
    ended = crossdock("topo", "--machine", "figure-2i")
    assert (ended.code, ended.err) == (0, "")
    golden("topo-figure-2i", ended.out)


def test_json_is_what_file_reads(crossdock: Any, tmp_path: Path) -> None:
    ended = crossdock("topo", "--machine", "gh200:3", "--json")
    graph = json.loads(ended.out)
    assert (ended.code, graph["schema_version"], len(graph["servers"])) == (0, 1, 3)
    path = tmp_path / "three.json"
    path.write_text(ended.out, encoding="utf-8")
    again = crossdock("topo", "--file", str(path), "--json")
    assert json.loads(again.out) == graph


def test_pictures_are_written(crossdock: Any, tmp_path: Path) -> None:
    path = tmp_path / "machine.svg"
    ended = crossdock("topo", "--machine", "topo-5", "--svg", str(path))
    assert ended.code == 0
    assert path.read_text(encoding="utf-8").startswith("<svg")
    assert str(path) in ended.err
    ended = crossdock("topo", "--machine", "topo-5", "--svg", str(tmp_path / "no" / "a.svg"))
    assert (ended.code, "cannot be written" in ended.err) == (1, True)


def test_the_catalogue_is_listed(crossdock: Any) -> None:
    ended = crossdock("topo", "--list")
    assert "dgx-a100" in ended.out
    machines = json.loads(crossdock("topo", "--list", "--json").out)["machines"]
    assert all(machine["source"] for machine in machines)


def test_a_matrix_of_nvidia_smi(crossdock: Any, golden: Callable[[str, str], None]) -> None:
    data = Path(__file__).resolve().parents[1] / "topology" / "data"
    ended = crossdock("topo", "--nvidia-smi", str(data / "dgx-1v.topo.txt"))
    assert (ended.code, ended.err) == (0, "")
    golden("topo-nvidia-smi", ended.out.replace(str(data) + "/", ""))


def test_this_machine(crossdock: Any) -> None:
    ended = crossdock("topo")
    assert ended.code == 0
    assert "cpu0" in ended.out


def test_errors(crossdock: Any, tmp_path: Path) -> None:
    ended = crossdock("topo", "--machine", "dgx2")
    assert (ended.code, "did you mean 'dgx-2'" in ended.err) == (1, True)
    ended = crossdock("topo", "--machine", "dgx-2", "--list")
    assert (ended.code, "exclude each other" in ended.err) == (2, True)
    ended = crossdock("topo", "--list", "--svg", str(tmp_path / "a.svg"))
    assert (ended.code, "--list draws nothing" in ended.err) == (2, True)
    bad = tmp_path / "bad.json"
    bad.write_text('{"format": "crossdock-topology", "schema_version": 9}', encoding="utf-8")
    ended = crossdock("topo", "--file", str(bad))
    assert (ended.code, "schema_version is 9" in ended.err) == (1, True)
    ended = crossdock("topo", "--nvidia-smi", str(bad))
    assert (ended.code, "is the header of a matrix" in ended.err) == (1, True)
    ended = crossdock("topo", "--hwloc", str(bad))
    assert (ended.code, "no hwloc XML" in ended.err) == (1, True)


def test_the_example_of_a_container(crossdock: Any) -> None:
    path = Path(__file__).parents[2] / "examples" / "03-ranks" / "container.json"
    ended = crossdock("topo", "--file", str(path))
    assert (ended.code, ended.err) == (0, "")
    assert "pod: 1 CPU, 1 NIC" in ended.out
    assert "eth0 and network" in ended.out


def test_files_that_hold_no_machine(crossdock: Any, tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    for option, text in (
        ("--file", '{"format": "other"}'),
        ("--hwloc", "no XML"),
        ("--nvidia-smi", "none"),
    ):
        path.write_text(text, encoding="utf-8")
        ended = crossdock("topo", option, str(path))
        assert (ended.code, f"[CD-601]: {str(path)!r}: " in ended.err) == (1, True)
    for text in ("", " \n"):
        path.write_text(text, encoding="utf-8")
        ended = crossdock("topo", "--file", str(path))
        assert (ended.code, f"{str(path)!r} is empty" in ended.err) == (1, True)
        assert "--json, which prints an example" in ended.err
    for option, most in (("--file", "64.0 MiB"), ("--hwloc", "64.0 MiB"), ("--nvidia-smi", "1.00")):
        ended = crossdock("topo", option, "/dev/zero")
        assert (ended.code, f"'/dev/zero' is larger than {most}" in ended.err) == (1, True)
        ended = crossdock("topo", option, "a\0b")
        assert (ended.code, "[CD-502]: 'a\\x00b' cannot be read" in ended.err) == (1, True)


def test_a_mark_of_the_byte_order_is_none_of_the_text(crossdock: Any, tmp_path: Path) -> None:
    data = Path(__file__).resolve().parents[1] / "topology" / "data"
    matrix = (data / "dgx-1v.topo.txt").read_text(encoding="utf-8")
    path = tmp_path / "marked.txt"
    shown = []
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text(matrix, encoding=encoding)
        shown.append(crossdock("topo", "--nvidia-smi", str(path)))
    assert (shown[0].code, shown[0]) == (0, shown[1])
