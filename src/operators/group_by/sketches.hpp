// Accumulators whose states are larger than a few words: approximate distinct counts, quantiles, and
// exact sums of floats. All depend on which values came, not on their order, the threads or how
// partial states were merged.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "operators/group_by/accumulator.hpp"

namespace crossdock::operators {

// Memory that sketches of many groups grow in; given back all at once.
class SketchHeap {
 public:
  explicit SketchHeap(Memory& memory) : memory_(&memory) {}
  Result<uint8_t*> get(int64_t bytes);  // 8-byte aligned, zeros
  void clear();

 private:
  Memory* memory_;
  std::vector<Block> blocks_;
  int64_t used_ = 0;  // of the last block
};

// HyperLogLog (Flajolet et al., AofA 2007) of 2^12 registers with Ertl's estimator (arXiv 1702.01284):
// standard error 1.04 / sqrt(2^12) = 1.6 %. Up to kSparseHashes different hashes are kept as they are,
// in half the bytes of the registers, so small counts are exact.
class DistinctSketchAccumulator : public Accumulator {  // kDistinctSketch
 public:
  static constexpr int kIndexBits = 12;
  static constexpr int kSparseHashes = 192;

  DistinctSketchAccumulator(Memory& memory, int input)
      : sketches_(memory), heap_(memory), input_(input) {}
  Status resize(int64_t groups) override { return sketches_.grow(groups, {}); }
  void clear() override;
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  int64_t count(uint32_t group) const;

 private:
  struct Sketch {
    uint64_t* hashes = nullptr;    // sparse: open addressing, 0 is free
    uint8_t* registers = nullptr;  // dense
    int32_t size = 0;              // of the hashes
    int32_t capacity = 0;          // a power of two
  };
  Status add(Sketch& sketch, uint64_t hash);
  Status grow(Sketch& sketch);
  Status make_dense(Sketch& sketch);

  StateArray<Sketch> sketches_;
  SketchHeap heap_;
  int input_;
};

// Counts of values per bucket of 2^-9 of the value's own power of two (the logarithmic histogram of
// HdrHistogram and DDSketch). The value at a rank is off by at most 2^-10 (0.1 %) of itself, or, with a
// base, of its distance from there. Values are kept as they are until there are more than kExactValues of them, then
// go into buckets together: a group's buckets are in no cache where its values come one by one. NaN is left out.
class QuantileSketchAccumulator : public Accumulator {  // kQuantileSketch
 public:
  static constexpr int kMantissaBits = 9;
  static constexpr int kExactValues = 512;

  QuantileSketchAccumulator(Memory& memory, const AccumulatorSpec& spec)
      : sketches_(memory), heap_(memory), spec_(spec) {}
  Status resize(int64_t groups) override { return sketches_.grow(groups, {}); }
  void clear() override;
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  int64_t count(uint32_t group) const { return sketches_[group].count; }
  // Between the two values next to rank q * (n - 1), by distance. Needs count > 0.
  double quantile(uint32_t group, double q) const;
  // The same of instants, as their integer: a multiple of `unit` from the instant below it, or from the base.
  int64_t instant(uint32_t group, double q, int64_t unit) const;

 private:
  // A bucket's number above the count of its values, in one word; 0 is free.
  static constexpr int kCountBits = 64 - (12 + kMantissaBits);
  static constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;
  struct Sketch {
    uint64_t* values = nullptr;   // those in no bucket, as they came: bits of doubles, or instants
    uint64_t* buckets = nullptr;  // open addressing, once there were more than kExactValues
    int64_t count = 0;
    int32_t values_size = 0;
    int32_t values_capacity = 0;
    int32_t buckets_size = 0;
    int32_t buckets_capacity = 0;  // a power of two
    uint64_t least = 0;            // of the values in buckets: bits, as of `values`
    uint64_t greatest = 0;
  };
  // Where a value lies between its neighbours: at this share of the way from the value of that rank.
  struct Place {
    int64_t rank = 0;
    int64_t next = 0;
    double share = 0;
  };
  static Place place_of(const Sketch& sketch, double q);
  // What buckets are of: a value, or the distance of an instant from the base.
  double number_of(uint64_t bits) const;
  std::vector<uint64_t> sorted_values(const Sketch& sketch) const;
  Status add(Sketch& sketch, uint64_t bits);
  Status make_room(Sketch& sketch);
  Status put_into_buckets(Sketch& sketch);
  Status add_to_bucket(Sketch& sketch, uint64_t number, uint64_t count);
  Status grow_buckets(Sketch& sketch);
  void widen(Sketch& sketch, uint64_t bits) const;
  Status add_all(Sketch& sketch, const Sketch& other);
  Sketch with_extremes(uint32_t group) const;
  std::vector<uint64_t> sorted_buckets(const Sketch& sketch) const;
  double value_at(const Sketch& sketch, const std::vector<uint64_t>& ordered, int64_t rank) const;

  StateArray<Sketch> sketches_;
  SketchHeap heap_;
  AccumulatorSpec spec_;
};

// All values, for exact quantiles: each in a word, and as many again where they have just become more than fit. NaN is
// above all numbers. Shares that are asked for are among those of the spec, whose values are selected together.
class QuantileValuesAccumulator : public Accumulator {  // kQuantileValues
 public:
  virtual int64_t count(uint32_t group) const = 0;
  // Between the two values next to rank q * (n - 1), by distance. 0 where there is none.
  virtual double quantile(uint32_t group, double q) const = 0;
  // Of the distances from the median, the one at 0.5, which is among the shares. 0 where there is none.
  virtual double median_distance(uint32_t group) const = 0;
  // The first value up to which at least the share q lies, as a lane has it. 0 where there is none.
  virtual UInt128 discrete_quantile(uint32_t group, double q) const = 0;
};

std::unique_ptr<QuantileValuesAccumulator> make_quantile_values(Memory& memory,
                                                                const AccumulatorSpec& spec);

// The exact sum of doubles as one long fixed-point number, rounded once at the end (Kulisch's long
// accumulator, in 32-bit limbs with room for carries).
class ExactSumAccumulator : public Accumulator {  // kExactRealSum
 public:
  ExactSumAccumulator(Memory& memory, int input) : sums_(memory), input_(input) {}
  Status resize(int64_t groups) override { return sums_.grow(groups, {}); }
  void clear() override { sums_.clear(); }
  Status update(const GroupBlock& block) override;
  Status merge(const Accumulator& from, const GroupPairs& pairs) override;
  double sum(uint32_t group) const;

 private:
  // Limb i holds a multiple of 2^(32 i - 1074). Doubles reach bit 2097; the rest is room for sums.
  static constexpr int kLimbs = 68;
  struct LongSum {
    int64_t limbs[kLimbs] = {};
    int64_t additions = 0;  // since carries were last moved up
    bool positive_infinity = false;
    bool negative_infinity = false;
    bool nan = false;
  };
  static void add(LongSum& sum, double value);
  static void carry(LongSum& sum);
  static double round(LongSum sum);

  StateArray<LongSum> sums_;
  int input_;
};

}  // namespace crossdock::operators
