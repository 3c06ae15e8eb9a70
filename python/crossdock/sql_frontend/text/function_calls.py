"""Calls of functions and operators that DataFusion does not know, or knows by another name, as what
it knows."""

from __future__ import annotations

from collections.abc import Collection

from crossdock.sql_frontend.added_functions import (
    ADDED,
    INSTANT,
    instants_of,
    missing_arguments,
)
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.operands import ends_value, value_before
from crossdock.sql_frontend.text.pieces import Pieces
from crossdock.sql_frontend.text.rewritten import (
    CHARACTER,
    FOLDS,
    HIDDEN,
    INVERTED,
    RANDOM,
    SLICED,
    UUID,
    WHOLE,
)
from crossdock.sql_frontend.text.tokens import quoted, words_of

# Words behind which an operand begins.
_BEFORE_OPERANDS = words_of(
    "select distinct all where and or not on when then else by having qualify case in between like "
    "limit offset"
)
QUERY_STARTS = frozenset(("select", "with", "values", "from", "table"))
# Functions by other names, as DuckDB has them; and parts of dates that are functions there.
SYNONYMS = {
    "sign": "signum", "ifnull": "coalesce", "len": "length", "mean": "avg", "ceiling": "ceil",
    "pow": "power", "ucase": "upper", "lcase": "lower", "prefix": "starts_with",
    "suffix": "ends_with", "arbitrary": "any_value", "std": "stddev", "variance": "var_samp",
    "strlen": "octet_length", "approx_count_distinct": "approx_distinct",
    "approx_quantile": "approx_percentile_cont", "grouping_id": "grouping",
    "list_value": "make_array", "list_pack": "make_array", "struct_extract": "get_field",
    "first": "first_value", "last": "last_value",
    "list": "array_agg",
    "list_contains": "array_has", "list_extract": "array_element", "list_element": "array_element",
    "list_length": "array_length", "regexp_matches": "regexp_like", "to_hex": "hex",
    "datediff": "date_diff", "datesub": "date_sub", "str_split": "string_split",
    "string_to_array": "string_split", "split": "string_split",
    "regexp_split_to_array": "string_split_regex",
    "str_split_regex": "string_split_regex", "list_min": "array_min", "array_mean": "array_avg",
    "unicode": "ascii", "ord": "ascii", "editdist3": "levenshtein", "mismatches": "hamming",
    "json_extract_path": "json_extract", "json_extract_path_text": "json_extract_string",
}  # fmt: skip
EXTREMES = {
    "arg_min": "arg_min", "argmin": "arg_min", "min_by": "arg_min",
    "arg_max": "arg_max", "argmax": "arg_max", "max_by": "arg_max",
}  # fmt: skip
_RANDOM = {"random": RANDOM, "uuid": UUID, "gen_random_uuid": UUID, "uuidv4": UUID}
DATE_PARTS = words_of(
    "year quarter month week day hour minute second dayofweek dayofyear isodow isoyear millisecond "
    "microsecond epoch epoch_ms epoch_us decade century millennium yearweek weekday weekofyear "
    "dayofmonth"
)
_QUERIES = frozenset(("select", "with", "from", "values"))  # words that begin one


