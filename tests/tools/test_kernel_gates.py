"""What tools/kernel_gates.py sees in machine code, and what it says of a kernel over its budget."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import kernel_gates


def looked_at(code: str) -> dict[str, int]:
    kernel = kernel_gates.Kernel("k")
    result = kernel_gates.INSTRUCTION.findall(code)
    kernel_gates.look_at(kernel, [kernel_gates.Line(int(at, 16), *rest) for at, *rest in result])
    return kernel.counts


@pytest.mark.parametrize(
    ("code", "counted"),
    [
        ("/*0010*/ REDG.E.ADD.64.STRONG.GPU desc[UR4][R2.64], R6 ;", "reductions"),
        ("/*0010*/ ATOMG.E.ADD.64.STRONG.GPU PT, RZ, desc[UR4][R2.64], R6 ;", "unused_results"),
        ("/*0010*/ @P1 ATOMG.E.ADD.64.STRONG.GPU PT, R8, desc[UR4][R2.64], R6 ;", "used_results"),
        ("/*0010*/ ATOM.E.ADD.64.STRONG.GPU P0, RZ, desc[UR4][R2.64], R6 ;", "generic_atomics"),
        ("/*0010*/ QSPC.E.S P0, RZ, [R2] ;", "generic_atomics"),
        ("/*0010*/ @!P0 LDG.E.64.CONSTANT R2, desc[UR4][R2.64] ;", "non_coherent_loads"),
        ("/*0010*/ MEMBAR.SC.GPU ;", "sequential_fences"),
        ("/*0020*/ CALL.REL.NOINC 0x90 ;\n/*0030*/ @P0 BRA 0x10 ;", "calls_in_loops"),
    ],
)
def test_instructions_are_counted_for_what_they_cost(code: str, counted: str) -> None:
    others = {"instructions": code.count(";"), counted: 1}
    assert looked_at(code) == others


def test_what_is_no_loop_and_no_reduction_is_not_counted() -> None:
    code = "/*0020*/ CALL.REL.NOINC 0x90 ;\n/*0030*/ @P0 BRA 0x80 ;"
    assert looked_at(code) == {"instructions": 2}
    swap = "/*0010*/ ATOMG.E.EXCH.64.STRONG.GPU PT, RZ, desc[UR4][R2.64], R6 ;"
    assert looked_at(swap) == {"instructions": 1}


def test_names_are_those_of_the_source() -> None:
    name = (
        "void crossdock::operators::run_work<crossdock::operators::GroupAdd>(crossdock::Other<int>)"
    )
    assert kernel_gates.short_name(name) == "run_work<GroupAdd>"
    assert kernel_gates.short_name("crossdock::(anonymous namespace)::stay(unsigned*)") == "stay"


def test_budgets_are_of_whole_blocks() -> None:
    budget: dict[str, Any] = {"name": "k", "threads": 512, "blocks": 3}
    assert kernel_gates.findings(kernel_gates.Kernel("k", 40, 0, 70_000), budget) == []
    crowded = kernel_gates.findings(kernel_gates.Kernel("k", 41, 0, 80_000), budget)
    assert [line.split(";")[0] for line in crowded] == [
        "41 registers",
        "80000 bytes of shared memory",
    ]
    spilled = kernel_gates.Kernel("k", 40, 8, 0, {"generic_atomics": 2})
    assert len(kernel_gates.findings(spilled, budget)) == 2
    allowed = budget | {"stack_bytes": 8, "generic_atomics": 2, "reductions": 1}
    assert kernel_gates.findings(spilled, allowed) == ["0 reductions; 1 are expected"]


def test_kernels_and_lines_belong_together() -> None:
    table = [
        {"name": "a|b", "threads": 32, "blocks": 1},
        {"name": "gone", "threads": 32, "blocks": 1},
    ]
    wrong = kernel_gates.compare([kernel_gates.Kernel("a"), kernel_gates.Kernel("new")], table)
    assert wrong == ["new: no line of the table is for it", "gone: there is no such kernel"]


def test_the_table_can_be_read() -> None:
    table = kernel_gates.read_table()
    assert all({"name", "threads", "blocks"} <= line.keys() for line in table)


def test_every_kernel_of_the_library_names_a_test_that_launches_it() -> None:
    root = kernel_gates.ROOT
    sources = [file.read_text() for file in (root / "src").rglob("*.cu")]
    kernels = set(re.findall(r"__global__ void[^;{]*?\)?\s+(\w+)\(const __grid", "".join(sources)))
    assert kernels >= {"run_work", "sort_segments", "encode_columns"}
    tests = "".join(file.read_text() for file in (root / "tests" / "gpu").glob("*.cpp"))
    suites = set(re.findall(r"TEST(?:_[PF])?\((\w+),", tests))
    ctest = (root / "cmake" / "CrossdockTests.cmake").read_text()
    for kernel in kernels:
        lines = [line for line in kernel_gates.read_table() if named(kernel, line)]
        assert lines, kernel
        for line in lines:
            assert "test" in line, line["name"]
            is_known = line["test"] in suites or f"add_test(NAME {line['test']} " in ctest
            assert is_known, line["test"]


def named(kernel: str, line: dict[str, Any]) -> bool:
    return re.match(rf"{kernel}\b", line["name"]) is not None
