// The public group: options become what the data plane takes, and a whole table goes through a channel.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "data/channels/group_trace.hpp"
#include "data/ranks/agreement.hpp"
#include "data/ranks/control_meeting.hpp"
#include "data/trace/segment_trace.hpp"
#include "session/group_state.hpp"
#include "table/arrow_import.hpp"
#include "table/copy_rows.hpp"

namespace crossdock {
namespace {

using Sends = channels::ChannelSpec::Sends;

std::string token_of(const GroupOptions& options) {
  const char* const named = std::getenv("CROSSDOCK_CONTROL_TOKEN");
  return options.token.empty() && named != nullptr ? named : options.token;
}

Result<std::unique_ptr<ranks::RankGroup>> join_named(const GroupOptions& options) {
  if (options.control.empty()) {
    return ranks::join_meeting(options.meet, options.job, options.rank, options.ranks);
  }
  ranks::ControlMeeting meeting;
  meeting.address = options.control;
  meeting.job = options.job;
  meeting.rank = options.rank;
  meeting.ranks = options.ranks;
  meeting.token = token_of(options);
  meeting.uses_tls = options.tls;
  meeting.ca_pem = options.ca_pem;
  meeting.certificate_pem = options.certificate_pem;
  meeting.key_pem = options.key_pem;
  meeting.is_insecure = options.insecure;
  return ranks::join_control(meeting);
}

Result<std::shared_ptr<ranks::RankGroup>> join_ranks(const GroupOptions& options) {
  const int numbers = (options.rank >= 0) + (options.ranks >= 0);
  const int places = !options.meet.empty() + !options.control.empty();
  const bool is_named = numbers == 2 && places == 1;
  if (!is_named && numbers + places != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "join_group needs all of rank ({}), ranks ({}) and either meet ({:?}) or "
                      "control ({:?}), or none of them\n"
                      "  try      rank = 0, ranks = 2, meet = \"/tmp/job-1\"",
                      options.rank,
                      options.ranks,
                      options.meet,
                      options.control);
  }
  if (!is_named && ranks::launch_variable().empty()) return std::shared_ptr<ranks::RankGroup>();
  auto joined = is_named ? join_named(options) : ranks::join_environment();
  if (!joined.ok()) return joined.error();
  return std::shared_ptr<ranks::RankGroup>(std::move(joined.value()));
}

Status check_rule(const ChannelOptions& options) {
  const int rules = !options.by.empty() + !options.to.empty() + options.broadcast;
  if (rules > 1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a channel takes one of by ([{}]), to ({:?}) and broadcast ({})",
                      fmt::join(options.by, ", "),
                      options.to,
                      options.broadcast);
  }
  const bool has_bounds = options.bounds.state() != nullptr;
  if (options.by.empty() && (options.hash || has_bounds)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "hash and bounds say how rows go by their keys, and the channel has none\n"
                      "  try      by = {{\"k\"}}");
  }
  if (options.hash && has_bounds) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a channel goes by hash or by bounds, not by both");
  }
  return {};
}

// One row less than ranges; none where all rows go to the only destination.
Status set_bounds(const ArrowTable& bounds, size_t destinations, sorters::RouteSpec& route) {
  if (bounds.rows() == 0 && destinations == 1) return {};
  const std::vector<Batch>& batches = bounds.state()->table->batches;
  if (batches.size() != 1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "bounds of {} rows come in {} batches\n  try      {} rows, one less than "
                      "destinations, in one batch",
                      bounds.rows(),
                      batches.size(),
                      destinations - 1);
  }
  route.by = sorters::RouteBy::kRange;
  route.bounds = batches.front();
  return {};
}

Status set_route(const ChannelOptions& options, channels::ChannelSpec& spec) {
  CD_TRY(check_rule(options));
  spec.sends = options.broadcast                        ? Sends::kBroadcast
             : options.by.empty() && options.to.empty() ? Sends::kNamed
                                                        : Sends::kRouted;
  const std::vector<std::string> names =
      options.to.empty() ? options.by : std::vector<std::string>{options.to};
  for (const std::string& name : names) {
    CD_ASSIGN(const int column, spec.schema->find(name, "the channel's schema"));
    spec.route.keys.push_back(column);
  }
  if (!options.to.empty()) spec.route.by = sorters::RouteBy::kExplicit;
  if (options.hash) spec.route.by = sorters::RouteBy::kHash;
  if (options.bounds.state() == nullptr) return {};
  return set_bounds(options.bounds, spec.destination_ranks.size(), spec.route);
}

