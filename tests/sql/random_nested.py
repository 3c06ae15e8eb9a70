"""Random statements over lists, maps, structs and JSON in the tables of random_statements.py, from
a seed: functions of elements, comprehensions, calls behind values, and several UNNEST side by side.
Each has one right answer."""

from __future__ import annotations

from random import Random

from .random_statements import TESTS, Statement

PATHS = (
    "a", "$.a", "$.b", "$.a.b", "$.a[0]", "$.a[#-1]", '$."x y"', "/a/0", "$", "$[1]", "0", "$.0",
)  # fmt: skip
OF_NUMBERS = (
    "list_sum({l})", "list_min({l})", "list_max({l})", "len({l})", "list_count({l})",
    "list_unique({l})", "list_position({l}, 2)", "{l}[1]", "{l}[-1]", "{l}[{i}]", "list_first({l})",
    "list_last({l})", "list_any_value({l})", "list_product({l})", "{l}.list_sum().abs()",
    "json_array_length({j})", "json_array_length({j}, '{p}')", "try_cast({j} ->> '{p}' as integer)",
    "list_aggregate({l}, 'max')", "len({w})", "map {{'a': k, 'b': {i}}}['a']", "array_length({w})",
    "cardinality(map {{'a': k}})", "list_sum(list_transform({w}, lambda x: length(x)))",
    "{st}.a + 1", "if({b}, {i}, k)", "mod({i}, 3)", "list_sum([x * x for x in {l} if x > {i}])",
    "length({s})", "list_mode({l}) * 0", "date_diff('decade', d, ts)", "epoch_ms(ts)",
)  # fmt: skip
OF_REALS = ("list_avg({l})", "list_median({l})", "list_stddev_pop({l})", "list_var_samp({l})")
OF_LISTS = (
    "l", "l", "[{i}, k]", "[k, {i}, null]", "range(k % 4)", "generate_series(1, {i} % 3)",
    "list_transform({l}, lambda x: {x})", "list_transform({l}, lambda x, y: {x} + y)",
    "list_filter({l}, lambda x: {c})", "list_filter({l}, lambda x, y: {c} or y = 1)",
    "[{x} for x in {l} if {c}]", "[{x} for x in {l}]", "list_sort({l})", "list_reverse_sort({l})",
    "list_sort({l}, 'desc', 'nulls first')", "list_reverse({l})", "list_sort(list_distinct({l}))",
    "list_concat({l}, {l})", "{l}[1:2]", "{l}[2:]", "{l}[-2:]", "{l}[:{i}]", "{l} || {l}",
    "list_append({l}, {i})", "list_prepend(k, {l})", "list_resize({l}, 2)",
    "list_resize({l}, 3, {i})", "list_where({l}, [true, false, true])", "list_select({l}, [2, 1])",
    "list_sort(list_intersect({l}, [1, {i}]))", "flatten([{l}, {l}])",
    "list_apply({l}, lambda x: {x})",
    "map_values(map {{'a': k, 'b': {i}}})", "list_transform({w}, lambda x: length(x))",
    "{l}.list_filter(lambda x: {c}).list_sort()", "case when {b} then {l} end",
    "coalesce({l}, [{i}])", "list_transform({w}, lambda x, y: y)",
)  # fmt: skip
OF_WORDS = (
    "w", "w", "[g, {s}]", "string_split({s}, ' ')", "json_keys({j})", "json_keys({j}, '{p}')",
    "list_transform({w}, lambda x: upper(x) || '!')", "list_filter({w}, lambda x: x <> 'a')",
    "[x.lower() for x in {w} if x is not null]", "list_sort({w})", "list_concat({w}, [g])",
    "list_transform(l, lambda x: x || '')", "map_keys(map {{g: k}})", "{w}[1:2]",
    "regexp_extract_all({s}, '[a-z]+')", "string_split_regex({s}, '[ aé]')",
)  # fmt: skip
OF_STRINGS = (
    "g", "{s}.upper()", "{s}.lower().trim()", "array_to_string({w}, '-')", "{j} ->> '{p}'",
    "{j} -> '{p}'", "json_extract_string({j}, '{p}')", "json_type({j}, '{p}')", "json_type({j})",
    "{w}[1]", "{w}[-1].replace('a', 'bb')", "map {{g: 'x'}}['a']", "{st}.b || 'z'", "g.left(2)",
    "map {{1: g, 2: 'q'}}[k]", "regexp_escape({s})", "coalesce({s}, 'none')", "typeof(g)",
)  # fmt: skip
OF_BOOLS = (
    "list_contains({l}, {i})", "list_has_any({l}, {l})", "list_has_all({l}, {l})", "{i} in {l}",
    "json_exists({j}, '{p}')", "json_valid({s})", "json_valid({j})", "'a' in w", "k > 1",
    "list_contains({w}, 'a')", "map_contains(map {{'a': k}}, g)", "len({l}) > 1", "{l} = {l}",
    "{l} is null", "{st}.a = 1", "list_contains([x % 2 = 0 for x in {l}], true)",
)  # fmt: skip
# Of an element x of integers, and conditions on it.
ELEMENTS = ("x + 1", "x * k", "x % 2", "coalesce(x, 9)", "x - i", "-x", "abs(x - 2)", "i", "x",
            "case when x > 1 then x end", "nullif(x, 2)", "list_sum([x, k])")  # fmt: skip
