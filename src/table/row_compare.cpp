// Blocks of candidates go column by column through: read both sides into one form, compare, keep the
// equal ones. A reader per stored type and a comparison per form, not one per pair of types; only
// columns of equal type and width, the frequent case, are compared where they lie.
#include "table/row_compare.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/integer_types.hpp"
#include "table/key_read.hpp"

namespace crossdock {
namespace {

using keys::RangeRows;
using keys::RefRows;
using keys::Slice;

// Its scratch, at most 8 KiB a side, stays in the L1 cache.
constexpr int32_t kCompareBlockRows = 256;

// The values of a dictionary, in the form that the comparison works on.
struct DictionaryValues {
  std::vector<uint64_t> words;
  std::vector<Int128> wide;
  std::vector<uint8_t> overflow;
  std::vector<Slice> slices;
  std::vector<uint8_t> valid;  // empty if all are
};

enum class Comparison : uint8_t { kStored, kWords, kWide, kSlices };

bool is_float(Stored stored) {
  return stored == Stored::kFloat16 || stored == Stored::kFloat32 || stored == Stored::kFloat64;
}

Comparison comparison_of(const KeySide& left, const KeySide& right) {
  if (left.form == KeyForm::kBytes) return Comparison::kSlices;
  const bool plain = !left.dictionary && !right.dictionary && left.stored == right.stored &&
                     left.factor == 1 && right.factor == 1 && left.stored != Stored::kBit &&
                     !is_float(left.stored);
  if (plain) return Comparison::kStored;
  const bool wide = left.form == KeyForm::kInteger128 || left.form == KeyForm::kInstant ||
                    left.form == KeyForm::kDecimal;
  return wide ? Comparison::kWide : Comparison::kWords;
}

// One column of one side.
class SideReader {
 public:
  SideReader(const ChunkedColumn& column, const KeyKind& kind)
      : column_(column), side_(make_key_side(column.field->type, kind)) {}

  const KeySide& side() const { return side_; }
  const ChunkedColumn& column() const { return column_; }
  bool any_nulls() const { return column_.any_nulls || !values_.valid.empty(); }

  // For a dictionary: reads its values in the form of `comparison`.
  void prepare(Comparison comparison);

  void read_valid(const RowRef* refs, int32_t count, uint8_t* valid) const;
  void read_words(const RowRef* refs, int32_t count, uint64_t* words) const;
  void read_wide(const RowRef* refs, int32_t count, Int128* wide, uint8_t* overflow) const;
  // valid: of these rows, or nullptr if none is null.
  void read_slices(const RowRef* refs, int32_t count, const uint8_t* valid, Slice* slices) const;

 private:
  // Positions in the dictionary; those of null rows are made to be inside.
  void read_indices(const RowRef* refs, int32_t count, uint64_t* indices) const;

