select t.a, u.v from t join u on t.a = u.a;
select t.a, u.v from t inner join u on t.a = u.a where u.v > 1;
select t.a, u.v from t left join u on t.a = u.a;
select t.a, u.a, u.v from t right join u on t.a = u.a;
select t.a, u.a, u.v from t full join u on t.a = u.a;
select t.a, u.v from t cross join u;
select t.a, u.v from t, u where t.a = u.a;
select t.a, u.v from t, u;
select t.a, u.v from t, u where t.a < u.a;
select t.a, u.v from t join u on t.a = u.a and t.s = u.s;
select t.a, u.v from t join u on t.a = u.a and t.s <> u.s;
select t.a, u.v from t left join u on t.a = u.a and u.v > 2;
select t.a, u.v from t left join u on t.a = u.a and t.b > 15;
select t.a, u.v from t left join u on t.a = u.a where u.v is null;
select t.a, u.v from t left join u on t.a < u.a;
select t.a, u.v from t join u on t.a + 1 = u.a;
select t.a, u.v from t join u on t.a = u.a - 1 and t.b > u.v;
select x.a, y.a from t x join t y on x.a = y.a;
select x.a, y.a from t x join t y on x.b = y.b + 10;
select x.a, y.b, z.v from t x join t y on x.a = y.a join u z on y.a = z.a;
select * from t join u using (a);
select a, v from t join u using (a) where v > 1;
select * from (select a, s from t) x join (select a, v from u) y on x.a = y.a;
select t.s, count(*) from t join u on t.a = u.a group by t.s;
select t.a, n.s from t join names n on t.a = n.n;
select t.a, u.v, n.s from t join u on t.a = u.a join names n on n.n = u.v;
select t.a, u.v, n.s from t left join u on t.a = u.a left join names n on n.n = u.v;
select t.a, u.v, n.s from t, u, names n where t.a = u.a and n.n = u.v and n.s <> 'bob';
select t.a, u.v from t join u on t.a = u.a or t.s = u.s;
select t.a, u.v from t join u on t.a is not distinct from u.a;
select * from t x natural join (select a, b from t where a > 1) y;
select count(*) from t x, t y, t z where x.a = y.a and y.a = z.a;
select count(*) from t x join t y on x.s = y.s join t z on y.s = z.s where x.a < z.a;
select t.a from t join (values (1), (2)) v(k) on t.a = v.k;
select t.a, v.m from t, lateral (select max(u.v) as m from u where u.a = t.a) v;
select t.a, u.v from t join u on t.a = u.a order by u.v desc limit 2;
select x.s, y.s from names x join names y on x.n = y.n + 1;
select t.a, u.v from t left join u using (a);
select a, v from t left join u using (a) where v > 1;
select t.m, p.m from t join t p on t.m = p.m;
select count(*) from t x left join u y on x.a = y.a left join u z on y.v = z.v;
select e.ts, t.a from events e join t on cast(e.ts as date) = t.d;
select t.a, w.n from t join (select a, count(*) as n from u group by a) w on t.a = w.a;

-- USING in outer joins
select * from t full join u using (a);
select * from t right join u using (a);
select t.a, u.a, a from t full join u using (a);
select u.a, t.a from t left join u using (a) where u.a is null;
select u.a as x, t.a from t left join u using (a);
select distinct a from t full join u using (a) order by a nulls first;
select a from t full join u using (a) order by t.a nulls first, u.a nulls first, v;
select v from t full join u using (a) order by a nulls first, v;
select * from t full join u using (a) order by a nulls first, v;
select x.a, y.a as ya, a + 1 from t x right join u y using (a) where a > 1;
select t.*, v from t full join u using (a);
select u.*, b from t right join u using (a);
select a, count(*) from t full outer join u using (a) group by a;
select a, s from t full join u using (a, s) where a is not null;
select s, a from t full join u using (s, a) left join names n using (s);
select count(*) from (select * from t left join u using (a)) x;
select * from (select * from t full join u using (a)) x where x.a = 2;
select * from (select a from t full join u using (a)) x union all select a from u;
select * from t left join (select a, max(v) as m from u group by a) w using (a);
select * from (select a, b from t) l full join (select a, max(v) as m from u group by a) w using (a);
select b, (select count(*) from u) as n from t left join u using (a) where t.a = 1;
select a from t left join u using (a) left join names on n = v where a in (select a from u);
select a, u.s from t right outer join u using (a) group by a, u.s;
select a + t.b, t.b from t right join u using (a);
select max(a) from t full join u using (a) having max(a) > 1;
select coalesce(a, 0) as z, sum(v) over (partition by a) from t full join u using (a);
with w as (select * from t full join u using (a)) select count(*), sum(v) from w;

-- one column equals two of another table
select * from t join u on t.a = u.a and t.a = u.v;
select t.b, u.s from t, u where u.a = t.a and u.v = t.a;
select x.b, u.s from t x join u on x.a = u.a join t y on y.a = u.v and y.a = x.a;
select t.b from t join u on t.a = u.a and t.a = u.v where exists (select * from u w where w.v = t.a);

