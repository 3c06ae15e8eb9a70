// Opens the data plane that fits the group.
#include "data/channels/data_plane.hpp"

#include "data/channels/group_plane.hpp"
#include "data/channels/single_plane.hpp"

namespace crossdock {

Result<std::unique_ptr<DataPlane>> DataPlane::open(std::shared_ptr<Memory> memory,
                                                   std::shared_ptr<RankGroup> group,
                                                   DataPlaneSettings settings) {
  if (group == nullptr || group->size() == 1) {
    return std::unique_ptr<DataPlane>(std::make_unique<SinglePlane>(std::move(memory)));
  }
  return GroupPlane::open(std::move(memory), std::move(group), std::move(settings));
}

}  // namespace crossdock
