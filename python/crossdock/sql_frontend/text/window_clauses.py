"""What SQL says of windows and plans have not: conditions and NULLs of their functions, and
distances of a RANGE. The first become parts of the arguments, the last numbers of rows that no
table has."""

from __future__ import annotations

from decimal import Decimal

from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.pieces import Pieces
from crossdock.sql_frontend.text.rewritten import (
    DISTINCT_MARK,
    EXCLUDE_MARK,
    FOLDS,
    GROUPS_MARK,
    HIDDEN,
    INTERVAL_MARK,
    MILLION,
    MONTHS_MARK,
    RANGE_MARK,
    REAL_MARK,
)
from crossdock.sql_frontend.text.tokens import words_of
from crossdock.sql_frontend.translation.intervals import parsed_interval

_DAY_US = 86_400_000_000
_WORDS = words_of("over preceding following ignore respect filter groups exclude")
_BOUNDS = ("preceding", "following", "row")
_ORDER_BY = " ORDER BY "
_ALL_ROWS = " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_MARKS = {"rows": 0, "range": RANGE_MARK, "groups": GROUPS_MARK}
_FOLDS = frozenset(HIDDEN + name for name in (*FOLDS, "quantile_disc"))
_LISTS = frozenset(("list", "array_agg"))  # which have NULLs, too
_OF_ROWS = frozenset(("first_value", "last_value", "nth_value", "lag", "lead", "first", "last"))


