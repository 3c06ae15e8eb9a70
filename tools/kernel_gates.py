"""Reads the machine code of every kernel and compares it with tools/kernel_budgets.toml.

    .venv/bin/python tools/kernel_gates.py build/cuda          # what `check.py` does after nvcc
    .venv/bin/python tools/kernel_gates.py build/cuda --print  # what each kernel has

No GPU is needed: cuobjdump takes the code of sm_90 out of the object files. What costs without
being wrong is seen here and nowhere else: an operation on an address of any space, a result that is
waited for and not used, a division of 64 bits in a loop. (A spill stops the compiler itself.)
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUDGETS = ROOT / "tools" / "kernel_budgets.toml"
LIBRARIES = ("cub::", "thrust::", "void cub::", "void thrust::")

# Of a multiprocessor of sm_90.
REGISTERS = 65_536
REGISTER_UNIT = 8  # of a thread, as the compiler gives them
SHARED_BYTES = 228 << 10

INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)([^;]*);")
TARGET = re.compile(r"0x([0-9a-f]+)")


@dataclass
class Kernel:
    name: str
    registers: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0
    counts: dict[str, int] = field(default_factory=dict)  # of what the gates ask for

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


@dataclass(frozen=True)
class Line:
    address: int
    operation: str
    operands: str


def disassembler() -> Path:
    tools = list(Path(sysconfig.get_path("purelib"), "nvidia").glob("*/bin/cuobjdump"))
    if len(tools) != 1:
        raise SystemExit("no cuobjdump: tools/setup.py installs it with nvidia-cuda-cuobjdump")
    return tools[0]


def output_of(*command: str, given: str = "") -> str:
    answer = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {answer.returncode}: {answer.stderr.strip()}")
    return answer.stdout


def short_name(demangled: str) -> str:
    """`run_work<PartitionCount>` of a mangled name's long form."""
    name = demangled.removeprefix("void ").replace("(anonymous namespace)::", "")
    depth = 0
    for at, letter in enumerate(name):  # up to the arguments
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0:
            name = name[:at]
            break
    name = re.sub(r"\((?:unsigned )?(?:crossdock::)?[\w:]*\)(\d+)", r"\1", name)
    return re.sub(r"\b(?:\w+::)+", "", name)


def kernels_of(file: Path) -> list[Kernel]:
    usage = output_of(str(disassembler()), "-res-usage", str(file))
    kernels: dict[str, Kernel] = {}
    for mangled, resources in re.findall(r"Function (\S+):\s+(REG:.*)", usage):
        numbers = dict(re.findall(r"(\w+):(\d+)", resources))
        kernels[mangled] = Kernel(
            "", int(numbers["REG"]), int(numbers["STACK"]), int(numbers["SHARED"])
        )
    code = output_of(str(disassembler()), "-sass", str(file))
    for mangled, body in re.findall(r"Function : (\S+)\n(.*?)(?=Function : |\Z)", code, re.S):
        if mangled in kernels:
            lines = [Line(int(at, 16), name, rest) for at, name, rest in INSTRUCTION.findall(body)]
            look_at(kernels[mangled], lines)
    names = output_of("c++filt", given="\n".join(kernels)).splitlines()
    for name, kernel in zip(names, kernels.values(), strict=True):
        kernel.name = name
    ours = [kernel for kernel in kernels.values() if not kernel.name.startswith(LIBRARIES)]
    for kernel in ours:
        kernel.name = short_name(kernel.name)
    return ours


def look_at(kernel: Kernel, lines: list[Line]) -> None:
    calls: list[int] = []
    loops: list[tuple[int, int]] = []
    for line in lines:
        kernel.count("instructions")
        operation = line.operation
        first = line.operands.split(",")
        if operation.startswith(("QSPC", "ATOM.")) or operation == "ATOM":
            kernel.count("generic_atomics")
        if operation.startswith("ATOMG") and "CAS" not in operation and "EXCH" not in operation:
            # What was there goes into a register, the first operand or behind a predicate.
            results = [part.strip() for part in first[:2]]
            unused = "RZ" in results
            kernel.count("unused_results" if unused else "used_results")
        if operation.startswith("REDG"):
            kernel.count("reductions")
        if operation.startswith("LDG") and "CONSTANT" in operation:
            kernel.count("non_coherent_loads")
        if operation.startswith("MEMBAR.SC"):
            kernel.count("sequential_fences")
        target = TARGET.search(line.operands)
        if operation.startswith("CALL"):
            calls.append(line.address)
        elif operation.startswith("BRA") and target and int(target[1], 16) < line.address:
            loops.append((int(target[1], 16), line.address))
    for call in calls:
        if any(begin <= call <= end for begin, end in loops):
            kernel.count("calls_in_loops")


