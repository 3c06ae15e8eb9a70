// Families by hand; see key_columns.hpp.
#include "table/key_columns.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace crossdock::arrow_test {
namespace {

__extension__ typedef __int128 Wide;

std::string digits(Wide value) {
  if (value < 0)
    return "-" + (value < -9 ? digits(-(value / 10)) : "") +
           static_cast<char>('0' - static_cast<int>(value % 10));
  return (value > 9 ? digits(value / 10) : "") +
         static_cast<char>('0' + static_cast<int>(value % 10));
}

// value x 10^-scale in one way only.
std::string decimal_key(Wide value, int scale) {
  if (value == 0) return "0";
  while (value % 10 == 0) {
    value /= 10;
    --scale;
  }
  return digits(value) + "e" + std::to_string(-scale);
}

std::string float_key(double value) {
  if (std::isnan(value)) return "nan";
  return value == 0 ? "0" : std::to_string(__builtin_bit_cast(uint64_t, value));
}

bool next_is_null(double share, Random& random) {
  return std::uniform_real_distribution<double>()(random) < share;
}

struct Maker {
  int64_t rows;
  double null_share;
  Random& random;

  // A column that draws from `values`, whose keys are key(value).
  template <class T, class Key>
  KeyColumn draw(const std::string& format, const std::vector<T>& values, Key key) {
    KeyColumn column{format, {}, {}};
    Optionals<T> drawn;
    for (int64_t i = 0; i < rows; ++i) {
      if (next_is_null(null_share, random)) {
        drawn.push_back(std::nullopt);
        column.keys.push_back(std::nullopt);
      } else {
        drawn.push_back(values[random() % values.size()]);
        column.keys.push_back(key(*drawn.back()));
      }
    }
    column.array = fixed<T>(format, drawn);
    return column;
  }

  template <class T>
  KeyColumn integers(const std::string& format, std::vector<T> values = {}) {
    for (const int value : {0, 1, 2, 3, 100, 120}) values.push_back(static_cast<T>(value));
    values.push_back(std::numeric_limits<T>::max());
    values.push_back(std::numeric_limits<T>::min());
    values.push_back(static_cast<T>(-1));
    return draw<T>(format, values, [](T value) { return decimal_key(value, 0); });
  }

  KeyColumn decimals(int precision, int scale) {
    using Stored = std::array<uint64_t, 2>;
    std::vector<Stored> values;
    Wide unit = 1;
    for (int i = 0; i < scale; ++i) unit *= 10;
    for (const Wide value : {Wide{0},
                             unit,
                             2 * unit,
                             3 * unit + 1,
                             -unit,
                             Wide{1},
                             Wide{100},
                             Wide{std::numeric_limits<int64_t>::max()},
                             (Wide{1} << 120) + 7}) {
      values.push_back(__builtin_bit_cast(Stored, value));
    }
    const auto format = "d:" + std::to_string(precision) + "," + std::to_string(scale);
    return draw<Stored>(format, values, [scale](const Stored& value) {
      return decimal_key(__builtin_bit_cast(Wide, value), scale);
    });
  }

  // Instants whose unit is `nanoseconds` long.
  template <class T>
  KeyColumn instants(const std::string& format, int64_t nanoseconds) {
    std::vector<T> values = {
        0, 1, -1, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
    for (const int64_t seconds : {86400, 2 * 86400, -86400, 3, 7}) {
      const Wide value = Wide{seconds} * 1'000'000'000 / nanoseconds;
      if (value == static_cast<T>(value)) values.push_back(static_cast<T>(value));
    }
    return draw<T>(
        format, values, [nanoseconds](T value) { return digits(Wide{value} * nanoseconds); });
  }

  template <class T>
  KeyColumn floats(const std::string& format) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const std::vector<T> values = {T(0),
                                   -T(0),
                                   nan,
                                   -nan,
                                   T(1.5),
                                   T(-2),
                                   T(0.1),
                                   std::numeric_limits<T>::infinity(),
                                   T(65504)};
    return draw<T>(format, values, [](T value) { return float_key(value); });
  }

  KeyColumn halves() {  // float16 by its bits
    const std::vector<std::pair<uint16_t, double>> known = {{0x0000, 0.0},
                                                            {0x8000, -0.0},
                                                            {0x7E00, NAN},
                                                            {0xFC01, NAN},
                                                            {0x3E00, 1.5},
                                                            {0xC000, -2},
                                                            {0x7C00, INFINITY},
                                                            {0x7BFF, 65504},
                                                            {0x0001, std::ldexp(1, -24)}};
    std::vector<uint16_t> values;
    for (const auto& [bits, value] : known) values.push_back(bits);
    return draw<uint16_t>("e", values, [&](uint16_t bits) {
      for (const auto& [known_bits, value] : known) {
        if (known_bits == bits) return float_key(value);
      }
      return std::string();
    });
  }

