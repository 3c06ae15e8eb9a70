#include "operators/hash_join/join_planner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/merge_cost.hpp"
#include "model/rates.hpp"

namespace crossdock::operators {
namespace {

constexpr int32_t kRunRows = 64;     // rows of one run of the sample
constexpr int64_t kRunsMost = 64;    // over the whole side
constexpr int64_t kNearKeys = 1024;  // keys this near share a page of an array

int64_t rows_of(const PlannerInput& input, Side side) {
  return input.stores[index_of(side)]->rows();
}

class Sampler {
 public:
  Sampler(const PlannerInput& input, Side side)
      : morsels_(*input.morsels[index_of(side)]),
        encoder_(*input.keys, *input.stores[index_of(side)]->schema(), side),
        runs_(runs_of(rows_of(input, side))) {}

  KeySample take() {
    KeySample sample;
    const size_t stride = std::max<size_t>(1, morsels_.size() / static_cast<size_t>(runs_));
    const int64_t runs_each =
        std::max<int64_t>(1, runs_ / std::max<int64_t>(1, std::ssize(morsels_)));
    for (size_t m = 0; m < morsels_.size(); m += stride) {
      // Runs that overlapped would make any key look as if it came twice.
      const int64_t runs = std::clamp<int64_t>(morsels_[m].rows / kRunRows, 1, runs_each);
      for (int64_t run = 0; run < runs; ++run) take_run(morsels_[m], run, runs);
    }
    sample.rows_seen = static_cast<int64_t>(keys_.size());
    if (keys_.empty()) return sample;
    sample.clustered = near_ * 4 > neighbours_ * 3;
    sample.sorted = std::is_sorted(keys_.begin(), keys_.end());
    std::sort(keys_.begin(), keys_.end());
    sample.min = keys_.front();
    sample.max = keys_.back();
    sample.unique = std::adjacent_find(keys_.begin(), keys_.end()) == keys_.end();
    sample.keys = std::move(keys_);
    return sample;
  }

 private:
  // Eight times the root of the rows: of keys that come twice, some thirty are expected to be seen twice. All that is
  // seen is sorted, which of a small side would take longer than its join.
  static int64_t runs_of(int64_t rows) {
    const double seen = 8 * std::sqrt(static_cast<double>(rows));
    return std::clamp(static_cast<int64_t>(std::ceil(seen / kRunRows)), int64_t{1}, kRunsMost);
  }

  void take_run(const Morsel& morsel, int64_t run, int64_t runs) {
    uint64_t keys[kRunRows];
    uint8_t live[kRunRows];
    const int64_t begin = morsel.rows * run / runs;
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kRunRows, morsel.rows - begin));
    std::fill_n(live, rows, uint8_t{1});
    encoder_.clear_nulls(*morsel.batch, morsel.begin + begin, rows, live);
    encoder_.load_keys(*morsel.batch, morsel.begin + begin, rows, keys);
    bool has_previous = false;
    int64_t previous = 0;
    for (int32_t i = 0; i < rows; ++i) {
      if (live[i] == 0) continue;
      const auto key = static_cast<int64_t>(keys[i]);
      keys_.push_back(key);
      if (has_previous) {
        ++neighbours_;
        const uint64_t distance = key > previous ? static_cast<uint64_t>(key) - previous
                                                 : static_cast<uint64_t>(previous) - key;
        near_ += distance <= static_cast<uint64_t>(kNearKeys);
      }
      previous = key;
      has_previous = true;
    }
  }

  const std::vector<Morsel>& morsels_;
  KeyEncoder encoder_;
  int64_t runs_;
  std::vector<int64_t> keys_;
  int64_t neighbours_ = 0;
  int64_t near_ = 0;
};

bool dense_is_possible(const PlannerInput& input) {
  // Dense words put keys outside the range among those without a partner, where NOT IN must tell
  // them from nulls.
  return input.spec->kind != JoinKind::kAntiNullAware && input.keys->packs_exactly &&
         input.keys->parts.size() == 1 && input.keys->parts[0].kind.form == KeyForm::kInteger64;
}