class WindowClauses:
    """Those of one text."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._filters: list[int] = []  # FILTER before OVER
        self._calls: list[tuple[int, int]] = []  # the bracket of a call, and its OVER
        self._ignored: list[tuple[int, int]] = []  # arguments whose NULLs do not count

    def word(self, number: int) -> None:
        """A word that may be of a window. SqlError for what windows have not."""
        word = self._pieces.word_at(number)
        if word not in _WORDS:
            return
        following = self._pieces.word_at(number + 1)
        if word == "over":
            self._call_before(number)
        elif word == "exclude" and following in ("current", "group", "ties", "no"):
            self._excluded(number, following)
        elif word in ("preceding", "following") and self._unit_of(number) >= 0:
            self._bound(number)
        elif word in ("ignore", "respect") and following == "nulls":
            self._nulls(number)
        elif word == "groups" and (
            following == "between" or self._pieces.word_at(number + 2) in _BOUNDS
        ):
            self._groups(number)
        elif word == "filter" and self._is_of_window(number + 1):
            self._filters.append(number)

    def _is_of_window(self, opened: int) -> bool:
        """Whether OVER stands behind a bracket."""
        if not self._pieces.is_at(opened, "("):
            return False
        return self._pieces.word_at(self._pieces.behind_bracket(opened)) == "over"

    def _call_before(self, number: int) -> None:
        """Notes the call that a window is of; the bracket of its FILTER is none."""
        opened = self._pieces.opening(number - 1)
        if self._pieces.word_at(opened - 1) == "filter":
            opened = self._pieces.opening(opened - 2)
        if opened > 0:
            self._calls.append((opened, number))

    def _nulls(self, number: int) -> None:
        """IGNORE NULLS, within the call or behind it, as a choice between the same values."""
        pieces = self._pieces
        is_within = not self._pieces.is_at(number - 1, ")") or self._pieces.is_at(number + 2, ")")
        opened = self._around(number) if is_within else self._pieces.opening(number - 1)
        close = pieces.behind_bracket(opened) - 1
        name = self._pieces.word_at(opened - 1)
        if name not in _OF_ROWS or "over" not in (
            self._pieces.word_at(close + 1),
            self._pieces.word_at(number + 2),
        ):
            raise unsupported(
                f"{pieces.word_at(number).upper()} NULLS of other than window functions of a row",
                pieces.text, pieces.tokens[number].start, f"{name}(x) FILTER (WHERE x IS NOT NULL)",
            )  # fmt: skip
        if self._pieces.word_at(number) == "ignore":
            end = next(iter(pieces.commas(opened, close)), number if is_within else close)
            self._ignored.append((opened + 1, end))
        pieces.pieces[number] = pieces.pieces[number + 1] = ""

    def _around(self, number: int) -> int:
        depth = 0
        for each in range(number, -1, -1):
            token = self._pieces.tokens[each]
            depth += token.is_operator(")") - token.is_operator("(")
            if depth < 0:
                return each
        return -1

    def _groups(self, number: int) -> None:
        """GROUPS as ROWS, with marks on numbers of groups; CURRENT ROW is 0 groups away."""
        pieces = self._pieces
        pieces.pieces[number] = "ROWS"
        end = number + 1
        while (token := pieces.at(end)) is not None and not token.is_operator(")"):
            if self._pieces.word_at(end) == "current":
                is_end = self._pieces.word_at(end - 1) == "and"
                pieces.pieces[end] = str(GROUPS_MARK)
                pieces.pieces[end + 1] = "FOLLOWING" if is_end else "PRECEDING"
            end += 1

    def _excluded(self, number: int, following: str) -> None:
        unit, width = self._unit_of(number), 3 if following in ("current", "no") else 2
        if unit < 0:  # of a star, or what DataFusion refuses
            return
        if following != "no":  # which is what frames do anyway
            excluded = "current row" if following == "current" else following
            self._add_marks(unit, f"'{EXCLUDE_MARK}{excluded}'")
        self._pieces.leave_out(number, number + width)

    def _add_marks(self, frame: int, marks: str) -> None:
        """Constants as the last keys of the order of a window, before its frame."""
        pieces, opened = self._pieces, frame
        while not pieces.is_at(opened, "("):
            opened = pieces.opening(opened - 1) if pieces.is_at(opened - 1, ")") else opened - 1
        words = {pieces.word_at(each) for each in range(opened + 1, frame)}
        is_first = "order" not in words and _ORDER_BY not in pieces.before.get(frame, "")
        begin = _ORDER_BY if is_first else ", "
        pieces.before[frame] = pieces.before.get(frame, "") + f"{begin}{marks} "

    def _unit_of(self, number: int) -> int:
        """ROWS, RANGE or GROUPS of the frame that a word is in; -1 where it is in none."""
        while number > 0 and not self._pieces.is_at(number, "("):
            if self._pieces.word_at(number) in _MARKS:
                return number
            number = self._pieces.opening(number) if self._pieces.is_at(number, ")") else number
            number -= 1
        return -1

    def _bound(self, number: int) -> None:
        """A distance before PRECEDING or FOLLOWING."""
        pieces = self._pieces
        bound, unit = pieces.tokens[number - 1], self._unit_of(number)
        if bound.lower == "unbounded":
            return
        begin = next(
            (i for i in (number - 2, number - 3) if self._pieces.word_at(i) == "interval"), -1
        )
        if begin < 0 and bound.kind != "number":
            raise unsupported(
                "a bound of a frame that is no number and no interval", pieces.text,
                bound.start, "a number, or INTERVAL '1' DAY",
            )  # fmt: skip
        mark = _MARKS[self._pieces.word_at(unit)]
        if begin < 0 and not bound.text.isdecimal():
            self._real_bound(number - 1, mark)
        elif begin >= 0:
            if mark != RANGE_MARK:
                raise unsupported("an interval of rows", pieces.text, bound.start, "RANGE")
            distance = self._distance(begin, number)
            pieces.leave_out(begin, number)
            pieces.pieces[begin] = str(distance)
        elif int(bound.text) >= RANGE_MARK:
            raise unsupported(
                f"a distance of {RANGE_MARK} or more in a frame", pieces.text, bound.start,
                "UNBOUNDED PRECEDING or FOLLOWING",
            )  # fmt: skip
        else:
            pieces.pieces[number - 1] = str(mark + int(bound.text))
        if mark:
            pieces.pieces[unit] = "ROWS"

    def _real_bound(self, number: int, mark: int) -> None:
        pieces, bound = self._pieces, self._pieces.tokens[number]
        distance = Decimal(bound.text) * MILLION
        if mark != RANGE_MARK or distance != distance.to_integral_value() or distance >= REAL_MARK:
            raise unsupported(
                f"a bound {bound.text} of a frame", pieces.text, bound.start,
                "whole numbers of ROWS and GROUPS, and six decimal places in a RANGE",
            )  # fmt: skip
        pieces.pieces[number] = str(REAL_MARK + int(distance))

    def _distance(self, begin: int, end: int) -> int:
        """An interval as a number with the mark of its unit."""
        tokens = self._pieces.tokens[begin + 1 : end]
        said = " ".join(token.value if token.kind == "string" else token.text for token in tokens)
        interval = parsed_interval(said)
        distance = interval.days * _DAY_US + interval.microseconds
        if interval.months and distance:
            raise unsupported(
                "a range of months and days", self._pieces.text, tokens[0].start,
                "INTERVAL '1' MONTH, or '30' DAY",
            )  # fmt: skip
        return MONTHS_MARK + interval.months if interval.months else INTERVAL_MARK + distance

    def finish(self) -> None:
        """Writes into the arguments that NULLs do not count, and conditions: what does not meet
        them is NULL."""
        pieces = self._pieces
        for begin, end in self._ignored:
            value = pieces.copied(begin, end)
            pieces.before[begin] = "coalesce(" + pieces.before.get(begin, "")
            pieces.behind[end - 1] = pieces.behind.get(end - 1, "") + f", {value}, {value})"
        for number in self._filters:
            self._write_filter(number)
        for opened, over in self._calls:
            self._move_order(opened, over)

    def _move_order(self, opened: int, over: int) -> None:
        """The order of the rows of a call, and a mark for DISTINCT, which plans have not, as the
        order of its window, of which it then is all rows."""
        pieces, close = self._pieces, self._pieces.behind_bracket(opened) - 1
        begin = self._order_within(opened, close)
        is_distinct = self._pieces.word_at(opened + 1) == "distinct"
        if begin < 0 and not is_distinct:
            return
        behind = pieces.behind_bracket(over + 1) - 1
        words = [self._pieces.word_at(each) for each in range(over + 2, behind)]
        units = (each for each in range(over + 2, behind) if self._is_unit(each))
        frame = next(units, behind)
        is_ordered = "order" in words or frame < behind
        if is_distinct and begin < 0 and is_ordered:
            pieces.pieces[opened + 1] = ""
            self._add_marks(frame, f"'{DISTINCT_MARK}'")
            return
        is_fold = any(f"'{fold}'" in pieces.pieces.get(close, "") for fold in _FOLDS)
        if not self._pieces.is_at(over + 1, "(") or (is_ordered and not is_fold):
            raise unsupported(
                "DISTINCT or ORDER BY in the call of a window function beside an order of the "
                "window", pieces.text, pieces.tokens[opened + 1 if is_distinct else begin].start,
                "OVER (PARTITION BY ...)",
            )  # fmt: skip
        orders = []
        if begin >= 0:
            written = pieces.taken_out(begin, close + 1)
            kept, _, order = written.upper().partition(_ORDER_BY.strip())
            orders.append(written[len(written) - len(order) :].rstrip().removesuffix(")"))
            pieces.pieces[close] = written[: len(kept)] + ")"
        if is_distinct:
            pieces.pieces[opened + 1] = ""
            orders.append(f"'{DISTINCT_MARK}'")
        if is_ordered:
            self._add_marks(frame, ", ".join(orders))
            return
        moved = _ORDER_BY + ", ".join(orders) + _ALL_ROWS
        pieces.before[behind] = pieces.before.get(behind, "") + moved

    def _is_unit(self, number: int) -> bool:
        """Whether a frame begins with the word."""
        behind = self._pieces.at(number + 1)
        is_begun = behind is not None and (
            behind.kind == "number"
            or behind.lower in ("between", "unbounded", "current", "interval")
        )
        return is_begun and self._pieces.word_at(number) in _MARKS

    def _order_within(self, opened: int, close: int) -> int:
        """The token of a call at which the order of its rows begins; -1 where it has none."""
        depth = 0
        for number in range(opened + 1, close + 1):
            token = self._pieces.tokens[number]
            if depth == 0 and (
                token.lower == "order" or _ORDER_BY in self._pieces.pieces.get(number, "")
            ):
                return number
            depth += token.is_operator("(", "[", "{") - token.is_operator(")", "]", "}")
        return -1

    def _write_filter(self, number: int) -> None:
        pieces = self._pieces
        behind = pieces.behind_bracket(number + 1)
        condition = pieces.copied(number + 3, behind - 1)
        pieces.leave_out(number, behind)
        opened, close = self._pieces.opening(number - 1), number - 1
        name = self._pieces.word_at(opened - 1)
        if name in _LISTS or name in _OF_ROWS:
            raise unsupported(
                f"FILTER of {name} over a window", pieces.text, pieces.tokens[number].start,
                f"{name}(x) FILTER (...) with GROUP BY in a query of its own, joined"
                if name in _LISTS else "a WHERE in a query of its own, joined",
            )  # fmt: skip
        if self._pieces.is_at(opened + 1, "*"):
            pieces.pieces[opened + 1] = f"CASE WHEN {condition} THEN 1 END"
            return
        if opened + 1 == close:
            raise unsupported(
                "FILTER of a window function of no value", pieces.text,
                pieces.tokens[number].start, "count(*) FILTER (...)",
            )  # fmt: skip
        end = next(iter(pieces.commas(opened, close)), close)
        begin = opened + 1 + (self._pieces.word_at(opened + 1) == "distinct")
        pieces.before[begin] = f"CASE WHEN {condition} THEN (" + pieces.before.get(begin, "")
        pieces.behind[end - 1] = pieces.behind.get(end - 1, "") + ") END"
