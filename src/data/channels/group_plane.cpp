// Meets the other ranks, opens parts of channels with them, and misses those that end.
#include "data/channels/group_plane.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/short_slices.hpp"
#include "data/channels/channel_proposal.hpp"
#include "data/channels/local_channel.hpp"
#include "data/channels/part_notes.hpp"
#include "data/ranks/agreement.hpp"

namespace crossdock::channels {
namespace {

using std::chrono::milliseconds;

// A plan of the control plane, given back when the channel is over here, also if it was never opened.
class KeptPlan {
 public:
  KeptPlan(std::shared_ptr<ranks::RankGroup> group, std::string name)
      : group_(std::move(group)), name_(std::move(name)) {}
  ~KeptPlan() {
    if (home_.is_here()) end();
  }
  KeptPlan(const KeptPlan&) = delete;
  KeptPlan& operator=(const KeptPlan&) = delete;
  void end() const { group_->planner()->end(name_); }

 private:
  const HomeProcess home_;
  std::shared_ptr<ranks::RankGroup> group_;
  std::string name_;
};

milliseconds milliseconds_of(double s) { return milliseconds(static_cast<int64_t>(s * 1000)); }

std::vector<int> ranks_of(std::vector<int> ends) {
  std::ranges::sort(ends);
  const auto again = std::ranges::unique(ends);
  ends.erase(again.begin(), again.end());
  return ends;
}

}  // namespace

GroupPlane::GroupPlane(std::shared_ptr<Memory> memory,
                       std::shared_ptr<ranks::RankGroup> group,
                       DataPlaneSettings settings)
    : memory_(std::move(memory)),
      group_(std::move(group)),
      settings_(std::move(settings)),
      open_within_(milliseconds_of(settings_.open_within_s)) {
  voice_->plane = this;
}

Result<std::unique_ptr<DataPlane>> GroupPlane::open(std::shared_ptr<Memory> memory,
                                                    std::shared_ptr<ranks::RankGroup> group,
                                                    DataPlaneSettings settings) {
  auto plane = std::unique_ptr<GroupPlane>(
      new GroupPlane(std::move(memory), std::move(group), std::move(settings)));
  CD_TRY(plane->meet());
  CD_TRY(plane->start_watching());
  return std::unique_ptr<DataPlane>(std::move(plane));
}

bool GroupPlane::is_neighbour(int other) const {
  return other != rank() &&
         host_of_rank_[static_cast<size_t>(other)] == host_of_rank_[static_cast<size_t>(rank())];
}

Status GroupPlane::start_watching() {
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_fd_ < 0) {
    return make_error(
        ErrorCode::kProbeFailed, "the system gives no eventfd: {}", std::strerror(errno));
  }
  watcher_ = std::make_unique<std::thread>([this] { watch(); });
  return {};
}

// What has threads, or speaks over connections that are the other process's, is not touched: also not to destroy it.
void GroupPlane::leave_copy() {
  (void)watcher_.release();
  (void)attached_.release();
  (void)new std::shared_ptr<ranks::RankGroup>(
      group_);  // it may have threads of its own, which are not here
  if (host_links_ != nullptr) (void)new std::shared_ptr<HostLinks>(std::move(host_links_));
}

// What the mover has heard of: of a channel, of a rank that others have a link to, or of the group.
void GroupPlane::take_failure(uint64_t channel, const Error& cause) {
  if (channel == kGroupIsOver) return end_here(cause);
  if (channel >= kLostRanks) {
    losses_.lose(static_cast<int>(channel - kLostRanks), cause);
    wake_openers();
    return;
  }
  {
    // Known before anybody is woken, who may destroy this plane and would wait for the lost rank.
    const std::lock_guard lock(mutex_);
    has_lost_rank_ |= cause.code == ErrorCode::kAgentLost;
  }
  if (const auto core = channels_.find(channel)) core->close(cause);
  wake_openers();
}

