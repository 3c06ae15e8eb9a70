#include "operators/hash_join/rank_sides.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"
#include "data/ranks/agreement.hpp"
#include "model/merge_cost.hpp"
#include "operators/hash_join/slot_counts.hpp"
#include "operators/merge_join/range_matcher.hpp"
#include "operators/merge_join/range_partitioner.hpp"

namespace crossdock::operators {
namespace {

using RankClock = std::chrono::steady_clock;
constexpr Side kBothSides[] = {Side::kLeft, Side::kRight};
constexpr const char* kSidesOfRanks = "hash_join: partitions of all ranks";

double elapsed_s(RankClock::time_point begin) {
  return std::chrono::duration<double>(RankClock::now() - begin).count();
}

// What has to be alike in all ranks.
std::string join_text(const JoinSpec& spec, const Schema& left, const Schema& right) {
  std::string text =
      fmt::format("{} join, merge {}, build {}, bits {}, materialize {}, nulls {}, on",
                  join_kind_name(spec.kind),
                  spec.strategy == Strategy::kMerge,
                  spec.build_is_forced ? index_of(spec.forced_build) : -1,
                  spec.partition_bits,
                  static_cast<int>(spec.materialize),
                  spec.null_equals_null);
  for (const auto& [a, b] : spec.keys) text += fmt::format(" {}={}", a, b);
  text += ", output";
  for (const OutputColumn& column : spec.output) {
    text += fmt::format(" {}.{} \"{}\"", static_cast<int>(column.side), column.column, column.name);
  }
  for (const Schema* schema : {&left, &right}) {
    text += ", of";
    for (const Field& field : schema->fields) {
      text += fmt::format(" \"{}\" {}", field.name, type_name(field.type));
    }
  }
  return text;
}

const char* name_of(Side side) { return side == Side::kLeft ? "left" : "right"; }

class RankPartitioner {
 public:
  RankPartitioner(const bulk::RankRun& run, const JoinSpec& spec, const RunEnvironment& environment)
      : ranks_(*run.ranks),
        team_(*run.team),
        memory_(run.memory),
        environment_(environment),
        sides_(std::make_shared<RankSides>()) {
    sides_->spec = spec;
    sides_->ranks = ranks_.size();
  }

  Result<RankPartition> run(const TablePtr& left, const TablePtr& right) {
    const Status stored = store(left, right);
    const Result<std::string> mine =
        stored.ok() ? Result<std::string>(join_text(sides_->spec, *left->schema, *right->schema))
                    : Result<std::string>(stored.error());
    CD_ASSIGN(const std::vector<std::string> every, ranks::agree(ranks_, mine, ranks_.limit()));
    CD_TRY(ranks::check_same(every, "all ranks join tables of the same schemas in the same way"));
    begin_ = RankClock::now();
    before_ = ranks_.traffic();
    CD_TRY(agree_on_rows());
    CD_TRY(plan_words());
    RankPartition partition;
    partition.reason = why_not();
    if (!partition.reason.empty()) return partition;
    if (is_merge()) CD_TRY(find_ranges());
    CD_ASSIGN(bool is_there, move_rows(/*may_sample=*/true));
    if (!is_there) {
      CD_ASSIGN(is_there, move_rows(/*may_sample=*/false));
    }
    CD_CHECK(is_there, "rows that were counted had no room");
    show();
    partition.sides = std::move(sides_);
    return partition;
  }

 private:
  // False: a sample deceived some rank.
  Result<bool> move_rows(bool may_sample) {
    CD_TRY(count(may_sample));
    CD_TRY(open_window());
    return scatter();
  }

  Status store(const TablePtr& left, const TablePtr& right) {
    const TablePtr* const tables[2] = {&left, &right};
    for (const Side side : kBothSides) {
      const int at = index_of(side);
      CD_ASSIGN(stores_[at],
                store_rows(**tables[at], side == Side::kLeft ? "left side" : "right side"));
      morsels_[at] = cut_morsels(*stores_[at], team_.worker_count());
      seen_[at] = with_seen_nulls(*stores_[at]);
      auto none = std::make_shared<RowStore>(stores_[at]->schema());
      none->freeze();
      sides_->stores[at] = std::move(none);
    }
    CD_ASSIGN(sides_->schema, output_schema(sides_->spec, *left->schema, *right->schema));
    return {};
  }

