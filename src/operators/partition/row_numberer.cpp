// Partition numbers from hashes, ranges, or a column that has them.
#include "operators/partition/row_numberer.hpp"

#include <algorithm>

#include "data/sorters/splitters.hpp"
#include "table/key_hash.hpp"
#include "table/order_key.hpp"

namespace crossdock {
namespace {

// The seed of partitions is no engine's: tables that are partitioned by equal keys into equal numbers of
// partitions meet, whoever partitioned them. A change of it is a change of the format.
constexpr uint64_t kPartitionSeed = 0x9E3779B97F4A7C15U;

// Equal keys of any two types that compare (int32 and int64, text and dictionaries of text) have equal
// hashes; decimals do where their scales agree.
class HashNumberer : public RowNumberer {
 public:
  static Result<std::unique_ptr<RowNumberer>> create(const PartitionSpec& spec,
                                                     const Schema& schema,
                                                     int workers) {
    auto numberer = std::make_unique<HashNumberer>();
    numberer->partitions_ = static_cast<uint64_t>(spec.partitions);
    numberer->columns_ = spec.keys;
    numberer->hashers_.resize(workers);
    for (const int column : spec.keys) {
      const DataType& type = schema.fields[column].type;
      CD_ASSIGN(const KeyKind kind, common_key_kind(type, type));
      for (auto& own : numberer->hashers_) own.emplace_back(type, kind, kPartitionSeed);
    }
    return std::unique_ptr<RowNumberer>(std::move(numberer));
  }

  Status number(
      int worker, const Batch& batch, int64_t begin, int32_t count, uint16_t* numbers) override {
    uint64_t hashes[kNumberedRows];
    for (size_t k = 0; k < columns_.size(); ++k) {
      hashers_[worker][k].hash(batch.columns[columns_[k]], begin, count, k > 0, hashes);
    }
    for (int32_t i = 0; i < count; ++i) {
      // The top half of the product: even, and without a division, for any number of partitions.
      numbers[i] = static_cast<uint16_t>((hashes[i] >> 32) * partitions_ >> 32);
    }
    return {};
  }

 private:
  uint64_t partitions_ = 1;
  std::vector<int> columns_;
  std::vector<std::vector<KeyHasher>> hashers_;  // by worker, key
};

class RangeNumberer : public RowNumberer {
 public:
  RangeNumberer(OrderKeyPlan keys, RangeMap ranges)
      : keys_(std::move(keys)), ranges_(std::move(ranges)) {}

  Status number(int, const Batch& batch, int64_t begin, int32_t count, uint16_t* numbers) override {
    uint64_t words[kNumberedRows];
    keys_.encode(0, batch, begin, count, words);
    ranges_.find(words, count, numbers);
    return {};
  }