// A rank of another host, whose channels the mover ends.
void GroupPlane::lose(int rank, const Error& cause) {
  const Error named =
      make_error(cause.code,
                 "rank {} ({}) has ended, or its host is cut off: {}; its own output may say why",
                 rank,
                 losses_.place(rank),
                 cause.message);
  losses_.lose(rank, named);
  if (!host_links_->are_all_linked())
    host_links_->mover().fail(kLostRanks + static_cast<uint64_t>(rank), named);
  wake_openers();
}

void GroupPlane::wake_openers() {
  const std::lock_guard lock(mutex_);
  attached_->notify_all();
}

void GroupPlane::end_here(const Error& cause) {
  losses_.end(cause);
  for (const auto& core : channels_.open_ones()) core->close(cause, false);
  wake_openers();
}

void GroupPlane::abort(const std::string& reason) {
  if (!home_.is_here()) return;
  const Error cause =
      make_error(ErrorCode::kAgentLost, "rank {} has ended the group: {}", rank(), reason);
  end_here(cause);
  say_over(kGroupIsOver, cause, [](int) { return true; });
}

GroupPlane::~GroupPlane() {
  if (!home_.is_here()) {
    leave_copy();
    if (stop_fd_ >= 0) ::close(stop_fd_);
    return;
  }
  for (const auto& core : channels_.open_ones()) {
    if (core->is_through()) continue;
    core->close(make_error(ErrorCode::kChannelClosed,
                           "rank {} closed its data plane before channel {} was through",
                           rank(),
                           core->plan().spec().id));
  }
  // A rank that sees this one leave learns whose loss was the reason.
  if (const auto first = losses_.first(); first.has_value() && watcher_ != nullptr) {
    const auto lost = static_cast<uint64_t>(first->rank);
    say_over(kLostRanks + lost, first->cause, [](int) { return true; });
  }
  if (host_links_ != nullptr && watcher_ != nullptr) settle();
  {
    const std::lock_guard lock(voice_->mutex);
    voice_->plane = nullptr;
  }
  if (watcher_ != nullptr) {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    ::eventfd_write(stop_fd_, 1);
    watcher_->join();
  }
  if (stop_fd_ >= 0) ::close(stop_fd_);
  group_->set_liveness({});
}

// What the peers have to know is sent and acknowledged before links end, within limits: a peer that misses the end of a
// channel would see a lost link instead. By then all channels are through or over.
void GroupPlane::settle() {
  // Twice the time between keepalives of who still needs something.
  constexpr auto kAtMost = milliseconds(2000);
  const auto begin = std::chrono::steady_clock::now();
  const auto until = begin + kAtMost;
  uint64_t passed = host_links_->passed_on();
  while (!host_links_->mover().is_settled() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  bool would_all_come = losses_.is_none();
  {
    const std::lock_guard lock(mutex_);
    would_all_come &= !has_lost_rank_;
  }
  // Who does not come is late or dead, and is not waited for any longer.
  const Error leaves =
      make_error(ErrorCode::kChannelClosed, "rank {} has closed its data plane", rank());
  if (would_all_come && group_->gather(ranks::passed_text(leaves), kAtMost).ok()) return;
  // Others may speak through this rank still; while they need each other, they say something every second.
  for (auto next = until; host_links_->is_relay(); next += kAtMost) {
    std::this_thread::sleep_until(next);
    if (std::exchange(passed, host_links_->passed_on()) == passed) return;
  }
}

void GroupPlane::watch() {
  ask_for_short_slices();
  std::vector<int> fds{stop_fd_};
  if (neighbours_ != nullptr) fds.push_back(neighbours_->wait_fd());
  std::vector<pollfd> ready;
  for (const int fd : fds) ready.push_back({fd, POLLIN, 0});
  while (true) {
    if (neighbours_ != nullptr) neighbours_->progress(*this);
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return;
    }
    if (host_links_ != nullptr) {
      host_links_->turn(fds);
    } else {
      ::poll(ready.data(), ready.size(), -1);
    }
  }
}

