"""SQL on a dock: its names, and what each kind of statement does."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from crossdock.relation import Relation
from crossdock.sql.catalog import Catalog
from crossdock.sql.queries import Parameters, plan_query

if TYPE_CHECKING:
    from crossdock.session import Dock


class SqlSession:
    """The names that SQL texts on a dock share. Thread-safe."""

    def __init__(self, dock: Dock) -> None:
        self._dock = dock
        self.catalog = Catalog(dock)

    def run(self, text: str, parameters: Parameters, frame: FrameType | None) -> Relation:
        """The relation of a statement; `frame` is where variables are looked up."""

        def variable(name: str) -> Relation | None:
            return self.catalog.variable(name, _frames(frame))

        return Relation(self._dock, plan_query(self.catalog, text, parameters, variable))


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames from the caller's outwards."""
    while frame is not None:
        yield frame
        frame = frame.f_back
