select * from range(5);
select range, t.range + 1 from range(2, 10, 3) t;
select x, sum(x) over () from generate_series(1, 4) as g(x);
select * from generate_series(5, 1, -2);
select * from range(3, -3, -2);
select sum(x) from unnest([1, 2, 3]) as q(x);
select * from unnest(['a', 'b']) u(s) join t using (s);
select x from unnest([1.5, 2, -3]) q(x) where x < 2;
select t.a, g.x from t join range(1, 4) g(x) on t.a = g.x;
select count(*) from range(1000) a, range(1000) b;
select x from range(0) q(x);
select a from t where a in (select x from range(2, 6) q(x));
select generate_series from generate_series(1, 2);
select unnest from unnest([true, false]);
select * from range(5, 1);
select x from generate_series(3, 3) g(x);

-- FROM without SELECT
(from t);
from t union all from t where a > 2;
with w as (from t where a > 1) from w;
select * from (from t) x where a in (from (select v from u));
select a from t where exists (from u where u.a = t.a);
with w as (select 1 as a) from w join t using (a);
from t full join u using (a);
select a, v from (from t right join u using (a)) w;
values (1, timestamp '2024-01-01 10:00:00'), (2, null), (3, '2024-01-02 00:00:00.5'::timestamp);
values (time '10:00:00'), (null);
values (-1), (1e3);
values (date '2024-01-01' + 1), (date '2024-01-31');
values ('a'::varchar), (true::varchar), (upper('x') || 1);
values ([1, 2], 1 + 1), ([3], abs(-4));
select * from (values (1, date '2024-01-31', 2.50), (2, null, null)) v(a, d, p) where d > '2024-01-01';

-- Samples of all rows
select * from t tablesample 100%;
select t.*, u.* from t tablesample 100% join u tablesample reservoir(100 rows) on t.a = u.a;
select * from t where a > 1 using sample 100 percent;
select * from (select a, s from t) using sample 100% (bernoulli, 7);
