"""What SQL does not run is refused with its name, its place and what to write instead; SQL that
are no SQL end in an error with a place."""

from __future__ import annotations

import os
import random
from pathlib import Path

import crossdock as xd
import pytest
from crossdock.sql_frontend import recursion

GOLDEN = Path(__file__).parent / "golden" / "refusals.txt"
STATEMENTS = (
    "select a from t where a = :b",
    "select a from t where a = %s",
    "select a from t where a = %(b)s",
    "select * from data/2026/x.parquet",
    "select * from data/*.parquet",
    "select getdate()",
    "select to_char(d, 'YYYY') from t",
    "select top 5 a from t",
    "select * from folder.t.csv",
    'select * from "folder/t.csv"',
    'select a from t where s = "x"',
    "with w as (select 1 as x) select * from w v where w.x = 1",
    "set threads = 4",
    "select rank() filter (where a > 1) over (order by a) from t",
    "select sum(a ignore nulls) over (order by a) from t",
    "select sum(a) over (order by d range interval '1 month 2 days' preceding) from t",
    "select sum(a) over (order by f range between 0.12345678 preceding and current row) from t",
    "select sum(a) over (order by f rows between 1.5 preceding and current row) from t",
    "select sum(a) over (order by f range between b preceding and current row) from t",
    "select array_agg(a) filter (where a > 2) over (partition by s) from t",
    "select lag(a) filter (where a > 2) over (order by a) from t",
    "select arg_max(a, b) over (order by b) from t",
    "select string_agg(distinct s, ',') over (order by a) from t",
    "select list(a) over (order by b rows 2 preceding exclude current row) from t",
    "select nth_value(a) over (order by a) from t",
    "select first_value() over () from t",
    "select string_agg(distinct s, ',' order by a) from t",
    "select string_agg(s, s) from t",
    "select list_transform([a], lambda x: (select max(a) from u)) from t",
    "select list_transform([a], lambda x y: x) from t",
    "select list_filter([a], x) from t",
    "select list_transform([a], (x, i, j) -> x) from t",
    "select list_reduce([a], (x, y) -> x + y) from t",
    "select [(from t) for x in l] from lists",
    "select [x for x in [a] if missing > 1] from t",
    "select [a] && [1] from t",
    "select distinct on (s) a from t order by a",
    "select a from t except all select a, s from u",
    "select try_cast(s as interval) from t",
    "select mode(distinct a) from t",
    "select entropy(1) from t",
    "select mad(distinct a) over (partition by s) from t",
    "select entropy(a) over (order by a rows 2 preceding exclude current row) from t",
    "select count(distinct a, b) from t",
    "select a from lists where unnest(l) > 1",
    "select x from t left join lists on true, unnest(lists.l) w(x)",
    "select x from t join lists on true, unnest([b, lists.a]) w(x)",
    "select * from t, unnest(t.s)",
    "select * from unnest([1, 'a'])",
    "select * from range(a)",
    "select * from range(1, 2, 0)",
    "select * from generate_series(1, 100000000000)",
    "with recursive r(x) as (select 1 union all select x + 1 from r) select * from r",
    "with recursive r(x) as (select 1 union all select x from r where x < 3 order by x) select 1",
    "with recursive r(x, y) as (select 1 union all select x from r where x < 3) select * from r",
    "with recursive r(x) as (select 1 union all select nope from r where x < 3) select * from r",
    "with recursive r(x) as (select 1 union all select 1, x from r where x < 3) select * from r",
    "with recursive r(x) as (select x from r) select * from r",
    "with recursive r(x) as (select 1 union select x from r union select 2 from r) select 3",
    "from (with recursive r(x) as (select 1 union all select x from r) select * from r)",
    "create view rr as with recursive r(x) as (select 1 union select x from r) select * from r",
    "select a from t where s similar to s",
    "with recursive r(a, b) using key (a) as (select 1, 1 union select a, b from r) from r",
    "select generate_series(d, d, interval 1 month) from t",
    "select s[1:2:2] from t",
    "select epoch_ms(a), epoch_ms(d) from t",
    "select string_split_regex(s, 'x*') from t",
    "select xor(a) from t",
    "select format(s, a) from t",
    "select format('{} {}', a) from t",
    "select printf('%q', a) from t",
    "select printf('%d', s) from t",
    "select avg(ts - ts) from events",
    "select s::int[] from t",
    "select a from t join u using (a) using sample 10%",
    "select a from t tablesample many",
    "select a from t order by a limit 110%",
    "select a + 1 as a, * from t",
    "select a as k, b as k from t order by k",
    "select a, count(*) as n, sum(b) as n from t group by a having n > 1",
    "select *, -a as a from t order by a desc",
    "select x.*, COLUMNS('^a') from t x where nope > 1",
    "select * like 'a%' from nope",
    "select s -> '$.a', nope from t",
    "from t select a, nope",
    "select * from (pivot t on s using sum(nope)) p",
    "pivot t on nope using sum(a)",
    "select a from t tablesample 10% where nope(a) = 1",
    "select f // 2 from t",
    "select 2 * ~a from t",
    "select a ^ from t",
    "select mod(a) from t",
    "select ts at time zone s from events, t",
    "select strftime(d, '%Q') from t",
    "select strptime(s, s) from t",
    "select strptime(s, '%Y') from t",
    "select to_timestamp(s, 'YYYY') from t",
    "select date_diff('fortnight', d, d) from t",
    "select n from t join u using (a) full join names using (s)",
    "select v from t natural full join (select 1 as a) y",
    "select v from t natural left join events",
    "select v from t join u where t.a = u.a",
    "select v from (t left join u)",
    "select v from t join u on t.a = u.a positional join names",
    "select v from t asof join u",
    "select v from t asof join u on t.a = u.a",
    "select v from t asof join u on t.a >= u.a and t.b >= u.v",
    "select v from t asof join u on t.a >= u.a or t.b = u.v",
    "select v from t asof join u on t.a >= t.b",
    "select v from t join names n on t.s = n.s asof join u on t.a = u.a and n.n >= u.v",
    "select v from t join u using (a) asof join names using (s)",
    "select u.a from t asof join u using (a)",
    "select v from t asof join (select a, v from u) on t.a >= u.a",
    "select columns('nope') from t",
    "select columns('a'), columns('a') + columns('b') from t",
    "select columns(c -> c) from t",
    "select * rename (a as b)",
    "select sum(a) over (order by b between 1 and current row exclude current row) from t",
    "select * lateral exclude group a from t",
    "select * like a from t",
    "select a from t as",
    "select a join, (a,) in",
    "select a, exists",
    "select a, [for x in l] from lists",
    "select * from 40 (select 1 a, 2) full join (select 2 a, 3 c) using (a)",
    "select (select from t where a > 100)",
    "select distinct from t",
    "select arg_max(, b) from t",
    "select (a + [b) from t",
    "unpivot t on a into name what value",
    "with recursive r(x) as (select 1 union select x from r)",
    "select from, (select max(v) a where u.a = s.a) from t",
    "select a, (select v from, upper(select v from u where v = 1) from t)",
    "select a from t where from a in (select x from range(2, 6) q(x))",
    "select a from t tablesample (10 percent",
    "select a from t tablesample 10% repeatable (x)",
    "select s -> 'a' from t",
    "select json_extract('{}', '$.*')",
    "select json_extract(s, s) from t",
    "select quantile_disc(a) from t",
    "select quantile_disc(a, 1.5) from t",
    "select time_bucket(interval '1 month 1 day', d) from t",
    "select time_bucket(interval '1 day', d, d) from t",
    "select * from range(date '2024-01-01', date 'x', interval '1 day')",
    "select * from range(date '2024-01-01', date '2025-01-01', interval '0 days')",
    "select * from range(date '2024-01-01', 5)",
    "select * from generate_series(date '1000-01-01', date '9000-01-01', interval '1 second')",
    "select random(3) from t",
    "select a, exists (select a from u where u.a = t.a group by a) from t",
    "select a from t where a in (select v from u where u.s = t.s) or b > 1",
    "select * from t, lateral (select v from u where u.v > t.a order by v limit 1) x",
    "select * from t, lateral (select v from u where u.a = t.a or u.v = t.b limit 1) x",
    "select * from t, lateral (select v from u where u.a = t.a + v limit 1) x",
    "select a from t where not ((a, s) in (select a, s from u))",
    "select (a, s) in (select a, s from u) from t",
    "select a from t where (a, b) = (1, 2, 3)",
    "select a from t order by (select count(*) from u where u.a = t.a)",
    "select a from t where s collate nocase = 'X'",
    "select a from t a where b > (select max(v) from u where u.a = a.a)",
    "select interval '1' day",
    "select regexp_replace(s, s, 'b') from t",
    "select regexp_replace(s, 'a', '\\2') from t",
    "select regexp_matches(s, '(') from t",
    "select regexp_extract(s, 'a', 1) from t",
    "select regexp_matches(s, 'a', 'x') from t",
    "select s like s from t",
    "insert into t values (1)",
    "update t set a = 1",
    "delete from t",
    "alter table t add column x int",
    "create table x (a int)",
    "create index i on t (a)",
    "copy t from 'x.csv'",
    "pragma version",
    "begin",
    "attach 'x.db'",
    "pivot t on s using a",
    "pivot t using sum(a)",
    "unpivot t on a into x y",
    "pivot t on nope",
    "select * from (pivot t on s using a)",
    "select * from t pivot (sum(a) for s)",
    "select * from t unpivot (v for n in a)",
    "select a frm from t where",
    "select a b c from t",
    "select (a from t",
    "select a) from t",
    "select 'abc from t",
    'select "abc from t',
    "select a /* from t",
    "selct a from t",
    "",
    "   -- nothing",
    "select nope from t",
    "select nope from t order by all",
    "select if(a > 1, 2) from t",
    "select a, (select cast(count(*) + 1.5 as bigint) from u where u.a = t.a) from t",
    "select a from t where exists (select 1 from u where u.a = t.a and t.b = t.b)",
    "select a as k, (select max(v) from u where u.a = k) from t",
    "select t.nope from t",
    "select x.a from t",
    "select * from nope",
    "select * from tt",
    "select nope(a) from t",
    "select sum(a), b from t",
    "select a from t group by s",
    "select a from t, u",
    "select s + 1 from t where s = 'x'",
    "select a from t order by nope",
    "select * from 'nope.parquet'",
    "select * from read_csv('x.csv', wrong=1)",
    "select * from read_csv(a)",
    "select a from t where a = ?",
    "select a from t where a = $x",
    "select a from t limit a",
    "set nope = 1",
    "set join_order = sideways",
    "show nope",
    "create view t as select 1 as a",
    "drop view nope",
    "copy t to 'x.parquet' (wrong 1)",
    "copy t to 'x.parquet' (format xml)",
    "describe",
    "explain",
    "select\n  a,\n  b +\nfrom t",
    "select 1; select nope from t",
)


