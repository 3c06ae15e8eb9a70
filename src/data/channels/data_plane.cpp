// Opens the data plane that fits the group.
#include "data/channels/data_plane.hpp"

#include "data/channels/single_plane.hpp"

namespace crossdock {

Result<std::unique_ptr<DataPlane>> DataPlane::open(std::shared_ptr<Memory> memory,
                                                   std::shared_ptr<RankGroup> group,
                                                   DataPlaneSettings) {
  if (group == nullptr || group->size() == 1) {
    return std::unique_ptr<DataPlane>(std::make_unique<SinglePlane>(std::move(memory)));
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "a data plane of {} ranks is wanted, and this version runs in one process",
                    group->size());
}

}  // namespace crossdock
