"""crossdock info: what a bug report needs, in thirteen lines."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

from crossdock_cli import command as verbs
from crossdock_cli import output


@verbs.verb(
    "info",
    examples=("crossdock info", "crossdock info --json"),
    short_help="Print versions and the machine, for bug reports.",
)
@verbs.JSON
def command(as_json: bool) -> None:
    """Prints the version, how it was built, and the machine it sees."""
    import crossdock as xd
    from crossdock.machines.rates_file import use_rates_of_file

    build, machine, rates = xd.build_info(), xd.machine_info(), use_rates_of_file()
    if as_json:
        facts = {"build": build, "machine": machine, "python": _python(), "rates": asdict(rates)}
        output.show_json(facts)
        return
    from crossdock.reports.display import align

    output.show("\n".join(align([*_lines(build, machine), ("rates", rates.text())])))


def _python() -> dict[str, str]:
    import pyarrow

    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "pyarrow": pyarrow.__version__,
    }


def _lines(build: dict[str, str], machine: dict[str, Any]) -> list[tuple[str, str]]:
    from crossdock.sizes import format_bytes

    def size(name: str) -> str:
        return format_bytes(machine.get(name) or 0)

    python = _python()
    libraries = [f"{name} {version}" for name, version in build.items() if name in _LIBRARIES]
    return [
        ("crossdock", build["version"]),
        ("build", f"{build.get('build_type', '')} by {build.get('compiler', '')}"),
        ("libraries", ", ".join(libraries)),
        ("simd built", build.get("simd", "")),
        ("simd used", str(machine.get("simd", ""))),
        ("cores", str(machine.get("cores", ""))),
        ("cache", f"L1d {size('l1d_bytes')}, L2 {size('l2_bytes')}, L3 {size('l3_bytes')}"),
        ("memory", size("memory_bytes")),
        ("huge pages", str(machine.get("huge_pages", ""))),
        ("system", python["platform"]),
        ("python", f"{python['implementation']} {python['version']}"),
        ("pyarrow", python["pyarrow"]),
    ]


_LIBRARIES = ("fmt", "highway", "xxhash", "arrow")
