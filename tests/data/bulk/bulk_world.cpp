// Makes the rows of a trial, and counts by hand where they should go.
#include "data/bulk/bulk_world.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/ranks/thread_communicator.hpp"
#include "data/segments/row_ring.hpp"
#include "table/arrow_builder.hpp"
#include "table/random_columns.hpp"

namespace crossdock::bulk {
namespace {

using arrow_test::Random;

// The rows of one rank: random columns, a key "k" before them and the number of a destination "to".
struct RankRows {
  Table table;
  std::vector<uint16_t> named;
};

RankRows make_rank_rows(const BulkTrial& trial, int rank) {
  Random random(trial.seed * 1000 + static_cast<uint64_t>(rank));
  const bool is_empty = random() % 5 == 0;
  const auto rows =
      is_empty ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(trial.rows_max + 1));
  const auto destinations = trial.destination_ranks.size();
  arrow_test::Optionals<int64_t> keys;
  arrow_test::Optionals<int32_t> to;
  RankRows of_rank;
  const bool is_skewed = random() % 3 == 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto key = static_cast<int64_t>(random() % 1000) - 500;
    keys.push_back(random() % 20 == 0 ? std::nullopt : std::optional<int64_t>(key));
    const uint64_t number = is_skewed && row % 8 != 0 ? 0 : random() % destinations;
    to.push_back(static_cast<int32_t>(number));
    of_rank.named.push_back(static_cast<uint16_t>(number));
  }
  arrow_test::Columns columns = segments::random_row_columns(rows, random, trial.formats);
  columns.insert(columns.begin(), {"k", arrow_test::fixed<int64_t>("l", keys)});
  columns.insert(columns.begin() + 1, {"to", arrow_test::fixed<int32_t>("i", to)});
  const Batch whole = arrow_test::make_batch(columns);
  of_rank.table.schema = whole.schema;
  of_rank.table.rows = rows;
  for (int64_t begin = 0; begin < rows;) {
    const int64_t count = std::min<int64_t>(rows - begin, 1 + static_cast<int64_t>(random() % 90));
    of_rank.table.batches.push_back(segments::slice_rows(whole, begin, count));
    begin += count;
  }
  return of_rank;
}

sorters::RouteSpec make_rule(const BulkTrial& trial) {
  sorters::RouteSpec rule;
  rule.destinations = static_cast<int>(trial.destination_ranks.size());
  rule.keys = {trial.route == RouteKind::kNumber ? 1 : 0};
  if (trial.route == RouteKind::kHash) rule.by = sorters::RouteBy::kHash;
  if (trial.route == RouteKind::kNumber) rule.by = sorters::RouteBy::kExplicit;
  if (trial.route == RouteKind::kRange) {
    rule.by = sorters::RouteBy::kRange;
    arrow_test::Optionals<int64_t> bounds;
    for (int i = 1; i < rule.destinations; ++i)
      bounds.push_back(-500 + 1000 * i / rule.destinations);
    rule.bounds = arrow_test::make_batch({{"k", arrow_test::fixed<int64_t>("l", bounds)}});
  }
  return rule;
}

bool has_rule(RouteKind kind) { return kind != RouteKind::kNamed && kind != RouteKind::kAll; }

// Row by row, with nothing of the room under test.
void add_expected(const BulkTrial& trial, const RankRows& rows, BulkOutcome& outcome) {
  size_t number = 0;
  for (const Batch& batch : rows.table.batches) {
    std::vector<uint16_t> to(static_cast<size_t>(batch.rows));
    if (has_rule(trial.route)) {
      auto router = sorters::RowRouter::make(batch.schema, make_rule(trial));
      if (!router.ok() || !router.value()->route(batch, 0, to).ok()) std::abort();
    } else {
      for (uint16_t& one : to) one = rows.named[number++];
    }
    for (int64_t row = 0; row < batch.rows; ++row) {
      const std::string text = segments::row_text(batch, row);
      for (size_t d = 0; d < trial.destination_ranks.size(); ++d) {
        if (trial.route != RouteKind::kAll && to[static_cast<size_t>(row)] != d) continue;
        outcome.expected[static_cast<size_t>(trial.destination_ranks[d])].push_back(text);
      }
    }
  }
}

}  // namespace

