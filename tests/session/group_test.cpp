// Groups through the public interface: joins and group-bys of rows that were spread over endpoints are those of the
// whole, whether the endpoints are threads or processes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/transports/forked_ranks.hpp"
#include "session/arrow_rows.hpp"

namespace crossdock {
namespace {

using arrow_test::fixed;
using arrow_test::Optionals;
using arrow_test::strings;
using testing::ElementsAre;

constexpr int64_t kOrders = 3'000;
constexpr int64_t kCustomers = 700;

const EngineOptions kSmall{1, int64_t{256} << 20};

// Every `step`-th row from `begin` of orders (customer, amount) and customers (id, name); some have no partner.
ArrowTable orders_of(const Engine& engine, int64_t begin, int64_t step) {
  Optionals<int64_t> customers;
  Optionals<int64_t> amounts;
  for (int64_t row = begin; row < kOrders; row += step) {
    customers.emplace_back(row * 37 % (kCustomers + 100));
    if (row % 50 == 0) customers.back().reset();
    amounts.emplace_back(row);
  }
  return table_of(
      engine,
      {{{"customer", fixed<int64_t>("l", customers)}, {"amount", fixed<int64_t>("l", amounts)}}});
}

ArrowTable customers_of(const Engine& engine, int64_t begin, int64_t step) {
  Optionals<int64_t> ids;
  Optionals<std::string> names;
  for (int64_t row = begin; row < kCustomers; row += step) {
    ids.emplace_back(row);
    names.emplace_back("customer with the number " + std::to_string(row));
  }
  return table_of(engine, {{{"id", fixed<int64_t>("l", ids)}, {"name", strings("u", names)}}});
}

JoinOptions names_of_orders() {
  JoinOptions options;
  options.on = {{"customer", "id"}};
  options.how = "left";
  options.output = {{"left", "amount", "amount"}, {"right", "name", "name"}};
  return options;
}

GroupByOptions amounts_by_customer() {
  GroupByOptions options;
  options.keys = {"customer"};
  options.aggregates = {{"count", "", "", "n"}, {"sum", "amount", "", "amount"}};
  return options;
}

ArrowTable joined(const Engine& engine, const ArrowTable& orders, const ArrowTable& customers) {
  ArrowArrayStream stream;
  Join(engine, orders, customers, names_of_orders()).collect(&stream);
  return ArrowTable::from_stream(engine, &stream);
}

ArrowTable grouped(const Engine& engine, const ArrowTable& orders) {
  ArrowArrayStream stream;
  GroupBy(engine, orders, amounts_by_customer()).collect(&stream);
  return ArrowTable::from_stream(engine, &stream);
}

// All of one endpoint of a channel: its rows in, its rows out.
ArrowTable exchanged(const RowChannel& channel, int endpoint, const ArrowTable& rows) {
  RowSender sender = channel.open_sender(endpoint);
  RowReceiver receiver = channel.open_receiver(endpoint);
  const Drain keep = [&receiver] { receiver.keep(); };
  sender.send(rows, {.drain = keep});
  sender.flush(keep);
  return receiver.collect();
}

class Lines {
 public:
  void add(const ArrowTable& table) {
    const std::lock_guard lock(mutex_);
    for (std::string& line : lines_of(table)) lines_.push_back(std::move(line));
  }
  std::vector<std::string> sorted() {
    std::ranges::sort(lines_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(Groups, AProcessThatNobodyStartedIsAGroupOfOne) {
  const Engine engine;
  const Group group = join_group(engine);
  EXPECT_EQ(group.rank(), 0);
  EXPECT_EQ(group.size(), 1);
  EXPECT_THAT(group.gather("hello"), ElementsAre("hello"));
  const ArrowTable orders = orders_of(engine, 0, 1);
  const ArrowTable mine = group.exchange(orders, {.by = {"customer"}});
  EXPECT_EQ(lines_of(mine), lines_of(orders));
  EXPECT_EQ(lines_of(group.broadcast(orders)), lines_of(orders));
  EXPECT_EQ(lines_of(group.collect(orders)), lines_of(orders));
  const ArrowTable customers = customers_of(engine, 0, 1);
  EXPECT_EQ(lines_of(group.join(engine, orders, customers, names_of_orders())),
            lines_of(joined(engine, orders, customers)));
  SortOptions order;
  order.keys = {{"amount", true}};
  order.output = {{"amount", "amount"}};
  order.limit = 2;
  EXPECT_THAT(lines_of(group.sort(engine, orders, order)), ElementsAre("2998 ", "2999 "));
}

TEST(Groups, TraceTheirSegments) {
  const Engine engine(kSmall);
  const Group group = join_group(engine);
  expect_thrown([&] { (void)group.finish_trace(); }, "CD-105", "no trace is running");
  expect_thrown([&] { group.start_trace(-1); }, "CD-105", "a trace of 0 notes");
  group.start_trace();
  expect_thrown([&] { group.start_trace(); }, "CD-105", "running");
  group.exchange(orders_of(engine, 0, 1), {.by = {"customer"}});
  const std::string trace = group.finish_trace();
  EXPECT_THAT(trace, testing::HasSubstr("waits in its ring"));
  EXPECT_THAT(trace, testing::HasSubstr(R"("notes":3,"dropped":0)"));
}

TEST(Groups, RefuseHalfOfWhatSaysWhoTheyAre) {
  const Engine engine(kSmall);
  expect_thrown([&] { join_group(engine, {.rank = 0}); }, "CD-105", "all of rank (0)");
  expect_thrown([&] { join_group(engine, {.rank = 0, .ranks = 2, .meet = "/no/such/folder"}); },
                "CD-105",
                "/no/such/folder");
  const GroupOptions both = {.rank = 0, .ranks = 2, .meet = "/tmp", .control = "127.0.0.1:1"};
  expect_thrown([&] { join_group(engine, both); }, "CD-105", "either meet (\"/tmp\") or control");
}

// The plugin need not be there: what is refused is refused by it, or for want of it.
TEST(Groups, MeetThroughAnAgent) {
  const Engine engine(kSmall);
  const GroupOptions unreachable = {.rank = 0, .ranks = 2, .control = "127.0.0.1:1"};
  ::setenv("CROSSDOCK_PLUGINS", "/nowhere", 1);
  expect_thrown([&] { join_group(engine, unreachable); }, "CD-105", "Install gRPC");
  ::unsetenv("CROSSDOCK_PLUGINS");
}

TEST(Groups, JoinAndGroupOverEndpointsAreThoseOfTheWhole) {
  constexpr int kEndpoints = 3;
  const Engine engine(kSmall);
  const Group group = join_group(engine);
  const std::vector<int> endpoints(kEndpoints, 0);
  ChannelOptions options{.by = {"customer"}, .sources = endpoints, .destinations = endpoints};
  options.segment_bytes = 8192;
  options.slots = 2;
  const RowChannel orders = group.channel(orders_of(engine, 0, kOrders), options);
  options.by = {"id"};
  const RowChannel customers = group.channel(customers_of(engine, 0, kCustomers), options);
  Lines lines;
  Lines groups;
  std::vector<std::thread> threads;
  for (int endpoint = 0; endpoint < kEndpoints; ++endpoint) {
    threads.emplace_back([&, endpoint] {
      const ArrowTable left = exchanged(orders, endpoint, orders_of(engine, endpoint, kEndpoints));
      const ArrowTable right =
          exchanged(customers, endpoint, customers_of(engine, endpoint, kEndpoints));
      lines.add(joined(engine, left, right));
      groups.add(grouped(engine, left));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ArrowTable all = orders_of(engine, 0, 1);
  EXPECT_EQ(lines.sorted(), lines_of(joined(engine, all, customers_of(engine, 0, 1))));
  EXPECT_EQ(groups.sorted(), lines_of(grouped(engine, all)));
}

class GroupsOfProcesses : public testing::Test {
 protected:
  GroupsOfProcesses() {
    std::string name = testing::TempDir() + "/groupXXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~GroupsOfProcesses() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(GroupsOfProcesses, JoinAndGroupAreThoseOfTheWhole) {
  constexpr int kRanks = 2;
  transports::ForkedRanks ranks(kRanks, [this](int rank, transports::ForkedRanks::Meeting&) {
    const Engine engine(kSmall);
    const Group group = join_group(engine, {.rank = rank, .ranks = kRanks, .meet = folder_});
    const ArrowTable left = group.exchange(orders_of(engine, rank, kRanks), {.by = {"customer"}});
    const ArrowTable right = group.exchange(customers_of(engine, rank, kRanks), {.by = {"id"}});
    EXPECT_NE(left.rows(), kOrders);
    const ArrowTable collected = group.collect(joined(engine, left, right), 1);
    const ArrowTable groups = group.broadcast(group.collect(grouped(engine, left)), 0);
    const ArrowTable all = orders_of(engine, 0, 1);
    EXPECT_EQ(lines_of(groups), lines_of(grouped(engine, all)));
    const ArrowTable whole = joined(engine, all, customers_of(engine, 0, 1));
    EXPECT_EQ(lines_of(collected), rank == 1 ? lines_of(whole) : std::vector<std::string>());
    // The same by the operations of the group.
    const ArrowTable local_orders = orders_of(engine, rank, kRanks);
    const ArrowTable local_customers = customers_of(engine, rank, kRanks);
    const ArrowTable mine = group.join(engine, local_orders, local_customers, names_of_orders());
    EXPECT_NE(mine.rows(), whole.rows());
    EXPECT_EQ(lines_of(group.broadcast(group.collect(mine))), lines_of(whole));
    const ArrowTable of_mine = group.group_by(engine, local_orders, amounts_by_customer());
    EXPECT_EQ(lines_of(group.broadcast(group.collect(of_mine))), lines_of(groups));
    JoinOptions none = names_of_orders();
    none.how = "anti_null_aware";
    none.output.pop_back();
    const ArrowTable without =
        group.collect(group.join(engine, local_orders, local_customers, none));
    ArrowArrayStream stream;
    Join(engine, all, customers_of(engine, 0, 1), none).collect(&stream);
    const ArrowTable all_without = ArrowTable::from_stream(engine, &stream);
    EXPECT_GT(all_without.rows(), 0);
    EXPECT_EQ(without.rows(), rank == 0 ? all_without.rows() : 0);
    expect_thrown([&] { (void)group.group_by(engine, local_orders, {}); }, "CD-105", "need a key");
    expect_thrown([&] { (void)group.sort(engine, local_orders, {}); }, "CD-105", "MPI started");
  });
  EXPECT_TRUE(ranks.all_are_well());
}

// The whole of what a share is, in the order of the ranks.
std::vector<std::string> whole_of(const Group& group, const ArrowTable& share) {
  return lines_of(group.broadcast(group.collect(share)));
}

// A process of those that GroupsOfMpi starts: this program, once more. Alone it has nothing to compare with.
TEST(GroupsOfMpi, AmongOthers) {
  if (std::getenv("CROSSDOCK_TEST_OF_RANKS") == nullptr) GTEST_SKIP() << "mpirun starts it";
  const Engine engine(kSmall);
  const Group group = join_group(engine);
  ASSERT_GT(group.size(), 1);
  const ArrowTable all = orders_of(engine, 0, 1);
  const ArrowTable local_orders = orders_of(engine, group.rank(), group.size());
  const ArrowTable names = customers_of(engine, group.rank(), group.size());
  // Names do not fit the words of partitions, amounts do.
  JoinOptions options = names_of_orders();
  for (int outputs = 2; outputs > 0; --outputs, options.output.pop_back()) {
    const ArrowTable mine = group.join(engine, local_orders, names, options);
    EXPECT_NE(mine.rows(), kOrders);
    ArrowArrayStream stream;
    Join(engine, all, customers_of(engine, 0, 1), options).collect(&stream);
    EXPECT_EQ(whole_of(group, mine), lines_of(ArrowTable::from_stream(engine, &stream)));
  }
  EXPECT_EQ(whole_of(group, group.group_by(engine, local_orders, amounts_by_customer())),
            lines_of(grouped(engine, all)));
  SortOptions order;
  order.keys = {{"amount", true}};
  order.output = {{"amount", "amount"}};
  order.limit = kOrders - 10;
  order.offset = 5;
  std::string expected;
  for (int64_t amount = kOrders - 6; amount >= 5; --amount) expected += fmt::format("{} ", amount);
  const ArrowTable mine = group.sort(engine, local_orders, order);
  std::string own_part;
  for (const std::string& amount : arrow_test::cells(*mine.state()->table, 0))
    own_part += amount + " ";
  std::string sorted;
  for (const std::string& part : group.gather(own_part)) sorted += part;
  EXPECT_EQ(sorted, expected);
  order.row_index = "row";
  expect_thrown([&] { (void)group.sort(engine, local_orders, order); }, "CD-105", "row");
}

// Under the mpirun of both, which the plugins beside this program are for.
TEST(GroupsOfMpi, OperationsAreThoseOfTheWhole) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  struct Launch {
    std::string plugin;
    std::string launcher;
    int ranks;
  };
  const std::string open_mpi = "mpirun.openmpi --allow-run-as-root --oversubscribe -n";
  int started = 0;
  for (const Launch& launch : {Launch{"openmpi", open_mpi, 2},
                               Launch{"openmpi", open_mpi, 4},
                               Launch{"mpich", "mpirun.mpich -n", 3}}) {
    const std::string name = launch.launcher.substr(0, launch.launcher.find(' '));
    const auto plugin =
        program.parent_path() / fmt::format("libcrossdock_mpi_{}.so", launch.plugin);
    const bool is_there = std::system(fmt::format("command -v {} >/dev/null", name).c_str()) == 0;
    if (!is_there || !std::filesystem::exists(plugin)) continue;
    ++started;
    // The leak check is of this process alone: MPI keeps a few bytes for good.
    const std::string command = fmt::format(
        "CROSSDOCK_TEST_OF_RANKS=1 ASAN_OPTIONS=detect_leaks=0 timeout 120 {} {} {} "
        "--gtest_brief=1 --gtest_filter=GroupsOfMpi.AmongOthers",
        launch.launcher,
        launch.ranks,
        program.string());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  if (started == 0) GTEST_SKIP() << "no MPI here, or its plugins were not built";
}

TEST_F(GroupsOfProcesses, AllHearWhyOneLeft) {
  transports::ForkedRanks ranks(2, [this](int rank, transports::ForkedRanks::Meeting&) {
    const Engine engine(kSmall);
    const Group group = join_group(engine, {.rank = rank, .ranks = 2, .meet = folder_});
    const ArrowTable rows = orders_of(engine, rank, 2);
    const RowChannel channel = group.channel(rows, {.by = {"customer"}});
    if (rank == 0) {
      channel.close("rank 0 has lost its file");
    } else {
      expect_thrown([&] { exchanged(channel, rank, rows); }, "CD-618", "rank 0 has lost its file");
    }
    const std::string text(rank == 0 ? 1'000'000 : 10, 'x');
    const ArrowTable long_strings = table_of(engine, {{{"t", strings("u", {text})}}});
    expect_thrown([&] { group.exchange(long_strings, {.by = {"t"}}); },
                  rank == 0 ? "CD-105" : "CD-618",
                  rank == 0 ? "the strings of row 0" : "rank 0 left the channel before its end");
  });
  EXPECT_TRUE(ranks.all_are_well());
}

}  // namespace
}  // namespace crossdock
