"""The options of reading CSV files: checked, and in the form that pyarrow takes."""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypedDict

from crossdock.errors import CrossdockError, make_error, unknown_choice
from crossdock.familiar_options import unknown_option
from crossdock.option_checks import require_count, require_flag, require_text, require_types

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, InvalidRow, ParseOptions, ReadOptions

    from crossdock.files.far_files import FileSystemLike

CSV_ADVICE = (
    "types={'column': 'string'} where the first rows mislead; ragged='fill' or 'skip' for rows of "
    "other lengths; bad_values='skip' for rows with values of other types"
)
# Where pyarrow opens a file, and what it says of a value; columns are counted from 0 there.
_OPENED = re.compile(r"^Could not open CSV input source '.*?': Invalid: ")
_NO_VALUE = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (.+?): invalid value '(.*)'"
)
_RAGGED = ("error", "skip", "fill")
_BAD_VALUES = ("error", "skip")
_DELIMITERS = (",", ";", "\t", "|")  # that are looked for
_SNIFFED_LINES = 200
_UNEVEN = re.compile(r"Expected (\d+) columns, got (\d+)")


def csv_cause(message: str) -> tuple[str, str]:
    """What pyarrow says of a file, as users count, and what to try."""
    message = _OPENED.sub("", message)
    if (wrong := _NO_VALUE.search(message)) is not None:
        what = f"{wrong[4]!r} in column {int(wrong[1]) + 1} of row {wrong[2]} is no {wrong[3]}"
        return (
            what,
            "types={'column': 'string'} for this column, or bad_values='skip' for such rows",
        )
    if (uneven := _UNEVEN.search(message)) is not None:
        is_short = int(uneven[2]) < int(uneven[1])
        ragged = "ragged='fill' or 'skip'" if is_short else "ragged='skip'"
        return message, f"{ragged}; quote= or delimiter=, where values have commas"
    return message, CSV_ADVICE


class CsvArguments(TypedDict, total=False):
    """What `read_csv` takes besides paths; CsvOptions says what it means."""

    header: bool
    names: Sequence[str] | None
    skip: int
    delimiter: str | None
    quote: str | None
    escape: str | None
    comment: str | None
    null_values: str | Sequence[str] | None
    encoding: str
    decimal: str
    types: Mapping[str, Any] | None
    ragged: str
    bad_values: str


class ReadArguments(CsvArguments, total=False):
    """What `read` takes besides paths: options of all formats, and those of some."""

    union_by_name: bool
    hive_partitioning: bool | None
    filename: bool | str
    filesystem: FileSystemLike | None


