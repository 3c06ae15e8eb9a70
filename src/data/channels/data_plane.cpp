#include "data/channels/data_plane.hpp"

#include "data/channels/group_plane.hpp"
#include "data/channels/single_plane.hpp"

namespace crossdock::channels {

Result<std::unique_ptr<DataPlane>> DataPlane::open(std::shared_ptr<Memory> memory,
                                                   std::shared_ptr<ranks::RankGroup> group,
                                                   DataPlaneSettings settings) {
  constexpr double kLongestS = 3e7;  // about a year, which the clock can count
  if (!(settings.open_within_s > 0 && settings.open_within_s <= kLongestS)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "open_within_s is {}; it is a number of seconds above 0 and at most {}",
                      settings.open_within_s,
                      kLongestS);
  }
  if (group == nullptr || group->size() == 1) {
    return std::unique_ptr<DataPlane>(std::make_unique<SinglePlane>(std::move(memory)));
  }
  return GroupPlane::open(std::move(memory), std::move(group), std::move(settings));
}

}  // namespace crossdock::channels
