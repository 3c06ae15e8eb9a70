// Endpoint e is on rank e / endpoints_per_rank; block b of it is thread (e mod endpoints_per_rank) * blocks + b there.
#include "data/perf/perf_side.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <thread>

#include "data/channels/two_level.hpp"

namespace crossdock::perf {
namespace {

constexpr int64_t kWindowBytesMax = int64_t{64} << 20;

int place_of(const std::vector<int>& endpoints, int endpoint) {
  const auto entry = std::find(endpoints.begin(), endpoints.end(), endpoint);
  return entry == endpoints.end() ? -1 : static_cast<int>(entry - endpoints.begin());
}

}  // namespace

Result<std::unique_ptr<PerfSide>> PerfSide::make(const PerfContext& context,
                                                 const PerfOptions& options,
                                                 const Meeting& meeting) {
  std::unique_ptr<PerfSide> side(new PerfSide());
  side->context_ = context;
  side->options_ = options;
  side->rank_ = meeting.rank();
  side->endpoints_ = meeting.size() * options.endpoints_per_rank;
  side->ends_ = ends_of(options.pattern, side->endpoints_);
  const int64_t row_bytes = 8 * int64_t{options.columns};
  side->rows_per_source_ = std::max<int64_t>(options.bytes_per_source / row_bytes, 1);
  const int64_t table_rows =
      std::min(side->rows_per_source_, std::max<int64_t>(options.table_bytes / row_bytes, 1));
  CD_ASSIGN(side->made_rows_,
            MadeRows::make({options.columns, table_rows, options.zipf_theta, options.seed},
                           *context.memory));
  CD_TRY(side->make_tables());
  CD_TRY(side->make_blocks());
  return side;
}

bool PerfSide::is_source_here(int source) const {
  return endpoint_rank(ends_.sources[static_cast<size_t>(source)]) == rank_;
}

Status PerfSide::make_tables() {
  tables_.resize(ends_.sources.size());
  for (size_t source = 0; source < tables_.size(); ++source) {
    if (!is_source_here(static_cast<int>(source))) continue;
    CD_ASSIGN(tables_[source], made_rows_->table(ends_.sources[source], *context_.memory));
  }
  return {};
}

int64_t PerfSide::window_bytes() const {
  const auto outlets = static_cast<int64_t>(ends_.destinations.size());
  const int slot_bits =
      options_.slot_bits == channels::kSlotBitsByDistance ? 3 : options_.slot_bits;
  const int64_t held = (options_.segment_bytes << slot_bits) * outlets;
  return std::min(held, kWindowBytesMax);
}

Status PerfSide::make_blocks() {
  for (int local = 0; local < options_.endpoints_per_rank; ++local) {
    const int endpoint = rank_ * options_.endpoints_per_rank + local;
    for (int block = 0; block < options_.blocks; ++block) {
      BlockState state;
      state.source = place_of(ends_.sources, endpoint);
      state.destination = place_of(ends_.destinations, endpoint);
      state.block = block;
      CD_ASSIGN(state.window,
                context_.memory->get(window_bytes(), "crossdock perf (the rate of copying)"));
      std::fill_n(state.window.data(), window_bytes(), uint8_t{1});
      blocks_.push_back(std::move(state));
    }
  }
  try {
    team_ = std::make_unique<Team>(static_cast<int>(blocks_.size()));
  } catch (const std::system_error& error) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "the system starts no {} threads for one process: {}\n  try      fewer blocks",
        blocks_.size(),
        error.what());
  }
  return {};
}

