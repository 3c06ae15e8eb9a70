// Gathers of strings in an offsets layout, in two passes: lengths first, which fixes the output's
// offsets and size, then the bytes, each copied once. The first pass keeps where every string lies
// (8 bytes a row of scratch), so that the second does not miss the cache on the offsets again.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "table/gather_parts.hpp"

namespace crossdock::gathering {
namespace {

constexpr int64_t kWordBytes = 16;  // unit of the unchecked copy: it may write so much too far
constexpr int64_t kAheadRows = 16;  // strings whose first line is requested before its turn

enum BlockTrait : uint8_t {
  kPlain = 0,
  kExact = 1,  // a string ends within 16 bytes of its buffer's end: no reading past it
  kRun = 2,    // consecutive strings of one buffer: only the first has a place in the scratch
  kFar = 4,    // the strings are not in the cache
};

struct Scratch {
  Block block;
  const uint8_t** sources;  // per row
  uint8_t* traits;          // per 64 rows
};

template <class Offset>
Offset add_wrapping(Offset a, Offset b) {
  using Bits = std::make_unsigned_t<Offset>;
  return static_cast<Offset>(static_cast<Bits>(a) + static_cast<Bits>(b));
}

Result<Scratch> make_scratch(const Request& request) {
  const auto count = static_cast<int64_t>(request.refs.size());
  CD_ASSIGN(Block block, request.memory.get(count * 8 + words_for(count), "gather string places"));
  Scratch scratch{std::move(block), nullptr, nullptr};
  scratch.sources = scratch.block.as<const uint8_t*>();
  scratch.traits = scratch.block.data() + count * 8;
  return scratch;
}

// Up to 64 rows in the first pass.
struct MeasureBlock {
  const RowRef* refs;
  int64_t count;
  uint64_t valid;  // a bit per row; all ones if no row is null, which includes missing rows
  const uint8_t** sources;

