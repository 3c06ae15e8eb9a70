// The symbols by which the plugin is known and used.
#include "data/ranks/pmix/pmix_group.hpp"
#include "data/ranks/pmix_entry.hpp"

extern "C" {

[[gnu::visibility("default")]] extern const char crossdock_pmix_interface[];
const char crossdock_pmix_interface[] = CROSSDOCK_PMIX_INTERFACE;

[[gnu::visibility("default")]] crossdock::ranks::RankGroup* crossdock_join_pmix(
    crossdock::Error* error) {
  auto group = crossdock::ranks::join_pmix_server();
  if (group.ok()) return group.value().release();
  *error = group.error();
  return nullptr;
}
}
