#include "model/rates.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace crossdock::model {
namespace {

template <class Part>
struct Named {
  const char* name;
  double Part::*value;
};

constexpr Named<MachineRates> kMachine[] = {
    {"l3_share", &MachineRates::l3_share},
};
static_assert(sizeof(MachineRates) == std::size(kMachine) * sizeof(double));

constexpr Named<JoinRates> kJoin[] = {
    {"scan_keys", &JoinRates::scan_keys},
    {"scatter", &JoinRates::scatter},
    {"scatter_narrow", &JoinRates::scatter_narrow},
    {"build_leaf", &JoinRates::build_leaf},
    {"probe_leaf", &JoinRates::probe_leaf},
    {"probe_dense", &JoinRates::probe_dense},
    {"build_dense", &JoinRates::build_dense},
    {"probe_direct", &JoinRates::probe_direct},
    {"hash_string", &JoinRates::hash_string},
    {"name_string", &JoinRates::name_string},
    {"verify", &JoinRates::verify},
    {"verify_l3", &JoinRates::verify_l3},
    {"verify_memory", &JoinRates::verify_memory},
    {"touch_l3", &JoinRates::touch_l3},
    {"touch_memory", &JoinRates::touch_memory},
    {"touch_array_l3", &JoinRates::touch_array_l3},
    {"touch_array_memory", &JoinRates::touch_array_memory},
    {"emit_word", &JoinRates::emit_word},
    {"fetch_l3", &JoinRates::fetch_l3},
    {"fetch_memory", &JoinRates::fetch_memory},
};
static_assert(sizeof(JoinRates) == std::size(kJoin) * sizeof(double));

constexpr Named<MergeRates> kMerge[] = {
    {"check_order", &MergeRates::check_order},
    {"scan_ranges", &MergeRates::scan_ranges},
    {"encode_wide", &MergeRates::encode_wide},
    {"find_range", &MergeRates::find_range},
    {"sort_pair", &MergeRates::sort_pair},
    {"sort_word", &MergeRates::sort_word},
    {"read_sorted", &MergeRates::read_sorted},
    {"match", &MergeRates::match},
    {"rank_tie", &MergeRates::rank_tie},
};
static_assert(sizeof(MergeRates) == std::size(kMerge) * sizeof(double));

constexpr Named<SortRates> kSort[] = {
    {"scan_key", &SortRates::scan_key},
    {"make_word", &SortRates::make_word},
    {"scan_text", &SortRates::scan_text},
    {"make_text_word", &SortRates::make_text_word},
    {"check_order", &SortRates::check_order},
    {"find_range", &SortRates::find_range},
    {"sample_range", &SortRates::sample_range},
    {"move_lane", &SortRates::move_lane},
    {"move_word", &SortRates::move_word},
    {"sort_word", &SortRates::sort_word},
    {"sort_pair", &SortRates::sort_pair},
    {"permute_lane", &SortRates::permute_lane},
    {"count_digit", &SortRates::count_digit},
    {"move_digit", &SortRates::move_digit},
    {"gather", &SortRates::gather},
    {"gather_near", &SortRates::gather_near},
    {"hand_out", &SortRates::hand_out},
    {"hand_out_near", &SortRates::hand_out_near},
    {"select", &SortRates::select},
    {"keep", &SortRates::keep},
    {"compare", &SortRates::compare},
    {"pass_through", &SortRates::pass_through},
};
static_assert(sizeof(SortRates) == std::size(kSort) * sizeof(double));

constexpr Named<GroupRates> kGroup[] = {
    {"scan_keys", &GroupRates::scan_keys},
    {"encode", &GroupRates::encode},
    {"hash", &GroupRates::hash},
    {"lookup", &GroupRates::lookup},
    {"lookup_apart", &GroupRates::lookup_apart},
    {"lookup_dense", &GroupRates::lookup_dense},
    {"run", &GroupRates::run},
    {"update", &GroupRates::update},
    {"verify", &GroupRates::verify},
    {"scatter", &GroupRates::scatter},
    {"scatter_lane", &GroupRates::scatter_lane},
    {"insert", &GroupRates::insert},
    {"merge", &GroupRates::merge},
    {"touch_l3", &GroupRates::touch_l3},
    {"touch_memory", &GroupRates::touch_memory},
    {"emit_word", &GroupRates::emit_word},
};
static_assert(sizeof(GroupRates) == std::size(kGroup) * sizeof(double));

constexpr Named<PartitionRates> kPartition[] = {
    {"scan_key", &PartitionRates::scan_key},
    {"scan_text", &PartitionRates::scan_text},
    {"count", &PartitionRates::count},
    {"hash_key", &PartitionRates::hash_key},
    {"hash_text", &PartitionRates::hash_text},
    {"load_number", &PartitionRates::load_number},
    {"make_word", &PartitionRates::make_word},
    {"make_text_word", &PartitionRates::make_text_word},
    {"find_range", &PartitionRates::find_range},
    {"place", &PartitionRates::place},
    {"place_near", &PartitionRates::place_near},
    {"place_doubling", &PartitionRates::place_doubling},
    {"gather", &PartitionRates::gather},
    {"gather_stream", &PartitionRates::gather_stream},
    {"gather_near", &PartitionRates::gather_near},
    {"gather_text", &PartitionRates::gather_text},
    {"gather_text_near", &PartitionRates::gather_text_near},
};
static_assert(sizeof(PartitionRates) == std::size(kPartition) * sizeof(double));

constexpr Named<ExchangeRates> kExchange[] = {
    {"count_row", &ExchangeRates::count_row},
    {"place_row", &ExchangeRates::place_row},
    {"place_byte", &ExchangeRates::place_byte},
    {"part_count", &ExchangeRates::part_count},
    {"part_row", &ExchangeRates::part_row},
    {"cut_row", &ExchangeRates::cut_row},
    {"put_byte", &ExchangeRates::put_byte},
    {"put_message", &ExchangeRates::put_message},
    {"window_byte", &ExchangeRates::window_byte},
    {"window_open", &ExchangeRates::window_open},
    {"collective", &ExchangeRates::collective},
    {"imbalance_share", &ExchangeRates::imbalance_share},
};
static_assert(sizeof(ExchangeRates) == std::size(kExchange) * sizeof(double));

// Calls `visit(model, names, part)` for each model.
template <class Set, class Visit>
void for_models(Set& rates, const Visit& visit) {
  visit("machine", kMachine, rates.machine);
  visit("join", kJoin, rates.join);
  visit("merge", kMerge, rates.merge);
  visit("sort", kSort, rates.sort);
  visit("group", kGroup, rates.group);
  visit("partition", kPartition, rates.partition);
  visit("exchange", kExchange, rates.exchange);
}

std::mutex mutex;
std::shared_ptr<const Rates> in_force = std::make_shared<const Rates>();  // guarded by `mutex`

}  // namespace

