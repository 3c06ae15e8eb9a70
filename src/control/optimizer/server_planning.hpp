// Plans for one server at a time, kept per structure: what a channel is on a server hangs on the structure, on which of
// its vertices are endpoints, and on whether other servers take part, and on nothing else.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "control/optimizer/channel_plan.hpp"
#include "control/optimizer/structure_paths.hpp"

namespace crossdock::control {

// Not thread-safe; the plans are immutable and may be shared.
class PlannedStructure {
 public:
  PlannedStructure(std::shared_ptr<const topology::ServerShape> shape,
                   int relays_max,
                   int plans_kept);

  struct Part {
    std::vector<topology::VertexIndex> sources;       // ascending
    std::vector<topology::VertexIndex> destinations;  // ascending
    bool sends_out = false;
    bool takes_in = false;

    auto operator<=>(const Part&) const = default;
  };
  std::shared_ptr<const ServerPlan> plan(const Part& part);

  const std::shared_ptr<const topology::ServerShape>& shape() const { return paths_.shape(); }
  int plan_count() const { return static_cast<int>(plans_.size()); }
  int64_t path_bytes() const { return paths_.memory_bytes(); }

 private:
  void plan_inside(const Part& part, ServerPlan& plan);
  void plan_out(const Part& part, ServerPlan& plan);
  void plan_in(const Part& part, ServerPlan& plan);

  StructurePaths paths_;
  int plans_kept_;
  std::map<Part, std::shared_ptr<const ServerPlan>> plans_;
};

// `base` and those of `more` that it lacks, without flow; `base` itself if it lacks none.
SectionPathsPtr united(const topology::ServerShape& shape,
                       const SectionPathsPtr& base,
                       const std::vector<const FlowPath*>& more);

}  // namespace crossdock::control
