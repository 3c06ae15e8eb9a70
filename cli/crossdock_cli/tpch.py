"""Makes the two TPC-H tables of the demo with tpchgen-cli, once per scale factor."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

TABLES = ("lineitem", "orders")


def find_tables(folder: Path) -> dict[str, Path] | None:
    """The Parquet files of both tables in `folder`, or None when one is missing."""
    files = {table: folder / f"{table}.parquet" for table in TABLES}
    return files if all(file.is_file() for file in files.values()) else None


def make_tables(scale: float, folder: Path) -> dict[str, Path]:
    """Writes both tables at `scale` (1 = 6 million order lines) into `folder`.

    The files appear when both are complete. click.ClickException when tpchgen-cli is missing or
    ends with an error.
    """
    program = _generator()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as unfinished:
        ended = subprocess.run(
            [program, "parquet", "-s", f"{scale:g}", f"--output-dir={unfinished}",
             f"--tables={','.join(TABLES)}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ended.returncode != 0:
            lines = (ended.stderr or ended.stdout).strip().splitlines()
            reason = lines[-1] if lines else f"exit code {ended.returncode}"
            raise click.ClickException(f"tpchgen-cli stopped: {reason}")
        folder.mkdir(exist_ok=True)
        return {
            table: Path(unfinished, f"{table}.parquet").replace(folder / f"{table}.parquet")
            for table in TABLES
        }


def _generator() -> str:
    beside = Path(sys.executable).with_name("tpchgen-cli")
    program = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if program is None:
        raise click.ClickException(
            "tpchgen-cli, which makes the demo's data, is not installed\n"
            "  try      pip install 'crossdock[demo]'"
        )
    return program
