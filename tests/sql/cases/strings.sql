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
select s, s ~ 'n', s !~ '^a', s ~ '(?i)ANN' from names;
select s from names where s similar to '[a-c].*' or s not similar to '.*n+';
select s from names where not s similar to 'a.*';
select regexp_matches(s, 'N', 'i'), regexp_matches(s, '^.nn$'), regexp_matches(s, 'a.b', 'l') from names;
select regexp_full_match(s, 'an*'), regexp_full_match(s, 'AN*', 'i'), regexp_full_match(s, 'ann|bob') from names;
select regexp_replace(s, 'n', 'm'), regexp_replace(s, '(.)n', '<\1>', 'g'), regexp_replace(s, 'N', '-', 'gi') from names;
select regexp_extract(s, '[a-n]+'), regexp_extract(s, '(.)(.)', 2), regexp_extract(s, '(N)', 1, 'i') from names;
select regexp_extract('abc-12', '([a-z]+)-(\d+)', 2), regexp_matches('abc', 'b'), regexp_full_match('abc', 'b');
select regexp_extract(s, '^(.)', 1) as k, count(*) from names group by k having regexp_matches(k, '[a-z]');
select strpos(s, 'n'), instr(s, 'an'), position('b' in s), strpos(s, substr(s, 2)), strpos(s, '') from names;
select reverse(s), repeat(s, 2), repeat(s, n), repeat('ab', 3) from names;
select split_part(s, 'n', 1), split_part(s, '_', -1), split_part('a,b,c', ',', 2), split_part(s, 'n', n) from names;
select ltrim(s, 'a'), rtrim(s, 'nb'), ltrim('  x '), rtrim(' x  '), trim(leading 'a' from s) from names;
select ascii(s), chr((n + 64)::int), chr(233) from names;
select hex(n), hex(-n), to_hex(255), hex(n * 1000) from names;
select concat_ws('-', s, n, s), concat_ws(', ', s, null, 'x'), concat_ws('', s, s), concat_ws('-', s) from names;
select left(s, n::int), right(s, n::int - 1), left(s, -1), right(s, -2), left(s, 2 - n::int), right(s, 2 - n::int) from names;
select substr(s, n::int), substring(s, n::int - 1, 2), substring(s, 2, n::int - 2), substr(s, 1, length(s) - 1) from names where n > 1;
select substr(s, n::int - 4), substring(s, n::int - 4, 2), substring(s, -2, n::int), substr(s, 0, n::int) from names;
select lpad(s, n::int, '*'), rpad(s, n::int * 2, 'ü') from names;
select replace(s, left(s, 1), 'x'), replace(s, 'n', s), replace(s, right(s, 1), left(s, 1)) from names;
select starts_with(s, left(s, 1)), ends_with(s, right(s, 2)), contains(s, substr(s, 2)), contains(s, s || 'x') from names;
select starts_with('annabel', s), ends_with('a_b', s), contains('ann and bob', s) from names;

-- from the end
select substr(s, -2), substr(s, -1), substring(s, -3, 2), substring(s, -9, 8), substr(s, 0, 2) from names;
select strlen(s), length(s) from names;
select regexp_escape('é a-b_c.$~');
select regexp_extract_all(s, '[a-z]'), regexp_extract_all(s, 'n+'), regexp_extract_all(s, 'N', 0, 'i') from names;
select regexp_extract_all('abc', 'x*'), regexp_extract_all('', 'x*'), regexp_extract_all(null, 'x'), regexp_extract_all('a', null);
select regexp_split_to_array('hello world; 42', ';? '), string_split_regex(s, '[n_]'), string_split_regex(s, 'N', 'i') from names;
select regexp_extract_all('a1b22c333', '[a-z](\d+)', 1), unnest(regexp_extract_all(s, '.')) from names;

-- brackets behind strings
select s[2:3], s[-2:], s[:2], s[2:], s[0:2], s[-9:2], s[3:2], s[1:-2], s[2:99], s[:-2], s[-4:-2], s[:] from names;
select s[1], s[-1], s[0], s[9], s[-9], s[null], s[n], s[n:n + 1], s[null:2] from names;
select upper(s)[1:2] || '!', (s || 'd')[2:3], (s[1:3])[2:3], s[2:][1], 'hello'[2] from names where s[1] <> 'z';
select string_split(s, 'n')[1], string_split(s, 'n')[1][1:2], [s][1][1], map {'a': s}['a'][1:2] from names;
select m[1][1], l[1:1], m[:], array_to_string(m, '')[1:2], {'x': 'ab'}['x'] from lists;
-- ordered
select s[1], count(*) from names group by s[1] order by s[1];

-- values in templates
select format('{} is {}', s, n), printf('%d-%s|%5s|%-5s|', n, s, s, s), format('{:>4}|{:<4}|{:^4}|{:4}', s, s, s, n), format('{1}{0}', s, n) from names;
select format('{:,.2f} {:.1f} {:8.3f}|', m * 1000, m, nullif(f, 1e300)), printf('%+d %05d %,d % d %x', a, b, b * 1000, a, b), format('{} {} {}', d, bo, m), printf('%e %g', f, f) from t;
select format('{{}} {:03d}', 7), printf('100%% %.3s', 'abcdef'), format('plain'), format(''), format('{}', null), format('{}', format('{:.1f}', 2.25)), format('{:,}', 12345678901234567890::hugeint);
select s, printf('%s: %d', s, count(*)) x from t group by s having format('{:02d}', count(*)) = '01' order by format('{}', s);