Result<GroupPlane::OwnPart> GroupPlane::make_part(const ChannelSpec& spec) {
  CD_ASSIGN(auto plan, ChannelLayout::make(spec, host_of_rank_));
  CD_TRY(plan->check_memory(rank()));
  const PartPlan part = plan->part_of(rank());
  if (host_links_ != nullptr) CD_TRY(host_links_->check(*plan));
  const uint64_t bytes = std::max(part.bytes, rings::kRingLineBytes);
  const int host = host_of_rank_[static_cast<size_t>(rank())];
  const bool is_alone = std::ranges::count(host_of_rank_, host) == 1;
  OwnPart opened;
  CD_ASSIGN(
      opened.memory,
      is_alone ? own_part_memory(*memory_, bytes, spec.id) : shared_memory(bytes, spec.id, opened));
  CD_ASSIGN(auto core, ChannelCore::make(plan, rank(), opened.memory));
  core->set_on_close([voice = voice_, plan](const Error& cause) {
    const std::lock_guard lock(voice->mutex);
    if (voice->plane != nullptr) voice->plane->tell_over(*plan, cause);
  });
  if (host_links_ != nullptr) {
    // Channels outlive the plane, and links end with it: what comes after is heard by no rank.
    const std::weak_ptr<HostLinks> weak = host_links_;
    core->set_wake_mover([weak](std::span<const movers::FlowId> flows) {
      if (const auto links = weak.lock()) links->mover().wake(flows);
    });
    core->set_moved_counters([weak, id = spec.id] {
      const auto links = weak.lock();
      return links ? links->mover().flow_counters(id) : std::vector<movers::MovedFlowCounters>();
    });
    core->set_on_retire([weak, id = spec.id] {
      if (const auto links = weak.lock()) links->mover().remove(id);
    });
  }
  opened.core = std::move(core);
  return opened;
}

Result<PartMemory> GroupPlane::shared_memory(uint64_t bytes, uint64_t channel, OwnPart& part) {
  const auto size = static_cast<int64_t>(bytes);
  CD_ASSIGN(auto charge, memory_->charge(size, fmt::format("channel {}", channel)));
  CD_ASSIGN(part.region, transports::SharedRegion::create(size));
  using Owners = std::pair<std::shared_ptr<const void>, std::shared_ptr<transports::SharedRegion>>;
  return PartMemory{.bytes = part.region->bytes(),
                    .keep = std::make_shared<Owners>(std::move(charge), part.region),
                    .is_fresh = true};
}

// A channel inside one host has no wires to choose from.
Status GroupPlane::plan_paths(OwnPart& part) {
  ranks::ChannelPlanner* const planner = group_->planner();
  if (planner == nullptr || host_links_ == nullptr) return {};
  const ChannelSpec& spec = part.core->plan().spec();
  CD_ASSIGN(const ranks::PlannedChannel planned,
            planner->plan({ranks_of(spec.source_ranks), ranks_of(spec.destination_ranks)},
                          open_within()));
  const std::weak_ptr<HostLinks> weak = host_links_;
  part.core->set_on_retire(
      [weak, id = spec.id, kept = std::make_shared<const KeptPlan>(group_, planned.name)] {
        if (const auto links = weak.lock()) links->mover().remove(id);
        kept->end();
      });
  CD_ASSIGN(part.paths, host_links_->planned_paths(planned));
  return {};
}

