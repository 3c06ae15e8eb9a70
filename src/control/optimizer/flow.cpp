// Layered breadth-first searches: a layer per number of relays.
#include "control/optimizer/flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace crossdock::control {

FlowSolver::FlowSolver(const topology::ServerShape& shape, Section section, int relays_max)
    : shape_(shape), section_(section), layers_(static_cast<uint32_t>(relays_max) + 1) {
  const auto vertices = static_cast<size_t>(shape.vertex_count());
  out_begin_.assign(vertices + 1, 0);
  in_begin_.assign(vertices + 1, 0);
  for (const topology::Edge& edge : shape.edges()) {
    if (!leads_on(edge)) continue;
    const auto capacity = std::max<int64_t>(1, std::llround(edge.bytes_per_s));
    arcs_.push_back({edge.from, edge.to, capacity, 0});
    ++out_begin_[edge.from + 1];
    ++in_begin_[edge.to + 1];
  }
  for (size_t v = 0; v < vertices; ++v) {
    out_begin_[v + 1] += out_begin_[v];
    in_begin_[v + 1] += in_begin_[v];
  }
  in_arcs_.resize(arcs_.size());
  std::vector<uint32_t> next = in_begin_;
  for (uint32_t arc = 0; arc < arcs_.size(); ++arc) in_arcs_[next[arcs_[arc].to]++] = arc;
  visits_.resize(vertices * layers_);
  roles_.resize(vertices);
}

bool FlowSolver::leads_on(const topology::Edge& edge) const {
  const topology::VertexKind from = shape_.kind(edge.from);
  const topology::VertexKind to = shape_.kind(edge.to);
  switch (section_) {
    case Section::kInside:
      return from != topology::VertexKind::kNic && to != topology::VertexKind::kNic &&
             from != topology::VertexKind::kNetwork && to != topology::VertexKind::kNetwork;
    case Section::kToNetwork:
      return from != topology::VertexKind::kNetwork &&
             (from != topology::VertexKind::kNic || to == topology::VertexKind::kNetwork);
    case Section::kFromNetwork:
      return to != topology::VertexKind::kNetwork &&
             (to != topology::VertexKind::kNic || from == topology::VertexKind::kNetwork);
  }
  return false;
}

int64_t FlowSolver::room(Step step, Search search) const {
  const Arc& arc = arcs_[step.arc];
  return step.undoes || search == Search::kFlowing ? arc.flow : arc.capacity - arc.flow;
}

void FlowSolver::try_step(uint32_t parent, Step step, Search search) {
  const int64_t free = room(step, search);
  if (free <= 0) return;
  const Arc& arc = arcs_[step.arc];
  const topology::VertexIndex to = step.undoes ? arc.from : arc.to;
  const Role role = roles_[to];
  if (role == Role::kClosed) return;
  uint32_t relays = parent % layers_;
  if (role == Role::kBetween && topology::is_managed(shape_.kind(to)) && ++relays == layers_)
    return;

  Visit visit{parent, step, visits_[parent].level + 1, std::min(visits_[parent].width, free)};
  const uint32_t first = static_cast<uint32_t>(to) * layers_;
  for (uint32_t fewer = 0; fewer <= relays; ++fewer) {
    const Visit& earlier = visits_[first + fewer];
    if (earlier.level < 0) continue;
    if (earlier.level < visit.level || earlier.width >= visit.width) return;
  }
  Visit& place = visits_[first + relays];
  if (place.level < 0 && role == Role::kBetween) queue_.push_back(first + relays);
  if (role == Role::kSink) sink_level_ = visit.level;
  place = visit;
}

uint32_t FlowSolver::find(Search search) {
  std::fill(visits_.begin(), visits_.end(), Visit{});
  queue_.clear();
  sink_level_ = -1;
  for (const topology::VertexIndex source : sources_) {
    const uint32_t start = static_cast<uint32_t>(source) * layers_;
    visits_[start].level = 0;
    visits_[start].width = std::numeric_limits<int64_t>::max();
    queue_.push_back(start);
  }
  for (size_t head = 0; head < queue_.size(); ++head) {
    const uint32_t at = queue_[head];
    if (sink_level_ >= 0 && visits_[at].level >= sink_level_) break;
    const uint32_t vertex = at / layers_;
    for (uint32_t arc = out_begin_[vertex]; arc < out_begin_[vertex + 1]; ++arc) {
      try_step(at, {arc, false}, search);
    }
    if (search != Search::kResidual) continue;
    for (uint32_t i = in_begin_[vertex]; i < in_begin_[vertex + 1]; ++i) {
      try_step(at, {in_arcs_[i], true}, search);
    }
  }
  return sink_level_ < 0 ? kNone : best_arrival();
}

