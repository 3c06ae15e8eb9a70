"""Statements by their words: which kind one is, and the parts that are not a query."""

from __future__ import annotations

from dataclasses import dataclass, field

from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.tokens import Token, tokens_of

# Statements that change tables, which are others' here, and what to do instead.
_REFUSED = {
    "insert": "CREATE OR REPLACE VIEW of a UNION ALL, or COPY (...) TO 'file'",
    "update": "a SELECT with CASE, and COPY (...) TO 'file'",
    "delete": "a SELECT with WHERE, and COPY (...) TO 'file'",
    "merge": "a SELECT with a FULL JOIN, and COPY (...) TO 'file'",
    "truncate": "DROP VIEW",
    "alter": "a SELECT with AS, as a view",
    "begin": "nothing: a query sees its tables as they are when it runs",
    "commit": "nothing: a query sees its tables as they are when it runs",
    "rollback": "nothing: a query sees its tables as they are when it runs",
    "grant": "the rights of files",
    "attach": "FROM 'file.parquet', or dock.register(name, table)",
    "install": "pip install",
    "load": "FROM 'file.parquet', or dock.register(name, table)",
    "pragma": "SET",
    "prepare": "dock.sql(text, parameters)",
    "execute": "dock.sql(text, parameters)",
    "call": "a SELECT",
    "use": "dock.register(name, table)",
    "import": "FROM 'file.parquet'",
    "export": "COPY (...) TO 'file'",
}
_QUERIES = frozenset(("select", "with", "values", "from", "table", "pivot", "unpivot"))


@dataclass(frozen=True)
class Statement:
    """A statement: its kind, the query in it, and what else it says. Names keep their case. The
    query has spaces in place of what is before it in the text, so that places are the same."""

    kind: str
    query: str = ""
    name: str = ""
    columns: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=dict)


def statement_of(text: str) -> Statement:
    """What a text asks for. SqlError for what is no statement here."""
    return _Reader(text).read()


