// Four forms of an exchange and two of a join's data movement, by predicted time.
#include "control/optimizer/exchange_strategy.hpp"

#include <algorithm>
#include <cmath>

#include "control/optimizer/exchange_load.hpp"

namespace crossdock::control {
namespace {

// A second level takes every row through one more device, which is worth more than a twentieth of the time.
constexpr double kWorthALevel = 0.95;

// "16.8 MB"; powers of ten, as link rates are given.
std::string bytes_text(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

// "41.2 ms", with the digits and units of Python's format_seconds.
std::string seconds_text(double seconds) {
  const auto scaled = [](double value) {
    return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
  };
  if (seconds >= 1) return scaled(seconds) + " s";
  if (seconds >= 1e-3) return scaled(seconds * 1e3) + " ms";
  return fmt::format("{:.0f} µs", seconds * 1e6);
}

// "bulk, 22.4 ms against 40.4 ms". Times that are written alike are called so.
std::string comparison(std::string_view chosen, double seconds, double other_seconds) {
  const std::string written = seconds_text(seconds);
  const std::string other = seconds_text(other_seconds);
  return written == other ? fmt::format("{}, {} either way", chosen, written)
                          : fmt::format("{}, {} against {}", chosen, written, other);
}

Status check_size(double value, std::string_view what) {
  if (std::isfinite(value) && value >= 0) return {};
  return make_error(
      ErrorCode::kInvalidArgument, "{} = {}: it must be a number of bytes, 0 or more", what, value);
}

struct Shape {
  double sources = 0;
  double destinations = 0;
  double servers = 0;
  double local = 0;  // destinations on a server, at most
};

Shape shape_of(const ChannelPlan& plan) {
  Shape shape;
  shape.sources = static_cast<double>(plan.sources().size());
  shape.destinations = static_cast<double>(plan.destinations().size());
  shape.servers = static_cast<double>(plan.servers().size());
  for (int i = 0; i < static_cast<int>(plan.servers().size()); ++i) {
    shape.local =
        std::max(shape.local, static_cast<double>(plan.server_plan(i).destinations.size()));
  }
  return shape;
}

ExchangeForm form_of(ExchangeMode mode,
                     ExchangeLevels levels,
                     const Shape& shape,
                     const ExchangeTask& task) {
  ExchangeForm form{mode, levels, 0, 0, true};
  const bool is_two = levels == ExchangeLevels::kTwo;
  const double hops = is_two ? shape.servers + shape.local : shape.destinations;
  form.message_bytes = task.bytes_per_source / shape.destinations * (is_two ? shape.local : 1);
  if (mode == ExchangeMode::kStreaming) {
    // One segment of each next hop is being filled while another leaves.
    const double room = task.segments_bytes_max / (2 * hops);
    form.message_bytes = std::min({form.message_bytes, task.segment_bytes, room});
  }
  const double received = task.bytes_per_source * shape.sources / shape.destinations;
  const bool has_room = task.receive_bytes_max <= 0 || received <= task.receive_bytes_max;
  form.is_possible = (mode == ExchangeMode::kStreaming || (task.is_counted && has_room)) &&
                     (!is_two || (shape.servers > 1 && shape.local > 1));
  return form;
}

double seconds_of(const ExchangeForm& form,
                  const ExchangeLoad& load,
                  const Shape& shape,
                  const ExchangeTask& task,
                  const model::TransferRates& rates) {
  const double per_pair = task.bytes_per_source / shape.destinations;
  double link_s = load.seconds_per_byte * per_pair;
  if (form.levels == ExchangeLevels::kTwo) {
    // All rows, and not only those for the own server, are first exchanged between neighbours. Links inside and
    // outside work at the same time.
    link_s = std::max(link_s, load.inside_seconds_per_byte * task.bytes_per_source / shape.local);
  }
  if (form.message_bytes <= 0) return 0;
  return form.mode == ExchangeMode::kStreaming
           ? model::streaming_seconds(link_s, task.bytes_per_source, form.message_bytes, rates)
           : model::bulk_seconds(link_s, task.bytes_per_source, form.message_bytes, rates);
}

const ExchangeForm* fastest(const std::vector<ExchangeForm>& forms, auto&& fits) {
  const auto entry = std::ranges::find_if(
      forms, [&](const ExchangeForm& form) { return form.is_possible && fits(form); });
  return entry == forms.end() ? nullptr : &*entry;
}

std::string reason_for_mode(const ExchangeChoice& choice, const ExchangeTask& task) {
  const ExchangeForm& chosen = choice.chosen;
  const ExchangeForm* other = fastest(choice.considered, [&](const ExchangeForm& form) {
    return form.mode != chosen.mode && form.levels == chosen.levels;
  });
  if (other == nullptr) {
    return task.is_counted ? "streaming, as there is no room for all rows at a destination"
                           : "streaming, as rows are still coming and cannot be counted";
  }
  const std::string both = comparison(name_of(chosen.mode), chosen.seconds, other->seconds);
  if (chosen.mode == ExchangeMode::kStreaming)
    return both + ": rows travel while others are arranged";
  return both + fmt::format(": messages of {} instead of {} use the links better",
                            bytes_text(chosen.message_bytes),
                            bytes_text(other->message_bytes));
}

std::string reason_for_levels(const ExchangeChoice& choice, const Shape& shape) {
  const ExchangeForm& chosen = choice.chosen;
  const ExchangeForm* other = fastest(choice.considered, [&](const ExchangeForm& form) {
    return form.levels != chosen.levels && form.mode == chosen.mode;
  });
  if (other == nullptr) {
    return shape.servers > 1 ? "one level, as no server has two destinations"
                             : "one level, as there is one server";
  }
  const std::string both = comparison(name_of(chosen.levels), chosen.seconds, other->seconds);
  if (chosen.levels == ExchangeLevels::kOne) {
    return both +
           fmt::format(": messages of {} are large enough", bytes_text(chosen.message_bytes));
  }
  return both + fmt::format(": messages to {:.0f} servers are of {}, to {:.0f} destinations of {}",
                            shape.servers,
                            bytes_text(chosen.message_bytes),
                            shape.destinations,
                            bytes_text(other->message_bytes));
}

}  // namespace

std::string_view name_of(ExchangeMode mode) {
  return mode == ExchangeMode::kStreaming ? "streaming" : "bulk";
}

std::string_view name_of(ExchangeLevels levels) {
  return levels == ExchangeLevels::kOne ? "one level" : "two levels";
}

std::string_view name_of(Distribution distribution) {
  return distribution == Distribution::kBroadcast ? "broadcast" : "repartition";
}

Result<ExchangeChoice> choose_exchange(const ChannelPlan& plan,
                                       const ExchangeTask& task,
                                       const model::TransferRates& rates) {
  CD_TRY(check_size(task.bytes_per_source, "bytes_per_source"));
  CD_TRY(check_size(task.receive_bytes_max, "receive_bytes_max"));
  if (!(task.segment_bytes >= 1) || !(task.segments_bytes_max >= 1)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "segments of {} bytes, {} bytes of them: both must be at least 1",
                      task.segment_bytes,
                      task.segments_bytes_max);
  }
  const Shape shape = shape_of(plan);
  const ExchangeLoad load = exchange_load(plan);
  ExchangeChoice choice;
  for (const ExchangeMode mode : {ExchangeMode::kStreaming, ExchangeMode::kBulk}) {
    for (const ExchangeLevels levels : {ExchangeLevels::kOne, ExchangeLevels::kTwo}) {
      ExchangeForm form = form_of(mode, levels, shape, task);
      form.seconds = seconds_of(form, load, shape, task, rates);
      choice.considered.push_back(form);
    }
  }
  std::ranges::stable_sort(choice.considered, [](const ExchangeForm& a, const ExchangeForm& b) {
    if (a.is_possible != b.is_possible) return a.is_possible;
    return a.seconds < b.seconds;
  });
  choice.chosen = choice.considered.front();
  const ExchangeForm* one = fastest(choice.considered, [](const ExchangeForm& form) {
    return form.levels == ExchangeLevels::kOne;
  });
  if (one->seconds * kWorthALevel <= choice.chosen.seconds) choice.chosen = *one;
  choice.mode_reason = reason_for_mode(choice, task);
  choice.levels_reason = reason_for_levels(choice, shape);
  return choice;
}

Result<DistributionChoice> choose_distribution(const ChannelPlan& plan,
                                               double build_bytes,
                                               double probe_bytes,
                                               double receive_bytes_max) {
  CD_TRY(check_size(build_bytes, "build_bytes"));
  CD_TRY(check_size(probe_bytes, "probe_bytes"));
  CD_TRY(check_size(receive_bytes_max, "receive_bytes_max"));
  const Shape shape = shape_of(plan);
  const double seconds_per_byte = exchange_load(plan).seconds_per_byte;
  DistributionChoice choice;
  // Bytes from one source to one destination: its part of the build side, or that part's share of both sides.
  const double broadcast = build_bytes / shape.sources;
  const double repartition = (build_bytes + probe_bytes) / (shape.sources * shape.destinations);
  choice.broadcast_s = seconds_per_byte * broadcast;
  choice.repartition_s = seconds_per_byte * repartition;
  const bool has_room = receive_bytes_max <= 0 || build_bytes <= receive_bytes_max;
  const bool is_less = broadcast < repartition;
  choice.chosen = has_room && is_less ? Distribution::kBroadcast : Distribution::kRepartition;
  if (is_less && !has_room) {
    choice.reason =
        fmt::format("repartition, as a destination has room for {} and the build side has {}",
                    bytes_text(receive_bytes_max),
                    bytes_text(build_bytes));
    return choice;
  }
  choice.reason = fmt::format(
      "{}: a build side of {} for each of {:.0f} destinations is {} than {}, the two sides once",
      name_of(choice.chosen),
      bytes_text(build_bytes),
      shape.destinations,
      is_less ? "less" : "not less",
      bytes_text(build_bytes + probe_bytes));
  return choice;
}

}  // namespace crossdock::control
