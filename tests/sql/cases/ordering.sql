-- ordered
select a from t order by a;
-- ordered
select a from t order by a desc;
-- ordered
select a from t order by a nulls first;
-- ordered
select a from t order by a desc nulls first;
-- ordered
select s, a from t order by s, a desc;
-- ordered
select s, a from t order by s desc nulls last, a;
-- ordered
select a, b from t order by b - a, a;
-- ordered
select a from t order by 1 desc;
-- ordered
select a as x from t order by x;
-- ordered
select a from t order by -a;
-- ordered
select a from t order by b;
-- ordered
select a from t order by a limit 2;
-- ordered
select a from t order by a limit 2 offset 1;
-- ordered
select a from t order by a offset 3;
-- ordered
select a from t order by a desc limit 0;
-- ordered
select s, count(*) as n from t group by s order by n desc, s;
-- ordered
select s from t group by s order by sum(b) desc;
-- ordered
select distinct s from t order by s desc;
-- ordered
select a from t where a > 1 order by a limit 10;
-- ordered
select upper(s) from t order by upper(s), 1;
-- ordered
select d from t order by d desc limit 1;
-- ordered
select m from t order by m desc;
-- ordered
select bo, a from t order by bo, a;
-- ordered
select x.a from (select a from t order by a limit 3) x order by x.a desc;
-- ordered
select t.a, u.v from t join u on t.a = u.a order by t.a, u.v desc;
-- ordered
select case when a > 2 then 0 else 1 end as k, a from t order by k, a;
select count(*) from (select a from t limit 3);
select count(*) from (select a from t order by a offset 2);
-- ordered
select a, s from t order by all;
-- ordered
select s, count(*) from t group by s order by all desc nulls last;
-- ordered
select s, a from t where a > 0 order by all desc limit 2;
-- ordered
select s, sum(b) as b from t group by s order by sum(b) desc, s;
-- ordered
select s, min(-b) as b from t group by s order by max(b), s;
-- ordered
select a, -b as b from t order by b + 0, a;
-- ordered
select a, -b as b from t order by b desc, abs(b), a;
-- ordered
select a, -b as Total from t order by abs(total), a;
-- ordered
select -x.b as b, y.v from t x join u y on x.a = y.a order by case when b > 10 then 0 else 1 end, b, v;
-- ordered
select * from (select s, sum(b) as b from t group by s order by sum(b) desc, s limit 2) x order by b;

-- Shares
-- ordered
select a, v from u order by v limit 50%;
-- ordered
select v from u order by v desc limit 41 percent offset 1;
select count(*) from (select v from u limit 19.9%);
select count(*) from (select * from t limit 100%) join (select * from u limit 0%) using (a);
select count(*) from (select v from u limit 60%) where v > 2;
select sum(n) from ((select count(*) n from (from range(1000) limit 12.5%)) union all (select 5 n limit 100%));

-- What is computed of the first rows
-- ordered
select upper(s) x, a * 2 y, a from t order by a desc nulls last limit 2;
-- ordered
select upper(s) x, a * 2 y, b + a z from t order by y limit 2 offset 1;
-- ordered
select m from (select upper(s) m, a from t order by a limit 4) where m <> 'X' order by m;
select count(m), max(m) from (select upper(s) m, a from t order by a limit 4);
-- ordered
select upper(s) as a, a + 1 as s from t order by t.b limit 3;
-- ordered
select n from (values ('b', 1), ('A', 2), ('a', 3), ('B', 4)) t(s, n) order by s collate nocase desc, n;
-- ordered
select n, row_number() over (order by t.s collate nocase, n) r from (values ('b', 1), ('A', 2), ('a', 3)) t(s, n) order by n, t.s collate nocase;
