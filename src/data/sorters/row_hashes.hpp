// The hashes by which rows are routed: those of equal keys are equal, whichever process has them and whatever types it
// has for them (row_router.hpp says which types compare).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "table/column.hpp"
#include "table/key_hash.hpp"
#include "table/schema.hpp"

namespace crossdock::sorters {

// The same in all processes and at all times, and that of table partitions: a change of it parts equal keys.
constexpr uint64_t kRouteSeed = 0x9E3779B97F4A7C15U;

// Loaders know a dictionary by where it lies, so the one that they know must stay there.
class KnownDictionaries {
 public:
  KnownDictionaries(const Schema& schema, const std::vector<int>& keys) {
    for (const int key : keys) any_ |= schema.fields[key].type.id == TypeId::kDictionary;
  }
  void keep_those_of(const Batch& batch, size_t rows) {
    if (any_ && rows != 0) owner_ = batch.owner;
  }

 private:
  bool any_ = false;
  std::shared_ptr<const void> owner_;
};

// One key column's hashes. One per thread.
class KeyOfRows {
 public:
  KeyOfRows(int column, const DataType& type);

  // hashes[i] of row begin + i; `combine`: mixed into what is there. count <= kMaxKeyRows.
  void hash(const Batch& batch, int64_t begin, int32_t count, bool combine, uint64_t* hashes);

 private:
  int column_;
  DataType type_;
  KeyHasher hasher_;
};

// Those of all key columns, which are columns of the schema. One per thread.
class RowHashes {
 public:
  RowHashes(const Schema& schema, const std::vector<int>& keys) : dictionaries_(schema, keys) {
    for (const int key : keys) keys_.emplace_back(key, schema.fields[key].type);
  }

  // As KeyOfRows::hash. A batch's dictionaries live as long as this, or are those of the batch before.
  void hash(const Batch& batch, int64_t begin, int32_t count, uint64_t* hashes) {
    for (size_t k = 0; k < keys_.size(); ++k) keys_[k].hash(batch, begin, count, k > 0, hashes);
    dictionaries_.keep_those_of(batch, static_cast<size_t>(count));
  }

 private:
  KnownDictionaries dictionaries_;
  std::vector<KeyOfRows> keys_;
};

}  // namespace crossdock::sorters
