select s, bo, count(*) from t group by rollup (s, bo);
select s, bo, count(*), sum(a) from t group by cube (s, bo);
select s, bo, count(*) from t group by grouping sets ((s), (bo), ());
select s, bo, count(*) from t group by grouping sets ((s, bo), (s));
select s, count(*), grouping(s) from t group by rollup (s);
select s, bo, grouping(s), grouping(bo), count(*) from t group by cube (s, bo);
select s, bo, sum(b) from t group by rollup (s, bo) having sum(b) > 30;
select s, bo, count(*) as n from t group by cube (s, bo) order by n desc, s, bo;
select coalesce(s, 'all') as k, count(*) from t group by rollup (s);
select s, extract(year from d) as y, count(*) from t group by rollup (s, extract(year from d));
select count(*) from (select s, bo from t group by cube (s, bo));
select bo, count(*) from t group by bo, rollup (s);
select s, bo, avg(a), avg(b), min(b), max(s), count(a), bool_or(bo) from t group by cube (s, bo);
select s, bo, avg(a) filter (where a > 2), count(*) filter (where b < 0), sum(b) from t group by rollup (s, bo);
select s, bo, count(*), count(a), sum(a), avg(a), min(s) from t where a > 1000 group by cube (s, bo);
select s, bo, count(*), avg(a) + 1 as m from t where a > 1000 group by grouping sets ((s), (bo), (s, bo), ());
select a, s, bo, count(*), sum(b) / count(*) from t group by grouping sets ((a, s), (s, bo), (s), (a));
select s, bo, avg(cast(a as decimal(10, 2))), sum(cast(a as decimal(10, 2))) from t group by rollup (s, bo);
select s, bo, count(*), median(a), stddev(b) from t group by rollup (s, bo);
select s, bo, avg(a), median(a) from t group by rollup (s, bo);

-- distinct values beside totals
select s, sum(distinct a), sum(a) from t group by rollup (s);
select s, bo, count(distinct a), avg(distinct b), max(a) from t group by cube (s, bo);
select s, bo, sum(distinct a) filter (b > 1), grouping(s) from t group by grouping sets ((s), (s, bo), ());
select s, string_agg(distinct bo::text, ',' order by bo::text), count(distinct (a, b)) from t group by rollup (s);
select s, sum(distinct a) from t where a > 1000 group by rollup (s);

-- conditions on constants beside totals
select * from (select 'a' as k, sum(a) as v from t union all select 'b', sum(v) from u) where k = 'a';
select * from (select 'a' as k, count(*) as n from t) where k like 'b%';
select * from (select cast(null as bigint) as k, count(*) as n from t) where k = 1;
select * from (select 'a' as k, s, count(*) as n from t group by rollup(s)) where k = 'b';
select * from u left join (select 'a' as k, count(*) as n from t) w on w.k = 'b';
select * from u join (select 'a' as k, count(*) as n from t) w on w.k = u.s;
with w as (select 'all' as k, max(a) as m from t) select u.v from u, w where w.k <> 'all';
select k, n from (select 'a' as k, count(*) as n from t where a > 99 group by 1) where n = 0;

-- one column several times
select distinct a as x, a from t;
select distinct b, a, b as y from t;
select distinct a + 1, a + 1 from t;
select x, n from (select x, y, count(*) as n, max(z) as m from (select a as x, a as y, b as z from t) group by x, y);
select x, m from (select x, y, count(*) as n, max(z) as m from (select a as x, a as y, b as z from t) group by x, y);
select x, y, grouping(x), grouping(y), count(*) from (select a as x, a as y from t) group by cube(x, y);
select a as x, a as y from t intersect select a, a from u;
select distinct a, sum(b), sum(b) from t group by a;
select a % b as k, sum(nullif(0, a)), min(a), count(distinct a % b) from t group by 1;
select s, count(distinct s), count(distinct s || 'x'), sum(a) from t group by s;
select a + 1 as k, count(distinct a + 1) from t group by a + 1;
select sum(a), count(*) from t group by grouping sets (());
select sum(a), count(*) from t group by ();
select 1 from t where a > 100 group by () having count(*) = 0;
select 1 from t where a > 100 group by ();
select s, sum(b) from t group by s, grouping sets (());
select s, a, sum(b), grouping(a) from t group by grouping sets ((a, s));
select s, a, sum(b) from t group by grouping sets (a), s;