Status PerfSide::expect(Meeting& meeting) {
  const bool is_routed = ends_.sends == channels::ChannelSpec::Sends::kRouted;
  const size_t destinations = ends_.destinations.size();
  const size_t parts = is_routed ? destinations : 1;
  const auto columns = static_cast<size_t>(options_.columns);
  // Per source, by all ranks alike: zeros for sources of others, so that the words can be added up.
  Words mine(tables_.size() * parts * (columns + 1));
  for (size_t source = 0; source < tables_.size(); ++source) {
    if (tables_[source].rows == 0) continue;
    const std::vector<RowTotals> totals =
        made_rows_->totals(tables_[source], rows_per_source_, static_cast<int>(parts));
    for (size_t part = 0; part < parts; ++part) {
      uint64_t* words = &mine[(source * parts + part) * (columns + 1)];
      words[0] = totals[part].rows;
      std::copy(totals[part].sums.begin(), totals[part].sums.end(), words + 1);
    }
  }
  CD_ASSIGN(const std::vector<Words> all, meeting.gather(mine));
  const RowTotals none{0, std::vector<uint64_t>(columns)};
  expected_.assign(destinations, std::vector<RowTotals>(tables_.size(), none));
  rows_between_.assign(destinations, std::vector<uint64_t>(tables_.size()));
  for (size_t destination = 0; destination < destinations; ++destination) {
    for (size_t source = 0; source < tables_.size(); ++source) {
      // A named destination of a loopback gets the rows of its own source only.
      if (ends_.sends == channels::ChannelSpec::Sends::kNamed && source != destination) continue;
      const size_t at = (source * parts + (is_routed ? destination : 0)) * (columns + 1);
      for (const Words& words : all) {
        RowTotals part{words[at],
                       {words.begin() + static_cast<int64_t>(at) + 1,
                        words.begin() + static_cast<int64_t>(at + columns + 1)}};
        rows_between_[destination][source] += part.rows;
        // By a relay rows come as if from one source.
        expected_[destination][options_.levels == 1 ? source : 0].add(part);
      }
    }
  }
  return {};
}

Result<double> PerfSide::timed(Meeting& meeting,
                               const std::function<void(BlockState&)>& act,
                               bool takes_part) {
  CD_ASSIGN(const Meeting::Clock::time_point start, meeting.start());
  if (takes_part) {
    CD_TRY(team_->run([&](int worker) -> Status {
      std::this_thread::sleep_until(start);
      act(blocks_[static_cast<size_t>(worker)]);
      return {};
    }));
  }
  const std::chrono::duration<double> passed = Meeting::Clock::now() - start;
  return takes_part ? passed.count() : 0.0;
}

Result<CopyRates> PerfSide::rates(Meeting& meeting) {
  std::atomic<uint64_t> sum{0};
  const auto span_of = [this](const BlockState& block) {
    return std::span(reinterpret_cast<std::byte*>(block.window.data()),
                     static_cast<size_t>(window_bytes()));
  };
  const auto copy = [&](BlockState& block) {
    if (block.source < 0) return;
    copy_for_rate(
        tables_[static_cast<size_t>(block.source)], span_of(block), options_.segment_bytes);
  };
  const auto read = [&](BlockState& block) {
    // Kept, or the compiler need not read at all.
    if (block.destination >= 0) sum.fetch_add(read_for_rate(span_of(block)));
  };
  const auto has = [this](int BlockState::*end) {
    return std::any_of(
        blocks_.begin(), blocks_.end(), [&](const BlockState& block) { return block.*end >= 0; });
  };
  double copying_s = 0;
  double reading_s = 0;
  // The first time touches memory; the second counts.
  for (int time = 0; time < 2; ++time) {
    CD_ASSIGN(copying_s, timed(meeting, copy, has(&BlockState::source)));
    CD_ASSIGN(reading_s, timed(meeting, read, has(&BlockState::destination)));
  }
  const double mine_s[] = {copying_s, reading_s, known_link_rate()};
  Words mine;
  for (const double one : mine_s) mine.push_back(std::bit_cast<uint64_t>(one));
  CD_ASSIGN(const std::vector<Words> all, meeting.gather(mine));
  double link_rate = mine_s[2];
  for (const Words& words : all) {
    copying_s = std::max(copying_s, std::bit_cast<double>(words[0]));
    reading_s = std::max(reading_s, std::bit_cast<double>(words[1]));
    link_rate = std::min(link_rate, std::bit_cast<double>(words[2]));
  }
  return CopyRates{static_cast<double>(kRateBytes) / copying_s,
                   static_cast<double>(kRateBytes) / reading_s,
                   link_rate};
}

