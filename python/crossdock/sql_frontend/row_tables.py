"""Joins and samples that look at rows one by one, which plans of DataFusion have not: ASOF and
POSITIONAL JOIN, TABLESAMPLE. What they choose becomes tables of its own, with the numbers of rows,
and the text joins these by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from crossdock.expressions.expression import Column, Expr
from crossdock.plan.asof_planning import Asof, numbered, numbers_of_pairs
from crossdock.plan.planning import plan_project
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.derived import replaced
from crossdock.sql_frontend.text.pieces import CLAUSES, Operand, Pieces
from crossdock.sql_frontend.text.rewritten import HIDDEN, ROW_NUMBERS, hidden_columns
from crossdock.sql_frontend.text.scopes import Query
from crossdock.sql_frontend.text.tokens import quoted, words_of

if TYPE_CHECKING:
    from crossdock.plan.nodes import Node
    from crossdock.relation import Relation

Plan = Callable[[str], "Relation"]
_JOINS = words_of("join inner left right full cross natural asof positional semi anti outer")
_SAMPLE = f"{HIDDEN}sample "  # begins the names of tables of rows that were drawn
_METHODS = words_of("reservoir bernoulli system")
_TURNED = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_KEY, _NUMBER = "asof key ", "asof number"
_ADVICE = "a subquery in brackets for what stands before it"


@dataclass(frozen=True)
class Written:
    """A text, and the tables that it has beside those that are known."""

    text: str
    tables: Mapping[str, Relation]


class RowTables:
    """Those of one text. `count` are the tables that were written before."""

    def __init__(self, text: str, query: Query, plan: Plan, count: int) -> None:
        self._pieces = Pieces(text)
        self._query = query
        self._plan = plan
        self._name = f"{ROW_NUMBERS}{count + 1}"

    def asof(self, number: int) -> Written:
        """ASOF [LEFT] JOIN at a token, as two joins by numbers of rows."""
        pieces = self._pieces
        keeps_all = pieces.tokens[number + 1].lower == "left"
        join = number + 1
        while pieces.tokens[join].lower != "join":
            join += 1
        right = self._operand(join + 1)
        if right is None or not right.name:
            self._refuse(number, "ASOF JOIN of a subquery without a name", "a name behind it")
        end = self._behind_condition(right.behind)
        sides = _Sides(self._lefts(number), right)
        word = self._word(right.behind)
        is_using = word == "using"
        if is_using:
            pairs, comparison = self._keys(right.behind + 2, end - 1, sides)
        elif word == "on":
            pairs, comparison = self._conditions(right.behind + 1, end, sides)
        else:
            self._refuse(number, "ASOF JOIN without ON", "ON t.k = u.k AND t.at >= u.at")
        names = [f"{_KEY}{i}" for i in range(len(pairs) + 1)]
        operator = comparison[1]
        asked = Asof(
            names[-1], names[-1], tuple((name, name) for name in names[:-1]),
            "backward" if operator.startswith(">") else "forward", None, "left", "",
            is_strict="=" not in operator,
        )  # fmt: skip
        rights = [pair[1] for pair in pairs] + [comparison[2]]
        lefts = [pair[0] for pair in pairs] + [comparison[0]]
        assert sides.owner is not None
        hidden = lefts if is_using else []
        return self._joined((sides.owner, right), (lefts, rights), asked, (keeps_all, end, hidden))

    def _joined(
        self,
        operands: tuple[Operand, Operand],
        keys: tuple[list[str], list[str]],
        asked: Asof,
        how: tuple[bool, int, list[str]],
    ) -> Written:
        keeps_all, end, hidden = how
        left, right = operands
        relations = [self._of(o, k) for o, k in zip(operands, keys, strict=True)]
        of_left = self._number_of(left)
        names = [of_left or f"{self._name} left", f"{self._name} right"]
        nodes = [numbered(relations[1]._node, names[1])]
        if of_left:
            nodes.insert(0, relations[0].rename({_NUMBER: of_left})._node)
        else:
            nodes.insert(0, numbered(relations[0]._node, names[0]))
        pairs = numbers_of_pairs((nodes[0], nodes[1]), (names[0], names[1]), asked)
        left_number, right_number = f"{self._name} of left", f"{self._name} of right"
        of_pairs = [(left_number, Column(names[0])), (right_number, Column(names[1]))]
        shown = [[n for n in r.columns if not n.startswith((_KEY, _NUMBER))] for r in relations]
        shown[1] = [n for n in shown[1] if quoted(n.lower()) not in hidden]
        tables = {
            name: self._relation(relations[0], _only(node, [*columns, name]))
            for name, node, columns in zip(names, nodes, shown, strict=True)
            if name != of_left
        }
        tables[self._name] = self._relation(
            relations[0], plan_project(pairs, of_pairs, "ASOF JOIN")
        )
        join = "LEFT JOIN" if keeps_all else "JOIN"
        middle, ours, theirs = map(quoted, (self._name, *names))
        text = (
            f"{join} {middle} ON {quoted(left.name)}.{ours} = {middle}.{quoted(left_number)} "
            f"{join} {theirs} AS {quoted(right.name)} "
            f"ON {middle}.{quoted(right_number)} = {quoted(right.name)}.{theirs}"
        )
        begin = right.start
        while self._word(begin) != "asof":
            begin -= 1
        table = [] if of_left else [(left, f"{ours} AS {quoted(left.name)}")]
        return Written(self._replaced(table, (begin, end, text)), tables)

    def _number_of(self, operand: Operand) -> str:
        """The column with the numbers of rows that a table has already; "" where it has none."""
        token = self._pieces.tokens[operand.start]
        numbers = hidden_columns(token.name) if token.kind == "quoted" else []
        return numbers[0] if len(numbers) == 1 else ""

    def positional(self, number: int) -> Written:
        """POSITIONAL JOIN at a token: all rows of both sides by their numbers."""
        right = self._operand(number + 2)
        lefts = self._lefts(number)
        if right is None or not right.name or len(lefts) != 1:
            self._refuse(number, "POSITIONAL JOIN of other than two tables with names", _ADVICE)
        tables, names = {}, [f"{self._name} {side}" for side in ("left", "right")]
        for name, operand in zip(names, (lefts[0], right), strict=True):
            relation = self._of(operand, [])
            tables[name] = self._relation(relation, numbered(relation._node, name))
        ours, theirs = (quoted(each) for each in names)
        text = (
            f"FULL JOIN {theirs} AS {quoted(right.name)} "
            f"ON {quoted(lefts[0].name)}.{ours} = {quoted(right.name)}.{theirs}"
        )
        left = (lefts[0], f"{ours} AS {quoted(lefts[0].name)}")
        return Written(self._replaced([left], (number, right.behind, text)), tables)

    def sample(self, number: int) -> Written:
        """TABLESAMPLE at a token: a table of the rows that are drawn."""
        operand = self._lefts(number)[-1]
        if operand.behind != number or not operand.name:
            self._refuse(number, "TABLESAMPLE of what is no table with a name", _ADVICE)
        size, is_share, seed, end = self._size(number)
        relation = self._of(operand, [])
        if seed is None and relation._dock.over_ranks() is not None:  # each would draw its own
            self._refuse(
                number, "TABLESAMPLE over ranks without a seed", "REPEATABLE (1) behind it"
            )
        drawn = (
            relation.sample(fraction=size / 100, seed=seed)
            if is_share
            else relation.sample(int(size), seed=seed)
        )
        count = sum(token.name.startswith(_SAMPLE) for token in self._pieces.tokens)
        name = f"{_SAMPLE}{count + 1}"
        text = f"{quoted(name)} AS {quoted(operand.name)}"
        return Written(self._replaced([], (operand.start, end, text)), {name: drawn})

    def using_sample(self, number: int) -> Written:
        """USING SAMPLE at a token, which is drawn of what FROM has, as TABLESAMPLE."""
        pieces = self._pieces
        begin, end = self._query.clause("from")
        operand = self._operand(begin + 1) if begin < end else None
        is_one = operand is not None and operand.behind in (end, number - 1)
        if operand is None or not is_one:
            self._refuse(
                number - 1, "USING SAMPLE of other than one table",
                "FROM (SELECT * FROM ...) t TABLESAMPLE 10%",
            )  # fmt: skip
        *_, behind = self._size(number)
        name = "" if operand.name else " AS sampled"
        sample = f"{name} TABLESAMPLE {self._said(number + 1, behind)}"
        tokens = pieces.tokens
        place = tokens[operand.behind - 1].end
        written = [(place, place, sample), (tokens[number - 1].start, tokens[behind - 1].end, "")]
        return Written(replaced(pieces.text, written), {})

    def _size(self, number: int) -> tuple[float, bool, int | None, int]:
        """How much a sample draws, whether that is in percent, the seed, and what is behind:
        `10%`, `reservoir(100 ROWS) REPEATABLE (7)`, `10 PERCENT (bernoulli, 7)`."""
        end, seed = number + 1, None
        if self._word(end) in _METHODS:
            end += 1
        has_brackets = self._is_at(end, "(")
        end += has_brackets
        token = self._pieces.at(end)
        if token is None or token.kind != "number":
            self._refuse(number, "TABLESAMPLE of other than a number", "TABLESAMPLE 10%")
        is_share = self._is_at(end + 1, "%") or self._word(end + 1) == "percent"
        end += 1 + (is_share or self._word(end + 1) == "rows")
        if has_brackets and not self._is_at(end, ")"):
            self._refuse(end, "TABLESAMPLE of more than a number", "TABLESAMPLE (10%)")
        end += has_brackets
        if self._is_at(end, "(") and self._word(end + 1) in _METHODS:
            seed = self._seed(end + 3) if self._is_at(end + 2, ",") else None
            end = self._pieces.behind_bracket(end)
        if self._word(end) in ("repeatable", "seed"):
            seed = self._seed(end + 2)
            end += 4
        return float(token.text), is_share, seed, end

    def _seed(self, number: int) -> int:
        token = self._pieces.at(number)
        if token is None or not token.text.isdecimal():
            self._refuse(number, "a seed that is no whole number", "REPEATABLE (7)")
        return int(token.text)

    def _operand(self, number: int) -> Operand | None:
        """The table at a token, with the names of columns that stand behind its own."""
        operand = self._pieces.operand(number)
        if operand is not None and operand.has_alias and self._is_at(operand.behind, "("):
            operand = replace(operand, behind=self._pieces.behind_bracket(operand.behind))
        return operand

    def _lefts(self, number: int) -> list[Operand]:
        """The tables before a token in its FROM."""
        pieces = self._pieces
        place = self._query.clause("from")[0] + 1
        operands: list[Operand] = []
        while place < number:
            operand = self._operand(place)
            if operand is None:
                break
            operands.append(operand)
            place = operand.behind
            while place < number and self._word(place) != "join" and not self._is_at(place, ","):
                place = pieces.behind_bracket(place) if self._is_at(place, "(") else place + 1
            place += 1
        if not operands:
            self._refuse(number, f"{pieces.tokens[number].text.upper()} of these tables", _ADVICE)
        return operands

    def _behind_condition(self, number: int) -> int:
        """The token behind ON or USING that begins at one."""
        end = number
        while end < self._query.clause("from")[1]:
            token = self._pieces.tokens[end]
            following = self._pieces.at(end + 1)
            is_call = following is not None and following.is_operator("(")
            is_join = token.lower in _JOINS and not (is_call and token.lower in ("left", "right"))
            if token.is_operator(",") or is_join or token.lower in CLAUSES:
                break
            end = self._pieces.behind_bracket(end) if token.is_operator("(") else end + 1
        return end

    def _keys(
        self, begin: int, end: int, sides: _Sides
    ) -> tuple[list[tuple[str, str]], tuple[str, str, str]]:
        """Those of USING, of which the last is ordered."""
        names = [quoted(t.name.lower()) for t in self._pieces.tokens[begin:end:2]]
        if len(sides.lefts) > 1:
            self._refuse(begin - 2, "USING of an ASOF JOIN behind other joins", "ON")
        sides.owner = sides.lefts[0]
        for number, token in enumerate(self._pieces.tokens):
            is_right = token.name.lower() == sides.right.name and self._is_at(number + 1, ".")
            named = self._pieces.at(number + 2)
            if is_right and named is not None and quoted(named.name.lower()) in (*names, '"*"'):
                self._refuse(number, "a key of USING by the name of the right side", "ON")
        return [(name, name) for name in names[:-1]], (names[-1], ">=", names[-1])

    def _conditions(
        self, begin: int, end: int, sides: _Sides
    ) -> tuple[list[tuple[str, str]], tuple[str, str, str]]:
        """Pairs of what is equal, left and right, and the one comparison of what is ordered."""
        pairs, comparisons = [], []
        for first, last in self._between("and", begin, end):
            place = next((i for i in range(first, last) if self._is_at(i, "=", "==", *_TURNED)), -1)
            if place < 0:
                self._refuse(first, "this condition of an ASOF JOIN", "t.k = u.k AND t.at >= u.at")
            ranges, operator = ((first, place), (place + 1, last)), self._pieces.tokens[place].text
            if self._is_of_right(*ranges[0], sides):
                ranges, operator = (ranges[1], ranges[0]), _TURNED.get(operator, operator)
            self._note_owner(*ranges[0], sides)
            if not self._is_of_right(*ranges[1], sides):
                self._refuse(first, "an ASOF JOIN by columns of one side", "t.k = u.k, of both")
            ours, theirs = (self._said(*each) for each in ranges)
            if operator in _TURNED:
                comparisons.append((ours, operator, theirs))
            else:
                pairs.append((ours, theirs))
        if len(comparisons) != 1:
            self._refuse(begin, "an ASOF JOIN with other than one inequality", "t.at >= u.at")
        return pairs, comparisons[0]

    def _is_of_right(self, begin: int, end: int, sides: _Sides) -> bool:
        """Whether an expression is of columns of the right side."""
        owners, names = self._names(begin, end)
        if owners:
            return owners == {sides.right.name}
        return not names - self._columns(sides.right)

    def _note_owner(self, begin: int, end: int, sides: _Sides) -> None:
        """The table on the left that an expression is of, which all are of."""
        owners, names = self._names(begin, end)
        of = [
            each
            for each in sides.lefts
            if (each.name in owners if owners else not names - self._columns(each))
        ]
        if len(of) != 1 or len(owners) > 1 or sides.owner not in (None, of[0]):
            self._refuse(begin, "an ASOF JOIN by columns of several tables on its left", _ADVICE)
        sides.owner = of[0]

    def _names(self, begin: int, end: int) -> tuple[set[str], set[str]]:
        """The tables before dots, and the other names that are no functions."""
        owners, names = set[str](), set[str]()
        for number in range(begin, end):
            token = self._pieces.tokens[number]
            if token.kind in ("word", "quoted") and not self._is_at(number + 1, "("):
                is_owner = self._is_at(number + 1, ".")
                (owners if is_owner else names).add(token.name.lower())
        return owners, names

    def _columns(self, operand: Operand) -> set[str]:
        return {name.lower() for name in self._of(operand, []).columns}

    def _of(self, operand: Operand, computed: Sequence[str]) -> Relation:
        """The rows of a table, and what is computed of them."""
        items = "".join(f", {each} AS {quoted(f'{_KEY}{i}')}" for i, each in enumerate(computed))
        if number := self._number_of(operand):
            items += f", {quoted(number)} AS {quoted(_NUMBER)}"
        source = self._said(operand.start, operand.behind)
        return self._plan(f"{self._query.prefix}SELECT *{items} FROM {source}")

    def _relation(self, like: Relation, node: Node) -> Relation:
        return like._with(node)

    def _replaced(self, operands: Sequence[tuple[Operand, str]], last: tuple[int, int, str]) -> str:
        tokens = self._pieces.tokens
        parts = [(tokens[o.start].start, tokens[o.behind - 1].end, text) for o, text in operands]
        begin, end, text = last
        parts.append((tokens[begin].start, tokens[end - 1].end, text))
        return replaced(self._pieces.text, parts)

    def _between(self, word: str, begin: int, end: int) -> list[tuple[int, int]]:
        """What stands between a word outside of brackets."""
        result, first, number = [], begin, begin
        while number < end:
            if self._word(number) == word:
                result.append((first, number))
                first = number + 1
            is_opened = self._is_at(number, "(")
            number = self._pieces.behind_bracket(number) if is_opened else number + 1
        return [*result, (first, end)]

    def _said(self, begin: int, end: int) -> str:
        tokens = self._pieces.tokens
        if begin >= end:
            return ""
        return self._pieces.text[tokens[begin].start : tokens[end - 1].end]

    def _word(self, number: int) -> str:
        token = self._pieces.at(number)
        return "" if token is None else token.lower

    def _is_at(self, number: int, *operators: str) -> bool:
        token = self._pieces.at(number)
        return token is not None and token.is_operator(*operators)

    def _refuse(self, number: int, what: str, instead: str) -> NoReturn:
        token = self._pieces.at(number)
        place = len(self._pieces.text) if token is None else token.start
        raise unsupported(what, self._pieces.text, place, instead)


@dataclass
class _Sides:
    """The tables before an ASOF JOIN, the one behind it, and the one of the first that it is of."""

    lefts: list[Operand]
    right: Operand
    owner: Operand | None = None


def _only(node: Node, columns: Sequence[str]) -> Node:
    items: list[tuple[str, Expr]] = [(name, Column(name)) for name in columns]
    return plan_project(node, items, "ASOF JOIN")
