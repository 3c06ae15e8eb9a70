// HyperLogLog, sparse and dense.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "operators/group_by/sketches.hpp"

namespace crossdock::operators {
namespace {

constexpr int kRegisters = 1 << DistinctSketchAccumulator::kIndexBits;
constexpr int kRankMax = 64 - DistinctSketchAccumulator::kIndexBits;  // of a hash with a one in it
constexpr int64_t kHeapBlockBytes = int64_t{256} << 10;

void raise_register(uint8_t* registers, uint64_t hash) {
  const auto index = static_cast<size_t>(hash >> kRankMax);
  // The guard bit ends the count of zeros behind the index.
  const uint64_t rest = hash << DistinctSketchAccumulator::kIndexBits | uint64_t{1}
                                                                            << (63 - kRankMax);
  const auto rank = static_cast<uint8_t>(std::countl_zero(rest) + 1);
  registers[index] = std::max(registers[index], rank);
}

// The two series of Ertl's estimator, for registers that are empty and those that are full.
double sigma(double x) {
  if (x == 1.0) return HUGE_VAL;
  double y = 1;
  double z = x;
  for (double last = -1; z != last;) {
    last = z;
    x *= x;
    z += x * y;
    y += y;
  }
  return z;
}

double tau(double x) {
  if (x == 0.0 || x == 1.0) return 0;
  double y = 1;
  double z = 1 - x;
  for (double last = -1; z != last;) {
    last = z;
    x = std::sqrt(x);
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  }
  return z / 3;
}

double estimate(const uint8_t* registers) {
  int64_t counts[kRankMax + 2] = {};
  for (int i = 0; i < kRegisters; ++i) ++counts[registers[i]];
  constexpr double kAll = kRegisters;
  double z = kAll * tau(1 - static_cast<double>(counts[kRankMax + 1]) / kAll);
  for (int rank = kRankMax; rank >= 1; --rank) z = 0.5 * (z + static_cast<double>(counts[rank]));
  z += kAll * sigma(static_cast<double>(counts[0]) / kAll);
  return kAll * kAll / (2 * std::log(2.0)) / z;
}

}  // namespace

Result<uint8_t*> SketchHeap::get(int64_t bytes) {
  bytes = (bytes + 7) & ~int64_t{7};
  if (blocks_.empty() || used_ + bytes > blocks_.back().bytes()) {
    CD_ASSIGN(Block block,
              memory_->get(std::max(bytes, kHeapBlockBytes), "group_by: sketches of groups"));
    blocks_.push_back(std::move(block));
    used_ = 0;
  }
  uint8_t* data = blocks_.back().data() + used_;
  used_ += bytes;
  std::memset(data, 0, static_cast<size_t>(bytes));
  return data;
}

void SketchHeap::clear() {
  blocks_.clear();
  used_ = 0;
}

void DistinctSketchAccumulator::clear() {
  sketches_.clear();
  heap_.clear();
}

Status DistinctSketchAccumulator::make_dense(Sketch& sketch) {
  CD_ASSIGN(sketch.registers, heap_.get(kRegisters));
  for (int32_t i = 0; i < sketch.size; ++i) raise_register(sketch.registers, sketch.hashes[i]);
  return {};
}

Status DistinctSketchAccumulator::add(Sketch& sketch, uint64_t hash) {
  if (sketch.registers != nullptr) {
    raise_register(sketch.registers, hash);
    return {};
  }
  const uint64_t* end = sketch.hashes + sketch.size;
  if (std::find(sketch.hashes, sketch.hashes + sketch.size, hash) != end) return {};
  if (sketch.size == kSparseHashes) {
    CD_TRY(make_dense(sketch));
    raise_register(sketch.registers, hash);
    return {};
  }
  if (sketch.size == sketch.capacity) {
    const int32_t capacity = std::max(4, sketch.capacity * 4);
    CD_ASSIGN(uint8_t * data, heap_.get(capacity * 8));
    if (sketch.size > 0) {
      std::memcpy(data, sketch.hashes, static_cast<size_t>(sketch.size) * 8);
    }
    sketch.hashes = reinterpret_cast<uint64_t*>(data);
    sketch.capacity = capacity;
  }
  sketch.hashes[sketch.size++] = hash;
  return {};
}

Status DistinctSketchAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[input_];
  for (int32_t i = 0; i < block.rows; ++i) {
    if (lane.valid != nullptr && lane.valid[i] == 0) continue;
    CD_TRY(add(sketches_[block.groups[i]], lane.words[i]));
  }
  return {};
}

Status DistinctSketchAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const DistinctSketchAccumulator&>(from);
  for (int32_t i = 0; i < pairs.count; ++i) {
    const Sketch& more = other.sketches_[pairs.from[i]];
    Sketch& sketch = sketches_[pairs.to[i]];
    if (more.registers == nullptr) {
      for (int32_t k = 0; k < more.size; ++k) CD_TRY(add(sketch, more.hashes[k]));
      continue;
    }
    if (sketch.registers == nullptr) CD_TRY(make_dense(sketch));
    for (int k = 0; k < kRegisters; ++k) {
      sketch.registers[k] = std::max(sketch.registers[k], more.registers[k]);
    }
  }
  return {};
}

int64_t DistinctSketchAccumulator::count(uint32_t group) const {
  const Sketch& sketch = sketches_[group];
  return sketch.registers == nullptr ? sketch.size : std::llround(estimate(sketch.registers));
}

}  // namespace crossdock::operators
