// Joins orders with customers and prints who ordered what. The same in Python: join.py.
#include <cstdio>

#include <crossdock/crossdock.hpp>

#include "arrow_tables.hpp"

namespace {

crossdock::ArrowTable make_table(const crossdock::Engine& engine, Columns columns) {
  ArrowArrayStream stream;
  stream_columns(std::move(columns), &stream);
  return crossdock::ArrowTable::from_stream(engine, &stream);
}

}  // namespace

int main() {
  using Integers = std::vector<int64_t>;
  using Strings = std::vector<std::string>;
  try {
    const crossdock::Engine engine;
    const auto orders = make_table(engine,
                                   {{"order", Integers{101, 102, 103, 104, 105}},
                                    {"customer", Integers{1, 2, 1, 9, 3}},
                                    {"amount", Integers{250, 120, 75, 310, 90}}});
    const auto customers = make_table(engine,
                                      {{"id", Integers{1, 2, 3}},
                                       {"name", Strings{"Ada", "Grace", "Edsger"}},
                                       {"city", Strings{"London", "New York", "Nuenen"}}});

    crossdock::JoinOptions options;
    options.on = {{"customer", "id"}};
    options.how = "left";  // order 104 stays, though customer 9 is not known
    options.output = {{"left", "order", "order"},
                      {"right", "name", "name"},
                      {"right", "city", "city"},
                      {"left", "amount", "amount"}};
    ArrowArrayStream result;
    crossdock::Join(engine, orders, customers, options).collect(&result);

    const std::vector<std::string> lines = read_lines(&result);
    for (const std::string& line : lines) std::puts(line.c_str());
    std::printf("%zu rows\n", lines.size());
  } catch (const crossdock::Exception& error) {
    std::fprintf(stderr, "%s [%s]: %s\n", error.kind().c_str(), error.code().c_str(), error.what());
    return 1;
  }
  return 0;
}
