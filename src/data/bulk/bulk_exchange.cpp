// The passes of an exchange, and what all ranks agree on between them.
#include "data/bulk/bulk_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/cache_control.h>

#include "data/bulk/arrived_table.hpp"
#include "data/bulk/bulk_plan.hpp"
#include "data/bulk/exchange_worker.hpp"
#include "data/bulk/put_order.hpp"
#include "data/bulk/row_counts.hpp"
#include "data/ranks/agreement.hpp"
#include "table/copy_rows.hpp"

namespace crossdock::bulk {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What has to be alike in all ranks.
std::string shape_text(const Schema& schema, const BulkRoute& route, const BulkOptions& options) {
  std::string text = fmt::format("to ranks {}", fmt::join(route.destination_ranks, ","));
  if (route.rule != nullptr) {
    text += fmt::format(" by rule {} of columns {}",
                        static_cast<int>(route.rule->by),
                        fmt::join(route.rule->keys, ","));
  }
  text += fmt::format(", order {}, packing {}:",
                      static_cast<int>(options.order),
                      static_cast<int>(options.packing));
  const SchemaPtr received = without_dictionaries(schema);
  for (const Field& field : received->fields) {
    text += fmt::format(" \"{}\" {},", field.name, type_name(field.type));
  }
  return text;
}

// Others may wait for stages that a worker has which ends by an error, or throws.
struct EndsUnlessDone {
  explicit EndsUnlessDone(std::atomic<bool>& of) : ends(of) {}
  ~EndsUnlessDone() {
    if (!is_done) ends.store(true, std::memory_order_relaxed);
  }
  EndsUnlessDone(const EndsUnlessDone&) = delete;
  EndsUnlessDone& operator=(const EndsUnlessDone&) = delete;

  std::atomic<bool>& ends;
  bool is_done = false;
};

class Exchange {
 public:
  Exchange(const BulkContext& context,
           const Table& table,
           const BulkRoute& route,
           const BulkOptions& options)
      : ranks_(*context.ranks),
        team_(*context.team),
        memory_(context.memory),
        table_(table),
        rows_(table),
        route_(route),
        options_(options) {}

  Result<BulkResult> run() {
    begin_ = Clock::now();
    CD_TRY(agree_on_shape());
    begin_ = Clock::now();
    before_ = ranks_.traffic();
    CD_TRY(count());
    CD_TRY(open_window());
    CD_TRY(send());
    TablePtr table;
    const Clock::time_point arrival = Clock::now();
    CD_TRY(ranks_.agree_with_room([&]() -> Status {
      table.reset();
      CD_ASSIGN(table, arrived_table(plan_, places_.arrivals, window_, team_, *memory_));
      return {};
    }));
    note_phase("arrival", arrival, places_.arrivals.rows, 0);
    facts_.total_s = seconds_since(begin_);
    note_traffic(*table);
    return BulkResult{std::move(table), std::move(facts_)};
  }

 private:
  bool is_near(int rank) const {
    const std::vector<int>& near = ranks_.neighbours();
    return std::binary_search(near.begin(), near.end(), rank);
  }
  bool all_are_near() const {
    return static_cast<int>(ranks_.neighbours().size()) == ranks_.size();
  }

  void note_phase(const char* name, Clock::time_point begin, int64_t rows, int64_t bytes) {
    BulkPhase phase{name, rows, bytes};
    phase.begin_s = std::chrono::duration<double>(begin - begin_).count();
    phase.seconds = seconds_since(begin);
    facts_.phases.push_back(std::move(phase));
  }