std::vector<int> ranks_or_all(const std::vector<int>& named, int size) {
  if (!named.empty()) return named;
  std::vector<int> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Result<channels::ChannelSpec> make_spec(SchemaPtr schema, const ChannelOptions& options, int size) {
  channels::ChannelSpec spec;
  spec.schema = std::move(schema);
  spec.source_ranks = ranks_or_all(options.sources, size);
  spec.destination_ranks = ranks_or_all(options.destinations, size);
  CD_TRY(set_route(options, spec));
  if (options.slots < 0 || std::popcount(static_cast<unsigned>(options.slots)) > 1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "slots is {}, but must be a power of two\n  try      slots = 8, or 0, which "
                      "leaves it to the distance",
                      options.slots);
  }
  spec.slot_bits = options.slots == 0 ? channels::kSlotBitsByDistance
                                      : std::countr_zero(static_cast<unsigned>(options.slots));
  spec.senders_per_source = options.senders_per_source;
  spec.segment.segment_bytes = options.segment_bytes;
  spec.segment.text_bytes = options.text_bytes;
  spec.memory_bytes_max = options.memory_bytes;
  return spec;
}

std::vector<int> places_of(const std::vector<int>& ranks, int rank) {
  std::vector<int> places;
  for (size_t at = 0; at < ranks.size(); ++at) {
    if (ranks[at] == rank) places.push_back(static_cast<int>(at));
  }
  return places;
}

std::shared_ptr<RowChannel::State> open_channel(std::shared_ptr<Group::State> group,
                                                SchemaPtr schema,
                                                const ChannelOptions& options) {
  channels::DataPlane& plane = *group->plane;
  channels::ChannelSpec spec = value_or_throw(make_spec(std::move(schema), options, plane.ranks()));
  spec.id = group->next_channel_id++;
  auto channel = value_or_throw(plane.create_channel(spec));
  auto state = std::make_shared<RowChannel::State>();
  state->group = std::move(group);
  state->channel = std::move(channel);
  state->own_sources = places_of(spec.source_ranks, plane.rank());
  state->own_destinations = places_of(spec.destination_ranks, plane.rank());
  return state;
}

void check_one_each(const std::vector<int>& ranks, const char* option) {
  if (std::set<int>(ranks.begin(), ranks.end()).size() == ranks.size()) return;
  throw_error(make_error(ErrorCode::kInvalidArgument,
                         "{} names a rank twice ({}), but a table goes from or to a rank as a "
                         "whole\n  try      Group::channel, which has as many endpoints as wanted",
                         option,
                         fmt::join(ranks, ", ")));
}

// All rows of this rank into the channel, and what is for this rank out of it. An error ends the channel while its ends
// are still there: when they go, they tell the others no more than that they went.
ArrowTable pass_table(const RowChannel& channel, const ArrowTable& rows, int own_rank, int to) {
  std::optional<RowSender> sender;
  std::optional<RowReceiver> receiver;
  for (const int source : channel.own_sources()) sender.emplace(channel.open_sender(source));
  for (const int destination : channel.own_destinations())
    receiver.emplace(channel.open_receiver(destination));
  Drain drain;
  if (receiver.has_value()) drain = [&receiver] { receiver->keep(); };
  try {
    if (sender.has_value()) {
      sender->send(rows, {.to = to, .drain = drain});
      sender->flush(drain);
    }
    if (receiver.has_value()) return receiver->collect();
  } catch (const Exception& error) {
    channel.close(
        fmt::format("rank {} left the channel before its end: {}", own_rank, error.what()));
    throw;
  }
  Table none{without_dictionaries(*rows.state()->table->schema), {}, 0};
  return ArrowTable(std::make_shared<ArrowTable::State>(
      ArrowTable::State{std::make_shared<const Table>(std::move(none))}));
}

