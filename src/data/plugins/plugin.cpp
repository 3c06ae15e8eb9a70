#include "data/plugins/plugin.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <vector>

#include <fmt/ranges.h>

namespace crossdock::plugins {
namespace {

// What this process does on a fault is for the program to say (Python's faulthandler, a sanitizer), not for a library
// that one of its parts happens to need.
class FaultHandlersKept {
 public:
  FaultHandlersKept() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &kept_[i]);
  }
  ~FaultHandlersKept() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &kept_[i], nullptr);
  }
  FaultHandlersKept(const FaultHandlersKept&) = delete;
  FaultHandlersKept& operator=(const FaultHandlersKept&) = delete;

 private:
  static constexpr std::array<int, 5> kSignals = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
  std::array<struct sigaction, kSignals.size()> kept_ = {};
};

// The folder of the module or program that this function was linked into; "" if the system does not say.
std::string own_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  std::error_code ignored;
  // A program's own name is what it was called by, which need not be a path.
  const std::filesystem::path named = info.dli_fname;
  const auto path = named.is_absolute() || std::filesystem::exists(named, ignored)
                      ? std::filesystem::absolute(named, ignored)
                      : std::filesystem::read_symlink("/proc/self/exe", ignored);
  return path.parent_path().string();
}

// As dlopen takes them, in order.
std::vector<std::string> places_of(const std::string& file) {
  const char* const folder = std::getenv("CROSSDOCK_PLUGINS");
  if (folder != nullptr && *folder != '\0') {
    return {(std::filesystem::absolute(folder) / file).string()};
  }
  std::vector<std::string> places;
  if (const std::string beside = own_folder(); !beside.empty()) {
    places.push_back(beside + "/" + file);
  }
  places.push_back(file);
  return places;
}

Error not_loaded(const PluginWanted& plugin, const std::vector<std::string>& reasons) {
  return make_error(
      ErrorCode::kInvalidArgument,
      "the plugin \"{}\" cannot be loaded: {}. Install {}; if it is there and Crossdock was built "
      "without it, build it again (`make ranks` in its sources), or name the plugin's folder in "
      "CROSSDOCK_PLUGINS",
      plugin.name,
      fmt::join(reasons, "; "),
      plugin.install);
}

}  // namespace

Result<void*> load_plugin(const PluginWanted& plugin) {
  static std::mutex one_at_a_time;  // signal handlers are the whole process's
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  std::vector<std::string> reasons;
  void* library = nullptr;
  for (const std::string& place : places_of("libcrossdock_" + plugin.name + ".so")) {
    const FaultHandlersKept kept;
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != nullptr) break;
    const char* const reason = dlerror();
    reasons.emplace_back(reason == nullptr ? place : reason);
  }
  if (library == nullptr) return not_loaded(plugin, reasons);
  const auto* const interface =
      static_cast<const char*>(dlsym(library, ("crossdock_" + plugin.name + "_interface").c_str()));
  if (interface == nullptr || plugin.interface != interface) {
    return make_error(ErrorCode::kInvalidArgument,
                      "the plugin \"{}\" is of another build: its interface is {}, {} is needed. "
                      "Install both from "
                      "one build of Crossdock",
                      plugin.name,
                      interface == nullptr ? "unknown" : interface,
                      plugin.interface);
  }
  void* const entry = dlsym(library, plugin.entry.c_str());
  if (entry == nullptr) {
    return not_loaded(plugin, {"it has no symbol " + plugin.entry});
  }
  return entry;
}

}  // namespace crossdock::plugins
