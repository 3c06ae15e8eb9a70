// The rows of a block by outlet: a counting sort of their numbers. Stable; few outlets are separated without counting,
// up to half as many as a vector has 32-bit lanes.
//
// Nanoseconds a row (row_sorter_bench, one core of a Cascade Lake, vectors of 512 bits): 0.5 to 2 outlets, 0.7 to 4,
// 1.1 to 8; 2.3, 2.4 and 2.5 with counts, or sums for two.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace crossdock::sorters {

// One thread.
class RowLists {
 public:
  // Of up to block_rows rows and 1 to 65,536 outlets. Memory: 4 bytes per row, 20 per outlet.
  RowLists(uint32_t block_rows, int outlets);

  uint32_t block_rows() const { return block_rows_; }
  // Row first_row + i goes to outlets[i], which is below their number.
  void list(std::span<const uint16_t> outlets, uint32_t first_row);
  // Ascending. Until the next list().
  std::span<const uint32_t> rows_of(uint16_t outlet) const {
    return {rows_.data() + begins_[outlet], begins_[outlet + 1] - begins_[outlet]};
  }

 private:
  void count(std::span<const uint16_t> outlets);
  void list_two(std::span<const uint16_t> outlets, uint32_t first_row);

  uint32_t block_rows_;
  size_t outlets_;
  std::vector<uint32_t> counts_;   // of kWays interleaved parts of the rows
  std::vector<uint32_t> begins_;   // by outlet, and the end
  std::vector<uint32_t> cursors_;  // by outlet: where its next row goes
  std::vector<uint32_t> rows_;
};

}  // namespace crossdock::sorters