-- NULL equals NULL in one of several joins
select count(*) from t x join t y on x.a is not distinct from y.a cross join u;
select count(*) from t x join t y on x.a is not distinct from y.a join u on u.a = x.b or u.v > 2;
select x.a, u.s from t x join t y on x.a is not distinct from y.a, u where u.v = y.b or u.s is null;
select x.a, y.b, z.v from t x join t y on x.s is not distinct from y.s join u z on z.a is not distinct from y.a join u w on w.v > z.v;

-- SEMI and ANTI
select * from t semi join u on t.a = u.a;
select t.s from t anti join u on t.a = u.a and u.v > 2 where t.b > 10;
from t semi join u using (a);
select t.* from t anti join u using (a, s);
select t.a, x.v from t join u x on t.a = x.a semi join names n on n.n = x.v anti join u y on y.s = t.s and y.a = x.v;
select a, s, v from t left join u w using (a, s) semi join u using (a);

-- columns of inner joins by USING, whatever the tables are called
select * from u join t using (s);
select * from t x join u a using (s, a);
select * from names z join t y using (s) join u x using (s);
select y.*, z.n, s from names z inner join t y using (s) order by y.s;

-- USING in several queries of a text
select s from t right join u using (s) intersect all select s from u join t using (s, a);
select a from t full join u using (a) union all select a from t left join u using (a) order by a nulls first;
select u.a, x.a from t left join u using (a), (select u.a from u) x;
select t.b from t left join u using (a) where exists (select 1 from u where u.a = t.b / 10);
select t.b, (select max(u.v) from u where u.a = t.a) from t join u using (a);

-- constant conditions
select t.a, u.v from t full join u on t.a = u.a and false;
select t.a, u.v from t full join u on t.a = u.a and null and u.v > 1;
select * from t full join u on 1 = 2;
select t.a, u.v from t full join u on t.a < u.a and false;
select t.a from t semi join u on t.a = u.a and t.b > cast(null as int);
select t.a from t anti join u on t.a = u.a and t.b > cast(null as int);
select t.a, u.v from t left join u on t.a = u.a and u.v > cast(null as int);
select t.a, u.v from t right join u on t.a = u.a and u.v > cast(null as int);

-- NATURAL, and USING behind joins that keep rows of the right side
select a, s, v from t natural left join u;
select * from t natural left join u;
select a, s, count(*) from t natural full outer join u group by a, s;
select * from t natural left outer join u;
select t.a, u.a, a from t natural full join u;
select * from (select a from t) x full join u using (a) full join (select n as a, s as z from names) y using (a);
select a, v, b, n from t full join u using (a) full join (select n as a, n from names) y using (a);
select a, v, b, n from t left join u using (a) full join (select n as a, n from names) y using (a);
select a, v, b, n from t join u using (a) right join (select n as a, n from names) y using (a);
select a, t.a, u.a, y.a from t right join u using (a) left join (select n as a, n from names) y using (a);
select a, v, n from t right join u using (a) join (select n as a, n from names) y using (a);
select a, s from t full join u using (a, s);
select a, max(v) from t full join u using (a) where a > 1 group by a having a < 9;
select t.b, v from t natural join u;
select v from t natural full join names n2 natural join u;
select t.a from t anti join u on u.v > 4 and t.a > 0;
select t.a from t anti join u on 3 = u.v;
select t.a from t anti join u on null = u.v;
select t.a from t anti join u on t.a in (2, null) where t.b not in (select n from names);
select t.a, v from t join u on 1 = 2;
select t.a, v from t join u on null;
select t.a, v from t left join u on 1 = 2;
select t.a, v from t left join u on null and t.a = u.a;
select t.a, v from t right join u on false;
select t.a, v from t full join u on 1 = 0;
select t.a, v from t full join u on true;
select t.a from t semi join u on false;
select t.a from t anti join u on false;
select t.a from t anti join u on true;
select t.a, v from t join u on t.a = u.a and 1 = 1 and not false;
select t.a, v from t join u on t.a = u.a or false;
select t.a, v from t join u on t.a = u.a and (u.v > 1 or null);
select t.b a from t full join u using (a);

-- A query without a name, of a table beside it
select a, c from t join (select a, count(*) c from t group by a) using (a);
select t.a, c from t left join (select a, count(*) c from t where a > 1 group by a) using (a);
with n as (select a, s from t) select * from n join (select s, sum(a) k from n group by s) using (s);
with n as (select a, s from t), m as (select s from t) select * from n join (select s, sum(a) k from n group by s) using (s) join m using (s);
select * from (select 1 a, 2 b) full join (select 2 a, 3 c) using (a);
select * from t join (select a as x from t) on t.a = x;
select * from t join (select a from t) on true where b > 20;