// Whether each string column of the key repeats itself: at most three values in four rows of a sample
// of neighbours and strangers.
bool has_few_strings(const PlannerInput& input, Side side) {
  constexpr int64_t kRowsMax = int64_t{1} << 16;
  const std::vector<Morsel>& morsels = *input.morsels[index_of(side)];
  const Schema& schema = *input.stores[index_of(side)]->schema();
  const auto rows_each = static_cast<int32_t>(std::clamp<int64_t>(
      kRowsMax / std::max<int64_t>(1, static_cast<int64_t>(morsels.size())), 1, kMaxKeyRows));
  for (const KeyPart& part : input.keys->parts) {
    if (part.kind.form != KeyForm::kBytes) continue;
    const int column = side == Side::kLeft ? part.left : part.right;
    KeyHasher hasher(schema.fields[column].type, part.kind, input.keys->seed);
    std::vector<uint64_t> hashes;
    for (const Morsel& morsel : morsels) {
      const int32_t rows = std::min(rows_each, morsel.rows);
      hashes.resize(hashes.size() + static_cast<size_t>(rows));
      hasher.hash(morsel.batch->columns[column],
                  morsel.begin,
                  rows,
                  false,
                  hashes.data() + hashes.size() - rows);
      if (static_cast<int64_t>(hashes.size()) >= kRowsMax) break;
    }
    const auto seen = static_cast<int64_t>(hashes.size());
    std::sort(hashes.begin(), hashes.end());
    const auto distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin();
    if (distinct * 4 > seen * 3) return false;
  }
  return true;
}

// Share of the keys seen in `own` that lie where keys of `other` were seen.
double overlap_of(const KeySample& sample, const KeySample& other) {
  if (sample.keys.empty() || other.keys.empty()) return 1;
  const auto first = std::lower_bound(sample.keys.begin(), sample.keys.end(), other.min);
  const auto last = std::upper_bound(sample.keys.begin(), sample.keys.end(), other.max);
  return static_cast<double>(last - first) / static_cast<double>(sample.keys.size());
}

// Rows of a side that are expected to be inside the other side's range.
int64_t expected_rows(const PlannerInput& input, const JoinChoice& choice, Side side) {
  const double overlap = choice.overlap[index_of(side)];
  if (overlap >= kOverlapWorthScan) return rows_of(input, side);
  return 1 + static_cast<int64_t>(overlap * static_cast<double>(rows_of(input, side)));
}

// Columns that have to be fetched by reference from a side, roughly: what is no key and not narrow.
int gathered_columns(const PlannerInput& input, Side side) {
  int bits = 0;
  int columns = 0;
  const auto output_side = side == Side::kLeft ? OutputSide::kLeft : OutputSide::kRight;
  for (const OutputColumn& column : input.spec->output) {
    if (column.side != output_side) continue;
    const DataType& type = input.stores[index_of(side)]->schema()->fields[column.column].type;
    bits += layout(type) == Layout::kFixed ? fixed_bytes(type) * 8 : 128;
    ++columns;
  }
  return bits <= 64 ? 0 : columns;
}

// Width of an output row; a string is its 16-byte view or, copied, about as much again in bytes.
int output_words(const PlannerInput& input) {
  int words = 0;
  for (const OutputColumn& column : input.spec->output) {
    const int side = column.side == OutputSide::kRight ? 1 : 0;
    const DataType& type = input.stores[side]->schema()->fields[column.column].type;
    const bool is_copied = layout(type) == Layout::kOffsets32 || layout(type) == Layout::kOffsets64;
    words += is_copied ? 4 : (fixed_bytes(type) + 7) / 8;
  }
  return words;
}

// Whether a side is sorted, as the caller says or a sample does. The sample reads keys as signed numbers.
SeenOrder seen_order(const PlannerInput& input, const JoinChoice& choice, Side side) {
  const Sortedness known = input.spec->sorted[index_of(side)];
  if (known == Sortedness::kDeclared) return SeenOrder::kDeclared;
  const KeyPart& part = input.keys->parts[0];
  const int column = side == Side::kLeft ? part.left : part.right;
  const DataType& type = input.stores[index_of(side)]->schema()->fields[column].type;
  const bool sample_tells = input.keys->packs_exactly && input.keys->parts.size() == 1 &&
                            part.kind.form == KeyForm::kInteger64 && type.id != TypeId::kUInt64 &&
                            type.id != TypeId::kDictionary;
  if (known == Sortedness::kUnsorted) return SeenOrder::kUnsorted;
  if (!sample_tells) return SeenOrder::kUnknown;
  const KeySample& sample = choice.samples[index_of(side)];
  return sample.sorted ? SeenOrder::kSampled : SeenOrder::kUnsorted;
}

