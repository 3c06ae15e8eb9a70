#include "execution/join_table.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "table/word_mix.hpp"

namespace crossdock::execution {
namespace {

using operators::FindOptions;
using operators::OperatorRun;
using sorters::SegmentList;

constexpr const char* kPhase = "build table";
// An array takes 4 bytes a value of the range, runs some 24 bytes a row, and reads one line where runs read two.
constexpr uint64_t kArrayValuesPerRow = 8;
constexpr uint64_t kArrayValuesAlways = uint64_t{1} << 16;
// A bitmap of this many values a row takes 32 bytes a row: still less than what a row costs that finds no partner.
constexpr uint64_t kBitmapValuesPerRow = 256;
// One of 128 KiB stays in the second-level cache, and answers at once what a run is looked up for.
constexpr uint64_t kBitmapValuesAlways = uint64_t{1} << 20;
constexpr int64_t kRunBytesPerRow = 24;

// Zeroes a block with all workers: first touches of fresh memory are the larger part of it.
Status zero(OperatorRun& run, Block& block) {
  constexpr int64_t kBytesPerTurn = int64_t{4} << 20;
  const int64_t turns = (block.bytes() + kBytesPerTurn - 1) / kBytesPerTurn;
  return run.for_indices(kPhase, turns, 0, [&](int, int64_t index) -> Status {
    const int64_t begin = index * kBytesPerTurn;
    std::memset(block.data() + begin,
                0,
                static_cast<size_t>(std::min(kBytesPerTurn, block.bytes() - begin)));
    return {};
  });
}

}  // namespace

FindOptions JoinTable::find_options() const {
  return {unique_, table_.rows * kRunBytesPerRow > machine_.l2_bytes};
}

bool JoinTable::may_be_array() const {
  if (!keys_.is_one_integer() || range_.is_empty()) return false;
  const auto rows = static_cast<uint64_t>(table_.rows);
  return span_ < std::max(kArrayValuesAlways, kArrayValuesPerRow * rows) && span_ < UINT32_MAX;
}

bool JoinTable::wants_bitmap() const {
  if (!keys_.is_one_integer() || range_.is_empty()) return false;
  const auto rows = static_cast<uint64_t>(table_.rows);
  if (span_ >= std::max(kBitmapValuesAlways, kBitmapValuesPerRow * rows)) return false;
  // Where nearly all values of the range are keys, the bitmap could say no to nothing.
  if (span_ <= rows + rows / 4) return false;
  if (!is_array_ && span_ < kBitmapValuesAlways) return true;
  const auto values = static_cast<int64_t>(span_) + 1;
  const int64_t bytes = is_array_ ? values * 4 : table_.rows * kRunBytesPerRow;
  return bytes > machine_.l2_bytes / 2;
}

// Calls enter(key, ref) for all rows, from all workers; keys of one partition by one worker.
template <class Enter>
Status JoinTable::for_keys(OperatorRun& run, const Input& input, const Enter& enter) const {
  const int64_t parts = int64_t{1} << input.partition_bits;
  return run.for_indices(kPhase, parts, 0, [&](int, int64_t part) -> Status {
    for (const sorters::RadixScatter* scatter : input.scatters) {
      for (const sorters::Segment* segment : scatter->partition(static_cast<int>(part))) {
        const uint64_t* words = segment->words();
        const uint64_t* refs = segment->carry();
        for (int32_t i = 0; i < segment->rows; ++i) {
          enter(keys_.plan().mix.unmix(words[i]), static_cast<uint32_t>(refs[i]));
        }
      }
    }
    return {};
  });
}

// Keys of one partition are entered by one worker, so equal keys meet in one thread, and no entry needs an atomic.
Status JoinTable::build_array(OperatorRun& run, const Input& input, bool& duplicate) {
  CD_ASSIGN(array_,
            run.memory->get((static_cast<int64_t>(span_) + 1) * 4, "the build side's array"));
  CD_TRY(zero(run, array_));
  auto* entries = array_.as<uint32_t>();
  const auto min = static_cast<uint64_t>(range_.min);
  std::atomic<uint32_t> met{0};
  CD_TRY(for_keys(run, input, [&](uint64_t key, uint32_t ref) {
    uint32_t& entry = entries[key - min];
    if (entry != 0) met.store(entry, std::memory_order_relaxed);
    entry = ref + 1;
  }));
  duplicate = met.load() != 0;
  if (duplicate) array_.reset();
  return {};
}

// Neighbouring values may be of two partitions, so words of the bitmap are shared.
Status JoinTable::build_bitmap(OperatorRun& run, const Input& input) {
  const int64_t words = static_cast<int64_t>(span_ >> 6) + 1;
  CD_ASSIGN(bitmap_, run.memory->get(words * 8, "the build side's key filter"));
  CD_TRY(zero(run, bitmap_));
  auto* bits = bitmap_.as<uint64_t>();
  const auto min = static_cast<uint64_t>(range_.min);
  CD_TRY(for_keys(run, input, [&](uint64_t key, uint32_t) {
    const uint64_t at = key - min;
    std::atomic_ref<uint64_t>(bits[at >> 6])
        .fetch_or(uint64_t{1} << (at & 63), std::memory_order_relaxed);
  }));
  has_bitmap_ = true;
  return {};
}

Status JoinTable::build_runs(OperatorRun& run, const Input& input) {
  const int parts = 1 << input.partition_bits;
  std::vector<uint32_t> first_row(parts + 1, 0);
  for (int p = 0; p < parts; ++p) {
    int64_t rows = 0;
    for (const auto* scatter : input.scatters) rows += scatter->partition_rows(p);
    first_row[p + 1] = first_row[p] + static_cast<uint32_t>(rows);
  }
  table_.slot_bits = std::max(operators::table_slot_bits(table_.rows), input.partition_bits + 1);
  const int64_t slots = int64_t{1} << table_.slot_bits;
  CD_ASSIGN(words_, run.memory->get((table_.rows + 1) * 8, "the build side's table"));
  CD_ASSIGN(refs_, run.memory->get((table_.rows + 1) * 8, "the build side's table"));
  CD_ASSIGN(directory_, run.memory->get((slots + 1) * 4, "the build side's table"));
  table_.words = words_.as<uint64_t>();
  table_.words[table_.rows] = 0;
  table_.carry = refs_.as<uint64_t>();
  table_.directory = directory_.data();
  directory_.as<uint32_t>()[slots] = static_cast<uint32_t>(table_.rows);
  const int part_bits = table_.slot_bits - input.partition_bits;
  CD_TRY(run.for_indices(kPhase, parts, 0, [&](int, int64_t p) -> Status {
    std::vector<const SegmentList*> lists;
    for (const auto* scatter : input.scatters) {
      lists.push_back(&scatter->partition(static_cast<int>(p)));
    }
    operators::build_range({directory_.as<uint32_t>() + (p << part_bits),
                            table_.words,
                            table_.carry,
                            first_row[p],
                            input.partition_bits,
                            part_bits},
                           lists);
    return {};
  }));
  unique_ = operators::words_are_unique(table_) && !keys_.needs_verification();
  if (keys_.is_one_integer() || table_.rows * kRunBytesPerRow <= machine_.l2_bytes) return {};
  CD_ASSIGN(
      auto filter,
      operators::KeyFilter::create(keys_.plan(), table_.rows, input.partition_bits, *run.memory));
  filter_.emplace(std::move(filter));
  return run.for_indices(kPhase, parts, 0, [&](int, int64_t p) -> Status {
    std::vector<const SegmentList*> lists;
    for (const auto* scatter : input.scatters) {
      lists.push_back(&scatter->partition(static_cast<int>(p)));
    }
    filter_->fill_partition(static_cast<int>(p), lists.data(), static_cast<int>(lists.size()));
    return {};
  });
}

void JoinTable::list_keys(const Input& input) {
  for (const sorters::RadixScatter* scatter : input.scatters) {
    for (int p = 0; p < scatter->partition_count(); ++p) {
      for (const sorters::Segment* segment : scatter->partition(p)) {
        for (int32_t i = 0; i < segment->rows; ++i) {
          few_keys_.push_back(static_cast<int64_t>(keys_.plan().mix.unmix(segment->words()[i])));
        }
      }
    }
  }
}

Status JoinTable::build(OperatorRun& run, const Input& input) {
  store_ = input.rows;
  for (const auto* scatter : input.scatters) {
    for (int p = 0; p < scatter->partition_count(); ++p) {
      table_.rows += scatter->partition_rows(p);
    }
  }
  range_ = input.range;
  if (!range_.is_empty()) {
    span_ = static_cast<uint64_t>(range_.max) - static_cast<uint64_t>(range_.min);
  }
  if (keys_.is_one_integer() && table_.rows <= kFewKeys) list_keys(input);
  if (may_be_array()) {
    bool duplicate = false;
    CD_TRY(build_array(run, input, duplicate));
    is_array_ = unique_ = !duplicate;
  }
  if (!is_array_) CD_TRY(build_runs(run, input));
  if (wants_bitmap()) CD_TRY(build_bitmap(run, input));
  keyless_ = input.keyless;
  if (!input.marks) return {};
  CD_ASSIGN(marks_, run.memory->get(positions() + 1, "the build side's marks"));
  return zero(run, marks_);
}

int32_t JoinTable::select_by_filter(uint64_t* words, uint16_t* rows, int32_t count) const {
  uint8_t keep[kBlockRows];
  filter_->test(words, count, keep);
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    words[kept] = words[i];
    rows[kept] = rows[i];
    kept += keep[i];
  }
  return kept;
}

