// From a plan to the parts that agents get.
//
// The outline is one object for all agents of a channel; tables are one object for all servers that take part alike and
// call their vertices alike. Tables of the last kPlansKept plans are kept, so a further channel over the same endpoints
// makes none. Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "control/controller/records.hpp"
#include "control/optimizer/channel_plan.hpp"
#include "control/protocol/messages.hpp"

namespace crossdock::control {

// An endpoint of the channel that is planned, and where it is in the plan's graph.
struct PlacedEndpoint {
  EndpointId endpoint;
  topology::Location location;
};

class PartMaker {
 public:
  using PlanPtr = std::shared_ptr<const ChannelPlan>;
  using Parts = std::vector<std::shared_ptr<const ServerPart>>;

  // One part per server of the plan, in its order. `outline` names channel, request and rows; the rest is filled in.
  // O(endpoints x log servers), and O(tables) for a plan that is not known.
  Parts make(const PlanPtr& plan,
             ChannelOutline outline,
             const std::vector<PlacedEndpoint>& sources,
             const std::vector<PlacedEndpoint>& destinations);

 private:
  static constexpr size_t kPlansKept = 16;
  using TablesPtr = std::shared_ptr<const std::vector<NamedTable>>;

  struct PlannedTables {
    PlanPtr plan;
    std::vector<TablesPtr> tables;  // per server of the plan
  };
  const std::vector<TablesPtr>& tables_of(const PlanPtr& plan);

  std::vector<PlannedTables> known_;  // the most recently used last
};

}  // namespace crossdock::control
