// Lists against rows picked out one outlet at a time: few outlets, which vectors of every kind that this processor has
// tell apart, and more.
#include "data/sorters/list_rows.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "table/word_mix.hpp"

namespace crossdock::sorters {
namespace {

constexpr uint32_t kBlockRows = 1000;

std::vector<uint32_t> rows_with(uint16_t outlet,
                                const std::vector<uint16_t>& outlets,
                                uint32_t first) {
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < outlets.size(); ++i) {
    if (outlets[i] == outlet) rows.push_back(first + i);
  }
  return rows;
}

void expect_lists(RowLists& lists,
                  int count,
                  const std::vector<uint16_t>& outlets,
                  uint32_t first) {
  lists.list(outlets, first);
  for (int o = 0; o < count; ++o) {
    const auto outlet = static_cast<uint16_t>(o);
    const auto listed = lists.rows_of(outlet);
    EXPECT_EQ(std::vector<uint32_t>(listed.begin(), listed.end()),
              rows_with(outlet, outlets, first))
        << outlets.size() << " rows, outlet " << o << " of " << count;
  }
}

TEST(RowLists, hold_each_row_once_in_order_by_every_instruction_set) {
  uint64_t seed = 12;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (const int count : {1, 2, 3, 4, 5, 8, 9, 16, 17, 300}) {
      RowLists lists(kBlockRows, count);
      for (const uint32_t rows : {0U, 1U, 15U, 16U, 17U, 33U, 64U, kBlockRows - 1, kBlockRows}) {
        std::vector<uint16_t> outlets(rows);
        for (uint16_t& outlet : outlets) {
          outlet = static_cast<uint16_t>(next_random(seed) % static_cast<uint64_t>(count));
        }
        expect_lists(lists, count, outlets, rows * 7);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(RowLists, hold_rows_that_all_go_one_way) {
  for (const int count : {2, 4, 8, 16}) {
    RowLists lists(kBlockRows, count);
    for (int o = 0; o < count; ++o) {
      expect_lists(lists, count, std::vector<uint16_t>(kBlockRows, static_cast<uint16_t>(o)), 5);
    }
  }
}

}  // namespace
}  // namespace crossdock::sorters