std::string BulkTrial::text() const {
  return fmt::format(
      "seed {}, {} ranks, {} per host, {} threads, route {}, to {}, formats {}, order {}, packing "
      "{}, "
      "messages {}, pool {}, batches of {} rows and {} bytes",
      seed,
      ranks,
      ranks_per_host,
      threads,
      static_cast<int>(route),
      fmt::join(destination_ranks, ","),
      fmt::join(formats, ","),
      static_cast<int>(options.order),
      static_cast<int>(options.packing),
      options.message_bytes,
      options.pool_bytes,
      options.batches.rows,
      options.batches.text_bytes);
}

BulkTrial random_bulk_trial(uint64_t seed) {
  Random random(seed);
  BulkTrial trial;
  trial.seed = seed;
  trial.ranks = 1 + static_cast<int>(random() % 9);
  trial.ranks_per_host = static_cast<int>(random() % 4);
  trial.threads = 1 + static_cast<int>(random() % 3);
  trial.route = static_cast<RouteKind>(random() % 6);
  std::vector<int> ranks(static_cast<size_t>(trial.ranks));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (random() % 3 == 0) {
    std::shuffle(ranks.begin(), ranks.end(), random);
    ranks.resize(1 + random() % ranks.size());
  }
  trial.destination_ranks = ranks;
  const auto& formats = arrow_test::plain_formats();
  for (size_t i = random() % 6; i > 0; --i)
    trial.formats.push_back(formats[random() % formats.size()]);
  if (trial.formats.empty()) trial.formats = {"l"};
  trial.options.order = random() % 2 == 0 ? PutOrderKind::kPhases : PutOrderKind::kAsTheyFill;
  trial.options.packing = static_cast<BulkPacking>(random() % 3);
  const int64_t messages[] = {1, 600, int64_t{1} << 20};
  trial.options.message_bytes = messages[random() % 3];
  trial.options.pool_bytes = messages[random() % 3] * 8;
  if (random() % 3 == 0) trial.options.batches.rows = 1 + static_cast<int64_t>(random() % 60);
  if (random() % 3 == 0)
    trial.options.batches.text_bytes = 100 + static_cast<int64_t>(random() % 900);
  return trial;
}

BulkOutcome run_bulk_trial(const BulkTrial& trial) {
  BulkOutcome outcome;
  const auto ranks = static_cast<size_t>(trial.ranks);
  outcome.rows.resize(ranks);
  outcome.expected.resize(ranks);
  outcome.facts.resize(ranks);
  outcome.batches.resize(ranks);
  outcome.peak_bytes.resize(ranks);
  std::vector<RankRows> rows;
  std::vector<std::shared_ptr<Memory>> memories;
  for (int rank = 0; rank < trial.ranks; ++rank) {
    rows.push_back(make_rank_rows(trial, rank));
    memories.push_back(Memory::create(int64_t{1} << 28));
    add_expected(trial, rows.back(), outcome);
  }
  const sorters::RouteSpec rule = make_rule(trial);
  const Status ran = ranks::run_thread_ranks(
      {trial.ranks, trial.ranks_per_host}, [&](ranks::Communicator& communicator) -> Status {
        const auto rank = static_cast<size_t>(communicator.rank());
        Team team(trial.threads);
        BulkRoute route{nullptr, {}, trial.destination_ranks};
        if (has_rule(trial.route)) route.rule = &rule;
        if (trial.route == RouteKind::kNamed) route.named = rows[rank].named;
        CD_ASSIGN(
            const BulkResult arrived,
            bulk_exchange(
                {&communicator, &team, memories[rank]}, rows[rank].table, route, trial.options));
        outcome.facts[rank] = arrived.facts;
        outcome.batches[rank] = static_cast<int64_t>(arrived.table->batches.size());
        for (const Batch& batch : arrived.table->batches) {
          for (int64_t row = 0; row < batch.rows; ++row) {
            outcome.rows[rank].push_back(segments::row_text(batch, row));
          }
        }
        return {};
      });
  if (!ran.ok()) outcome.error = ran.error().message;
  for (size_t rank = 0; rank < ranks; ++rank) {
    outcome.bytes_left += memories[rank]->used_bytes();
    outcome.peak_bytes[rank] = memories[rank]->peak_bytes();
  }
  return outcome;
}

}  // namespace crossdock::bulk
