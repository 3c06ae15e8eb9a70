"""CSV files as streams of UTF-8 without the lines that are to be left out, short rows filled up."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice

from crossdock.errors import make_error
from crossdock.files.csv_options import CsvOptions
from crossdock.files.text_streams import LinesFile, decoded_blocks, whole_lines

_ROWS_AT_ONCE = 4096


def lines_of(path: str, options: CsvOptions, delimiter: str) -> LinesFile:
    """A file without the lines that are skipped, with empty ones for comments, and short rows
    filled up if the options say so. Raises what pyarrow raises, UnicodeDecodeError; DataError for
    malformed rows."""
    lines = lines_in(decoded_blocks(path, options.encoding), options, delimiter, path)
    return LinesFile(behind_empty_lines(lines) if options.header else lines)


def behind_empty_lines(blocks: Iterator[str]) -> Iterator[str]:
    """Blocks without the empty lines that they begin with."""
    for block in blocks:
        rest = block.lstrip("\r\n")
        if rest:
            yield rest
            yield from blocks


def lines_in(text: Iterable[str], options: CsvOptions, delimiter: str, path: str) -> Iterator[str]:
    """The same of blocks of text, as blocks of whole lines: as many as there are behind those that
    are skipped."""
    blocks = _skipped(whole_lines(text), options.skip)
    if options.comment:
        blocks = _without_comments(blocks, options)
    if options.ragged == "fill":
        blocks = _filled(blocks, options, delimiter, path)
    return blocks


def _skipped(blocks: Iterator[str], lines: int) -> Iterator[str]:
    for block in blocks:
        at = 0
        while lines and at < len(block):
            at = block.index("\n", at) + 1
            lines -= 1
        if at < len(block):
            yield block[at:]
            break
    yield from blocks


def _without_comments(blocks: Iterable[str], options: CsvOptions) -> Iterator[str]:
    """A line that begins with the sign of comments is one unless a quoted value goes on in it."""
    sign = options.comment
    in_quotes = False
    for block in blocks:
        if not block.startswith(sign) and f"\n{sign}" not in block:
            in_quotes ^= _leaves_open(block, options)
            yield block
            continue
        kept = []
        for line in block.split("\n")[:-1]:
            if in_quotes or not line.startswith(sign):
                in_quotes ^= _leaves_open(line, options)
                kept.append(line)
            kept.append("\n")
        yield "".join(kept)


def _leaves_open(text: str, options: CsvOptions) -> bool:
    """Whether the quotes of a text are odd."""
    if not options.quote:
        return False
    count = text.count(options.quote)
    if options.escape and options.escape != options.quote:
        count -= text.count(options.escape + options.quote)
    return count % 2 == 1


def _filled(blocks: Iterable[str], options: CsvOptions, delimiter: str, path: str) -> Iterator[str]:
    dialect = _python_dialect(options, delimiter)
    lines = (f"{line}\n" for block in blocks for line in block.split("\n")[:-1])
    rows = csv.reader(lines, dialect)
    columns = len(options.names)
    try:
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            columns = columns or next((len(row) for row in some if row), 0)
            text = io.StringIO()
            csv.writer(text, dialect).writerows(
                [*row, *[""] * (columns - len(row))] if row else row for row in some
            )
            yield text.getvalue()
    except csv.Error as error:
        raise make_error(
            "CD-302", f"{path!r} cannot be read: {error}",
            try_="ragged='error', which takes any row that is complete",
        ) from error  # fmt: skip


def _python_dialect(options: CsvOptions, sign: str) -> type[csv.Dialect]:

    class OptionsDialect(csv.Dialect):
        delimiter = sign
        quotechar = options.quote or None
        quoting = csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE
        escapechar = options.escape or None
        doublequote = True
        lineterminator = "\n"

    return OptionsDialect
