"""CSV rows that are set aside: those of another number of values than there are columns, and those
with a value that is none of its column's type.

A block of whole rows is parsed at once. Where a value of it does not fit, the engine says which
rows it is in, and the others are parsed again. What pyarrow still refuses, of types that the engine
does not read, is parsed by few rows at a time, of which it says one after the other. So blocks
without such rows cost what they cost without the option, and one block and its rows are in memory.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from crossdock import _native
from crossdock.errors import CrossdockError, make_error
from crossdock.files.csv_options import CSV_ADVICE, CsvOptions, csv_cause
from crossdock.files.rejects import Reject, TakeReject
from crossdock.values.engine_types import empty_table, engine_table, lies_as_it_is
from crossdock.values.type_checks import checking_engine

if TYPE_CHECKING:
    from pyarrow.csv import InvalidRow

_ROWS_AT_ONCE = 64  # of 16 to 256, the fastest for 1 to 100 % of rows that do not fit
_ENDS = "\r\n"
_ROW_CHARACTERS_MOST = 64 << 20
_UNREAD_TYPE = "CD-102"
_VALUE_ERROR = re.compile(r"In CSV column #(\d+): Row #(\d+): ")
_ROW_ERROR = re.compile(r"(?:In CSV column #\d+|CSV parse error): Row #(\d+): ")


Row: TypeAlias = tuple[int, str]  # a line, and the text of the row that begins there


@dataclass(frozen=True)
class RowParser:
    """Rows of one file as tables of all of its columns."""

    path: str
    options: CsvOptions
    delimiter: str
    names: Sequence[str]
    types: Mapping[str, pa.DataType]

    def tables(self, text: Iterable[str], take: TakeReject | None = None) -> Iterator[pa.Table]:
        """The rows of blocks of whole lines, without those that the options set aside, each of
        which `take` gets. DataError, with the line, for others that cannot be read."""
        is_header = self.options.header
        for line, block in self._whole_rows(text):
            rows = line, block
            if is_header:
                rows, is_header = self._behind_first(line, block)
            yield from self._parsed_block(*rows, take)

    def _whole_rows(self, blocks: Iterable[str]) -> Iterator[Row]:
        """Blocks that end where a row ends."""
        line, held = self.options.skip + 1, ""
        for block in blocks:
            text = held + block
            end = self._end_of_rows(text)
            if end:
                yield line, text[:end]
                line += _lines_in(text[:end])
            held = text[end:]
            if len(held) > _ROW_CHARACTERS_MOST:
                break
        if held:
            raise make_error(
                "CD-302", f"{self.path}, line {line}: a quote is not closed",
                try_="quote=None where it is one of the values, or the file with a quote behind it",
            )  # fmt: skip

    def _end_of_rows(self, text: str) -> int:
        options = self.options
        signs = (options.quote, options.escape)
        if not any(sign and sign in text for sign in signs):
            return len(text)
        rows = re.compile(f"(?:{self._row_pattern()})*+").match(text)
        assert rows is not None
        return rows.end()

    def _row_pattern(self) -> str:
        """A row and its line end. A quote is one where a value begins, as pyarrow takes it."""
        sign, quote, escape = (
            re.escape(each) if each else ""
            for each in (self.delimiter, self.options.quote, self.options.escape)
        )
        escaped = f"|{escape}(?s:.)" if escape else ""
        value = rf"(?:[^{sign}\r\n{escape}]++{escaped})*+"
        if quote:
            quoted = f"{quote}(?:[^{quote}{escape}]++|{quote}{quote}{escaped})*+{quote}"
            value = f"(?:{quoted}|(?!{quote})){value}"
        return rf"{value}(?:{sign}{value})*+(?:\r\n?|\n)"

    def _rows(self, line: int, text: str) -> list[Row]:
        """Of a block that begins at a line, without empty lines that are none."""
        rows = re.findall(self._row_pattern(), text)
        if len(rows) == _lines_in(text):
            numbered = list(enumerate(rows, line))
        else:
            ends = itertools.accumulate(map(_lines_in, rows), initial=line)
            numbered = list(zip(ends, rows, strict=False))
        if self.options.has_empty_rows(len(self.names)):
            return numbered
        return [(number, row) for number, row in numbered if row.strip(_ENDS)]

    def _behind_first(self, line: int, block: str) -> tuple[Row, bool]:
        """The block behind its first row; and whether it has none, so that it still is to come."""
        pattern, at = re.compile(self._row_pattern()), 0
        while match := pattern.match(block, at):
            at = match.end()
            if match[0].strip(_ENDS):
                return (line + _lines_in(block[:at]), block[at:]), False
        return (line, ""), True

    def _parsed_block(self, line: int, block: str, take: TakeReject | None) -> Iterator[pa.Table]:
        ragged: list[InvalidRow] = []
        try:
            table = self._parsed(block, ragged)
        except pa.ArrowInvalid as error:
            rows = self._rows(line, block)
            if not self._is_of_value(error):
                raise self._located(error, rows) from error
            yield from self._parsed_rows(self._without_bad_values(rows, take), take)
        else:
            if ragged and take is not None:
                self._take_ragged(self._rows(line, block), ragged, take)
            yield table

    def _is_of_value(self, error: pa.ArrowInvalid) -> bool:
        return self.options.bad_values == "skip" and _VALUE_ERROR.match(str(error)) is not None

    def _without_bad_values(self, rows: list[Row], take: TakeReject | None) -> list[Row]:
        """Without those of which the engine knows that a value does not fit; ragged ones stay."""
        ragged: list[InvalidRow] = []
        types = dict.fromkeys(self.names, pa.binary())
        values = self._parsed("".join(text for _, text in rows), ragged, types)
        left_out = {row.number - 1 for row in ragged}
        places = [place for place in range(len(rows)) if place not in left_out]
        wrong: dict[int, Reject] = {}
        for name, column in zip(self.names, values.itercolumns(), strict=True):
            for number in self._bad_values(name, column.combine_chunks()):
                row = rows[places[number]]
                if places[number] not in wrong:
                    wrong[places[number]] = self._of_value(row, name, column[number].as_py())
        if take is not None:
            for reject in wrong.values():
                take(reject)
        return [row for place, row in enumerate(rows) if place not in wrong]

    def _bad_values(self, name: str, column: pa.BinaryArray) -> list[int]:
        import pyarrow.compute as pc

        data_type = self.types[name]
        if not lies_as_it_is(data_type):
            return []
        if pa.types.is_floating(data_type) or pa.types.is_decimal(data_type):
            column = pc.replace_substring(column, self.options.decimal, ".")
        _, offsets, data = column.buffers()
        like = empty_table(pa.schema([(name, data_type)]))
        engine = checking_engine()
        try:
            return _native.csv_bad_values(
                engine, offsets.slice(0, 4 * (len(column) + 1)), data or b"",
                engine_table(engine, like), self.options.nulls(),
            )  # fmt: skip
        except _native.NativeError as error:
            if error.args[0] != _UNREAD_TYPE:
                raise
            return []

    def _parsed_rows(self, rows: list[Row], take: TakeReject | None) -> Iterator[pa.Table]:
        """Those that fit; of few rows, each try leaves out one that does not."""
        while True:
            ragged: list[InvalidRow] = []
            try:
                table = self._parsed("".join(text for _, text in rows), ragged)
            except pa.ArrowInvalid as error:
                if not self._is_of_value(error):
                    raise self._located(error, rows) from error
                if len(rows) > _ROWS_AT_ONCE:
                    for at in range(0, len(rows), _ROWS_AT_ONCE):
                        yield from self._parsed_rows(rows[at : at + _ROWS_AT_ONCE], take)
                    return
                column, number = map(int, _VALUE_ERROR.findall(str(error))[0])
                row = rows.pop(number - 1)
                if take is not None:
                    types = dict.fromkeys(self.names, pa.binary())
                    value = self._parsed(row[1], [], types)[column][0].as_py()
                    take(self._of_value(row, self.names[column], value))
                continue
            if take is not None:
                self._take_ragged(rows, ragged, take)
            yield table
            return

    def _parsed(
        self, text: str, ragged: list[InvalidRow], types: Mapping[str, pa.DataType] | None = None
    ) -> pa.Table:
        """In the types of the columns, or in others, without NULLs then."""
        import pyarrow.csv as csv

        if not text:  # of which pyarrow makes an error
            known = types or self.types
            return empty_table(pa.schema([(name, known[name]) for name in self.names]))
        data = text.encode(errors="surrogateescape")
        read_options = csv.ReadOptions(
            use_threads=False, block_size=len(data) + 1, column_names=list(self.names)
        )
        return csv.read_csv(
            pa.BufferReader(data),
            read_options=read_options,
            parse_options=self.options.parse_options(
                self.delimiter,
                len(self.names),
                ragged.append if self.options.ragged == "skip" else None,
            ),
            convert_options=(
                self.options.convert_options(self.types)
                if types is None
                else csv.ConvertOptions(column_types=types, strings_can_be_null=False)
            ),
        )

    def _take_ragged(
        self, rows: Sequence[Row], ragged: Sequence[InvalidRow], take: TakeReject
    ) -> None:
        for one in ragged:
            line, text = rows[one.number - 1]
            reason = f"{one.actual_columns} values instead of {one.expected_columns}"
            take(Reject(line, None, None, reason, _plain(text)))

    def _of_value(self, row: Row, column: str, value: bytes) -> Reject:
        line, text = row
        data_type = self.types[column]
        kind = "UTF-8" if pa.types.is_string(data_type) else str(data_type)
        shown = value.decode(errors="replace")
        return Reject(line, column, shown, f"is no {kind}", _plain(text))

    def _located(self, error: pa.ArrowInvalid, rows: Sequence[Row]) -> CrossdockError:
        """With the line, and the row's number in its block gone."""
        message = str(error)
        match = _ROW_ERROR.match(message)
        if match is None:
            return make_error("CD-302", f"{self.path} cannot be read: {message}", try_=CSV_ADVICE)
        line = rows[int(match[1]) - 1][0]
        why = message[match.end() :]
        cause, advice = csv_cause(why)
        return make_error("CD-302", f"{self.path}, line {line}: {cause}", try_=advice)


def _lines_in(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _plain(text: str) -> str:
    """What can be shown of a text in which bytes may not be UTF-8."""
    text = text.rstrip(_ENDS)
    return text.encode(errors="surrogateescape").decode(errors="replace")
