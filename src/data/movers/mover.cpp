#include "data/movers/mover.hpp"

#include <algorithm>
#include <thread>

#include "base/check.hpp"
#include "data/movers/mover_state.hpp"

namespace crossdock::movers {
namespace {

std::vector<LinkUse> links_of(std::span<transports::Transport* const> transports) {
  std::vector<LinkUse> uses;
  for (transports::Transport* transport : transports) {
    for (transports::Link* link : transport->links()) {
      LinkUse use;
      use.link = link;
      use.counters.name = link->name();
      use.counters.device = link->device();
      use.counters.rate_bytes_per_s = link->rate_bytes_per_s();
      use.counters.peer = link->peer();
      uses.push_back(use);
    }
  }
  return uses;
}

transports::PeerIndex count_ranks(int rank,
                                  const std::vector<PathTo>& paths,
                                  const std::vector<LinkUse>& links) {
  transports::PeerIndex highest = static_cast<transports::PeerIndex>(rank);
  for (const PathTo& path : paths) highest = std::max(highest, path.peer);
  for (const LinkUse& use : links) highest = std::max(highest, use.link->peer());
  return highest + 1;
}

}  // namespace

// Tells a transport's events by the place of a link among those of all transports.
class Mover::State::TransportEvents : public transports::LinkEvents {
 public:
  TransportEvents(State& state, transports::LinkIndex first) : state_(state), first_(first) {}
  std::byte* place(transports::LinkIndex link, const rings::SegmentHeader& header) override {
    return state_.place(first_ + link, header);
  }
  void placed(transports::LinkIndex link,
              const rings::SegmentHeader& header,
              std::byte* payload) override {
    state_.placed(first_ + link, header, payload, {});
  }
  bool wants_sum(const rings::SegmentHeader& header) const override {
    return state_.wants_sum(header);
  }
  void placed_with_sum(transports::LinkIndex link,
                       const rings::SegmentHeader& header,
                       std::byte* payload,
                       uint32_t checksum) override {
    state_.placed(first_ + link, header, payload, checksum);
  }
  void noted(transports::LinkIndex link, std::span<const std::byte> note) override {
    state_.noted(first_ + link, note);
  }
  void sent(transports::LinkIndex link, uint64_t token) override {
    state_.sent(first_ + link, token);
  }
  void lost(transports::LinkIndex link, const Error& cause) override {
    state_.lost(first_ + link, cause);
  }

