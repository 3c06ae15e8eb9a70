// Which group is a row in? Indexes give every distinct key a number, and keep the keys by number.
//
// Rows are looked up in blocks. Round one compares each row with the one candidate at its place,
// without a branch; only rows that are still open walk on from there. Blocks keep many loads in flight
// and let each aggregate run over the numbers in a loop of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "operators/group_by/group_keys.hpp"
#include "operators/group_by/state_array.hpp"

namespace crossdock::operators {

// Rows of a block that found no group and no room for one.
struct MissedRows {
  int32_t count = 0;
  uint32_t rows[kGroupRows];  // ascending
};

class GroupIndex {
 public:
  virtual ~GroupIndex() = default;

  // Forgets all groups. The words to come agree in their top `skip_bits`, which are `partition`.
  virtual Status open(int skip_bits, uint64_t partition, int64_t groups_expected) = 0;

  // groups[i] = the number of row i's key, new keys getting new numbers. If `missed` is given and
  // there is no room for new keys, rows without a group go there, and their groups[i] is
  // HashIndex::kOverflowGroup. block.rows <= kGroupRows.
  virtual Status assign(const KeyBlock& block, uint32_t* groups, MissedRows* missed) = 0;

  // All numbers given so far are below.
  virtual int64_t bound() const = 0;

  // Writes the groups that rows fell into, ascending; answers how many. `out` has room for bound().
  virtual int64_t list(uint32_t* out) const = 0;

  // Keys of groups: words, and the tails and references that their mode has.
  struct Keys {
    uint64_t* words = nullptr;
    uint64_t* tails[2] = {nullptr, nullptr};
    RowRef* refs = nullptr;
  };
  virtual void keys(const uint32_t* groups, int32_t count, Keys out) const = 0;
};

// A table of words. In the states, number 0 belongs to word 0 (which is what empty places compare
// with), and number 1 takes rows that have missed.
class HashIndex : public GroupIndex {
 public:
  static constexpr uint32_t kZeroGroup = 0;
  static constexpr uint32_t kOverflowGroup = 1;

  // `comparer` compares rows of the input with each other; nullptr unless keys are hashed.
  HashIndex(Memory& memory, const GroupKeyPlan& plan, const RowComparer* comparer);

  // After this, assign() with missed rows makes no more groups than `groups_max`.
  void limit(int64_t groups_max) { groups_max_ = groups_max; }
  bool is_full() const { return words_.size() >= groups_max_; }

  Status open(int skip_bits, uint64_t partition, int64_t groups_expected) override;
  Status assign(const KeyBlock& block, uint32_t* groups, MissedRows* missed) override;
  int64_t bound() const override { return words_.size(); }
  int64_t list(uint32_t* out) const override;
  void keys(const uint32_t* groups, int32_t count, Keys out) const override;

 private:
  uint64_t place(uint64_t word) const { return (word << skip_bits_) >> slot_shift_; }
  bool find_all(const KeyBlock& block, uint32_t* groups) const;
  template <int kTails>
  int32_t find_first(const KeyBlock& block, uint32_t* groups, uint32_t* open_rows);
  int32_t verify(const KeyBlock& block, uint32_t* groups, int32_t open, uint32_t* open_rows) const;
  Status find_rest(const KeyBlock& block, uint32_t row, uint32_t* group, MissedRows* missed);
  bool is_same(const KeyBlock& block, uint32_t row, uint32_t group) const;
  Result<uint32_t> add(const KeyBlock& block, uint32_t row);
  Status make_slots(int bits);
  Status move_apart();

  Memory* memory_;
  const RowComparer* comparer_;
  int tail_count_;
  bool has_refs_;
  int opened_skip_ = 0;  // top bits in which all words agree
  int skip_bits_ = 0;    // those that the place leaves out; more where that keeps groups apart
  int slot_bits_ = 0;
  int slot_shift_ = 63;
  int64_t groups_max_ = INT64_MAX;
  bool zero_seen_ = false;
  bool apart_ = false;        // every group lies where its word says
  int64_t tried_groups_ = 0;  // there were as many when move_apart() looked last
  Block slots_;               // uint32: the number of the group at a place, 0 = empty
  StateArray<uint64_t> words_;
  StateArray<uint64_t> tails_[2];
  StateArray<RowRef> refs_;
};

// An array over a range of dense words: the number is the place. All keys of the range have room.
class DenseIndex : public GroupIndex {
 public:
  DenseIndex(Memory& memory, const GroupKeyPlan& plan)
      : packed_bits_(plan.packed_bits), seen_(memory) {}

  Status open(int skip_bits, uint64_t partition, int64_t groups_expected) override;
  Status assign(const KeyBlock& block, uint32_t* groups, MissedRows* missed) override;
  int64_t bound() const override { return seen_.size(); }
  int64_t list(uint32_t* out) const override;
  void keys(const uint32_t* groups, int32_t count, Keys out) const override;

 private:
  int packed_bits_;
  int skip_bits_ = 0;
  uint64_t partition_ = 0;
  StateArray<uint8_t> seen_;
};

}  // namespace crossdock::operators