  const ChunkedColumn& column_;
  KeySide side_;
  DictionaryValues values_;
  uint64_t value_count_ = 0;
};

void SideReader::prepare(Comparison comparison) {
  if (!side_.dictionary) return;
  const ColumnView& dictionary = *column_.dictionary;
  const RangeRows rows{dictionary, 0};
  CD_CHECK(dictionary.length <= INT32_MAX, "dictionary of {} values", dictionary.length);
  const auto count = static_cast<int32_t>(dictionary.length);
  value_count_ = std::max<uint64_t>(1, count);  // one at least, for indices of null rows
  if (rows.any_nulls()) {
    values_.valid.assign(value_count_, 1);
    keys::read_valid(rows, count, values_.valid.data());
  }
  if (comparison == Comparison::kSlices) {
    values_.slices.assign(value_count_, Slice{nullptr, 0});
    const uint8_t* valid = values_.valid.empty() ? nullptr : values_.valid.data();
    keys::read_slices(rows, side_.stored, valid, count, values_.slices.data());
  } else if (comparison == Comparison::kWide) {
    values_.wide.assign(value_count_, 0);
    values_.overflow.assign(value_count_, 0);
    keys::read_wide(rows, side_, count, values_.wide.data(), values_.overflow.data());
  } else {
    values_.words.assign(value_count_, 0);
    keys::read_words(rows, side_.stored, count, values_.words.data());
  }
}

void SideReader::read_indices(const RowRef* refs, int32_t count, uint64_t* indices) const {
  keys::read_words(RefRows{column_, refs}, side_.index, count, indices);
  for (int32_t i = 0; i < count; ++i) indices[i] = indices[i] < value_count_ ? indices[i] : 0;
}

void SideReader::read_valid(const RowRef* refs, int32_t count, uint8_t* valid) const {
  if (column_.any_nulls) {
    keys::read_valid(RefRows{column_, refs}, count, valid);
  } else {
    std::fill_n(valid, count, uint8_t{1});
  }
  if (values_.valid.empty()) return;
  uint64_t indices[kCompareBlockRows];
  read_indices(refs, count, indices);
  for (int32_t i = 0; i < count; ++i) valid[i] &= values_.valid[indices[i]];
}

void SideReader::read_words(const RowRef* refs, int32_t count, uint64_t* words) const {
  if (!side_.dictionary) {
    keys::read_words(RefRows{column_, refs}, side_.stored, count, words);
    return;
  }
  read_indices(refs, count, words);
  for (int32_t i = 0; i < count; ++i) words[i] = values_.words[words[i]];
}

void SideReader::read_wide(const RowRef* refs,
                           int32_t count,
                           Int128* wide,
                           uint8_t* overflow) const {
  if (!side_.dictionary) {
    keys::read_wide(RefRows{column_, refs}, side_, count, wide, overflow);
    return;
  }
  uint64_t indices[kCompareBlockRows];
  read_indices(refs, count, indices);
  for (int32_t i = 0; i < count; ++i) {
    wide[i] = values_.wide[indices[i]];
    overflow[i] = values_.overflow[indices[i]];
  }
}

void SideReader::read_slices(const RowRef* refs,
                             int32_t count,
                             const uint8_t* valid,
                             Slice* slices) const {
  if (!side_.dictionary) {
    keys::read_slices(RefRows{column_, refs}, side_.stored, valid, count, slices);
    return;
  }
  uint64_t indices[kCompareBlockRows];
  read_indices(refs, count, indices);
  for (int32_t i = 0; i < count; ++i) slices[i] = values_.slices[indices[i]];
}

// Candidates that are equal so far, and their positions in the caller's arrays.
struct Candidates {
  RowRef left[kCompareBlockRows];
  RowRef right[kCompareBlockRows];
  uint32_t position[kCompareBlockRows];
  int32_t count = 0;

  void keep(const uint8_t* equal) {
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
      left[kept] = left[i];
      right[kept] = right[i];
      position[kept] = position[i];
      kept += equal[i];
    }
    count = kept;
  }
};

struct NullFlags {
  uint8_t left[kCompareBlockRows];
  uint8_t right[kCompareBlockRows];
};

inline bool equal_bytes(const Slice& a, const Slice& b) {
  if (a.bytes != b.bytes) return false;
  const int64_t bytes = a.bytes;
  if (bytes > 16) return std::memcmp(a.data, b.data, static_cast<size_t>(bytes)) == 0;
  if (bytes >= 8) {
    const uint64_t low = keys::load<uint64_t>(a.data) ^ keys::load<uint64_t>(b.data);
    const uint64_t high =
        keys::load<uint64_t>(a.data + bytes - 8) ^ keys::load<uint64_t>(b.data + bytes - 8);
    return (low | high) == 0;
  }
  if (bytes >= 4) {
    const uint32_t low = keys::load<uint32_t>(a.data) ^ keys::load<uint32_t>(b.data);
    const uint32_t high =
        keys::load<uint32_t>(a.data + bytes - 4) ^ keys::load<uint32_t>(b.data + bytes - 4);
    return (low | high) == 0;
  }
  for (int64_t i = 0; i < bytes; ++i) {
    if (a.data[i] != b.data[i]) return false;
  }
  return true;
}

}  // namespace