// Unknown as soon as one device does not say its rate: virtual ones do not.
double PerfSide::known_link_rate() const {
  if (options_.link_bytes_per_s > 0) return options_.link_bytes_per_s;
  std::map<std::string, double> rates;
  for (const movers::LinkCounters& link : context_.plane->links()) {
    rates.emplace(link.device, link.rate_bytes_per_s);
  }
  double sum = 0;
  for (const auto& [device, rate] : rates) {
    if (!(rate > 0)) return 0;
    sum += rate;
  }
  return sum;
}

double PerfSide::busiest_host_bytes() const {
  const std::vector<int> hosts = context_.plane->host_of_rank();
  const auto host_of = [&](int endpoint) {
    return hosts[static_cast<size_t>(endpoint_rank(endpoint))];
  };
  const bool is_broadcast = ends_.sends == channels::ChannelSpec::Sends::kBroadcast;
  std::map<int, double> out, in;  // rows, by host
  std::set<std::pair<size_t, int>> crossed;
  for (size_t source = 0; source < ends_.sources.size(); ++source) {
    const int from = host_of(ends_.sources[source]);
    for (size_t place = 0; place < ends_.destinations.size(); ++place) {
      const int to = host_of(ends_.destinations[place]);
      if (from == to) continue;
      // A broadcast goes once to each process, whatever endpoints it has.
      const int rank = endpoint_rank(ends_.destinations[place]);
      if (is_broadcast && !crossed.emplace(source, rank).second) continue;
      const auto rows = static_cast<double>(rows_between_[place][source]);
      out[from] += rows;
      in[to] += rows;
    }
  }
  double most = 0;
  for (const auto& [host, rows] : out) most = std::max(most, rows);
  for (const auto& [host, rows] : in) most = std::max(most, rows);
  return most * static_cast<double>(made_rows_->row_bytes());
}

PredictedWork PerfSide::work(const Meeting& meeting) const {
  const bool is_broadcast = ends_.sends == channels::ChannelSpec::Sends::kBroadcast;
  uint64_t received = 0;
  for (const auto& sources : expected_) {
    uint64_t rows = 0;
    for (const RowTotals& totals : sources) rows += totals.rows;
    received = std::max(received, rows);
  }
  const auto row_bytes = static_cast<double>(made_rows_->row_bytes());
  const double blocks = options_.blocks;
  PredictedWork work;
  work.sent_bytes = static_cast<double>(rows_per_source_) * row_bytes / blocks;
  work.received_bytes = static_cast<double>(received) * row_bytes / blocks;
  const int threads = meeting.ranks_here() * static_cast<int>(blocks_.size());
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const bool has_both = !is_broadcast && place_of(ends_.destinations, ends_.sources[0]) >= 0;
  work.takes_turns = has_both || threads > cores;
  work.link_bytes = busiest_host_bytes();
  return work;
}

channels::ChannelSpec PerfSide::channel_spec(uint64_t id) const {
  channels::ChannelSpec spec;
  spec.id = id;
  spec.schema = made_rows_->schema();
  for (const int endpoint : ends_.sources) spec.source_ranks.push_back(endpoint_rank(endpoint));
  for (const int endpoint : ends_.destinations) {
    spec.destination_ranks.push_back(endpoint_rank(endpoint));
  }
  spec.sends = ends_.sends;
  spec.route.by = sorters::RouteBy::kKey;
  spec.route.keys = {0};
  spec.senders_per_source = options_.blocks;
  spec.segment.segment_bytes = options_.segment_bytes;
  spec.slot_bits = options_.slot_bits;
  return spec;
}

