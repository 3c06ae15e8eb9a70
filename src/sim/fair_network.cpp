// Progressive filling of the part that a change touches.
#include "sim/fair_network.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace crossdock::sim {
namespace {

// Links that are full at the same level, but for rounding.
constexpr double kSameLevel = 1 + 1e-12;

struct Level {
  double level = 0;
  uint32_t place = 0;
  bool operator<(const Level& other) const {
    return level != other.level ? level > other.level : place > other.place;
  }
};

}  // namespace

LinkNumber FairNetwork::add_link(const LinkRate& rate) {
  CD_CHECK(rate.bytes_per_s >= 0, "a link of {} bytes/s", rate.bytes_per_s);
  links_.push_back({});
  links_.back().rate = rate;
  return static_cast<LinkNumber>(links_.size() - 1);
}

void FairNetwork::change(LinkNumber link) {
  if (links_[link].is_changed) return;
  links_[link].is_changed = true;
  changed_.push_back(link);
}

void FairNetwork::set_link(double now_s, LinkNumber link, double bytes_per_s) {
  CD_CHECK(bytes_per_s >= 0, "a link of {} bytes/s", bytes_per_s);
  for (const Crossing& crossing : links_[link].flows) {
    if (flows_[crossing.flow].is_active) carry(now_s, flows_[crossing.flow]);
  }
  links_[link].rate.bytes_per_s = bytes_per_s;
  change(link);
}

FlowNumber FairNetwork::start(double now_s, FlowShape shape) {
  CD_CHECK(shape.bytes >= 0, "a flow of {} bytes", shape.bytes);
  const auto number = static_cast<FlowNumber>(flows_.size());
  Flow flow;
  flow.first_use = static_cast<uint32_t>(uses_.size());
  flow.uses = static_cast<uint32_t>(shape.hops.size());
  flow.remaining = shape.bytes;
  flow.since_s = now_s;
  flow.is_active = shape.bytes > 0 && !shape.hops.empty();
  flow.message_bytes = shape.message_bytes > 0 ? shape.message_bytes : shape.bytes;
  for (const Hop& hop : shape.hops) {
    CD_CHECK(hop.link < links_.size() && hop.crossings > 0, "hop {} x {}", hop.link, hop.crossings);
    uses_.push_back({hop.link, static_cast<float>(hop.crossings)});
    if (!flow.is_active) continue;
    links_[hop.link].flows.push_back({number, static_cast<float>(hop.crossings)});
    change(hop.link);
  }
  if (flow.is_active) {
    ++active_;
  } else {
    done_.push_back(number);
  }
  flows_.push_back(flow);
  is_frozen_.push_back(0);
  return number;
}

double FairNetwork::stop(double now_s, FlowNumber flow) {
  if (!flows_[flow].is_active) return 0;
  carry(now_s, flows_[flow]);
  drop(now_s, flow);
  return flows_[flow].remaining;
}

double FairNetwork::latency_of(FlowNumber flow) const {
  double sum = 0;
  for (const Use& use : uses_of(flows_[flow])) sum += links_[use.link].rate.latency_s;
  return sum;
}

// Brings a flow's bytes, and what its links have carried, up to now.
void FairNetwork::carry(double now_s, Flow& flow) {
  const double bytes = std::min(flow.remaining, flow.rate * (now_s - flow.since_s));
  flow.since_s = now_s;
  if (bytes <= 0) return;
  flow.remaining -= bytes;
  for (const Use& use : uses_of(flow)) {
    Link& link = links_[use.link];
    link.carried_bytes += bytes * use.crossings;
    link.busy_s += bytes * weight_of(link, flow, use.crossings) / link.rate.bytes_per_s;
  }
}

// Its links have to be shared again; their lists are cleared of it when that is done.
void FairNetwork::drop(double now_s, FlowNumber number) {
  Flow& flow = flows_[number];
  flow.is_active = false;
  flow.rate = 0;
  flow.since_s = now_s;
  ++flow.version;
  --active_;
  for (const Use& use : uses_of(flow)) change(use.link);
}