@dataclass(frozen=True)
class CsvOptions:
    """How the lines of a file are values.

    header: whether the first line has the names. names: those of all columns, in place of the
    header's; without header and names they are column0, column1, ... skip: lines before all that.
    delimiter: "" = , ; tab or |, whichever the first lines of the first file are cut by. quote,
    escape: "" = none. comment: lines that begin with it are left out. null_values: what stands for
    NULL; None = what pyarrow takes for it. decimal: "." or ",". types: by column, where the ones
    inferred from the first block of a file are not right. ragged: what becomes of a row with
    another number of values: "error", "skip" it, or "fill" it up with empty ones. bad_values: of
    one with a value that is none of its column's type: "error", or "skip" it.
    """

    header: bool = True
    names: tuple[str, ...] = ()
    skip: int = 0
    delimiter: str = ""
    quote: str = '"'
    escape: str = ""
    comment: str = ""
    null_values: tuple[str, ...] | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    types: dict[str, Any] = field(default_factory=dict)
    ragged: str = "error"
    bad_values: str = "error"

    @staticmethod
    def checked(given: Mapping[str, Any]) -> CsvOptions:
        """The options that users gave, by name. OptionError."""
        known = CsvArguments.__annotations__
        for name in given:
            if name not in known:
                raise unknown_option("read_csv", name, known)
        options = CsvOptions(
            header=_header(given.get("header", True)),
            names=_names(given.get("names")),
            skip=require_count(given.get("skip", 0), "read_csv()", "skip"),
            delimiter=_character(given, "delimiter", "", ";"),
            quote=_character(given, "quote", '"', "'"),
            escape=_character(given, "escape", "", "\\"),
            comment=_character(given, "comment", "", "#"),
            null_values=_null_values(given.get("null_values")),
            encoding=_known_encoding(given.get("encoding", "utf-8")),
            decimal=_character(given, "decimal", ".", ","),
            types=require_types(given.get("types"), "read_csv"),
            ragged=_choice(given, "ragged", _RAGGED),
            bad_values=_choice(given, "bad_values", _BAD_VALUES),
        )
        if options.decimal and options.decimal == options.delimiter:
            raise _wrong("decimal", options.decimal, "is the delimiter too", "delimiter=';'")
        return options

    @property
    def sets_rows_aside(self) -> bool:
        """Whether there are rows that are left out, which `read_csv_rejects` has."""
        return "skip" in (self.ragged, self.bad_values)

    def sniffed(self, text: str) -> str:
        """The delimiter of a file that begins with `text`."""
        if self.delimiter:
            return self.delimiter
        lines = self._lines(text)[:_SNIFFED_LINES]
        candidates = [sign for sign in _DELIMITERS if sign != self.decimal]
        counts = {sign: [line.count(sign) for line in lines] for sign in candidates}
        even = {c: count[0] for c, count in counts.items() if count and len(set(count)) == 1}
        best = max(candidates, key=lambda sign: even.get(sign, 0))
        if even.get(best, 0) > 0 or not lines:
            return best
        return max(candidates, key=lambda sign: counts[sign][0])

    def has_empty_rows(self, columns: int) -> bool:
        """Whether an empty line is a row of a file of so many columns. Comments leave such lines,
        too."""
        return columns == 1 and not self.comment

    def parse_options(
        self,
        delimiter: str,
        columns: int,
        refused: Callable[[InvalidRow], None] | None = None,
    ) -> ParseOptions:
        """For pyarrow.csv. columns: how many the file has; 0: as many as there are. `refused`: is
        given each row of another number of values, as pyarrow describes it, in place of an
        error."""
        import pyarrow.csv as csv

        def skip(row: InvalidRow) -> str:
            assert refused is not None
            refused(row)
            return "skip"

        return csv.ParseOptions(
            delimiter=delimiter,
            quote_char=self.quote or False,
            escape_char=self.escape or False,
            newlines_in_values=bool(self.quote or self.escape),
            ignore_empty_lines=not self.has_empty_rows(columns),
            invalid_row_handler=None if refused is None else skip,
        )

    def empty_lines(self, text: str) -> int:
        """How many a file that begins with `text` has before its header."""
        lines = text.splitlines()[self.skip :]
        return sum(1 for _ in itertools.takewhile(lambda line: not line, lines))

    def count_columns(self, text: str, delimiter: str) -> int:
        """How many values the first line has of a file that begins with `text`."""
        lines = self._lines(text)
        return lines[0].count(delimiter) + 1 if lines else 0

    def header_of(self, text: str, delimiter: str) -> list[str]:
        """The names in the first line of a file that begins with `text`; none where it is no line
        of values."""
        import csv

        lines = [
            line
            for line in text.splitlines(keepends=True)[self.skip :]
            if line.strip("\r\n") and not (self.comment and line[0] == self.comment)
        ]
        rows = csv.reader(
            lines,
            delimiter=self.delimiter or delimiter or self.sniffed(text),
            quotechar=self.quote or None,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
        )
        try:
            return next(rows, [])
        except csv.Error:  # which the reader of the file says better
            return []

    def read_options(self, names: Sequence[str], empty_lines: int = 0) -> ReadOptions:
        """For pyarrow.csv. `names`: of columns, in place of those of a header. empty_lines: before
        it."""
        import pyarrow.csv as csv

        return csv.ReadOptions(
            encoding=self.encoding,
            skip_rows=self.skip + empty_lines,
            skip_rows_after_names=1 if names and self.header else 0,
            column_names=list(names) or None,
        )

    def lines_read_options(self, names: Sequence[str]) -> ReadOptions:
        """The same for lines in UTF-8 of which those to be skipped have been left out."""
        read_options = self.read_options(names)
        read_options.encoding = "utf-8"
        read_options.skip_rows = 0
        return read_options

    def convert_options(
        self, types: Mapping[str, pa.DataType], columns: Sequence[str] = ()
    ) -> ConvertOptions:
        """For pyarrow.csv. `columns`: those that are wanted; none: all."""
        import pyarrow.csv as csv

        return csv.ConvertOptions(
            column_types=dict(types),
            strings_can_be_null=True,
            decimal_point=self.decimal,
            include_columns=list(columns) or None,
            include_missing_columns=bool(columns),
            null_values=None if self.null_values is None else list(self.null_values),
        )

    def nulls(self) -> list[str]:
        """What stands for NULL."""
        import pyarrow.csv as csv

        if self.null_values is not None:
            return list(self.null_values)
        return list(csv.ConvertOptions().null_values)

    def _lines(self, text: str) -> list[str]:
        """The whole lines of values at the begin of a file, without what stands in quotes."""
        if self.quote:
            sign = re.escape(self.quote)
            text = re.sub(f"{sign}[^{sign}]*{sign}", "", text)
        lines = text.splitlines()
        whole = lines[:-1] if len(lines) > 1 and not text.endswith(("\n", "\r")) else lines
        kept = whole[self.skip :]
        return [line for line in kept if line and not (self.comment and line[0] == self.comment)]


