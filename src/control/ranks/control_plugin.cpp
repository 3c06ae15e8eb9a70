// The symbols by which the plugin is known and used.
#include "control/ranks/control_group.hpp"

extern "C" {

[[gnu::visibility("default")]] extern const char crossdock_control_interface[];
const char crossdock_control_interface[] = CROSSDOCK_CONTROL_INTERFACE;

[[gnu::visibility("default")]] crossdock::ranks::RankGroup* crossdock_join_control(
    const crossdock::ranks::ControlMeeting& meeting, crossdock::Error* error) {
  auto group = crossdock::control::ControlGroup::make(meeting);
  if (group.ok()) return group.value().release();
  *error = group.error();
  return nullptr;
}
}
