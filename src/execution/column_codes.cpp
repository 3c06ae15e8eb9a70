// One pass names the values, one asks for the names of all rows.
#include "execution/column_codes.hpp"

#include <algorithm>

#include "table/bytes_interner.hpp"

namespace crossdock::execution {
namespace {

constexpr uint32_t kMostCodes = uint32_t{1} << 22;

}  // namespace

Result<std::shared_ptr<const ColumnCodes>> ColumnCodes::create(
    const RowStore& store, int column, uint64_t seed, const std::shared_ptr<Memory>& memory) {
  const ChunkedColumn& chunks = store.column(column);
  const DataType& type = chunks.field->type;
  BytesInterner interner(*memory, kMostCodes, seed);
  const auto for_blocks = [&](const auto& act) -> Status {
    for (size_t c = 0; c < chunks.chunks.size(); ++c) {
      const ColumnView& chunk = chunks.chunks[c];
      for (int64_t at = 0; at < chunk.length; at += kMaxKeyRows) {
        const auto rows = static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, chunk.length - at));
        CD_TRY(act(
            chunk, at, rows, static_cast<RowRef>(c << kChunkRowBits) + static_cast<RowRef>(at)));
      }
    }
    return {};
  };
  CD_TRY(for_blocks([&](const ColumnView& chunk, int64_t at, int32_t rows, RowRef) {
    return interner.add(type, chunk, at, rows);
  }));
  if (interner.is_full()) return std::shared_ptr<const ColumnCodes>();
  std::shared_ptr<ColumnCodes> codes(new ColumnCodes);
  codes->values_ = interner.value_count();
  const auto chunk_count = static_cast<int64_t>(std::max<size_t>(1, chunks.chunks.size()));
  const int64_t refs = chunk_count << kChunkRowBits;
  CD_ASSIGN(codes->codes_,
            memory->get(refs * int64_t{sizeof(uint32_t)}, "group-by: codes of keys"));
  CD_ASSIGN(codes->rows_,
            memory->get((int64_t{codes->values_} + 1) * int64_t{sizeof(RowRef)}, "group-by: keys"));
  auto* by_code = codes->rows_.as<RowRef>();
  by_code[codes->values_] = kNullRef;
  BytesInterner::Scratch scratch(type);
  CD_TRY(for_blocks([&](const ColumnView& chunk, int64_t at, int32_t rows, RowRef first) -> Status {
    uint32_t* to = codes->codes_.as<uint32_t>() + first;
    interner.find(chunk, at, rows, to, scratch);
    for (int32_t r = 0; r < rows; ++r) {
      if (to[r] == kNoCode) to[r] = codes->values_;
      if (to[r] != codes->values_) by_code[to[r]] = first + static_cast<RowRef>(r);
    }
    return {};
  }));
  return std::shared_ptr<const ColumnCodes>(std::move(codes));
}

}  // namespace crossdock::execution
