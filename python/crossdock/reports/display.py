"""How results and relations look: a box with types under names, first and last rows, row count.

Text is for terminals and `repr`, HTML for Jupyter. Nothing here runs a query; cost is that of the
rows shown.
"""

from __future__ import annotations

import html
import math
import shutil
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from crossdock.errors import printable
from crossdock.expressions.orders import Order
from crossdock.plan.nodes import (
    AssumeSorted,
    Draws,
    Exchange,
    Filter,
    FirstShare,
    FrameLists,
    GroupBy,
    GroupLists,
    Join,
    Limit,
    Node,
    Partition,
    Project,
    RankFilter,
    Sample,
    Scan,
    Sort,
    Union,
    Unnest,
    Window,
)

PLAN = "EXPLAIN"  # the name of a table of lines, which are shown as they are
JsonValue: TypeAlias = bool | int | float | str | None

_CELL_WIDTH = 32
_NULL = "NULL"


@dataclass(frozen=True)
class Preview:
    """The first and last rows of a result, and how many rows it has in all."""

    schema: pa.Schema
    head: pa.Table
    tail: pa.Table  # empty when head has every row
    rows: int
    has_more: bool = False  # than `rows`, which were read
    is_plan: bool = False

    @staticmethod
    def of_table(table: pa.Table, limit: int = 10) -> Preview:
        """The preview of a pyarrow.Table: at most `limit` rows, half of them from the end."""
        if table.num_rows <= limit:
            return Preview(table.schema, table, table.slice(0, 0), table.num_rows)
        half = limit // 2
        tail = table.slice(table.num_rows - half)
        return Preview(table.schema, table.slice(0, limit - half), tail, table.num_rows)

    @staticmethod
    def of_batches(
        batches: Iterable[pa.RecordBatch], schema: pa.Schema, limit: int = 10
    ) -> Preview:
        """The same over a stream of RecordBatches, holding no more than a few batches."""
        head: list[pa.RecordBatch] = []
        tail: list[pa.RecordBatch] = []
        rows = head_rows = tail_rows = 0
        for batch in batches:
            rows += batch.num_rows
            if head_rows < limit:
                head.append(batch.slice(0, limit - head_rows))
                head_rows += head[-1].num_rows
            tail.append(batch)
            tail_rows += batch.num_rows
            while tail and tail_rows - tail[0].num_rows >= limit:
                tail_rows -= tail.pop(0).num_rows
        first = pa.Table.from_batches(head, schema)
        if rows <= limit:
            return Preview(schema, first, first.slice(0, 0), rows)
        half = limit // 2
        last = pa.Table.from_batches(tail, schema)
        end = last.slice(last.num_rows - half)
        return Preview(schema, first.slice(0, limit - half), end, rows)

    def text(self, width: int | None = None) -> str:
        """The box, at most `width` characters wide (by default the terminal); columns that do not
        fit are left out of the middle and counted below."""
        if self.is_plan:
            return "\n".join(self.head[0].to_pylist())
        limit = width or shutil.get_terminal_size((120, 24)).columns
        columns = self._columns()
        if not columns:
            return self._summary()
        room = limit - 1 - sum(cells.width + 3 for cells in columns)
        cut = sum(cells.is_cut for cells in columns)
        if cut and room >= cut:
            columns = self._columns(_CELL_WIDTH + room // cut)
        shown = _fitting([cells.width for cells in columns], limit)
        return _box([columns[i] if i >= 0 else None for i in shown], self._summary())

    def html(self) -> str:
        """The same as an HTML table, all columns."""
        if self.is_plan:
            return f"<pre>{html.escape(self.text())}</pre>"
        columns = self._columns()
        heads = "".join(
            f"<th>{html.escape(c.name)}<br><small>{html.escape(c.type_name)}</small></th>"
            for c in columns
        )
        height = len(columns[0].values) if columns else 0
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(c.values[i])}</td>" for c in columns) + "</tr>"
            for i in range(height)
        )
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<small>{html.escape(self._summary())}</small>"

    def records(self) -> list[dict[str, JsonValue]]:
        """The rows shown, by column name, as JSON has values: None is NULL, booleans, integers and
        floats are themselves, with all their digits; NaN and infinities, which JSON has not, and
        everything else are strings."""
        columns = [
            [_json_value(value) for part in (self.head, self.tail) for value in part.column(i)]
            for i in range(len(self.schema))
        ]
        rows = zip(*columns, strict=True)
        return [dict(zip(self.schema.names, row, strict=True)) for row in rows]

    def _columns(self, cell_width: int = _CELL_WIDTH) -> list[_Cells]:
        return [
            _Cells.make(field, self.head.column(i), self.tail.column(i), cell_width)
            for i, field in enumerate(self.schema)
        ]

    def _summary(self) -> str:
        shown = self.head.num_rows + self.tail.num_rows
        part = "" if shown == self.rows else f" ({shown} shown)"
        more = "more than " if self.has_more else ""
        return (
            f"{more}{self.rows:,} {_plural('row', self.rows)}{part}"
            f"   {len(self.schema)} {_plural('column', len(self.schema))}"
        )