def error_of(dock: xd.Dock, text: str) -> str:
    try:
        shown = dock.sql(text).collect()
    except xd.CrossdockError as error:
        return f"{type(error).__name__} {error}"
    return f"no error, {shown.num_rows} rows"


def test_refusals(dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recursion, "MOST_ROUNDS", 300)  # 10,000 take 9 s
    parts = [f"{text!r}\n{error_of(dock, text)}\n" for text in STATEMENTS]
    result = "\n".join(parts).replace(str(tmp_path), "FOLDER")
    if os.environ.get("GOLDEN_UPDATE"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(result, encoding="utf-8")
    assert result == GOLDEN.read_text(encoding="utf-8")
    assert "no error" not in result


def mutated(text: str, generator: random.Random) -> str:
    """A text with some characters dropped, doubled, swapped or replaced."""
    characters = list(text)
    for _ in range(generator.randint(1, 4)):
        place = generator.randrange(len(characters))
        kind = generator.randrange(4)
        if kind == 0 and len(characters) > 1:
            del characters[place]
        elif kind == 1:
            characters.insert(place, characters[place])
        elif kind == 2:
            characters[place] = generator.choice("'\"();,.$?*/-\\\x00é\n")
        else:
            other = generator.randrange(len(characters))
            characters[place], characters[other] = characters[other], characters[place]
    return "".join(characters)


BASES = (
    "select a, sum(b) / 2 as x from t where s in ('x', 'y') group by a order by 1 limit 5",
    "with w as (select * from t left join u using (a)) select count(*) from w where v is null",
    "select case when a > 1 then 'x' else \"s\" end from t where a not in (select a from u) or bo",
    "select * from (values (1, 'a'), (2, 'b')) v(x, y) join t on t.a = v.x where d > '2000-01-01'",
)


@pytest.mark.parametrize("base", range(len(BASES)))
def test_malformed_sql_ends_in_an_error(base: int, dock: xd.Dock) -> None:
    generator = random.Random(base)
    for _ in range(150):
        text = mutated(BASES[base], generator)
        try:
            dock.sql(text).collect()
        except xd.CrossdockError:
            continue


def test_huge_sql_ends_in_an_error(dock: xd.Dock) -> None:
    for text in (
        "select " + "(" * 5000 + "1" + ")" * 5000,
        "select " + "1 + " * 20000 + "1",
        "select " + "case when 1 = 1 then " * 2000 + "1",
        "select 1 where " + " or ".join(f"{i} = 2" for i in range(5000)),
        "select * from " + "(select * from " * 300 + "t" + ")" * 300,
        "x" * 2_000_000,
        "select '" + "x" * 2_000_000 + "'",
        "$" * 10_000,
    ):
        try:
            dock.sql(text).collect()
        except xd.CrossdockError:
            continue


@pytest.mark.parametrize("text", [None, 1, b"select 1", ["select 1"]])
def test_sql_is_a_string(text: object, dock: xd.Dock) -> None:
    with pytest.raises(xd.SqlError, match="takes a text"):
        dock.sql(text)  # type: ignore[arg-type]