int32_t JoinTable::select_by_range(uint64_t* words, uint16_t* rows, int32_t count) const {
  if (range_.is_empty()) return 0;
  const auto min = static_cast<uint64_t>(range_.min);
  const uint64_t* bits = bitmap_.as<const uint64_t>();
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i) {
    const uint64_t key = words[i];
    const uint64_t at = key - min;
    const bool inside = at <= span_;
    uint64_t hit = 1;
    if (has_bitmap_) {
      const uint64_t place = inside ? at : 0;
      hit = bits[place >> 6] >> (place & 63) & 1;
    }
    words[kept] = key;
    rows[kept] = rows[i];
    kept += static_cast<int32_t>(hit & (inside ? 1U : 0U));
  }
  return kept;
}

int32_t JoinTable::select(uint64_t* words, uint16_t* rows, int32_t count) const {
  if (keys_.is_one_integer()) count = select_by_range(words, rows, count);
  if (!is_array_ && keys_.is_packed()) mix_words(keys_.plan().mix, words, count);
  return filter_.has_value() ? select_by_filter(words, rows, count) : count;
}

std::string JoinTable::describe() const {
  if (is_array_) {
    return fmt::format("array of {} keys in a range of {}{}",
                       table_.rows,
                       span_ + 1,
                       has_bitmap_ ? ", bitmap" : "");
  }
  return fmt::format("runs of {} {}keys{}",
                     table_.rows,
                     unique_ ? "unique " : "",
                     has_bitmap_           ? ", bitmap"
                     : filter_.has_value() ? ", Bloom filter"
                                           : "");
}

}  // namespace crossdock::execution
