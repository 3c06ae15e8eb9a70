select a, sum(b) over () from t;
select a, row_number() over (order by a, b) from t;
select s, a, row_number() over (partition by s order by a) from t;
select s, a, rank() over (order by s), dense_rank() over (order by s) from t;
select s, a, sum(a) over (partition by s order by a) from t;
select a, sum(a) over (order by a rows between 1 preceding and current row) from t;
select a, avg(b) over (order by a rows between unbounded preceding and unbounded following) from t;
select a, count(*) over (partition by s), count(a) over () from t;
select a, lag(a) over (order by a), lead(a, 2) over (order by a), lag(a, 1, 0) over (order by a) from t;
select a, first_value(a) over (partition by s order by b), last_value(a) over (partition by s order by b) from t;
select a, nth_value(b, 2) over (order by a rows between unbounded preceding and unbounded following) from t;
select a, ntile(2) over (order by a) from t;
select a, percent_rank() over (order by a), cume_dist() over (order by a) from t;
select a, min(m) over (order by a), max(m) over (order by a desc nulls last) from t;
select v, sum(v) over (order by v range between 1 preceding and 1 following) from u;
select s, a from t qualify row_number() over (partition by s order by a desc) = 1;
select s, n, sum(n) over (order by s) from (select s, count(*) as n from t group by s);
select s, count(*) as n, sum(count(*)) over (order by s) from t group by s;
select s, sum(a) * 100.0 / sum(sum(a)) over () as share from t group by s;
select * from (select s, a, row_number() over (partition by s order by a) as r from t) where r = 1;
select a, sum(a) over w, avg(a) over w from t window w as (partition by s order by a);
select a, a - lag(a) over (order by a) as step from t;
select t.s, u.v, rank() over (partition by t.s order by u.v) from t join u on t.a = u.a;
select sum(b) over (partition by s, bo) from t;
select bool_or(bo) over (partition by s) from t;

-- RANGE over values of all kinds
select m, sum(b) over (order by m range between 1 preceding and 2 following) x, count(*) over (order by m desc range 1 preceding) y from t;
select f, count(*) over (order by f range between 1 following and unbounded following) x, max(a) over (order by f range between 2 preceding and 1 preceding) y from t;
select f, min(b) over (order by f desc range between unbounded preceding and 1 following) x, count(*) over (order by f nulls first range between 0 preceding and current row) y from t;
select a, sum(b) over (order by a range between 1 preceding and 1 following) x, sum(b) over (order by a range 2 preceding) y, first_value(a) over (order by a desc range between current row and 1 following) z from t;
select a, sum(b) over (order by f range between unbounded preceding and unbounded following) x, sum(a) over (order by m range between 1 preceding and current row) y, count(*) over (order by f rows between 1 preceding and 1 following) z from t;
-- Conditions, NULLs that do not count, distances of time
select sum(b) filter (where a > 1) over (order by d) as x, count(*) filter (where a > 1) over (partition by s) as y from t;
select s, sum(a) filter (where b > 10 and bo) over (partition by s order by d) x, avg(b + 1) filter (where s = 'x') over () y, count(a) filter (where a > 1) over (order by d rows 1 preceding) z from t;
select sum(a) filter (where a > 1) over w, min(b) filter (where b > 10) over w from t window w as (order by d);
select a, last_value(b ignore nulls) over (order by d) x, first_value(b) over (order by d desc) y, lag(a ignore nulls) over (order by d) z, lead(b, 2 ignore nulls) over (order by d) w from t;
select a, nth_value(b, 2 ignore nulls) over (order by d rows between unbounded preceding and unbounded following) x, first_value(s respect nulls) over (order by d) y from t;
select d, count(*) over (order by d range between interval '1 day' preceding and interval '1 day' following) as x, max(a) over (order by d range interval 2 day preceding) as y from t;
select ts, count(*) over (order by ts range between interval '7 hours' preceding and current row) as n from events where ts is not null;
select ts, count(*) over (order by ts range between interval '8 hours 30 minutes' preceding and interval '1' second preceding) as n from events where ts is not null;
select any_value(a) over (partition by s) is not null as x from t where a is not null;
select a, sum(b) over (order by s groups between 1 preceding and current row) from t;
select a, count(*) over (order by s groups between current row and 1 following), max(b) over (order by s groups 1 preceding) from t;
select a, count(*) over (order by s groups between unbounded preceding and 1 preceding) from t;
select a, stddev(b) over (), var_pop(b) over (partition by s order by d), stddev_pop(m) over (order by d rows 1 preceding) from t;
select a, corr(a, v) over (order by v rows 2 preceding), regr_slope(v, a) over () from u;
select a, median(b) over (partition by s), quantile_cont(b, 0.25) over () from t;
select a, quantile_disc(b, 0.5) over (), mode(s) over (), bit_or(b) over (partition by s), product(a) over () from t;
select a, count(distinct s) over (), count(distinct s) filter (where a > 1) over (partition by bo) from t;
select a, list(b order by d desc) over (partition by s), string_agg(s, '-' order by d) over () from t;
select a, list(a) over (order by v rows between unbounded preceding and unbounded following) from u;
select v, arg_max(s, v) over (partition by a), max_by(v, s) over () from u;
select s, sum(b), median(sum(b)) over () from t group by s;
select a from t qualify b >= median(b) over ();
select a, b - median(b) over (partition by s) + row_number() over (order by d) from t;
select a, sum(b) over (order by d rows between 1 preceding and 1 following exclude no others) from t;
select a, sum(b) over (w rows between 1 preceding and current row) from t window w as (partition by bo order by d);
select a, sum(b) over v, count(*) over (w) from t window w as (partition by bo), v as (w order by d);
select a, median(b) over (partition by s order by d range between unbounded preceding and unbounded following) from t;
select a, median(b) over (rows between unbounded preceding and unbounded following) from t;
select a, median(b) over (partition by s), bit_or(b) over (partition by bo), count(distinct s) over (partition by a), median(m) over () from t;
select a, min(distinct b) over (partition by s), string_agg(s, '-' order by d) filter (where a > 1) over (partition by bo) from t;
select a as following, s preceding from t where a > 1;

