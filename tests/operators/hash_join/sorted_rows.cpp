// Scatters of small segments, so that partitions have several; see sorted_rows.hpp.
#include "operators/hash_join/sorted_rows.hpp"

#include "base/check.hpp"

namespace crossdock::operators::join_test {

uint64_t word_of(uint64_t number) {
  uint64_t word = (number + 1) * 0x9E3779B97F4A7C15U;
  word = (word ^ (word >> 29)) * 0xBF58476D1CE4E5B9U;
  return word ^ (word >> 32);
}

WordRows random_rows(int64_t count, uint64_t distinct, Random& random) {
  WordRows rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.words.push_back(word_of(random() % distinct));
    rows.carry.push_back(static_cast<uint64_t>(i));
  }
  return rows;
}

SortedRows::SortedRows(const WordRows& rows, int partition_bits, int workers, bool has_carry)
    : partition_bits_(partition_bits), memory_(Memory::create(int64_t{512} << 20)) {
  for (int worker = 0; worker < workers; ++worker) {
    scatters_.push_back(std::make_unique<sorters::RadixScatter>(
        *memory_, sorters::ScatterOptions{partition_bits, has_carry, 64, "test rows"}));
    const Status opened = scatters_.back()->open();
    CD_CHECK(opened.ok(), "open {}", worker);
  }
  for (int64_t i = 0; i < rows.size(); ++i) {
    sorters::RadixScatter& scatter = *scatters_[i % workers];
    const Status put = scatter.put(&rows.words[i], has_carry ? &rows.carry[i] : nullptr, 1);
    CD_CHECK(put.ok(), "row {}", i);
  }
  for (const auto& scatter : scatters_) {
    const Status finished = scatter->finish();
    CD_CHECK(finished.ok(), "rows {}", rows.size());
  }
}

std::vector<const sorters::SegmentList*> SortedRows::part(int index) const {
  std::vector<const sorters::SegmentList*> lists;
  for (const auto& scatter : scatters_) lists.push_back(&scatter->partition(index));
  return lists;
}

}  // namespace crossdock::operators::join_test
