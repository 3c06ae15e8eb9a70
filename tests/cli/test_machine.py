"""info, doctor and config: what they find and how they print it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from crossdock_cli.verbs.doctor import examine


def test_info_has_thirteen_lines(crossdock: Any) -> None:
    ended = crossdock("info")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert len(lines) == 13
    assert [line.split("  ")[0] for line in lines[:2]] == ["crossdock", "build"]
    report = json.loads(crossdock("info", "--json").out)
    assert report["schema_version"] == 1
    assert report["python"]["pyarrow"]
    assert report["machine"]["cores"] >= 1


def test_doctor_prints_a_line_per_check(crossdock: Any) -> None:
    ended = crossdock("doctor")
    assert ended.code == 0
    verdicts = [line.split()[0] for line in ended.out.splitlines() if not line.startswith(" ")]
    assert set(verdicts) <= {"ok", "warn"}
    findings = json.loads(crossdock("doctor", "--json").out)["findings"]
    assert len(findings) == len(verdicts) == 9
    assert all(finding["fix"] for finding in findings if finding["verdict"] == "warn")


@pytest.mark.parametrize(("soft", "verdict"), [(1024, "warn"), (65536, "ok"), (-1, "ok")])
def test_doctor_looks_at_open_files(
    monkeypatch: pytest.MonkeyPatch, soft: int, verdict: str
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (soft, 65536))
    (finding,) = [one for one in examine(Path("/")) if one.check == "open files"]
    assert finding.verdict == verdict
    assert ("ulimit -n 4096" in finding.fix) == (verdict == "warn")


def system(root: Path, **files: str) -> Path:
    names = {
        "meminfo": "proc/meminfo",
        "memory_max": "sys/fs/cgroup/memory.max",
        "nested_max": "sys/fs/cgroup/job.slice/memory.max",
        "group": "proc/self/cgroup",
        "mounts": "proc/self/mountinfo",
        "cpu_max": "sys/fs/cgroup/cpu.max",
        "huge_pages": "sys/kernel/mm/transparent_hugepage/enabled",
    }
    for name, text in files.items():
        (root / names[name]).parent.mkdir(parents=True, exist_ok=True)
        (root / names[name]).write_text(text)
    return root


CGROUP_2 = {
    "group": "0::/job.slice\n",
    "mounts": "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
}


@pytest.mark.parametrize(
    ("files", "check", "verdict", "part"),
    [
        ({"meminfo": "MemTotal: 1000 kB\nMemAvailable: 900 kB"}, "memory", "ok", "900 KiB of 1000"),
        ({"meminfo": "MemTotal: 1000 kB\nMemAvailable: 100 kB"}, "memory", "warn", "--memory"),
        ({}, "memory", "warn", "not known"),
        (CGROUP_2 | {"memory_max": "1073741824", "cpu_max": "max 100000"}, "cgroup", "ok",
         "memory 1.00 GiB by /sys/fs/cgroup/memory.max"),
        (CGROUP_2 | {"memory_max": "1073741824", "nested_max": "838860800"}, "cgroup", "ok",
         "memory 800 MiB by /sys/fs/cgroup/job.slice/memory.max"),
        ({"memory_max": "max", "cpu_max": "50000 100000"}, "cgroup", "warn", "--threads 1"),
        ({}, "cgroup", "ok", "no limit"),
        ({"huge_pages": "always [madvise] never"}, "huge pages", "ok", "madvise"),
        ({"huge_pages": "always madvise [never]"}, "huge pages", "warn", "echo madvise"),
    ],
)  # fmt: skip
def test_findings(
    tmp_path: Path, files: dict[str, str], check: str, verdict: str, part: str
) -> None:
    result = next(f for f in examine(system(tmp_path, **files)) if f.check == check)
    assert result.verdict == verdict
    assert part in f"{result.detail} {result.fix}"


def test_config_shows_value_and_origin(crossdock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    every = crossdock("config", "list").out.splitlines()
    assert every[0].split() == ["setting", "value", "from", "default", "what", "it", "does"]
    assert ["threads", "0", "default"] in [line.split()[:3] for line in every]
    unchanged = crossdock("config", "list", "--changed")
    assert (unchanged.out, unchanged.err) == ("", "every setting has its default value\n")
    monkeypatch.setenv("CROSSDOCK_THREADS", "3")
    changed = crossdock("config", "list", "--changed").out.splitlines()
    assert changed[1].split()[:5] == ["threads", "3", "env", "CROSSDOCK_THREADS", "0"]
    report = json.loads(crossdock("config", "list", "--changed", "--json").out)
    assert [s["name"] for s in report["settings"]] == ["threads"]
    assert report["settings"][0]["variable"] == "CROSSDOCK_THREADS"
