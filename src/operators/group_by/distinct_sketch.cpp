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
constexpr int32_t kHashesFirst = 4;
constexpr int64_t kHeapBlockBytes = int64_t{256} << 10;

void raise_register(uint8_t* registers, uint64_t hash) {
  const auto index = static_cast<size_t>(hash >> kRankMax);
  // The guard bit ends the count of zeros behind the index.
  const uint64_t rest = hash << DistinctSketchAccumulator::kIndexBits | uint64_t{1}
                                                                            << (63 - kRankMax);
  const auto rank = static_cast<uint8_t>(std::countl_zero(rest) + 1);
  registers[index] = std::max(registers[index], rank);
}

void raise_registers(uint8_t* __restrict registers, const uint8_t* __restrict more) {
  for (int k = 0; k < kRegisters; ++k) registers[k] = std::max(registers[k], more[k]);
}

// Where a hash is among others, or may be put.
uint64_t* place_of(uint64_t* hashes, int32_t capacity, uint64_t hash) {
  const auto mask = static_cast<uint64_t>(capacity - 1);
  uint64_t at = hash & mask;
  while (hashes[at] != 0 && hashes[at] != hash) at = (at + 1) & mask;
  return hashes + at;
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
  // Copies in turns, of which none waits for the store of the one before it.
  constexpr int kCopies = 4;
  int32_t copies[kCopies][kRankMax + 2] = {};
  for (int i = 0; i < kRegisters; i += kCopies) {
    for (int c = 0; c < kCopies; ++c) ++copies[c][registers[i + c]];
  }
  int32_t counts[kRankMax + 2] = {};
  for (const auto& copy : copies) {
    for (int rank = 0; rank < kRankMax + 2; ++rank) counts[rank] += copy[rank];
  }
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
  for (int32_t i = 0; i < sketch.capacity; ++i) {
    if (sketch.hashes[i] != 0) raise_register(sketch.registers, sketch.hashes[i]);
  }
  return {};
}

Status DistinctSketchAccumulator::grow(Sketch& sketch) {
  const uint64_t* const old = sketch.hashes;
  const int32_t old_capacity = sketch.capacity;
  sketch.capacity = std::max(kHashesFirst, old_capacity * 2);
  CD_ASSIGN(uint8_t * data, heap_.get(sketch.capacity * 8));
  sketch.hashes = reinterpret_cast<uint64_t*>(data);
  for (int32_t i = 0; i < old_capacity; ++i) {
    if (old[i] != 0) *place_of(sketch.hashes, sketch.capacity, old[i]) = old[i];
  }
  return {};
}

Status DistinctSketchAccumulator::add(Sketch& sketch, uint64_t hash) {
  if (sketch.registers != nullptr) {
    raise_register(sketch.registers, hash);
    return {};
  }
  hash += hash == 0 ? 1 : 0;  // which stands for none
  if (sketch.capacity == 0) CD_TRY(grow(sketch));
  uint64_t* place = place_of(sketch.hashes, sketch.capacity, hash);
  if (*place == hash) return {};
  if (sketch.size == kSparseHashes) {
    CD_TRY(make_dense(sketch));
    raise_register(sketch.registers, hash);
    return {};
  }
  if (sketch.size * 4 >= sketch.capacity * 3) {
    CD_TRY(grow(sketch));
    place = place_of(sketch.hashes, sketch.capacity, hash);
  }
  *place = hash;
  ++sketch.size;
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
      for (int32_t k = 0; k < more.capacity; ++k) {
        if (more.hashes[k] != 0) CD_TRY(add(sketch, more.hashes[k]));
      }
      continue;
    }
    if (sketch.registers == nullptr) CD_TRY(make_dense(sketch));
    raise_registers(sketch.registers, more.registers);
  }
  return {};
}

int64_t DistinctSketchAccumulator::count(uint32_t group) const {
  const Sketch& sketch = sketches_[group];
  return sketch.registers == nullptr ? sketch.size : std::llround(estimate(sketch.registers));
}

}  // namespace crossdock::operators