# Counted in machine code; a kernel has none unless its line in the table says how many.
NONE_UNLESS_SAID = (
    "generic_atomics",
    "unused_results",
    "non_coherent_loads",
    "sequential_fences",
    "calls_in_loops",
)


def findings(kernel: Kernel, budget: dict[str, Any]) -> list[str]:
    threads, blocks = budget["threads"], budget["blocks"]
    registers = REGISTERS // (threads * blocks) // REGISTER_UNIT * REGISTER_UNIT
    wrong = []
    if kernel.registers > min(registers, 255):
        wrong.append(
            f"{kernel.registers} registers; {blocks} blocks of {threads} threads have {registers}"
        )
    if kernel.shared_bytes * blocks > SHARED_BYTES:
        wrong.append(
            f"{kernel.shared_bytes} bytes of shared memory; {blocks} blocks have "
            f"{SHARED_BYTES // blocks} each"
        )
    stack = budget.get("stack_bytes", 0)
    if kernel.stack_bytes > stack:
        wrong.append(f"a stack of {kernel.stack_bytes} bytes; {stack} are allowed")
    for what in NONE_UNLESS_SAID:
        allowed = budget.get(what, 0)
        if kernel.counts.get(what, 0) > allowed:
            words = what.replace("_", " ")
            wrong.append(f"{kernel.counts[what]} {words}; {allowed} are allowed")
    least = budget.get("reductions", 0)
    if kernel.counts.get("reductions", 0) < least:
        wrong.append(f"{kernel.counts.get('reductions', 0)} reductions; {least} are expected")
    return wrong


def compare(kernels: Iterable[Kernel], table: list[dict[str, Any]]) -> list[str]:
    """What is wrong; a kernel without a line, and a line without a kernel, too."""
    wrong = []
    used = set()
    for kernel in kernels:
        lines = [line for line in table if re.fullmatch(line["name"], kernel.name)]
        if not lines:
            wrong.append(f"{kernel.name}: no line of the table is for it")
            continue
        line = lines[0]  # the first that fits
        used.add(line["name"])
        wrong += [f"{kernel.name}: {finding}" for finding in findings(kernel, line)]
    wrong += [
        f"{line['name']}: there is no such kernel" for line in table if line["name"] not in used
    ]
    return wrong


def read_table(file: Path = BUDGETS) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["kernel"]
    return lines


def all_kernels(build: Path) -> list[Kernel]:
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    # Variants lack a fix, so they are over its budget.
    compiled = [
        entry["command"]
        for entry in commands
        if entry["file"].endswith(".cu") and "/variants/" not in entry["command"]
    ]
    files = [build / command.split(" -o ")[1].split()[0] for command in compiled]
    missing = [file for file in files if not file.exists()]
    if missing or not files:
        raise SystemExit(f"{build} lacks kernels: build the target crossdock_kernels there")
    return [kernel for file in files for kernel in kernels_of(file)]


def gate(build: Path) -> list[str]:
    return compare(all_kernels(build), read_table())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", type=Path, help="folder of a build with CUDA")
    parser.add_argument("--print", action="store_true", help="what each kernel has")
    arguments = parser.parse_args()
    kernels = all_kernels(arguments.build)
    if arguments.print:
        for kernel in kernels:
            print(
                f"{kernel.name}: {kernel.registers} registers, {kernel.stack_bytes} of stack, "
                f"{kernel.shared_bytes} shared, {kernel.counts}"
            )
    wrong = compare(kernels, read_table())
    for line in wrong:
        print(line)
    print(f"{len(kernels)} kernels, {len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
