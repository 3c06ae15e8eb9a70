"""What a query's text becomes before DataFusion sees it: `/` a division of doubles, names in lower
case (and their spelling noted), files and table functions names of tables, `?` a number, and
computed columns with their own text as a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile

from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.call_arguments import call_arguments
from crossdock.sql_frontend.text.derived import as_typed
from crossdock.sql_frontend.text.function_calls import QUERY_STARTS, FunctionCalls
from crossdock.sql_frontend.text.interval_products import IntervalProducts
from crossdock.sql_frontend.text.pieces import CLAUSES, Operand
from crossdock.sql_frontend.text.quantifiers import Quantifiers
from crossdock.sql_frontend.text.refusals import require_shallow
from crossdock.sql_frontend.text.rewritten import (
    AS_THEY_STAND,
    HIDDEN,
    KEEPS_ALL,
    MILLION,
    NUMBERED,
    RENAMED,
    SHARE_MARK,
    FileCall,
    Meant,
    Rewritten,
    stem_of,
)
from crossdock.sql_frontend.text.row_functions import ROW_FUNCTIONS
from crossdock.sql_frontend.text.row_values import RowValues
from crossdock.sql_frontend.text.select_aliases import SelectAliases
from crossdock.sql_frontend.text.select_items import (
    is_column,
    is_named,
    needs_name,
    star_of,
)
from crossdock.sql_frontend.text.time_zones import TimeZones
from crossdock.sql_frontend.text.tokens import Token, quoted, words_of
from crossdock.sql_frontend.text.unnesting import Unnesting
from crossdock.sql_frontend.text.using_joins import ColumnsOf, UsingJoins
from crossdock.sql_frontend.text.window_clauses import WindowClauses

_SET_ENDS = words_of("union except order limit offset fetch")  # and the end of a right side
_BEFORE_QUERIES = frozenset(("", "union", "intersect", "except"))  # clauses where one may begin
_MOMENTS = words_of(
    "now today current_timestamp current_date current_time localtime localtimestamp"
)
# Names of columns beside a dot, which the binder's parser takes for something else.
_ALSO_COLUMNS = words_of(
    "user current_user session_user values view cluster explain exclude struct trim interval "
    "exists cube rollup"
)
_NOT_COUNTED = words_of("group having limit offset fetch union intersect except distinct qualify")
_TABLE_FUNCTIONS = frozenset(ROW_FUNCTIONS) | words_of(
    "read_parquet read_csv read_csv_auto read_csv_rejects read_ipc parquet_scan read_arrow "
    "read_json read_json_auto read_json_rejects read_ndjson read_delta delta_scan read_iceberg "
    "iceberg_scan"
)


@dataclass
class _Frame:
    """What is open between two brackets."""

    is_query: bool
    opened: int = -1  # the token of its bracket
    clause: str = ""
    part: int = 0  # of a set operation
    has_star: bool = False  # among the select items that ended
    item: int = -1  # the token at which a select item begins; -1: none is open
    awaits_table: bool = False
    names: set[str] = field(default_factory=set)  # of the items of this list
    tables: list[int] = field(default_factory=list)  # tokens where those of this FROM begin
    operands: list[Operand] = field(default_factory=list)  # those of all of this FROM


def rewrite(
    text: str,
    columns_of: ColumnsOf = lambda _: None,
    meant: Meant = AS_THEY_STAND,
) -> Rewritten:
    """The query `text` for DataFusion; `columns_of` gives the columns of a table that is known, and
    `meant` what some names mean. SqlError for what is no SQL or cannot be."""
    return _Rewriting(text, columns_of, meant).run()


class _Rewriting(FunctionCalls):
    def __init__(self, text: str, columns_of: ColumnsOf, meant: Meant) -> None:
        super().__init__(text)
        self._meant, self.of_others, self.of_lists = meant, meant.of_others, meant.of_lists
        self._found = Rewritten(text)
        self._using = UsingJoins(self, columns_of)
        self._unnesting = Unnesting(self)
        self._aliases = SelectAliases(self, meant, self._using.is_joined)
        self._rows = RowValues(self)
        self._quantifiers = Quantifiers(self)
        self._windows = WindowClauses(self)
        self._zones = TimeZones(self, meant.of_instants)
        self._products = IntervalProducts(self)
        self._counted: dict[int, int] = {}  # SELECT of an EXISTS that is a number -> its FROM
        self._kept_all = 0  # number of INTERSECT ALL and EXCEPT ALL
        self._frames = [_Frame(is_query=True)]

    def run(self) -> Rewritten:
        if not self.tokens:
            raise sql_error("the text has no statement", try_='sql("select 1")')
        require_shallow(self.tokens, self.text)
        number = 0
        while number < len(self.tokens):
            number = self._visit(number)
        self._end_item(len(self.tokens))
        self._using.finish()
        self._unnesting.finish_names()
        self._aliases.finish()
        self._found.item_names = self._aliases.names
        self._found.of_tables = self._aliases.of_tables
        self._windows.finish()
        self._quantifiers.finish()
        self._rows.finish()
        self._unnesting.finish()
        for number, source in self._counted.items():
            self.leave_out(number, source)
            self.pieces[number] = "SELECT count(*) > 0 AS rows"
        self._found.unnests = self._unnesting.count
        self._found.has_moment = self._found.has_moment or self.draws > 0
        self._found.aliases.update(self._using.aliases | self._aliases.aliases)
        self._found.text, self._found._places = self.written()
        return self._found

    def _visit(self, number: int) -> int:
        """Takes one token, or several, and gives the number of the next."""
        token, frame = self.tokens[number], self._frames[-1]
        awaits_item = frame.clause == "select" and frame.item < 0
        if awaits_item and not self._begins_distinct_on(number) and not self._begins_item(number):
            return number + 1
        if token.kind == "operator":
            return self._operator(number, frame)
        if token.kind == "parameter":
            self._parameter(number)
        elif token.kind == "number":
            self.constant(number)
        elif token.kind == "quoted":
            self.pieces[number] = quoted(token.name.lower())
            self._note_spelling(token, number)
        elif token.lower in self._meant.numbered:
            self.pieces[number] = quoted(NUMBERED.sub(r"\1:\2", token.lower))
        elif token.lower in _ALSO_COLUMNS and self._is_part_of_name(number):
            self.pieces[number] = quoted(token.lower)
        if frame.awaits_table and token.lower != "lateral":
            return self._table(number, frame)
        if token.kind in ("word", "quoted") and self._may_be_key(number):
            self._using.name(number, self._queries())
            self._unnesting.name(number, self._queries())
            if not self._follows_dot(number):
                self._aliases.name(number, self._queries()[0], is_within=not frame.is_query)
        elif token.kind in ("word", "quoted") and self._follows_dot(number):
            self._unnesting.name(number, self._queries())  # w.x.field
        if token.kind == "word":
            self._note_spelling(token, number)
            self._word(number, frame)
        return number + 1

    def _queries(self) -> list[_Frame]:
        """The queries around a token, the inner one first."""
        return [frame for frame in reversed(self._frames) if frame.is_query]

    def _follows_dot(self, number: int) -> bool:
        before = self.at(number - 1)
        return before is not None and before.is_operator(".")

    def _is_part_of_name(self, number: int) -> bool:
        """Whether a dot stands before or behind a word."""
        following = self.at(number + 1)
        return self._follows_dot(number) or (following is not None and following.is_operator("."))

    def _may_be_key(self, number: int) -> bool:
        """Whether a name is not that of a call, and not given by AS."""
        before, following = self.at(number - 1), self.at(number + 1)
        is_call = following is not None and following.is_operator("(", ".")
        return not is_call and (before is None or before.lower != "as")

    def _begins_item(self, number: int) -> bool:
        """Whether the token is the first of a select item, not a word between SELECT and it."""
        token, before = self.tokens[number], self.tokens[number - 1]
        if token.lower in ("all", "distinct") and before.lower == "select":
            return False
        if token.lower == "on" and before.lower == "distinct":
            return False
        self._frames[-1].item = number
        return True

    def _begins_distinct_on(self, number: int) -> bool:
        """Whether the token opens the list of DISTINCT ON."""
        before = [self.at(number - 1), self.at(number - 2)]
        words = [each.lower for each in before if each is not None]
        return self.tokens[number].is_operator("(") and words == ["on", "distinct"]

    def _operator(self, number: int, frame: _Frame) -> int:
        token = self.tokens[number]
        if token.is_operator("("):
            following = self.at(number + 1)
            is_query = following is not None and following.lower in QUERY_STARTS
            opened = _Frame(
                is_query, opened=number, clause="" if is_query or not frame.awaits_table else "from"
            )
            opened.awaits_table = opened.clause == "from"
            if frame.awaits_table:
                self._using.table(number, frame, self._queries()[0])
                if is_query and (operand := self.operand(number)) is not None:
                    self._queries()[0].operands.append(operand)
                    if not operand.has_alias and self._meant.ambiguous:
                        name = quoted(f"{HIDDEN}query {number}")
                        last = operand.end - 1
                        self.closing[last] = f" AS {name}" + self.closing.get(last, "")
            if not frame.awaits_table and not is_query:
                inner = takewhile(lambda each: not each.is_query, reversed(self._frames))
                brackets = [each.opened for each in inner]
                self._rows.begin(number, self._queries()[0].clause, brackets)
            frame.awaits_table = False
            self._frames.append(opened)
        elif token.is_operator("[", "{"):
            self._frames.append(_Frame(is_query=False))
            self.place(number)
        elif token.is_operator(")", "]", "}"):
            self._end_item(number)
            self._frames.pop()
        elif token.is_operator(","):
            self._end_item(number)
            frame.awaits_table = frame.clause == "from"
            frame.tables = []
        elif token.is_operator(".") and self.field_behind(number):
            return number + 2
        elif token.is_operator("/"):
            self.pieces[number] = "* 1::double /"
        elif token.is_operator("%") and frame.clause == "limit":
            self._share(number)
        else:
            self.operator_without_like(number)
        return number + 1

    def _word(self, number: int, frame: _Frame) -> None:
        word = self.tokens[number].lower
        following = self.at(number + 1)
        if following is not None and following.is_operator("("):
            self.call(number)
            if word == "unnest":
                self._unnesting.item(number, self._queries()[0].clause)
        if word == "percent" and frame.clause == "limit":
            self._share(number)
        if word == "at":
            self._zones.word(number)
        elif word == "interval" and not self._is_part_of_name(number):
            self._products.interval(number)
        if word == "similar" and following is not None and following.lower == "to":
            self.similar(number)
        if word in ("in", "any", "some", "all") and self.opens_query(number + 1):
            before = self.at(number - 1)
            is_of_rows = self._rows.is_in(number)
            self._found.has_exists = self._found.has_exists or is_of_rows
            is_in = word == "in" and not is_of_rows
            if word != "in" and before is not None and before.kind == "operator":
                is_in = self._quantifiers.word(number)
            self._found.has_in = self._found.has_in or is_in
        self._windows.word(number)
        if word == "from" and self._is_part_of_expression(number):
            self.compare_distinct(number)
        self._found.has_moment = self._found.has_moment or word in _MOMENTS
        if word == "exists" and self._queries()[0].clause == "select" and self._counts(number):
            return
        self._found.has_exists = self._found.has_exists or word == "exists"
        if word in ("intersect", "except") and following is not None and following.lower == "all":
            self._keep_all(number, word)
        if word in ("semi", "anti") and frame.clause == "from":
            if self.word_at(number - 1) not in ("left", "right"):
                self.pieces[number] = f"LEFT {word}"
        elif word == "join" and frame.clause == "from":
            frame.awaits_table = True
        elif word == "select" and (frame.is_query or frame.clause == "from"):
            frame.is_query, frame.clause, frame.item = True, "select", -1
            frame.has_star = False
            frame.names = set()
        elif word in CLAUSES and frame.is_query and not self._is_part_of_expression(number):
            self._end_item(number)
            if word == "from" and frame.clause in _BEFORE_QUERIES:
                self._using.unselected(number, frame)
            frame.clause = word
            frame.part += word in ("union", "intersect", "except")
            frame.awaits_table = word == "from"
            frame.tables = []
            if word == "from":
                frame.operands = []

    def _counts(self, number: int) -> bool:
        """EXISTS as a value: whether there are rows to count, which plans can do in correlation. Of
        a query that groups, limits or combines rows it stays as it is."""
        depth, source = 0, -1
        for each in range(number + 1, self.behind_bracket(number + 1) - 1):
            token = self.tokens[each]
            depth += token.is_operator("(") - token.is_operator(")")
            if depth == 1 and token.lower in _NOT_COUNTED:
                return False
            if depth == 1 and token.lower == "from" and source < 0:
                source = each
        if source < 0 or self.word_at(number + 2) != "select":
            return False
        self._counted[number + 2] = source
        self.pieces[number] = ""
        return True

    def _share(self, number: int) -> None:
        """`LIMIT 10%` as a number of rows that nothing has."""
        token = self.tokens[number - 1]
        percent = float(token.text) if token.kind == "number" else -1.0
        if not 0 <= percent <= 100:
            raise unsupported(
                "a LIMIT of this share", self.text, token.start, "LIMIT 10%, from 0 to 100"
            )
        self.pieces[number - 1] = str(SHARE_MARK + round(percent * MILLION))
        self.pieces[number] = ""
        self._found.has_share = True

    def _keep_all(self, number: int, word: str) -> None:
        """INTERSECT ALL and EXCEPT ALL: what is behind them, which INTERSECT binds closer, gets a
        condition by which their plan is known."""
        end = number + 2
        while (token := self.at(end)) is not None:
            if token.is_operator("("):
                end = self.behind_bracket(end)
                continue
            is_end = token.lower in _SET_ENDS or (token.lower == word == "intersect")
            if token.is_operator(")") or (is_end and not self._is_part_of_expression(end)):
                break
            end += 1
        self.behind[number + 1] = self.behind.get(number + 1, "") + " (SELECT * FROM ("
        self._kept_all += 1
        condition = f") WHERE {quoted(KEEPS_ALL)}({self._kept_all}))"
        self.closing[end - 1] = condition + self.closing.get(end - 1, "")

    def _is_part_of_expression(self, number: int) -> bool:
        """IS DISTINCT FROM, WITHIN GROUP, and EXCEPT behind a star, are no clauses."""
        token, before = self.tokens[number], self.at(number - 1)
        if before is None:
            return False
        if token.lower == "from":
            return before.lower == "distinct" and (self.at(number - 2) or before).lower in (
                "is",
                "not",
            )
        if token.lower == "group":
            return before.lower == "within"
        following = self.at(number + 1)
        is_list = following is not None and following.is_operator("(")
        return (
            token.lower == "except"
            and before.is_operator("*")
            and is_list
            and ((self.at(number + 2) or token).lower not in QUERY_STARTS)
        )

    def _end_item(self, number: int) -> None:
        """The select item that ends before the token `number` gets its text as a name, where it is
        computed and has no name."""
        frame = self._frames[-1]
        if frame.clause != "select":
            return
        first, frame.item = frame.item, -1
        words = self.tokens[first:number] if first >= 0 else ()
        if not words:
            if self.word_at(number - 1) in ("select", "distinct", "all"):
                place = self.tokens[number - 1].start
                raise sql_error("a SELECT of nothing", self.text, place, "SELECT * FROM t")
            return
        star = star_of(words)
        frame.has_star = frame.has_star or star >= 0
        if star >= 0:
            self._using.star(first, first + star, frame)
        elif is_column(words):
            self._using.item(first, number - 1)
            self._aliases.item(first, number, frame, is_column=True)
        if is_column(words):
            plain = words[-1].name.lower()
            if plain in self._meant.of_stars and self._is_beside_star(number, frame):
                name = RENAMED + plain
                self._found.aliases[name] = words[-1].name
                self.behind[number - 1] = self.behind.get(number - 1, "") + f" AS {quoted(name)}"
                return
            if plain not in frame.names:
                frame.names.add(plain)
                return
        elif not needs_name(words):
            if is_named(words):
                self._aliases.item(first, number, frame)
                if words[-2].lower != "as":  # which words such as TOP need to be names
                    self.before[number - 1] = "AS " + self.before.get(number - 1, "")
                    self._using.given(number - 1)
                self._name_once(number - 1, frame)
            return
        text = " ".join(as_typed(self.text, words[0].start, words[-1].end).split())
        if is_column(words):
            text = words[-1].name
        name, count = text, 1
        while name.lower() in frame.names:
            name, count = f"{text}_{count}", count + 1
        frame.names.add(name.lower())
        if name.lower() != name:
            self._found.aliases.setdefault(name.lower(), name)
        written = self.behind.get(number - 1, "")
        self.behind[number - 1] = f"{written} AS {quoted(name.lower())}"

    def _is_beside_star(self, number: int, frame: _Frame) -> bool:
        """Whether items before or behind the one that ends before a token have a star."""
        while self.is_at(number, ",") and not frame.has_star:
            behind = number + 1
            while (token := self.at(behind)) is not None and token.lower != "from":
                if token.is_operator(",", ")"):
                    break
                behind = self.behind_bracket(behind) if token.is_operator("(") else behind + 1
            if star_of(self.tokens[number + 1 : behind]) >= 0:
                return True
            number = behind
        return frame.has_star

    def _name_once(self, number: int, frame: _Frame) -> None:
        """The name that a select item gets, with a number behind it where items before it have the
        same one, a star's columns among them."""
        token = self.tokens[number]
        name, count = token.name, 1
        of_star = self._meant.of_stars if frame.has_star else frozenset()
        while name.lower() in frame.names or name.lower() in of_star:
            name, count = f"{token.name}_{count}", count + 1
        frame.names.add(name.lower())
        if name != token.name:
            self.pieces[number] = quoted(name.lower())
            self._found.aliases.setdefault(name.lower(), name)

    def _parameter(self, number: int) -> None:
        token = self.tokens[number]
        parameters = self._found.parameters
        if token.text == "?":
            parameters[str(len(parameters) + 1)] = None
            self.pieces[number] = f"${len(parameters)}"
        else:
            parameters[token.text[1:]] = None

    def _note_spelling(self, token: Token, number: int) -> None:
        """An alias tells how a name is written; other places only where nothing else does."""
        name = token.name
        if name.lower() == name:
            return
        before = self.at(number - 1)
        if before is not None and before.lower == "as":
            self._found.aliases[name.lower()] = name
        else:
            self._found.spellings.setdefault(name.lower(), name)

    def _table(self, number: int, frame: _Frame) -> int:
        """A name, a file or a function where a table is."""
        token = self.tokens[number]
        frame.awaits_table = False
        self._using.table(number, frame, self._queries()[0])
        following = self.at(number + 1)
        is_call = following is not None and following.is_operator("(")
        if is_call and token.lower == "unnest" and self._unnesting.is_lateral(number):
            self._unnesting.table(number, self._queries()[0])
            return number + 1
        if (operand := self.operand(number)) is not None:
            self._queries()[0].operands.append(operand)
        if token.kind == "string":
            self._file(number, number + 1, FileCall("read", (token.value,), (), token.start))
            return number + 1
        if is_call and token.lower in _TABLE_FUNCTIONS:
            end, arguments, options = call_arguments(self.tokens, self.text, number + 2)
            self._file(number, end, FileCall(token.lower, arguments, options, token.start))
            return end
        if token.kind in ("word", "quoted"):
            is_dotted = following is not None and following.is_operator(".")
            if not is_call and not is_dotted:
                self._found.tables.setdefault(token.name.lower(), token.start)
                self._note_spelling(token, number)
        return number + 1

    def _file(self, number: int, end: int, call: FileCall) -> None:
        """Writes a name in place of the tokens from `number` to `end`."""
        name = f"file {len(self._found.files) + 1}"
        self._found.files[name] = call
        written = quoted(name)
        if not self.has_alias(end):
            written += f" AS {quoted(stem_of(call))}"
        self.pieces[number] = written
        for each in range(number + 1, end):
            self.pieces[each] = ""
