// Cut, then exchange.
#include "operators/sort/order_exchange.hpp"

#include <chrono>
#include <numeric>

#include "data/bulk/digit_cut.hpp"
#include "data/bulk/order_cut.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock {
namespace {

Result<OrderCut> cut_rows(const RankRun& run, const Table& rows, const RankOrder& order) {
  auto stored = store_rows(rows, "an exchange by order");
  CD_TRY(run.ranks->agree(stored.ok() ? Status() : Status(stored.error())));
  const RowStore& store = *stored.value();
  if (order.by == RankCutBy::kSplitters) return cut_by_order(run, store, order.keys);
  CD_ASSIGN(DigitCut digits,
            cut_by_digits(run, store, order.keys, {.digit_bits = order.digit_bits}));
  return std::move(digits.cut);
}

}  // namespace

Result<BulkResult> exchange_named(const RankRun& run,
                                  const Table& rows,
                                  std::span<const uint16_t> ranks) {
  BulkRoute route;
  route.named = ranks;
  route.destination_ranks.resize(static_cast<size_t>(run.ranks->size()));
  std::iota(route.destination_ranks.begin(), route.destination_ranks.end(), 0);
  return bulk_exchange({run.ranks, run.team, run.memory}, rows, route);
}

Result<OrderedRows> exchange_by_order(const RankRun& run,
                                      const Table& rows,
                                      const RankOrder& order) {
  const auto begin = std::chrono::steady_clock::now();
  CD_ASSIGN(OrderCut cut, cut_rows(run, rows, order));
  const double cut_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CD_ASSIGN(BulkResult arrived, exchange_named(run, rows, cut.destinations()));
  BulkFacts& facts = arrived.facts;
  for (BulkPhase& phase : facts.phases) phase.begin_s += cut_s;
  facts.phases.insert(facts.phases.begin(), BulkPhase{"cut", rows.rows, 0, 0.0, cut_s});
  facts.total_s += cut_s;
  return OrderedRows{std::move(arrived), std::move(cut.rows_of)};
}

}  // namespace crossdock