class FunctionCalls(Pieces):
    """Rewrites calls of functions and operators, by the numbers of their tokens."""

    draws = 0  # calls of random() and uuid()
    of_others: Collection[str] = ()  # functions that are of other types in this text
    of_lists: Collection[int] = ()  # brackets of elements that are of lists

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._places: dict[str, int] = {}  # of each `s[2]`, as it is written, its first bracket

    def constant(self, number: int) -> None:
        """A number, of which 1e3 is a double, and digits may have _ between them."""
        plain = self.tokens[number].text.replace("_", "")
        self.pieces[number] = f"cast('{plain}' as double)" if "e" in plain.lower() else plain

    def _is_table(self, number: int) -> bool:
        """Whether a name in WITH has those of its columns behind it."""
        before = self.at(number - 1)
        is_first = before is not None and before.lower in ("with", "recursive")
        if not is_first and (before is None or not before.is_operator(",")):
            return False
        behind = self.behind_bracket(number + 1)
        return self.word_at(behind) == "as" and self.is_at(behind + 1, "(")

    def call(self, number: int) -> None:
        """The name of a function, before a bracket."""
        word, before = self.tokens[number].lower, self.at(number - 1)
        is_name = before is not None and before.is_operator(".")
        if self._is_table(number):
            return
        if word == "epoch_ms" and word in self.of_others:
            self._time_of_number(number)
        elif word in SYNONYMS:
            self.pieces[number] = SYNONYMS[word]
        elif word in EXTREMES:
            self._extreme(number, word)
        elif word == "count" and not is_name:
            self._row(number + 2 + (self.word_at(number + 2) == "distinct"))
        elif word in ("list_concat", "array_concat", "list_cat", "array_cat") and not is_name:
            self.pieces[self.behind_bracket(number + 1) - 1] = ", make_array())"
        elif word in ("string_agg", "group_concat", "listagg") and not is_name:
            self.pieces[number] = "string_agg"
            self._separated(number)
        elif word in _RANDOM and not is_name:
            self._draw(number)
        elif word in FOLDS and not is_name:
            self._fold(number, word)
        elif word in ("quantile", "quantile_disc") and not is_name:
            self._discrete_quantile(number)
        elif word == "time_bucket" and not is_name:
            self._time_bucket(number)
        elif word in DATE_PARTS and not is_name:
            self.pieces[number] = "date_part"
            self.pieces[number + 1] = f"('{word}', "
        elif word == "xor" and not is_name:
            self._xor(number)
        if word not in ("over", "as"):
            self._order_by_numbers(number)
        if (name := self.pieces.get(number, word)) in ADDED:
            self._complete(number, name)

    def field_behind(self, number: int) -> bool:
        """`l[1].x` and `f(y).x` with the field in brackets, as DataFusion has it."""
        before, name, following = (self.at(number + i) for i in (-1, 1, 2))
        if before is None or name is None or not before.is_operator(")", "]", "}"):
            return False
        is_call = following is not None and following.is_operator("(")
        if name.kind not in ("word", "quoted") or is_call:
            return False
        self.pieces[number] = ""
        self.pieces[number + 1] = "['" + name.name.replace("'", "''") + "']"
        return True

    def place(self, number: int) -> None:
        """The bracket of `s[2]` and `s[1:3]`, where these are of strings in this text."""
        end = self.behind_bracket(number) - 1
        colons = [i for i in range(number, end) if self.is_at(i, ":")]
        name, mark = ("array_slice", SLICED) if colons else ("array_element", CHARACTER)
        is_asked = name in self.of_others and self.is_at(number, "[")
        begin = value_before(self.tokens, number) if is_asked else -1
        if begin < 0 or not ends_value(self.tokens[number - 1]) or len(colons) > 1:
            return
        is_field = end == number + 2 and self.tokens[number + 1].kind == "string"
        said = self.text[self.tokens[begin].start : self.tokens[end].end].lower()
        place = self._places.setdefault(said, number)
        if place in self.of_lists or is_field or end == number + 1:
            return
        self.before[begin] = f"{quoted(mark)}(" + self.before.get(begin, "")
        self.pieces[number] = ", "
        for colon in colons:
            self.operator_without_like(colon)
            self.pieces[colon] = self.pieces[colon].replace(":", ", ")
        self.pieces[end] = f", {place})"

    def operator_without_like(self, number: int) -> None:
        """An operator that DataFusion has not, or binds differently."""
        token = self.tokens[number]
        if token.is_operator("//"):
            self.pieces[number] = f"* {quoted(WHOLE)}(0) /"
        elif token.is_operator(":") and number not in self.pieces:  # of l[:2] and l[2:]
            first = "1" if self.is_at(number - 1, "[") else ""
            last = "-1" if self.is_at(number + 1, "]") else ""
            self.pieces[number] = f"{first}:{last}"
        elif token.is_operator("~") and self._begins_operand(number):
            self.pieces[number] = f"{quoted(INVERTED)}(0) & "
        elif token.is_operator("^", "**"):  # ^ binds closer than * elsewhere, and is xor there
            raise unsupported(
                f"the operator {token.text}", self.text, token.start,
                "power(a, b), or xor(a, b) of bits",
            )  # fmt: skip

    def compare_distinct(self, number: int) -> None:
        """`a IS DISTINCT FROM b AND c` is about a and b: for the parser, all behind FROM is one
        operand. So `a <=> (b)`, which is IS NOT DISTINCT FROM, is written in its place."""
        is_not = self.word_at(number - 2) == "not"
        first = number - (3 if is_not else 2)
        end = self.behind_operand(number + 1)
        if self.word_at(first) != "is" or end == number + 1:
            return
        self.pieces |= dict.fromkeys(range(first, number), "")
        self.pieces[first], self.pieces[number] = "<=>", "("
        self.behind[end - 1] = ")" + ("" if is_not else " IS FALSE") + self.behind.get(end - 1, "")

    def opens_query(self, number: int) -> bool:
        """Whether the bracket at a token, or one right behind it, holds a query."""
        token, following = self.at(number), self.at(number + 1)
        return (
            token is not None
            and token.is_operator("(")
            and following is not None
            and (following.lower in QUERY_STARTS or following.is_operator("("))
        )

    def _begins_operand(self, number: int) -> bool:
        """Whether the operator ~ has nothing on its left. SqlError where it stands behind another
        operator, which its place in DataFusion would turn around."""
        before = self.at(number - 1)
        if before is None or before.is_operator(
            "(", "[", ",", "=", "<", ">", "<=", ">=", "<>", "!="
        ):
            return True
        if before.kind == "operator" and not before.is_operator(")", "]"):
            raise unsupported(
                f"~ behind {before.text}", self.text, self.tokens[number].start, "(~x), in brackets"
            )
        return before.lower in _BEFORE_OPERANDS

    def _time_of_number(self, number: int) -> None:
        """epoch_ms(x) of milliseconds since 1970, which is the time."""
        self.pieces[number], self.pieces[number + 1] = "arrow_cast(", "cast("
        end = self.behind_bracket(number + 1) - 1
        self.pieces[end] = f" AS bigint) * 1000, '{INSTANT}')"

    def _xor(self, number: int) -> None:
        """xor(a, b) as `a ^ b`, which is that there."""
        behind = self.behind_bracket(number + 1)
        commas = self.commas(number + 1, behind - 1)
        if len(commas) != 1:
            raise sql_error(
                "xor takes two numbers", self.text, self.tokens[number].start, "xor(a, b)"
            )
        self.pieces[number] = ""
        self.pieces[number + 1] = "(("
        self.pieces[commas[0]] = ") ^ ("
        self.pieces[behind - 1] = "))"

    def _draw(self, number: int) -> None:
        """random() and uuid(), each call with its number."""
        word = self.tokens[number].lower
        if not self.is_at(number + 2, ")"):
            raise sql_error(
                f"{word} takes no value", self.text, self.tokens[number].start, f"{word}()"
            )
        self.draws += 1
        self.pieces[number] = quoted(_RANDOM[word])
        self.pieces[number + 1] = f"({self.draws}"

    def _row(self, number: int) -> None:
        """A row `(a + 1, b)`, which DataFusion has of names alone in brackets."""
        is_opened = self.is_at(number, "(") and self.tokens[number + 1].lower not in QUERY_STARTS
        if is_opened and self.commas(number, self.behind_bracket(number) - 1):
            self.before[number] = self.before.get(number, "") + "struct"

    def _separated(self, number: int) -> None:
        """The comma that string_agg has between strings where a text gives nothing."""
        order = self._order_within(number)
        if not self.commas(number + 1, order) and order > number + 2:
            self.before[order] = ", ',' " + self.before.get(order, "")

    def _order_within(self, number: int) -> int:
        """The ORDER of a call, or its last bracket."""
        end = self.behind_bracket(number + 1) - 1
        depth = 0
        for each in range(number + 1, end):
            token = self.tokens[each]
            depth += token.is_operator("(", "[", "{") - token.is_operator(")", "]", "}")
            if depth == 1 and token.lower == "order":
                return each
        return end

    def _order_by_numbers(self, number: int) -> None:
        """Numbers order nothing in a call. DataFusion has them as places of columns."""
        order, end = self._order_within(number), self.behind_bracket(number + 1) - 1
        if order == end or self.tokens[number + 2].lower in _QUERIES:
            return
        keys = [order + 2, *(comma + 1 for comma in self.commas(number + 1, end) if comma > order)]
        for key in keys:
            if self.tokens[key].kind == "number":
                self.before[key] = "0 + " + self.before.get(key, "")

    def _complete(self, number: int, name: str) -> None:
        """A call of a function that has default arguments gets those that it leaves out."""
        behind = self.behind_bracket(number + 1)
        ends = [*self.commas(number + 1, behind - 1), behind - 1]
        begins = [number + 2, *(end + 1 for end in ends[:-1])]
        count = len(ends) if behind > number + 3 else 0
        for begin, end, is_instant in zip(begins, ends, instants_of(name), strict=False):
            if is_instant and count:  # DataFusion has one type of each argument
                self.before[begin] = "arrow_cast(" + self.before.get(begin, "")
                self.before[end] = self.before.get(end, "") + f", '{INSTANT}')"
        missing = missing_arguments(name, count)
        if missing:
            self.before[behind - 1] = ", " + ", ".join(missing)

    def similar(self, number: int) -> None:
        """`x SIMILAR TO 'pattern'`: the whole string matches the regular expression."""
        before, pattern = self.at(number - 1), self.at(number + 2)
        if pattern is None or pattern.kind != "string":
            return  # which DataFusion refuses
        is_negated = before is not None and before.lower == "not"
        if is_negated:
            self.pieces[number - 1] = ""
        self.pieces[number] = "!~" if is_negated else "~"
        self.pieces[number + 1] = ""
        begin = pattern.text.index("'") + 1
        inner = pattern.text[begin:-1]
        self.pieces[number + 2] = pattern.text[:begin] + f"^(?:{inner})$'"

    def _fold(self, number: int, word: str) -> None:
        """mode(x) and others of FOLDS."""
        end, order = self.behind_bracket(number + 1) - 1, self._order_within(number)
        if self.commas(number + 1, order) or order == number + 2:
            raise sql_error(
                f"{word} takes one value", self.text, self.tokens[number].start, f"{word}(x)"
            )
        before, behind = FOLDS[word].split("{}")
        distinct = number + 2 if self.word_at(number + 2) == "distinct" else 0
        self.pieces[number] = "first_value"
        self.behind[distinct or number + 1] = f" {before}"
        if order == end:
            self.pieces[end] = f"{behind} ORDER BY '{HIDDEN}{word}')"
        else:
            self.before[order] = f"{behind} " + self.before.get(order, "")
            self.pieces[end] = f", '{HIDDEN}{word}')"

    def _discrete_quantile(self, number: int) -> None:
        """quantile_disc(x, q), as `_fold`, with q before the constant."""
        end = self.behind_bracket(number + 1) - 1
        commas = self.commas(number + 1, end)
        if len(commas) != 1 or commas[0] == number + 2:
            word = self.tokens[number].text
            raise sql_error(
                f"{word} takes a value and a share", self.text, self.tokens[number].start,
                f"{word}(x, 0.5)",
            )  # fmt: skip
        self.pieces[number] = "first_value"
        self.pieces[commas[0]] = " ORDER BY cast("  # a number by itself would be a column's
        self.pieces[end] = f" AS double), '{HIDDEN}quantile_disc')"

    def _time_bucket(self, number: int) -> None:
        """time_bucket(width, x) of dates and timestamps."""
        end = self.behind_bracket(number + 1) - 1
        commas = self.commas(number + 1, end)
        if len(commas) != 1:
            raise unsupported(
                "time_bucket of other than a width and a time", self.text,
                self.tokens[number].start, "time_bucket(interval '15 minutes', x)",
            )  # fmt: skip
        self.pieces[number] = "date_bin"
        self.before[commas[0] + 1] = "arrow_cast("
        self.pieces[end] = f", '{INSTANT}'))"

    def _extreme(self, number: int, word: str) -> None:
        """arg_max(x, by), which DataFusion does not know, as a value in an order that a constant
        marks."""
        end = self.behind_bracket(number + 1) - 1
        commas = self.commas(number + 1, end)
        if len(commas) != 1 or commas[0] == number + 2:
            raise sql_error(
                f"{word} takes a value and what is the least or the most", self.text,
                self.tokens[number].start, try_=f"{word}(name, price)",
            )  # fmt: skip
        self.pieces[number] = "first_value"
        self._row(commas[0] + 1)
        by = self.tokens[commas[0] + 1 : end]
        is_place = len(by) == 1 and by[0].kind == "number"  # of a column, as DataFusion has it
        self.pieces[commas[0]] = " ORDER BY 0 + " if is_place else " ORDER BY "
        self.pieces[end] = f", '{HIDDEN}{EXTREMES[word]}')"
