-- In FROM, beside a table
select a, x from lists, unnest(l) as w(x);
select a, x from lists, unnest(lists.l) as x;
select a, unnest from lists, unnest(l);
select q.a, w.x from lists as q, unnest(q.l) w(x);
select * from lists, unnest(lists.l) w(x);
select a, x from lists left join unnest(lists.l) w(x) on true;
select a, x from lists left join lateral unnest(lists.m) w(x) on true where a > 1;
select a, x from lists cross join unnest(l) as w(x) where x > 1;
select a, x from lists inner join unnest(l) as w(x) on true where w.x > 1 and lists.a < 4;
select a, x from lists cross join lateral unnest(m) as w(x) order by x;
select count(*), sum(a), count(x) from lists, unnest(l) w(x);
select x, y from lists, unnest(lists.l) as w(x), unnest(lists.m) as z(y);
select q.a, x, y from lists q, unnest(q.l) as w(x), unnest([w.x, w.x + 1]) as z(y);
select lists.a, x, v from lists join u on lists.a = u.a, unnest(lists.m) as w(x) where x <> 'y';
select x, v from lists, unnest(lists.l) w(x) join u on u.a = w.x;
select a, x from lists, unnest([a, a + 1]) as w(x);
select n, x from names, unnest(string_split(s, 'n')) w(x);
select a, x, sum(x) over (partition by a order by x) from lists, unnest(l) w(x);
select x, count(*) from lists, unnest(m) w(x) group by x having count(*) > 0;
select w.x, (select count(*) from u where u.a = w.x) n from lists as o, unnest(o.l) w(x);
select a, x from lists, lateral unnest(lists.l) w(x) union all select a, 0 from lists;
select a from lists where exists (select 1 from u where u.a = lists.a) and a in (select x from lists i, unnest(i.l) w(x));
select t.a, x from t left join lists on t.a = lists.a cross join unnest([t.a, t.b]) w(x);
select * from unnest([1, 2]) w(x), unnest(['p', 'q']) z(y);
-- In the select list
select a, unnest(l) from lists;
select unnest(m) from lists;
select a, unnest(l) + 1 as y from lists;
select a, unnest([a, 10]) as y from t where a > 1;
select unnest([1, 2, 3]);
select unnest(l) x, count(*) from lists group by 1;
select unnest(l) x, count(*), sum(a) from lists group by x;
select distinct unnest(m) from lists;
-- ordered
select a, unnest(l) x from lists order by x, a limit 2;
-- ordered
select a, unnest(l) x from lists order by a desc, x nulls first limit 3 offset 1;
select count(*) from (select unnest(l) from lists limit 3);
select count(*) from (select unnest(l) as x, a from lists);
select a from (select unnest(l) as x, a from lists);
select sum(x) from (select unnest([a, 10]) as x from lists);
select * from (select unnest(l) as x, a from lists) where a < 3 and x > 1;
select a from lists where a in (select unnest(l) from lists);
with e as (select a, unnest(l) as x from lists) select e1.a, e2.x from e e1 join e e2 using (x);
select x % 2 as k, max(x) from (select unnest(l) as x from lists) group by k;
select n, unnest(string_split(s, '_')) from names;
select a, case when unnest(l) > 1 then 'big' else 'small' end as size from lists;
select s, unnest(list(a order by a)) as a from t group by s;
-- Lists
select string_split('a,b,,c', ','), str_split('abc', 'x'), string_split(s, 'n')[1], len(string_split(s, 'n')) from names;
select [1, 2], [1, 2][2], len([1, 2, 3]), len(l), length(m), list_contains([1, 2], 2), list_contains([1, null], 2) from lists;
select a from t where list_contains([1, 3, null], a);
select a from lists except all select x from lists o cross join unnest(o.l) as w(x);
select a from t where a > 0 intersect all select b from t where (a, b) in ((1, 10), (2, 20));
select e.id, w.i from (select 1 as id, [1, 2] as items) e, unnest(e.items) as w(i);
select id, i from (select 1 as id, [1, 2] as items) as e, unnest(items) as w(i);
select id, i from (select 1 as id, [1, 2] as items) e left join unnest(e.items) as w(i) on true;
select e.id, w.i.sku, w.i.n as m from (select 1 as id, [{'sku': 'p', 'n': 2}, {'sku': 'q', 'n': 3}] as items) e, unnest(e.items) as w(i);
select q.id, i.sku from (select id, unnest(items) as i from (select 1 as id, [{'sku': 'p'}] as items)) q;
with e as (select a, l from lists) select f.a, w.i from e as f, unnest(f.l) as w(i) where w.i > 1;
-- ordered
select g, unnest(i) x from (select a % 2 g, list(v order by v desc) i from u group by g) order by g, x;
select g, count(x) from (select g, unnest(i) x from (select a % 2 g, list(v) i from u group by 1)) group by g;
select g, sum(x) from (select a % 2 g, list(v) i from u group by 1) t, unnest(t.i) w(x) group by g;
with y as (select a k, list(v) l from u group by a) select k, count(w.x) from y, unnest(y.l) w(x) group by k;
select k, count(*) from (select a k, unnest(list(v)) x from u group by a) group by k;
select x as c0, x as c1, count(*) from lists, unnest(lists.l) w(x) group by 1, 2;
