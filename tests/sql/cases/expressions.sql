select a, b, a + b, a - b, a * b from t;
select a, b, a / b, b / 2, 7 / 2, a / 4 from t;
select a, a % 3, -a % 3, a % -3, a % b from t where b <> 0;
select m, m + 1, m - 0.5, m * 2, m * m, m / 3, -m from t;
select f, f + 1, f * 2, f / 4, f - m from t;
select a + b * 2, (a + b) * 2, a - b - 1, a - (b - 1) from t;
select 1, 1.5, 'x', true, null, date '2020-01-02', timestamp '2020-01-02 03:04:05';
select a = 1, a <> 1, a < 2, a <= 2, a > 2, a >= 2, a != 3 from t;
select a between 1 and 3, a not between 1 and 3, b between a and 30 from t;
select a in (1, 2), a not in (1, 2), s in ('x', 'z'), a in (1, null), a not in (1, null) from t;
select a is null, a is not null, bo is true, bo is not true, bo is false, bo is not false from t;
select bo is unknown, bo is not unknown, not bo, bo and a > 1, bo or a > 1 from t;
select a is distinct from b, a is not distinct from b, s is distinct from null from t;
select coalesce(a, b, 0), coalesce(s, 'none'), coalesce(null, a), ifnull(a, -1) from t;
select nullif(a, 1), nullif(s, 'x'), nullif(m, 1.25) from t;
select greatest(a, b), least(a, b), greatest(a, 2), least(m, 2.0), greatest(a, b, 25) from t;
select abs(-a), abs(m - 2), abs(f), sign(a - 2) from t;
select ceil(f), floor(f), ceil(m), floor(m), round(f), round(m, 1), round(a, -1) from t where f is null or f = f;
select sqrt(a), exp(a), ln(a), log2(a), log10(a), power(a, 2), pow(2, a) from t where a > 0;
select case when a > 2 then 'big' when a > 1 then 'mid' else 'small' end from t;
select case a when 1 then 'one' when 2 then 'two' end from t;
select case when a > 2 then b end, case when s = 'x' then m else 0 end from t;
select case when bo then a else b end, case when not bo then 1 when bo then 2 else 3 end from t;
select cast(a as varchar), cast(a as double), cast(a as smallint), a::decimal(10, 2) from t;
select cast(m as integer), cast(m as double), m::decimal(10, 1), cast(m as varchar) from t;
select cast(f as bigint), cast(f as decimal(10, 1)) from t where f is not null and f = 2.5 or f = -0.5 or f = 1.5;
select cast('12' as integer), cast('1.5' as double), cast('2020-01-02' as date), cast(bo as integer) from t;
select trunc(f), trunc(m) from t where f is null or f < 100;
select a * 1.5, a + 0.25, 0.1 + 0.2, 1.10 * 1.10 from t;
select -(-a), +a, - a + b from t;
select (a > 1) = (b > 15), (a > 1) and not (b > 15) from t;
select a, s from t where a > 1 and (s = 'x' or s = 'y') and not b = 40;
select a from t where not (a > 2);
select a from t where a + b > 22 and b - a < 38;
select a from t where m > 1.5 and f < 3;
select a from t where bo;
select a from t where not bo or a is null;
select a from t where 1 = 1;
select a from t where 1 = 0;
select a from t where null;
select a from t where s is null or a = 5;
select a from t where a * 2 = b / 5;
select a / 0.0, b / 2.5 from t where a > 10;
select 10 / 4, 10 % 4, 10.0 / 4, 3 * (2 + 1);
select a & 1, b & 6 from t where a is not null and b is not null;
select a from t where a in (select 1 union all select 3);
select 'it''s', 'a;b', '--no', '/* no */' ;
select a /* in */ + /* be/tween */ 1 -- end
from t;
select m % 2, m % 1.5, -m % 2, b % 1.25 from t;

select try_cast(s as int) from (values ('1'), ('x'), (null), ('-7'), ('99999999999'), ('')) v(s);
select try_cast(s as double) from (values ('1.5'), ('x'), (null), ('1e3')) v(s);
select try_cast(s as date) from (values ('2020-01-02'), ('2020-13-01'), (null), ('abc')) v(s);
select try_cast(s as timestamp) from (values ('2020-01-02 03:04:05'), ('nope'), (null)) v(s);
select try_cast(s as decimal(5, 2)) from (values ('1.25'), ('123456.7'), (null), ('a')) v(s);
select try_cast(a as tinyint) from (values (1), (300), (null), (-129)) v(a);
select try_cast(f as int), try_cast(m as tinyint), try_cast(a as varchar) from t;
select count(*) from t where try_cast(s as int) is null;
select try_cast('abc' as int), try_cast('12' as int), try_cast(null as int);
select try_cast(m * 1000 as decimal(6, 2)) from t;

-- what belongs to IS DISTINCT FROM
select t.bo is not distinct from u.bo and t.a < u.a from t, t u;
select t.bo is distinct from u.bo or t.a = u.a from t, t u;
select t.a from t, t u where t.bo is distinct from u.bo and u.bo is not distinct from true and t.s = u.s;
select t.bo is distinct from u.bo = t.bo, t.bo = u.bo is not distinct from t.bo from t, t u;
select not t.bo is distinct from u.bo and t.bo from t, t u;
select t.bo is distinct from t.a between 2 and 3 and t.bo q from t;
select case t.bo is not distinct from t.a > 2 when true then t.bo is distinct from case when a > 1 then bo end else false end from t;
select t.bo is distinct from left(t.s, 1) = 'x' or t.a = 1, t.d is distinct from date '2000-01-01' + interval '1' day or bo from t;
select t.a, u.a from t join t u on t.bo is not distinct from u.bo and t.s <> u.s;
select count(*) filter (where bo is distinct from a > 1 and b > 10) n from t where (bo is distinct from null) or bo;

-- decimals that round up to a digit more
select cast(x as bigint), cast(x as decimal(4, 0)), try_cast(x as decimal(3, 0)), try_cast(x as tinyint), cast(x as decimal(6, 1)) from (select cast(v as decimal(5, 2)) as x from (values (999.99), (-999.99), (1.25), (null)) w(v));
select sum(cast(x as int)), max(x) from (select cast(v as decimal(3, 1)) as x from (values (99.9), (-99.9), (99.5)) w(v));

-- TRY_CAST is NULL, not what it was cast from
select b from t where try_cast(b * 10 as tinyint) > 0;
select b from t where try_cast(b * 10 as tinyint) <> 7 or try_cast(b * 10 as tinyint) in (100);
select try_cast(b * 10 as tinyint), count(*) from t group by try_cast(b * 10 as tinyint) having not try_cast(b * 10 as tinyint) < 0;