CONDITIONS = ("x > 1", "x % 2 = 0", "x is not null", "x < k", "x in (1, 3)", "x = i or x > 2",
              "true", "x is distinct from 1", "not (x > 2)")  # fmt: skip
OF_GROUPS = (
    "sum({n})", "max({n})", "min({s})", "count({w})", "list({n} order by id)", "count({b})",
    "histogram({n})", "histogram({s})", "entropy({s})", "mad({n})", "sum({n}) filter (where {b})",
    "list_sort(list(distinct {n}))", "max({l})", "first({l} order by id)", "bool_or({b})",
    "list({s} order by id)[1:2]", "len(list({n}))", "list_sum(list({n}))", "count(distinct {s})",
    "arg_max({l}, id)", "list({l} order by id)", "kurtosis({n} % 10)", "coalesce(count_if({b}), 0)",
    "list_transform(list({n} order by id), lambda x: {x0})", "sem({n})",
    "string_agg({s}, ',' order by id)",
    "map {{'n': sum(i)}}['n']", "mode({n} * 0)", "any_value(7)", "skewness(i)",
)  # fmt: skip
OF_WINDOWS = (
    "sum({n}) over (partition by k)", "max({s}) over (order by id)",
    "histogram(i) over (partition by g)",
    "list({n}) over (order by id rows 2 preceding)", "lag({l}) over (order by id)",
    "entropy(k) over (partition by b)", "mad(i) over (partition by g)",
    "first_value({s}) over (partition by g order by id)", "count({w}) over (partition by k)",
)  # fmt: skip


