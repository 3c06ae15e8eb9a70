#include "operators/merge_join/rank_ranges.hpp"

#include <algorithm>
#include <numeric>

#include "data/sorters/word_sort.hpp"
#include "operators/merge_join/sample_words.hpp"

namespace crossdock::operators {

Result<std::shared_ptr<const sorters::RangeMap>> agree_on_ranges(ranks::Communicator& ranks,
                                                                 const MergeKeys& keys,
                                                                 const KeyPlan& plan,
                                                                 const RankRows& rows,
                                                                 int ranges) {
  const int64_t mine = rows.stores[0]->rows() + rows.stores[1]->rows();
  CD_ASSIGN(const std::vector<int64_t> all, ranks.all_gather({&mine, 1}));
  const int64_t total = std::max<int64_t>(1, std::accumulate(all.begin(), all.end(), int64_t{0}));
  const int64_t samples = ranges * kSampledOfRange;
  std::vector<uint64_t> sample;
  const int64_t stride = sample_stride(total, samples);
  for (const Side side : {Side::kLeft, Side::kRight}) {
    sample_words({&keys, &plan, rows.stores[index_of(side)]->schema(), side},
                 *rows.morsels[index_of(side)],
                 stride,
                 sample);
  }
  // Blocks of equal size, each with its number of words before them.
  const auto sampled = static_cast<int64_t>(sample.size());
  CD_ASSIGN(const int64_t most, ranks.fold(sampled, ranks::Fold::kMax));
  std::vector<int64_t> block(static_cast<size_t>(most) + 1);
  block[0] = sampled;
  std::copy(sample.begin(), sample.end(), reinterpret_cast<uint64_t*>(block.data() + 1));
  CD_ASSIGN(const std::vector<int64_t> blocks, ranks.all_gather(block));
  std::vector<uint64_t> words;
  for (size_t at = 0; at < blocks.size(); at += block.size()) {
    const auto* const first = reinterpret_cast<const uint64_t*>(blocks.data() + at + 1);
    words.insert(words.end(), first, first + blocks[at]);
  }
  std::vector<uint64_t> scratch(words.size());
  sorters::sort_words(words.data(), static_cast<int64_t>(words.size()), scratch.data());
  return std::make_shared<const sorters::RangeMap>(sorters::choose_splitters(words, ranges));
}

std::shared_ptr<const sorters::RangeMap> owned_ranges(const sorters::RangeMap& all,
                                                      const std::vector<int>& owned) {
  std::vector<sorters::Splitter> splitters;
  for (const int range : owned) splitters.push_back(all.splitter(range));
  if (splitters.empty()) splitters.emplace_back();
  splitters[0].word = 0;  // a map covers all words; whose they are has been settled
  return std::make_shared<const sorters::RangeMap>(std::move(splitters));
}

}  // namespace crossdock::operators
