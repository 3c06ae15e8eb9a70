// Samples, estimates and the choice.
#include "operators/group_by/group_planner.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>

#include "model/rates.hpp"
#include "operators/group_by/word_scan.hpp"
#include "table/key_word.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kSampledBlocks = 32;
// A key with this many runs among some 32 k sampled rows counts as frequent: 1 row in 4,000.
constexpr int32_t kFrequentRuns = 8;

// Occurrences of hashes, by runs of equal neighbours: a key whose rows lie together is seen once.
class RunCounter {
 public:
  void add(const uint64_t* words, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
      if (i > 0 && words[i] == words[i - 1]) continue;
      ++runs_;
      ++counts_[words[i]];
    }
    rows_ += count;
  }

  void finish(int64_t rows, GroupSample& sample) const {
    sample.rows = rows_;
    if (rows_ == 0) return;
    sample.run_rows = static_cast<double>(rows_) / static_cast<double>(runs_);
    int64_t once = 0;
    int64_t twice = 0;
    int64_t frequent = 0;
    for (const auto& [word, count] : counts_) {
      once += count == 1;
      twice += count == 2;
      if (count >= kFrequentRuns) frequent += count;
    }
    sample.heavy_share = static_cast<double>(frequent) / static_cast<double>(runs_);
    const auto seen = static_cast<double>(counts_.size());
    const double limit = static_cast<double>(rows) / sample.run_rows;
    // Chao's estimator: what was seen once or twice tells of what was not seen at all.
    const double unseen =
        static_cast<double>(once) * static_cast<double>(once) / (2.0 * std::max<double>(1, twice));
    const double estimate = rows_ >= rows ? seen : std::min(limit, seen + unseen);
    sample.groups = std::max<int64_t>(1, static_cast<int64_t>(estimate));
  }

 private:
  std::unordered_map<uint64_t, int32_t> counts_;
  int64_t rows_ = 0;
  int64_t runs_ = 0;
};

int64_t accumulator_bytes(const PlannedAccumulator& planned) {
  switch (planned.spec.kind) {
    case AccumulatorKind::kMoments:
      return sizeof(Moments);
    case AccumulatorKind::kHigherMoments:
      return sizeof(HigherMoments);
    case AccumulatorKind::kEntropy:
      return 16;
    case AccumulatorKind::kExactRealSum:
      return 576;
    case AccumulatorKind::kDistinctSketch:
    case AccumulatorKind::kQuantileSketch:
    case AccumulatorKind::kQuantileValues:
      return 1024;
    case AccumulatorKind::kMinRef:
    case AccumulatorKind::kMaxRef:
    case AccumulatorKind::kArgMin:
    case AccumulatorKind::kArgMax:
      return 20;
    default:
      return 8;
  }
}

// Places of 4 bytes at a load of 1/4 to 1/8, and the word.
constexpr int64_t kIndexBytes = 4 * 6 + 8;

Error cannot(GroupStrategy strategy, const char* why) {
  return make_error(ErrorCode::kInvalidArgument,
                    "strategy '{}' cannot group this: {}\n  try      strategy='auto'",
                    strategy_name(strategy),
                    why);
}

struct Candidate {
  GroupStrategy strategy;
  bool dense;
  model::GroupCost cost;
};

void consider(std::vector<Candidate>& all,
              GroupStrategy strategy,
              bool dense,
              model::GroupCost cost) {
  all.push_back({strategy, dense, std::move(cost)});
}

}  // namespace

model::GroupShape group_shape(const GroupPlannerInput& input, const GroupSample& sample) {
  model::GroupShape shape;
  shape.rows = input.store->rows();
  shape.groups = sample.groups;
  shape.range_bits = sample.range_bits;
  shape.lanes = 0;
  for (const ValueLane& lane : input.aggregates->lanes) shape.lanes += lane.has_high ? 2 : 1;
  if (input.aggregates->needs_refs || !input.aggregates->masks.empty()) ++shape.lanes;
  shape.accumulators = static_cast<int>(input.aggregates->accumulators.size());
  shape.state_bytes = 0;
  for (const auto& planned : input.aggregates->accumulators) {
    shape.state_bytes += accumulator_bytes(planned);
  }
  shape.group_bytes = kIndexBytes + shape.state_bytes;
  shape.heavy_share = sample.heavy_share;
  shape.packs = sample.packs || input.spec->keys.empty();
  shape.ranges_known = true;
  for (const int key : input.spec->keys) {
    shape.ranges_known =
        shape.ranges_known && range_without_scan(input.store->column(key)).has_value();
    const DataType& type = input.store->schema()->fields[key].type;
    shape.hashed = shape.hashed || value_form(type) == ValueForm::kBytes;
  }
  shape.output_words = static_cast<int>(input.spec->keys.size() + input.spec->aggregates.size());
  shape.threads = input.threads;
  return shape;
}

int dense_bits_max(int64_t groups) {
  constexpr int64_t kPlacesPerGroup = 4;
  const auto places = static_cast<uint64_t>(std::max<int64_t>(groups, 1 << 12) * kPlacesPerGroup);
  return std::min(kDenseBitsMax, static_cast<int>(std::bit_width(places)) - 1);
}