  Status check_route() const {
    std::set<int> seen;
    for (const int rank : route_.destination_ranks) {
      if (rank < 0 || rank >= ranks_.size() || !seen.insert(rank).second) {
        return make_error(ErrorCode::kInvalidArgument,
                          "rows are to go to ranks [{}] of {}; name ranks from 0, each once",
                          fmt::join(route_.destination_ranks, ", "),
                          ranks_.size());
      }
    }
    const auto destinations = static_cast<int>(route_.destination_ranks.size());
    if (destinations == 0 ||
        (route_.rule != nullptr && route_.rule->destinations != destinations)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "a rule of {} destinations is to send rows to {} ranks",
                        route_.rule == nullptr ? 0 : route_.rule->destinations,
                        destinations);
    }
    if (table_.schema->fields.empty()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "rows of 0 columns are to be exchanged; a row needs 1 or more");
    }
    return {};
  }

  Status agree_on_shape() {
    const Status checked = check_route();
    const Result<std::string> mine =
        checked.ok() ? Result<std::string>(shape_text(*table_.schema, route_, options_))
                     : Result<std::string>(checked.error());
    CD_ASSIGN(const std::vector<std::string> every, ranks::agree(ranks_, mine, ranks_.limit()));
    return ranks::check_same(every, "all ranks exchange tables of one schema by one rule");
  }

  // The histogram, and what all ranks know of the columns.
  Status count() {
    const Clock::time_point begin = Clock::now();
    CountingOptions counting;
    counting.route = route_.rule;
    counting.named = route_.named;
    counting.destinations = static_cast<int>(route_.destination_ranks.size());
    counting.looks_at_ranges = options_.packing == BulkPacking::kAlways ||
                               (options_.packing == BulkPacking::kAuto && !all_are_near());
    counting.chunk_rows = std::max<int64_t>(1, options_.batches.rows / 2);
    counting.chunk_text_bytes = std::max<int64_t>(1, options_.batches.text_bytes / 2);
    CD_TRY(ranks_.agree_with_room([&]() -> Status {
      counts_ = {};
      CD_ASSIGN(counts_, count_rows(rows_, table_.schema, counting, team_, *memory_));
      return {};
    }));
    CD_TRY(agree_on_columns());
    CD_ASSIGN(places_,
              agree_on_places(ranks_, plan_, counts_, route_.destination_ranks, options_.batches));
    note_phase("histogram", begin, rows_.rows(), 0);
    return {};
  }

  Status agree_on_columns() {
    std::vector<int64_t> least;  // the smallest of each is what counts
    for (const SeenColumn& column : counts_.seen) {
      least.push_back(column.has_nulls ? 0 : 1);
      least.push_back(column.packs ? 1 : 0);
      least.push_back(column.range.min);
      least.push_back(~column.range.max);  // falls as max rises, and stays within 64 bits
    }
    least.push_back(all_are_near() ? 1 : 0);
    CD_ASSIGN(const std::vector<int64_t> all, ranks_.fold(least, ranks::Fold::kMin));
    all_are_near_ = all.back() == 1;
    std::vector<SeenColumn> seen(counts_.seen.size());
    for (size_t i = 0; i < seen.size(); ++i) {
      seen[i].has_nulls = all[4 * i] == 0;
      seen[i].packs = all[4 * i + 1] == 1;
      seen[i].range = {all[4 * i + 2], ~all[4 * i + 3]};
    }
    plan_ = plan_bulk(table_.schema, seen, false);
    facts_.plain_row_bytes = plan_.plain_row_bytes();
    facts_.packing = "off: all ranks share a host";
    if (options_.packing == BulkPacking::kNever) facts_.packing = "off: asked for";
    if (options_.packing == BulkPacking::kAlways ||
        (options_.packing == BulkPacking::kAuto && !all_are_near_)) {
      choose_packing(seen);
    }
    facts_.sent_row_bytes = plan_.sent_row_bytes();
    return {};
  }

  void choose_packing(const std::vector<SeenColumn>& seen) {
    BulkPlan packed = plan_bulk(table_.schema, seen, true);
    const int64_t plain_bytes = plan_.sent_row_bytes();
    const int64_t packed_bytes = packed.sent_row_bytes();
    const bool pays = packed_bytes * 8 <= plain_bytes * 7;
    if (packed.words.empty() || (options_.packing == BulkPacking::kAuto && !pays)) {
      facts_.packing = fmt::format("off: {} of {} bytes of a row", packed_bytes, plain_bytes);
      return;
    }
    facts_.packing = fmt::format("on: {} of {} bytes of a row", packed_bytes, plain_bytes);
    plan_ = std::move(packed);
  }

  Status open_window() {
    const Clock::time_point begin = Clock::now();
    const int64_t bytes = lay_out(plan_, places_.arrivals.shape).bytes;
    CD_ASSIGN(window_, ranks_.open_window(bytes, memory_, "the window of a bulk exchange"));
    facts_.window_bytes = bytes;
    note_phase("window", begin, places_.arrivals.rows, bytes);
    return {};
  }

  // What the second pass needs, all of it before the first row moves.
  Status prepare() {
    order_.reset();
    pool_.reset();
    bits_ = {};
    pass_.targets.clear();
    pass_.is_near.clear();
    pass_.bits_at.clear();
    pass_.plan = &plan_;
    pass_.rows = &rows_;
    pass_.counts = &counts_;
    pass_.places = &places_;
    pass_.destination_ranks = route_.destination_ranks;
    pass_.window = window_.get();
    int64_t words = 0;
    int far = 0;
    for (size_t d = 0; d < places_.targets.size(); ++d) {
      const TargetPlaces& target = places_.targets[d];
      pass_.targets.push_back(lay_out(plan_, target.shape));
      pass_.is_near.push_back(is_near(route_.destination_ranks[d]));
      pass_.bits_at.push_back(words);
      words += target.cell_bit_word.back() * static_cast<int64_t>(plan_.bit_lanes.size());
      far += pass_.is_near.back() == 0;
    }
    if (words != 0) {
      CD_ASSIGN(bits_, memory_->get(words * 8, "the bits of a bulk exchange"));
      std::fill_n(bits_.as<uint64_t>(), words, uint64_t{0});
      pass_.bits = bits_.as<uint64_t>();
    }
    // In phases all ranks take part, whether or not they send.
    return all_are_near_ ? Status() : prepare_puts(far);
  }

  Status prepare_puts(int far) {
    const bool in_phases = options_.order == PutOrderKind::kPhases;
    StageOptions stages;
    stages.message_bytes = options_.message_bytes;
    stages.pool_bytes = options_.pool_bytes;
    stages.stages_open = std::max(1, far * team_.worker_count());
    // TCP gives the sources of a target unlike shares of its link for a while: with more stages the others need not
    // wait for those that go to the one that is behind.
    if (in_phases && is_one_phase(ranks_.size())) stages.stages_per_open *= 2;
    for (int t = 0; t < counts_.strings; ++t) stages.text_bytes.push_back(mean_text_bytes(t));
    CD_ASSIGN(pool_, StagePool::make(plan_, stages, *memory_));
    PutRoute route{&plan_, window_.get(), pass_.targets, route_.destination_ranks, pool_.get()};
    const int workers = team_.worker_count();
    order_ = in_phases ? make_order_in_phases(std::move(route), workers, ranks_)
                       : make_order_as_they_fill(std::move(route), workers);
    pass_.pool = pool_.get();
    pass_.order = order_.get();
    return {};
  }

  double mean_text_bytes(int text) const {
    int64_t bytes = 0;
    const auto stride = static_cast<size_t>(counts_.per_destination());
    for (const RowChunk& chunk : counts_.chunks) {
      for (size_t at = 0; at < chunk.counts.size(); at += stride) {
        bytes += chunk.counts[at + 1 + static_cast<size_t>(text)];
      }
    }
    return static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, rows_.rows()));
  }

  Status send() {
    const Clock::time_point begin = Clock::now();
    CD_TRY(ranks_.agree_with_room([&] { return prepare(); }));
    const int workers = team_.worker_count();
    std::vector<double> busy_s(static_cast<size_t>(workers));
    Status sent = team_.run([&](int worker) -> Status {
      const Clock::time_point started = Clock::now();
      EndsUnlessDone end{pass_.ends};
      ExchangeWorker exchange_worker(pass_, worker);
      const Status done = exchange_worker.run();
      end.is_done = done.ok();
      hwy::FlushStream();
      for (size_t d = 0; d < pass_.targets.size(); ++d) {
        const int64_t bytes = exchange_worker.stored_bytes()[d];
        if (bytes != 0) window_->note_stored(route_.destination_ranks[d], bytes);
      }
      busy_s[static_cast<size_t>(worker)] = seconds_since(started);
      return done;
    });
    if (sent.ok() && pass_.bits != nullptr) {
      sent = team_.run([&](int worker) { return send_bits(pass_, worker, workers); });
    }
    if (order_ != nullptr) {
      const Clock::time_point rest = Clock::now();
      sent = order_->finish(sent);
      busy_s[0] += seconds_since(rest);  // whose puts and waits are those of the first worker
    }
    const Clock::time_point fence = Clock::now();
    CD_TRY(window_->fence());
    const double fence_s = seconds_since(fence);
    note_phase("network partition", begin, rows_.rows(), 0);
    note_parts(busy_s, fence_s);
    return ranks_.agree(sent);
  }

  // Putting and waiting take turns with partitioning in the same threads; the fence is waited for by all of them.
  void note_parts(const std::vector<double>& busy_s, double fence_s) {
    double busy = 0;
    PutTimes puts;
    for (size_t worker = 0; worker < busy_s.size(); ++worker) {
      busy += busy_s[worker];
      if (order_ == nullptr) continue;
      const PutTimes put_times = order_->times(static_cast<int>(worker));
      puts.put_s += put_times.put_s;
      puts.flush_s += put_times.flush_s;
      puts.wait_s += put_times.wait_s;
    }
    const auto workers = static_cast<double>(busy_s.size());
    const double others = puts.put_s + puts.flush_s + puts.wait_s;
    facts_.phases.back().parts = {{"partition", (busy - others) / workers},
                                  {"put", puts.put_s / workers},
                                  {"flush", puts.flush_s / workers},
                                  {"wait", puts.wait_s / workers + fence_s}};
  }

  void note_traffic(const Table& table) {
    const ranks::Communicator::Traffic after = ranks_.traffic();
    facts_.rows_in = rows_.rows();
    facts_.rows_received = table.rows;
    facts_.bytes_sent =
        after.put_bytes - before_.put_bytes + after.collective_bytes - before_.collective_bytes;
    facts_.messages = after.put_messages - before_.put_messages + after.collective_messages -
                      before_.collective_messages;
    facts_.order = order_ == nullptr ? "in place" : order_->name();
    for (BulkPhase& phase : facts_.phases) {
      if (phase.name == "network partition") phase.bytes = after.put_bytes - before_.put_bytes;
    }
  }

  ranks::Communicator& ranks_;
  Team& team_;
  std::shared_ptr<Memory> memory_;
  const Table& table_;
  TableRows rows_;
  const BulkRoute& route_;
  const BulkOptions& options_;
  Clock::time_point begin_;
  ranks::Communicator::Traffic before_;
  RowCounts counts_;
  BulkPlan plan_;
  Places places_;
  Block bits_;
  std::unique_ptr<StagePool> pool_;
  std::shared_ptr<ranks::Window> window_;  // goes before what is put into it
  std::unique_ptr<PutOrder> order_;
  ExchangePass pass_;
  BulkFacts facts_;
  bool all_are_near_ = false;  // from any rank: all decide alike, or phases would have too few
};

}  // namespace

Result<BulkResult> bulk_exchange(const BulkContext& context,
                                 const Table& rows,
                                 const BulkRoute& route,
                                 const BulkOptions& options) {
  return Exchange(context, rows, route, options).run();
}

}  // namespace crossdock::bulk