def random_nested(seed: int) -> Statement:
    """The statement of a seed."""
    return _Maker(Random(f"nested {seed}")).statement()


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random

    def statement(self) -> Statement:
        kinds = (self._rows, self._rows, self._groups, self._unnested, self._joined, self._again,
                 self._windows, self._sample)  # fmt: skip
        return self.random.choice(kinds)()

    def _filled(self, templates: tuple[str, ...], depth: int) -> str:
        """One of the templates; what it is of is of lower depth, and a column at 0."""
        template = self.random.choice(templates)
        plain = {"l": "l", "w": "w", "s": "g", "j": "j", "st": "st", "i": "i", "b": "b"}
        deeper = {"l": OF_LISTS, "w": OF_WORDS, "s": OF_STRINGS, "i": OF_NUMBERS, "b": OF_BOOLS}
        for name, column in plain.items():
            while f"{{{name}}}" in template:
                is_deep = depth > 0 and name in deeper and self.random.random() < 0.5
                value = self._filled(deeper[name], depth - 1) if is_deep else column
                template = template.replace(f"{{{name}}}", value, 1)
        while "{x}" in template:
            template = template.replace("{x}", self.random.choice(ELEMENTS), 1)
        while "{c}" in template:
            template = template.replace("{c}", self.random.choice(CONDITIONS), 1)
        template = template.replace("{p}", self.random.choice(PATHS))
        return template.replace("{{", "{").replace("}}", "}")

    def _value(self, depth: int = 2) -> str:
        kinds = (OF_NUMBERS, OF_LISTS, OF_LISTS, OF_WORDS, OF_STRINGS, OF_BOOLS, OF_REALS)
        return self._filled(self.random.choice(kinds), depth)

    def _values(self, most: int = 3) -> str:
        count = self.random.randint(1, most)
        return ", ".join(f"{self._value()} as c{n}" for n in range(count))

    def _where(self) -> str:
        kind = self.random.randrange(4)
        if kind == 0:
            return f" where {self._filled(OF_BOOLS, 1)}"
        return f" where {self.random.choice(TESTS)}" if kind == 1 else ""

    def _source(self) -> str:
        return self.random.choice(["t", "t", "u", "(select * from t union all select * from u) s"])

    def _rows(self) -> Statement:
        text = f"select id, {self._values()} from {self._source()}{self._where()}"
        if self.random.random() < 0.2:
            return Statement(f"{text} order by id limit 9", True)
        return Statement(text)

    def _aggregate(self) -> str:
        template = self.random.choice(OF_GROUPS).replace("{x0}", "x + 1")
        while "{n}" in template:
            template = template.replace("{n}", self._filled(OF_NUMBERS, 1), 1)
        return self._filled((template,), 1)

    def _groups(self) -> Statement:
        key = self.random.choice(["k", "g", "b", self._filled(OF_STRINGS, 1),
                                  self._filled(OF_NUMBERS, 1)])  # fmt: skip
        items = ", ".join(f"{self._aggregate()} as c{n}" for n in range(self.random.randint(1, 3)))
        by = f" group by {key}" if self.random.random() < 0.8 else ""
        shown = f"{key} as q, " if by else ""
        return Statement(f"select {shown}{items} from {self._source()}{self._where()}{by}")

    def _windows(self) -> Statement:
        window = self.random.choice(OF_WINDOWS)
        window = window.replace("{n}", self._filled(OF_NUMBERS, 1))
        item = self._filled((window,), 1)
        return Statement(f"select id, {item} as c0 from {self._source()}{self._where()}")

    def _unnested(self) -> Statement:
        items = [f"unnest({self._filled(OF_LISTS, 1)}) as x"]
        if self.random.random() < 0.6:
            items.append(f"unnest({self._filled(OF_WORDS, 1)}) as y")
        if self.random.random() < 0.3:
            items.append(self._value(1) + " as z")
        text = f"select id, {', '.join(items)} from {self._source()}{self._where()}"
        if self.random.random() < 0.4:
            return Statement(f"select x, count(*) as n, sum(id) from ({text}) as v group by x")
        if self.random.random() < 0.3:
            lists = self._filled(OF_LISTS, 1)
            return Statement(
                f"select id, x, y from t, unnest(l) as v(x), unnest({lists}) as z(y){self._where()}"
            )
        return Statement(text)

    def _joined(self) -> Statement:
        how = self.random.choice(["join", "left join", "full join", "anti join", "semi join"])
        inner = [f"select id, {self._filled(OF_NUMBERS, 1)} as q, {self._value(1)} as v from {name}"
                 for name in ("t where id < 40", "u where id < 5040")]  # fmt: skip
        items = (
            "a.id, a.v" if how in ("semi join", "anti join") else "a.id, a.v, z.id as n, z.v as w"
        )
        return Statement(f"select {items} from ({inner[0]}) a {how} ({inner[1]}) z on a.q = z.q")

    def _again(self) -> Statement:
        """A value of a value that a query has computed."""
        inner = f"select id, k, i, g, b, st, j, d, ts, {self._filled(OF_LISTS, 1)} as l, "
        inner += f"{self._filled(OF_WORDS, 1)} as w from {self._source()}{self._where()}"
        return Statement(f"with v as ({inner}) select id, {self._values()} from v{self._where()}")

    def _sample(self) -> Statement:
        inner = f"select id, {self._value(1)} as v from t"
        count = self.random.choice(["100%", "reservoir(5 rows)", "0%", "7 rows"])
        return Statement(f"select count(*) from ({inner}) s using sample {count}")