  bool full() const { return count == kBlockRows; }
  bool all_valid() const { return valid == ~uint64_t{0}; }
};

inline uintptr_t entry_of(const ChunkStrings& chunk, RowRef ref, size_t offset_bytes) {
  return chunk.offsets + static_cast<uintptr_t>(ref) * offset_bytes;
}

template <class Offset>
void prefetch_entries(const ChunkedColumn& column, const RowRef* refs) {
  for (int64_t i = 0; i < kBlockRows; ++i) {
    const RowRef ref = readable<true>(refs[i], column.any_ref);
    const ChunkStrings& chunk = column.strings[ref >> kChunkRowBits];
    __builtin_prefetch(reinterpret_cast<const void*>(entry_of(chunk, ref, sizeof(Offset))));
  }
}

// The functions below write the end offsets of a block, counting from `total`, and the places of its
// strings; they answer its traits.

template <class Offset>
uint8_t measure_run(const ChunkStrings& chunk,
                    const MeasureBlock& block,
                    Offset* ends,
                    int64_t& total) {
  const auto entries =
      reinterpret_cast<const uint8_t*>(entry_of(chunk, block.refs[0], sizeof(Offset)));
  const auto begin = load_unaligned<Offset>(entries);
  const auto shift = static_cast<Offset>(total - begin);  // wraps only if the total is too large
  for (int64_t i = 0; i < kBlockRows; ++i) {
    ends[i] = add_wrapping(load_unaligned<Offset>(entries + (i + 1) * sizeof(Offset)), shift);
  }
  total += load_unaligned<Offset>(entries + kBlockRows * sizeof(Offset)) - begin;
  block.sources[0] = chunk.bytes + begin;
  return kRun;
}

template <class Offset, bool kMasked>
uint8_t measure_rows(const ChunkedColumn& column,
                     const MeasureBlock& block,
                     Offset* ends,
                     int64_t& total) {
  int64_t sum = total;
  uint32_t exact = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    const RowRef ref = readable<kMasked>(block.refs[i], column.any_ref);
    const ChunkStrings& chunk = column.strings[ref >> kChunkRowBits];
    const uintptr_t entry = entry_of(chunk, ref, sizeof(Offset));
    const auto begin = load_unaligned<Offset>(reinterpret_cast<const void*>(entry));
    const auto end = load_unaligned<Offset>(reinterpret_cast<const void*>(entry + sizeof(Offset)));
    int64_t bytes = end - begin;
    if constexpr (kMasked) bytes &= -static_cast<int64_t>((block.valid >> i) & 1);
    block.sources[i] = chunk.bytes + begin;
    exact |= reinterpret_cast<uintptr_t>(chunk.bytes) + end + kWordBytes > chunk.end ? 1U : 0U;
    sum += bytes;
    ends[i] = static_cast<Offset>(sum);
  }
  total = sum;
  return exact != 0 ? kExact : kPlain;
}

template <class Offset>
uint8_t measure(const ChunkedColumn& column,
                const MeasureBlock& block,
                Offset* ends,
                int64_t& total) {
  if (block.full() && block.all_valid() && is_run(block.refs)) {
    const ChunkStrings& first = column.strings[block.refs[0] >> kChunkRowBits];
    const ChunkStrings& last = column.strings[block.refs[kBlockRows - 1] >> kChunkRowBits];
    if (first.offsets == last.offsets) return measure_run<Offset>(first, block, ends, total);
  }
  const bool far = block.full() && !is_near(block.refs);
  if (far) prefetch_entries<Offset>(column, block.refs);
  const uint8_t traits = block.all_valid() ? measure_rows<Offset, false>(column, block, ends, total)
                                           : measure_rows<Offset, true>(column, block, ends, total);
  return static_cast<uint8_t>(traits | (far ? kFar : kPlain));
}

// Answers the total bytes; the offsets have wrapped around if it does not fit them.
template <class Offset>
int64_t measure_all(const Request& request,
                    const Validity& validity,
                    const Scratch& scratch,
                    Offset* offsets) {
  const auto count = static_cast<int64_t>(request.refs.size());
  int64_t total = 0;
  offsets[0] = 0;
  for (int64_t row = 0; row < count; row += kBlockRows) {
    const MeasureBlock block{
        request.refs.data() + row,
        std::min(kBlockRows, count - row),
        validity.null_count == 0 ? ~uint64_t{0} : validity.words()[row / kBlockRows],
        scratch.sources + row};
    scratch.traits[row / kBlockRows] = measure(request.column, block, offsets + row + 1, total);
  }
  return total;
}

inline void copy_words(uint8_t* to, const uint8_t* from, int64_t bytes) {
  int64_t done = 0;
  do {  // most strings end within the first word
    std::memcpy(to + done, from + done, kWordBytes);
    done += kWordBytes;
  } while (done < bytes);
}

// Copies the strings of rows [begin, begin + count), count <= 64, of `rows` in all.
template <class Offset>
void copy_block(
    const Scratch& scratch, const Offset* offsets, int64_t begin, int64_t rows, uint8_t* out) {
  const uint8_t* const* sources = scratch.sources + begin;
  const Offset* starts = offsets + begin;
  const int64_t count = std::min(kBlockRows, rows - begin);
  const uint8_t traits = scratch.traits[begin / kBlockRows];
  const int64_t span = starts[count] - starts[0];
  if (span == 0) return;
  if ((traits & kRun) != 0) {
    std::memcpy(out + starts[0], sources[0], span);
    return;
  }
  const int64_t ahead = (traits & kFar) != 0 ? std::min(count, rows - kAheadRows - begin) : 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i < ahead) __builtin_prefetch(sources[i + kAheadRows]);
    const int64_t bytes = starts[i + 1] - starts[i];
    if ((traits & kExact) == 0) {
      copy_words(out + starts[i], sources[i], bytes);
    } else if (bytes > 0) {
      std::memcpy(out + starts[i], sources[i], bytes);
    }
  }
}

template <class Offset>
Status check_total(int64_t total, const Request& request) {
  if (total <= std::numeric_limits<Offset>::max()) return {};
  return make_error(ErrorCode::kValueOutOfRange,
                    "column \"{}\": {} rows of output hold {} bytes of text, but 32-bit offsets "
                    "reach {}\n  try      a cast of the column to large_utf8 or large_binary, or a "
                    "smaller batch_rows",
                    request.column.field->name,
                    request.refs.size(),
                    total,
                    std::numeric_limits<Offset>::max());
}

}  // namespace

template <class Offset>
Result<Strings> gather_strings(const Request& request, const Validity& validity) {
  const auto count = static_cast<int64_t>(request.refs.size());
  Strings strings;
  CD_ASSIGN(strings.offsets,
            request.memory.get((count + 1) * static_cast<int64_t>(sizeof(Offset)),
                               "gather string offsets"));
  CD_ASSIGN(const Scratch scratch, make_scratch(request));
  auto* offsets = strings.offsets.template as<Offset>();
  const int64_t total = measure_all(request, validity, scratch, offsets);
  CD_TRY(check_total<Offset>(total, request));
  CD_ASSIGN(strings.bytes, request.memory.get(total + kWordBytes, "gather string bytes"));
  for (int64_t row = 0; row < count; row += kBlockRows) {
    copy_block(scratch, offsets, row, count, strings.bytes.data());
  }
  return strings;
}

template Result<Strings> gather_strings<int32_t>(const Request&, const Validity&);
template Result<Strings> gather_strings<int64_t>(const Request&, const Validity&);

}  // namespace crossdock::gathering
