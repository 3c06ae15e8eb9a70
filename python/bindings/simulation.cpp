// crossdock._native.simulate_join: a join over a planned channel in virtual time.
#include "bindings/operation.hpp"
#include "bindings/options.hpp"
#include "bindings/planned_channel.hpp"
#include "bindings/results.hpp"
#include "model/bucket_messages.hpp"
#include "model/machine.hpp"
#include "sim/join_json.hpp"
#include "sim/join_simulation.hpp"

namespace crossdock::python {
namespace {

struct SimulationOptions {
  sim::JoinTask task;
  sim::JoinStrategy strategy;
  sim::SimulatedMachine machine;
  uint64_t seed = 1;
  bool is_planned = false;    // the strategy is the planner's
  bool has_own_rates = true;  // else those of the models in force
};

void read_task(OptionReader& given, SimulationOptions& options) {
  bool is_merge = false;
  given.read("is_merge", is_merge);
  options.task.kind = is_merge ? sim::JoinKind::kMerge : sim::JoinKind::kHash;
  given.read("build_rows", options.task.build_rows);
  given.read("probe_rows", options.task.probe_rows);
  given.read("build_row_bytes", options.task.build_row_bytes);
  given.read("probe_row_bytes", options.task.probe_row_bytes);
  sim::Unevenness& uneven = options.machine.unevenness;
  given.read("zipf_theta", uneven.zipf_theta);
  given.read("slow_servers", uneven.slow_servers);
  given.read("slowness", uneven.slowness);
  given.read("slow_links", uneven.slow_links);
  given.read("link_share", uneven.link_share);
  given.read("seed", options.seed);
  uneven.keys = static_cast<int64_t>(options.task.build_rows);
  if (options.task.rows() > 0)
    uneven.skewed_share =
        options.task.probe_bytes() / (options.task.build_bytes() + options.task.probe_bytes());
}

void read_strategy(OptionReader& given, SimulationOptions& options) {
  bool is_bulk = false;
  bool is_two = false;
  bool is_broadcast = false;
  given.read("is_planned", options.is_planned);
  given.read("is_bulk", is_bulk);
  given.read("is_two_levels", is_two);
  given.read("is_broadcast", is_broadcast);
  given.read("single_path", options.strategy.single_path);
  given.read("peers_at_once", options.strategy.peers_at_once);
  given.read("coded_share", options.strategy.coded_share);
  options.strategy.mode =
      is_bulk ? control::ExchangeMode::kBulk : control::ExchangeMode::kStreaming;
  options.strategy.levels = is_two ? control::ExchangeLevels::kTwo : control::ExchangeLevels::kOne;
  options.strategy.distribution =
      is_broadcast ? control::Distribution::kBroadcast : control::Distribution::kRepartition;
}

void read_rates(OptionReader& given, SimulationOptions& options) {
  sim::SimulatedMachine& machine = options.machine;
  given.read("ranks", machine.ranks);
  given.read("segment_bytes", machine.segment_bytes);
  given.read("message_bytes", machine.links.message_bytes);
  given.read("crowding", machine.links.crowding);
  given.read("latency_s", machine.links.latency_s);
  sim::RankRates& rates = machine.rates;
  given.read("has_own_rates", options.has_own_rates);
  given.read("scan", rates.join.scan);
  given.read("partition", rates.join.partition);
  given.read("build", rates.join.build);
  given.read("probe", rates.join.probe);
  given.read("sort_run", rates.join.sort_run);
  given.read("merge", rates.join.merge);
  given.read("passes", rates.passes);
  given.read("merges", rates.merges);
  given.read("collective_s", rates.collective_s);
  given.read("window_s", rates.window_s);
  given.read("message_s", rates.message_s);
  given.read("imbalance_s", rates.imbalance_s);
  given.read("codec_bytes_per_s", rates.codec_bytes_per_s);
  given.read("narrower_s", rates.narrower_s);
}

// Rates of ranks that are processes of this machine.
void use_models(const control::ChannelPlan& plan, SimulationOptions& options) {
  const sim::JoinTask& task = options.task;
  sim::ModelledJoin join;
  join.kind = task.kind;
  join.ranks = static_cast<int>(plan.destinations().size()) * options.machine.ranks;
  join.rows = {task.build_rows / join.ranks, task.probe_rows / join.ranks};
  join.build_row_bytes = task.build_row_bytes;
  join.probe_row_bytes = task.probe_row_bytes;
  join.is_broadcast = options.strategy.distribution == control::Distribution::kBroadcast;
  const auto rates = model::rates_in_force();
  const sim::RankRates given = options.machine.rates;  // has what no model knows
  options.machine.rates =
      sim::rates_of_models(*rates, model::seen_by(*rates, model::probe_machine()), join);
  options.machine.rates.codec_bytes_per_s = given.codec_bytes_per_s;
  options.machine.rates.narrower_s = given.narrower_s;
}

std::string simulate(const PlannedChannel& channel, const nb::kwargs& arguments) {
  SimulationOptions options;
  OptionReader given("simulate_join", arguments);
  read_task(given, options);
  read_strategy(given, options);
  read_rates(given, options);
  given.finish();
  GilRelease released;
  const control::ChannelPlan& plan = *channel.plan;
  if (options.is_planned) {
    const sim::JoinStrategy asked = options.strategy;
    options.strategy = value_or_raise(sim::planned_strategy(plan, options.task));
    options.strategy.single_path = asked.single_path;
    options.strategy.peers_at_once = asked.peers_at_once;
    options.strategy.coded_share = asked.coded_share;
  }
  if (!options.has_own_rates) use_models(plan, options);
  SeededChance chance(options.seed);
  const sim::SimulatedJoin join = value_or_raise(
      sim::simulate_join(plan, options.task, options.strategy, options.machine, chance));
  return sim::join_json(plan, options.strategy, join);
}

// Messages by which counts of buckets reach their owners, by the name of the form.
nb::dict bucket_messages(int ranks, int tasks, int64_t buckets, int64_t buffer_elements) {
  const model::BucketShape shape{ranks, tasks, buckets, buffer_elements};
  if (ranks < 1 || tasks < 1 || buckets < 1 || buffer_elements < 1) {
    raise_error(make_error(ErrorCode::kInvalidArgument,
                           "{} ranks of {} tasks, {} buckets, buffers of {}: each is at least 1",
                           ranks,
                           tasks,
                           buckets,
                           buffer_elements));
  }
  nb::dict messages;
  for (const model::BucketForm form : model::kBucketForms) {
    const std::string name(model::bucket_form_name(form));
    messages[name.c_str()] = model::bucket_traffic(shape, form).all_messages();
  }
  return messages;
}

}  // namespace

void bind_simulation(nb::module_& module) {
  module.def("simulate_join", &simulate, "channel"_a, "options"_a);
  module.def(
      "bucket_messages", &bucket_messages, "ranks"_a, "tasks"_a, "buckets"_a, "buffer_elements"_a);
}

}  // namespace crossdock::python