 private:
  State& state_;
  transports::LinkIndex first_;
};

Mover::State::State(Parts parts)
    : parts_(std::move(parts)),
      links_(links_of(parts_.transports)),
      paths_(links_, parts_.paths, parts_.settings),
      ranks_(count_ranks(parts_.rank, parts_.paths, links_)),
      peers_(ranks_),
      transit_(links_.size(), parts_.settings.transit, parts_.settings.transit_bytes_max) {
  led_to_.resize(links_.size());
  for (const PathTo& path : parts_.paths) led_to_[path.first].push_back(path.peer);
  transports::LinkIndex first = 0;
  for (transports::Transport* transport : parts_.transports) {
    first_link_.push_back(first);
    first += static_cast<transports::LinkIndex>(transport->links().size());
  }
}

rings::Step Mover::State::step() {
  std::vector<Failed> to_report;
  std::vector<std::pair<transports::PeerIndex, Error>> lost_ranks;
  rings::Step answer = rings::Step::kIdle;
  {
    // Those who wait for the lock go first; a mutex alone would let a busy mover take it again and again.
    for (int turn = 0; turn < 64 && waiting_.load() > 0; ++turn) std::this_thread::yield();
    const std::lock_guard lock(step_mutex_);
    gate_.take_news();
    now_ = parts_.now_s();
    for (const transports::LinkIndex link : full_) links_[link].is_full = false;
    full_.clear();
    was_refused_ = false;
    bool has_moved = drain();
    take_news();
    take_due();
    for (size_t i = 0; i < parts_.transports.size(); ++i) {
      TransportEvents events(*this, first_link_[i]);
      has_moved |= parts_.transports[i]->progress(events) == rings::Step::kProgress;
    }
    has_moved |= pass_on();
    has_moved |= send_frames();
    if (now_ >= look_at_) look_around();
    tell_failures();
    tell_last_totals();
    has_moved |= pass_notes();
    has_moved |= send_notes(!has_moved);
    rest();
    if (has_moved) {
      next_due_s_ = now_;
    } else {
      find_next_due();
    }
    const bool has_news = !to_report_.empty() || !lost_ranks_.empty();
    answer = has_moved || has_news ? rings::Step::kProgress : rings::Step::kIdle;
    to_report.swap(to_report_);
    lost_ranks.swap(lost_ranks_);
  }
  for (const auto& [channel, cause] : to_report) parts_.on_failure(channel, cause);
  // After what they said before they went.
  for (const auto& [rank, cause] : lost_ranks) {
    if (parts_.on_lost_rank) parts_.on_lost_rank(rank, cause);
  }
  return answer;
}

void Mover::State::wait(std::chrono::microseconds at_most, std::span<const int> also_fds) {
  const double until_due_s = std::max(0.0, next_due_s_ - parts_.now_s());
  const double at_most_s = std::chrono::duration<double>(at_most).count();
  const double time_s = std::min(until_due_s, at_most_s);
  gate_.wait(parts_.transports,
             also_fds,
             std::chrono::ceil<std::chrono::microseconds>(std::chrono::duration<double>(time_s)));
}

std::string Mover::State::text() const {
  std::string text = fmt::format("mover of rank {}: {} frames under way, {} in transit",
                                 parts_.rank,
                                 under_way_.count(),
                                 transit_.held());
  for (const LinkUse& use : links_) {
    text += fmt::format("\n    {}: own {} passed {} in transit {} bytes {}{}{}",
                        use.counters.name,
                        use.own_frames,
                        use.passed_frames,
                        use.in_transit,
                        use.bytes_under_way,
                        use.is_lost ? " lost" : "",
                        use.is_given_up ? " given up" : "");
  }
  constexpr int kFlowsMax = 32;
  int shown = 0;
  for (const auto& [id, flow] : outgoing_) {
    if (!flow->is_through() && shown++ < kFlowsMax) text += "\n    " + flow->state();
  }
  for (const auto& [id, flow] : incoming_) {
    if (!flow->has_arrived() && shown++ < kFlowsMax) text += "\n    " + flow->state();
  }
  if (shown > kFlowsMax) text += fmt::format("\n    and {} flows more", shown - kFlowsMax);
  return text;
}

std::vector<LinkCounters> Mover::State::counters() {
  const auto lock = lock_between_steps();
  std::vector<LinkCounters> all;
  for (const LinkUse& use : links_) {
    all.push_back(use.counters);
    all.back().frames_under_way = static_cast<uint64_t>(use.own_frames + use.passed_frames);
    all.back().bytes_under_way = use.bytes_under_way;
  }
  return all;
}

std::vector<MovedFlowCounters> Mover::State::flow_counters(uint64_t channel) {
  const auto lock = lock_between_steps();
  std::vector<MovedFlowCounters> all;
  for (const auto& flow : outgoing_of(channel)) all.push_back(flow->counters);
  return all;
}

bool Mover::State::is_settled() {
  const auto lock = lock_between_steps();
  drain();
  const auto is_known = [](const auto& entry) { return entry.second.unaware.empty(); };
  const auto is_quiet = [](const Peer& peer) {
    return peer.answers.empty() && peer.passing.empty();
  };
  // Of flows that are still here, too: a process may end before their channel is closed.
  const auto is_end_known = [](const auto& entry) {
    return !rings::total_of(entry.second->moved().flow).is_known || entry.second->is_total_seen();
  };
  return last_totals_.empty() && std::ranges::all_of(outgoing_, is_end_known) &&
         std::ranges::all_of(failures_, is_known) && std::ranges::all_of(peers_, is_quiet) &&
         under_way_.count() == 0 && placements_.empty();
}

Mover::Mover(Parts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Mover::~Mover() = default;

void Mover::add_outgoing(MovedFlow flow) {
  state_->command(AddFlow{.flow = std::move(flow), .is_outgoing = true});
}
void Mover::add_incoming(MovedFlow flow) {
  state_->command(AddFlow{.flow = std::move(flow), .is_outgoing = false});
}
void Mover::remove(uint64_t channel) { state_->remove(channel); }
void Mover::fail(uint64_t channel, const Error& cause) {
  state_->command(FailChannel{.channel = channel, .cause = cause});
}
Status Mover::ready() const { return state_->gate().ready(); }
void Mover::wake() { state_->wake(); }
void Mover::wake(std::span<const FlowId> flows) { state_->wake(flows); }
rings::Step Mover::step() { return state_->step(); }
std::string Mover::state() const { return state_->text(); }
double Mover::next_due_s() const { return state_->next_due_s(); }
void Mover::wait(std::chrono::microseconds at_most, std::span<const int> also_fds) {
  state_->wait(at_most, also_fds);
}
std::vector<LinkCounters> Mover::counters() const { return state_->counters(); }
std::vector<MovedFlowCounters> Mover::flow_counters(uint64_t channel) const {
  return state_->flow_counters(channel);
}
bool Mover::is_settled() const { return state_->is_settled(); }

}  // namespace crossdock::movers
