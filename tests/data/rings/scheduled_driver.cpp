// The deterministic driver.
#include "data/rings/scheduled_driver.hpp"

#include <numeric>
#include <vector>

namespace crossdock::rings {

std::string describe(std::span<Actor* const> actors) {
  std::string text;
  for (const Actor* actor : actors) text += "\n  " + actor->state();
  return text;
}

Status run_scheduled(std::span<Actor* const> actors, Chance& chance, uint64_t steps_max) {
  std::vector<size_t> ready(actors.size());  // not done, and not idle since the last progress
  std::iota(ready.begin(), ready.end(), size_t{0});
  std::vector<size_t> idle;
  for (uint64_t step = 0; !ready.empty(); ++step) {
    if (step == steps_max) {
      return make_error(
          ErrorCode::kInternal, "not done after {} steps:{}", steps_max, describe(actors));
    }
    const size_t chosen = chance.pick(ready.size());
    const size_t actor = ready[chosen];
    const Step answer = actors[actor]->step();
    if (answer != Step::kProgress) ready.erase(ready.begin() + static_cast<ptrdiff_t>(chosen));
    if (answer == Step::kIdle) {
      idle.push_back(actor);
    } else {
      // What is done may have been what others waited for.
      ready.insert(ready.end(), idle.begin(), idle.end());
      idle.clear();
    }
  }
  if (idle.empty()) return {};
  return make_error(ErrorCode::kInternal,
                    "deadlock: {} of {} actors wait and none can move:{}",
                    idle.size(),
                    actors.size(),
                    describe(actors));
}

}  // namespace crossdock::rings
