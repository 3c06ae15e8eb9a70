// Gathers of 16-byte string views. The bytes stay in their heaps; the output lists the heaps of all
// batches, so only the buffer number inside a long view changes.
#include <algorithm>

#include "table/gather_parts.hpp"

namespace crossdock::gathering {
namespace {

constexpr uint32_t kGatheredInlineBytes = 12;

struct View {
  uint64_t head;  // length in the low half, then 4 bytes of text
  uint64_t tail;  // text, or buffer number in the low half and position in the high one
};

inline const void* place_of(const ChunkedColumn& column, RowRef ref) {
  return reinterpret_cast<const void*>(column.origins[ref >> kChunkRowBits] +
                                       static_cast<uintptr_t>(ref) * sizeof(View));
}

void prefetch_views(const ChunkedColumn& column, const RowRef* refs) {
  for (int64_t i = 0; i < kBlockRows; ++i) {
    __builtin_prefetch(place_of(column, readable<true>(refs[i], column.any_ref)));
  }
}

// Copies up to 64 views; answers whether one of them is long. Rows whose bit in `valid` is not set
// become empty (kMasked; otherwise all are valid).
template <bool kMasked>
bool copy_views(
    const ChunkedColumn& column, const RowRef* refs, int64_t count, uint64_t valid, View* out) {
  uint64_t longest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const RowRef ref = readable<kMasked>(refs[i], column.any_ref);
    View view = load_unaligned<View>(place_of(column, ref));
    if constexpr (kMasked) {
      const uint64_t keep = -((valid >> i) & 1);
      view.head &= keep;
      view.tail &= keep;
    }
    const auto bytes = static_cast<uint32_t>(view.head);
    view.tail += bytes > kGatheredInlineBytes ? column.first_heap[ref >> kChunkRowBits] : 0;
    longest |= static_cast<uint64_t>(bytes > kGatheredInlineBytes);
    out[i] = view;
  }
  return longest != 0;
}

}  // namespace

Result<Views> gather_views(const Request& request, const Validity& validity) {
  const auto count = static_cast<int64_t>(request.refs.size());
  Views views;
  CD_ASSIGN(views.values,
            request.memory.get(count * static_cast<int64_t>(sizeof(View)), "gather views"));
  auto* out = views.values.as<View>();
  for (int64_t row = 0; row < count; row += kBlockRows) {
    const RowRef* refs = request.refs.data() + row;
    const int64_t rows = std::min(kBlockRows, count - row);
    const uint64_t valid =
        validity.null_count == 0 ? ~uint64_t{0} : validity.words()[row / kBlockRows];
    if (rows == kBlockRows && !is_near(refs)) prefetch_views(request.column, refs);
    // A missing row is null too, so where all are valid none is missing.
    views.any_long |= valid == ~uint64_t{0}
                        ? copy_views<false>(request.column, refs, rows, valid, out + row)
                        : copy_views<true>(request.column, refs, rows, valid, out + row);
  }
  return views;
}

}  // namespace crossdock::gathering