  // NULLs that some rank has, rows of all, and numbers of which all take one.
  Status agree_on_rows() {
    std::vector<int64_t> least;
    for (const Schema& schema : seen_) {
      for (const Field& field : schema.fields) least.push_back(field.nullable ? 0 : 1);
    }
    machine_ = environment_.machine;
    least.push_back(machine_.l2_bytes);
    CD_ASSIGN(const std::vector<int64_t> all, ranks_.fold(least, ranks::Fold::kMin));
    size_t at = 0;
    for (Schema& schema : seen_) {
      for (Field& field : schema.fields) field.nullable = all[at++] == 0;
    }
    machine_.l2_bytes = all[at];
    const int64_t rows[2] = {stores_[0]->rows(), stores_[1]->rows()};
    CD_ASSIGN(rows_of_all_, ranks_.fold(rows, ranks::Fold::kSum));
    const auto seed = static_cast<int64_t>(environment_.seed);
    CD_ASSIGN(const std::vector<int64_t> seeds, ranks_.all_gather({&seed, 1}));
    seed_ = static_cast<uint64_t>(seeds[0]);
    return {};
  }

  bool is_merge() const { return sides_->spec.strategy == Strategy::kMerge; }

  int64_t build_rows() const { return rows_of_all_[static_cast<size_t>(index_of(sides_->build))]; }

  // Keys as words, and what rides beside them.
  Status plan_words() {
    CD_ASSIGN(sides_->keys, plan_keys(sides_->spec, seen_[0], seen_[1], seed_));
    if (!is_merge()) {
      CD_TRY(plan_parts());
      plan_carried(sides_->keys);
      return {};
    }
    CD_ASSIGN(std::optional<MergeKeys> words, MergeKeys::create_plain(stores_, sides_->keys));
    if (!words.has_value()) return {};
    sides_->words = std::make_shared<const MergeKeys>(std::move(*words));
    plan_carried(sides_->words->output_keys(sides_->keys));
    return {};
  }

  void plan_carried(const KeyPlan& keys) {
    OutputRequest request;
    request.spec = &sides_->spec;
    request.keys = &keys;
    for (const int side : {0, 1}) request.schemas[side] = seen_[side];
    sides_->output = plan_output(request, sides_->schema);
  }

  // The side that tables are built of, and into how many parts it goes.
  Status plan_parts() {
    const JoinSpec& spec = sides_->spec;
    sides_->build = rows_of_all_[0] < rows_of_all_[1] ? Side::kLeft : Side::kRight;
    if (spec.build_is_forced) sides_->build = spec.forced_build;
    const auto partitions = static_cast<uint64_t>(16 * ranks_.size());
    const int of_ranks = ranks_.size() == 1 ? 0 : static_cast<int>(std::bit_width(partitions - 1));
    const int bits = std::max(model::radix_bits(build_rows(), machine_), of_ranks);
    sides_->partition_bits =
        spec.partition_bits >= 0 ? spec.partition_bits : std::min(bits, sorters::kPartitionBitsMax);
    if (sides_->keys.packs_exactly) CD_TRY(find_dense_range());
    const bool is_counted =
        spec.output.empty() && !join_roles(spec.kind, sides_->build).tracks_build();
    if (sides_->keys.mode == KeyMode::kDense && is_counted && spec.partition_bits < 0) {
      sides_->partition_bits = std::min(
          sides_->partition_bits, counted_partition_bits(sides_->keys.range_bits, ranks_.size()));
    }
    return {};
  }

  // Ranges of keys that fit the cache, for all ranks.
  Status find_ranges() {
    const RankClock::time_point begin = RankClock::now();
    const int bits = sides_->spec.partition_bits;
    const int64_t rows = rows_of_all_[0] + rows_of_all_[1];
    const int range_count =
        bits >= 0 ? 1 << bits
                  : std::max(model::merge_range_count(rows, machine_), 16 * ranks_.size());
    const RankRows sampled{{stores_[0], stores_[1]}, {&morsels_[0], &morsels_[1]}};
    CD_ASSIGN(ranges_,
              agree_on_ranges(ranks_,
                              *sides_->words,
                              sides_->keys,
                              sampled,
                              std::min(range_count, model::kMergeRangesMax)));
    note("choose ranges", begin, 0, 0);
    return {};
  }

