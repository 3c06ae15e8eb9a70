select x.*, y.* from u x join u y using (a);
select y.*, x.* from u x join u y using (a);
select x.* exclude (a), y.* exclude (v) from u x join u y using (a);
select * exclude (a) from u x left join t y using (a);
select * exclude (a) from (select a, v from u) x full join (select a, b from t) y using (a);
select x.* exclude (a), y.* from u x full join t y using (a);
select *, v + 1 as v from u;
select v from (select *, v + 1 as v from u);
select v_1 from (select *, v + 1 as v from u);
select a, a_1, s_1 from (select x.*, y.* from u x join u y on x.v = y.v);
with c as (select x.a, y.a from u x join u y on x.v = y.v + 1) select a_1, count(*) from c group by a_1;
select v as x, a as x, s as x from u;
select v as s, s from u;
select a as k, v as K from u order by 1, 2;
select distinct x.a, y.a from u x join u y on x.s = y.s order by y.a, x.a;
select a as b, b as a from t union all select 1, 2;
select columns('a|v') from u;
select columns('^v$') + 1 from u;
select min(columns(*)) from u;
select min(columns('a|v')), max(columns(* exclude (s))) from u;
select columns(['v', 'a']) from u;
select columns(* exclude (s)) * 2 from u;
select a from u where columns(['a', 'v']) > 1;
select coalesce(columns('^(a|b)$'), 0) from t;
select s, sum(columns('^(a|b)$')) from t group by s;
select * like '%' from u;
select * not like 'a%' from u;
select t.* ilike '_' from t join u on t.a = u.a;
select * rename (v as w) from u;
select * exclude (s) replace (v * 2 as v) rename (a as k) from u;
select w from (select * rename (v as w) from u) where w > 2;
-- ordered
select * from u order by all;
-- ordered
select * from u order by all desc nulls last limit 3;
-- ordered
with c as (select a, v from u) select * from c order by all;
-- ordered
select a, s from t union select a, s from u order by all;
from u select v;
from u select s, sum(v) where v > 1 group by s;
from u x join t y on x.a = y.a select x.v, y.b where y.b > 10;
select n from (from t select count(*) as n group by s) where n > 1;
from t select a union all from u select a;
with c as (from u) from c select max(v);
select * from (pivot u on s using sum(v)) p;
with p as (pivot u on s in ('x', 'q') using sum(v) group by a) select * from p where x is not null;
with c as (select s, v from u where v < 5) pivot c on s using sum(v);
select * from (select s, a, v from u) pivot (sum(v) for s in ('x', 'q', 'y'));
select * from u pivot (sum(v) as total, count(*) as n for s in ('x', 'q') group by a);
select p.x, t.b from t join (pivot u on s in ('x') using max(v) group by a) p on t.a = p.a;
select * from (unpivot (select s, a, v from u) on a, v into name what value n) z;
select name, sum(value) from (unpivot (select s, a, v from u) on a, v) group by name;
select * from u unpivot (n for what in (a, v));
select sum(v), from u group by s,;
with c as materialized (select 1 as a), d as not materialized (select 2 as a) select * from c union all select * from d;
-- ordered
select a from u order by a fetch first 2 rows only;
select a, p.* from (select a, {'x': b, 'y': s} p from t) z;
select p.*, z.a + 1 from (select a, {'x': b} p from t) z where z.a > 1;
select a, * from t;
-- ordered
select t.a, t.*, t.b from t order by a nulls first;
-- ordered
select *, a, s from t order by b desc, a;
select x.s, x.v from (select s, * from u) x;
select t.a, u.* from t join u on t.a = u.a;
select * exclude a from t;
select t.* exclude "A", 1 from t;
select columns(lambda c: c like 'a%' or c = 'b') + 1 from t;
