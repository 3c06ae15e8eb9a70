select s, upper(s), lower(upper(s)), length(s), len(s) from t;
select s || 'x', 'x' || s || 'y', concat(s, 'x'), concat(s, '-', s) from t;
select substring(s, 1, 1), substring(s from 2), substr(s, 1, 2), substring('abcdef', 2, 3) from t;
select substring(s from 1 for 2), left(s, 1), right(s, 1) from names;
select s like 'x%', s like '%a', s like '_nn', s not like 'x%', s ilike 'A%' from names;
select s like 'a!%b' escape '!', 'a%b' like 'a!%b' escape '!' from names;
select replace(s, 'a', 'b'), replace(s, 'nn', '') from names;
select trim('  x '), trim(s), length(trim('  ab ')) from names;
select lpad(s, 5, '*'), rpad(s, 5, '*'), lpad(s, 2, '*') from names;
select starts_with(s, 'a'), ends_with(s, 'a'), contains(s, 'n') from names;
select prefix(s, 'a'), suffix(s, 'b') from names;
select s from names where s > 'b' order by s;
select s from names where s between 'a' and 'c' order by s;
select s from names where upper(s) = 'ANN';
select s from names where length(s) > 3 order by s desc;
select min(s), max(s), count(s), count(distinct s) from names;
select s, count(*) from names group by s;
select upper(left(s, 1)) as initial, count(*) from names group by 1 order by 1;
select coalesce(nullif(s, ''), 'empty') from names;
select s from names where s = '';
select s from names where s in ('ann', 'bob', 'none');
select case when s like 'a%' then 'A' when s like 'b%' then 'B' else '?' end as k, count(*) from names group by k;
select s || cast(n as varchar) from names;
select lower(s) = 'élan', length(s) from names where s like '%lan';
select s from names where s like '%\_%' escape '\';

-- from the end
select substr(s, -2), substr(s, -1), substring(s, -3, 2), substring(s, -9, 8), substr(s, 0, 2) from names;
