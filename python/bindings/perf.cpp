// Group.perf: measurements of patterns over channels.
#include <future>
#include <optional>
#include <string>

#include "bindings/channels.hpp"
#include "bindings/counters.hpp"
#include "bindings/operation.hpp"
#include "bindings/results.hpp"
#include "data/perf/run_perf.hpp"

namespace crossdock::python {
namespace {

// Measures in a thread of its own, so that this one can look for signals: the first one ends the measurement.
perf::PerfReport run_until_signal(const perf::PerfContext& context,
                                  const perf::PerfOptions& options,
                                  CancelFlag& cancel) {
  constexpr auto kPollInterval = std::chrono::milliseconds(50);
  std::optional<nb::python_error> interruption;
  std::future<Result<perf::PerfReport>> running;
  {
    const GilRelease released;
    running = std::async(std::launch::async, [&] { return perf::run_perf(context, options); });
    while (running.wait_for(kPollInterval) != std::future_status::ready) {
      if (interruption.has_value()) continue;
      const GilHold held;
      if (PyErr_CheckSignals() == 0) continue;
      interruption.emplace();
      cancel.set();
    }
  }
  if (interruption.has_value()) throw std::move(*interruption);
  return value_or_raise(running.get());
}

perf::PerfOptions options_of(const nb::kwargs& arguments) {
  perf::PerfOptions options;
  std::string pattern = "exchange";
  bool checks_rows = false;
  OptionReader given("perf", arguments);
  given.read("pattern", pattern);
  given.read("bytes_per_source", options.bytes_per_source);
  given.read("columns", options.columns);
  given.read("zipf_theta", options.zipf_theta);
  given.read("endpoints_per_rank", options.endpoints_per_rank);
  given.read("blocks", options.blocks);
  given.read("segment_bytes", options.segment_bytes);
  given.read("slot_bits", options.slot_bits);
  given.read("batch_rows", options.batch_rows);
  given.read("levels", options.levels);
  given.read("nodes", options.nodes);
  given.read("link_bytes_per_s", options.link_bytes_per_s);
  given.read("repeats", options.repeats);
  given.read("checks_rows", checks_rows);
  given.read("traces", options.traces);
  given.read("seed", options.seed);
  given.finish();
  options.pattern = value_or_raise(perf::parse_pattern(pattern));
  options.checks = checks_rows ? perf::Checks::kRows : perf::Checks::kSums;
  return options;
}

nb::dict dict_of(const perf::PerfReport& report, const perf::PerfOptions& options, int rank) {
  const perf::PatternFactors factors = perf::factors_of(options.pattern, report.endpoints);
  nb::dict results;
  results["endpoints"] = report.endpoints;
  results["sources"] = report.sources;
  results["destinations"] = report.destinations;
  results["row_bytes"] = report.row_bytes;
  results["rows_per_source"] = report.rows_per_source;
  results["algorithm_factor"] = factors.algorithm;
  results["bus_factor"] = factors.bus;
  results["seconds"] = report.seconds;
  results["wrong_rows"] = report.wrong_rows;
  results["predicted_s"] = report.predicted_s;
  results["bound"] = report.bound;
  results["copy_bytes_per_s"] = report.copy_bytes_per_s;
  results["read_bytes_per_s"] = report.read_bytes_per_s;
  results["link_bytes"] = report.link_bytes;
  results["link_bytes_per_s"] = report.link_bytes_per_s;
  results["segments"] = report.segments;
  results["messages"] = report.messages;
  results["messages_second_level"] = report.messages_second_level;
  results["rows"] = report.rows;
  results["refused"] = report.refused;
  results["waited_share"] = report.waited_share;
  results["channel_bytes"] = report.channel_bytes;
  results["memory_peak_bytes"] = report.memory_peak_bytes;
  nb::list channels;
  channels.append(channel_counters(report.counters, report.channel, report.channel_here_bytes));
  nb::dict counters;
  counters["rank"] = rank;
  counters["channels"] = channels;
  counters["links"] = link_counters(report.links);
  results["counters"] = counters;
  results["trace"] = nb::str(report.trace.data(), report.trace.size());
  return results;
}

}  // namespace

void bind_perf(nb::class_<GroupObject>& group) {
  group.def(
      "perf",
      [](GroupObject& self, const nb::kwargs& arguments) {
        const perf::PerfOptions options = options_of(arguments);
        CancelFlag cancel;
        const perf::PerfContext context{.plane = self.plane.get(),
                                        .group = self.group.get(),
                                        .memory = self.memory,
                                        .next_channel_id = &self.next_channel_id,
                                        .cancel = &cancel,
                                        .meet_within = self.bulk.limit()};
        return dict_of(run_until_signal(context, options, cancel), options, self.plane->rank());
      },
      "options"_a);
}

}  // namespace crossdock::python