class _Reader:
    """Reads the words of one statement, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._next = 0

    def read(self) -> Statement:
        first = self._peek()
        if first is None:
            raise sql_error("the text has no statement", try_='sql("select 1")')
        word = first.lower
        if word in _QUERIES or first.is_operator("("):
            return Statement("query", self._text)
        if word in _REFUSED:
            raise unsupported(word.upper(), self._text, first.start, _REFUSED[word])
        readers = {
            "explain": self._explain, "create": self._create, "drop": self._drop,
            "copy": self._copy, "describe": self._describe, "desc": self._describe,
            "show": self._show, "summarize": self._summarize, "set": self._set,
            "reset": self._reset,
        }  # fmt: skip
        if word not in readers:
            raise sql_error(
                f"no statement begins with {first.text!r}", self._text, first.start,
                try_="SELECT, WITH, VALUES, FROM, COPY, CREATE VIEW, DESCRIBE, SHOW, SUMMARIZE, "
                "EXPLAIN or SET",
            )  # fmt: skip
        self._next = 1
        return readers[word]()

    def _explain(self) -> Statement:
        kind = "explain analyze" if self._took("analyze") else "explain"
        return Statement(kind, self._rest())

    def _create(self) -> Statement:
        replaces = self._took("or", "replace")
        if not self._took("temp"):
            self._took("temporary")
        for kind in ("view", "table"):
            if self._took(kind):
                return self._created(kind, replaces)
        raise unsupported(
            f"CREATE {self._shown()}", self._text, self._place(),
            "CREATE VIEW name AS SELECT ..., or CREATE TABLE name AS SELECT ...",
        )  # fmt: skip

    def _created(self, kind: str, replaces: bool) -> Statement:
        is_new = self._took("if", "not", "exists")
        name = self._name("a name for it")
        columns: tuple[str, ...] = ()
        if (token := self._peek()) is not None and token.is_operator("("):
            behind = self._tokens[self._closing(self._next) + 1 :][:1]
            if behind and behind[0].lower == "as":
                columns = self._names_in_brackets()
        if not self._took("as"):
            raise unsupported(
                f"CREATE {kind.upper()} without a query", self._text, self._place(),
                f"CREATE {kind.upper()} {name} AS SELECT ...",
            )  # fmt: skip
        options: dict[str, object] = {"replace": replaces, "if_not_exists": is_new}
        return Statement(f"create {kind}", self._rest(), name, columns, options)

    def _drop(self) -> Statement:
        if not self._took("view") and not self._took("table"):
            raise unsupported(f"DROP {self._shown()}", self._text, self._place(), "DROP VIEW name")
        may_miss = self._took("if", "exists")
        name = self._name("the name of a view")
        self._end()
        return Statement("drop", name=name, options={"if_exists": may_miss})

    def _copy(self) -> Statement:
        place = self._place()
        token = self._peek()
        if token is not None and token.is_operator("("):
            close = self._closing(self._next)
            query = (
                _blank(self._text[: token.end]) + self._text[token.end : self._tokens[close].start]
            )
            self._next = close + 1
        else:
            query = f"SELECT * FROM {self._quoted_name()}"
        if self._took("from"):
            raise unsupported(
                "COPY ... FROM", self._text, place, "SELECT * FROM 'file.csv', or read_csv(...)"
            )
        if not self._took("to"):
            raise sql_error("COPY (query) needs TO 'file'", self._text, self._place())
        target = self._peek()
        if target is None or target.kind != "string":
            raise sql_error("COPY writes to a file, a string", self._text, self._place())
        self._next += 1
        options = self._copy_options()
        self._end()
        return Statement("copy", query, target.value, options=options)

    def _copy_options(self) -> dict[str, object]:
        """(FORMAT parquet, PARTITION_BY (a, b), OVERWRITE)."""
        self._took("with")
        token = self._peek()
        if token is None or not token.is_operator("("):
            return {}
        self._next += 1
        options: dict[str, object] = {}
        while not self._took_operator(")"):
            name = self._name("an option").lower()
            options[name] = self._option_value()
            if not self._took_operator(",") and not self._is_at(")"):
                raise sql_error("options stand between commas", self._text, self._place())
        return options

    def _option_value(self) -> object:
        token = self._peek()
        if token is None or token.is_operator(",", ")"):
            return True
        if token.is_operator("("):
            return self._names_in_brackets()
        self._next += 1
        if token.kind == "string":
            return token.value
        if token.kind == "number":
            return int(token.text) if token.text.isdecimal() else float(token.text)
        return {"true": True, "false": False}.get(token.lower, token.name)

    def _describe(self) -> Statement:
        return Statement("describe", self._query_or_table())

    def _summarize(self) -> Statement:
        return Statement("summarize", self._query_or_table())

    def _show(self) -> Statement:
        if self._took("tables") or self._took("all", "tables"):
            self._end()
            return Statement("show tables")
        if self._took("all") or self._took("settings"):
            self._end()
            return Statement("show settings")
        place = self._next
        name = self._name("TABLES, ALL, a setting or a table")
        self._end()
        self._next = place
        return Statement("show", self._query_or_table(), name)

    def _set(self) -> Statement:
        for scope in ("session", "global", "local"):
            self._took(scope)
        name = self._name("the name of a setting")
        if not self._took_operator("=") and not self._took("to"):
            raise sql_error("SET needs a value", self._text, self._place(), f"SET {name} = ...")
        value = self._option_value()
        self._end()
        return Statement("set", name=name, options={"value": value})

    def _reset(self) -> Statement:
        name = self._name("the name of a setting")
        self._end()
        return Statement("reset", name=name)

    def _query_or_table(self) -> str:
        token = self._peek()
        if token is None:
            raise sql_error("a table or a query is missing", self._text, len(self._text))
        if token.lower in _QUERIES or token.is_operator("("):
            return self._rest()
        # FROM alone has room before it: DESCRIBE and SUMMARIZE are longer.
        rest = self._rest()
        start = len(rest) - len(rest.lstrip())
        return rest[: start - len("FROM ")] + "FROM " + rest[start:]

    def _rest(self) -> str:
        if self._peek() is None:
            raise sql_error("a query is missing", self._text, len(self._text), "SELECT ...")
        start = self._tokens[self._next].start
        return _blank(self._text[:start]) + self._text[start:]

    def _place(self) -> int:
        token = self._peek()
        return len(self._text) if token is None else token.start

    def _shown(self) -> str:
        token = self._peek()
        return "" if token is None else token.text.upper()

    def _peek(self) -> Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _took(self, *words: str) -> bool:
        """Whether these words come next, which are then behind."""
        coming = self._tokens[self._next : self._next + len(words)]
        if [token.lower for token in coming] != list(words):
            return False
        self._next += len(words)
        return True

    def _is_at(self, operator: str) -> bool:
        token = self._peek()
        return token is not None and token.is_operator(operator)

    def _took_operator(self, operator: str) -> bool:
        if self._is_at(operator):
            self._next += 1
            return True
        if self._peek() is None and operator == ")":
            raise sql_error("a bracket is opened and not closed", self._text, len(self._text))
        return False

    def _name(self, what: str) -> str:
        token = self._peek()
        if token is None or token.kind not in ("word", "quoted"):
            raise sql_error(f"{what} is missing", self._text, self._place())
        self._next += 1
        return token.name

    def _quoted_name(self) -> str:
        token = self._peek()
        name = self._name("a query in brackets, or a table")
        return token.text if token is not None else name

    def _names_in_brackets(self) -> tuple[str, ...]:
        self._next += 1
        names = []
        while not self._took_operator(")"):
            names.append(self._name("the name of a column"))
            if not self._took_operator(",") and not self._is_at(")"):
                raise sql_error("names stand between commas", self._text, self._place())
        return tuple(names)

    def _closing(self, opened: int) -> int:
        depth = 0
        for number in range(opened, len(self._tokens)):
            depth += self._tokens[number].is_operator("(")
            depth -= self._tokens[number].is_operator(")")
            if depth == 0:
                return number
        raise sql_error(
            "a bracket is opened and not closed", self._text, self._tokens[opened].start
        )

    def _end(self) -> None:
        token = self._peek()
        if token is not None and not token.is_operator(";"):
            raise sql_error(f"{token.text!r} is one word too many", self._text, token.start)


def _blank(text: str) -> str:
    return "".join(c if c == "\n" else " " for c in text)