std::vector<std::pair<std::string, double>> named_rates(const Rates& rates) {
  std::vector<std::pair<std::string, double>> all;
  for_models(rates, [&](const char* model, const auto& names, const auto& part) {
    for (const auto& [name, value] : names) {
      all.emplace_back(std::string(model) + "." + name, part.*value);
    }
  });
  return all;
}

bool set_rate(Rates& rates, std::string_view name, double value) {
  bool is_known = false;
  for_models(rates, [&](std::string_view model, const auto& names, auto& part) {
    if (!name.starts_with(model) || name.size() <= model.size() || name[model.size()] != '.') {
      return;
    }
    for (const auto& [member_name, member] : names) {
      if (name.substr(model.size() + 1) != member_name) continue;
      part.*member = value;
      is_known = true;
    }
  });
  return is_known;
}

Machine seen_by(const Rates& rates, Machine machine) {
  const double l3_bytes = static_cast<double>(machine.l3_bytes) * rates.machine.l3_share;
  machine.l3_bytes = std::max(static_cast<int64_t>(l3_bytes), machine.l2_bytes);
  return machine;
}

std::shared_ptr<const Rates> rates_in_force() {
  const std::lock_guard lock(mutex);
  return in_force;
}

void put_in_force(Rates rates) {
  auto copy = std::make_shared<const Rates>(rates);
  const std::lock_guard lock(mutex);
  in_force = std::move(copy);
}

}  // namespace crossdock::model
