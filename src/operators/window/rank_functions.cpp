// Functions of where a row stands: numbers, ranks and shares.
#include "operators/window/window_function.hpp"

namespace crossdock::operators {

Status NumberColumn::begin(int64_t rows, bool nullable, BatchMemory& memory) {
  CD_ASSIGN(view_, make_fixed(type_, rows, memory));
  valid_ = nullptr;
  if (nullable) {
    CD_ASSIGN(valid_, memory.get(rows));
  }
  return {};
}

void NumberColumn::store_wide(const Int128* values, int32_t count, int64_t at) {
  std::copy_n(reinterpret_cast<const uint8_t*>(values),
              static_cast<size_t>(count) * sizeof(Int128),
              const_cast<uint8_t*>(view_.values) + at * int64_t{sizeof(Int128)});
}

Result<ColumnView> NumberColumn::end(BatchMemory& memory) {
  if (valid_ != nullptr) CD_TRY(set_validity(valid_, view_.length, memory, view_));
  return view_;
}

namespace {

DataType number_type(WindowFunction function) {
  DataType type;
  const bool is_share =
      function == WindowFunction::kPercentRank || function == WindowFunction::kCumeDist;
  type.id = is_share ? TypeId::kFloat64 : TypeId::kInt64;
  type.arrow_format.assign(1, is_share ? 'g' : 'l');  // GCC 12 warns of strings here (-Wrestrict)
  return type;
}

uint64_t real_word(double value) { return __builtin_bit_cast(uint64_t, value); }

// The part of `parts` that row `row` of `rows` is in, from 1; the first ones are a row longer.
int64_t part_of(int64_t row, int64_t rows, int64_t parts) {
  const int64_t size = rows / parts;
  const int64_t longer = rows % parts;
  const int64_t in_longer = longer * (size + 1);
  if (row < in_longer) return row / (size + 1) + 1;
  return longer + (row - in_longer) / size + 1;  // size 0: all rows are in the longer ones
}

class RankRun final : public NumberRun {
 public:
  RankRun(const WindowContext& context, const WindowItem& item)
      : NumberRun(number_type(item.function)), context_(context), item_(item) {}

  Status add(const WindowBlock& block, const FrameRows*, int64_t at) override {
    for (int32_t i = 0; i < block.rows; ++i) words_[i] = word_of(block, i);
    column_.store(words_, block.rows, at);
    return {};
  }

 private:
  uint64_t word_of(const WindowBlock& block, int32_t i) const {
    const int64_t row = block.position(i) - block.partition_begin[i];
    const int64_t rows = block.partition_end[i] - block.partition_begin[i];
    const std::vector<uint32_t>& peers = context_.starts->peers;
    switch (item_.function) {
      case WindowFunction::kRowNumber:
        return static_cast<uint64_t>(row + 1);
      case WindowFunction::kNtile:
        return static_cast<uint64_t>(part_of(row, rows, item_.n));
      case WindowFunction::kDenseRank:
        return peers.empty() ? 1 : uint64_t{block.peer[i]} - block.first_peer[i] + 1;
      default:
        break;
    }
    // Without an order all rows of a partition are equal.
    const int64_t begin = peers.empty() ? 0 : peers[block.peer[i]] - block.partition_begin[i];
    const int64_t end = peers.empty() ? rows : peers[block.peer[i] + 1] - block.partition_begin[i];
    if (item_.function == WindowFunction::kRank) return static_cast<uint64_t>(begin + 1);
    if (item_.function == WindowFunction::kCumeDist) {
      return real_word(static_cast<double>(end) / static_cast<double>(rows));
    }
    const double others = static_cast<double>(rows - 1);
    return real_word(rows == 1 ? 0 : static_cast<double>(begin) / others);
  }

  const WindowContext& context_;
  const WindowItem& item_;
};

}  // namespace

Prepared prepare_rank(const WindowContext& context, const WindowItem& item) {
  return PreparedFunction{false, [&] { return std::make_unique<RankRun>(context, item); }};
}

}  // namespace crossdock::operators