// From here on the others can reach the part.
Status GroupPlane::publish_part(const OwnPart& part) {
  const uint64_t id = part.core->plan().spec().id;
  std::vector<EarlyPart> early;
  {
    const std::lock_guard lock(
        mutex_);  // what comes goes to the core from now on, and what came is found here
    CD_TRY(channels_.add(part.core));
    early = early_.take(id);
  }
  if (host_links_ != nullptr) host_links_->add_flows(*part.core, part.memory, part.paths);
  for (EarlyPart& one : early) {
    if (one.region == nullptr) {
      part.core->close(one.cause, false);
    } else {
      attach(part.core, one.peer, std::move(one.region));
    }
  }
  if (const Status going = losses_.check_group(); !going.ok()) {
    part.core->close(going.error(), false);
    return going;
  }
  for (const int peer : part.core->peers()) {
    if (const Status alive = losses_.check(peer); !alive.ok()) {
      part.core->close(alive.error());
      return alive;
    }
    if (!is_neighbour(peer)) continue;
    const Status said = neighbours_->say(static_cast<transports::PeerIndex>(peer),
                                         note_text({PartNote::Kind::kPart, id, {}}),
                                         part.region.get());
    if (said.ok()) continue;
    part.core->close(said.error());
    return said.error();
  }
  return {};
}

Result<std::shared_ptr<Channel>> GroupPlane::open_part(const ChannelSpec& spec) {
  CD_TRY(home_.check(fmt::format("rank {} of a group", rank())));
  CD_ASSIGN(const OwnPart part, make_part(spec));
  CD_TRY(publish_part(part));
  return std::shared_ptr<Channel>(std::make_shared<LocalChannel>(part.core));
}

// A rank may have tried more often than others to open channels, and so have other numbers for them. The highest holds,
// which no rank has used; further ones are counted from there.
Result<GroupPlane::OwnPart> GroupPlane::agree_on_part(ChannelSpec& spec) {
  const uint64_t given_id = spec.id;
  spec.id += skipped_ids_;
  Result<OwnPart> part = make_part(spec);
  const ChannelProposal mine{spec.id, part.ok() ? part.value().core->plan().digest() : 0};
  const auto proposed =
      part.ok() ? Result<std::string>(mine.text()) : Result<std::string>(part.error());
  CD_ASSIGN(const std::vector<std::string> proposals,
            ranks::agree(*group_, proposed, open_within()));
  bool is_renumbered = false;
  for (size_t other = 0; other < proposals.size(); ++other) {
    CD_ASSIGN(const ChannelProposal proposal, ChannelProposal::parse(proposals[other]));
    if (proposal.digest != mine.digest) {
      return make_error(ErrorCode::kInvalidArgument,
                        "channel {} is another one on rank {} than on rank {}; all ranks have to "
                        "create the same channels in the same order",
                        mine.id,
                        other,
                        rank());
    }
    is_renumbered |= proposal.id != mine.id;
    spec.id = std::max(spec.id, proposal.id);
  }
  if (!is_renumbered) return part;
  skipped_ids_ = spec.id - given_id;
  part = make_error(ErrorCode::kInternal, "not made yet");  // gives its memory back
  part = make_part(spec);
  CD_TRY(ranks::agree(*group_, part.ok() ? Result<std::string>("") : part.error(), open_within()));
  return part;
}

Result<std::shared_ptr<Channel>> GroupPlane::create_channel(const ChannelSpec& asked) {
  CD_TRY(home_.check(fmt::format("rank {} of a group", rank())));
  group_->begin();
  ChannelSpec spec = asked;
  open_within_ =
      milliseconds_of(spec.open_within_s > 0 ? spec.open_within_s : settings_.open_within_s);
  Result<OwnPart> part = agree_on_part(spec);
  if (!part.ok()) return part.error();
  Status opened = plan_paths(part.value());
  if (opened.ok()) opened = publish_part(part.value());
  // A part whose id another channel has is no channel's: ending it as a channel would end the other.
  std::shared_ptr<LocalChannel> channel;
  if (channels_.find(spec.id) == part.value().core) {
    channel = std::make_shared<LocalChannel>(part.value().core);
  }
  if (opened.ok()) opened = wait_until_attached(*part.value().core);
  Result<std::string> ready = std::string("ready");
  if (!opened.ok()) ready = opened.error();
  CD_TRY(ranks::agree(*group_, ready, open_within()));
  return std::shared_ptr<Channel>(std::move(channel));
}