  size_t partition_count() const {
    return is_merge() ? static_cast<size_t>(ranges_->range_count())
                      : size_t{1} << sides_->partition_bits;
  }

  // The range of the build keys, if a sample of all ranks says that it is about as narrow as they are many.
  Status find_dense_range() {
    KeyPlan& keys = sides_->keys;
    if (keys.parts.size() != 1 || keys.parts[0].kind.form != KeyForm::kInteger64) return {};
    PlannerInput input;
    input.spec = &sides_->spec;
    input.keys = &keys;
    for (const int side : {0, 1}) {
      input.stores[side] = stores_[side].get();
      input.morsels[side] = &morsels_[side];
    }
    const KeySample sample = sample_keys(input, sides_->build);
    KeyRange seen;
    if (sample.rows_seen > 0) seen = {sample.min, sample.max};
    CD_TRY(agree_on_range(seen));
    const auto is_narrow = [&] {
      if (seen.is_empty()) return false;
      const int bits = dense_range_bits(seen.min, seen.max, build_rows());
      return bits > sides_->partition_bits && (int64_t{1} << bits) <= 4 * build_rows();
    };
    if (!is_narrow()) return {};
    std::vector<KeyRange> ranges(static_cast<size_t>(team_.worker_count()));
    CD_TRY(ranks_.agree(
        for_morsels(sides_->build, [&](int worker, const std::vector<Morsel>& morsels) {
          KeyEncoder encoder(keys, *stores_[index_of(sides_->build)]->schema(), sides_->build);
          for (const Morsel& morsel : morsels) {
            encoder.widen(
                *morsel.batch, morsel.begin, morsel.rows, ranges[static_cast<size_t>(worker)]);
          }
          return Status();
        })));
    seen = {};
    for (const KeyRange& range : ranges) seen.widen(range);
    CD_TRY(agree_on_range(seen));
    if (!is_narrow()) return {};
    keys.mode = KeyMode::kDense;
    keys.range_min = seen.min;
    keys.range_bits = dense_range_bits(seen.min, seen.max, build_rows());
    keys.limits = {true, false, seen.min, seen.max};
    return {};
  }

  Status agree_on_range(KeyRange& range) {
    const int64_t mine[2] = {range.min, ~range.max};  // the second falls as max rises
    CD_ASSIGN(const std::vector<int64_t> all, ranks_.fold(mine, ranks::Fold::kMin));
    range = {all[0], ~all[1]};
    return {};
  }

  std::string why_not() const {
    const JoinSpec& spec = sides_->spec;
    if (spec.kind == JoinKind::kAntiNullAware) return "a null-aware anti join looks at all rows";
    if (spec.residual) return "a residual predicate needs whole rows";
    if (spec.filter == Filter::kBloom) return "a filter is asked for";
    if (std::string reason = is_merge() ? why_not_in_ranges() : why_not_in_parts();
        !reason.empty()) {
      return reason;
    }
    for (const Side side : kBothSides) {
      if (!sides_->output.carry_of(side).has_ref) continue;
      return fmt::format("the columns of the {} side do not fit 64 bits together", name_of(side));
    }
    if (ranks_.size() > kPartitionRanksMax && spec.partition_bits < 0) {
      return fmt::format("{} ranks are more than {}", ranks_.size(), kPartitionRanksMax);
    }
    return {};
  }

  std::string why_not_in_parts() const {
    if (sides_->keys.needs_verification()) return "the keys do not fit 64 bits together";
    // Four times a part that was laid out for the cache: beyond, two passes are better than one.
    const int64_t part_rows = build_rows() >> sorters::kPartitionBitsMax;
    if (sides_->spec.partition_bits < 0 && model::radix_bits(part_rows / 4, machine_) > 0) {
      return fmt::format("{} rows are too many for one pass", build_rows());
    }
    return {};
  }

  std::string why_not_in_ranges() const {
    if (sides_->words == nullptr) return "the key is not one 64-bit integer";
    const SideRoles roles = side_roles(sides_->spec.kind);
    for (const Side side : kBothSides) {
      if (sides_->spec.sorted[index_of(side)] == Sortedness::kDeclared) {
        return fmt::format("the {} side is declared sorted", name_of(side));
      }
      const KeyPart& part = sides_->keys.parts[0];
      const int column = side == Side::kLeft ? part.left : part.right;
      const bool keeps = side == Side::kLeft ? roles.left_alone : roles.right_alone;
      if (keeps && seen_[index_of(side)].fields[static_cast<size_t>(column)].nullable) {
        return "rows with NULL keys come behind those of all ranks";
      }
    }
    return {};
  }

