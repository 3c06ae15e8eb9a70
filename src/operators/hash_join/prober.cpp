#include "operators/hash_join/prober.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace crossdock::operators {
namespace {

// Whether the pairs are rows 0, 1, 2 ... of a block of `rows`.
bool is_identity(const PairList& pairs, int32_t rows) {
  if (pairs.count != rows) return false;
  uint16_t differs = 0;
  for (int32_t i = 0; i < rows; ++i) {
    differs |= static_cast<uint16_t>(pairs.rows[i] ^ static_cast<uint16_t>(i));
  }
  return differs == 0;
}

bool is_one_word(const ProbeBlock& block) {
  uint64_t differs = 0;
  for (int32_t i = 1; i < block.rows; ++i) differs |= block.words[i] ^ block.words[0];
  return differs == 0;
}

}  // namespace

// A worker's working arrays, some 150 KiB: in the second-level cache, never on the stack.
struct Prober::Scratch {
  PairList pairs;
  OpenRuns open;
  RowRef refs[2][kPairRows];  // by Side, for verification and residual
  uint32_t selected[kPairRows];
  uint8_t keep[kPairRows];
  alignas(64) uint64_t words[kPairRows];
  alignas(64) uint64_t carry[2][kPairRows];  // by Side
  uint8_t probe_matched[kSorterRows];
};

Prober::Prober(const ProbeContext& context, Emitter& emitter)
    : context_(&context), emitter_(&emitter), scratch_(std::make_shared<Scratch>()) {
  const JoinRoles& roles = context.roles;
  const bool pairs_are_certain = context.comparer == nullptr && context.residual == nullptr;
  first_match_suffices_ = pairs_are_certain && !roles.pairs && !roles.tracks_build();
  counts_by_word_ = pairs_are_certain && emitter.counts_only();
}

FindOptions Prober::options_for(const ProbeTarget& target) const {
  FindOptions options = target.options;
  options.unique = options.unique || first_match_suffices_;
  return options;
}

Status Prober::probe(const ProbeTarget& target, const ProbeBlock& block) {
  Scratch& s = *scratch_;
  CD_CHECK(block.rows <= kSorterRows, "rows {} limit {}", block.rows, kSorterRows);
  if (target.counts != nullptr) {
    count_partners(*target.counts, block);
    return {};
  }
  if (context_->roles.tracks_probe()) std::memset(s.probe_matched, 0, block.rows);
  if (target.dense != nullptr) {
    find_dense(*target.dense, block, s.pairs);
    CD_TRY(take_pairs(target, block));
  } else if (counts_by_word_ && block.rows > 1 && is_one_word(block)) {
    CD_TRY(count_one_word(target, block));
  } else {
    CD_TRY(probe_runs(target, block));
  }
  return context_->roles.tracks_probe() ? emit_probe_rows(block) : Status();
}

Status Prober::probe_runs(const ProbeTarget& target, const ProbeBlock& block) {
  Scratch& s = *scratch_;
  find_runs(target, block);
  do {
    find_rest(*target.runs, block, options_for(target), s.pairs, s.open);
    CD_TRY(take_pairs(target, block));
    // With many duplicates on both sides, one block can have millions of pairs.
    if (context_->cancel->is_set()) {
      return make_error(ErrorCode::kCancelled, "the join was cancelled while it probed");
    }
  } while (s.open.count > 0);
  return {};
}

void Prober::count_partners(const SlotCounts& slots, const ProbeBlock& block) {
  const JoinRoles& roles = context_->roles;
  const PartnerCounts partners = find_partners(slots, block.words, block.rows);
  if (roles.pairs) emitter_->count(partners.pairs);
  if (roles.probe_matched) emitter_->count(partners.rows);
  if (roles.probe_unmatched) emitter_->count(block.rows - partners.rows);
}

