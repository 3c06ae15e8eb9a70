// A whole query: who ordered the most, of orders of at least 100. The same in Python: query.py.
#include <cstdio>

#include <crossdock/crossdock.hpp>

#include "arrow_tables.hpp"

namespace {

using crossdock::Expr;
using crossdock::Plan;

crossdock::ArrowTable make_table(const crossdock::Engine& engine, Columns columns) {
  ArrowArrayStream stream;
  stream_columns(std::move(columns), &stream);
  return crossdock::ArrowTable::from_stream(engine, &stream);
}

Plan orders_plan(const crossdock::Engine& engine) {
  using Integers = std::vector<int64_t>;
  const auto orders = make_table(engine,
                                 {{"order", Integers{101, 102, 103, 104, 105, 106}},
                                  {"customer", Integers{1, 2, 1, 9, 3, 1}},
                                  {"pieces", Integers{5, 12, 3, 4, 9, 2}},
                                  {"price", Integers{50, 10, 25, 60, 11, 80}}});
  return Plan::scan(orders, {"customer", "pieces", "price"}, "orders");
}

Plan customers_plan(const crossdock::Engine& engine) {
  const auto customers = make_table(engine,
                                    {{"id", std::vector<int64_t>{1, 2, 3}},
                                     {"name", std::vector<std::string>{"Ada", "Grace", "Edsger"}}});
  return Plan::scan(customers, {"id", "name"}, "customers");
}

// One row per customer, the largest sum first.
Plan sums_by_name(const Plan& orders, const Plan& customers) {
  const Plan priced = orders.project(
      {{"customer", "customer"}, {"amount", orders.column("pieces") * orders.column("price")}});
  const Plan large = priced.filter({priced.column("amount") >= Expr::literal(100, "l")});
  crossdock::JoinOptions by_customer;
  by_customer.on = {{"customer", "id"}};
  by_customer.output = {{"right", "name", "name"}, {"left", "amount", "amount"}};
  crossdock::GroupByOptions by_name;
  by_name.keys = {"name"};
  by_name.aggregates = {{.function = "sum", .column = "amount", .filter = "", .name = "sum"}};
  crossdock::SortOptions largest_first;
  largest_first.keys = {{"sum", true, false}};
  largest_first.output = {{"name", "name"}, {"sum", "sum"}};
  return large.join(customers, by_customer).group_by(by_name).sort(largest_first);
}

}  // namespace

int main() {
  try {
    const crossdock::Engine engine;
    const Plan plan = sums_by_name(orders_plan(engine), customers_plan(engine));
    ArrowArrayStream result;
    crossdock::Query(engine, plan).collect(&result);
    for (const std::string& line : read_lines_in_order(&result)) std::puts(line.c_str());
  } catch (const crossdock::Exception& error) {
    std::fprintf(stderr, "%s [%s]: %s\n", error.kind().c_str(), error.code().c_str(), error.what());
    return 1;
  }
  return 0;
}
