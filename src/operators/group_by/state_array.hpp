// One value per group, growing with the groups and reused from partition to partition.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/result.hpp"
#include "memory/budget.hpp"

namespace crossdock::operators {

// Plain values only: they are moved as bytes. One owner thread.
template <class T>
class StateArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit StateArray(Memory& memory) : memory_(&memory) {}

  T* data() { return block_.template as<T>(); }
  const T* data() const { return block_.template as<T>(); }
  T& operator[](int64_t i) { return data()[i]; }
  const T& operator[](int64_t i) const { return data()[i]; }
  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Elements from size() up to `count` become `value`; earlier ones stay. Never shrinks.
  Status grow(int64_t count, T value) {
    if (count <= size_) return {};
    CD_TRY(make_room(count));
    std::fill(data() + size_, data() + count, value);
    size_ = count;
    return {};
  }

  // Room for `count` elements, so that they can be written before they are counted in.
  Status make_room(int64_t count) {
    const auto bytes = count * static_cast<int64_t>(sizeof(T));
    if (bytes <= block_.bytes()) return {};
    const int64_t doubled = std::max(bytes, block_.bytes() * 2);
    CD_ASSIGN(Block larger, memory_->get(doubled, "group_by: states of groups"));
    if (size_ > 0)
      std::memcpy(larger.data(), block_.data(), static_cast<size_t>(size_) * sizeof(T));
    block_ = std::move(larger);
    return {};
  }
  void set_size(int64_t count) { size_ = count; }

  // Forgets the elements, keeps the memory.
  void clear() { size_ = 0; }

 private:
  Memory* memory_;
  Block block_;
  int64_t size_ = 0;
};

}  // namespace crossdock::operators