Status GroupPlane::wait_until_attached(const ChannelCore& core) {
  std::unique_lock lock(mutex_);
  const auto is_decided = [&core] { return core.is_attached() || core.is_over(); };
  if (!attached_->wait_for(lock, step_within(), is_decided)) {
    return make_error(ErrorCode::kAgentLost,
                      "channel {}: ranks {} have not passed their parts within {} s",
                      core.plan().spec().id,
                      fmt::join(core.missing_neighbours(), ", "),
                      static_cast<double>(step_within().count()) * 1e-3);
  }
  lock.unlock();
  return core.check();
}

void GroupPlane::attach(const std::shared_ptr<ChannelCore>& core,
                        int peer,
                        std::shared_ptr<transports::SharedRegion> region) {
  const std::span<std::byte> bytes = region->bytes();
  const Status attached =
      core->attach(peer, {.bytes = bytes, .keep = std::move(region), .is_fresh = true});
  if (!attached.ok()) core->close(attached.error());
  wake_openers();
}

void GroupPlane::received(transports::PeerIndex peer,
                          const std::string& text,
                          std::unique_ptr<transports::SharedRegion> region) {
  const auto note = parse_note(text);
  if (note && note->channel >= kGroupNotes) return take_failure(note->channel, note->cause);
  if (!note || (note->kind == PartNote::Kind::kPart) != (region != nullptr)) return;
  std::shared_ptr<ChannelCore> core;
  std::optional<EarlyPart> refused;
  {
    const std::lock_guard lock(mutex_);
    core = channels_.find(note->channel);
    if (core == nullptr) {
      refused = early_.add({note->channel, static_cast<int>(peer), std::move(region), note->cause});
    }
  }
  if (refused) refuse_early(*refused);
  if (core == nullptr) return;
  if (region != nullptr) {
    attach(core, static_cast<int>(peer), std::move(region));
    return;
  }
  core->close(note->cause, false);
  wake_openers();
}

void GroupPlane::gone(transports::PeerIndex peer, const Error& cause) {
  const int rank_gone = static_cast<int>(peer);
  losses_.lose(rank_gone, cause);
  {
    const std::lock_guard lock(mutex_);
    early_.forget(rank_gone);
  }
  for (const auto& core : channels_.open_ones()) {
    if (core->is_through_with(rank_gone)) continue;
    core->close(cause);
  }
  wake_openers();
}

std::vector<movers::LinkCounters> GroupPlane::links() const {
  if (host_links_ == nullptr || !home_.is_here()) return {};
  return host_links_->mover().counters();
}

// The holder of the channel waits for this process, which has no room for parts that it may never want.
void GroupPlane::refuse_early(const EarlyPart& part) {
  say_over(part.channel, part.cause, [](int) { return true; });
}

void GroupPlane::tell_over(const ChannelLayout& plan, const Error& cause) {
  say_over(plan.spec().id, cause, [&plan](int peer) { return plan.has_end(peer); });
}

// To all ranks of other hosts, and to those of this one that are concerned.
void GroupPlane::say_over(uint64_t channel,
                          const Error& cause,
                          const std::function<bool(int)>& concerns) {
  if (host_links_ != nullptr) host_links_->mover().fail(channel, cause);
  const std::string note = note_text({PartNote::Kind::kOver, channel, cause});
  for (int peer = 0; peer < ranks(); ++peer) {
    if (!is_neighbour(peer) || !concerns(peer)) continue;
    // One that is gone needs no telling.
    (void)neighbours_->say(static_cast<transports::PeerIndex>(peer), note, nullptr);
  }
}

}  // namespace crossdock::channels
