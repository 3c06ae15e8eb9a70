// Head by search, tail by inversion.
#include "workload/zipf_ranks.hpp"

#include <algorithm>
#include <cmath>

namespace crossdock::workload {
namespace {

constexpr int64_t kHeadRanks = int64_t{1} << 16;

}  // namespace

ZipfRanks::ZipfRanks(int64_t n, double theta) : n_(n), theta_(theta) {
  head_.reserve(static_cast<size_t>(std::min(n, kHeadRanks)));
  double sum = 0;
  for (int64_t rank = 1; rank <= std::min(n, kHeadRanks); ++rank) {
    sum += std::pow(static_cast<double>(rank), -theta);
    head_.push_back(sum);
  }
  total_ = sum + (n > kHeadRanks ? integral(static_cast<double>(n) + 0.5) : 0);
}

// Half a rank to either side of the whole numbers stands for them (the midpoint rule).
double ZipfRanks::integral(double to) const {
  const double from = static_cast<double>(head_.size()) + 0.5;
  if (theta_ == 1) return std::log(to / from);
  return (std::pow(to, 1 - theta_) - std::pow(from, 1 - theta_)) / (1 - theta_);
}

int64_t ZipfRanks::rank_of(double drawn) const {
  const double share = drawn * total_;
  if (share < head_.back() || n_ <= kHeadRanks) {
    const auto place = std::upper_bound(head_.begin(), head_.end(), share);
    return std::min<int64_t>(place - head_.begin(), static_cast<int64_t>(head_.size()) - 1);
  }
  const double from = static_cast<double>(head_.size()) + 0.5;
  const double over = share - head_.back();
  const double x = theta_ == 1
                     ? from * std::exp(over)
                     : std::pow(over * (1 - theta_) + std::pow(from, 1 - theta_), 1 / (1 - theta_));
  return std::clamp(static_cast<int64_t>(x + 0.5) - 1, static_cast<int64_t>(head_.size()), n_ - 1);
}

double ZipfRanks::share_of(int64_t rank) const {
  return std::pow(static_cast<double>(rank + 1), -theta_) / total_;
}

}  // namespace crossdock::workload
