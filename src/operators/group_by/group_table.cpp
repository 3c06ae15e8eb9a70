// Blocks through the index, then through every accumulator.
#include "operators/group_by/group_table.hpp"

#include <algorithm>

namespace crossdock::operators {

Status GroupTable::open(int skip_bits, uint64_t partition, int64_t groups_expected) {
  CD_TRY(index_->open(skip_bits, partition, groups_expected));
  for (const auto& state : states_) state->clear();
  return resize_states();
}

Status GroupTable::resize_states() {
  for (const auto& state : states_) CD_TRY(state->resize(index_->bound()));
  return {};
}

Status GroupTable::put(const InputBlock& block, MissedRows* missed) {
  uint32_t groups[kGroupRows];
  CD_TRY(index_->assign(block.keys(), groups, missed));
  CD_TRY(resize_states());
  const GroupBlock values = block.values(groups);
  for (const auto& state : states_) CD_TRY(state->update(values));
  return {};
}

Status GroupTable::merge(const GroupTable& from, const uint32_t* groups, int64_t count) {
  uint64_t words[kGroupRows];
  uint64_t tails[2][kGroupRows];
  RowRef refs[kGroupRows];
  uint32_t to[kGroupRows];
  for (int64_t done = 0; done < count; done += kGroupRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kGroupRows, count - done));
    from.index().keys(groups + done, rows, {words, {tails[0], tails[1]}, refs});
    CD_TRY(index_->assign({rows, words, {tails[0], tails[1]}, refs}, to, nullptr));
    CD_TRY(resize_states());
    const GroupPairs pairs{rows, groups + done, to};
    for (size_t i = 0; i < states_.size(); ++i) CD_TRY(states_[i]->merge(*from.states_[i], pairs));
  }
  return {};
}

Status GroupTable::put_no_rows() {
  const uint64_t word = 0;
  uint32_t group = 0;
  CD_TRY(index_->assign({1, &word, {nullptr, nullptr}, nullptr}, &group, nullptr));
  return resize_states();
}

}  // namespace crossdock::operators
