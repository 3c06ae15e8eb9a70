// Values by format; see random_columns.hpp.
#include "table/random_columns.hpp"

#include <array>
#include <optional>

namespace crossdock::arrow_test {
namespace {

bool is_null(double null_share, Random& random) {
  return std::uniform_real_distribution<double>()(random) < null_share;
}

template <class T>
Array random_fixed(const std::string& format, int64_t rows, double null_share, Random& random) {
  Optionals<T> values;
  for (int64_t i = 0; i < rows; ++i) {
    T value;
    auto* bytes = reinterpret_cast<uint8_t*>(&value);
    for (size_t byte = 0; byte < sizeof(T); ++byte) bytes[byte] = static_cast<uint8_t>(random());
    values.push_back(is_null(null_share, random) ? std::nullopt : std::optional<T>(value));
  }
  return fixed<T>(format, values);
}

int32_t width_of(const std::string& format) {
  static const std::string kOne = "cC";
  static const std::string kTwo = "sSe";
  if (format.starts_with("d:")) return 16;
  if (format == "tdD" || format == "tts" || format == "ttm") return 4;
  if (kOne.find(format) != std::string::npos) return 1;
  if (kTwo.find(format) != std::string::npos) return 2;
  return format == "i" || format == "I" || format == "f" ? 4 : 8;
}

}  // namespace

const std::vector<std::string>& plain_formats() {
  static const std::vector<std::string> formats = {
      "b",   "c",   "s",   "i",   "l",    "C",       "S",   "I", "L", "e",  "f", "g", "d:12,2",
      "tdD", "tdm", "ttm", "ttu", "tsu:", "tsn:UTC", "tDs", "u", "U", "vu", "z", "Z", "vz"};
  return formats;
}

std::string random_text(Random& random) {
  const uint64_t kind = random() % 8;
  std::string text(kind < 4 ? random() % 9 : kind < 7 ? random() % 18 : random() % 41, '\0');
  for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? 0 : 'a' + random() % 26);
  return text;
}

Array random_array(const std::string& format, int64_t rows, double null_share, Random& random) {
  if (format == "b") {
    Optionals<bool> values;
    for (int64_t i = 0; i < rows; ++i) {
      values.push_back(is_null(null_share, random) ? std::nullopt
                                                   : std::optional<bool>(random() % 2 == 0));
    }
    return bools(values);
  }
  if (std::string("uUvuzZvz").find(format) != std::string::npos) {
    Optionals<std::string> values;
    for (int64_t i = 0; i < rows; ++i) {
      values.push_back(is_null(null_share, random)
                           ? std::nullopt
                           : std::optional<std::string>(random_text(random)));
    }
    return strings(format, values);
  }
  switch (width_of(format)) {
    case 1:
      return random_fixed<uint8_t>(format, rows, null_share, random);
    case 2:
      return random_fixed<uint16_t>(format, rows, null_share, random);
    case 4:
      return random_fixed<uint32_t>(format, rows, null_share, random);
    case 8:
      return random_fixed<uint64_t>(format, rows, null_share, random);
    default:
      return random_fixed<std::array<uint64_t, 2>>(format, rows, null_share, random);
  }
}

Array random_encoded(const std::string& index_format,
                     const Array& values,
                     int64_t rows,
                     double null_share,
                     Random& random) {
  Optionals<int64_t> indices;
  for (int64_t i = 0; i < rows; ++i) {
    const auto index = static_cast<int64_t>(random() % values.length);
    indices.push_back(is_null(null_share, random) ? std::nullopt : std::optional<int64_t>(index));
  }
  return encoded(index_format, indices, values);
}

}  // namespace crossdock::arrow_test
