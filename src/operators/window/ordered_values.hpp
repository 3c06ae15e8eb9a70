// The values of a column in ascending order within each partition: of each row its place among them.
#pragma once

#include <cstdint>

#include "operators/window/window_function.hpp"

namespace crossdock::operators {

class OrderedValues {
 public:
  // NULLs have no place; NaN is above all numbers. Each partition is sorted by one worker. Errors: kOutOfMemoryBudget,
  // kCancelled.
  static Result<OrderedValues> load(const WindowContext& context, int column);

  // kNoPosition for a NULL; else among the values of the row's partition, from 0, equal ones in the order of rows.
  uint32_t place(uint32_t position) const { return places_.as<const uint32_t>()[position]; }
  // Equal for equal values, and never above the place.
  uint32_t first_place(uint32_t position) const {
    return first_places_.as<const uint32_t>()[position];
  }
  // The row with a place in the partition that begins at `partition`.
  uint32_t position(uint32_t partition, uint32_t place) const {
    return positions_.as<const uint32_t>()[partition + place];
  }

 private:
  struct Sorting;
  void sort_partition(const Sorting& sorting, uint32_t begin, uint32_t end);

  Block places_;
  Block first_places_;
  Block positions_;  // by partition and place
};

}  // namespace crossdock::operators
