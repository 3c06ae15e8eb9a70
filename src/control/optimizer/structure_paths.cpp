#include "control/optimizer/structure_paths.hpp"

#include <algorithm>
#include <utility>

namespace crossdock::control {

void SectionPaths::add(const topology::ServerShape& shape, const FlowPath& path, double flow) {
  paths.add(shape, path.vertices);
  flow_bytes_per_s.push_back(flow);
}

bool SectionPaths::has(std::span<const topology::VertexIndex> vertices) const {
  for (int i = 0; i < paths.size(); ++i) {
    if (std::ranges::equal(paths[i].vertices, vertices)) return true;
  }
  return false;
}

int64_t SectionPaths::memory_bytes() const {
  const auto flows = static_cast<int64_t>(flow_bytes_per_s.capacity() * sizeof(double));
  return static_cast<int64_t>(sizeof *this) + flows + paths.memory_bytes();
}

StructurePaths::StructurePaths(std::shared_ptr<const topology::ServerShape> shape, int relays_max)
    : shape_(std::move(shape)), relays_max_(relays_max) {}

FlowSolver& StructurePaths::solver(Section section) {
  std::optional<FlowSolver>& place = solvers_[static_cast<size_t>(section)];
  if (!place) place.emplace(*shape_, section, relays_max_);
  return *place;
}

std::vector<FlowPath> StructurePaths::joint(Section section,
                                            std::span<const topology::VertexIndex> from,
                                            std::span<const topology::VertexIndex> to) {
  return solver(section).solve(from, to);
}

SectionPathsPtr StructurePaths::find(Section section,
                                     topology::VertexIndex from,
                                     topology::VertexIndex to) {
  SectionPathsPtr& place = paths_of_[static_cast<uint32_t>(from) << 16 | to];
  if (place) return place;
  auto paths = std::make_shared<SectionPaths>();
  for (const FlowPath& path : joint(section, std::span(&from, 1), std::span(&to, 1))) {
    paths->add(*shape_, path, path.flow_bytes_per_s);
  }
  place = std::move(paths);
  return place;
}

SectionPathsPtr StructurePaths::inside(topology::VertexIndex from, topology::VertexIndex to) {
  return find(Section::kInside, from, to);
}

SectionPathsPtr StructurePaths::to_network(topology::VertexIndex from) {
  const std::optional<topology::VertexIndex> network = shape_->network();
  if (!network) return std::make_shared<SectionPaths>();
  return find(Section::kToNetwork, from, *network);
}

SectionPathsPtr StructurePaths::from_network(topology::VertexIndex to) {
  const std::optional<topology::VertexIndex> network = shape_->network();
  if (!network) return std::make_shared<SectionPaths>();
  return find(Section::kFromNetwork, *network, to);
}

int64_t StructurePaths::memory_bytes() const {
  auto bytes = static_cast<int64_t>(sizeof *this);
  for (const auto& [ends, paths] : paths_of_)
    bytes += 64 + paths->memory_bytes();  // 64: a node of it
  return bytes;
}

}  // namespace crossdock::control
