#include "operators/partition/row_numberer.hpp"

#include "operators/partition/range_numberer.hpp"
#include "table/key_hash.hpp"

namespace crossdock::operators {
namespace {

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
      for (auto& of_worker : numberer->hashers_) of_worker.emplace_back(type, kind, kPartitionSeed);
    }
    return std::unique_ptr<RowNumberer>(std::move(numberer));
  }

  Status number(int worker, const Morsel& morsel, uint16_t* numbers) override {
    uint64_t hashes[kNumberedRows];
    for (size_t k = 0; k < columns_.size(); ++k) {
      const ColumnView& column = morsel.batch->columns[columns_[k]];
      hashers_[worker][k].hash(column, morsel.begin, morsel.rows, k > 0, hashes);
    }
    for (int32_t i = 0; i < morsel.rows; ++i) {
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

class ExplicitNumberer : public RowNumberer {
 public:
  ExplicitNumberer(const PartitionSpec& spec, const Field& field, const KeyKind& kind, int workers)
      : partitions_(static_cast<uint64_t>(spec.partitions)),
        column_(spec.keys[0]),
        name_(field.name),
        loaders_(workers, KeyLoader(field.type, kind)) {}

  Status number(int worker, const Morsel& morsel, uint16_t* numbers) override {
    uint64_t words[kNumberedRows];
    uint8_t valid[kNumberedRows];
    const ColumnView& column = morsel.batch->columns[column_];
    loaders_[worker].load(column, morsel.begin, morsel.rows, words);
    const bool any_null = loaders_[worker].load_valid(column, morsel.begin, morsel.rows, valid);
    for (int32_t i = 0; i < morsel.rows; ++i) {
      const bool is_null = any_null && valid[i] == 0;
      if (is_null || words[i] >= partitions_) {
        return make_error(
            ErrorCode::kValueOutOfRange,
            "'{}' names partition {}, but there are partitions 0 to {}\n"
            "  try      partitions= above the largest number, or how='hash'",
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
                      "how='explicit' takes a column of integers, but '{}' is {}\n"
                      "  try      how='hash'",
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

}  // namespace crossdock::operators
