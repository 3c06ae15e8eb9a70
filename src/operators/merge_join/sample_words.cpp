// Runs of sixteen rows.
#include "operators/merge_join/sample_words.hpp"

#include <algorithm>

namespace crossdock::operators {
namespace {

constexpr int32_t kRunRows = 16;

}  // namespace

int64_t sample_stride(int64_t rows, int64_t samples) {
  return std::max<int64_t>(kRunRows, rows / std::max<int64_t>(1, samples / kRunRows));
}

void sample_words(const SampledSide& side,
                  const std::vector<Morsel>& morsels,
                  int64_t stride,
                  std::vector<uint64_t>& sample) {
  MergeEncoder encoder(*side.keys, *side.plan, *side.schema, side.side);
  int64_t skip = 0;
  for (const Morsel& morsel : morsels) {
    for (; skip < morsel.rows; skip += stride) {
      uint64_t words[kRunRows];
      uint8_t live[kRunRows];
      const auto rows = static_cast<int32_t>(std::min<int64_t>(kRunRows, morsel.rows - skip));
      const int32_t count = encoder.encode(*morsel.batch, morsel.begin + skip, rows, words, live);
      for (int32_t i = 0; i < rows; ++i) {
        if (count == rows || live[i] != 0) sample.push_back(words[i]);
      }
    }
    skip -= morsel.rows;
  }
}

}  // namespace crossdock::operators
