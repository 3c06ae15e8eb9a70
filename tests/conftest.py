"""Lets the tests import tools/rank_processes.py, Ctrl-C reach them and what they start, the longest
files begin first, and Hypothesis draw the same cases each time."""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

# With a process per core and a file at a time (tools/check.py), what begins last is one core's
# alone. Processor seconds are written beside them.
LONGEST = [
    "oracle/test_rank_oracle.py",  # 88
    "oracle/test_join_oracle.py",  # 40
    "oracle/test_random_plans.py",  # 38
    "oracle/test_sort_oracle.py",  # 35
    "oracle/test_operator_running.py",  # 31
    "oracle/test_strategies.py",  # 11
    "oracle/test_operator_memory.py",  # 10
    "sql/test_sql_ranks.py",  # 45
    "links/test_lost_ranks.py",  # 39
    "docs/test_docs.py",  # 27
    "bench/test_mpi.py",  # 27
    "python/ranks/test_rank_sessions.py",  # 24
    "python/ranks/test_rank_moves.py",  # 23
    "bench/test_control.py",  # 23
    "cli/test_ranks.py",  # 21
    "cli/test_generate.py",  # 14
    "python/ranks/test_bulk_exchange.py",  # 21
    "bench/test_benches.py",  # 21
    "python/ranks/test_rendezvous.py",  # 13
    "python/machines/test_rates.py",  # 12
    "python/engine/test_exit.py",  # 11
]

# How long a case takes is the machine's matter. The fixtures that properties use have no state.
settings.register_profile(
    "crossdock",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("crossdock")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    places = {tests / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(LONGEST)))


def pytest_collection_finish() -> None:
    """What was imported stays until the end. The collector need not walk it each time that a test
    looks for what an operation has left behind: that took 85 ms each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def ctrl_c() -> None:
    """Started by a shell in the background, the tests would inherit that Ctrl-C is ignored, and
    every process that they start would inherit it from them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