// Rows of one word have the same partners: the first row stands for all.
Status Prober::count_one_word(const ProbeTarget& target, const ProbeBlock& block) {
  const int64_t before = emitter_->rows();
  CD_TRY(probe_runs(target, {1, block.words, block.carry}));
  emitter_->count((emitter_->rows() - before) * (block.rows - 1));
  std::fill_n(scratch_->probe_matched, block.rows, scratch_->probe_matched[0]);
  return {};
}

// The first round. A block of one word (a skewed or sorted probe side) is looked up once: if that gives
// one match and no open run, all rows have it.
void Prober::find_runs(const ProbeTarget& target, const ProbeBlock& block) {
  Scratch& s = *scratch_;
  if (block.rows > 1 && is_one_word(block)) {
    find_first(*target.runs, {1, block.words, nullptr}, options_for(target), s.pairs, s.open);
    if (s.open.count == 0) {
      const uint32_t position = s.pairs.positions[0];
      if (s.pairs.count == 1) s.pairs.count = block.rows;
      for (int32_t i = 0; i < s.pairs.count; ++i) {
        s.pairs.rows[i] = static_cast<uint16_t>(i);
        s.pairs.positions[i] = position;
      }
      return;
    }
  }
  find_first(*target.runs, block, options_for(target), s.pairs, s.open);
}

Status Prober::take_pairs(const ProbeTarget& target, const ProbeBlock& block) {
  Scratch& s = *scratch_;
  if (s.pairs.count == 0) return {};
  if (context_->comparer != nullptr || context_->residual != nullptr) {
    load_refs(target, block);
    if (context_->comparer != nullptr) CD_TRY(verify());
    if (context_->residual != nullptr && s.pairs.count > 0) CD_TRY(apply_residual());
  }
  if (context_->roles.tracks_probe()) {
    for (int32_t i = 0; i < s.pairs.count; ++i) s.probe_matched[s.pairs.rows[i]] = 1;
  }
  if (target.matched != nullptr) {
    // Several workers may mark one row of a shared table; all write the same value.
    for (int32_t i = 0; i < s.pairs.count; ++i) {
      std::atomic_ref<uint8_t>(target.matched[s.pairs.positions[i]])
          .store(1, std::memory_order_relaxed);
    }
  }
  if (context_->roles.pairs) CD_TRY(emit_pairs(target, block));
  s.pairs.count = 0;
  return {};
}

void Prober::load_build_carry(const ProbeTarget& target) {
  Scratch& s = *scratch_;
  uint64_t* out = s.carry[index_of(context_->build)];
  if (target.dense != nullptr) {
    const uint32_t* entries = target.dense->entries;
    for (int32_t i = 0; i < s.pairs.count; ++i) out[i] = entries[s.pairs.positions[i]] - 1;
  } else if (target.runs->carry != nullptr) {
    const uint64_t* carry = target.runs->carry;
    for (int32_t i = 0; i < s.pairs.count; ++i) out[i] = carry[s.pairs.positions[i]];
  }
}

void Prober::load_refs(const ProbeTarget& target, const ProbeBlock& block) {
  Scratch& s = *scratch_;
  load_build_carry(target);
  const uint64_t* build_carry = s.carry[index_of(context_->build)];
  RowRef* build_refs = s.refs[index_of(context_->build)];
  RowRef* probe_refs = s.refs[static_cast<int>(context_->probe())];
  for (int32_t i = 0; i < s.pairs.count; ++i) {
    build_refs[i] = static_cast<RowRef>(build_carry[i]);
    probe_refs[i] = static_cast<RowRef>(block.carry[s.pairs.rows[i]]);
  }
}

Status Prober::verify() {
  Scratch& s = *scratch_;
  const int32_t kept =
      context_->comparer->select_equal(s.refs[0], s.refs[1], s.pairs.count, s.selected);
  if (kept < s.pairs.count) keep_pairs(s.selected, kept);
  return {};
}

