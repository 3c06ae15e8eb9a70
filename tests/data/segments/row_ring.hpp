// A ring of rows with its memory, and random batches, for tests of what goes through segments.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/place_ring.hpp"
#include "data/rings/ring_consumer.hpp"
#include "data/rings/ring_producer.hpp"
#include "data/segments/row_layout.hpp"
#include "table/random_columns.hpp"

namespace crossdock::segments {

class RowRing {
 public:
  // Memory that was never cleared behind the words would show what a test should not read.
  RowRing(const RowLayout& layout, int slot_bits) {
    const rings::RingShape shape = layout.ring_shape(slot_bits);
    const size_t bytes = rings::ring_bytes(shape);
    memory_.reset(
        static_cast<std::byte*>(::operator new (bytes, std::align_val_t{rings::kRingLineBytes})));
    const size_t words_bytes = bytes - (size_t{shape.segment_bytes} << slot_bits);
    std::memset(memory_.get(), 0, words_bytes);
    std::memset(memory_.get() + words_bytes, 0xCD, bytes - words_bytes);
    ring_ = rings::place_ring(shape, {memory_.get(), bytes}).value();
    for (uint64_t slot = 0; slot < ring_.slots(); ++slot)
      ring_.header(slot) = rings::SegmentHeader{};
  }

  const rings::Ring& ring() const { return ring_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{rings::kRingLineBytes});
    }
  };
  std::unique_ptr<std::byte, Free> memory_;
  rings::Ring ring_;
};

// Columns of up to six formats, or of these only, some of them dictionaries.
inline arrow_test::Columns random_row_columns(int64_t rows,
                                              arrow_test::Random& random,
                                              const std::vector<std::string>& only = {}) {
  using namespace arrow_test;
  const double null_shares[] = {0, 0.1, 0.5, 1};
  static const std::vector<std::string> kIndices = {"c", "s", "i", "l", "C", "S", "I", "L"};
  const std::vector<std::string>& formats = only.empty() ? plain_formats() : only;
  const size_t columns = only.empty() ? 1 + random() % 6 : only.size();
  Columns drawn;
  for (size_t i = 0; i < columns; ++i) {
    const std::string& format = only.empty() ? formats[random() % formats.size()] : only[i];
    const double null_share = null_shares[random() % 4];
    arrow_test::Column column;
    column.name = std::string(1, static_cast<char>('a' + i));
    column.nullable = null_share != 0 || random() % 2 == 0;
    if (random() % 3 == 0) {
      const Array values =
          random_array(format, 1 + static_cast<int64_t>(random() % 100), null_share / 2, random);
      column.array =
          random_encoded(kIndices[random() % kIndices.size()], values, rows, null_share, random);
    } else {
      column.array = random_array(format, rows, null_share, random);
    }
    drawn.push_back(std::move(column));
  }
  return drawn;
}

// Rows [begin, begin + count) by offsets.
inline Batch slice_rows(const Batch& batch, int64_t begin, int64_t count) {
  Batch part = batch;
  part.rows = count;
  for (ColumnView& column : part.columns) column = slice(column, begin, count);
  return part;
}

// All values of a row as one text, of which no two rows have the same that differ.
inline std::string row_text(const Batch& batch, int64_t row) {
  std::string text;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const std::string value = arrow_test::cell(batch.schema->fields[i].type, batch.columns[i], row);
    text += std::to_string(value.size()) + ":" + value;
  }
  return text;
}

}  // namespace crossdock::segments
