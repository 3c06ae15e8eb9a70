#include "operators/merge_join/range_matcher.hpp"

#include <algorithm>

namespace crossdock::operators {
namespace {

// Whether positions that ascend, each above the last, have no gap.
bool is_run(const uint32_t* positions, int32_t count) {
  return positions[count - 1] - positions[0] == static_cast<uint32_t>(count - 1);
}

}  // namespace

Presence presence_in(const SideRoles& roles) {
  if (!roles.pairs) return Presence::kLeftOnly;
  return roles.left_alone || roles.right_alone ? Presence::kMixed : Presence::kBoth;
}

// A worker's working arrays: in the second-level cache, never on the stack.
struct RangeMatcher::Scratch {
  MatchList list;
  alignas(64) uint64_t words[kMatchRows];
  alignas(64) uint64_t carry[2][kMatchRows];  // by Side
  uint8_t present[2][kMatchRows];
  // Candidates of the residual predicate and the groups they make up.
  std::vector<Group> groups;
  int32_t candidates = 0;
  uint32_t rows[2][kMatchRows];
  RowRef refs[2][kMatchRows];
  uint8_t keep[kMatchRows];
  std::vector<uint8_t> met[2];  // by row of the group that is being decided
};

RangeMatcher::RangeMatcher(const MatchContext& context, Emitter& emitter)
    : context_(&context), emitter_(&emitter), scratch_(std::make_shared<Scratch>()) {}

int64_t RangeMatcher::result_rows(const SideRoles& roles,
                                  const MatchCounts& counts,
                                  int64_t left_rows,
                                  int64_t right_rows) {
  return (roles.pairs ? counts.pairs : 0) +
         (roles.left_alone ? left_rows - counts.left_matched : 0) +
         (roles.right_alone ? right_rows - counts.right_matched : 0) +
         (roles.left_matched ? counts.left_matched : 0);
}

Status RangeMatcher::check_cancelled() const {
  if (!context_->cancel->is_set()) return {};
  return make_error(ErrorCode::kCancelled, "the join was cancelled while it matched");
}

Status RangeMatcher::match(const SortedRange& left, const SortedRange& right) {
  sides_[0] = left;
  sides_[1] = right;
  if (context_->residual != nullptr) return match_with_residual();
  const SideRoles& roles = context_->roles;
  if (emitter_->counts_only()) {
    emitter_->count(result_rows(roles, count_matches(left, right), left.rows, right.rows));
    return {};
  }
  return roles.pairs ? match_pairs() : match_left_rows();
}

Status RangeMatcher::match_pairs() {
  const MatchInput input{sides_[0],
                         sides_[1],
                         match_shape(words_are_unique(sides_[0]), words_are_unique(sides_[1])),
                         {context_->roles.left_alone, context_->roles.right_alone}};
  ascends_[0] = input.shape == MatchShape::kOneToOne || input.shape == MatchShape::kManyToOne;
  ascends_[1] = input.shape == MatchShape::kOneToOne || input.shape == MatchShape::kOneToMany;
  MatchCursor cursor;
  bool goes_on = true;
  while (goes_on) {
    goes_on = next_matches(input, cursor, scratch_->list);
    CD_TRY(emit_list());
    CD_TRY(check_cancelled());
  }
  return {};
}

Status RangeMatcher::match_left_rows() {
  MatchCursor cursor;
  bool goes_on = true;
  while (goes_on) {
    goes_on =
        next_left_rows(sides_[0], sides_[1], context_->roles.left_matched, cursor, scratch_->list);
    CD_TRY(emit_list());
  }
  return {};
}

// Rows of the list, as a block.
Status RangeMatcher::emit_list() {
  Scratch& s = *scratch_;
  const int32_t count = s.list.count;
  JoinedRows block;
  block.presence = presence_in(context_->roles);
  block.rows = count;
  s.list.count = 0;
  if (count == 0 || emitter_->counts_only()) return emitter_->emit(block);
  const uint32_t* positions[2] = {s.list.left, s.list.right};
  const bool has_right = block.presence != Presence::kLeftOnly;
  for (const int side : {0, 1}) {
    if (side == 1 && !has_right) continue;
    const bool any_absent =
        block.presence == Presence::kMixed && find_absent(positions[side], count, s.present[side]);
    if (any_absent) block.present[side] = s.present[side];
    if (context_->output->plan->carry[side].is_empty()) continue;
    block.carry[side] = s.carry[side];  // read even where the side has no row at all
    if (!any_absent && ascends_[side] && is_run(positions[side], count)) {
      block.carry[side] = sides_[side].carry + positions[side][0];
    } else if (!any_absent) {
      pick(sides_[side].carry, positions[side], count, s.carry[side]);
    } else if (sides_[side].rows > 0) {
      pick_present(sides_[side].carry, {positions[side], s.present[side], count}, s.carry[side]);
    }
  }
  if (context_->output->plan->needs_keys) {
    block.words = s.words;
    if (block.present[0] == nullptr) {
      pick(sides_[0].words, positions[0], count, s.words);
    } else {
      for (int32_t i = 0; i < count; ++i) {
        s.words[i] = s.present[0][i] != 0 ? sides_[0].words[positions[0][i]]
                                          : sides_[1].words[positions[1][i]];
      }
    }
  }
  return emitter_->emit(block);
}

Status RangeMatcher::emit_alone(Side side, const SortedRange& rows) {
  for (int64_t at = 0; at < rows.rows; at += kMatchRows) {
    JoinedRows block;
    block.presence = side == Side::kLeft ? Presence::kLeftOnly : Presence::kRightOnly;
    block.rows = static_cast<int32_t>(std::min<int64_t>(kMatchRows, rows.rows - at));
    block.words = rows.words + at;
    block.carry[index_of(side)] = rows.carry == nullptr ? nullptr : rows.carry + at;
    CD_TRY(emitter_->emit(block));
    CD_TRY(check_cancelled());
  }
  return {};
}

RangeMatcher::Group RangeMatcher::next_group(int64_t left, int64_t right) const {
  Group group{{left, right}, {left, right}};
  const bool has_left = left < sides_[0].rows;
  const bool has_right = right < sides_[1].rows;
  const uint64_t word = has_left && has_right
                          ? std::min(sides_[0].words[left], sides_[1].words[right])
                          : (has_left ? sides_[0].words[left] : sides_[1].words[right]);
  for (const int side : {0, 1}) {
    int64_t& end = group.end[side];
    while (end < sides_[side].rows && sides_[side].words[end] == word) ++end;
  }
  return group;
}

// Group by group: candidates collect until there are enough to ask about.
Status RangeMatcher::match_with_residual() {
  Scratch& s = *scratch_;
  ascends_[0] = ascends_[1] = false;
  s.groups.clear();
  s.candidates = 0;
  s.list.count = 0;
  int64_t left = 0;
  int64_t right = 0;
  while (left < sides_[0].rows || right < sides_[1].rows) {
    const Group group = next_group(left, right);
    left = group.end[0];
    right = group.end[1];
    if (group.pairs() > kMatchRows - s.candidates || s.groups.size() == kMatchRows) {
      CD_TRY(decide_groups());
    }
    CD_TRY(group.pairs() > kMatchRows ? decide_large_group(group) : add_group(group));
  }
  CD_TRY(decide_groups());
  return emit_list();
}

Status RangeMatcher::add_group(const Group& group) {
  Scratch& s = *scratch_;
  s.groups.push_back(group);
  for (int64_t i = group.begin[0]; i < group.end[0]; ++i) {
    for (int64_t j = group.begin[1]; j < group.end[1]; ++j) {
      s.rows[0][s.candidates] = static_cast<uint32_t>(i);
      s.rows[1][s.candidates] = static_cast<uint32_t>(j);
      ++s.candidates;
    }
  }
  return {};
}

// Has the predicate decide about the first `count` candidates.
Status RangeMatcher::ask(int32_t count) {
  Scratch& s = *scratch_;
  CD_TRY(check_cancelled());
  if (count == 0) return {};
  for (const int side : {0, 1}) {
    for (int32_t i = 0; i < count; ++i) {
      s.refs[side][i] = static_cast<RowRef>(sides_[side].carry[s.rows[side][i]]);
    }
  }
  return context_->residual->decide(s.refs[0], s.refs[1], count, s.keep);
}

Status RangeMatcher::decide_groups() {
  Scratch& s = *scratch_;
  CD_TRY(ask(s.candidates));
  int32_t at = 0;
  for (const Group& group : s.groups) {
    for (const int side : {0, 1}) {
      s.met[side].assign(static_cast<size_t>(group.end[side] - group.begin[side]), 0);
    }
    for (int64_t pair = 0; pair < group.pairs(); ++pair, ++at) {
      if (s.keep[at] == 0) continue;
      s.met[0][s.rows[0][at] - group.begin[0]] = 1;
      s.met[1][s.rows[1][at] - group.begin[1]] = 1;
      if (context_->roles.pairs) CD_TRY(put(s.rows[0][at], s.rows[1][at]));
    }
    CD_TRY(put_survivors(group));
  }
  s.groups.clear();
  s.candidates = 0;
  return {};
}

// One key with more pairs than are asked about at once: they leave as they are decided.
Status RangeMatcher::decide_large_group(const Group& group) {
  Scratch& s = *scratch_;
  for (const int side : {0, 1}) {
    s.met[side].assign(static_cast<size_t>(group.end[side] - group.begin[side]), 0);
  }
  const int64_t width = group.end[1] - group.begin[1];
  for (int64_t pair = 0; pair < group.pairs(); pair += kMatchRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kMatchRows, group.pairs() - pair));
    for (int32_t i = 0; i < count; ++i) {
      s.rows[0][i] = static_cast<uint32_t>(group.begin[0] + (pair + i) / width);
      s.rows[1][i] = static_cast<uint32_t>(group.begin[1] + (pair + i) % width);
    }
    CD_TRY(ask(count));
    for (int32_t i = 0; i < count; ++i) {
      if (s.keep[i] == 0) continue;
      s.met[0][s.rows[0][i] - group.begin[0]] = 1;
      s.met[1][s.rows[1][i] - group.begin[1]] = 1;
      if (context_->roles.pairs) CD_TRY(put(s.rows[0][i], s.rows[1][i]));
    }
  }
  return put_survivors(group);
}

// Rows that leave once, by whether a candidate was kept.
Status RangeMatcher::put_survivors(const Group& group) {
  Scratch& s = *scratch_;
  const SideRoles& roles = context_->roles;
  for (int64_t i = group.begin[0]; i < group.end[0]; ++i) {
    const bool met = s.met[0][i - group.begin[0]] != 0;
    if (met ? roles.left_matched : roles.left_alone) CD_TRY(put(i, kAlone));
  }
  for (int64_t j = group.begin[1]; j < group.end[1] && roles.right_alone; ++j) {
    if (s.met[1][j - group.begin[1]] == 0) CD_TRY(put(kAlone, j));
  }
  return {};
}

Status RangeMatcher::put(int64_t left, int64_t right) {
  MatchList& list = scratch_->list;
  list.left[list.count] = static_cast<uint32_t>(left);
  list.right[list.count] = static_cast<uint32_t>(right);
  ++list.count;
  return list.count == kMatchRows ? emit_list() : Status();
}

}  // namespace crossdock::operators
