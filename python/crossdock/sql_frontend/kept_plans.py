"""Plans of statements that come again. What one means is kept as long as nothing that it depends on
changes: its tables, the values of its parameters, the settings."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Generic, TypeVar

from crossdock.sql_frontend.text.tokens import tokens_of, words_of

Plan = TypeVar("Plan")

_MOST = 64
_LONGEST = 20_000  # characters of a text
_OF_THE_MOMENT = words_of(
    "now today current_date current_time current_timestamp localtime localtimestamp random uuid"
)
_PLAIN = (bool, int, float, str, bytes, Decimal, datetime.date, datetime.time, type(None))


def key_of(text: str, values: Mapping[str, Any], beside: object) -> object:
    """What a plan is kept by; None where it means something else each time, or is large. `beside`
    is what else it depends on."""
    if len(text) > _LONGEST or not all(isinstance(v, _PLAIN) for v in values.values()):
        return None
    if _is_of_the_moment(text):
        return None
    described = tuple((name, type(value), value) for name, value in sorted(values.items()))
    return (text, described, beside)


@lru_cache(256)
def _is_of_the_moment(text: str) -> bool:
    return any(token.lower in _OF_THE_MOMENT for token in tokens_of(text))


class KeptPlans(Generic[Plan]):
    """The plans that were asked for last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: dict[object, Plan] = {}

    def get(self, key: object) -> Plan | None:
        """The plan of the key, if it is kept."""
        with self._lock:
            plan = self._plans.pop(key, None)
            if plan is not None:
                self._plans[key] = plan  # the newest is the last
            return plan

    def put(self, key: object, plan: Plan) -> None:
        """Keeps the plan of a key, but for None."""
        if key is None:
            return
        with self._lock:
            self._plans[key] = plan
            if len(self._plans) > _MOST:
                del self._plans[next(iter(self._plans))]
