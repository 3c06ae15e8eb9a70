// The rates of the cost models: which strategy an operation takes, and what it predicts, follow from them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace crossdock {

// Name and value, such as {"join.scatter", 4.5}: nanoseconds for a row, a byte or an event of one core; "..._share" are
// shares.
using CostRates = std::vector<std::pair<std::string, double>>;

CostRates built_in_cost_rates();
CostRates cost_rates_in_use();

// Of this process from now on, for operations that are planned later; rates that are not named become built-in ones.
// Throws CD-105 for an unknown name, and for a value that is no positive number; then nothing changes. Thread-safe.
void use_cost_rates(const CostRates& rates);

// Nanoseconds until `threads` threads have read one word each from a random place of `bytes` bytes that they share,
// with as many reads under way as a core can have. Allocates that much; some 10 ms. Throws CD-105 for fewer than 4,096
// bytes.
double random_read_ns(int64_t bytes, int threads);

// What an exchange of rows among ranks should cost, in seconds by phase, with the rates in use.
struct ExchangePrediction {
  double rows = 0;  // of all ranks together
  double row_bytes = 16;
  double wire_bytes = 16;  // of a row on its way
  int ranks = 1;
  int ranks_per_node = 1;
  int cores_per_node = 1;
  double node_bytes_per_s = 0;   // of a node's links, one direction; 0 = all ranks are on one node
  double busiest_share = 0;      // of the rows, at the rank that gets most; 0 = all get the same
  bool into_partitions = false;  // of a join, as two words of a row
  bool by_order = false;         // of a sort
};
std::vector<std::pair<std::string, double>> predict_exchange(const ExchangePrediction& exchange);

}  // namespace crossdock