Result<GroupSample> sample_keys(const GroupPlannerInput& input) {
  GroupSample sample;
  const Schema& schema = *input.store->schema();
  const std::vector<int>& keys = input.spec->keys;
  sample.packs = packs_without_ranges(keys, *input.store);
  std::vector<KeyColumnRange> ranges(keys.size());
  CD_ASSIGN(GroupKeyPlan packed, plan_group_keys(keys, *input.store, ranges, 0));
  GroupKeyPlan hashed = packed;
  hashed.mode = GroupKeyMode::kHashed;
  hashed.seed = input.environment->seed;
  const auto hasher = std::make_unique<GroupKeyEncoder>(hashed, schema);
  const auto packer = std::make_unique<GroupKeyEncoder>(packed, schema);
  sample.ascends = sample.descends = sample.packs && !keys.empty();
  int64_t previous_up = std::numeric_limits<int64_t>::min();
  int64_t previous_down = std::numeric_limits<int64_t>::max();
  RunCounter counter;
  const size_t stride = std::max<size_t>(1, input.morsels->size() / kSampledBlocks);
  const int64_t per_morsel = std::max<int64_t>(
      1, kSampledBlocks / std::max<int64_t>(1, static_cast<int64_t>(input.morsels->size())));
  for (size_t m = 0; m < input.morsels->size(); m += stride) {
    const Morsel& morsel = (*input.morsels)[m];
    for (int64_t part = 0; part < per_morsel; ++part) {
      const int64_t first = morsel.rows * part / per_morsel;
      const int64_t end = morsel.rows * (part + 1) / per_morsel;
      const auto rows = static_cast<int32_t>(std::min<int64_t>(kGroupRows, end - first));
      if (rows <= 0) continue;
      uint64_t words[kGroupRows];
      hasher->encode(*morsel.batch, morsel.begin + first, rows, {words, {nullptr, nullptr}});
      if (keys.empty()) std::fill_n(words, rows, uint64_t{0});
      counter.add(words, rows);
      for (size_t k = 0; k < keys.size(); ++k) {
        KeyRangeScanner(schema.fields[keys[k]].type, &ranges[k])
            .scan(morsel.batch->columns[keys[k]], morsel.begin + first, rows);
      }
      if (!sample.ascends && !sample.descends) continue;
      packer->pack(*morsel.batch, morsel.begin + first, rows, words);
      for (int32_t i = 0; i < rows; ++i) words[i] ^= kSignBit;
      sample.ascends = sample.ascends && words_ascend(words, rows, previous_up);
      sample.descends = sample.descends && words_descend(words, rows, previous_down);
      previous_up = previous_down = static_cast<int64_t>(words[rows - 1]);
    }
  }
  counter.finish(input.store->rows(), sample);
  for (KeyColumnRange& range : ranges) range.known = true;
  CD_ASSIGN(const GroupKeyPlan narrow, plan_group_keys(keys, *input.store, ranges, 0));
  const bool fits = narrow.mode == GroupKeyMode::kExact;
  sample.range_bits = fits ? std::max(1, narrow.packed_bits) : 0;
  return sample;
}

Result<GroupChoice> choose_group_strategy(const GroupPlannerInput& input,
                                          const GroupSample& sample) {
  const auto in_force = model::rates_in_force();
  const model::GroupRates& rates = in_force->group;
  const model::Machine machine = model::seen_by(*in_force, input.environment->machine);
  GroupChoice choice;
  choice.shape = group_shape(input, sample);
  const GroupStrategy forced = input.spec->strategy;
  const bool keyless = input.spec->keys.empty();
  const bool narrow = sample.range_bits > 0 && sample.range_bits <= dense_bits_max(sample.groups);
  const bool in_order = !keyless && (sample.ascends || sample.descends) && sample.packs &&
                        !input.spec->leaves_rows_out();
  BlockPlan blocks;
  GroupKeyPlan widest;
  widest.mode = GroupKeyMode::kImage;
  blocks.keys = &widest;
  blocks.aggregates = input.aggregates;
  const bool scatters = plan_carried_lanes(blocks).has_value();
  model::GroupShape hash_shape = choice.shape;
  hash_shape.range_bits = 0;
  std::vector<Candidate> all;
  consider(all, GroupStrategy::kTable, false, model::table_group_cost(hash_shape, machine, rates));
  if (scatters && !keyless) {
    consider(
        all, GroupStrategy::kRadix, false, model::radix_group_cost(hash_shape, machine, rates));
    consider(all,
             GroupStrategy::kAdaptive,
             false,
             model::adaptive_group_cost(hash_shape, machine, rates));
  }
  if (narrow) {
    consider(
        all, GroupStrategy::kDense, true, model::dense_group_cost(choice.shape, machine, rates));
    if (scatters && !keyless) {
      consider(
          all, GroupStrategy::kRadix, true, model::radix_group_cost(choice.shape, machine, rates));
    }
  }
  if (in_order) {
    consider(
        all, GroupStrategy::kSorted, false, model::sorted_group_cost(choice.shape, machine, rates));
  }
  const Candidate* best = nullptr;
  for (const Candidate& candidate : all) {
    choice.considered.push_back({strategy_name(candidate.strategy), candidate.cost.seconds()});
    if (forced != GroupStrategy::kAuto && candidate.strategy != forced) continue;
    if (best == nullptr || candidate.cost.seconds() < best->cost.seconds()) best = &candidate;
  }
  if (best == nullptr) {
    if (forced == GroupStrategy::kDense) return cannot(forced, "the keys span too wide a range");
    if (forced == GroupStrategy::kSorted)
      return cannot(forced, "the input is not in order of the keys");
    return cannot(forced, keyless ? "there are no keys" : "its rows carry too many values");
  }
  choice.strategy = best->strategy;
  choice.try_dense = best->dense || keyless;
  choice.try_sorted = best->strategy == GroupStrategy::kSorted;
  choice.cost = best->cost;
  choice.reason = forced != GroupStrategy::kAuto ? "asked for" : "the cheapest by the model";
  return choice;
}

}  // namespace crossdock::operators
