"""Subjects of commits: what the hook takes, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from commit_subject import fault_of, main  # noqa: E402  (the tools are scripts, not a package)


@pytest.mark.parametrize(
    "message",
    [
        "scan: page index and Bloom filters leave rows out\n",
        "bench, cli: the words of the field\n\nHelp of partition says what it does.\n",
        "data/rings: one store less per segment\n",
        "Merge branch 'ranks'\n",
    ],
)
def test_good_messages_pass(message: str) -> None:
    assert fault_of(message) == ""


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Draw the rooms again\n", "not `area: what changed`"),
        ("scan:\n", "not `area: what changed`"),
        (f"scan: {'x' * 70}\n", "76 characters; the limit is 72"),
        ("scan: a\nwhy\n", "an empty line"),
        ("\n", "not `area: what changed`"),
    ],
)
def test_bad_messages_are_refused(message: str, fault: str, tmp_path: Path) -> None:
    assert fault in fault_of(message)
    (tmp_path / "message").write_text(message, encoding="utf-8")
    assert main([str(tmp_path / "message")]) == 1
