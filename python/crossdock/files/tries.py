"""Reads of what lies elsewhere: tried again where a fault may pass, and with errors that say what a
server answered, whichever package asked it."""

from __future__ import annotations

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

import pyarrow as pa

Read = TypeVar("Read")

_PAUSES_S = (0.1, 0.4, 1.6)  # before a read is tried again
# Of the web: what may be otherwise a moment later.
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_LASTING = (
    FileNotFoundError, PermissionError, IsADirectoryError, NotImplementedError, pa.ArrowInvalid,
    TypeError, ValueError, AttributeError,
)  # fmt: skip


def tried(read: Callable[[], Read], goes_on: Callable[[], bool] = lambda: True) -> Read:
    """What `read` gives, which is called again while that may help and `goes_on` says so. Raises
    what it raised last; of packages that ask servers an OSError."""
    for pause in (*_PAUSES_S, None):
        try:
            return read()
        except Exception as error:
            fault = _fault(error)
            if pause is None or not _may_pass(fault) or not goes_on():
                plain = _as_os_error(fault)
                if plain is error:
                    raise
                raise plain from error
            time.sleep(pause)
    raise AssertionError


def _fault(error: Exception) -> Exception:
    """What a server answered, where fsspec says of any answer that there is no such file."""
    cause = error.__cause__
    return cause if isinstance(error, FileNotFoundError) and isinstance(cause, Exception) else error


def _may_pass(fault: Exception) -> bool:
    if isinstance(fault, _LASTING):
        return False
    status = getattr(fault, "status", None)
    if isinstance(status, int):
        return status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return True


def _as_os_error(fault: Exception) -> Exception:
    status = getattr(fault, "status", None)
    if isinstance(status, int):
        return OSError(f"its server answers {status} {getattr(fault, 'message', '')}".rstrip())
    if isinstance(fault, FileNotFoundError):
        return FileNotFoundError(f"no such file: {fault}")
    is_known = isinstance(fault, (OSError, *_LASTING)) and str(fault)
    return fault if is_known else OSError(str(fault) or type(fault).__name__)