@dataclass(frozen=True)
class _Cells:
    """One column as text."""

    name: str
    type_name: str
    values: list[str]
    right_aligned: bool
    width: int
    is_cut: bool

    @staticmethod
    def make(field: pa.Field, head: pa.ChunkedArray, tail: pa.ChunkedArray, most: int) -> _Cells:
        values = [_cell(text, most) for text in _cell_strings(head)]
        if len(tail):
            values += ["…"] + [_cell(text, most) for text in _cell_strings(tail)]
        name, type_name = _cell(field.name, most), _cell(str(field.type), most)
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        right = number or pa.types.is_decimal(field.type)
        width = max(_width(text) for text in [name, type_name, *values])
        is_cut = any(len(text) > 1 and text.endswith("…") for text in [name, type_name, *values])
        return _Cells(name, type_name, values, right, width, is_cut)


def align(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Lines with the cells of each column padded to one width; columns in `right` to the right."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(_width, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(_pad(cell, widths[i], i in right) for i, cell in enumerate(row)).rstrip()
        for row in rows
    ]


NOT_RUN = "not run yet: .show() .collect() .count() .to_batches() .write_parquet(path)"


def relation_text(node: Node) -> str:
    """What a relation is, without running it: its operator, columns and types."""
    names = [(f"  {field.name}", str(field.type)) for field in node.schema]
    more = len(names) - 20
    lines = [f"crossdock.Relation: {headline(node)}", *align(names[:20])]
    if more > 0:
        lines.append(f"  … {more} more columns")
    lines.append(NOT_RUN)
    return "\n".join(lines)


def headline(node: Node) -> str:
    """One line for a node, such as "inner join on k = k"."""
    return printable(_headline(node))


def _headline(node: Node) -> str:
    if isinstance(node, Scan):
        return f"{node.source.kind} {node.source.name}"
    if isinstance(node, Filter):
        return f"filter {node.predicate!r}"
    if isinstance(node, Join):
        keys = ", ".join(f"{left} = {right}" for left, right in node.on)
        residual = "" if node.residual is None else f" and {node.residual!r}"
        return f"{node.how} join on {keys}{residual}"
    if isinstance(node, Project):
        return "select " + shorten(
            [name if repr(item) == name else f"{name}={item!r}" for name, item in node.items]
        )
    if isinstance(node, GroupBy):
        return _group_headline(node)
    if isinstance(node, Sort):
        return _sort_headline(node)
    if isinstance(node, Window):
        return _window_headline(node)
    if isinstance(node, Limit):
        return f"limit {node.rows:,}" + (f" after {node.offset:,}" if node.offset else "")
    if isinstance(node, FirstShare):
        offset = f" after {node.offset:,}" if node.offset else ""
        return f"limit {node.fraction:g} of the rows{offset}"
    if isinstance(node, Draws):
        drawn = [f"{each.name}={each.kind}(seed={each.seed})" for each in node.items]
        return f"draw {shorten(drawn)}"
    if isinstance(node, Sample):
        share = f"{node.rows:,} rows" if node.rows is not None else f"{node.fraction:g} of the rows"
        return f"sample {share}, seed {node.seed}"
    if isinstance(node, Unnest):
        empty = ", NULL where it is empty" if node.keeps_empty else ""
        return f"unnest {', '.join(node.columns)}{empty}"
    if isinstance(node, GroupLists):
        columns = [*(f"{name}={item!r}" for name, item in node.items)]
        columns += [f"{each.name}=list({each.column})" for each in node.lists]
        by = f"group_by {shorten(node.keys)}" if node.keys else "aggregate"
        return f"{by}: {shorten(columns)}"
    if isinstance(node, FrameLists):
        return f"lists of frames: {shorten([f'{e.name}=list({e.column})' for e in node.lists])}"
    if isinstance(node, Union):
        return f"union of {len(node.inputs)} relations"
    if isinstance(node, AssumeSorted):
        return f"assume_sorted by {_shown_orders(node.orders)}"
    if isinstance(node, Exchange):
        keys = f": {', '.join(node.keys)}" if node.keys else ""
        return f"exchange {node.rule}{keys}" + (f", {node.how}" if node.how else "")
    if isinstance(node, RankFilter):
        return f"filter of {', '.join(node.keys)} by the keys of all ranks"
    assert isinstance(node, Partition)
    return f"partition by {node.how} of {', '.join(node.keys)} into {node.partitions:,}"


def _group_headline(node: GroupBy) -> str:
    items = shorten([f"{name}={item!r}" for name, item in node.items])
    keys = shorten([name if repr(key) == name else f"{name}={key!r}" for name, key in node.keys])
    if not node.keys:
        return f"aggregate {items}"
    return f"group_by {keys}: {items}" if items else f"distinct {keys}"


def _sort_headline(node: Sort) -> str:
    text = f"{'arg_sort' if node.index else 'sort'} by {_shown_orders(node.orders)}"
    text += ", stable" if node.stable else ""
    text += "" if node.limit is None else f", limit {node.limit:,}"
    return text + (f" after {node.offset:,}" if node.offset else "")


