"""Lets the tests import tools/rank_processes.py, and Ctrl-C reach them and what they start."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))


@pytest.fixture(autouse=True, scope="session")
def ctrl_c() -> None:
    """Started by a shell in the background, the tests would inherit that Ctrl-C is ignored, and
    every process that they start would inherit it from them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
