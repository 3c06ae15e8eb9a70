"""Makes of what tools/gpu_run.sh has left a page, and of a run on a GPU a baseline.

    .venv/bin/python tools/gpu_report.py <out>               # <out>/report.md, with plots
    .venv/bin/python tools/gpu_report.py <out> --commit      # also bench/baselines/<gpu>.*

Several folders are one run in several calls; a step that was tried twice counts as it went last.
Where no step found a GPU the page says so, and nothing is written into bench/baselines.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BASELINES = ROOT / "bench" / "baselines"
NO_GPU = 3
Line = dict[str, Any]

# Of each bench: how its lines are called, what was measured as a share of what, and the share that
# is wanted.
SHARES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "gpu-partition": (("rows", "ways"), "of_copy_rate", "bar"),
    "gpu-join": (("rows", "in_pieces"), "of_random_bound", "bar"),
    "gpu-group-by": (("groups", "in_pieces"), "of_read", "bar"),
    "gpu-exchange": (("endpoints", "link_rows", "links"), "of_copy_rate", "bar"),
    "gpu-codec": (("column",), "encode_bytes_per_s", "encode_wanted"),
    "gpu-peer": (("name",), "of_copy_rate", ""),
    "gpu-map": (("name",), "of_random_bound", ""),
}


def read_lines(folders: Iterable[Path], name: str) -> list[Line]:
    """Lines that are no JSON object are what a program printed beside; they stay in its log."""
    lines: list[Line] = []
    for folder in folders:
        file = folder / name
        if not file.exists():
            raise SystemExit(f"{file} is not there: is {folder} what tools/gpu_run.sh has left?")
        for text in file.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                lines.append(line)
    return lines


def last_of_each(steps: list[Line]) -> list[Line]:
    return list({step["step"]: step for step in steps}.values())


def machine_of(lines: list[Line]) -> Line:
    """What the machine said of itself, from whichever program said it last."""
    machine: Line = {}
    for line in lines:
        if line.get("bench") in ("machine", "gpu-facts") or line.get("probe") == "gpu":
            machine |= {key: value for key, value in line.items() if key not in ("step", "bench")}
    return machine


def slug_of(gpu: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "-", gpu.lower().replace("nvidia", "")).strip("-")
    return words or "gpu"


def name_of(line: Line, keys: tuple[str, ...]) -> str:
    """With what its step has behind an @: a program that lacks a fix."""
    parts = [f"{key} {line[key]}" for key in keys if key in line]
    _, _, variant = str(line.get("step", "")).partition("@")
    return " ".join([line["bench"].removeprefix("gpu-"), *parts, *filter(None, [variant])])


def shares_of(lines: list[Line]) -> list[tuple[str, float, float]]:
    """Name, what was measured, and what is wanted (0: nothing is), of every line that has it."""
    shares = []
    for line in lines:
        keys, measured, target = SHARES.get(line.get("bench", ""), ((), "", ""))
        if measured and measured in line:
            value, goal = float(line[measured]), float(line.get(target, 0))
            is_rate = goal > 1000  # as shares of what is wanted, so that all have one axis
            pair = (value / goal, 1.0) if is_rate else (value, goal)
            shares.append((name_of(line, keys), *pair))
    return shares


def plot(shares: list[tuple[str, float, float]]) -> str:
    """Bars of what was measured, with a mark where the wanted share is."""
    left, width, step = 330, 420, 26
    most = max([1.0, *(max(share) for _, *share in shares)])
    height = 20 + step * len(shares)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{height}" '
        f'viewBox="0 0 {left + width + 70} {height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for number, (name, measured, target) in enumerate(shares):
        y = 10 + step * number
        fill = "#2a9d6f" if measured >= target else "#c77d1e"
        bar = width * measured / most
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{bar:.1f}" height="18" fill="{fill}"/>')
        parts.append(f'<text x="{left + bar + 6:.1f}" y="{y + 14}">{measured:.2f}</text>')
        if target:
            at = left + width * target / most
            parts.append(f'<path d="M{at:.1f} {y - 2}v22" stroke="#24292f" stroke-width="2"/>')
    return "\n".join([*parts, "</svg>", ""])


def rows_of(lines: list[Line], columns: tuple[str, ...]) -> list[str]:
    head = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    body = ["| " + " | ".join(str(line.get(key, "")) for key in columns) + " |" for line in lines]
    return head + body


def probe_rows(lines: list[Line]) -> list[str]:
    """What went on beside kernels that stay, and what did not."""
    columns = ("step", "what", "resident", "streams", "priority", "done", "last_ms", "ok")
    beside = [line for line in lines if line.get("probe") == "beside"]
    return ["", "## Beside kernels that stay", "", *rows_of(beside, columns)] if beside else []


def launched_rows(lines: list[Line]) -> list[str]:
    """Kernels of operators that no step has launched."""
    launches = [line for line in lines if "launched" in line]
    if not launches:
        return []
    launched = {name for line in launches for name in line["launched"]}
    missing = [name for name in launches[0]["kernels"] if name not in launched]
    count = len(launches[0]["kernels"])
    text = f"{count - len(missing)} of {count} kernels of operators were launched by the suites"
    return ["", text + (f"; not by any step: {', '.join(missing)}." if missing else ".")]


def page(steps: list[Line], lines: list[Line], picture: str) -> str:
    machine = machine_of(lines)
    gpu = machine.get("gpu", machine.get("name", "no GPU"))
    counts: dict[str, int] = {}
    for step in steps:
        counts[step["status"]] = counts.get(step["status"], 0) + 1
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    text = [f"# {gpu}", ""]
    if set(counts) == {"no GPU"}:
        text += ["No step found a GPU: nothing was measured, and nothing has passed.", ""]
    text += [f"{len(steps)} steps: {summary}.", ""]
    text += rows_of(steps, ("step", "status", "seconds", "limit_s"))
    shares = shares_of(lines)
    if shares:
        text += ["", "## Measured, and wanted", "", f"![shares of what is wanted]({picture})", ""]
        rows = [
            {"what": name, "measured": f"{measured:.3f}", "wanted": target or "-"}
            for name, measured, target in shares
        ]
        text += rows_of(rows, ("what", "measured", "wanted"))
    text += launched_rows(lines)
    text += probe_rows(lines)
    rates = [line for line in lines if line.get("probe") == "rate"]
    if rates:
        text += ["", "## Rates of the memory and of atomics", ""]
        text += rows_of(rates, ("what", "per_s", "seconds"))
    return "\n".join([*text, ""])


def commit_of(lines: list[Line]) -> str:
    for line in lines:
        if "commit" in line:
            return str(line["commit"])
    command = ["git", "rev-parse", "--short", "HEAD"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def write_baseline(folder: Path, steps: list[Line], lines: list[Line]) -> Path:
    machine = machine_of(lines)
    slug = slug_of(str(machine.get("gpu", machine.get("name", ""))))
    first = machine | {
        "schema_version": 1,
        "date": datetime.date.today().isoformat(),
        "commit": commit_of(lines),
        "commands": ["make gpu-bundle", "tools/gpu_run.sh build/gpu-bundle <out>"],
        "steps": {step["step"]: step["status"] for step in steps},
    }
    kept = [line for line in lines if line.get("bench") not in ("machine", "gpu-facts")]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{slug}.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in [first, *kept])
    file.write_text(text, encoding="utf-8")
    write_page(folder / f"{slug}.md", steps, lines)
    return file


def write_page(file: Path, steps: list[Line], lines: list[Line]) -> None:
    picture = file.with_suffix(".svg")
    shares = shares_of(lines)
    if shares:
        picture.write_text(plot(shares), encoding="utf-8")
    file.write_text(page(steps, lines, picture.name), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="+", type=Path, help="folders that tools/gpu_run.sh has left")
    parser.add_argument("--commit", action="store_true", help="also write into bench/baselines")
    parser.add_argument("--baselines", type=Path, default=BASELINES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    steps = last_of_each(read_lines(arguments.out, "steps.jsonl"))
    lines = read_lines(arguments.out, "lines.jsonl")
    report = arguments.out[-1] / "report.md"
    write_page(report, steps, lines)
    print(f"{report}: {len(steps)} steps")
    if all(step["status"] == "no GPU" for step in steps):
        print("no step found a GPU", file=sys.stderr)
        return NO_GPU
    if arguments.commit:
        print(write_baseline(arguments.baselines, steps, lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
