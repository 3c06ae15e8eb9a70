#include "operators/partition/range_numberer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "data/sorters/splitters.hpp"
#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

struct SampledKey {
  uint64_t word = 0;
  RowRef row = kNullRef;
};

// The first key of a range, of which the word alone may not say enough: strings with long common
// beginnings have equal words. Splitters of one word lie side by side in `rows`.
struct RangeStarts {
  std::vector<sorters::Splitter> words;  // ascending, from word 0 on
  std::vector<uint32_t> first;  // by word: its first splitter in `rows`; one more at the end
  std::vector<RowRef> rows;     // by range but the first one: the row whose key it starts with
};

class RangeNumberer : public RowNumberer {
 public:
  RangeNumberer(OrderKeyPlan keys, RangeStarts starts)
      : keys_(std::move(keys)),
        map_(starts.words),
        first_(std::move(starts.first)),
        rows_(std::move(starts.rows)) {}

  Status number(int, const Morsel& morsel, uint16_t* numbers) override {
    uint64_t words[kNumberedRows];
    uint16_t ranges[kNumberedRows];
    keys_.encode(0, *morsel.batch, morsel.begin, morsel.rows, words);
    map_.find(words, morsel.rows, ranges);
    const bool exact = keys_.is_exact();
    for (int32_t i = 0; i < morsel.rows; ++i) {
      const bool is_start = !exact && words[i] == map_.splitter(ranges[i]).word;
      const RowRef row = morsel.first_ref + static_cast<RowRef>(i);
      numbers[i] =
          static_cast<uint16_t>(is_start ? splitters_up_to(ranges[i], row) : first_[ranges[i] + 1]);
    }
    return {};
  }

 private:
  // How many splitters are not above the row's key, which has the word number `word`.
  uint32_t splitters_up_to(uint16_t word, RowRef row) const {
    const auto begin = rows_.begin() + first_[word];
    const auto end = rows_.begin() + first_[word + 1];
    const OrderComparer comparer(keys_, 0, 0);
    const auto above = std::upper_bound(begin, end, row, [&](RowRef one, RowRef splitter) {
      return comparer.compare(one, splitter) < 0;
    });
    return static_cast<uint32_t>(above - rows_.begin());
  }

  OrderKeyPlan keys_;
  sorters::RangeMap map_;
  std::vector<uint32_t> first_;
  std::vector<RowRef> rows_;
};

// Keys of rows that lie evenly over the table, in order.
std::vector<SampledKey> sample_keys(const OrderKeyPlan& keys,
                                    const RowStore& store,
                                    int64_t samples) {
  std::vector<SampledKey> sample;
  const int64_t step = std::max<int64_t>(1, store.rows() / samples);
  int64_t next = 0;  // row of the table that is looked at next
  int64_t first = 0;
  for (size_t b = 0; b < store.batches().size(); ++b) {
    const Batch& batch = store.batches()[b];
    for (; next < first + batch.rows; next += step) {
      const int64_t row = next - first;
      SampledKey& key = sample.emplace_back();
      key.row = store.first_ref(static_cast<int>(b)) + static_cast<RowRef>(row);
      keys.encode(0, batch, row, 1, &key.word);
    }
    first += batch.rows;
  }
  const OrderComparer comparer(keys, 0, 0);
  std::sort(sample.begin(), sample.end(), [&](const SampledKey& a, const SampledKey& b) {
    if (a.word != b.word || keys.is_exact()) return a.word < b.word;
    return comparer.compare(a.row, b.row) < 0;
  });
  return sample;
}

// Quantiles of the sample. A key starts one range at most, so there may be fewer than wanted.
RangeStarts cut_ranges(const OrderKeyPlan& keys,
                       const std::vector<SampledKey>& sample,
                       int partitions) {
  const OrderComparer comparer(keys, 0, 0);
  const auto differ = [&](const SampledKey& a, const SampledKey& b) {
    if (a.word != b.word) return true;
    return !keys.is_exact() && comparer.compare(a.row, b.row) != 0;
  };
  RangeStarts starts{{sorters::Splitter{}}, {0}, {}};
  const SampledKey* last = sample.empty() ? nullptr : &sample[0];
  for (int p = 1; p < partitions && last != nullptr; ++p) {
    const SampledKey& key = sample[sample.size() * p / partitions];
    if (!differ(key, *last)) continue;
    last = &key;
    if (key.word != starts.words.back().word) {
      // Splitters that rows are compared with must stay where they are, as heavy ones do.
      starts.words.push_back({key.word, !keys.is_exact()});
      starts.first.push_back(static_cast<uint32_t>(starts.rows.size()));
    }
    starts.rows.push_back(key.row);
  }
  starts.first.push_back(static_cast<uint32_t>(starts.rows.size()));
  return starts;
}

}  // namespace

Result<std::unique_ptr<RowNumberer>> make_range_numberer(const PartitionSpec& spec,
                                                         const RowStore& store,
                                                         OperatorRun& run) {
  std::vector<OrderTerm> terms;
  for (const int column : spec.keys) {
    const DataType& type = store.schema()->fields[column].type;
    CD_ASSIGN(const KeyKind kind, common_key_kind(type, type));
    terms.push_back({kind, false, false});
  }
  CD_ASSIGN(OrderKeyPlan keys, OrderKeyPlan::create(std::move(terms), {{&store, spec.keys}}));
  std::vector<OrderRanges> ranges_of(run.team->worker_count(), keys.make_ranges());
  const std::vector<Morsel> morsels = cut_morsels(store, run.team->worker_count());
  CD_TRY(
      run.for_morsels("scan key range", morsels, [&](int worker, const Morsel& morsel) -> Status {
        keys.scan(0, *morsel.batch, morsel.begin, morsel.rows, ranges_of[worker]);
        return {};
      }));
  keys.settle(merged(ranges_of));
  // So that most ranges are within a tenth of their share.
  constexpr int64_t kSamplesPerRange = 128;
  constexpr int64_t kSamplesMin = 1 << 14;
  const int64_t samples = std::max(kSamplesMin, kSamplesPerRange * spec.partitions);
  RangeStarts starts = cut_ranges(keys, sample_keys(keys, store, samples), spec.partitions);
  return std::unique_ptr<RowNumberer>(
      std::make_unique<RangeNumberer>(std::move(keys), std::move(starts)));
}

}  // namespace crossdock::operators