-- Functions of all values of a frame
select d, median(a) over (order by d rows between 2 preceding and current row) x, quantile_cont(b, 0.4) over (order by d rows 1 preceding) y from t;
select d, list(a) over (order by d rows between 1 preceding and current row) x, list(b) over (partition by bo order by d) y, string_agg(s, ',') over (order by d) z from t;
select d, count(distinct s) over (order by d) x, count(distinct s) over (partition by bo order by d rows between 1 preceding and 1 following) y from t;
select v, count(distinct s) over (order by a) x, median(v) over (partition by a order by v) y, sum(v) over (order by v) z, median(v) over () w from u;
select v, quantile_cont(v, 0.25) over (order by a groups between 1 preceding and 1 following) x, median(v) over (order by v range between 2 preceding and 1 preceding) y from u;
select d, list(a) over (order by d rows between 3 following and 4 following) x, count(distinct a) over (order by d rows between 3 following and 4 following) y from t;
select d, median(b) over (order by d range between interval '2 days' preceding and current row) x from t;
select d from t qualify median(b) over (order by d rows 1 preceding) > 15;
select d, median(b) filter (where a > 1) over (order by d rows 2 preceding) x, median(b + a) over (order by s, d desc rows between 1 preceding and unbounded following) y from t;
select s, n, median(n) over (order by n) m from (select s, count(*) n from t group by s);
select a, kurtosis_pop(b) over (order by a rows between 2 preceding and 2 following exclude current row) x, mad(a) filter (a > 1) over (order by a) y from t;
select a, mad(b) over w x, skewness(b) over w y, histogram(s) filter (a > 1) over w z from t window w as (partition by s);
select d, quantile_disc(a, 0.5) over (order by d) x, quantile_disc(s, 0.9) over (order by d rows 2 preceding) y, quantile_disc(m, 0.1) over (partition by bo order by d) z from t;
select d, mode(a) over (order by d rows between current row and current row) x, product(a) over (order by d rows 1 preceding) y, bit_xor(b) over (order by d) z from t;
select v, count(distinct s) over w x, list(v) over w y, median(v) over (w rows 1 preceding) z from u window w as (order by v);
select v, string_agg(s, '') over (order by v rows between 2 preceding and 1 preceding) x from u;
select a, list(l) over (order by a, l is null, m is null rows 1 preceding) x from lists where l is not null and a <> 2;
select f, count(distinct f) over (order by f) x, median(f) over (order by f nulls first rows 1 preceding) y from t where f < 10 or f is null;
select median(a) over (order by d) x, list(a) over (order by d) y, count(distinct a) over (order by d) z, string_agg(s) over (order by d) w from t where a > 100;
select s, median(count(*)) over (order by s) x, count(distinct count(*)) over (order by s rows 1 preceding) y from t group by s;
select d, count(distinct null) over (order by d) x, list(null) over (order by d) y from t;
select v, quantile_disc(v, 0.6) over (order by v rows between unbounded preceding and unbounded following) x, quantile_disc(s, 0.3) over (partition by a order by v range between unbounded preceding and unbounded following exclude no others) y from u;
select i, median(f) over (order by i rows 1 preceding) x, quantile_cont(f, 0.3) over (order by i rows 2 preceding) y from (values (1, '-inf'::double), (2, 1), (3, '-inf'), (4, '-inf'), (5, 'inf'), (6, 'nan'), (7, 2)) s(i, f);

