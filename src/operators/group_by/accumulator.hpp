// Accumulators: what groups remember of their rows. An aggregate is finished from one or two of them;
// aggregates that need the same one share it (mean and sum, say).
//
// All groups of one table lie in one accumulator, state by state, so a block of rows is taken in by one
// loop without branches on what the aggregate is. Partial states of other workers are merged in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/int128.hpp"
#include "base/result.hpp"
#include "memory/budget.hpp"
#include "operators/group_by/moments.hpp"
#include "operators/group_by/state_array.hpp"
#include "table/row_store.hpp"
#include "table/value_words.hpp"

namespace crossdock::operators {

// Rows of a block: words, groups and values stay in the first-level cache.
constexpr int32_t kGroupRows = 1024;

// Values of an aggregate's argument for the rows of a block.
struct InputLane {
  const uint64_t* words = nullptr;
  const uint64_t* high = nullptr;  // kWide: upper halves; nullptr: the signs of the lower ones
  const uint8_t* valid = nullptr;  // 1 = counts; nullptr: every row does
};

struct GroupBlock {
  int32_t rows = 0;
  const uint32_t* groups = nullptr;
  const RowRef* refs = nullptr;  // where the rows lie; nullptr if no accumulator asked
  const InputLane* inputs = nullptr;
};

// Pairs of groups: the state of from[i] is merged into that of to[i].
struct GroupPairs {
  int32_t count = 0;
  const uint32_t* from = nullptr;
  const uint32_t* to = nullptr;
};

class Accumulator {
 public:
  virtual ~Accumulator() = default;

  // Makes states up to `groups` exist, new ones empty.
  virtual Status resize(int64_t groups) = 0;
  // Forgets all groups, keeps memory for the next ones.
  virtual void clear() = 0;
  // The groups of the block must exist.
  virtual Status update(const GroupBlock& block) = 0;
  // `from` is of the same kind. Its states stay as they are.
  virtual Status merge(const Accumulator& from, const GroupPairs& pairs) = 0;
};

enum class AccumulatorKind : uint8_t {
  kCount,
  kIntegerSum,  // int64, uint64 and int128
  kRealSum,
  kExactRealSum,
  kMin,
  kMax,
  kFirstRef,
  kLastRef,
  kMinRef,  // strings
  kMaxRef,
  kArgMin,  // of all but strings
  kArgMax,
  kMoments,
  kHigherMoments,
  kEntropy,
  kDistinctSketch,
  kQuantileSketch,
  kQuantileValues,
  kBitAnd,
  kBitOr,
  kBitXor,
  kProduct,
};

struct AccumulatorSpec {
  AccumulatorKind kind = AccumulatorKind::kCount;
  int input = -1;  // -1: none, every row counts
  ValueForm form = ValueForm::kSigned;
  double unit = 1;   // moments and sketches: what 1 of a decimal's integer is worth
  int64_t base = 0;  // quantile sketch of instants: distances are taken from here
  bool is_instant = false;
  bool last_of_equals = false;   // rows of extremes: of equal ones the last
  std::vector<double> shares{};  // quantiles of all values: those that will be asked for

  friend bool operator==(const AccumulatorSpec&, const AccumulatorSpec&) = default;
};

// Strings by reference are read from `column`, which must outlive the accumulator.
struct AccumulatorContext {
  Memory* memory = nullptr;
  const ChunkedColumn* column = nullptr;
};

std::unique_ptr<Accumulator> make_accumulator(const AccumulatorSpec& spec,
                                              const AccumulatorContext& context);

// Those that keep a row by reference.
std::unique_ptr<Accumulator> make_ref_accumulator(const AccumulatorSpec& spec,
                                                  const AccumulatorContext& context);

// What results are finished from. An accumulator of kind k is of the class named beside it.

class CountAccumulator : public Accumulator {  // kCount
 public:
  CountAccumulator(Memory& memory, int input) : counts_(memory), input_(input) {}
  Status resize(int64_t groups) override { return counts_.grow(groups, 0); }
  void clear() override { counts_.clear(); }
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  int64_t count(uint32_t group) const { return counts_[group]; }

 private:
  StateArray<int64_t> counts_;
  int input_;
};

// A number wider than 128 bits: total + wraps * 2^128.
struct WideTotal {
  Int128 total = 0;
  int64_t wraps = 0;
};

class IntegerSumAccumulator : public Accumulator {  // kIntegerSum
 public:
  IntegerSumAccumulator(Memory& memory, int input, ValueForm form)
      : narrow_(memory), wide_(memory), wraps_(memory), input_(input), form_(form) {}
  Status resize(int64_t groups) override;
  void clear() override;
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  WideTotal total(uint32_t group) const;

