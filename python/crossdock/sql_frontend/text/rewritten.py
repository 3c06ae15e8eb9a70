"""A query's text for DataFusion, with what was taken out of it and where it was."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

HIDDEN = "\x02"  # begins the names of columns that no result has
RENAMED = "\x03"  # begins other names of items, which results show without it
ROWS = HIDDEN + "rows"  # the relation over whose columns an expression is read
# Begins the names of tables with numbers of rows: each has a column of its own name, or two that
# begin with it.
ROW_NUMBERS = HIDDEN + "rows "
# Is true, and stands above the right side of INTERSECT ALL and EXCEPT ALL: their plans are those of
# semi and anti joins, which count no rows.
KEEPS_ALL = HIDDEN + "all"
# Stands for a number of rows, of which more than one are an error.
ONE_ROW = HIDDEN + "one row"
# Stands for the place of an element in its list where UNNEST is: of all, a row for each.
UNNEST = HIDDEN + "unnest"
# Stand for random() and uuid(), with the number of the call.
RANDOM = HIDDEN + "random"
UUID = HIDDEN + "uuid"
# Stand for the place of an element in a function of elements, with the number of the function, and
# for that place itself; and for the bound of a slice that is of what such a function gives.
ELEMENT = HIDDEN + "element"
PLACE = HIDDEN + "place"
TRANSFORMED = HIDDEN + "transformed"
FILTERED = HIDDEN + "filtered"
# Aggregates that DataFusion does not know, as values in an order that a constant marks; by name how
# the value is written, which says the type.
FOLDS = {
    "mode": "{}", "product": "cast({} AS double)", "mad": "cast({} AS double)",
    "skewness": "cast({} AS double)", "kurtosis": "cast({} AS double)",
    "kurtosis_pop": "cast({} AS double)",
    "entropy": "cast(array_length(make_array({})) AS double)",
    "histogram": "map(make_array({}), make_array(cast(0 AS bigint)))",
}  # fmt: skip
SHARE_MARK = 1 << 62  # added to the share of LIMIT 10%, in millionths of a percent
ZONED = HIDDEN + "zoned"  # instants of AT TIME ZONE, and the times that clocks show
LOCAL = HIDDEN + "local"
SLICED = HIDDEN + "sliced"  # `s[1:3]` of a string, with the number of its bracket
CHARACTER = HIDDEN + "character"  # `s[2]` of one
OF_CHARACTERS = (SLICED, CHARACTER)
TIMES = HIDDEN + "times"  # of a number and an interval
MULTIPLIED = HIDDEN + "multiplied"  # of an interval and a number
DISTINCT_MARK = HIDDEN + "distinct"  # of a window function of values that count once
RANGE_MARK = 1 << 40  # added to the distances of a RANGE, which is written as ROWS
GROUPS_MARK = 1 << 60  # the same of GROUPS
INTERVAL_MARK = 1 << 61  # the same of one in microseconds
MONTHS_MARK = 1 << 62  # the same of one in months
REAL_MARK = 3 << 61  # the same of one that is no whole number, in millionths
MILLION = 1_000_000
EXCLUDE_MARK = HIDDEN + "exclude "  # what a frame leaves out
# Stand for operators that DataFusion has not, beside operators of the same precedence: `a // b` is
# a * WHOLE / b, and `~a` is INVERTED & a.
WHOLE = HIDDEN + "whole"
INVERTED = HIDDEN + "inverted"
OPERATOR_MARKS = (WHOLE, INVERTED)


def hidden_columns(table: str) -> list[str]:
    """The numbers of rows that a table has beside its columns."""
    if not table.startswith(ROW_NUMBERS):
        return []
    is_side = table.endswith((" left", " right"))
    return [table] if is_side else [f"{table} of left", f"{table} of right"]


NUMBERED = re.compile(r"(.+)_([1-9]\d*)")
_DECIMAL = re.compile(
    r"\b(?:decimal|numeric|dec)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", re.IGNORECASE
)


@dataclass(frozen=True)
class Meant:
    """Names that mean something else than a column of that name: those of select items; those of
    further columns that a subquery has under one name, k_1 and so on; those of a star's columns,
    which no item takes; those of several tables, which may be one subquery without a name; t.x of
    tables that have no x, though a sort may be by it; and those of items beside such an x. The
    tokens of AT TIME ZONE of values that have a zone. Functions that are of other types than their
    names say: epoch_ms of numbers, array_slice and array_element of strings. And the brackets of
    elements and slices that are of lists nevertheless."""

    items: set[str] = field(default_factory=set)
    numbered: set[str] = field(default_factory=set)
    of_stars: set[str] = field(default_factory=set)
    ambiguous: set[str] = field(default_factory=set)
    no_columns: set[str] = field(default_factory=set)
    renamed: set[str] = field(default_factory=set)
    of_instants: set[int] = field(default_factory=set)
    of_others: set[str] = field(default_factory=set)
    of_lists: set[int] = field(default_factory=set)


AS_THEY_STAND = Meant()


@dataclass(frozen=True)
class FileCall:
    """A file in FROM: the function that reads it, its arguments and options, and where it is."""

    function: str
    arguments: tuple[object, ...]
    options: tuple[tuple[str, object], ...]
    place: int


@dataclass
class Rewritten:
    """A query's text for DataFusion, and what was taken out of it."""

    original: str
    text: str = ""
    files: dict[str, FileCall] = field(default_factory=dict)  # by the name that stands for them
    tables: dict[str, int] = field(default_factory=dict)  # names where tables are, and their places
    aliases: dict[str, str] = field(default_factory=dict)  # behind AS: lower case -> written
    spellings: dict[str, str] = field(default_factory=dict)  # the same of other names
    has_in: bool = False  # IN or ANY with a subquery
    has_exists: bool = False
    item_names: set[str] = field(default_factory=set)  # that select items give
    of_tables: set[str] = field(default_factory=set)  # t.x, in place of x, which items give, too
    unnests: int = 0  # number of UNNEST of what is no list of constants
    # now(), random() and their like, which are others when the text comes again
    has_moment: bool = False
    has_share: bool = False  # LIMIT 10%
    parameters: dict[str, None] = field(default_factory=dict)  # "1", "2" or names, in order
    _places: list[tuple[int, int]] = field(default_factory=list)  # of `text`, of `original`

    @property
    def decimals(self) -> frozenset[tuple[int, int]]:
        """Digits, and those behind the point, of the types DECIMAL(p, s) that the text has."""
        types = _DECIMAL.findall(self.original)
        return frozenset((int(digits), int(scale or 0)) for digits, scale in types)

    @property
    def marks(self) -> str:
        """What subqueries under OR are of; "" where it may be either."""
        if self.has_in and self.has_exists:
            return ""
        return "in" if self.has_in else "exists"

    def place_of(self, place: int) -> int:
        """Where in the original a place of the rewritten text is."""
        index = bisect_right(self._places, (place, len(self.original))) - 1
        if index < 0:
            return min(place, len(self.original))
        new, old = self._places[index]
        following = self._places[index + 1][1] if index + 1 < len(self._places) else None
        original = old + place - new
        return min(original, len(self.original) if following is None else following)


def stem_of(call: FileCall) -> str:
    """The name that a file has in a query that gives it none: its own, without its ending; other
    tables are called as their function."""
    if not call.function.startswith("read") and call.function != "parquet_scan":
        return call.function
    first = call.arguments[0] if call.arguments else "file"
    path = str(first[0] if isinstance(first, list) and first else first)
    stem = path.rstrip("/").rpartition("/")[2].partition(".")[0]
    return stem.lower() or "file"