channels::NodePlacement PerfSide::placement() const {
  const std::vector<int> hosts = context_.plane->host_of_rank();
  const auto node_of = [&](int endpoint) {
    if (options_.nodes == 0) return hosts[static_cast<size_t>(endpoint_rank(endpoint))];
    return endpoint * options_.nodes / endpoints_;
  };
  channels::NodePlacement placement;
  for (const int endpoint : ends_.sources) placement.of_source.push_back(node_of(endpoint));
  for (const int endpoint : ends_.destinations) {
    placement.of_destination.push_back(node_of(endpoint));
  }
  return placement;
}

Result<std::shared_ptr<channels::Channel>> PerfSide::open_channel(uint64_t id) const {
  if (options_.levels == 1) return context_.plane->create_channel(channel_spec(id));
  return channels::create_two_level(*context_.plane, channel_spec(id), placement());
}

bool PerfSide::begins_here(const channels::FlowCounters& flow) const {
  const std::vector<int>& ends = flow.level == 1 ? ends_.sources : ends_.destinations;
  return endpoint_rank(ends[static_cast<size_t>(flow.source)]) == rank_;
}

bool PerfSide::leaves_its_endpoint(const channels::FlowCounters& flow) const {
  if (ends_.sends == channels::ChannelSpec::Sends::kBroadcast) return true;
  const std::vector<int>& from = flow.level == 1 ? ends_.sources : ends_.destinations;
  return from[static_cast<size_t>(flow.source)] !=
         ends_.destinations[static_cast<size_t>(flow.outlet)];
}

Status PerfSide::open(channels::Channel& channel, Checks checks) {
  tallies_.assign(blocks_.size(), RowTally(made_rows_, static_cast<int>(tables_.size())));
  loops_.clear();
  for (const BlockState& block : blocks_) {
    std::unique_ptr<channels::Sender> sender;
    std::unique_ptr<channels::Receiver> receiver;
    SentRows sent;
    if (block.source >= 0) {
      CD_ASSIGN(sender, channel.open_sender(block.source));
      const bool is_named = ends_.sends == channels::ChannelSpec::Sends::kNamed;
      sent = {&tables_[static_cast<size_t>(block.source)],
              rows_per_source_ * block.block / options_.blocks,
              rows_per_source_ * (block.block + 1) / options_.blocks,
              options_.batch_rows,
              is_named ? block.source : -1};
    }
    if (block.destination >= 0) {
      CD_ASSIGN(receiver, channel.open_receiver(block.destination));
    }
    ReceiveChecks received{&tallies_[loops_.size()], {}, checks};
    if (options_.levels == 1) received.made_by = ends_.sources;
    loops_.push_back(
        std::make_unique<BlockLoop>(std::move(sender), sent, std::move(receiver), received));
  }
  return {};
}

Status PerfSide::run(channels::Channel& channel, Meeting::Clock::time_point start) {
  return team_->run([&](int worker) -> Status {
    std::this_thread::sleep_until(start);
    BlockLoop& loop = *loops_[static_cast<size_t>(worker)];
    const Status status = loop.run(*context_.cancel);
    if (!status.ok()) channel.close(status.error());
    BlockState& block = blocks_[static_cast<size_t>(worker)];
    block.end = Meeting::Clock::now();
    block.waited_s = loop.waited_s();
    return status;
  });
}

uint64_t PerfSide::wrong_rows() const {
  std::vector<RowTally> received(expected_.size(),
                                 RowTally(made_rows_, static_cast<int>(tables_.size())));
  std::vector<bool> is_here(expected_.size());
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].destination < 0) continue;
    const auto destination = static_cast<size_t>(blocks_[i].destination);
    received[destination].add(tallies_[i]);
    is_here[destination] = true;
  }
  uint64_t wrong = 0;
  for (size_t i = 0; i < received.size(); ++i) {
    if (is_here[i]) wrong += received[i].wrong(expected_[i]);
  }
  return wrong;
}

}  // namespace crossdock::perf