 private:
  Status make_wide();
  Status flush_narrow();
  Status add_wide(uint32_t group, Int128 value);
  Status update_wide(const GroupBlock& block, const InputLane& lane);
  void update_narrow(const GroupBlock& block, const InputLane& lane);

  // Sums go on in 64 bits as long as `narrow_bound_`, a bound of every |narrow sum|, leaves room;
  // then all move to the 128-bit ones. What even those cannot hold is counted in wraps_.
  StateArray<int64_t> narrow_;
  StateArray<Int128> wide_;    // empty until needed
  StateArray<int64_t> wraps_;  // empty until needed
  uint64_t narrow_bound_ = 0;
  int64_t rows_since_flush_ = 0;
  int input_;
  ValueForm form_;
};

class RealSumAccumulator : public Accumulator {  // kRealSum
 public:
  RealSumAccumulator(Memory& memory, int input) : sums_(memory), input_(input) {}
  Status resize(int64_t groups) override { return sums_.grow(groups, 0.0); }
  void clear() override { sums_.clear(); }
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  double sum(uint32_t group) const { return sums_[group]; }

 private:
  StateArray<double> sums_;
  int input_;
};

// Minimum or maximum of up to 64 bits, or 128 for kWide. NaN counts only where there is nothing else.
class ExtremeAccumulator : public Accumulator {  // kMin, kMax
 public:
  ExtremeAccumulator(Memory& memory, int input, ValueForm form, bool is_min);
  Status resize(int64_t groups) override;
  void clear() override;
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  uint64_t word(uint32_t group) const { return words_[group]; }
  Int128 wide(uint32_t group) const { return wides_[group]; }

 private:
  StateArray<uint64_t> words_;
  StateArray<Int128> wides_;
  int input_;
  ValueForm form_;
  bool is_min_;
};

// Words that an operation of two of them puts together: bits, and products of numbers as doubles.
class FoldAccumulator : public Accumulator {  // kBitAnd, kBitOr, kBitXor, kProduct
 public:
  FoldAccumulator(Memory& memory, const AccumulatorSpec& spec) : words_(memory), spec_(spec) {}
  Status resize(int64_t groups) override;
  void clear() override { words_.clear(); }
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  uint64_t word(uint32_t group) const { return words_[group]; }

 private:
  StateArray<uint64_t> words_;
  AccumulatorSpec spec_;
};

// How evenly rows spread over values, of the numbers of rows that have each.
class EntropyAccumulator : public Accumulator {  // kEntropy
 public:
  EntropyAccumulator(Memory& memory, int input) : states_(memory), input_(input) {}
  Status resize(int64_t groups) override { return states_.grow(groups, {}); }
  void clear() override { states_.clear(); }
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  double bits(uint32_t group) const;  // Shannon's; 0 of no row

 private:
  struct Spread {
    double rows = 0;
    double weighted = 0;  // sum of n * log2(n)
  };
  StateArray<Spread> states_;
  int input_;
};

// Keeps a row by reference.
class RefAccumulator
    : public Accumulator {  // kFirstRef, kLastRef, kMinRef, kMaxRef, kArgMin, kArgMax
 public:
  explicit RefAccumulator(Memory& memory) : refs_(memory) {}
  Status resize(int64_t groups) override { return refs_.grow(groups, kNullRef); }
  void clear() override { refs_.clear(); }
  // kNullRef: no row counted.
  RowRef ref(uint32_t group) const { return refs_[group]; }

 protected:
  StateArray<RowRef> refs_;
};

// State: Moments or HigherMoments.
template <class State>
class MomentsAccumulator : public Accumulator {  // kMoments, kHigherMoments
 public:
  MomentsAccumulator(Memory& memory, const AccumulatorSpec& spec)
      : moments_(memory), input_(spec.input), form_(spec.form), unit_(spec.unit) {}
  Status resize(int64_t groups) override { return moments_.grow(groups, {}); }
  void clear() override { moments_.clear(); }
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  const State& moments(uint32_t group) const { return moments_[group]; }

 private:
  StateArray<State> moments_;
  int input_;
  ValueForm form_;
  double unit_;
};

// The values of a lane as doubles: the lane's own memory, or `scratch`.
const double* lane_numbers(
    const InputLane& lane, int32_t rows, ValueForm form, double unit, double* scratch);

}  // namespace crossdock::operators
