// Orders of all processes, grouped by customer where they land: the group-by of MGI's figure 3 (Wu et al., PVLDB
// 19(9), 2026), with a thread for each of its GPUs. The same in Python: groupby.py.
#include <cstdio>
#include <future>
#include <map>

#include <crossdock/channel.hpp>

#include "integer_rows.hpp"

namespace {

constexpr int64_t kOrders = 1'000'000;
constexpr int64_t kBatchRows = 10'000;
constexpr int64_t kCustomers = 5;
constexpr int kThreads = 2;  // of each process; every one is a source and a destination

struct Total {
  int64_t orders = 0;
  int64_t amount = 0;
  bool operator==(const Total&) const = default;
};
using Totals = std::map<int64_t, Total>;  // by customer

// Order number `order` of all.
int64_t customer_of(int64_t order) { return order % kCustomers; }
int64_t amount_of(int64_t order) { return order % 97; }

void aggregate(const crossdock::ReceivedRows& rows, Totals& totals) {
  const ReadRows orders(rows);
  const std::span<const int64_t> customers = orders.column(0);
  const std::span<const int64_t> amounts = orders.column(1);
  for (size_t row = 0; row < customers.size(); ++row) {
    Total& total = totals[customers[row]];
    ++total.orders;
    total.amount += amounts[row];
  }
}

// All of one thread. It has every `endpoints`-th order, and in the end all orders of its customers.
Totals group_by(const crossdock::RowChannel& channel, int endpoint, int64_t endpoints) {
  crossdock::RowSender sender = channel.open_sender(endpoint);
  crossdock::RowReceiver receiver = channel.open_receiver(endpoint);
  Totals totals;
  crossdock::ReceivedRows rows;
  // What has come meanwhile. It does not wait, and so no other thread waits for this one while it has no room to send.
  const auto take = [&] {
    while (receiver.recv(rows, 0)) aggregate(rows, totals);
  };

  int64_t order = endpoint;
  while (order < kOrders) {
    std::vector<int64_t> customers;
    std::vector<int64_t> amounts;
    for (int64_t row = 0; row < kBatchRows && order < kOrders; ++row, order += endpoints) {
      customers.push_back(customer_of(order));
      amounts.push_back(amount_of(order));
    }
    ArrowArray batch = integer_rows({std::move(customers), std::move(amounts)});
    sender.send(&batch, {.drain = take});
    take();
  }
  sender.flush(take);
  while (receiver.recv(rows)) aggregate(rows, totals);  // to the end
  return totals;
}

// The totals of all processes, in rank 0.
Totals collect(const crossdock::Group& group, const Totals& mine) {
  const IntegerSchema schema({"customer", "orders", "amount"});
  const crossdock::RowChannel channel = group.channel(schema.get(), {.destinations = {0}});
  std::vector<std::vector<int64_t>> columns(3);
  for (const auto& [customer, total] : mine) {
    columns[0].push_back(customer);
    columns[1].push_back(total.orders);
    columns[2].push_back(total.amount);
  }
  crossdock::RowSender sender = channel.open_sender(group.rank());
  ArrowArray batch = integer_rows(std::move(columns));
  sender.send(&batch, {.to = 0});
  sender.flush();  // its rows fit the channel, so it needs no drain
  Totals all;
  if (group.rank() != 0) return all;
  crossdock::RowReceiver receiver = channel.open_receiver(0);
  crossdock::ReceivedRows rows;
  while (receiver.recv(rows)) {
    const ReadRows read(rows);
    for (size_t row = 0; row < read.column(0).size(); ++row) {
      all.emplace(read.column(0)[row], Total{read.column(1)[row], read.column(2)[row]});
    }
  }
  return all;
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), 1, ',');
  }
  return text;
}

// What the group-by must find.
Totals expected() {
  Totals totals;
  for (int64_t order = 0; order < kOrders; ++order) {
    Total& total = totals[customer_of(order)];
    ++total.orders;
    total.amount += amount_of(order);
  }
  return totals;
}

}  // namespace

int main() {
  try {
    const crossdock::Engine engine;
    const crossdock::Group group = crossdock::join_group(engine);
    std::vector<int> endpoints;  // the rank of each
    for (int rank = 0; rank < group.size(); ++rank)
      endpoints.insert(endpoints.end(), kThreads, rank);

    const IntegerSchema schema({"customer", "amount"});
    const crossdock::RowChannel channel = group.channel(
        schema.get(), {.by = {"customer"}, .sources = endpoints, .destinations = endpoints});
    std::vector<std::future<Totals>> threads;
    for (const int endpoint : channel.own_sources()) {
      threads.push_back(std::async(
          std::launch::async, group_by, channel, endpoint, static_cast<int64_t>(endpoints.size())));
    }
    Totals mine;
    for (auto& thread : threads) mine.merge(thread.get());  // no customer is in two of them

    const Totals all = collect(group, mine);
    if (group.rank() != 0) return 0;
    for (const auto& [customer, total] : all) {
      std::printf("customer %lld   %s orders   %s\n",
                  static_cast<long long>(customer),
                  with_commas(total.orders).c_str(),
                  with_commas(total.amount).c_str());
    }
    if (all == expected()) return 0;
    std::fputs("this is wrong: orders were lost, doubled or changed\n", stderr);
  } catch (const crossdock::Exception& error) {
    std::fprintf(stderr, "%s [%s]: %s\n", error.kind().c_str(), error.code().c_str(), error.what());
  }
  return 1;
}