# As users give them: None for what is not set.
CSV_DEFAULTS = {
    each.name: None if each.default in ("", (), MISSING) else each.default
    for each in fields(CsvOptions)
}
READ_DEFAULTS = {
    "union_by_name": True, "hive_partitioning": None, "filename": False, "filesystem": None,
    **CSV_DEFAULTS,
}  # fmt: skip


def _wrong(option: str, value: object, why: str, example: str) -> CrossdockError:
    return make_error("CD-105", f"read_csv({option}={value!r}) {why}", try_=example)


def _choice(given: Mapping[str, Any], option: str, choices: tuple[str, ...]) -> str:
    value = given.get(option, "error")
    if value not in choices:
        raise unknown_choice(option, value, choices)
    return str(value)


def _character(given: Mapping[str, Any], option: str, default: str, example: str) -> str:
    if option not in given:
        return default
    value = given[option]
    if value is None or (value == "" and option not in ("delimiter", "decimal")):
        return default if option == "decimal" else ""
    if not isinstance(value, str) or len(value.encode()) != 1:
        raise _wrong(option, value, "is not one ASCII character", f"{option}={example!r}")
    return value


def _strings(value: object, option: str, example: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _wrong(option, value, "is no list of strings", example)
    return tuple(require_text(item, f"read_csv({option}=...)", example) for item in value)


def _header(given: object) -> bool:
    if given is None:
        raise make_error(
            "CD-105", "read_csv(header=None) is neither True nor False", try_="header=False"
        )
    return require_flag(given, "header", "read_csv")


def _names(value: object) -> tuple[str, ...]:
    names = () if value is None else _strings(value, "names", "names=['id', 'city']")
    if len(set(names)) != len(names):
        raise _wrong("names", list(names), "has a name twice", "names=['id', 'city']")
    return names


def _null_values(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return (value,)
    return _strings(value, "null_values", "null_values=['', 'NA']")


def _known_encoding(encoding: object) -> str:
    example = "encoding='latin-1'"
    try:
        return codecs.lookup(require_text(encoding, "read_csv(encoding=...)", example)).name
    except LookupError:
        raise _wrong("encoding", encoding, "is no encoding that Python has", example) from None