struct RowComparer::Column {
  Column(const KeyColumnPair& pair, bool nulls_equal)
      : left(*pair.left, pair.kind), right(*pair.right, pair.kind), null_equals_null(nulls_equal) {
    comparison = comparison_of(left.side(), right.side());
    left.prepare(comparison);
    right.prepare(comparison);
    any_nulls = left.any_nulls() || right.any_nulls();
  }

  // Reduces the candidates to those equal in this column.
  void select(Candidates& candidates) const;

  template <int kWidth>
  void compare_stored(const Candidates& candidates, uint8_t* equal) const;
  void compare_stored(const Candidates& candidates, uint8_t* equal) const;
  void compare_words(const Candidates& candidates, uint8_t* equal) const;
  void compare_wide(const Candidates& candidates, uint8_t* equal) const;
  void compare_slices(const Candidates& candidates, const NullFlags& valid, uint8_t* equal) const;

  SideReader left;
  SideReader right;
  Comparison comparison;
  bool null_equals_null;
  bool any_nulls;
};

template <int kWidth>
void RowComparer::Column::compare_stored(const Candidates& candidates, uint8_t* equal) const {
  const auto lefts = RefRows{left.column(), candidates.left}.values<kWidth>();
  const auto rights = RefRows{right.column(), candidates.right}.values<kWidth>();
  for (int32_t i = 0; i < candidates.count; ++i) {
    equal[i] = std::memcmp(lefts(i), rights(i), kWidth) == 0 ? 1 : 0;  // inline: width is constant
  }
}

void RowComparer::Column::compare_stored(const Candidates& candidates, uint8_t* equal) const {
  with_word(stored_bytes(left.side().stored),
            [&](auto zero) { compare_stored<sizeof(zero)>(candidates, equal); });
}

void RowComparer::Column::compare_words(const Candidates& candidates, uint8_t* equal) const {
  uint64_t lefts[kCompareBlockRows];
  uint64_t rights[kCompareBlockRows];
  left.read_words(candidates.left, candidates.count, lefts);
  right.read_words(candidates.right, candidates.count, rights);
  for (int32_t i = 0; i < candidates.count; ++i) equal[i] = lefts[i] == rights[i] ? 1 : 0;
}

void RowComparer::Column::compare_wide(const Candidates& candidates, uint8_t* equal) const {
  Int128 lefts[kCompareBlockRows];
  Int128 rights[kCompareBlockRows];
  uint8_t left_over[kCompareBlockRows];
  uint8_t right_over[kCompareBlockRows];
  left.read_wide(candidates.left, candidates.count, lefts, left_over);
  right.read_wide(candidates.right, candidates.count, rights, right_over);
  for (int32_t i = 0; i < candidates.count; ++i) {
    equal[i] = (lefts[i] == rights[i] ? 1 : 0) & ~(left_over[i] | right_over[i]) & 1;
  }
}

void RowComparer::Column::compare_slices(const Candidates& candidates,
                                         const NullFlags& valid,
                                         uint8_t* equal) const {
  Slice lefts[kCompareBlockRows];
  Slice rights[kCompareBlockRows];
  left.read_slices(candidates.left, candidates.count, any_nulls ? valid.left : nullptr, lefts);
  right.read_slices(candidates.right, candidates.count, any_nulls ? valid.right : nullptr, rights);
  // The bytes are most likely not in the cache, and the comparison below is too long a loop for the
  // core to reach many of them by itself.
  for (int32_t i = 0; i < candidates.count; ++i) {
    __builtin_prefetch(lefts[i].data);
    __builtin_prefetch(rights[i].data);
  }
  for (int32_t i = 0; i < candidates.count; ++i)
    equal[i] = equal_bytes(lefts[i], rights[i]) ? 1 : 0;
}

