"""What tools/gpu_run.sh and tools/gpu_report.py make of programs that find no GPU, fail, hang or
measure: stand-ins for those of the bundle."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = [
    "crossdock_gpu_probe",
    "crossdock_gpu_tests",
    "crossdock_gpu_suites",
    "crossdock_gpu_operator_bench",
    "crossdock_gpu_codec_bench",
    "crossdock_gpu_bench",
    "crossdock_groupby_kernel",
    "crossdock_gpu_operator_bench_atomics",
    "crossdock_gpu_operator_bench_bounds",
    "crossdock_gpu_operator_bench_pairs",
    "crossdock_gpu_bench_atomics",
    "crossdock_gpu_bench_bounds",
]
NAMES = "GpuRings.\\n  good\\n  hangs  # GetParam() = 7\\n  last\\n"
LISTED = f'case "$*" in *gtest_list_tests*) printf "{NAMES}"; exit 0;; esac\n'


def make_bundle(folder: Path, script: str) -> Path:
    folder.mkdir()
    (folder / "bundle.json").write_text('{"bench": "bundle", "commit": "abc1234"}\n')
    for name in PROGRAMS:
        program = folder / name
        program.write_text(
            "#!/bin/bash\n" + (LISTED if name.endswith(("tests", "suites")) else "") + script
        )
        program.chmod(0o755)
    return folder


def run(bundle: Path, out: Path, *phases: str, **environment: str) -> tuple[int, list[Any]]:
    answer = subprocess.run(
        [str(ROOT / "tools" / "gpu_run.sh"), str(bundle), str(out), *phases],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    steps = [json.loads(line) for line in (out / "steps.jsonl").read_text().splitlines()]
    assert (out / "logs.tar.gz").exists(), answer.stderr
    return answer.returncode, steps


def report(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "gpu_report.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_a_gpu_every_step_says_so_and_so_does_the_page(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path / "bundle", "exit 3\n")
    status, steps = run(bundle, tmp_path / "out", PATH="/usr/bin:/bin")
    assert status == 3
    assert {step["status"] for step in steps} == {"no GPU"}
    phases = {step["step"].split("/")[0] for step in steps}
    assert phases >= {"facts", "probe", "operators", "codecs", "channels", "errors", "suites"}
    assert phases >= {"memcheck", "racecheck", "synccheck", "initcheck", "bench", "profile"}
    baselines = tmp_path / "baselines"
    answer = report(str(tmp_path / "out"), "--commit", "--baselines", str(baselines))
    assert answer.returncode == 3
    assert (
        "nothing was measured, and nothing has passed" in (tmp_path / "out/report.md").read_text()
    )
    assert not baselines.exists()


def test_a_step_that_hangs_costs_its_limit_and_no_more(tmp_path: Path) -> None:
    bundle = make_bundle(
        tmp_path / "bundle",
        'case "$*" in *GpuRings.hangs*) sleep 60;; *GpuRings.last*) echo bad; exit 1;; esac\n',
    )
    limit_s = 7
    status, steps = run(bundle, tmp_path / "out", "channels", "probe", LIMIT_S=str(limit_s))
    assert status == 1
    by_name = {step["step"]: step for step in steps}
    assert by_name["channels/good"]["status"] == "passed"
    assert by_name["channels/hangs"]["status"] == "hung"
    assert by_name["channels/hangs"]["seconds"] <= limit_s + 5
    assert by_name["channels/last"]["status"] == "no time left"
    assert by_name["probe/32-connections"]["status"] == "no time left"


def test_a_run_becomes_a_baseline_and_a_page(tmp_path: Path) -> None:
    line = {"bench": "gpu-partition", "rows": 7, "ways": 256, "of_copy_rate": 0.5, "bar": 0.6}
    beside = {"probe": "beside", "what": "device copy", "streams": 96, "ok": False}
    launched = {"launched": ["JoinBuild"], "kernels": ["JoinBuild", "JoinList"]}
    script = "echo hello\n"
    script += "".join(f"echo '{json.dumps(one)}'\n" for one in (line, beside, launched))
    script += 'case "$*" in *GpuRings.last*) exit 1;; esac\n'
    bundle = make_bundle(tmp_path / "bundle", script)
    tool = tmp_path / "tools" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 580.1, 1980 MHz, 81559 MiB'\n")
    tool.chmod(0o755)
    out = tmp_path / "out"
    path = f"{tool.parent}:{os.environ['PATH']}"
    status, _ = run(bundle, out, "facts", "operators", "bench", "probe", PATH=path, LIMIT_S="100")
    assert status == 1  # of `last`
    baselines = tmp_path / "baselines"
    answer = report(str(out), "--commit", "--baselines", str(baselines))
    assert answer.returncode == 0, answer.stderr
    first, *rest = (baselines / "h100-80gb-hbm3.jsonl").read_text().splitlines()
    machine = json.loads(first)
    assert machine["driver"] == "580.1"
    assert machine["commit"] == "abc1234"
    assert machine["steps"]["operators/last"] == "failed"
    assert line | {"step": "bench/operators"} in map(json.loads, rest)
    page = (baselines / "h100-80gb-hbm3.md").read_text()
    assert "| partition rows 7 ways 256 | 0.500 | 0.6 |" in page
    assert "| partition rows 7 ways 256 without-atomics | 0.500 | 0.6 |" in page
    assert "device copy" in page
    assert "1 of 2 kernels of operators were launched" in page
    assert "not by any step: JoinList." in page
    assert "<svg" in (baselines / "h100-80gb-hbm3.svg").read_text()
