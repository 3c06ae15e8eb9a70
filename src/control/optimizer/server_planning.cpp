// Paths of pairs, and what the flow of all of them together needs beside.
#include "control/optimizer/server_planning.hpp"

#include <algorithm>

namespace crossdock::control {
namespace {

double total(const std::vector<FlowPath>& flow) {
  double sum = 0;
  for (const FlowPath& path : flow) sum += path.flow_bytes_per_s;
  return sum;
}

// Those that begin (or end) at `vertex`.
std::vector<const FlowPath*> starting_at(const std::vector<FlowPath>& flow,
                                         topology::VertexIndex vertex) {
  std::vector<const FlowPath*> leaving;
  for (const FlowPath& path : flow) {
    if (path.vertices.front() == vertex) leaving.push_back(&path);
  }
  return leaving;
}

std::vector<const FlowPath*> ending_at(const std::vector<FlowPath>& flow,
                                       topology::VertexIndex vertex) {
  std::vector<const FlowPath*> arriving;
  for (const FlowPath& path : flow) {
    if (path.vertices.back() == vertex) arriving.push_back(&path);
  }
  return arriving;
}

bool are_apart(const std::vector<topology::VertexIndex>& a,
               const std::vector<topology::VertexIndex>& b) {
  return std::ranges::none_of(
      a, [&](topology::VertexIndex v) { return std::ranges::binary_search(b, v); });
}

}  // namespace

SectionPathsPtr united(const topology::ServerShape& shape,
                       const SectionPathsPtr& base,
                       const std::vector<const FlowPath*>& more) {
  std::shared_ptr<SectionPaths> larger;
  for (const FlowPath* path : more) {
    if (base->has(path->vertices)) continue;
    if (!larger) larger = std::make_shared<SectionPaths>(*base);
    larger->add(shape, *path, 0);
  }
  return larger ? larger : base;
}

PlannedStructure::PlannedStructure(std::shared_ptr<const topology::ServerShape> shape,
                                   int relays_max,
                                   int plans_kept)
    : paths_(std::move(shape), relays_max), plans_kept_(plans_kept) {}

void PlannedStructure::plan_inside(const Part& part, ServerPlan& plan) {
  plan.inside.reserve(part.sources.size() * part.destinations.size());
  // Where an endpoint is source and destination, all of its sending could end at itself: a joint flow says nothing.
  const bool is_joint = part.sources.size() * part.destinations.size() > 1 &&
                        are_apart(part.sources, part.destinations);
  std::vector<FlowPath> flow;
  if (is_joint) flow = paths_.joint(Section::kInside, part.sources, part.destinations);
  for (const topology::VertexIndex from : part.sources) {
    const std::vector<const FlowPath*> started = starting_at(flow, from);
    for (const topology::VertexIndex to : part.destinations) {
      if (from == to) {
        plan.inside.push_back(nullptr);
        continue;
      }
      std::vector<const FlowPath*> between = started;
      std::erase_if(between, [to](const FlowPath* path) { return path->vertices.back() != to; });
      plan.inside.push_back(united(*shape(), paths_.inside(from, to), between));
    }
  }
}

void PlannedStructure::plan_out(const Part& part, ServerPlan& plan) {
  const std::optional<topology::VertexIndex> network = shape()->network();
  std::vector<FlowPath> flow;
  if (network) flow = paths_.joint(Section::kToNetwork, part.sources, std::span(&*network, 1));
  plan.out_bytes_per_s = total(flow);
  for (const topology::VertexIndex from : part.sources) {
    plan.to_network.push_back(united(*shape(), paths_.to_network(from), starting_at(flow, from)));
  }
}

void PlannedStructure::plan_in(const Part& part, ServerPlan& plan) {
  const std::optional<topology::VertexIndex> network = shape()->network();
  std::vector<FlowPath> flow;
  if (network) {
    flow = paths_.joint(Section::kFromNetwork, std::span(&*network, 1), part.destinations);
  }
  plan.in_bytes_per_s = total(flow);
  for (const topology::VertexIndex to : part.destinations) {
    plan.from_network.push_back(united(*shape(), paths_.from_network(to), ending_at(flow, to)));
  }
}

std::shared_ptr<const ServerPlan> PlannedStructure::plan(const Part& part) {
  const auto known = plans_.find(part);
  if (known != plans_.end()) return known->second;
  auto plan = std::make_shared<ServerPlan>();
  plan->shape = shape();
  plan->sources = part.sources;
  plan->destinations = part.destinations;
  plan->sends_out = part.sends_out;
  plan->takes_in = part.takes_in;
  plan_inside(part, *plan);
  if (part.sends_out) plan_out(part, *plan);
  if (part.takes_in) plan_in(part, *plan);
  if (plan_count() >= plans_kept_) plans_.clear();
  plans_.emplace(part, plan);
  return plan;
}

}  // namespace crossdock::control
