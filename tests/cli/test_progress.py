"""The progress bar: after two seconds on a terminal, never when standard error is piped."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from crossdock_cli import progress


class FakeDock:
    """Stands for a dock whose join is half done."""

    def __init__(self) -> None:
        self.asked = 0

    def progress(self) -> tuple[str, int, int]:
        self.asked += 1
        return ("probe", 500_000 + self.asked, 1_000_000)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(
    monkeypatch: pytest.MonkeyPatch, stream: Any, patience_s: float = 0.2, looks: int = 0
) -> tuple[str, int]:
    """What a run writes that ends a moment later, or once it was asked so often how far it is."""
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "_PATIENCE_S", patience_s)
    dock = FakeDock()
    with progress.progress_bar(dock):  # type: ignore[arg-type]
        time.sleep(0.5)
        while dock.asked < looks:
            time.sleep(0.01)
    return stream.getvalue(), dock.asked


def test_a_long_run_on_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    text, _ = shown(monkeypatch, Terminal(), looks=4)
    assert "probe" in text
    assert "50%" in text
    assert "rows/s" in text
    assert "eta" in text
    assert "\x1b[3" not in text, "NO_COLOR asks for no colours"


def test_a_short_run_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), patience_s=60) == ("", 0)


def test_a_pipe_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()) == ("", 0)
