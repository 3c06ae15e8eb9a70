#include "workload/join_workload.hpp"

#include <cmath>

namespace crossdock::workload {
namespace {

constexpr int64_t kRowsMax = int64_t{1} << 48;
constexpr double kThetaMax = 8;
// 2^64 by the golden ratio: neighbours land far apart.
constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;

Status check(const JoinWorkloadSpec& spec) {
  for (const int64_t rows : {spec.inner_rows, spec.outer_rows}) {
    if (rows < 1 || rows > kRowsMax) {
      return make_error(ErrorCode::kInvalidArgument,
                        "a side of a workload has 1 to {} rows, not {}",
                        kRowsMax,
                        rows);
    }
  }
  if (!(spec.selectivity >= 0 && spec.selectivity <= 1)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the selectivity of a workload is a share from 0 to 1, not {}",
                      spec.selectivity);
  }
  if (!(spec.zipf_theta >= 0 && spec.zipf_theta <= kThetaMax)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the skew of a workload (Zipf's theta) is 0 to {}, not {}",
                      kThetaMax,
                      spec.zipf_theta);
  }
  return {};
}

// Evenly from [0, 1), by the upper 53 bits.
double drawn(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

}  // namespace

Result<JoinWorkload> JoinWorkload::make(const JoinWorkloadSpec& spec) {
  CD_TRY(check(spec));
  return JoinWorkload(spec);
}

JoinWorkload::JoinWorkload(const JoinWorkloadSpec& spec)
    : spec_(spec),
      matching_(static_cast<int64_t>(
          std::llround(spec.selectivity * static_cast<double>(spec.outer_rows)))),
      inner_(static_cast<uint64_t>(spec.inner_rows), mixed(spec.seed)),
      outer_(static_cast<uint64_t>(spec.outer_rows), mixed(spec.seed + 1)),
      frequent_(static_cast<uint64_t>(spec.inner_rows), mixed(spec.seed + 2)),
      multiplier_(spec.is_sparse ? kSpread : 1) {
  if (spec.zipf_theta > 0) zipf_.emplace(spec.inner_rows, spec.zipf_theta);
}

void JoinWorkload::inner_keys(int64_t begin, int64_t rows, int64_t* keys) const {
  for (int64_t i = 0; i < rows; ++i) keys[i] = key_of(inner_(static_cast<uint64_t>(begin + i)));
}

uint64_t JoinWorkload::partner_of(uint64_t row, uint64_t place) const {
  if (!zipf_.has_value()) return place % static_cast<uint64_t>(spec_.inner_rows);
  const double number = drawn(mixed(row * kSpread + mixed(spec_.seed + 3)));
  return frequent_(static_cast<uint64_t>(zipf_->rank_of(number)));
}

// A row's place in a random order says whether it has a partner, and which. Ids from inner_rows on have none.
void JoinWorkload::outer_keys(int64_t begin, int64_t rows, int64_t* keys) const {
  const auto inner_rows = static_cast<uint64_t>(spec_.inner_rows);
  const auto matching = static_cast<uint64_t>(matching_);
  for (int64_t i = 0; i < rows; ++i) {
    const auto row = static_cast<uint64_t>(begin + i);
    const uint64_t place = outer_(row);
    keys[i] = key_of(place < matching ? partner_of(row, place) : inner_rows + (place - matching));
  }
}

}  // namespace crossdock::workload
