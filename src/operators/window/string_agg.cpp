// The strings of a frame in order, joined; or of a partition: one string, in its first row, NULL in all others.
#include <cstring>
#include <limits>

#include "operators/window/window_function.hpp"

namespace crossdock::operators {
namespace {

class StringAggRun final : public FunctionRun {
 public:
  StringAggRun(const WindowContext& context,
               const WindowItem& item,
               const WindowValues& values,
               DataType type)
      : context_(context),
        item_(item),
        values_(values),
        type_(std::move(type)),
        reader_(context.rows->store()->column(item.column)),
        names_(*context.rows) {}

  Status begin_batch(int64_t rows, BatchMemory& memory) override {
    rows_ = rows;
    used_ = 0;
    CD_ASSIGN(valid_, memory.get(rows));
    std::memset(valid_, 0, static_cast<size_t>(rows));
    ends_.assign(static_cast<size_t>(rows) + 1, 0);
    return {};
  }

  Status add(const WindowBlock& block, const FrameRows* frame, int64_t at) override {
    for (int32_t i = 0; i < block.rows; ++i) {
      if (frame != nullptr) {
        const FrameRuns of(*frame, block.position(i), i);
        for (int r = 0; r < of.count; ++r) {
          CD_TRY(join(of.runs[r].begin, of.runs[r].end, valid_[at + i]));
        }
      } else if (block.position(i) == block.partition_begin[i]) {
        CD_TRY(join(block.partition_begin[i], block.partition_end[i], valid_[at + i]));
      }
      ends_[at + i + 1] = used_;
    }
    return {};
  }

  Result<ColumnView> end_batch(BatchMemory& memory) override {
    ColumnView column;
    column.length = rows_;
    CD_TRY(set_validity(valid_, rows_, memory, column));
    if (layout(type_) == Layout::kOffsets64) {
      CD_TRY(store_offsets<int64_t>(memory, column));
    } else {
      CD_TRY(store_offsets<int32_t>(memory, column));
    }
    CD_TRY(make_room(1));  // values are never nullptr
    auto kept = std::make_shared<Block>(std::move(bytes_));
    bytes_ = Block();
    column.values = kept->data();
    memory.keep(std::move(kept));
    return column;
  }

 private:
  // Appends the strings of positions [begin, end).
  Status join(uint32_t begin, uint32_t end, uint8_t& any) {
    RowRef refs[kMaxValueRows];
    keys::Slice slices[kMaxValueRows];
    while (begin < end) {
      const auto count = static_cast<int32_t>(std::min<uint32_t>(kMaxValueRows, end - begin));
      for (int32_t i = 0; i < count; ++i) refs[i] = names_.ref(begin + static_cast<uint32_t>(i));
      uint8_t valid[kMaxValueRows];
      for (int32_t i = 0; i < count; ++i) {
        valid[i] = values_.is_valid(begin + static_cast<uint32_t>(i)) ? 1 : 0;
      }
      reader_.read(refs, count, valid, slices);
      for (int32_t i = 0; i < count; ++i) {
        if (valid[i] == 0) continue;
        const auto separator = static_cast<int64_t>(any != 0 ? item_.text.size() : 0);
        CD_TRY(make_room(separator + slices[i].bytes));
        append(item_.text.data(), separator);
        append(slices[i].data, slices[i].bytes);
        any = 1;
      }
      begin += static_cast<uint32_t>(count);
    }
    return {};
  }

  void append(const void* from, int64_t bytes) {
    if (bytes > 0) std::memcpy(bytes_.data() + used_, from, static_cast<size_t>(bytes));
    used_ += bytes;
  }

  Status make_room(int64_t bytes) {
    constexpr int64_t kLeastBytes = 4096;
    if (used_ + bytes <= bytes_.bytes()) return {};
    const int64_t room = std::max({kLeastBytes, 2 * bytes_.bytes(), used_ + bytes});
    CD_ASSIGN(Block larger, context_.memory->get(room, "string_agg"));
    if (used_ > 0) std::memcpy(larger.data(), bytes_.data(), static_cast<size_t>(used_));
    bytes_ = std::move(larger);
    return {};
  }

  template <class Offset>
  Status store_offsets(BatchMemory& memory, ColumnView& column) {
    if (used_ > std::numeric_limits<Offset>::max()) {
      return make_error(ErrorCode::kValueOutOfRange,
                        "the strings '{}' of {} rows have {} bytes, more than one batch of {} holds"
                        "\n  try      a cast of the column to large_string",
                        item_.name,
                        rows_,
                        used_,
                        type_name(type_));
    }
    CD_ASSIGN(uint8_t * to, memory.get((rows_ + 1) * int64_t{sizeof(Offset)}));
    auto* offsets = reinterpret_cast<Offset*>(to);
    for (int64_t i = 0; i <= rows_; ++i) offsets[i] = static_cast<Offset>(ends_[i]);
    column.offsets = offsets;
    return {};
  }

  const WindowContext& context_;
  const WindowItem& item_;
  const WindowValues& values_;
  DataType type_;
  TextReader reader_;
  RowNames names_;
  int64_t rows_ = 0;
  uint8_t* valid_ = nullptr;
  std::vector<int64_t> ends_;  // of the strings in bytes_
  Block bytes_;
  int64_t used_ = 0;
};

}  // namespace

Prepared prepare_string_agg(const WindowContext& context, const WindowItem& item, DataType type) {
  auto values = std::make_shared<WindowValues>();  // whether there are any
  CD_ASSIGN(*values, WindowValues::load_validity(*context.run, *context.rows, item.column));
  return PreparedFunction{item.frame.has_value(), [&, values, type = std::move(type)] {
                            return std::make_unique<StringAggRun>(context, item, *values, type);
                          }};
}

}  // namespace crossdock::operators
