// Senders that name the relay and carry the destination, and receivers that relay before they take.
#include "data/channels/two_level.hpp"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "data/channels/channel_router.hpp"
#include "data/channels/relay.hpp"

namespace crossdock::channels {
namespace {

constexpr std::chrono::microseconds kLongestSleep{500};  // a relay may be needed meanwhile

// The two channels and this process's relays; shared by the channel and its ends.
struct Stages {
  Stages(ChannelSpec channel, LevelPlan planned)
      : spec(std::move(channel)), plan(std::move(planned)) {}

  // By any thread that has a moment: one relay after the other.
  Status turn_any() {
    if (local.empty()) return {};
    return turn(local[next.fetch_add(1, std::memory_order_relaxed) % local.size()]);
  }
  Status turn(int destination) {
    Status turned = relays[destination]->step();
    if (!turned.ok()) close(turned.error());
    return turned;
  }
  void close(const Error& cause) const {
    if (const auto open = first.lock()) open->close(cause);
    if (const auto open = second.lock()) open->close(cause);
  }

  const ChannelSpec spec;
  const LevelPlan plan;
  // Owned by the channel: dropping it ends both, whichever still sends or receives.
  std::weak_ptr<Channel> first;
  std::weak_ptr<Channel> second;
  std::vector<std::unique_ptr<Relay>> relays;  // per destination; null where it is another rank's
  std::vector<int> local;                      // destinations with a relay here
  std::atomic<uint32_t> next{0};
};

class TwoLevelSender : public Sender {
 public:
  TwoLevelSender(std::shared_ptr<Stages> stages,
                 int source,
                 std::unique_ptr<sorters::RowRouter> router,
                 std::unique_ptr<Sender> first)
      : stages_(std::move(stages)), router_(std::move(router)), first_(std::move(first)) {
    const size_t destinations = stages_->spec.destination_ranks.size();
    for (size_t i = 0; i < destinations; ++i) {
      relay_of_.push_back(stages_->plan.relay(source, static_cast<int>(i)));
    }
  }

  Result<int64_t> send(const Batch& rows) override {
    if (router_ == nullptr) {
      return make_error(ErrorCode::kInvalidArgument,
                        "the channel's rows go where their sender says; use send_to or send_each");
    }
    CD_ASSIGN(const bool is_free, advance());
    if (!is_free) return 0;
    destinations_.resize(static_cast<size_t>(rows.rows));
    CD_TRY(router_->route(rows, 0, destinations_));
    return send_free(rows, destinations_);
  }

  Result<int64_t> send_to(const Batch& rows, int destination) override {
    CD_ASSIGN(const bool is_free, advance());
    if (!is_free) return 0;
    CD_TRY(check(destination));
    destinations_.assign(static_cast<size_t>(rows.rows), static_cast<uint16_t>(destination));
    return send_free(rows, destinations_);
  }

  Result<int64_t> send_each(const Batch& rows,
                            std::span<const uint16_t> destinations,
                            std::span<const uint16_t> carried) override {
    if (!carried.empty()) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "rows of a shuffle in two levels carry their destination; they cannot carry more");
    }
    CD_ASSIGN(const bool is_free, advance());
    if (!is_free) return 0;
    for (const uint16_t destination : destinations) CD_TRY(check(destination));
    return send_free(rows, destinations);
  }

  Result<bool> advance() override {
    CD_TRY(stages_->turn_any());
    return first_->advance();
  }

  Status flush_begin() override { return first_->flush_begin(); }

  Result<bool> flush_done() override {
    CD_TRY(stages_->turn_any());
    return first_->flush_done();
  }

  void wait(std::chrono::microseconds at_most) override {
    first_->wait(std::min(at_most, kLongestSleep));
  }

 private:
  Status check(int destination) const {
    if (destination >= 0 && static_cast<size_t>(destination) < relay_of_.size()) return {};
    return make_error(ErrorCode::kValueOutOfRange,
                      "rows are to go to destination {}; the channel has 0 to {}",
                      destination,
                      relay_of_.size() - 1);
  }

  Result<int64_t> send_free(const Batch& rows, std::span<const uint16_t> destinations) {
    outlets_.resize(destinations.size());
    std::ranges::transform(
        destinations, outlets_.begin(), [this](uint16_t to) { return relay_of_[to]; });
    return first_->send_each(rows, outlets_, destinations);
  }

  std::shared_ptr<Stages> stages_;
  std::unique_ptr<sorters::RowRouter> router_;  // null: rows are named
  std::unique_ptr<Sender> first_;
  std::vector<uint16_t> relay_of_;      // per destination
  std::vector<uint16_t> destinations_;  // of the batch, as are the outlets
  std::vector<uint16_t> outlets_;
};

class TwoLevelReceiver : public Receiver {
 public:
  TwoLevelReceiver(std::shared_ptr<Stages> stages,
                   int destination,
                   std::unique_ptr<Receiver> second)
      : stages_(std::move(stages)), destination_(destination), second_(std::move(second)) {}

  Result<Received> recv() override {
    CD_TRY(stages_->turn(destination_));
    return second_->recv();
  }

  void wait(std::chrono::microseconds at_most) override {
    second_->wait(std::min(at_most, kLongestSleep));
  }

 private:
  std::shared_ptr<Stages> stages_;
  int destination_;
  std::unique_ptr<Receiver> second_;
};

