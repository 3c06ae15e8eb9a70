// A chain of right rows for each key; a counted place for each left row.
#include "operators/hash_join/join_pairs.hpp"

#include <algorithm>
#include <unordered_map>

#include <gtest/gtest.h>

namespace crossdock::operators::join_test {
namespace {

// Right rows of one key, ascending, each by the one before it.
struct Chains {
  std::unordered_map<int64_t, int64_t> first;
  std::vector<int64_t> next;
};

Chains chains_of(const Keys& keys) {
  Chains chains;
  chains.first.reserve(keys.size());
  chains.next.assign(keys.size(), kAbsent);
  for (auto row = static_cast<int64_t>(keys.size()) - 1; row >= 0; --row) {
    if (keys[row] == kNull) continue;
    const auto [entry, is_new] = chains.first.try_emplace(keys[row], row);
    if (!is_new) chains.next[row] = std::exchange(entry->second, row);
  }
  return chains;
}

}  // namespace

RowPairs expected_pairs(const Sides& sides, JoinKind kind) {
  const Chains right = chains_of(sides.right);
  const bool pairs = kind != JoinKind::kSemi && kind != JoinKind::kAnti;
  const bool left_alone =
      kind == JoinKind::kLeft || kind == JoinKind::kFull || kind == JoinKind::kAnti;
  RowPairs rows;
  rows.reserve(2 * sides.left.size());
  std::vector<uint8_t> met(sides.right.size(), 0);
  for (size_t i = 0; i < sides.left.size(); ++i) {
    const auto first_right = right.first.find(sides.left[i]);
    const bool alone = first_right == right.first.end();
    if (alone ? left_alone : kind == JoinKind::kSemi) rows.emplace_back(i, kAbsent);
    for (int64_t j = alone || !pairs ? kAbsent : first_right->second; j != kAbsent;
         j = right.next[j]) {
      met[j] = 1;
      rows.emplace_back(i, j);
    }
  }
  if (kind != JoinKind::kRight && kind != JoinKind::kFull) return rows;
  RowPairs all;
  all.reserve(rows.size() + met.size());
  for (size_t j = 0; j < met.size(); ++j) {
    if (met[j] == 0) all.emplace_back(kAbsent, j);
  }
  all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

RowPairs in_order(const RowPairs& rows, const Sides& sides) {
  const auto lefts = static_cast<int64_t>(sides.left.size());
  // Where the rows of a left row begin; those without one come first.
  std::vector<int64_t> begins(sides.left.size() + 2, 0);
  for (const auto& [left, right] : rows) {
    if (left < kAbsent || left >= lefts) {
      ADD_FAILURE() << "left row " << left << " of " << lefts;
      return rows;
    }
    ++begins[left + 2];
  }
  for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  RowPairs ordered(rows.size());
  for (const auto& row : rows) ordered[begins[row.first + 1]++] = row;
  // Each now ends where its own rows end.
  int64_t begin = 0;
  for (int64_t i = 0; i <= lefts; ++i) {
    const int64_t end = begins[i];
    if (end - begin > 1) std::sort(ordered.begin() + begin, ordered.begin() + end);
    begin = end;
  }
  return ordered;
}

}  // namespace crossdock::operators::join_test
