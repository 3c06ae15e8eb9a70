#include "data/perf/run_perf.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <span>

#include "data/channels/group_trace.hpp"
#include "data/perf/perf_side.hpp"
#include "data/trace/segment_trace.hpp"

namespace crossdock::perf {
namespace {

constexpr int kThreadsMax = 1024;
constexpr int64_t kBytesMax = int64_t{1} << 44;
constexpr std::chrono::seconds kLeaveWithin{5};

Error outside(const char* option, int64_t value, int64_t least, int64_t most) {
  return make_error(ErrorCode::kInvalidArgument,
                    "{}={} is outside its limits\n  limits   {} to {}",
                    option,
                    value,
                    least,
                    most);
}

Status check_options(const PerfOptions& options) {
  struct Limit {
    const char* name;
    int64_t value, least, most;
  };
  const Limit limits[] = {
      {"bytes", options.bytes_per_source, 1, kBytesMax},
      {"repeats", options.repeats, 1, 1000},
      {"blocks", options.blocks, 1, kThreadsMax},
      {"endpoints_per_rank", options.endpoints_per_rank, 1, kThreadsMax},
      {"threads", int64_t{options.blocks} * options.endpoints_per_rank, 1, kThreadsMax},
      {"batch_rows", options.batch_rows, 1, int64_t{1} << 30},
      {"table_bytes", options.table_bytes, 1, kBytesMax},
      // Before windows of so many bytes are asked for; the channel has closer limits.
      {"segment_bytes", options.segment_bytes, 64, int64_t{1} << 31},
      {"slot_bits", options.slot_bits, channels::kSlotBitsByDistance, 16},
      {"levels", options.levels, 1, 2},
      {"nodes", options.nodes, 0, 65'536},
  };
  for (const Limit& limit : limits) {
    if (limit.value < limit.least || limit.value > limit.most) {
      return outside(limit.name, limit.value, limit.least, limit.most);
    }
  }
  if (options.levels == 2 && options.pattern != Pattern::kExchange) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the pattern {} has no second level\n  try      exchange, or levels=1",
                      pattern_name(options.pattern));
  }
  return {};
}

// Of one rank and run, as words of a meeting.
struct RankRun {
  double seconds = 0;
  double waited_s = 0;
  uint64_t wrong_rows = 0;
  uint64_t segments = 0;
  uint64_t rows = 0;
  uint64_t refused = 0;
  uint64_t channel_bytes = 0;
  uint64_t messages = 0;
  uint64_t messages_second_level = 0;