 private:
  OrderKeyPlan keys_;
  RangeMap ranges_;
};

// Words of rows that lie evenly over the table.
std::vector<uint64_t> sample_words(const OrderKeyPlan& keys,
                                   const RowStore& store,
                                   int64_t wanted) {
  std::vector<uint64_t> words;
  const int64_t step = std::max<int64_t>(1, store.rows() / wanted);
  int64_t next = 0;  // row of the table that is looked at next
  int64_t first = 0;
  for (const Batch& batch : store.batches()) {
    for (; next < first + batch.rows; next += step) {
      keys.encode(0, batch, next - first, 1, &words.emplace_back());
    }
    first += batch.rows;
  }
  std::sort(words.begin(), words.end());
  return words;
}

// Quantiles of the sample. Equal words never part, so there may be fewer ranges than wanted.
std::vector<Splitter> cut_ranges(const std::vector<uint64_t>& sample, int partitions) {
  std::vector<Splitter> splitters{Splitter{}};
  for (int p = 1; p < partitions && !sample.empty(); ++p) {
    const uint64_t word = sample[sample.size() * p / partitions];
    if (word > splitters.back().word) splitters.push_back({word, false});
  }
  return splitters;
}

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
  std::vector<OrderRanges> own(run.team->worker_count(), keys.make_ranges());
  const std::vector<Morsel> morsels = cut_morsels(store, run.team->worker_count());
  CD_TRY(
      run.for_morsels("scan key range", morsels, [&](int worker, const Morsel& morsel) -> Status {
        keys.scan(0, *morsel.batch, morsel.begin, morsel.rows, own[worker]);
        return {};
      }));
  for (size_t worker = 1; worker < own.size(); ++worker) {
    for (size_t part = 0; part < own[0].size(); ++part) own[0][part].merge(own[worker][part]);
  }
  keys.settle(own[0]);
  constexpr int64_t kSamplesPerRange = 128;  // so that most ranges are within a tenth of their share
  constexpr int64_t kSamplesMin = 1 << 14;
  const int64_t wanted = std::max(kSamplesMin, kSamplesPerRange * spec.partitions);
  RangeMap ranges(cut_ranges(sample_words(keys, store, wanted), spec.partitions));
  return std::unique_ptr<RowNumberer>(
      std::make_unique<RangeNumberer>(std::move(keys), std::move(ranges)));
}

class ExplicitNumberer : public RowNumberer {
 public:
  ExplicitNumberer(const PartitionSpec& spec, const Field& field, const KeyKind& kind, int workers)
      : partitions_(static_cast<uint64_t>(spec.partitions)),
        column_(spec.keys[0]),
        name_(field.name),
        loaders_(workers, KeyLoader(field.type, kind)) {}

  Status number(
      int worker, const Batch& batch, int64_t begin, int32_t count, uint16_t* numbers) override {
    uint64_t words[kNumberedRows];
    uint8_t valid[kNumberedRows];
    const ColumnView& column = batch.columns[column_];
    loaders_[worker].load(column, begin, count, words);
    const bool any_null = loaders_[worker].load_valid(column, begin, count, valid);
    for (int32_t i = 0; i < count; ++i) {
      const bool is_null = any_null && valid[i] == 0;
      if (is_null || words[i] >= partitions_) {
        return make_error(
            ErrorCode::kValueOutOfRange,
            "'{}' names partition {}, but there are partitions 0 to {}\n"
            "  try   partitions= above the largest number, or by='hash'",
            name_,
            is_null ? std::string("NULL") : std::to_string(static_cast<int64_t>(words[i])),
            partitions_ - 1);
      }
      numbers[i] = static_cast<uint16_t>(words[i]);
    }
    return {};
  }

 private:
  uint64_t partitions_;
  int column_;
  std::string name_;
  std::vector<KeyLoader> loaders_;  // by worker
};

Result<std::unique_ptr<RowNumberer>> make_explicit_numberer(const PartitionSpec& spec,
                                                            const Schema& schema,
                                                            int workers) {
  const Field& field = schema.fields[spec.keys[0]];
  if (!is_signed_integer(field.type.id) && !is_unsigned_integer(field.type.id)) {
    return make_error(ErrorCode::kUnsupportedType,
                      "by='explicit' takes a column of integers, but '{}' is {}\n"
                      "  try   by='hash'",
                      field.name,
                      type_name(field.type));
  }
  CD_ASSIGN(const KeyKind kind, common_key_kind(field.type, field.type));
  return std::unique_ptr<RowNumberer>(
      std::make_unique<ExplicitNumberer>(spec, field, kind, workers));
}

}  // namespace

Result<std::unique_ptr<RowNumberer>> make_numberer(const PartitionSpec& spec,
                                                   const RowStore& store,
                                                   OperatorRun& run) {
  const int workers = run.team->worker_count();
  switch (spec.by) {
    case PartitionBy::kHash:
      return HashNumberer::create(spec, *store.schema(), workers);
    case PartitionBy::kRange:
      return make_range_numberer(spec, store, run);
    case PartitionBy::kExplicit:
      return make_explicit_numberer(spec, *store.schema(), workers);
  }
  return make_error(ErrorCode::kInternal, "unknown way to partition");
}

}  // namespace crossdock
