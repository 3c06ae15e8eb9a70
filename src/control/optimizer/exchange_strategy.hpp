// Which form an exchange takes, with the seconds that each form is predicted to take and the reason in words. Pure
// functions of a plan, sizes and rates (model/transfer_cost.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "control/optimizer/channel_plan.hpp"
#include "model/transfer_cost.hpp"

namespace crossdock::control {

enum class ExchangeMode : uint8_t {
  kStreaming,  // rows leave through bounded rings while they are still being arranged
  kBulk,       // counted and arranged first, then written straight into their place
};
enum class ExchangeLevels : uint8_t {
  kOne,  // every source sends to every destination
  kTwo,  // a source hands rows to a neighbour on its own server, which sends for all of them to one server
};
enum class Distribution : uint8_t { kBroadcast, kRepartition };

std::string_view name_of(ExchangeMode mode);
std::string_view name_of(ExchangeLevels levels);
std::string_view name_of(Distribution distribution);

// What is exchanged. Sources are alike, and so are destinations.
struct ExchangeTask {
  double bytes_per_source = 0;          // rows of one source, spread evenly over the destinations
  double segment_bytes = 16 << 20;      // 16 MB fill an NVLink (MGI, section 2.2)
  double segments_bytes_max = 1 << 30;  // on one device, of all segments that wait to leave
  double receive_bytes_max = 0;         // room for rows at one destination; 0: as much as comes
  bool is_counted = true;  // all rows are there, so they can be counted before one leaves
};

struct ExchangeForm {
  ExchangeMode mode = ExchangeMode::kStreaming;
  ExchangeLevels levels = ExchangeLevels::kOne;
  double message_bytes = 0;  // that leave a device at once, for one next hop
  double seconds = 0;
  bool is_possible = true;
};

struct ExchangeChoice {
  ExchangeForm chosen;
  std::vector<ExchangeForm> considered;  // all, the possible ones first, fastest first
  std::string mode_reason;
  std::string levels_reason;
};

// Error kInvalidArgument: a size that is negative or not a number, or segments of no size.
Result<ExchangeChoice> choose_exchange(const ChannelPlan& plan,
                                       const ExchangeTask& task,
                                       const model::TransferRates& rates);

struct DistributionChoice {
  Distribution chosen = Distribution::kRepartition;
  double broadcast_s = 0;
  double repartition_s = 0;
  std::string reason;
};

// A join of two tables that lie spread over the channel's endpoints: send the build side to everybody, or both sides by
// key. `build_bytes` and `probe_bytes` are of whole tables; `receive_bytes_max` as above. Error: as above.
Result<DistributionChoice> choose_distribution(const ChannelPlan& plan,
                                               double build_bytes,
                                               double probe_bytes,
                                               double receive_bytes_max);

}  // namespace crossdock::control
