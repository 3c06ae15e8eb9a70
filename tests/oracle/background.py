"""Calls in threads of their own, for tests that do something to a run meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Ended:
    """How a call in another thread ended, and how long ago it was asked to."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.error: BaseException | None = None
        self.result: Any = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:  # noqa: BLE001 - it is what the test looks at
            self.error = error

    def wait(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()
