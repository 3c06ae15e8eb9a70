// Values are drawn from a pool per type, so that equal keys are frequent.
#include "table/order_columns.hpp"

#include <cmath>
#include <functional>
#include <limits>

namespace crossdock::arrow_test {
namespace {

// How many rows, how many of them null, and where chance comes from.
struct Draw {
  int64_t rows;
  double nulls;
  Random& random;
};

template <class Value>
struct Drawn {
  Optionals<Value> values;
  std::vector<std::optional<PlainKey>> keys;
};

template <class Value>
Drawn<Value> draw(const std::vector<Value>& pool,
                  const Draw& how,
                  const std::function<PlainKey(const Value&)>& key) {
  Drawn<Value> drawn;
  std::bernoulli_distribution null(how.nulls);
  for (int64_t i = 0; i < how.rows; ++i) {
    if (null(how.random)) {
      drawn.values.push_back(std::nullopt);
      drawn.keys.push_back(std::nullopt);
      continue;
    }
    const Value& value = pool[how.random() % pool.size()];
    drawn.values.push_back(value);
    drawn.keys.push_back(key(value));
  }
  return drawn;
}

template <class Value>
PlainKey number_key(const Value& value) {
  return {.number = static_cast<Int128>(value)};
}

template <class Value>
OrderedColumn integers(const std::string& format, const Draw& how) {
  using Limits = std::numeric_limits<Value>;
  std::vector<Value> pool = {0, 1, Limits::min(), Limits::max(), static_cast<Value>(-1)};
  for (int i = 0; i < 40; ++i) pool.push_back(static_cast<Value>(how.random()));
  auto drawn = draw<Value>(pool, how, number_key<Value>);
  return {format, fixed<Value>(format, drawn.values), std::move(drawn.keys)};
}

OrderedColumn narrow_integers(const Draw& how) {
  std::vector<int64_t> pool;
  for (int64_t i = 0; i < 90; ++i) pool.push_back(1'000'000'000'000 + i * 3);
  auto drawn = draw<int64_t>(pool, how, number_key<int64_t>);
  return {"narrow", fixed<int64_t>("l", drawn.values), std::move(drawn.keys)};
}

template <class Value>
OrderedColumn floats(const std::string& format, const Draw& how) {
  using Limits = std::numeric_limits<Value>;
  std::vector<Value> pool = {0,
                             -Value{0},
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::quiet_NaN(),
                             -Limits::quiet_NaN(),
                             Limits::denorm_min(),
                             Limits::lowest(),
                             Limits::max()};
  for (int i = 0; i < 40; ++i) {
    pool.push_back(static_cast<Value>(static_cast<int64_t>(how.random())) / Value(1 << (i % 30)));
  }
  auto drawn = draw<Value>(
      pool, how, [](const Value& value) { return PlainKey{.real = static_cast<double>(value)}; });
  return {format, fixed<Value>(format, drawn.values), std::move(drawn.keys)};
}

OrderedColumn halves(const Draw& how) {
  // Bits and values of some float16s: 1, -1, 2, infinity, NaN, 0, -0, the smallest.
  const std::vector<std::pair<uint16_t, double>> known = {{0x3C00, 1},
                                                          {0xBC00, -1},
                                                          {0x4000, 2},
                                                          {0x7C00, HUGE_VAL},
                                                          {0x7E00, std::nan("")},
                                                          {0, 0},
                                                          {0x8000, 0},
                                                          {1, std::ldexp(1.0, -24)}};
  auto drawn = draw<std::pair<uint16_t, double>>(
      known, how, [](const auto& half) { return PlainKey{.real = half.second}; });
  Optionals<uint16_t> bits;
  for (const auto& value : drawn.values) {
    bits.push_back(value ? std::optional<uint16_t>(value->first) : std::nullopt);
  }
  return {"e", fixed<uint16_t>("e", bits), std::move(drawn.keys)};
}

OrderedColumn decimals(bool wide, const Draw& how) {
  std::vector<Int128> pool = {0, 1, -1};
  Int128 extreme = 1;
  for (int i = 0; i < (wide ? 37 : 12); ++i) extreme *= 10;
  for (int i = 0; i < 40; ++i) {
    const Int128 value = static_cast<Int128>(how.random()) * static_cast<int64_t>(how.random());
    pool.push_back(value % extreme);
  }
  pool.push_back(extreme);
  pool.push_back(-extreme);
  auto drawn = draw<Int128>(pool, how, number_key<Int128>);
  return {wide ? "wide decimal" : "decimal",
          fixed<Int128>("d:38,4", drawn.values),
          std::move(drawn.keys)};
}

OrderedColumn booleans(const Draw& how) {
  Optionals<bool> values;
  OrderedColumn column{"b", {}, {}};
  std::bernoulli_distribution null(how.nulls);
  for (int64_t i = 0; i < how.rows; ++i) {
    const bool value = (how.random() & 1) != 0;
    const bool is_null = null(how.random);
    values.push_back(is_null ? std::nullopt : std::optional<bool>(value));
    column.keys.push_back(is_null ? std::nullopt
                                  : std::optional<PlainKey>(PlainKey{.number = value ? 1 : 0}));
  }
  column.array = bools(values);
  return column;
}

PlainKey text_key(const std::string& value) { return {.text = value}; }

std::vector<std::string> text_pool(const std::string& prefix, int64_t bytes, Random& random) {
  std::vector<std::string> pool = {prefix};
  for (int i = 0; i < 60; ++i) {
    std::string text = prefix;
    const auto length = static_cast<int64_t>(random() % static_cast<uint64_t>(bytes));
    for (int64_t b = 0; b < length; ++b) text.push_back("\0ab\xFF"[random() % 4]);
    pool.push_back(text);
  }
  return pool;
}

OrderedColumn text_column(const std::string& name,
                          const std::string& format,
                          const std::vector<std::string>& pool,
                          const Draw& how) {
  auto drawn = draw<std::string>(pool, how, text_key);
  return {name, strings(format, drawn.values), std::move(drawn.keys)};
}

template <class Value, class MakeArray>
OrderedColumn dictionary(const std::string& name,
                         const std::vector<Value>& pool,
                         const MakeArray& make,
                         const std::function<PlainKey(const Value&)>& key,
                         const Draw& how) {
  Optionals<int64_t> indices;
  OrderedColumn column{name, {}, {}};
  Optionals<Value> values(pool.begin(), pool.end());
  values.push_back(std::nullopt);  // a null inside the dictionary
  std::bernoulli_distribution null(how.nulls);
  for (int64_t i = 0; i < how.rows; ++i) {
    const auto at = static_cast<int64_t>(how.random() % pool.size());
    const bool by_validity = null(how.random);
    const bool by_value = !by_validity && how.nulls > 0 && null(how.random);
    const auto last = static_cast<int64_t>(pool.size());
    indices.push_back(by_validity ? std::nullopt : std::optional<int64_t>(by_value ? last : at));
    column.keys.push_back(by_validity || by_value
                              ? std::nullopt
                              : std::optional<PlainKey>(key(pool[static_cast<size_t>(at)])));
  }
  column.array = encoded("i", indices, make(values));
  return column;
}

}  // namespace

int compare(const PlainKey& a, const PlainKey& b) {
  if (a.number != b.number) return a.number < b.number ? -1 : 1;
  const bool a_nan = std::isnan(a.real);
  const bool b_nan = std::isnan(b.real);
  if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
  if (a.real != b.real) return a.real < b.real ? -1 : 1;
  return a.text.compare(b.text);
}

int compare(const OrderedColumn& column, int64_t a, int64_t b, bool descending, bool nulls_first) {
  const auto& left = column.keys[static_cast<size_t>(a)];
  const auto& right = column.keys[static_cast<size_t>(b)];
  if (!left || !right) {
    const int order = static_cast<int>(left.has_value()) - static_cast<int>(right.has_value());
    return nulls_first ? order : -order;
  }
  const int order = compare(*left, *right);
  return descending ? -order : order;
}

std::vector<OrderedColumn> ordered_columns(int64_t rows, double nulls, Random& random) {
  const Draw how{rows, nulls, random};
  std::vector<OrderedColumn> columns;
  columns.push_back(booleans(how));
  columns.push_back(integers<int8_t>("c", how));
  columns.push_back(integers<uint16_t>("S", how));
  columns.push_back(integers<int32_t>("i", how));
  columns.push_back(integers<int64_t>("l", how));
  columns.push_back(integers<uint64_t>("L", how));
  columns.push_back(narrow_integers(how));
  columns.push_back(halves(how));
  columns.push_back(floats<float>("f", how));
  columns.push_back(floats<double>("g", how));
  columns.push_back(decimals(false, how));
  columns.push_back(decimals(true, how));
  columns.push_back(integers<int32_t>("tdD", how));
  columns.push_back(integers<int64_t>("tsu:UTC", how));
  columns.push_back(integers<int64_t>("tDn", how));
  const auto short_pool = text_pool("", 6, random);
  const auto long_pool = text_pool("http://x/", 40, random);
  columns.push_back(text_column("short text", "u", short_pool, how));
  columns.push_back(text_column("large text", "U", long_pool, how));
  columns.push_back(text_column("text views", "vu", long_pool, how));
  columns.push_back(text_column("binary", "z", long_pool, how));
  columns.push_back(dictionary<std::string>(
      "text dictionary",
      long_pool,
      [](const Optionals<std::string>& values) { return strings("u", values); },
      text_key,
      how));
  columns.push_back(dictionary<int64_t>(
      "integer dictionary",
      {5, -3, INT64_MAX, INT64_MIN, 7},
      [](const Optionals<int64_t>& values) { return fixed<int64_t>("l", values); },
      number_key<int64_t>,
      how));
  return columns;
}

}  // namespace crossdock::arrow_test
