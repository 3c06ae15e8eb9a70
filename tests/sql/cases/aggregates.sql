select count(*), count(a), count(b), count(s) from t;
select sum(a), sum(b), sum(m), sum(f) from t where f = f or f is null;
select avg(a), avg(b), avg(m), avg(f) from t where f < 100;
select min(a), max(a), min(m), max(m), min(s), max(s), min(d), max(d) from t;
select stddev(a), var_samp(a), stddev_pop(b), var_pop(b), variance(b) from t;
select count(distinct a), count(distinct s), count(distinct b) from t;
select bool_and(bo), bool_or(bo) from t;
select any_value(s) from t where s = 'x';
select s, count(*), sum(a), avg(m) from t group by s;
select s, bo, count(*) from t group by s, bo;
select a + b as k, count(*) from t group by a + b;
select a + b as k, count(*) from t group by k;
select s, count(*) from t group by 1 order by 1;
select s, sum(a) filter (where b > 10), count(*) filter (where bo) from t group by s;
select sum(a) filter (where a > 100), count(a) filter (where a > 100) from t;
select s, count(*) as n from t group by s having count(*) > 1;
select s, sum(a) as total from t group by s having sum(a) > 1 and count(*) < 3 order by total desc;
select s from t group by s having max(b) > 20;
select s from t group by s;
select count(*) from t where a > 100;
select sum(a), min(a), max(a), avg(a) from t where a > 100;
select s, sum(a) from t where a > 100 group by s;
select sum(a) + sum(b), sum(a + b), sum(a) * 2, sum(a * 2) from t;
select sum(a) / count(a), avg(a) from t;
select s, sum(case when bo then a else 0 end), sum(case when bo then 1 end) from t group by s;
select sum(m * (1 - 0.1)), sum(m * m), avg(m + 1) from t;
select count(*), s from t group by s order by count(*) desc, s;
select distinct s from t;
select distinct s, bo from t;
select distinct a + b from t;
select distinct s from t order by s;
select count(*) from (select distinct s, bo from t);
select max(length(s)), min(upper(s)) from t;
select s, max(a) - min(a) from t group by s;
select s, min(d) as first_day, max(d) as last_day from t group by s order by first_day;
select sum(1), count(1), count(null) from t;
select max(a), max(a) + 1 from t;
select count(*) + 1 from t;
select sum(b) from t having sum(b) > 1000;
select sum(b) from t having sum(b) > 10;
select coalesce(sum(a), 0) from t where a > 100;
select s, count(distinct a) from t group by s;
select bo, avg(a), avg(b) from t group by bo order by bo nulls first;
select min(bo), max(bo) from t;
select mean(a) from t;
select s, a, count(*) from t group by all;
select sum(distinct a) from t;

-- rows in an order
select string_agg(s, ',' order by a desc) from t;
select string_agg(s, ',' order by a) filter (where a < 4) from t;
-- ordered
select b % 20 as k, string_agg(s, '|' order by s desc) as x, count(*) from t group by k order by k;
select string_agg(s, ', ' order by s, a desc) as x, string_agg(s, ',' order by b) as y from t;
-- ordered
select s, string_agg(cast(a as varchar), '/' order by a) as l from t group by s having string_agg(cast(a as varchar), '/' order by a) <> '' order by 1;
select group_concat(s, ',' order by s), listagg(s, '' order by s) from t;
select s, first(a order by b), string_agg(s, '' order by a) from t group by rollup(s) order by 1;
select first(a order by b desc nulls last), last(a order by b nulls last) from t;
select s, first(b order by a desc nulls last) as f, last(b order by a nulls first) as l from t group by s;
select first(s order by a desc nulls first) filter (where b > 10) from t;
select s, last(a order by b) filter (where b > 10) from t group by s;
select first(s) from (select s from t where a is null);