  KeyColumn booleans() {
    KeyColumn column{"b", {}, {}};
    Optionals<bool> values;
    for (int64_t i = 0; i < rows; ++i) {
      const bool value = random() % 2 == 0;
      const bool null = next_is_null(null_share, random);
      values.push_back(null ? std::nullopt : std::optional<bool>(value));
      column.keys.push_back(null ? std::nullopt : std::optional<std::string>(value ? "1" : "0"));
    }
    column.array = bools(values);
    return column;
  }

  KeyColumn string_column(const std::string& format, const std::vector<std::string>& words) {
    KeyColumn column{format, {}, {}};
    for (int64_t i = 0; i < rows; ++i) {
      column.keys.push_back(next_is_null(null_share, random)
                                ? std::nullopt
                                : std::optional<std::string>(words[random() % words.size()]));
    }
    column.array = strings(format, column.keys);
    return column;
  }

  // `column` as a dictionary: its rows are the values, drawn from at random.
  KeyColumn encode(const std::string& index_format, const KeyColumn& column) {
    KeyColumn result{"dictionary of " + column.name, {}, {}};
    Optionals<int64_t> indices;
    const auto values = std::min<int64_t>(static_cast<int64_t>(column.keys.size()), 100);
    for (int64_t i = 0; i < rows; ++i) {
      if (next_is_null(null_share, random)) {
        indices.push_back(std::nullopt);
        result.keys.push_back(std::nullopt);
      } else {
        indices.push_back(static_cast<int64_t>(random() % values));
        result.keys.push_back(column.keys[*indices.back()]);
      }
    }
    result.array = encoded(index_format, indices, sliced(column.array, 0, values));
    return result;
  }
};

KeyFamily numbers(Maker& make) {
  KeyFamily family{"numbers", {}};
  family.columns = {make.integers<int8_t>("c"),
                    make.integers<int16_t>("s"),
                    make.integers<int32_t>("i"),
                    make.integers<int64_t>("l"),
                    make.integers<uint8_t>("C"),
                    make.integers<uint16_t>("S"),
                    make.integers<uint32_t>("I"),
                    make.integers<uint64_t>("L"),
                    make.decimals(38, 0),
                    make.decimals(12, 2),
                    make.decimals(38, 25)};
  family.columns.push_back(make.encode("C", family.columns[3]));
  family.columns.push_back(make.encode("l", family.columns[9]));
  return family;
}

KeyFamily strings_family(Maker& make,
                         const std::string& name,
                         const std::vector<std::string>& formats) {
  std::vector<std::string> words = {"", "a", std::string("a\0", 2), "ab", "abc", "abcdefgh"};
  for (int i = 0; i < 30; ++i) words.push_back(random_text(make.random));
  words.push_back(std::string(16, 'x'));
  words.push_back(std::string(16, 'x') + "y");
  words.push_back(std::string(300, 'z'));
  KeyFamily family{name, {}};
  for (const std::string& format : formats)
    family.columns.push_back(make.string_column(format, words));
  family.columns.push_back(make.encode("i", family.columns[0]));
  family.columns.push_back(make.encode("S", family.columns[2]));
  return family;
}

}  // namespace

std::vector<KeyFamily> key_families(int64_t rows, double null_share, Random& random) {
  Maker make{rows, null_share, random};
  constexpr int64_t kSecond = 1'000'000'000;
  std::vector<KeyFamily> families = {
      numbers(make),
      strings_family(make, "text", {"u", "U", "vu"}),
      strings_family(make, "binary", {"z", "Z", "vz"}),
      {"bools", {make.booleans(), make.booleans()}},
      {"floats", {make.halves(), make.floats<float>("f"), make.floats<double>("g")}},
      {"dates",
       {make.instants<int32_t>("tdD", 86400 * kSecond), make.instants<int64_t>("tdm", 1'000'000)}},
      {"times",
       {make.instants<int32_t>("tts", kSecond),
        make.instants<int32_t>("ttm", 1'000'000),
        make.instants<int64_t>("ttu", 1000),
        make.instants<int64_t>("ttn", 1)}},
      {"timestamps",
       {make.instants<int64_t>("tss:", kSecond),
        make.instants<int64_t>("tsm:", 1'000'000),
        make.instants<int64_t>("tsu:", 1000),
        make.instants<int64_t>("tsn:", 1)}},
      {"zoned",
       {make.instants<int64_t>("tsu:UTC", 1000), make.instants<int64_t>("tsn:Europe/Rome", 1)}},
      {"durations", {make.instants<int64_t>("tDs", kSecond), make.instants<int64_t>("tDn", 1)}}};
  return families;
}

}  // namespace crossdock::arrow_test
