// Which bytes lead to which table, and to which lie about it.
#include "table/broken_arrow.hpp"

#include <limits>

namespace crossdock::arrow_test {
namespace {

constexpr int64_t kMostBroken = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

const std::vector<std::string> kFixedFormats = {
    "c", "C", "s", "S", "i", "I", "l", "L", "e", "f", "g", "tdD", "tsu:UTC", "d:9,2"};
const std::vector<std::string> kTextFormats = {"u", "U", "vu", "z", "Z", "vz"};
const std::vector<std::string> kIndexFormats = {"c", "C", "s", "S", "i", "I", "l", "L"};

struct WideWord {
  uint64_t low, high;
};

template <class T>
Array random_broken_fixed(const std::string& format, int64_t rows, Choices& choices) {
  const bool has_nulls = choices.one_in(2);
  Optionals<T> values;
  for (int64_t i = 0; i < rows; ++i) {
    const uint64_t low = choices.word();
    T value{};
    std::memcpy(&value, &low, std::min(sizeof value, sizeof low));
    values.push_back(has_nulls && choices.one_in(5) ? std::nullopt : std::optional<T>(value));
  }
  return fixed<T>(format, values);
}

Array random_numbers(const std::string& format, int64_t rows, Choices& choices) {
  switch (fixed_bytes(parse_arrow_format(format).value())) {
    case 1:
      return random_broken_fixed<uint8_t>(format, rows, choices);
    case 2:
      return random_broken_fixed<uint16_t>(format, rows, choices);
    case 4:
      return random_broken_fixed<uint32_t>(format, rows, choices);
    case 8:
      return random_broken_fixed<uint64_t>(format, rows, choices);
    default:
      return random_broken_fixed<WideWord>(format, rows, choices);
  }
}

Array random_bools(int64_t rows, Choices& choices) {
  const bool has_nulls = choices.one_in(2);
  Optionals<bool> values;
  for (int64_t i = 0; i < rows; ++i) {
    values.push_back(has_nulls && choices.one_in(5) ? std::nullopt
                                                    : std::optional<bool>(choices.below(2) == 1));
  }
  return bools(values);
}

// Few different strings, so that dictionaries of two batches share some.
Array random_strings(const std::string& format, int64_t rows, Choices& choices) {
  const bool has_nulls = choices.one_in(2);
  Optionals<std::string> values;
  for (int64_t i = 0; i < rows; ++i) {
    const auto size = static_cast<size_t>(choices.below(20));
    std::string text(size, static_cast<char>('a' + choices.below(3)));
    values.push_back(has_nulls && choices.one_in(5) ? std::nullopt
                                                    : std::optional<std::string>(text));
  }
  return strings(format, values, 1 + choices.below(64));
}

Array random_flat(const std::string& format, int64_t rows, Choices& choices) {
  if (format == "b") return random_bools(rows, choices);
  for (const std::string& text : kTextFormats) {
    if (format == text) return random_strings(format, rows, choices);
  }
  return random_numbers(format, rows, choices);
}

std::string random_format(Choices& choices) {
  switch (choices.below(4)) {
    case 0:
      return choices.of(kFixedFormats);
    case 1:
      return "b";
    default:
      return choices.of(kTextFormats);
  }
}

// Writes random words over offsets, views or indices: any word for views and indices, whose every
// bit can be checked; for offsets, whose upper limit cannot, words up to the bytes that are there.
template <class Offset>
void scramble_offsets(Array& array, Choices& choices) {
  auto* offsets = reinterpret_cast<Offset*>(array.buffers[1]->data());
  const auto bytes = static_cast<int64_t>(array.buffers[2]->size());
  offsets[choices.below(array.length + 1)] = static_cast<Offset>(choices.below(bytes + 4) - 3);
}

void scramble(Array& array, Choices& choices) {
  if (array.length == 0) return;
  const Layout kind = layout(parse_arrow_format(array.format).value());
  if (kind == Layout::kOffsets32) return scramble_offsets<int32_t>(array, choices);
  if (kind == Layout::kOffsets64) return scramble_offsets<int64_t>(array, choices);
  Bytes& values = *array.buffers[1];
  const auto at = static_cast<size_t>(choices.below(static_cast<int64_t>(values.size())));
  // Small ones half of the time: indices and lengths have their limits there.
  values[at] = choices.one_in(2) ? static_cast<uint8_t>(choices.below(14)) : choices.byte();
}

Array random_column(const std::string& format,
                    const std::string& values,
                    int64_t rows,
                    Choices& choices) {
  // Slack before and after, so that slices have something to leave out.
  const int64_t before = choices.below(10);
  const int64_t all = before + rows + choices.below(3);
  Array array;
  if (values.empty()) {
    array = random_flat(format, all, choices);
  } else {
    const int64_t distinct = 1 + choices.below(6);
    const bool has_nulls = choices.one_in(2);
    Optionals<int64_t> indices;
    for (int64_t i = 0; i < all; ++i) {
      indices.push_back(has_nulls && choices.one_in(5)
                            ? std::nullopt
                            : std::optional<int64_t>(choices.below(distinct)));
    }
    Array dictionary = random_flat(values, distinct, choices);
    if (choices.one_in(8)) scramble(dictionary, choices);
    array = encoded(format, indices, std::move(dictionary));
  }
  if (choices.one_in(6)) scramble(array, choices);
  return before + rows == all && before == 0 ? array : sliced(array, before, rows);
}

}  // namespace

Shape random_shape(Choices& choices) {
  Shape shape;
  const int64_t columns = choices.below(4);
  for (int64_t i = 0; i < columns; ++i) {
    if (choices.below(3) == 0) {
      shape.formats.emplace_back(choices.of(kIndexFormats), random_format(choices));
    } else {
      shape.formats.emplace_back(random_format(choices), "");
    }
  }
  return shape;
}

Columns random_columns(const Shape& shape, Choices& choices) {
  const int64_t rows = choices.one_in(6) ? 0 : choices.below(40);
  Columns columns;
  for (const auto& [format, values] : shape.formats) {
    const std::string name = fmt::format("column {}", columns.size());
    columns.push_back({name, random_column(format, values, rows, choices)});
  }
  return columns;
}

namespace {

// Moves the first buffer after validity to an odd address. Only for layouts whose size is plain.
void misalign(const Array& array, ArrowArray& node, Parking& parking) {
  if (!array.buffers[1] || array.buffers[1]->empty()) return;
  Bytes& copy = parking.emplace_back(1 + array.buffers[1]->size());
  std::memcpy(copy.data() + 1, array.buffers[1]->data(), array.buffers[1]->size());
  node.buffers[1] = copy.data() + 1;
}

// Breaks one field of one array in a way that a consumer can see.
void break_array(const Array& array, ArrowArray& node, Choices& choices) {
  const bool views = array.format == "vu" || array.format == "vz";
  switch (choices.below(12)) {
    case 0:
      node.length = choices.of<int64_t>({-1, kLeast, kMostBroken});
      break;
    case 1:
      node.length = choices.below(node.length + 1);
      break;
    case 2:
      node.offset = choices.of<int64_t>({-1, kLeast, kMostBroken});
      break;
    case 3:
      node.null_count = choices.of<int64_t>({-1, -2, 0, 1, kMostBroken});
      break;
    case 4:
      node.n_buffers = choices.of<int64_t>({-1, 0, 1, views ? 2 : 4, kMostBroken});
      break;
    case 5:
      node.n_children = choices.of<int64_t>({-1, 1, kMostBroken});
      break;
    case 6:
      node.buffers = nullptr;
      break;
    case 7:
      node.buffers[choices.below(node.n_buffers)] = nullptr;
      break;
    case 8:
      node.release = nullptr;
      break;
    case 9:
      node.dictionary = nullptr;
      break;
    case 10:
      if (views) {
        auto* sizes = static_cast<int64_t*>(const_cast<void*>(node.buffers[node.n_buffers - 1]));
        for (int64_t i = 0; i < node.n_buffers - 3; ++i) sizes[i] -= choices.below(30);
      }
      break;
    default:
      node.dictionary = &node;
      break;
  }
}

void break_top(ArrowArray& top, Choices& choices) {
  switch (choices.below(9)) {
    case 0:
      top.length = choices.of<int64_t>({-1, kLeast, kMostBroken});
      break;
    case 1:
      top.length = choices.below(60);
      break;
    case 2:
      top.offset = choices.of<int64_t>({-1, 1, 5, kMostBroken});
      break;
    case 3:
      top.n_children += choices.of<int64_t>({-1, 1, kMostBroken / 2});
      break;
    case 4:
      top.n_buffers = choices.of<int64_t>({-1, 0, 2, kMostBroken});
      break;
    case 5:
      top.children = nullptr;
      break;
    case 6:
      top.buffers = nullptr;
      break;
    case 7:
      top.null_count = choices.of<int64_t>({-2, 1, kMostBroken});
      break;
    default:
      if (top.n_children > 0) top.children[choices.below(top.n_children)] = nullptr;
      break;
  }
}

}  // namespace

ArrowArray random_array(const Columns& columns, Choices& choices, Parking& parking) {
  ArrowArray raw = make_array(columns);
  if (!columns.empty() && choices.below(3) == 0) {
    const int64_t picked = choices.below(static_cast<int64_t>(columns.size()));
    const Array& array = columns[static_cast<size_t>(picked)].array;
    ArrowArray& node = *raw.children[picked];
    if (choices.one_in(4)) {
      misalign(array, node, parking);
    } else if (array.dictionary && choices.one_in(3)) {
      break_array(*array.dictionary, *node.dictionary, choices);
    } else {
      break_array(array, node, choices);
    }
  }
  // A slice of the whole table: valid, and the columns must follow.
  if (choices.one_in(4) && raw.length > 0) {
    raw.offset = choices.below(raw.length);
    raw.length -= raw.offset;
  }
  if (choices.one_in(8)) break_top(raw, choices);
  return raw;
}

}  // namespace crossdock::arrow_test
