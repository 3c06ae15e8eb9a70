// Keys of a merge join: words whose order is the order of the keys, on both sides alike.
//
// Rows that cannot match (a null in some key column, unless nulls equal nulls) get no word. The others
// have words as table/order_key.hpp lays them out: exact if the columns fit 64 bits after their ranges
// are known, else a prefix whose ties are broken by comparing rows.
#pragma once

#include <memory>
#include <optional>

#include "operators/hash_join/join_run.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "table/order_key.hpp"

namespace crossdock::operators {

class MergeKeys {
 public:
  // Lays words out; scans the key columns of both sides unless one integer-like column makes the key.
  static Result<MergeKeys> create(JoinRun& run, const KeyPlan& keys);

  // Of one plain 64-bit integer on either side, whose words are the same whatever rows there are; nothing for other
  // keys. `stores` by Side.
  static Result<std::optional<MergeKeys>> create_plain(
      const std::shared_ptr<const RowStore> (&stores)[2], const KeyPlan& keys);

  const std::shared_ptr<const OrderKeyPlan>& order() const { return order_; }
  bool is_exact() const { return order_->is_exact(); }
  // words[i] = word of row begin + i; of a row without one, anything. count <= kSorterRows.
  void encode(Side side, const Batch& batch, int64_t begin, int32_t count, uint64_t* words) const;
  // Whether rows of the side may be without a word.
  bool may_lack_words(Side side) const { return lacks_words_[index_of(side)]; }
  // The plan that output columns are made by: words give keys if they are exact.
  KeyPlan output_keys(const KeyPlan& keys) const;

 private:
  static Result<OrderKeyPlan> plan_order(const std::shared_ptr<const RowStore> (&stores)[2],
                                         const KeyPlan& keys);

  std::shared_ptr<const OrderKeyPlan> order_;
  // A 64-bit integer column by itself: its values and this bit are the words.
  struct Direct {
    bool is_possible = false;
    int column = 0;
    uint64_t flip = 0;
  };
  static Direct direct_for(const KeyPlan& keys, const Schema& schema, Side side);

  bool lacks_words_[2] = {false, false};
  Direct direct_[2];  // by Side
};

// Words of one side, block by block. One per worker.
class MergeEncoder {
 public:
  MergeEncoder(const MergeKeys& keys, const KeyPlan& plan, const Schema& schema, Side side)
      : keys_(&keys), nulls_(plan, schema, side), side_(side) {}

  // words[i] = word of row begin + i; live[i] = 0 where the row has none (its word is then anything),
  // else 1. Answers the number of live rows; `live` is written only if that is less than `count`.
  // count <= kSorterRows.
  int32_t encode(const Batch& batch, int64_t begin, int32_t count, uint64_t* words, uint8_t* live);

 private:
  const MergeKeys* keys_;
  KeyEncoder nulls_;
  Side side_;
};

}  // namespace crossdock::operators