  // All workers, each with its run of morsels: the same at every call.
  Status for_morsels(Side side,
                     const std::function<Status(int, const std::vector<Morsel>&)>& task) {
    const std::vector<Morsel>& all = morsels_[index_of(side)];
    const auto workers = static_cast<size_t>(team_.worker_count());
    return team_.run([&](int worker) -> Status {
      const auto at = static_cast<size_t>(worker);
      const auto begin = all.begin() + static_cast<int64_t>(all.size() * at / workers);
      const auto end = all.begin() + static_cast<int64_t>(all.size() * (at + 1) / workers);
      return task(worker, {begin, end});
    });
  }

  bool keeps_unmatchable(Side side) const {
    if (is_merge()) return false;  // there are none, or they are not wanted: why_not_in_ranges()
    const JoinRoles roles = join_roles(sides_->spec.kind, sides_->build);
    return side == sides_->build ? roles.build_unmatched : roles.probe_unmatched;
  }

  std::unique_ptr<SideSorter> make_sorter(Side side, sorters::SegmentSource* source) const {
    const CarryPlan* const carry = &sides_->output.carry_of(side);
    const SchemaPtr& schema = stores_[index_of(side)]->schema();
    if (is_merge()) {
      RangeOptions options{sides_->words.get(), &sides_->keys, carry, schema, side, ranges_.get()};
      options.source = source;
      return std::make_unique<RangePartitioner>(*memory_, std::move(options));
    }
    PartitionerOptions options;
    options.keys = &sides_->keys;
    options.carry = carry;
    options.schema = schema;
    options.side = side;
    options.keep_unmatchable = keeps_unmatchable(side);
    options.partition_bits = sides_->partition_bits;
    options.source = source;
    return std::make_unique<SidePartitioner>(*memory_, std::move(options));
  }

  // Of each morsel the first rows, where a sample is enough: neighbours are alike more often than morsels are.
  Status count(bool may_sample) {
    const RankClock::time_point begin = RankClock::now();
    load_ = {};
    load_.in_order = is_merge();
    const std::vector<int64_t> none(partition_count());
    load_.rows.assign(2, {static_cast<size_t>(team_.worker_count()), none});
    Status counted;
    for (const Side side : kBothSides) {
      load_.carried_lanes.push_back(sides_->output.carry_of(side).is_empty() ? 0 : 1);
      const int64_t rows_of_worker = stores_[index_of(side)]->rows() / team_.worker_count();
      const int64_t sampled_of =
          may_sample ? bulk::rows_per_sample(rows_of_worker, static_cast<int>(none.size())) : 1;
      load_.sampled_of.push_back(sampled_of);
      if (!counted.ok()) continue;
      auto& rows = load_.rows[static_cast<size_t>(index_of(side))];
      counted = for_morsels(side, [&](int worker, const std::vector<Morsel>& morsels) {
        const std::unique_ptr<SideSorter> sorter = make_sorter(side, nullptr);
        for (Morsel morsel : morsels) {
          morsel.rows = static_cast<int32_t>((morsel.rows + sampled_of - 1) / sampled_of);
          sorter->count(morsel, rows[static_cast<size_t>(worker)].data());
        }
        return Status();
      });
    }
    CD_TRY(ranks_.agree(counted));
    int64_t seen = 0;
    for (const auto& of_side : load_.rows) {
      for (const auto& of_worker : of_side)
        seen += std::accumulate(of_worker.begin(), of_worker.end(), int64_t{0});
    }
    note("histogram", begin, seen, 0);
    return {};
  }

  Status open_window() {
    const RankClock::time_point begin = RankClock::now();
    CD_ASSIGN(window_, bulk::SegmentWindow::open(ranks_, memory_, std::move(load_), kSidesOfRanks));
    sides_->facts.window_bytes = window_->bytes();
    note("window", begin, 0, window_->bytes());
    return {};
  }

