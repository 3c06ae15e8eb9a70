// Tables made of random bytes, some of them broken: wrong offsets, views and indices, and wrong fields
// of the C structs. Fuzz targets read what they do from them.
//
// The interface tells no buffer's size, so a producer that overstates a length or an offset within
// bounds cannot be caught by anyone. Only what a consumer can check is broken here; the rest (values,
// strings, bitmaps) is random but as large as promised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "table/arrow_builder.hpp"

namespace crossdock::arrow_test {

// The input as a row of choices; when it is used up, every choice is 0.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  uint64_t word() {
    uint64_t value = 0;
    const size_t bytes = std::min(left_, sizeof value);
    if (bytes > 0) std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // 0 <= answer < bound, bound >= 1.
  int64_t below(int64_t bound) {
    int64_t value = byte();
    if (bound > 255) value = value << 8 | byte();
    return value % bound;
  }
  bool one_in(int64_t chances) { return below(chances) == 0 && left_ > 0; }

  template <class T>
  T of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

// The types of a table: of each column, and of its dictionary's values or "".
struct Shape {
  std::vector<std::pair<std::string, std::string>> formats;
};
Shape random_shape(Choices& choices);

// Well-formed structs to be, with slack around the rows; contents may be scrambled.
Columns random_columns(const Shape& shape, Choices& choices);

// Copies made to be misaligned, to be kept as long as the arrays are.
using Parking = std::vector<Bytes>;

// The columns as C structs, some with a broken field, some a slice of the whole table.
ArrowArray random_array(const Columns& columns, Choices& choices, Parking& parking);

}  // namespace crossdock::arrow_test