void Prober::keep_pairs(const uint32_t* selected, int32_t count) {
  Scratch& s = *scratch_;
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t from = selected[i];
    s.pairs.rows[i] = s.pairs.rows[from];
    s.pairs.positions[i] = s.pairs.positions[from];
    s.refs[0][i] = s.refs[0][from];
    s.refs[1][i] = s.refs[1][from];
  }
  s.pairs.count = count;
}

Status Prober::apply_residual() {
  Scratch& s = *scratch_;
  CD_TRY(context_->residual->decide(s.refs[0], s.refs[1], s.pairs.count, s.keep));
  int32_t kept = 0;
  for (int32_t i = 0; i < s.pairs.count; ++i) {
    s.selected[kept] = static_cast<uint32_t>(i);
    kept += s.keep[i] != 0;
  }
  keep_pairs(s.selected, kept);
  return {};
}

Status Prober::emit_pairs(const ProbeTarget& target, const ProbeBlock& block) {
  Scratch& s = *scratch_;
  JoinedRows out;
  out.rows = s.pairs.count;
  if (emitter_->counts_only()) return emitter_->emit(out);
  load_build_carry(target);
  const int build = index_of(context_->build);
  const int probe = static_cast<int>(context_->probe());
  out.carry[build] = s.carry[build];
  if (is_identity(s.pairs, block.rows)) {
    // Every row matched once, in order: the block itself is the probe side of the pairs.
    out.words = block.words;
    out.carry[probe] = block.carry;
    return emitter_->emit(out);
  }
  out.words = s.words;
  out.carry[probe] = s.carry[probe];
  if (context_->output->plan->needs_keys) {
    for (int32_t i = 0; i < s.pairs.count; ++i) s.words[i] = block.words[s.pairs.rows[i]];
  }
  if (block.carry != nullptr) {
    for (int32_t i = 0; i < s.pairs.count; ++i) {
      s.carry[probe][i] = block.carry[s.pairs.rows[i]];
    }
  }
  return emitter_->emit(out);
}

Status Prober::emit_probe_rows(const ProbeBlock& block) {
  Scratch& s = *scratch_;
  const uint8_t emitted = context_->roles.probe_matched ? 1 : 0;
  const int probe = static_cast<int>(context_->probe());
  int32_t rows = 0;
  for (int32_t i = 0; i < block.rows; ++i) {
    s.words[rows] = block.words[i];
    if (block.carry != nullptr) s.carry[probe][rows] = block.carry[i];
    rows += s.probe_matched[i] == emitted;
  }
  return emit_alone(context_->probe(), rows, s.words, s.carry[probe]);
}

Status Prober::emit_alone(Side side, int32_t rows, const uint64_t* words, const uint64_t* carry) {
  JoinedRows out;
  out.presence = side == Side::kLeft ? Presence::kLeftOnly : Presence::kRightOnly;
  out.rows = rows;
  out.words = words;
  out.carry[index_of(side)] = carry;
  return emitter_->emit(out);
}

Status Prober::emit_build_rows(const ProbeTarget& target,
                               int64_t begin,
                               int64_t end,
                               bool matched) {
  Scratch& s = *scratch_;
  const uint8_t emitted = matched ? 1 : 0;
  uint64_t* carry = s.carry[index_of(context_->build)];
  int32_t rows = 0;
  for (int64_t at = begin; at < end; ++at) {
    bool take = target.matched[at] == emitted;
    if (target.dense != nullptr) {
      const uint32_t entry = target.dense->entries[at];
      s.words[rows] = static_cast<uint64_t>(at) << (64 - target.dense->range_bits);
      carry[rows] = entry - 1;
      take = take && entry != 0;
    } else {
      s.words[rows] = target.runs->words[at];
      if (target.runs->carry != nullptr) carry[rows] = target.runs->carry[at];
    }
    rows += take;
    if (rows == kPairRows) {
      CD_TRY(emit_alone(context_->build, rows, s.words, carry));
      rows = 0;
    }
  }
  return emit_alone(context_->build, rows, s.words, carry);
}

}  // namespace crossdock::operators