// Links and flows that hang together with a changed link.
void FairNetwork::collect_part() {
  ++mark_;
  part_links_.clear();
  part_flows_.clear();
  const auto reach = [&](LinkNumber number) {
    Link& link = links_[number];
    if (link.mark == mark_) return;
    link.mark = mark_;
    link.place = static_cast<uint32_t>(part_links_.size());
    part_links_.push_back(number);
  };
  for (const LinkNumber link : changed_) {
    links_[link].is_changed = false;
    reach(link);
  }
  changed_.clear();
  for (size_t i = 0; i < part_links_.size(); ++i) {
    auto& flows = links_[part_links_[i]].flows;
    std::erase_if(flows, [&](const Crossing& one) { return !flows_[one.flow].is_active; });
    for (const auto& [number, crossings] : flows) {
      Flow& flow = flows_[number];
      if (flow.mark == mark_) continue;
      flow.mark = mark_;
      part_flows_.push_back(number);
      for (const Use& use : uses_of(flow)) reach(use.link);
    }
  }
}

void FairNetwork::freeze(FlowNumber number, double level) {
  is_frozen_[number] = 1;
  flows_[number].rate = level;
  for (const Use& use : uses_of(flows_[number])) fillings_[links_[use.link].place].is_old = true;
}

// The level at which a link of the part is full. Summed up again whenever one of its flows has got its share: taking
// away from a sum would leave nothing but rounding where weights differ by many powers of ten.
void FairNetwork::fill(uint32_t place) {
  const LinkNumber number = part_links_[place];
  Filling& filling = fillings_[place];
  filling = {links_[number].rate.bytes_per_s, 0, 0, false};
  for (const Crossing& crossing : links_[number].flows) {
    const Flow& flow = flows_[crossing.flow];
    const double weight = weight_of(links_[number], flow, crossing.crossings);
    if (is_frozen_[crossing.flow]) {
      filling.left -= weight * flow.rate;
    } else {
      filling.weight += weight;
      ++filling.open;
    }
  }
}

// All shares of the part, from the link that is full first to the last.
void FairNetwork::share_out() {
  std::priority_queue<Level> levels;
  for (uint32_t place = 0; place < fillings_.size(); ++place) {
    fill(place);
    if (fillings_[place].open > 0) levels.push({fillings_[place].level(), place});
  }
  std::vector<uint32_t> full;  // at one level
  double level = 0;
  while (!levels.empty()) {
    full.clear();
    while (!levels.empty() && (full.empty() || levels.top().level <= level * kSameLevel)) {
      const Level lowest = levels.top();
      levels.pop();
      if (fillings_[lowest.place].is_old) fill(lowest.place);
      if (fillings_[lowest.place].open == 0) continue;
      // Shares elsewhere only raise a link's level, so one that has risen goes back to its place.
      const double now = std::max(level, fillings_[lowest.place].level());
      if (now > lowest.level * kSameLevel && now > level) {
        levels.push({now, lowest.place});
        continue;
      }
      if (full.empty()) level = now;
      full.push_back(lowest.place);
    }
    for (const uint32_t place : full) {
      for (const Crossing& crossing : links_[part_links_[place]].flows) {
        if (!is_frozen_[crossing.flow]) freeze(crossing.flow, level);
      }
    }
  }
}

void FairNetwork::solve(double now_s) {
  collect_part();
  ++solves_;
  flows_solved_ += part_flows_.size();
  fillings_.assign(part_links_.size(), {});
  for (const FlowNumber number : part_flows_) {
    carry(now_s, flows_[number]);
    is_frozen_[number] = 0;
  }
  share_out();
  for (const FlowNumber number : part_flows_) {
    Flow& flow = flows_[number];
    ++flow.version;
    if (flow.rate > 0) ends_.push({now_s + flow.remaining / flow.rate, number, flow.version});
  }
}

double FairNetwork::next_end_s(double now_s) {
  if (!done_.empty()) return now_s;
  if (!changed_.empty()) solve(now_s);
  while (!ends_.empty() && ends_.top().version != flows_[ends_.top().flow].version) ends_.pop();
  return ends_.empty() ? kNever : ends_.top().at_s;
}

std::vector<FlowNumber> FairNetwork::take_ended(double now_s) {
  std::vector<FlowNumber> ended = std::exchange(done_, {});
  const double until_s = now_s * (1 + same_time_);
  while (!ends_.empty() && ends_.top().at_s <= until_s) {
    const End end = ends_.top();
    ends_.pop();
    Flow& flow = flows_[end.flow];
    if (end.version != flow.version) continue;
    // All of it, whatever rounding has left.
    carry(end.at_s, flow);
    flow.remaining = 0;
    drop(now_s, end.flow);
    ended.push_back(end.flow);
  }
  std::ranges::sort(ended);
  return ended;
}

}  // namespace crossdock::sim
