// The best cities of made sales, computed by as many processes as there are. The same in Python: sales.py.
#include <cstdio>

#include <crossdock/channel.hpp>
#include <crossdock/crossdock.hpp>

#include "arrow_tables.hpp"

namespace {

constexpr int64_t kSales = 1'000'000;
constexpr int64_t kShops = 500;

crossdock::ArrowTable make_table(const crossdock::Engine& engine, Columns columns) {
  ArrowArrayStream stream;
  stream_columns(std::move(columns), &stream);
  return crossdock::ArrowTable::from_stream(engine, &stream);
}

// Every process has some of the rows of each table: here every size-th one.
crossdock::ArrowTable sales_of(const crossdock::Engine& engine, const crossdock::Group& group) {
  std::vector<int64_t> shops;
  std::vector<int64_t> prices;
  for (int64_t sale = group.rank(); sale < kSales; sale += group.size()) {
    shops.push_back(sale * 7 % kShops);
    prices.push_back(sale % 97);
  }
  return make_table(engine, {{"shop", std::move(shops)}, {"price", std::move(prices)}});
}

crossdock::ArrowTable shops_of(const crossdock::Engine& engine, const crossdock::Group& group) {
  std::vector<int64_t> numbers;
  std::vector<std::string> cities;
  for (int64_t shop = group.rank(); shop < kShops; shop += group.size()) {
    numbers.push_back(shop);
    cities.push_back("city " + std::to_string(shop % 40));
  }
  return make_table(engine, {{"shop", std::move(numbers)}, {"city", std::move(cities)}});
}

}  // namespace

int main() {
  try {
    const crossdock::Engine engine;
    const crossdock::Group group = crossdock::join_group(engine);

    crossdock::JoinOptions by_shop;
    by_shop.on = {{"shop", "shop"}};
    by_shop.output = {{"right", "city", "city"}, {"left", "price", "price"}};
    const auto sold = group.join(engine, sales_of(engine, group), shops_of(engine, group), by_shop);

    crossdock::GroupByOptions by_city;
    by_city.keys = {"city"};
    by_city.aggregates = {{"count", "", "", "sold"}, {"sum", "price", "", "price"}};
    const auto cities = group.group_by(engine, sold, by_city);

    crossdock::SortOptions best_first;
    best_first.keys = {{"price", true}, {"city"}};
    best_first.output = {{"city", "city"}, {"sold", "sold"}, {"price", "price"}};
    best_first.limit = 3;
    const auto best = group.collect(group.sort(engine, cities, best_first));
    if (group.rank() != 0) return 0;
    ArrowArrayStream rows;
    best.export_stream(&rows);
    for (const std::string& line : read_lines_in_order(&rows)) std::puts(line.c_str());
  } catch (const crossdock::Exception& error) {
    std::fprintf(stderr, "%s [%s]: %s\n", error.kind().c_str(), error.code().c_str(), error.what());
    return 1;
  }
  return 0;
}