void RowComparer::Column::select(Candidates& candidates) const {
  NullFlags valid;
  uint8_t equal[kCompareBlockRows];
  if (any_nulls) {
    left.read_valid(candidates.left, candidates.count, valid.left);
    right.read_valid(candidates.right, candidates.count, valid.right);
  }
  switch (comparison) {
    case Comparison::kStored:
      compare_stored(candidates, equal);
      break;
    case Comparison::kWords:
      compare_words(candidates, equal);
      break;
    case Comparison::kWide:
      compare_wide(candidates, equal);
      break;
    case Comparison::kSlices:
      compare_slices(candidates, valid, equal);
      break;
  }
  if (any_nulls) {
    const uint8_t both_null = null_equals_null ? 1 : 0;
    for (int32_t i = 0; i < candidates.count; ++i) {
      const uint8_t neither = valid.left[i] & valid.right[i];
      const uint8_t either = valid.left[i] | valid.right[i];
      equal[i] = (equal[i] & neither) | (both_null & ~either);
    }
  }
  candidates.keep(equal);
}

RowComparer::RowComparer() = default;
RowComparer::RowComparer(RowComparer&&) noexcept = default;
RowComparer& RowComparer::operator=(RowComparer&&) noexcept = default;
RowComparer::~RowComparer() = default;

Result<RowComparer> RowComparer::create(std::vector<KeyColumnPair> columns, bool null_equals_null) {
  if (columns.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "comparing rows needs one key column at least");
  }
  RowComparer comparer;
  for (const KeyColumnPair& pair : columns) {
    CD_ASSIGN(const KeyKind kind, common_key_kind(pair.left->field->type, pair.right->field->type));
    if (kind != pair.kind) {
      return make_error(ErrorCode::kKeyTypeMismatch,
                        "key columns \"{}\" and \"{}\" do not have the kind they were planned with",
                        pair.left->field->name,
                        pair.right->field->name);
    }
    comparer.columns_.push_back(std::make_unique<const Column>(pair, null_equals_null));
  }
  return comparer;
}

int32_t RowComparer::select_equal(const RowRef* left,
                                  const RowRef* right,
                                  int32_t count,
                                  uint32_t* selected) const {
  CD_CHECK(count <= kMaxCompareRows, "candidates {}", count);
  int32_t selected_count = 0;
  Candidates candidates;
  for (int32_t begin = 0; begin < count; begin += kCompareBlockRows) {
    candidates.count = std::min(kCompareBlockRows, count - begin);
    std::copy_n(left + begin, candidates.count, candidates.left);
    std::copy_n(right + begin, candidates.count, candidates.right);
    for (int32_t i = 0; i < candidates.count; ++i) candidates.position[i] = begin + i;
    for (const auto& column : columns_) column->select(candidates);
    std::copy_n(candidates.position, candidates.count, selected + selected_count);
    selected_count += candidates.count;
  }
  return selected_count;
}

int32_t RowComparer::filter(RowRef* left, RowRef* right, int32_t count) const {
  uint32_t selected[kMaxCompareRows];
  const int32_t kept = select_equal(left, right, count, selected);
  for (int32_t i = 0; i < kept; ++i) {
    left[i] = left[selected[i]];
    right[i] = right[selected[i]];
  }
  return kept;
}

int32_t RowComparer::filter(RowRef* left, RowRef* right, uint32_t* companion, int32_t count) const {
  uint32_t selected[kMaxCompareRows];
  const int32_t kept = select_equal(left, right, count, selected);
  for (int32_t i = 0; i < kept; ++i) {
    left[i] = left[selected[i]];
    right[i] = right[selected[i]];
    companion[i] = companion[selected[i]];
  }
  return kept;
}

}  // namespace crossdock
