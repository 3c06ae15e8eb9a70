"""The dock of those who open none: `xd.sql(...)`, `xd.read_parquet(...)` and the like run on it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crossdock.files.paths import Paths
from crossdock.session import Dock, connect

if TYPE_CHECKING:
    from crossdock.relation import Relation
    from crossdock.sql_frontend.queries import Parameters

_lock = threading.Lock()
_opened: Dock | None = None


def default_dock() -> Dock:
    """The dock that the functions of this module use: opened by the first of them, on all cores of
    this machine, and again where it was closed. Thread-safe. Errors as for `connect`."""
    global _opened
    with _lock:
        if _opened is None or not _opened.is_open:
            _opened = connect()
        return _opened


def sql(text: str, parameters: Parameters = None) -> Relation:
    """`Dock.sql` on the default dock."""
    return default_dock().sql_session().run(text, parameters, sys._getframe(1))


def register(name: str, data: object) -> None:
    """`Dock.register` on the default dock."""
    default_dock().register(name, data)


def from_arrow(data: object) -> Relation:
    """`Dock.from_arrow` on the default dock."""
    return default_dock().from_arrow(data)


def read(paths: Paths, **options: Any) -> Relation:
    """`Dock.read` on the default dock."""
    return default_dock().read(paths, **options)


def read_parquet(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_parquet` on the default dock, with its options."""
    return default_dock().read_parquet(paths, **options)


def read_csv(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_csv` on the default dock, with its options."""
    return default_dock().read_csv(paths, **options)


def read_csv_rejects(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_csv_rejects` on the default dock, with its options."""
    return default_dock().read_csv_rejects(paths, **options)


def read_json(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_json` on the default dock, with its options."""
    return default_dock().read_json(paths, **options)


def read_ipc(paths: Paths, **options: Any) -> Relation:
    """`Dock.read_ipc` on the default dock, with its options."""
    return default_dock().read_ipc(paths, **options)


def read_delta(table: Any, **options: Any) -> Relation:
    """`Dock.read_delta` on the default dock, with its options."""
    return default_dock().read_delta(table, **options)


def read_iceberg(table: Any, **options: Any) -> Relation:
    """`Dock.read_iceberg` on the default dock, with its options."""
    return default_dock().read_iceberg(table, **options)


def from_substrait(plan: bytes, tables: Mapping[str, Relation] | None = None) -> Relation:
    """`Dock.from_substrait` on the default dock."""
    return default_dock().from_substrait(plan, tables)
