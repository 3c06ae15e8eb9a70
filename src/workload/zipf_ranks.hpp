// Draws from Zipf's law: rank k of n with a probability in proportion to 1 / k^theta.
#pragma once

#include <cstdint>
#include <vector>

namespace crossdock::workload {

// The first 65,536 ranks have their exact share; those behind them share what is left as the integral of the law says,
// which differs by less than one part in a million of a rank's share. Immutable, 512 KiB.
class ZipfRanks {
 public:
  // n is at least 1, theta not negative.
  ZipfRanks(int64_t n, double theta);

  // The rank, 0 being the most frequent, of a number drawn evenly from [0, 1).
  int64_t rank_of(double drawn) const;

  double share_of(int64_t rank) const;

 private:
  double integral(double to) const;  // of x^-theta from the end of the head

  int64_t n_;
  double theta_;
  std::vector<double> head_;  // sums of the first ranks' weights
  double total_ = 0;
};

}  // namespace crossdock::workload
