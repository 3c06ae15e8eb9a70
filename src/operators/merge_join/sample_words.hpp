// Words of some rows of a side, in short runs at equal distances: what ranges of keys are chosen by.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/merge_join/merge_keys.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::operators {

constexpr int64_t kSampledOfRange = 32;  // words that each range is chosen by

struct SampledSide {
  const MergeKeys* keys = nullptr;
  const KeyPlan* plan = nullptr;
  SchemaPtr schema;
  Side side = Side::kLeft;
};

// Rows from the begin of one run to that of the next, so that `rows` rows give about `wanted` words.
int64_t sample_stride(int64_t rows, int64_t samples);

// Adds the words to `sample`, in the order of the rows. Rows without a word are left out.
void sample_words(const SampledSide& side,
                  const std::vector<Morsel>& morsels,
                  int64_t stride,
                  std::vector<uint64_t>& sample);

}  // namespace crossdock::operators