-- DISTINCT ON
-- ordered
select distinct on (s) s, a, b from t order by s, a desc;
-- ordered
select distinct on (s) s, a, b from t order by s nulls first, a desc nulls first;
select distinct on (a % 2, s) a, b + 1 as z, m from t order by a % 2, s, b desc;
select distinct on (s) * from t order by s, b;
select count(*) from (select distinct on (s) s, a from t order by s, a) x where a > 1;
select max(v) from (select distinct on (s) s, v from u order by s, v);
-- ordered
select distinct on (t.s) t.s, v from t join u using (a) order by t.s, v desc limit 2;

-- NULL is not counted
select count(null), count(1), count('x') from t;
select s, count(cast(null as varchar)), count(cast(null as int)) filter (where a > 1) from t group by s;
select count(cast(null as int)) over (), count(cast(null as varchar)) over (partition by s order by a), count(1) over (order by a) from t;

-- Of pairs, of bits, and the most frequent value
select mode(s), product(a), bit_and(a), bit_or(b), bit_xor(a) from t;
select s, mode(b), product(a), bit_and(b), bit_or(a), bit_xor(a) from t group by s;
select s, count_if(coalesce(b, 0) > 1), count(case when b > 1 then a end), count(case when a > 1 then 1 end), sum(case when a > 1 then b end), max(case when b is null then s end), min(case when a > 1 then b else null end) from t group by s;
select s, arg_max(a, 2), arg_min(a, -1), arg_max(a, null), arg_max(a, 1.5), arg_min(b, 'x'), max_by(2, a) from (select * from t order by d) group by s;
select corr(a, b), covar_pop(a, b), covar_samp(a, b), regr_slope(a, b), regr_intercept(a, b), regr_r2(a, b), regr_count(a, b), regr_avgx(a, b), regr_avgy(a, b), regr_sxx(a, b), regr_syy(a, b), regr_sxy(a, b) from t;
select s, corr(a, b), covar_pop(a, b), covar_samp(a, b), regr_slope(a, b), regr_intercept(a, b), regr_r2(a, b), regr_count(a, b) from t group by s;
select corr(a, m), covar_samp(a * 2 + 1, m), regr_slope(b, a) + 1 from t where a > 1;
select covar_pop(a, b) filter (where a > 1), corr(a, b) from t where a > 100;
select s, grouping(s), corr(a, b), sum(a), bit_or(a) from t group by rollup (s);
select round(corr(a, b), 3) + count(*), max(a) from t;
select s, mode(a) as mo from t where a <> 3 group by s having mode(a) > 1;
select mode(a + 1), mode(d), mode(bo), mode(v) from t join u using (a) where a = 1;
select corr(v, v * v), regr_slope(v, v + 1e9), covar_samp(v + 1e9, v) from u;
-- Lists of several columns, in the order of the rows
select list(a) filter (where a > 0) x, list(b) filter (where b > 0) y from t;
select list(a) x, list(b) y, list(d) z, count(*) from t;
-- Of distinct values, beside others
select sum(distinct a), count(distinct b), avg(distinct a), sum(a) from t;
select s, sum(distinct a), avg(distinct b), count(*) from t group by s;
select s, string_agg(distinct s, ',' order by s), list(distinct a order by a desc), sum(distinct a) filter (where a > 1) from t group by s;
select a, sum(distinct v), sum(v) from u group by a;
select sum(distinct a), min(a) from t where a > 100;
select s, sum(distinct a) x from t group by s having sum(distinct a) > 2;
select sum(distinct a % 2), stddev(distinct a), median(distinct a) from t;
select b, s, sum(distinct a), max(a) from t group by b, s;
select median(a), median(f), median(m), quantile_cont(b, 0.1), percentile_cont(0.9) within group (order by a desc) from t where f < 100 or f is null;
select median(i), quantile_cont(i, 0.123), count(*) from (select i * i % 1009 as i from range(1000) r(i));
select median(f), quantile_cont(f, 0.2), median(-f), median(f) filter (where f < 0) from (values ('-inf'::double), (1), ('-inf'), (3)) s(f);
select k, median(i) from (select i % 7 as k, i * i % 1009 as i from range(1000) r(i)) group by k;
select count_if(bo), countif(a > 2), count_if(a > 100) from t;
select s, count_if(bo) c from t group by s having count_if(bo) > 0;
select a, count_if(bo) over (order by a) from t where a is not null;
select string_agg(s, ',' order by 2, a desc), first(a order by 1, a desc), list(a order by 3 desc, a nulls first), last(a order by -1, a), group_concat(s order by 2, d) from t;
select a in (select a from t where a > 1 order by 1 limit 2), exists (select a from t order by 1) from u where a < 9;
select group_concat(s order by a), string_agg(s order by a desc), listagg(s, '+' order by a), string_agg(s order by a) filter (where a > 1) from t;
select a, count_if(v > 2) from u where s is not null group by a;

