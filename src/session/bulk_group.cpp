// Who has a communicator, and a channel's spec as a bulk route.
#include "session/bulk_group.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/team.hpp"
#include "data/ranks/agreement.hpp"
#include "data/ranks/open_communicator.hpp"

namespace crossdock {
namespace {

using Json = nlohmann::ordered_json;

// Longer than a communicator waits for its ranks, so that the rank without MPI is still there to say so.
constexpr std::chrono::milliseconds kWithin{180'000};

Json phase_json(const BulkPhase& phase) {
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

}  // namespace

Status BulkRanks::open(RankGroup& group) {
  ranks_ = dynamic_cast<Communicator*>(&group);
  if (ranks_ != nullptr) return {};
  if (mpi_of_environment() == MpiKind::kNone) {
    return make_error(ErrorCode::kInvalidArgument,
                      "tables go in bulk between ranks that MPI started, and nothing says that it "
                      "started these\n  try      mpirun -n {} ..., or how = \"channel\"",
                      group.size());
  }
  CD_ASSIGN(own_, open_communicator(&group));
  ranks_ = own_.get();
  return {};
}

Result<Communicator*> BulkRanks::choose(const std::string& how, RankGroup* group) {
  if (how != "auto" && how != "bulk" && how != "channel") {
    return make_error(ErrorCode::kInvalidArgument,
                      "a table goes \"auto\", \"bulk\" or \"channel\", not \"{}\"",
                      how);
  }
  if (how == "channel" || group == nullptr || group->size() == 1) {
    return static_cast<Communicator*>(nullptr);
  }
  if (!has_looked_) {
    group->begin();
    const Status opened = open(*group);
    const auto agreed =
        agree(*group,
              opened.ok() ? Result<std::string>("") : Result<std::string>(opened.error()),
              kWithin);
    found_ = agreed.ok() ? Status() : Status(agreed.error());
    has_looked_ = true;
  }
  if (found_.ok()) return ranks_;
  if (how == "bulk") return found_.error();
  return static_cast<Communicator*>(nullptr);
}

Result<Arrived> exchange_in_bulk(Communicator& ranks,
                                 const BulkEngine& engine,
                                 const Table& rows,
                                 const ChannelSpec& spec) {
  const bool is_source =
      std::find(spec.source_ranks.begin(), spec.source_ranks.end(), ranks.rank()) !=
      spec.source_ranks.end();
  const Table none{rows.schema, {}, 0};
  RouteSpec rule = spec.route;
  rule.destinations = static_cast<int>(spec.destination_ranks.size());
  BulkRoute route;
  if (spec.sends == ChannelSpec::Sends::kRouted) route.rule = &rule;
  route.destination_ranks = spec.destination_ranks;
  Team team(engine.threads);
  return bulk_exchange({&ranks, &team, engine.memory}, is_source ? rows : none, route);
}

std::string bulk_json(const BulkFacts& facts, int rank) {
  Json json = {{"rank", rank},
               {"begin_s", 0.0},
               {"total_s", facts.total_s},
               {"phases", Json::array()},
               {"rows_in", facts.rows_in},
               {"rows_received", facts.rows_received},
               {"bytes_sent", facts.bytes_sent},
               {"messages", facts.messages},
               {"order", facts.order},
               {"packing", facts.packing},
               {"plain_row_bytes", facts.plain_row_bytes},
               {"sent_row_bytes", facts.sent_row_bytes}};
  for (const BulkPhase& phase : facts.phases) json["phases"].push_back(phase_json(phase));
  return json.dump();
}

}  // namespace crossdock
