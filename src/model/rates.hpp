// The rates of every model, with a name each: what `crossdock calibrate` measures and planners read.
//
// Built-in rates are of the machine that the models were made on. Measured ones belong to the machine this process runs
// on, so a process has one set; a planner takes the set in force at that time. Rates change what is chosen and
// predicted, never what a result is.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/exchange_cost.hpp"
#include "model/group_cost.hpp"
#include "model/join_cost.hpp"
#include "model/merge_cost.hpp"
#include "model/partition_cost.hpp"
#include "model/sort_cost.hpp"

namespace crossdock::model {

// Of the caches, what a process sees of them.
struct MachineRates {
  // Of the third level: less where other tenants or small pages take their part.
  double l3_share = 1;
};

struct Rates {
  MachineRates machine;
  JoinRates join;
  MergeRates merge;
  SortRates sort;
  GroupRates group;
  PartitionRates partition;
  ExchangeRates exchange;
};

// "join.scatter" and so on, in the order of the structs. Nanoseconds, but for shares.
std::vector<std::pair<std::string, double>> named_rates(const Rates& rates);

// False if there is no rate of that name.
bool set_rate(Rates& rates, std::string_view name, double value);

// The machine as its rates see it.
Machine seen_by(const Rates& rates, Machine machine);

// Thread-safe. Plans that are made already keep what they were made with.
std::shared_ptr<const Rates> rates_in_force();
void put_in_force(Rates rates);

}  // namespace crossdock::model
