// Gathers of strings in an offsets layout, in two passes: lengths first, which fixes the output's
// offsets and size, then the bytes, each copied once. The first pass keeps where every string lies
// (8 bytes a row of scratch), so that the second does not miss the cache on the offsets again.
#include <algorithm>
#include <limits>

#include "table/gather_parts.hpp"

namespace crossdock::gathering {
namespace {

constexpr int64_t kWordBytes = 16;  // unit of the unchecked copy: it may write so much too far
constexpr int64_t kAheadRows = 16;  // strings whose first line is requested before its turn

enum BlockTrait : uint8_t {
  kPlain = 0,
  kExact = 1,  // a string ends within 16 bytes of its buffer's end: no reading past it
  kRun = 2,    // consecutive rows
};

struct Scratch {
  Block block;
  const uint8_t** sources;  // per row
  uint8_t* traits;          // per 64 rows
};

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
  uint64_t valid;  // a bit per row; read only if some row of the output is null
  const uint8_t** sources;
};

// Writes the places and end offsets of a block, counting from `total`, and answers its traits.
template <class Offset, bool kMasked, bool kNullRefs>
uint8_t measure(const ChunkedColumn& column,
                const MeasureBlock& block,
                Offset* ends,
                int64_t& total) {
  int64_t sum = total;
  uint32_t exact = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    const RowRef ref = readable<kNullRefs>(block.refs[i], column.any_ref);
    const ChunkStrings& chunk = column.strings[ref >> kChunkRowBits];
    const uintptr_t entry = chunk.offsets + static_cast<uintptr_t>(ref) * sizeof(Offset);
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
  const bool run = block.count == kBlockRows && is_run(block.refs);
  return static_cast<uint8_t>((exact != 0 ? kExact : kPlain) | (run ? kRun : kPlain));
}

// Answers the total bytes; the offsets have wrapped around if it does not fit them.
template <class Offset>
int64_t measure_all(const Request& request,
                    const Validity& validity,
                    const Scratch& scratch,
                    Offset* offsets) {
  const auto count = static_cast<int64_t>(request.refs.size());
  const bool no_nulls = validity.null_count == 0;  // then there was no null ref either
  const auto measure_block = no_nulls          ? measure<Offset, false, false>
                           : request.null_refs ? measure<Offset, true, true>
                                               : measure<Offset, true, false>;
  int64_t total = 0;
  offsets[0] = 0;
  for (int64_t row = 0; row < count; row += kBlockRows) {
    const MeasureBlock block{request.refs.data() + row,
                             std::min(kBlockRows, count - row),
                             no_nulls ? 0 : validity.words()[row / kBlockRows],
                             scratch.sources + row};
    scratch.traits[row / kBlockRows] =
        measure_block(request.column, block, offsets + row + 1, total);
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
    const int64_t last = starts[count] - starts[count - 1];
    // Fails only if a null slot holds bytes.
    if (sources[count - 1] + last - sources[0] == span) {
      std::memcpy(out + starts[0], sources[0], span);
      return;
    }
  }
  const int64_t ahead = std::min(count, rows - kAheadRows - begin);
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
                    "reach {}\n  try   a cast of the column to large_utf8 or large_binary, or a "
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
