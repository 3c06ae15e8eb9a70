#include "operators/sort/order_exchange.hpp"

#include <chrono>
#include <numeric>

#include "data/bulk/digit_cut.hpp"
#include "data/bulk/order_cut.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::operators {
namespace {

Result<bulk::OrderCut> cut_rows(const bulk::RankRun& run,
                                const Table& rows,
                                const RankOrder& order) {
  auto stored = store_rows(rows, "an exchange by order");
  CD_TRY(run.ranks->agree(stored.ok() ? Status() : Status(stored.error())));
  const RowStore& store = *stored.value();
  if (order.by == RankCutBy::kSplitters) return bulk::cut_by_order(run, store, order.keys);
  CD_ASSIGN(bulk::DigitCut digits,
            bulk::cut_by_digits(run, store, order.keys, {.digit_bits = order.digit_bits}));
  return std::move(digits.cut);
}

}  // namespace

Result<bulk::BulkResult> exchange_named(const bulk::RankRun& run,
                                        const Table& rows,
                                        std::span<const uint16_t> ranks) {
  bulk::BulkRoute route;
  route.named = ranks;
  route.destination_ranks.resize(static_cast<size_t>(run.ranks->size()));
  std::iota(route.destination_ranks.begin(), route.destination_ranks.end(), 0);
  return bulk::bulk_exchange({run.ranks, run.team, run.memory}, rows, route);
}

Result<OrderedRows> exchange_by_order(const bulk::RankRun& run,
                                      const Table& rows,
                                      const RankOrder& order) {
  const auto begin = std::chrono::steady_clock::now();
  CD_ASSIGN(bulk::OrderCut cut, cut_rows(run, rows, order));
  const double cut_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CD_ASSIGN(bulk::BulkResult arrived, exchange_named(run, rows, cut.destinations()));
  bulk::BulkFacts& facts = arrived.facts;
  for (bulk::BulkPhase& phase : facts.phases) phase.begin_s += cut_s;
  facts.phases.insert(facts.phases.begin(), bulk::BulkPhase{"cut", rows.rows, 0, 0.0, cut_s});
  facts.total_s += cut_s;
  return OrderedRows{std::move(arrived), std::move(cut.rows_of)};
}

}  // namespace crossdock::operators
