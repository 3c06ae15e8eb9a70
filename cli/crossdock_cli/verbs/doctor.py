"""crossdock doctor: looks at what usually makes a join slow or end early, and names the fix."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from crossdock_cli import command as verbs
from crossdock_cli import output

_PYARROW_AT_LEAST = 21
_PYTHON_AT_LEAST = (3, 11)
_OPEN_FILES_AT_LEAST = 4096


@dataclass(frozen=True)
class Finding:
    """One check: `verdict` is "ok" or "warn"; `fix` says what to do about a warning."""

    check: str
    verdict: str
    detail: str
    fix: str = ""


@verbs.verb(
    "doctor",
    examples=("crossdock doctor", "crossdock doctor --json"),
    short_help="Check this machine and name the fixes.",
)
@verbs.JSON
def command(as_json: bool) -> None:
    """Checks cores, memory and its limits, open files, huge pages, measured rates, and the versions
    of Python and pyarrow. Each line is `ok` or `warn` with the fix; warnings do not change the exit
    code."""
    findings = examine(Path("/"))
    if as_json:
        output.show_json({"findings": [asdict(finding) for finding in findings]})
        return
    from crossdock.reports.display import align

    rows = []
    for finding in findings:
        rows.append((finding.verdict, finding.check, finding.detail))
        if finding.fix:
            rows.append(("", "", f"fix: {finding.fix}"))
    output.show("\n".join(align(rows)))


def examine(root: Path) -> list[Finding]:
    """All checks; the system's files are read below `root`, so that tests can give their own."""
    checks: tuple[Callable[[Path], Finding], ...] = (
        _cores,
        _memory,
        _cgroup,
        _memory_limit,
        _open_files,
        _huge_pages,
        _rates,
        _python,
        _pyarrow,
    )
    return [check(root) for check in checks]


def _cores(_: Path) -> Finding:
    usable = len(os.sched_getaffinity(0))
    present = os.cpu_count() or usable
    if usable < present:
        fix = "start without taskset, or give the job more cores"
        return Finding("cores", "warn", f"{usable} of {present} may be used", fix)
    return Finding("cores", "ok", f"{usable}")


def _memory(root: Path) -> Finding:
    from crossdock.sizes import format_bytes

    values = dict(
        line.split(":", 1) for line in _text(root / "proc/meminfo").splitlines() if ":" in line
    )
    if "MemAvailable" not in values:
        return Finding("memory", "warn", "not known: /proc/meminfo is not readable")
    total, free = (int(values[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    finding = f"{format_bytes(free)} of {format_bytes(total)} free"
    if free < total // 4:
        fix = "end other work, or give a smaller --memory, so that the system does not swap"
        return Finding("memory", "warn", finding, fix)
    return Finding("memory", "ok", finding)


def _cgroup(root: Path) -> Finding:
    from crossdock import _native
    from crossdock.sizes import format_bytes

    memory = _native.cgroup_memory_limit(str(root))
    quota = _text(root / "sys/fs/cgroup/cpu.max").split()
    parts = []
    if memory is not None:
        parts.append(f"memory {format_bytes(memory[0])} by {memory[1]}")
    cores = len(os.sched_getaffinity(0))
    if len(quota) == 2 and quota[0].isdecimal():
        allowed = int(quota[0]) / int(quota[1])
        parts.append(f"cpu {allowed:g} cores")
        if allowed < cores:
            fix = f"--threads {max(1, int(allowed))}, or raise the container's cpu limit"
            return Finding("cgroup", "warn", ", ".join(parts) + f" for {cores} threads", fix)
    return Finding("cgroup", "ok", ", ".join(parts) or "no limit")


def _memory_limit(_: Path) -> Finding:
    from crossdock.sizes import format_bytes

    limit, _hard = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        finding = f"address space limited to {format_bytes(limit)}"
        return Finding("ulimit", "warn", finding, "ulimit -v unlimited")
    return Finding("ulimit", "ok", "address space unlimited")


def _open_files(_: Path) -> Finding:
    """A rank has two descriptors for each of its host, and one for each of another by each NIC."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    finding = f"{soft:,} at a time"
    if soft >= _OPEN_FILES_AT_LEAST or soft == resource.RLIM_INFINITY:
        return Finding("open files", "ok", finding)
    most = "" if hard < _OPEN_FILES_AT_LEAST else f" (up to {hard:,} without root)"
    fix = f"ulimit -n {_OPEN_FILES_AT_LEAST}{most}: hundreds of ranks, or many channels, need them"
    return Finding("open files", "warn", finding, fix)


def _huge_pages(root: Path) -> Finding:
    path = root / "sys/kernel/mm/transparent_hugepage/enabled"
    words = _text(path)
    chosen = words[words.find("[") + 1 : words.find("]")] if "[" in words else ""
    if chosen in ("madvise", "always"):
        return Finding("huge pages", "ok", chosen)
    fix = f"echo madvise > {path} (as root): fewer TLB misses in large joins"
    return Finding("huge pages", "warn", chosen or "not known", fix)


def _rates(_: Path) -> Finding:
    from crossdock.machines.rates_file import use_rates_of_file

    rates = use_rates_of_file()
    if rates.is_measured or not rates.file:
        return Finding("rates", "ok", rates.text())
    return Finding("rates", "warn", rates.text(), "crossdock calibrate, while nothing else runs")


def _python(_: Path) -> Finding:
    version = platform.python_version()
    if sys.version_info < _PYTHON_AT_LEAST:
        return Finding("python", "warn", version, "use Python 3.11 or later")
    return Finding("python", "ok", version)


def _pyarrow(_: Path) -> Finding:
    import pyarrow

    version = pyarrow.__version__
    if int(version.split(".")[0]) < _PYARROW_AT_LEAST:
        return Finding("pyarrow", "warn", version, f"pip install 'pyarrow>={_PYARROW_AT_LEAST}'")
    return Finding("pyarrow", "ok", version)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
