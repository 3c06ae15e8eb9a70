#include "execution/join_keys.hpp"

#include <algorithm>
#include <bit>

namespace crossdock::execution {
namespace {

using operators::KeyColumnRange;
using operators::KeyPart;
using operators::Side;

// Whether ranges of the stored values are ranges of the words that KeyLoader makes of them.
bool is_range_kind(const KeyKind& kind) {
  return kind.form == KeyForm::kInteger64 || kind.form == KeyForm::kBool;
}

bool fits_signed(const KeyColumnRange& range) {
  return range.known && range.min >= INT64_MIN && range.max <= INT64_MAX;
}

}  // namespace

JoinKeys::JoinKeys(operators::KeyPlan plan, const std::vector<KeyColumnRange>& ranges)
    : plan_(std::move(plan)) {
  if (plan_.packs_exactly || plan_.null_equals_null) return;
  std::vector<Part> parts;
  int bits = 0;
  for (size_t i = 0; i < plan_.parts.size(); ++i) {
    if (!is_range_kind(plan_.parts[i].kind) || !fits_signed(ranges[i])) return;
    Part part;
    part.base = ranges[i].empty ? 0 : static_cast<int64_t>(ranges[i].min);
    part.span = ranges[i].empty ? 0 : static_cast<uint64_t>(ranges[i].max - ranges[i].min);
    part.shift = bits;
    bits += static_cast<int>(std::bit_width(part.span));
    parts.push_back(part);
  }
  if (bits <= 63) parts_ = std::move(parts);
}

std::vector<int> JoinKeys::columns(Side side) const {
  std::vector<int> columns;
  for (const KeyPart& part : plan_.parts) {
    columns.push_back(side == Side::kLeft ? part.left : part.right);
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

JoinKeyEncoder::JoinKeyEncoder(const JoinKeys& keys, const Schema& schema, Side side)
    : keys_(&keys), side_(side), encoder_(keys.plan_, schema, side) {
  if (keys.parts_.empty()) return;
  for (const KeyPart& part : keys.plan_.parts) {
    const int column = side == Side::kLeft ? part.left : part.right;
    loaders_.emplace_back(schema.fields[column].type, part.kind);
  }
}

// Answers whether any row cannot have a partner.
bool JoinKeyEncoder::pack(const Batch& batch, int32_t rows, uint64_t* words, uint8_t* live) {
  std::fill_n(live, rows, uint8_t{1});
  bool any_dead = encoder_.clear_nulls(batch, 0, rows, live);
  std::fill_n(words, rows, uint64_t{0});
  uint64_t values[kBlockRows];
  for (size_t p = 0; p < loaders_.size(); ++p) {
    const KeyPart& of = keys_->plan_.parts[p];
    const JoinKeys::Part& part = keys_->parts_[p];
    loaders_[p].load(batch.columns[side_ == Side::kLeft ? of.left : of.right], 0, rows, values);
    const auto base = static_cast<uint64_t>(part.base);
    uint8_t all = 1;
    for (int32_t i = 0; i < rows; ++i) {
      const uint64_t distance = values[i] - base;
      const uint8_t inside = distance <= part.span ? 1 : 0;
      words[i] |= (inside != 0 ? distance : 0) << part.shift;
      live[i] &= inside;
      all &= inside;
    }
    any_dead |= all == 0;
  }
  return any_dead;
}

int32_t JoinKeyEncoder::encode(const Batch& batch, int32_t rows, uint64_t* words, uint8_t* live) {
  bool any_dead = false;
  if (!loaders_.empty()) {
    any_dead = pack(batch, rows, words, live);
  } else if (keys_->is_packed()) {
    std::fill_n(live, rows, uint8_t{1});
    encoder_.load_keys(batch, 0, rows, words);
    any_dead = encoder_.clear_nulls(batch, 0, rows, live);
  } else {
    return encoder_.encode(batch, 0, rows, words, live);
  }
  return any_dead ? static_cast<int32_t>(std::count(live, live + rows, uint8_t{1})) : rows;
}

void JoinKeyEncoder::widen(const Batch& batch, int32_t rows, operators::KeyRange& range) {
  encoder_.widen(batch, 0, rows, range);
}

}  // namespace crossdock::execution