  Words words() const {
    return {std::bit_cast<uint64_t>(seconds),
            std::bit_cast<uint64_t>(waited_s),
            wrong_rows,
            segments,
            rows,
            refused,
            channel_bytes,
            messages,
            messages_second_level};
  }
};

RankRun run_of(const PerfSide& side,
               const channels::Channel& channel,
               Meeting::Clock::time_point start) {
  RankRun run;
  for (const BlockState& block : side.blocks()) {
    const std::chrono::duration<double> passed = block.end - start;
    run.seconds = std::max(run.seconds, passed.count());
    run.waited_s += block.waited_s;
  }
  run.wrong_rows = side.wrong_rows();
  const channels::ChannelCounters counters = channel.counters();
  run.refused = counters.refused;
  for (const channels::FlowCounters& flow : counters.flows) {
    // Both ends of a flow may be known here, and one is enough.
    if (!side.begins_here(flow)) continue;
    const uint64_t messages = side.leaves_its_endpoint(flow) ? flow.opened : 0;
    run.segments += flow.opened;
    run.messages += messages;
    if (flow.level == 1) {
      run.rows += flow.rows_sent;
    } else {
      run.messages_second_level += messages;
    }
  }
  run.channel_bytes = static_cast<uint64_t>(channel.memory_bytes());
  return run;
}

void add_run(PerfReport& report, std::span<const Words> ranks, bool is_timed, double threads) {
  double seconds = 0;
  double waited_s = 0;
  for (const Words& words : ranks) {
    seconds = std::max(seconds, std::bit_cast<double>(words[0]));
    waited_s += std::bit_cast<double>(words[1]);
    report.wrong_rows += words[2];
    report.channel_bytes = std::max(report.channel_bytes, static_cast<int64_t>(words[6]));
    if (!is_timed) continue;
    report.segments += words[3];
    report.rows += words[4];
    report.refused += words[5];
    report.messages += words[7];
    report.messages_second_level += words[8];
  }
  if (!is_timed) return;
  // The mean over runs, in step with their number.
  const auto runs = static_cast<double>(report.seconds.size());
  const double share = seconds > 0 ? waited_s / (threads * seconds) : 0;
  report.waited_share = (report.waited_share * runs + share) / (runs + 1);
  report.seconds.push_back(seconds);
}

struct Measurement {
  const PerfContext& context;
  Meeting& meeting;
  PerfSide& side;
  PerfReport report;
};

// What links did since then; what they have now stays.
std::vector<movers::LinkCounters> since(const std::vector<movers::LinkCounters>& before,
                                        std::vector<movers::LinkCounters> now) {
  using Counter = uint64_t movers::LinkCounters::*;
  constexpr Counter kCounters[] = {&movers::LinkCounters::frames_sent,
                                   &movers::LinkCounters::bytes_sent,
                                   &movers::LinkCounters::frames_received,
                                   &movers::LinkCounters::bytes_received,
                                   &movers::LinkCounters::notes_sent,
                                   &movers::LinkCounters::notes_received,
                                   &movers::LinkCounters::resent,
                                   &movers::LinkCounters::duplicates,
                                   &movers::LinkCounters::relayed,
                                   &movers::LinkCounters::notes_relayed,
                                   &movers::LinkCounters::dropped,
                                   &movers::LinkCounters::malformed,
                                   &movers::LinkCounters::stalled_no_credit,
                                   &movers::LinkCounters::stalled_link_full};
  for (size_t link = 0; link < before.size(); ++link) {
    for (const Counter counter : kCounters) now[link].*counter -= before[link].*counter;
  }
  return now;
}

// Opens a channel, uses it once, and adds what was found to the report.
Status run_once(Measurement& measurement, Checks checks, bool is_timed) {
  const PerfContext& context = measurement.context;
  Meeting& meeting = measurement.meeting;
  PerfSide& side = measurement.side;
  const std::vector<movers::LinkCounters> links_before = context.plane->links();
  std::shared_ptr<channels::Channel> channel;
  const auto open = [&]() -> Status {
    CD_ASSIGN(channel, side.open_channel((*context.next_channel_id)++));
    return side.open(*channel, checks);
  };
  CD_TRY(meeting.agree(open()));
  CD_ASSIGN(const Meeting::Clock::time_point start, meeting.start());
  if (is_timed && context.on_timed_run) {
    context.on_timed_run(static_cast<int>(measurement.report.seconds.size()));
  }
  const Status ran = side.run(*channel, start);
  // A rank that has to end tells the others, but does not wait for them long.
  const bool is_cancelled = !ran.ok() && context.cancel->is_set();
  const Status agreed = is_cancelled ? meeting.agree(ran, kLeaveWithin) : meeting.agree(ran);
  if (is_cancelled) return ran;
  CD_TRY(agreed);
  PerfReport& report = measurement.report;
  report.channel = channel->id();
  report.channel_here_bytes = channel->memory_bytes();
  report.counters = channel->counters();
  report.links = since(links_before, context.plane->links());
  const Words mine = run_of(side, *channel, start).words();
  CD_ASSIGN(const std::vector<Words> ranks, meeting.gather(mine));
  const auto threads = static_cast<double>(side.blocks().size() * ranks.size());
  add_run(measurement.report, ranks, is_timed, threads);
  return {};
}

// One more run, of which rank 0 gets the trace. Ranks meet before it, so that all note from the first segment on.
Status run_traced(Measurement& measurement) {
  const PerfContext& context = measurement.context;
  const Status started = trace::SegmentTrace::start();
  Status ran = measurement.meeting.agree(started);
  if (ran.ok()) ran = run_once(measurement, Checks::kSums, false);
  if (!ran.ok()) {
    if (started.ok()) (void)trace::SegmentTrace::finish();
    return ran;
  }
  const uint64_t id = (*context.next_channel_id)++;
  CD_ASSIGN(measurement.report.trace,
            channels::finish_group_trace(*context.plane, *context.memory, id));
  return {};
}

}  // namespace

Result<PerfReport> run_perf(const PerfContext& context, const PerfOptions& options) {
  CD_TRY(check_options(options));
  CD_ASSIGN(Meeting meeting, Meeting::make(context.group, context.meet_within));
  context.memory->reset_peak();
  auto opened = PerfSide::make(context, options, meeting);
  CD_TRY(meeting.agree(opened.ok() ? Status() : Status(opened.error())));
  PerfSide& side = *opened.value();
  CD_TRY(side.expect(meeting));
  CD_ASSIGN(const CopyRates rates, side.rates(meeting));
  const PredictedWork work = side.work(meeting);
  const Prediction prediction = predict(rates, work);

  Measurement measurement{context, meeting, side, {}};
  PerfReport& report = measurement.report;
  report.endpoints = meeting.size() * options.endpoints_per_rank;
  report.sources = static_cast<int>(side.ends().sources.size());
  report.destinations = static_cast<int>(side.ends().destinations.size());
  report.row_bytes = 8 * int64_t{options.columns};
  report.rows_per_source = side.rows_per_source();
  report.predicted_s = prediction.seconds;
  report.bound = prediction.bound;
  report.copy_bytes_per_s = rates.copy_bytes_per_s;
  report.read_bytes_per_s = rates.read_bytes_per_s;
  report.link_bytes = work.link_bytes;
  report.link_bytes_per_s = rates.link_bytes_per_s;
  for (int run = 0; run <= options.repeats; ++run) {
    const bool is_timed = run > 0;
    const Checks checks = is_timed ? options.checks : Checks::kRows;
    CD_TRY(run_once(measurement, checks, is_timed));
  }
  if (options.traces) CD_TRY(run_traced(measurement));
  const auto peak = static_cast<uint64_t>(context.memory->peak_bytes());
  CD_ASSIGN(const std::vector<Words> peaks, meeting.gather(std::span(&peak, 1)));
  for (const Words& words : peaks) {
    report.memory_peak_bytes = std::max(report.memory_peak_bytes, static_cast<int64_t>(words[0]));
  }
  return std::move(measurement.report);
}

}  // namespace crossdock::perf