uint32_t FlowSolver::best_arrival() const {
  uint32_t best = kNone;
  for (const topology::VertexIndex sink : sinks_) {
    for (uint32_t relays = 0; relays < layers_; ++relays) {
      const uint32_t at = static_cast<uint32_t>(sink) * layers_ + relays;
      if (visits_[at].level < 0) continue;
      if (best == kNone || visits_[at].width > visits_[best].width) best = at;
    }
  }
  return best;
}

FlowPath FlowSolver::path_to(uint32_t arrival) const {
  FlowPath path;
  path.flow_bytes_per_s = static_cast<double>(visits_[arrival].width);
  path.vertices.reserve(static_cast<size_t>(visits_[arrival].level) + 1);
  for (uint32_t at = arrival; at != kNone; at = visits_[at].parent) {
    path.vertices.push_back(static_cast<topology::VertexIndex>(at / layers_));
  }
  std::reverse(path.vertices.begin(), path.vertices.end());
  return path;
}

void FlowSolver::augment_while(Search search) {
  for (uint32_t arrival = find(search); arrival != kNone; arrival = find(search)) {
    const int64_t width = visits_[arrival].width;
    for (uint32_t at = arrival; visits_[at].parent != kNone; at = visits_[at].parent) {
      const Step step = visits_[at].step;
      arcs_[step.arc].flow += step.undoes ? -width : width;
      has_undone_ |= step.undoes;
    }
    keep(path_to(arrival));
  }
}

// Reads paths off the flow, shortest first. What can be carried only over too many relays is taken back.
void FlowSolver::split_into_paths() {
  flow_paths_.clear();
  std::vector<int64_t> carried(arcs_.size(), 0);
  for (uint32_t arrival = find(Search::kFlowing); arrival != kNone;
       arrival = find(Search::kFlowing)) {
    const int64_t width = visits_[arrival].width;
    for (uint32_t at = arrival; visits_[at].parent != kNone; at = visits_[at].parent) {
      arcs_[visits_[at].step.arc].flow -= width;
      carried[visits_[at].step.arc] += width;
    }
    keep(path_to(arrival));
  }
  for (size_t arc = 0; arc < arcs_.size(); ++arc) arcs_[arc].flow = carried[arc];
}

void FlowSolver::keep(FlowPath path) {
  for (FlowPath& known : flow_paths_) {
    if (known.vertices != path.vertices) continue;
    known.flow_bytes_per_s += path.flow_bytes_per_s;
    return;
  }
  flow_paths_.push_back(std::move(path));
}

std::vector<FlowPath> FlowSolver::solve(std::span<const topology::VertexIndex> sources,
                                        std::span<const topology::VertexIndex> sinks) {
  sources_ = sources;
  sinks_ = sinks;
  for (size_t v = 0; v < roles_.size(); ++v) {
    const bool is_drive =
        shape_.kind(static_cast<topology::VertexIndex>(v)) == topology::VertexKind::kDrive;
    roles_[v] = is_drive ? Role::kClosed : Role::kBetween;
  }
  for (const topology::VertexIndex sink : sinks) roles_[sink] = Role::kSink;
  for (const topology::VertexIndex source : sources) {
    CD_CHECK(roles_[source] != Role::kSink, "vertex {} is source and sink", source);
    roles_[source] = Role::kClosed;
  }
  for (Arc& arc : arcs_) arc.flow = 0;
  has_undone_ = false;
  flow_paths_.clear();

  augment_while(Search::kFree);
  augment_while(Search::kResidual);
  if (has_undone_) {
    split_into_paths();
    augment_while(Search::kFree);
  }
  std::stable_sort(
      flow_paths_.begin(), flow_paths_.end(), [](const FlowPath& a, const FlowPath& b) {
        return a.vertices.size() < b.vertices.size();
      });
  return std::move(flow_paths_);
}

}  // namespace crossdock::control