def _window_headline(node: Window) -> str:
    shown = []
    for item in node.items:
        arguments = [item.column] if item.column else []
        arguments += [f"{name}={value!r}" for name, value in item.options]
        frame = "" if item.frame is None else f" over {item.frame!r}"
        shown.append(f"{item.name}={item.function}({', '.join(arguments)}){frame}")
    by = f" by {', '.join(node.partition)}" if node.partition else ""
    orders = f" in order of {_shown_orders(node.orders)}" if node.orders else ""
    return f"window{by}{orders}: {shorten(shown)}"


def _shown_orders(orders: Sequence[Order]) -> str:
    return ", ".join(map(repr, orders))


def shorten(names: Sequence[str], limit: int = 8) -> str:
    """The names with commas, the tail of a long list counted."""
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f", … {more} more" if more > 0 else "")


def _cell_strings(column: pa.ChunkedArray) -> list[str | None]:
    return [_value_text(value) for value in column]


def _json_value(value: pa.Scalar) -> JsonValue:
    number = value.as_py() if _is_number(value.type) else None
    if isinstance(number, float) and not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    return _value_text(value) if number is None else number


def _is_number(data_type: pa.DataType) -> bool:
    plain = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
    kinds = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return any(is_kind(plain) for is_kind in kinds)


def _value_text(value: pa.Scalar) -> str | None:
    if not value.is_valid:
        return None
    if pa.types.is_timestamp(value.type) or pa.types.is_time(value.type):
        return str(value.cast(pa.string()).as_py())
    if pa.types.is_duration(value.type):
        return f"{value.value} {value.type.unit}"
    if value.type == pa.float32():  # the digits that tell it from all others, as below
        return str(value.cast(pa.string()).as_py())
    try:
        return str(value.as_py()).removesuffix(".0" if value.type == pa.float64() else "")
    except (UnicodeDecodeError, OverflowError, ValueError):
        return _text_of_odd(value)


def _text_of_odd(value: pa.Scalar) -> str:
    """A value that Python has none for: bytes that are not UTF-8 are escaped, a day beyond the year
    9999 is a number from 1970."""
    if pa.types.is_dictionary(value.type):
        return str(_value_text(value.value))
    if pa.types.is_date(value.type):
        return f"{value.value} {'days' if value.type == pa.date32() else 'ms'}"
    if isinstance(value, pa.StringScalar):  # of any kind of strings
        return bytes(value.as_buffer()).decode(errors="backslashreplace")
    return f"({value.type})"


def _cell(text: str | None, most: int) -> str:
    if text is None:
        return _NULL
    flat = printable(text[: 2 * most])
    if len(text) <= most and _width(flat) <= most:
        return flat
    while _width(flat) >= most:
        flat = flat[:-1]
    return flat + "…"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _pad(text: str, width: int, right: bool = False, centre: bool = False) -> str:
    space = width - _width(text)
    if centre:
        return " " * (space // 2) + text + " " * (space - space // 2)
    return " " * space + text if right else text + " " * space


def _fitting(widths: Sequence[int], limit: int) -> list[int]:
    """Indices of the columns to show; -1 stands for those left out of the middle."""
    if sum(width + 3 for width in widths) + 1 <= limit or len(widths) < 3:
        return list(range(len(widths)))
    room = limit - 5  # the frame and the "…" column
    first, last, from_left = 0, len(widths), True
    while first < last:
        width = widths[first if from_left else last - 1] + 3
        if width > room and first > 0:
            break
        room -= width
        if from_left:
            first += 1
        else:
            last -= 1
        from_left = not from_left
    return [*range(first), -1, *range(last, len(widths))]


def _box(columns: Sequence[_Cells | None], summary: str) -> str:
    widths = [1 if c is None else c.width for c in columns]
    if sum(widths) + 3 * len(widths) - 3 < len(summary):
        widths[-1] += len(summary) - (sum(widths) + 3 * len(widths) - 3)
    height = next(len(c.values) for c in columns if c is not None)

    def line(left: str, cross: str, right: str) -> str:
        return left + cross.join("─" * (width + 2) for width in widths) + right

    def row(cells: Iterable[str]) -> str:
        return "│ " + " │ ".join(cells) + " │"

    def centred(cells: Iterable[str]) -> str:
        return row(_pad(t, w, centre=True) for t, w in zip(cells, widths, strict=True))

    lines = [
        line("┌", "┬", "┐"),
        centred("…" if c is None else c.name for c in columns),
        centred("" if c is None else c.type_name for c in columns),
        line("├", "┼", "┤"),
    ]
    for i in range(height):
        cells = [
            _pad("…", w) if c is None else _pad(c.values[i], w, c.right_aligned)
            for c, w in zip(columns, widths, strict=True)
        ]
        lines.append(row(cells))
    total = sum(widths) + 3 * len(widths) - 3
    lines += [line("├", "┴", "┤"), "│ " + _pad(summary, total) + " │", line("└", "─", "┘")]
    return "\n".join(lines)


def _plural(word: str, number: int) -> str:
    return word if number == 1 else word + "s"