  Result<bool> scatter() {
    const RankClock::time_point begin = RankClock::now();
    Status done;
    for (const Side side : kBothSides) {
      auto& all = sides_->sorters[index_of(side)];
      all.clear();
      all.resize(static_cast<size_t>(team_.worker_count()));
      if (!done.ok()) continue;
      done = for_morsels(side, [&](int worker, const std::vector<Morsel>& morsels) -> Status {
        std::unique_ptr<SideSorter> sorter =
            make_sorter(side, &window_->source(index_of(side), worker));
        CD_TRY(sorter->open());
        for (const Morsel& morsel : morsels) CD_TRY(sorter->put(morsel));
        CD_TRY(sorter->finish());
        all[static_cast<size_t>(worker)] = std::move(sorter);
        return {};
      });
    }
    const RankClock::time_point written = RankClock::now();
    CD_ASSIGN(std::optional<bulk::ArrivedSegments> arrived, window_->finish(done));
    const bool is_there = arrived.has_value();
    if (is_there) sides_->arrived = std::move(*arrived);
    const ranks::Communicator::Traffic after = ranks_.traffic();
    note("network partition",
         begin,
         stores_[0]->rows() + stores_[1]->rows(),
         after.put_bytes - before_.put_bytes);
    const double wait_s = elapsed_s(written);
    sides_->facts.phases.back().parts = {
        {"partition", sides_->facts.phases.back().seconds - wait_s}, {"wait", wait_s}};
    return is_there;
  }

  void note(const char* name, RankClock::time_point begin, int64_t rows, int64_t bytes) {
    bulk::BulkPhase phase{name, rows, bytes};
    phase.begin_s = std::chrono::duration<double>(begin - begin_).count();
    phase.seconds = elapsed_s(begin);
    sides_->facts.phases.push_back(std::move(phase));
  }

  // What has arrived as the join walks over it, and what the pass was like.
  void show() {
    RankSides& sides = *sides_;
    bulk::BulkFacts& facts = sides.facts;
    for (const Side side : kBothSides) {
      const int at = index_of(side);
      for (const sorters::SegmentList& list : sides.arrived.lists[static_cast<size_t>(at)]) {
        sides.sides.parts[at].push_back({&list});
      }
      sides.sides.rows[at] = sides.arrived.rows[static_cast<size_t>(at)];
      facts.rows_received += sides.sides.rows[at];
      facts.rows_in += stores_[at]->rows();
      if (!keeps_unmatchable(side)) {
        sides.sorters[at].clear();
        continue;
      }
      for (const auto& sorter : sides.sorters[at]) {
        sides.sides.unmatchable[at].push_back(&sorter->unmatchable());
      }
    }
    if (is_merge()) sides.ranges = owned_ranges(*ranges_, sides.arrived.partitions);
    const ranks::Communicator::Traffic after = ranks_.traffic();
    facts.total_s = elapsed_s(begin_);
    facts.bytes_sent =
        after.put_bytes - before_.put_bytes + after.collective_bytes - before_.collective_bytes;
    facts.messages = after.put_messages - before_.put_messages + after.collective_messages -
                     before_.collective_messages;
    facts.order = "into the partitions of the rank that joins them";
    const KeyMode mode = is_merge() ? KeyMode::kOrdered : sides.keys.mode;
    facts.packing = fmt::format("{} words", key_mode_name(mode));
  }

  ranks::Communicator& ranks_;
  Team& team_;
  std::shared_ptr<Memory> memory_;
  const RunEnvironment& environment_;
  std::shared_ptr<RankSides> sides_;
  std::shared_ptr<const RowStore> stores_[2];  // by Side
  std::vector<Morsel> morsels_[2];             // by Side
  Schema seen_[2];                             // by Side
  std::vector<int64_t> rows_of_all_;           // by Side
  model::Machine machine_;
  uint64_t seed_ = 0;
  std::shared_ptr<const sorters::RangeMap> ranges_;  // of all ranks, of a merge join
  bulk::SegmentLoad load_;
  std::unique_ptr<bulk::SegmentWindow> window_;
  RankClock::time_point begin_;
  ranks::Communicator::Traffic before_;
};

}  // namespace

Result<RankPartition> partition_over_ranks(const bulk::RankRun& run,
                                           const JoinSpec& spec,
                                           const TablePtr& left,
                                           const TablePtr& right,
                                           const RunEnvironment& environment) {
  return RankPartitioner(run, spec, environment).run(left, right);
}

}  // namespace crossdock::operators
