pivot t on s using sum(a);
pivot t on s using sum(a) group by bo;
-- ordered
pivot t on s using sum(a) group by bo order by bo;
pivot t on s, bo using count(*) group by a;
pivot t on s using sum(a) as total, count(*) as n group by bo;
pivot t on s using sum(b), max(f) group by bo;
pivot u on s;
pivot u on v % 2 using sum(v) group by s;
pivot (select s, a, v from u) on a using sum(v);
pivot u on s in ('x', 'none') using sum(v) group by a;
pivot u on a in (1, 2) using min(v), max(v);
pivot t on d using first(m) group by bo;
unpivot (select s, a, v from u) on a, v;
unpivot (select s, a, v from u) on a, v into name what value how_much order by all;
unpivot (select s, a, f from t) on columns(* exclude (s));
-- ordered
unpivot (select s, b, f from t) on b, f order by 1, 2, 3 limit 3;