-- Rows
select count(distinct (a, s)) from t;
select s, count(distinct (a % 2, b)), count(distinct a), sum(distinct a) from t group by s;
select s, count(distinct (a, b)) filter (where a > 2) from t group by s;
select count(distinct (a, null)), count(distinct (b, b)) from t where a > 100;
select s, arg_max(a, (b, -a)), arg_min(a, (bo, a)), max_by(d, (m > 1, -a)) from t group by s;
select s, skewness(a), kurtosis(b), kurtosis_pop(m), sem(a), geomean(abs(a) + 1), fsum(a) from t group by s;
select skewness(a), kurtosis(a), kurtosis_pop(a), mad(a), sem(a), entropy(a), histogram(a) from t where a > 100;
select s, histogram(a), entropy(b), mad(b) filter (where a > 1), histogram(s) from t group by s;
select s, a, skewness(a) over (partition by s) as x, entropy(b) over (partition by s) as y from t;
select skewness(m + 1e9), kurtosis(m + 1e6), entropy(s) from t;
select s, skewness(distinct a), mad(distinct a), entropy(distinct b), histogram(distinct a) from t group by s;
select s, histogram(distinct a) filter (where a > 1), kurtosis_pop(distinct a) filter (where a > 1) from t group by s;
select quantile_disc(distinct a, 0.5), product(distinct a), s, entropy(distinct a) filter (where a > 100) from t group by s;
select entropy(s) + 1, round(entropy(s), 3), mad(a) / 2, skewness(a) > 0.1, cardinality(histogram(s)) from t;
select s, entropy(bo), histogram(bo), histogram(m), histogram(d), entropy(d) from t group by s;
select entropy(x), histogram(x), mad(x) from (values (1.5::double), (-0.0::double), (0.0::double), (null)) u(x);
select skewness(x), kurtosis(x), kurtosis_pop(x) from (values (0.1::double), (0.1), (0.1), (0.1)) u(x);
select mad(x) from (values (1::double), ('nan'::double), (4::double), ('inf'::double)) u(x);
select s, a, skewness(m) over (partition by s order by a rows 3 preceding) x, kurtosis(a) over (order by a) y, kurtosis_pop(m) over () z from t;
select s, a, entropy(s) over (order by a rows 3 preceding) x, mad(a) over (order by a) y, histogram(s) over (order by a rows 2 preceding) z from t;
select a, mad(a) over (partition by s) x, histogram(s) over () y, entropy(b) filter (where a > 1) over (partition by s) z from t;
select s, skewness(a), entropy(a), histogram(s) filter (a > 1) from t group by grouping sets ((s), ());
select s from (select s, histogram(a) as h from t group by s) q where cardinality(h) > 1;
select s from t group by s having entropy(a) > 0.5 or mad(a) > 1;
select s, count_if(a > 1), count_if(a > 1) over (partition by s) from t group by s, a;
select count_if(a > 1), count_if(null) from t where a > 100;
select mode(s order by v), mode(s order by s desc), mode(v order by a desc, v), product(a order by v) from u;
select a, mode(s order by v desc) filter (where v > 1) from u group by a;
select mode() within group (order by s), mode() within group (order by v desc) filter (where v < 4) from u;
select mode(s order by v) from u where v > 100;
