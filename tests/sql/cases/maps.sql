-- Of constants
select map {'a': 1, 'b': 2}, map(['x', 'y'], [1, null]), map {1: 'p', 2: 'q'};
select map {'a': 1, 'b': 2}['a'], map {'a': 1}['z'], cardinality(map(['x'], [1]));
select map_keys(map {'a': 1}), map_values(map {'a': 1}), map_entries(map {'a': 1, 'b': null});
select map_extract(map {'a': 1}, 'a'), element_at(map {'a': 1}, 'b'), map {'a': [1, 2]}['a'][2];
-- Of columns
select map {'a': a, 'b': b} from t;
select a, map {'a': a, 's': b}['s'], map {a: s}[2] from t where a is not null;
select map {1: 'one', 2: 'two'}[a] from t;
select cardinality(m), map_keys(m), map_values(m), m['b'] from (select map {'a': a, 'b': b} m from t);
select map_extract(m, 'b'), element_at(m, 'q') from (select map {'a': a, 'b': b} m from t);
select sum(k['a']) from (select map {'a': a} k from t where a > 1) where k['a'] < 4;
select map(m, m) from lists where m is not null;
select unnest(map_keys(map {'a': a, 'b': b})) k, unnest(map_values(map {'a': a, 'b': b})) v from t;
select k['x'] v, count(*) from (select map {'x': s} k from t) group by v;
