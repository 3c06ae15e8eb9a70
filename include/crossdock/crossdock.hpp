// Crossdock for C++: joins, groups, sorts and partitions tables that any Arrow library made, and gives
// back Arrow; and sends rows between threads, processes and hosts (<crossdock/channel.hpp>).
//
//   crossdock::Engine engine;
//   auto orders = crossdock::ArrowTable::from_stream(engine, &orders_stream);
//   auto lines = crossdock::ArrowTable::from_stream(engine, &lineitem_stream);
//   crossdock::JoinOptions options;
//   options.on = {{"l_orderkey", "o_orderkey"}};
//   options.output = {{"left", "l_orderkey", "l_orderkey"}, {"right", "o_orderpriority", "priority"}};
//   crossdock::Join(engine, lines, orders, options).collect(&result_stream);
//
// Tables cross the border as Arrow C streams (<crossdock/arrow_c.hpp>, or the same structs from any
// Arrow library), without copies. Every failure is a crossdock::Exception with a stable code.
#pragma once

#include <crossdock/channel.hpp>
#include <crossdock/engine.hpp>
#include <crossdock/expressions.hpp>
#include <crossdock/group_by.hpp>
#include <crossdock/join.hpp>
#include <crossdock/operation.hpp>
#include <crossdock/partition.hpp>
#include <crossdock/query.hpp>
#include <crossdock/remote_file.hpp>
#include <crossdock/sort.hpp>
#include <crossdock/window.hpp>

namespace crossdock {

struct ErrorDescription {
  std::string code, kind, summary;
};
std::vector<ErrorDescription> error_descriptions();

struct SettingDescription {
  std::string name, default_value, doc;
};
std::vector<SettingDescription> setting_descriptions();

// name -> value, for `crossdock info`.
std::vector<std::pair<std::string, std::string>> build_info();

struct MachineDescription {
  int cores = 0;
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0, memory_bytes = 0;
  std::string huge_pages;  // "always", "madvise", "never" or "unknown"
  std::string simd;        // instruction set the kernels run on
};
MachineDescription machine_description();

}  // namespace crossdock