-- EXCLUDE
select d, sum(a) over (order by d rows between 2 preceding and current row exclude current row) x, count(*) over (order by d rows between 1 preceding and 1 following exclude current row) y, avg(b) over (rows between unbounded preceding and unbounded following exclude current row) z from t;
select v, sum(v) over (order by a groups between 1 preceding and current row exclude group) x, count(*) over (order by a range between unbounded preceding and current row exclude ties) y, max(v) over (order by a groups between 1 preceding and 1 following exclude ties) z from u;
select v, median(v) over (order by a groups between 1 preceding and 1 following exclude ties) x, count(distinct s) over (order by v rows between 2 preceding and current row exclude current row) y, string_agg(s, '') over (order by v rows between 1 preceding and 1 following exclude current row) z from u;
select v, first_value(v) over (order by v rows between unbounded preceding and current row exclude current row) x, last_value(v) over (order by v rows between 1 preceding and current row exclude current row) y, nth_value(v, 2) over (order by v rows between 1 preceding and 2 following exclude group) z from u;
select v, sum(v) over w x from u window w as (order by v rows between unbounded preceding and unbounded following exclude current row);
select v, sum(v) over (order by a rows between unbounded preceding and unbounded following exclude no others) x, stddev(v) over (order by v rows between 3 preceding and 3 following exclude current row) y from u;
select d, b - avg(b) over (partition by bo order by d rows between unbounded preceding and unbounded following exclude current row) x from t;

-- Ranges of months and of decimals
select d, count(*) over (order by d range between interval '1 month' preceding and current row) x, sum(a) over (order by d desc range between interval '1' year preceding and interval 1 month preceding) y from t;
select ts, count(*) over (order by ts range between interval '1 month' preceding and interval '1 month' following) x from events;
select x, count(*) over (order by x range between interval '1 month' preceding and current row) y, count(*) over (order by x range between interval '3 months' preceding and interval '1 month' preceding) z from generate_series(timestamp '2024-01-01', timestamp '2024-07-01', interval '13 hours') s(x);
select f, count(*) over (order by f range between 1.5 preceding and 0.5 following) x, sum(a) over (order by m range between 1.25 preceding and current row) y from t;

-- In the order of nothing
select a, rank() over (order by 3), dense_rank() over (partition by s), percent_rank() over (order by 'x'), cume_dist() over () from t;
select a, rank() over (partition by s order by 1, a) from t;
select a, count(l) over (partition by a), count(m) over (order by a) from lists;
select a, sum(distinct b) over (partition by s), avg(distinct m) over (), sum(distinct m) over () from t;
select v, sum(distinct a) over (order by v), avg(distinct a) over (order by v rows 2 preceding), sum(distinct a) filter (where v > 2) over (partition by s) from u;
select sum(distinct a) over (), avg(distinct a) over (order by a) from t where a > 100;
select a, mode(s order by v) over (partition by a), mode(s order by s desc) over () from u;
