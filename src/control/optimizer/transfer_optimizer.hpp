// The transfer optimizer: from a channel's endpoints to a plan (MGI, section 4.3, Figure 6).
//
// Work is shared three ways. Paths are found once per structure and pair of ends, and kept while the graph changes, as
// long as some server still has the structure. Servers of one structure with the same endpoints share a ServerPlan. And
// a channel over the endpoints of one that is still kept gets the same plan. So the cost of a first channel is that of
// its different servers plus a pass over the endpoints, and that of a second one is a comparison.
//
// Beyond the paper: servers share by structure; flows of all endpoints of a server together are looked at too. The
// paper takes pairs alone, and two GPUs that each fill the same NIC by themselves would leave the next NIC idle. A path
// that only the joint flow needs is added to those of its pair, so a channel's paths carry what its servers can carry.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "control/optimizer/channel_plan.hpp"
#include "control/optimizer/server_planning.hpp"
#include "topology/graph.hpp"

namespace crossdock::control {

struct OptimizerLimits {
  // Managed vertices between the ends of a section: between two vertices of a server, or between one and the network.
  int relays_max = 2;
  int endpoints_max = 65'536;  // of a channel, sources and destinations apart
  int plans_kept = 16;         // the least recently used one is forgotten first
  // Per structure; one more, and those of the structure are forgotten.
  int server_plans_kept = 1'024;
};

// What is kept, for tests and `status`.
struct OptimizerContents {
  int structures = 0;
  int server_plans = 0;
  int plans = 0;
  int64_t path_bytes = 0;
};

// Thread-safe; one plan is made at a time.
class TransferOptimizer {
 public:
  explicit TransferOptimizer(std::shared_ptr<const topology::InfrastructureGraph> graph,
                             OptimizerLimits limits = {});

  // From now on plans are for `graph`. Plans handed out stay as they are. Paths of structures that remain are kept.
  void set_graph(std::shared_ptr<const topology::InfrastructureGraph> graph);

  // Plans a channel from every source to every destination; an endpoint may be both. Order does not matter.
  // Errors: kInvalidArgument: no source or no destination, too many, one that is named twice, that does not exist or
  // that is not managed. kNoPath: a pair that nothing connects within the limit of relays.
  Result<std::shared_ptr<const ChannelPlan>> plan(std::span<const topology::Location> sources,
                                                  std::span<const topology::Location> destinations);

  OptimizerContents contents() const;

 private:
  using PlanPtr = std::shared_ptr<const ChannelPlan>;

  PlanPtr find_plan(std::span<const topology::Location> sources,
                    std::span<const topology::Location> destinations);
  Status check_endpoints(std::span<const topology::Location> sorted, const char* what) const;
  Result<PlanPtr> make_plan(std::vector<topology::Location> sources,
                            std::vector<topology::Location> destinations);

  mutable std::mutex mutex_;
  const OptimizerLimits limits_;
  std::shared_ptr<const topology::InfrastructureGraph> graph_;
  std::vector<std::shared_ptr<PlannedStructure>>
      structures_;              // per shape; null where another stands for it
  std::vector<PlanPtr> plans_;  // the most recently used last
};

}  // namespace crossdock::control
