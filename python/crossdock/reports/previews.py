"""What is shown of a query: rows of it, run no further than they need, and its columns."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING

from crossdock.engine.execution import Execution
from crossdock.errors import CrossdockError
from crossdock.files.far_files import FarFile
from crossdock.plan import pushdown
from crossdock.plan.nodes import (
    AssumeSorted,
    Draws,
    Limit,
    Node,
    Project,
    Scan,
    Sort,
    Window,
    files_of,
    inputs_of,
)
from crossdock.plan.row_planning import plan_limit
from crossdock.plan.shared_parts import narrow_whole
from crossdock.reports.display import NOT_RUN, PLAN, Preview, headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crossdock.ranks.execution import RankExecution

_READ = 10_000  # rows at most, where not more are asked for
_CHEAP_ROWS = 1_000_000  # of all tables together, of which any query is quick
_MOST_ROWS = (1 << 63) - 2
_MOST_LINES = 1 << 20  # of a plan


def preview_of(
    execution: Execution | RankExecution, node: Node, limit: int, whole: bool = False
) -> Preview:
    """The first and last rows of a query, all lines of a plan. Of more than 10,000 rows it is the
    first ones, and the run ends there, unless it is to be `whole`, or over ranks. Errors as for
    `Relation.collect`."""
    if isinstance(node, Scan) and node.source.name == PLAN:
        return replace(_preview(execution, node, _MOST_LINES, whole), is_plan=True)
    return _preview(execution, node, min(limit, _MOST_ROWS), whole)


def _preview(execution: Execution | RankExecution, node: Node, limit: int, whole: bool) -> Preview:
    columns = frozenset(node.schema.names)
    if not isinstance(execution, Execution):
        return execution.preview(pushdown.narrow(node, columns), limit)
    if whole:
        batches = execution.batches(narrow_whole(node, columns))
        return Preview.of_batches(batches, node.schema, limit)
    read = max(limit, _READ)
    table = execution.table(narrow_whole(plan_limit(node, read + 1, 0, None), columns))
    if table.num_rows <= read:
        return Preview.of_table(table, limit)
    rows = _known_rows(node)
    shown = table.slice(0, limit)
    return Preview(node.schema, shown, table.slice(0, 0), rows or read, has_more=rows is None)


def relation_html(execution: Execution | RankExecution, node: Node) -> str:
    """What a relation is, for Jupyter: its rows where they are cheap, else its columns; over ranks,
    of which one may show it alone, its columns. Errors of the run are shown in their place."""
    title = f"<b>{html.escape(f'crossdock.Relation: {headline(node)}')}</b>"
    if isinstance(execution, Execution) and _is_cheap(node):
        try:
            return title + preview_of(execution, node, 10).html()
        except CrossdockError as error:
            return f"{title}<pre>{html.escape(error.report())}</pre>"
    cells = "".join(
        f"<tr><td>{html.escape(f.name)}</td><td>{html.escape(str(f.type))}</td></tr>"
        for f in node.schema
    )
    head = "<thead><tr><th>column</th><th>type</th></tr></thead>"
    return f"{title}<table>{head}<tbody>{cells}</tbody></table><small>{NOT_RUN}</small>"


def _known_rows(node: Node) -> int | None:
    """The rows of a query, where its source says them and no operator changes their number."""
    if isinstance(node, Scan):
        return node.source.known_rows() if node.predicate is None else None
    is_whole = isinstance(node, Sort) and node.limit is None and not node.offset
    if is_whole or isinstance(node, Project | Window | AssumeSorted | Draws):
        return _known_rows(inputs_of(node)[0])
    return None


def _is_cheap(node: Node) -> bool:
    """Whether its first rows take no notable time: they stream from the first ones of files here,
    or all tables are small."""
    if any(isinstance(name, FarFile) or "://" in name for name in files_of(node)):
        return False
    below = node
    while isinstance(below, Project | Limit | AssumeSorted):
        below = below.input
    if isinstance(below, Scan) and below.predicate is None:
        return True
    rows = [scan.source.known_rows() for scan in _scans(node)]
    known = [each for each in rows if each is not None]
    return len(known) == len(rows) and sum(known) <= _CHEAP_ROWS


def _scans(node: Node) -> Iterator[Scan]:
    if isinstance(node, Scan):
        yield node
    for below in inputs_of(node):
        yield from _scans(below)
