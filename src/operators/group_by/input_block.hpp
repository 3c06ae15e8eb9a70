// A block of input rows on its way into groups: key words, value lanes, masks and references, and how
// the same travel through a scatter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "data/sorters/segment.hpp"
#include "expressions/block_evaluator.hpp"
#include "operators/group_by/aggregate_plan.hpp"
#include "operators/group_by/group_keys.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::operators {

// What blocks of one run are made by. Must outlive them.
struct BlockPlan {
  const GroupKeyPlan* keys = nullptr;
  const AggregatePlan* aggregates = nullptr;
  const RowStore* store = nullptr;
  int row_filter = -1;
  std::shared_ptr<const expressions::Program> program;  // may be none; see GroupSpec
  int first_computed = 0;
  Memory* memory = nullptr;  // of the program's values

  bool is_computed(int column) const { return program != nullptr && column >= first_computed; }
  bool needs_refs() const { return keys->needs_refs() || aggregates->needs_refs; }
};

// Which carried lane of a scattered row holds what. References and masks share one lane: 32 bits each.
struct CarriedLanes {
  int count = 0;
  int tails[2] = {-1, -1};
  int meta = -1;
  std::vector<int> low;   // by value lane
  std::vector<int> high;  // by value lane; -1: none
};
constexpr int kCarriedMasksMax = 32;
constexpr int kCarriedLanesMax = 15;

// Nothing if the rows would be too wide to scatter.
std::optional<CarriedLanes> plan_carried_lanes(const BlockPlan& plan);

// One worker's own; valid until the next load.
class InputBlock {
 public:
  explicit InputBlock(const BlockPlan& plan);

  // Rows [offset, offset + rows) of the morsel, those that the row filter drops left out.
  // rows <= kGroupRows. Errors: kValueOutOfRange: a decimal has more digits than its type says;
  // kExpressionFailed, kOutOfMemoryBudget.
  Status load(const Morsel& morsel, int32_t offset, int32_t rows);

  // Rows of a segment that was scattered with the lanes.
  void load_segment(const sorters::Segment& segment,
                    int32_t offset,
                    int32_t rows,
                    const CarriedLanes& lanes);

  int32_t rows() const { return rows_; }
  KeyBlock keys() const;
  // For accumulators; the groups are the caller's.
  GroupBlock values(const uint32_t* groups) const;

  // Pointers to the carried lanes, of all rows or of the selected ones, which are copied for it.
  void carry(const CarriedLanes& lanes, const uint64_t** carried);
  struct Selected {
    const uint64_t* words;
    int32_t rows;
  };
  Selected carry_selected(const CarriedLanes& lanes,
                          const uint32_t* selected,
                          int32_t count,
                          const uint64_t** carried);

 private:
  using Words = uint64_t[kGroupRows];
  struct Lane {
    std::optional<ValueReader> reader;
    std::optional<KeyHasher> hasher;
    int32_t step = -1;  // of the program: it reads the same decimals
    alignas(64) Words low;
    alignas(64) Words high;
  };
  struct Mask {
    alignas(64) uint8_t valid[kGroupRows];
    bool partial = false;  // some rows may not count
  };

  Status load_lane(size_t lane, const Batch& batch, int64_t begin, int32_t rows);
  Status take_lane(size_t lane, const expressions::ExpressionLane& values, int32_t rows);
  void load_mask(size_t mask, const Batch& batch, int64_t begin, int32_t rows);
  Status evaluate(const Batch& batch, int64_t begin, int32_t rows);
  const expressions::ExpressionLane& computed(int column) const {
    return computed_[column - plan_.first_computed];
  }
  Status check_digits(size_t lane, const uint8_t* valid, int32_t rows);
  void drop_rows(const uint8_t* keep);
  void fill_inputs();
  void pack_meta();
  bool read_valid(int column, const Batch& batch, int64_t begin, int32_t rows, uint8_t* valid);
  bool read_true(int column, const Batch& batch, int64_t begin, int32_t rows, uint8_t* is_true);

  const BlockPlan plan_;
  GroupKeyEncoder encoder_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<Mask>> masks_;
  std::vector<ValueReader> readers_;   // by column of the table: for validity and filters
  std::vector<const uint64_t*> low_;   // by value lane: where its words are
  std::vector<const uint64_t*> high_;  // nullptr: the signs of the low ones
  std::vector<InputLane> inputs_;
  std::optional<expressions::BlockEvaluator>
      evaluator_;  // from the first load on, if there is a program
  std::vector<expressions::ExpressionLane> computed_;  // by output of the program
  int32_t rows_ = 0;
  const uint64_t* word_at_ = nullptr;
  const uint64_t* tail_at_[2] = {nullptr, nullptr};
  alignas(64) Words words_;
  alignas(64) Words tails_[2];
  alignas(64) Words meta_;
  alignas(64) RowRef refs_[kGroupRows];
  std::vector<std::unique_ptr<Words[]>> selected_;  // by carried lane, the words last
};

}  // namespace crossdock::operators