// The same without a channel.
ArrowTable pass_in_bulk(ranks::Communicator& ranks,
                        const Group::State& group,
                        const ArrowTable& rows,
                        const ChannelOptions& options) {
  const Table& table = *rows.state()->table;
  Result<channels::ChannelSpec> spec = make_spec(table.schema, options, ranks.size());
  const BulkEngine engine{group.engine->memory, group.engine->threads};
  const auto move = spec.ok() ? Result<BulkMove>(BulkMove{std::move(spec.value())})
                              : Result<BulkMove>(spec.error());
  bulk::BulkResult arrived = value_or_throw(exchange_in_bulk(ranks, engine, table, move));
  return ArrowTable(
      std::make_shared<ArrowTable::State>(ArrowTable::State{std::move(arrived.table)}));
}

}  // namespace

Group join_group(const Engine& engine, const GroupOptions& options) {
  auto state = std::make_shared<Group::State>();
  state->bulk = BulkRanks(value_or_throw(step_limit(options.step_within_s)));
  state->engine = engine.state();
  state->ranks = value_or_throw(join_ranks(options));
  channels::DataPlaneSettings settings;
  settings.transports = options.transports;
  settings.devices = fmt::format("{}", fmt::join(options.devices, ","));
  settings.open_within_s = options.open_within_s;
  settings.lost_after_s = options.lost_after_s;
  state->plane = value_or_throw(
      channels::DataPlane::open(engine.state()->memory, state->ranks, std::move(settings)));
  return Group(std::move(state));
}

int Group::rank() const { return state_->plane->rank(); }
int Group::size() const { return state_->plane->ranks(); }
void Group::abort(const std::string& reason) const { state_->plane->abort(reason); }

RowChannel Group::channel(const ArrowSchema& schema, const ChannelOptions& options) const {
  return RowChannel(open_channel(state_, value_or_throw(import_schema(schema)), options));
}

RowChannel Group::channel(const ArrowTable& rows, const ChannelOptions& options) const {
  return RowChannel(open_channel(state_, rows.state()->table->schema, options));
}

ArrowTable Group::exchange(const ArrowTable& rows, const ChannelOptions& options) const {
  check_one_each(options.sources, "sources");
  check_one_each(options.destinations, "destinations");
  ranks::Communicator* ranks =
      value_or_throw(state_->bulk.choose(options.how, state_->ranks.get()));
  if (ranks != nullptr && (!options.by.empty() || !options.to.empty() || options.broadcast)) {
    return pass_in_bulk(*ranks, *state_, rows, options);
  }
  return pass_table(channel(rows, options), rows, rank(), -1);
}

ArrowTable Group::broadcast(const ArrowTable& rows, int root, ChannelOptions options) const {
  options.broadcast = true;
  options.sources = {root};
  return exchange(rows, options);
}

ArrowTable Group::collect(const ArrowTable& rows, int root, ChannelOptions options) const {
  options.destinations = {root};
  check_one_each(options.sources, "sources");
  return pass_table(channel(rows, options), rows, rank(), 0);
}

std::vector<std::string> Group::gather(const std::string& note, double at_most_s) const {
  if (state_->ranks == nullptr) return {note};
  constexpr double kLongestS = 3e7;  // about a year, which the clock can count
  const auto at_most = std::chrono::duration<double>(std::clamp(at_most_s, 0.0, kLongestS));
  ranks::RankGroup& meeting = state_->bulk.meeting(*state_->ranks);
  meeting.begin();
  return value_or_throw(
      ranks::agree(meeting, note, std::chrono::duration_cast<std::chrono::milliseconds>(at_most)));
}

void Group::start_trace(int64_t notes_per_thread) const {
  const int64_t notes =
      std::clamp<int64_t>(notes_per_thread, 0, int64_t{trace::SegmentTrace::kNotesMax} + 1);
  const Status started = trace::SegmentTrace::start(static_cast<uint32_t>(notes));
  if (!started.ok()) throw_error(started.error());
  try {
    gather();  // no rank goes on before all of them note
  } catch (...) {
    (void)trace::SegmentTrace::finish();
    throw;
  }
}

std::string Group::finish_trace() const {
  return value_or_throw(channels::finish_group_trace(
      *state_->plane, *state_->engine->memory, state_->next_channel_id++));
}

}  // namespace crossdock
