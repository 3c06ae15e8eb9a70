// What launchers say about the launch: its name, and how many processes it has.
#include "data/ranks/launch_id.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace crossdock::ranks {
namespace {

constexpr size_t kWordBytesMax = 128;

struct Launcher {
  const char* processes;  // the variable with the number of processes that the launch has
  const char* name;       // the variable with its name
  const char* part;       // the variable with the part of it that is meant; null: it has none
};

// Hydra is not among them: it gives a launch no name. A step of Slurm is one launch, whichever PMI it uses.
constexpr Launcher kLaunchers[] = {
    {"SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID", "SLURM_STEP_ID"},
    {"OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", nullptr},
};

std::string_view variable(const char* name) {
  const char* const value = name == nullptr ? nullptr : std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string word_of(std::string text) {
  text.resize(std::min(text.size(), kWordBytesMax));
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isgraph(c) == 0; }, '_');
  return text;
}

}  // namespace

std::string launch_id(int ranks) {
  for (const Launcher& launcher : kLaunchers) {
    const std::string_view name = variable(launcher.name);
    if (name.empty() || variable(launcher.processes) != std::to_string(ranks)) continue;
    if (launcher.part == nullptr) return word_of(fmt::format("{}={}", launcher.name, name));
    const std::string_view part = variable(launcher.part);
    if (!part.empty()) return word_of(fmt::format("{}={}.{}", launcher.name, name, part));
  }
  return kNoLaunch;
}

}  // namespace crossdock::ranks
