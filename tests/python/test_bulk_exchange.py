"""Tables between ranks that MPI started: in bulk what a channel gives, too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import crossdock
import pyarrow as pa
import pytest

PROGRAM = """
import json
import pyarrow as pa
from crossdock.group import join_group

with join_group() as group:
    rows = range(5000 if group.rank != 1 else 1000)
    table = pa.table({
        "k": pa.array([(i * 7 + group.rank) % 1000 - 500 for i in rows], pa.int64()),
        "s": pa.array([f"text {i % 77} of some length" if i % 5 else None for i in rows]),
        "b": pa.array([i % 3 == 0 for i in rows], pa.bool_()),
    })
    bulk = group.exchange(table, by="k", how="bulk")
    channel = group.exchange(table, by="k", how="channel")
    order = [("k", "ascending"), ("s", "ascending"), ("b", "ascending")]
    assert bulk.schema.equals(channel.schema), (bulk.schema, channel.schema)
    assert bulk.sort_by(order).equals(channel.sort_by(order))
    facts = group.exchange_facts
    assert facts["rows_in"] == len(rows) and facts["rows_received"] == bulk.num_rows
    names = [phase["name"] for phase in facts["phases"]]
    assert names == ["histogram", "window", "network partition", "arrival"], names
    if group.rank == 0:
        print("all alike", flush=True)
"""


def _has_plugin() -> bool:
    folder = Path(crossdock.__file__).parent
    return (folder / "libcrossdock_mpi_openmpi.so").exists() and (
        folder / "libcrossdock_pmix.so"
    ).exists()


@pytest.mark.skipif(
    shutil.which("mpirun") is None or not _has_plugin(), reason="needs Open MPI and the plugins"
)
def test_bulk_gives_what_a_channel_gives() -> None:
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    ran = subprocess.run(
        ["mpirun", "--oversubscribe", "-n", "3", sys.executable, "-c", PROGRAM],
        env=os.environ | allowed,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("all alike") == 1


def test_a_process_alone_uses_a_channel_and_refuses_other_words() -> None:

    with crossdock.join_group() as group:
        table = pa.table({"k": [1, 2, 3]})
        assert group.exchange(table, by="k", how="auto").num_rows == 3
        assert group.exchange_facts is None
        with pytest.raises(crossdock.OptionError, match="auto"):
            group.exchange(table, by="k", how="pigeon")
