// Plugins: parts that need heavy system libraries, as shared objects of their own that are loaded when they are asked
// for. Who never asks needs none of it installed.
//
// Plugin and loader pass C++ objects to each other, so both must come from one build; `interface` tells that. A plugin
// is never unloaded, since threads and exit handlers of its libraries may outlive any use of it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace crossdock::plugins {

struct PluginWanted {
  // "ucx": the file is libcrossdock_ucx.so, its fingerprint crossdock_ucx_interface.
  std::string name;
  std::string entry;      // an extern "C" symbol
  std::string interface;  // CROSSDOCK_<NAME>_INTERFACE, which the build defines for both sides
  std::string install;    // what to install if it cannot be loaded, for the error
};

// The address of the entry. Looks in the folder $CROSSDOCK_PLUGINS if that is set; else beside the module or program
// that has this code, then where the system looks for libraries. What a plugin's libraries do to the handlers of
// SIGSEGV and the like while they are loaded is undone. CD-105 with where was looked, the system's reason and what to
// install; or if the plugin is of another build. Thread-safe.
Result<void*> load_plugin(const PluginWanted& plugin);

}  // namespace crossdock::plugins
