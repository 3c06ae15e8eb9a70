"""What relations need of the dock that they are of: `Dock` (session.py) is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from crossdock.engine.execution import Execution
    from crossdock.group import Group
    from crossdock.plan.nodes import Node
    from crossdock.ranks.execution import RankExecution
    from crossdock.ranks.members import Ranks


class QueryDock(Protocol):
    """Where queries run, and what they may name."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def group(self) -> Group | None: ...

    def execution(self, profiling: bool = False) -> Execution | RankExecution:
        """A new run. ClosedError where the dock is closed."""

    def over_ranks(self) -> Ranks | None:
        """What the ranks of the dock do together."""

    def random_bits(self, count: int) -> int:
        """So many, in all ranks the same."""

    def scan(self, data: object, replicated: bool = False) -> Node:
        """What `from_arrow` takes, as a source of a query."""

    def named_nodes(self) -> Mapping[str, Node]:
        """The queries that `register` gave a name."""

    def pickled(self, node: Node) -> tuple[Any, ...]:
        """What a pickle has of a query: a function that makes a relation of it again, and what that
        takes."""
