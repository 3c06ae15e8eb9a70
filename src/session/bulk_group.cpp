#include "session/bulk_group.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/team.hpp"
#include "data/ranks/agreement.hpp"
#include "data/ranks/open_communicator.hpp"
#include "operators/run/operator.hpp"
#include "operators/sort/order_exchange.hpp"
#include "table/copy_rows.hpp"

namespace crossdock {
namespace {

using Json = nlohmann::ordered_json;

// A rank without MPI waits longer than the others do for their communicators, so that it is still there to say so.
constexpr std::chrono::milliseconds kOpensAfter{60'000};

constexpr int64_t kTrialMemoryBytes = int64_t{1} << 20;

Json phase_json(const bulk::BulkPhase& phase) {
  Json json = {{"name", phase.name},
               {"rows", phase.rows},
               {"bytes", phase.bytes},
               {"begin_s", phase.begin_s},
               {"seconds", phase.seconds}};
  if (phase.parts.empty()) return json;
  Json parts = Json::object();
  for (const auto& [name, seconds] : phase.parts) parts[name] = seconds;
  json["parts"] = std::move(parts);
  return json;
}

Result<bulk::BulkResult> exchange_by_rule(const bulk::RankRun& run,
                                          const Table& rows,
                                          const BulkMove& move) {
  const std::vector<int>& sources = move.spec.source_ranks;
  const bool is_source = std::ranges::find(sources, run.ranks->rank()) != sources.end();
  const Table none{rows.schema, {}, 0};
  sorters::RouteSpec rule = move.spec.route;
  rule.destinations = static_cast<int>(move.spec.destination_ranks.size());
  bulk::BulkRoute route;
  route.named = is_source ? move.named : std::span<const uint16_t>();
  if (move.spec.sends == channels::ChannelSpec::Sends::kRouted) route.rule = &rule;
  route.destination_ranks = move.spec.destination_ranks;
  return bulk::bulk_exchange({run.ranks, run.team, run.memory}, is_source ? rows : none, route);
}

// Out of the window, which then serves the next exchange at once, and any number of such results may be kept.
Status leave_window(Memory& memory, bulk::BulkResult& arrived) {
  Table copied{arrived.table->schema, {}, arrived.table->rows};
  for (const Batch& batch : arrived.table->batches) {
    CD_ASSIGN(Batch copy, copy_rows(batch, arrived.table->schema, memory));
    copied.batches.push_back(std::move(copy));
  }
  arrived.table = std::make_shared<const Table>(std::move(copied));
  return {};
}

// A caller that sorts what came has the sort over ranks (operators/sort/rank_sort.hpp).
Result<bulk::BulkResult> exchange_ordered(const bulk::RankRun& run,
                                          const Table& rows,
                                          const std::vector<bulk::CutKey>& keys) {
  CD_ASSIGN(operators::OrderedRows ordered, operators::exchange_by_order(run, rows, {keys}));
  return std::move(ordered.arrived);
}

}  // namespace

Result<std::chrono::milliseconds> step_limit(double seconds) {
  constexpr double kLongestS = 3e7;  // about a year, which the clock can count
  if (seconds > 0 && seconds <= kLongestS)
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
  return make_error(ErrorCode::kInvalidArgument,
                    "step_within_s is {}; it is a number of seconds above 0 and at most {}",
                    seconds,
                    kLongestS);
}

Status BulkRanks::open(ranks::RankGroup& group) {
  ranks_ = dynamic_cast<ranks::Communicator*>(&group);
  if (ranks_ != nullptr) {
    ranks_->set_limit(limit_);
    return {};
  }
  if (ranks::mpi_of_environment() == ranks::MpiKind::kNone) {
    return make_error(ErrorCode::kInvalidArgument,
                      "tables go in bulk between ranks that MPI started, and nothing says that it "
                      "started these\n  try      mpirun -n {} ..., or how = \"channel\"",
                      group.size());
  }
  CD_ASSIGN(communicator_, ranks::open_communicator(&group, {.limit = limit_}));
  communicator_->set_liveness([&group](int rank) { return group.check_alive(rank); });
  ranks_ = communicator_.get();
  return {};
}

// Not every MPI can put to every host: Open MPI 4 has no windows over TCP unless it is asked for osc/pt2pt, and says so
// only when one is made. Neighbours write into each other's memory, for which no MPI is needed.
Status BulkRanks::try_window() {
  const auto neighbours = static_cast<int64_t>(ranks_->neighbours().size());
  CD_ASSIGN(const int64_t fewest, ranks_->fold(neighbours, ranks::Fold::kMin));
  if (fewest == ranks_->size()) return {};
  const auto memory = Memory::create(kTrialMemoryBytes);
  CD_TRY(ranks_->open_window(1, memory, "a trial of MPI's windows"));
  return ranks_->trim_windows();
}

const Error* BulkRanks::refusal() const {
  const bool is_refused =
      has_looked_ && !opened_.ok() && ranks::mpi_of_environment() != ranks::MpiKind::kNone;
  return is_refused ? &opened_.error() : nullptr;
}

ranks::RankGroup& BulkRanks::meeting(ranks::RankGroup& group) const {
  if (has_looked_ && opened_.ok()) return *ranks_;
  return group;
}

void BulkRanks::give_up(const Error& cause) const {
  if (has_looked_ && opened_.ok()) ranks_->give_up(cause);
}

Result<ranks::Communicator*> BulkRanks::choose(const std::string& how, ranks::RankGroup* group) {
  if (how != "auto" && how != "bulk" && how != "channel") {
    return make_error(ErrorCode::kInvalidArgument,
                      "a table goes \"auto\", \"bulk\" or \"channel\", not \"{}\"",
                      how);
  }
  if (how == "channel" || group == nullptr || group->size() == 1) {
    return static_cast<ranks::Communicator*>(nullptr);
  }
  if (!has_looked_) {
    group->begin();
    const Status opened = open(*group);
    const auto agreed =
        ranks::agree(*group,
                     opened.ok() ? Result<std::string>("") : Result<std::string>(opened.error()),
                     limit_ + kOpensAfter);
    opened_ = agreed.ok() ? try_window() : Status(agreed.error());
    has_looked_ = true;
  }
  if (opened_.ok()) return ranks_;
  if (how == "bulk") return opened_.error();
  return static_cast<ranks::Communicator*>(nullptr);
}

Result<bulk::BulkResult> exchange_in_bulk(ranks::Communicator& ranks,
                                          const BulkEngine& engine,
                                          const Table& rows,
                                          const Result<BulkMove>& move) {
  std::optional<Team> team;
  CD_TRY(
      ranks.agree(move.ok() ? operators::start_team(engine.threads, team) : Status(move.error())));
  const bulk::RankRun run{&ranks, &*team, engine.memory};
  CD_ASSIGN(bulk::BulkResult arrived,
            move.value().order.empty() ? exchange_by_rule(run, rows, move.value())
                                       : exchange_ordered(run, rows, move.value().order));
  constexpr int64_t kSmallWindowBytes = int64_t{256} << 10;
  if (arrived.facts.window_bytes <= kSmallWindowBytes) {
    const TablePtr in_window = arrived.table;
    if (!leave_window(*engine.memory, arrived).ok()) arrived.table = in_window;
  }
  return arrived;
}

std::string bulk_json(const bulk::BulkFacts& facts, int rank) {
  Json json = {{"rank", rank},
               {"begin_s", 0.0},
               {"total_s", facts.total_s},
               {"phases", Json::array()},
               {"rows_in", facts.rows_in},
               {"rows_received", facts.rows_received},
               {"bytes_sent", facts.bytes_sent},
               {"window_bytes", facts.window_bytes},
               {"messages", facts.messages},
               {"order", facts.order},
               {"packing", facts.packing},
               {"plain_row_bytes", facts.plain_row_bytes},
               {"sent_row_bytes", facts.sent_row_bytes}};
  for (const bulk::BulkPhase& phase : facts.phases) json["phases"].push_back(phase_json(phase));
  return json.dump();
}

}  // namespace crossdock