model::JoinShape shape_for(const PlannerInput& input, const JoinChoice& choice, Side build) {
  const Side probe = opposite(build);
  model::JoinShape shape;
  shape.build_rows = expected_rows(input, choice, build);
  shape.probe_rows = expected_rows(input, choice, probe);
  shape.threads = input.threads;
  shape.output_words = output_words(input);
  shape.gathered_build = gathered_columns(input, build);
  shape.gathered_probe = gathered_columns(input, probe);
  shape.build_carries = shape.probe_carries = shape.output_words > 0;
  shape.named = choice.few_strings[index_of(build)];
  shape.hashed = input.keys->needs_verification() && !shape.named;
  if (input.keys->packs_exactly) {
    const KeySample& sample = choice.samples[index_of(build)];
    shape.build_unique = sample.unique;
    shape.probe_clustered = choice.samples[index_of(probe)].clustered;
    if (dense_is_possible(input)) {
      shape.range_bits = dense_range_bits(sample.min, sample.max, shape.build_rows);
    }
  }
  return shape;
}

model::JoinCost merge_cost_of(const PlannerInput& input, const JoinChoice& choice) {
  model::MergeShape shape;
  for (const Side side : {Side::kLeft, Side::kRight}) {
    const int index = index_of(side);
    shape.rows[index] = rows_of(input, side);
    shape.sorted[index] = is_sorted(choice.order[index]);
    shape.checked[index] = choice.order[index] == SeenOrder::kSampled;
    shape.gathered[index] = gathered_columns(input, side);
  }
  shape.threads = input.threads;
  shape.output_words = output_words(input);
  shape.carries = shape.output_words > 0;
  shape.one_word = input.keys->parts.size() == 1 && is_exact64(input.keys->parts[0].kind);
  shape.exact = input.keys->packs_exactly;
  const auto rates = model::rates_in_force();
  const model::Machine machine = model::seen_by(*rates, input.machine);
  return model::merge_join_cost(shape, machine, rates->join, rates->merge);
}

void consider_side(const PlannerInput& input, Side build, JoinChoice& choice) {
  const model::JoinShape shape = shape_for(input, choice, build);
  const auto in_force = model::rates_in_force();
  const model::JoinRates& rates = in_force->join;
  const model::Machine machine = model::seen_by(*in_force, input.machine);
  const Strategy forced = input.spec->strategy;
  const auto wants = [&](Strategy strategy) {
    return forced == Strategy::kAuto || forced == strategy;
  };
  if (wants(Strategy::kRadix)) {
    choice.considered.push_back(
        {Strategy::kRadix, build, model::radix_join_cost(shape, machine, rates)});
  }
  if (wants(Strategy::kDirect)) {
    choice.considered.push_back(
        {Strategy::kDirect, build, model::direct_join_cost(shape, machine, rates)});
  }
  const bool dense_fits =
      shape.range_bits > 0 && (shape.build_unique || forced == Strategy::kDense);
  if (wants(Strategy::kDense) && dense_fits) {
    choice.considered.push_back(
        {Strategy::kDense, build, model::dense_join_cost(shape, machine, rates)});
  }
}

// Unsorted sides are never cheaper to sort than to partition, so merging is considered if both sides are
// sorted, and nothing is asked for that only tables have.
void consider_merge(const PlannerInput& input, JoinChoice& choice) {
  const JoinSpec& spec = *input.spec;
  if (spec.strategy != Strategy::kMerge) {
    const bool is_asked_for_table = spec.build_is_forced || spec.filter == Filter::kBloom;
    if (spec.strategy != Strategy::kAuto || is_asked_for_table) return;
    if (!is_sorted(choice.order[0]) || !is_sorted(choice.order[1])) return;
  }
  const Side side = spec.build_is_forced ? spec.forced_build : Side::kRight;
  choice.considered.push_back({Strategy::kMerge, side, merge_cost_of(input, choice)});
}

std::string why_strategy(const PlannerInput& input, const PlannedStrategy& chosen) {
  if (input.spec->strategy != Strategy::kAuto) return "forced by strategy=";
  switch (chosen.strategy) {
    case Strategy::kDense:
      return "unique integer keys in a narrow range: an array indexed by the key";
    case Strategy::kMerge:
      return "both sides are in key order already: nothing has to be moved";
    case Strategy::kDirect:
      return "the table fits the caches, or the probe side is in key order: no need to move it";
    default:
      return "the table would miss the caches: both sides are partitioned until parts fit";
  }
}