class TwoLevelChannel : public Channel {
 public:
  TwoLevelChannel(std::shared_ptr<Stages> stages,
                  std::shared_ptr<Channel> first,
                  std::shared_ptr<Channel> second)
      : stages_(std::move(stages)), first_(std::move(first)), second_(std::move(second)) {}

  uint64_t id() const override { return stages_->spec.id; }
  const segments::RowLayout& layout() const override { return second_->layout(); }

  Result<std::unique_ptr<Sender>> open_sender(int source) override {
    CD_ASSIGN(auto first, first_->open_sender(source));
    std::unique_ptr<sorters::RowRouter> router;
    if (stages_->spec.sends == ChannelSpec::Sends::kRouted) {
      sorters::RouteSpec route = stages_->spec.route;
      route.destinations = static_cast<int>(stages_->spec.destination_ranks.size());
      CD_ASSIGN(router, make_channel_router(stages_->spec.schema, std::move(route)));
    }
    return std::unique_ptr<Sender>(
        std::make_unique<TwoLevelSender>(stages_, source, std::move(router), std::move(first)));
  }

  Result<std::unique_ptr<Receiver>> open_receiver(int destination) override {
    CD_ASSIGN(auto second, second_->open_receiver(destination));
    return std::unique_ptr<Receiver>(
        std::make_unique<TwoLevelReceiver>(stages_, destination, std::move(second)));
  }

  void close(const Error& cause) override { stages_->close(cause); }

  Result<bool> is_ready() const override {
    CD_ASSIGN(const bool is_first, first_->is_ready());
    CD_ASSIGN(const bool is_second, second_->is_ready());
    return is_first && is_second;
  }

  ChannelCounters counters() const override {
    ChannelCounters counters = first_->counters();
    const ChannelCounters second = second_->counters();
    for (FlowCounters flow : second.flows) {
      flow.level = 2;
      counters.flows.push_back(flow);
    }
    counters.refused += second.refused;
    return counters;
  }

  int64_t memory_bytes() const override { return first_->memory_bytes() + second_->memory_bytes(); }

 private:
  std::shared_ptr<Stages> stages_;
  std::shared_ptr<Channel> first_;
  std::shared_ptr<Channel> second_;
};

ChannelSpec first_of(const ChannelSpec& spec, const LevelPlan& plan) {
  ChannelSpec first = spec;
  first.sends = ChannelSpec::Sends::kNamed;
  first.segment.has_destinations = true;
  first.memory_bytes_max = spec.memory_bytes_max / 2;
  for (size_t source = 0; source < spec.source_ranks.size(); ++source) {
    first.reach.push_back(plan.relays_of(static_cast<int>(source)));
  }
  return first;
}

ChannelSpec second_of(const ChannelSpec& spec, const LevelPlan& plan, SchemaPtr received) {
  ChannelSpec second = spec;
  second.id = spec.id | kSecondLevel;
  second.schema = std::move(received);
  second.sends = ChannelSpec::Sends::kNamed;
  second.source_ranks = spec.destination_ranks;
  second.senders_per_source = 1;
  second.memory_bytes_max = spec.memory_bytes_max / 2;
  for (size_t relay = 0; relay < spec.destination_ranks.size(); ++relay) {
    second.reach.push_back(plan.beside(static_cast<int>(relay)));
  }
  return second;
}

Status open_relays(Stages& stages, Channel& first, Channel& second, int rank) {
  const std::vector<int>& ranks = stages.spec.destination_ranks;
  stages.relays.resize(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != rank) continue;
    CD_ASSIGN(auto receiver, first.open_receiver(static_cast<int>(i)));
    CD_ASSIGN(auto sender, second.open_sender(static_cast<int>(i)));
    stages.relays[i] = std::make_unique<Relay>(std::move(receiver), std::move(sender));
    stages.local.push_back(static_cast<int>(i));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Channel>> create_two_level(DataPlane& plane,
                                                  const ChannelSpec& spec,
                                                  const NodePlacement& placement) {
  if (spec.sends == ChannelSpec::Sends::kBroadcast) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a broadcast in two levels is wanted; it crosses to each process once in any "
                      "case: ask for one level");
  }
  if (!spec.reach.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {}: a shuffle in two levels chooses who sends to whom itself; leave "
                      "`reach` empty",
                      spec.id);
  }
  if (placement.of_source.size() != spec.source_ranks.size() ||
      placement.of_destination.size() != spec.destination_ranks.size()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {} has {} sources and {} destinations, and nodes are given for {} "
                      "and {}",
                      spec.id,
                      spec.source_ranks.size(),
                      spec.destination_ranks.size(),
                      placement.of_source.size(),
                      placement.of_destination.size());
  }
  CD_ASSIGN(LevelPlan plan, LevelPlan::make(placement));
  auto stages = std::make_shared<Stages>(spec, std::move(plan));
  CD_ASSIGN(auto first, plane.create_channel(first_of(spec, stages->plan)));
  const SchemaPtr received = first->layout().received_schema();
  auto second = plane.create_channel(second_of(spec, stages->plan, received));
  if (!second.ok()) {
    first->close(second.error());
    return second.error();
  }
  stages->first = first;
  stages->second = second.value();
  const Status opened = open_relays(*stages, *first, *second.value(), plane.rank());
  if (!opened.ok()) {
    stages->close(opened.error());
    return opened.error();
  }
  return std::shared_ptr<Channel>(std::make_shared<TwoLevelChannel>(
      std::move(stages), std::move(first), std::move(second.value())));
}

}  // namespace crossdock::channels