std::string why_build(const PlannerInput& input, const JoinChoice& choice) {
  if (choice.chosen.strategy == Strategy::kMerge) return "a merge join builds no table";
  if (input.spec->build_is_forced) return "forced by build=";
  const Side build = choice.chosen.build;
  const int64_t rows = rows_of(input, build);
  const int64_t other = rows_of(input, opposite(build));
  if (rows == other) return fmt::format("both sides have {} rows", rows);
  if (rows < other) return fmt::format("the smaller side, {} of {} rows", rows, rows + other);
  return fmt::format("larger ({} against {} rows), but its keys make a cheaper table", rows, other);
}

}  // namespace

int dense_range_bits(int64_t min, int64_t max, int64_t rows) {
  const uint64_t range = static_cast<uint64_t>(max) - static_cast<uint64_t>(min);
  const int bits = std::max(1, static_cast<int>(std::bit_width(range)));
  constexpr int64_t kEntriesPerRow = 16;
  if (bits > 31 || (int64_t{1} << bits) > std::max<int64_t>(1024, rows * kEntriesPerRow)) return 0;
  return bits;
}

model::JoinCost cost_of_arrived(const PlannerInput& input,
                                const int64_t (&rows)[2],
                                Strategy strategy,
                                Side build) {
  const auto rates = model::rates_in_force();
  const model::Machine machine = model::seen_by(*rates, input.machine);
  const int words = output_words(input);
  if (strategy == Strategy::kMerge) {
    model::MergeShape shape;
    for (const Side side : {Side::kLeft, Side::kRight}) {
      shape.rows[index_of(side)] = rows[index_of(side)];
      shape.gathered[index_of(side)] = gathered_columns(input, side);
    }
    shape.partitioned = true;
    shape.carries = words > 0;
    shape.output_words = words;
    shape.threads = input.threads;
    return model::merge_join_cost(shape, machine, rates->join, rates->merge);
  }
  model::JoinShape shape;
  shape.build_rows = rows[index_of(build)];
  shape.probe_rows = rows[index_of(opposite(build))];
  shape.partitioned = true;
  shape.output_words = words;
  shape.gathered_build = gathered_columns(input, build);
  shape.gathered_probe = gathered_columns(input, opposite(build));
  shape.threads = input.threads;
  return model::radix_join_cost(shape, machine, rates->join);
}

KeySample sample_keys(const PlannerInput& input, Side side) { return Sampler(input, side).take(); }

Result<JoinChoice> choose_join(const PlannerInput& input) {
  JoinChoice choice;
  if (input.keys->packs_exactly) {
    for (const Side side : {Side::kLeft, Side::kRight}) {
      choice.samples[index_of(side)] = sample_keys(input, side);
    }
    if (dense_is_possible(input)) {
      choice.overlap[0] = overlap_of(choice.samples[0], choice.samples[1]);
      choice.overlap[1] = overlap_of(choice.samples[1], choice.samples[0]);
    }
  }
  if (input.keys->can_name_strings) {
    for (const Side side : {Side::kLeft, Side::kRight}) {
      choice.few_strings[index_of(side)] = has_few_strings(input, side);
    }
  }
  for (const Side side : {Side::kLeft, Side::kRight}) {
    choice.order[index_of(side)] = seen_order(input, choice, side);
  }
  if (input.spec->strategy == Strategy::kDense && !dense_is_possible(input)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "strategy 'dense' needs one key of an integer, date or time type; this join "
                      "has {} key column(s) that are compared {}\n  try      strategy='auto'",
                      input.keys->parts.size(),
                      input.keys->packs_exactly ? "as packed words" : "by hash");
  }
  for (const Side side : {Side::kRight, Side::kLeft}) {
    if (input.spec->build_is_forced && input.spec->forced_build != side) continue;
    consider_side(input, side, choice);
  }
  consider_merge(input, choice);
  if (choice.considered.empty()) {
    const Side side = input.spec->build_is_forced ? input.spec->forced_build : Side::kRight;
    const KeySample& sample = choice.samples[index_of(side)];
    return make_error(ErrorCode::kInvalidArgument,
                      "strategy 'dense' needs keys of a narrow range: a sample spans {} to {}, but "
                      "the side has {} rows (limit: 16 times the rows, 2^31 in all)\n"
                      "  try      strategy='auto'",
                      sample.min,
                      sample.max,
                      rows_of(input, side));
  }
  choice.chosen = *std::min_element(
      choice.considered.begin(), choice.considered.end(), [](const auto& a, const auto& b) {
        return a.cost.seconds() < b.cost.seconds();
      });
  choice.build_rows_expected = expected_rows(input, choice, choice.chosen.build);
  choice.strategy_reason = why_strategy(input, choice.chosen);
  choice.build_reason = why_build(input, choice);
  return choice;
}

}  // namespace crossdock::operators
