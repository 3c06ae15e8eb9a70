// Makes channels of any shape, with their senders and receivers.
#include "data/channels/channel_world.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace crossdock::channels {
namespace {

using Sends = ChannelSpec::Sends;

template <class T>
T must(Result<T> result) {
  CD_CHECK(result.ok(), "{}", result.error().message);
  return std::move(result.value());
}

// Where a sender that names destinations sends a row: any rule would do.
uint16_t named(const std::vector<uint16_t>& reach, int64_t key) {
  return reach[static_cast<size_t>(key / 3) % reach.size()];
}

std::vector<uint16_t> all_of(int destinations) {
  std::vector<uint16_t> all;
  for (int at = 0; at < destinations; ++at) all.push_back(static_cast<uint16_t>(at));
  return all;
}

// Names the destination of every second batch as a whole, else of every row.
SendingActor::Send naming(std::vector<uint16_t> reach) {
  return [reach = std::move(reach)](Sender& sender, const Batch& batch, size_t number) {
    if (number % 2 == 1) return sender.send_to(batch, reach[number % reach.size()]);
    std::vector<uint16_t> destinations;
    for (int64_t row = 0; row < batch.rows; ++row) {
      destinations.push_back(named(reach, batch.columns[0].data<int64_t>()[row]));
    }
    return sender.send_each(batch, destinations, {});
  };
}

}  // namespace

std::string Trial::text() const {
  return fmt::format(
      "seed {}: {} sources of {} senders, {} destinations of {} receivers, sends {}, kind {}, 2^{} "
      "slots, segments of {} bytes, {} batches of up to {} rows, {} held, skewed {}, reach {}, "
      "endpoints {}",
      seed,
      sources,
      senders,
      destinations,
      receivers,
      static_cast<int>(sends),
      static_cast<int>(kind),
      slot_bits,
      segment_bytes,
      batches,
      rows_max,
      held_max,
      is_skewed,
      is_reach_random,
      are_endpoints);
}

Trial random_trial(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto from = [&random](int least, int most) {
    return least + static_cast<int>(random() % static_cast<uint64_t>(most - least + 1));
  };
  Trial trial;
  trial.seed = seed;
  trial.sources = from(1, 5);
  trial.destinations = from(1, 5);
  trial.sends = static_cast<Sends>(from(0, 2));
  trial.kind = kRowKinds[from(0, 3)];
  trial.slot_bits = from(0, 3);
  trial.segment_bytes = from(0, 1) == 0 ? 8192 : 16'384;
  trial.senders = from(1, 3);
  trial.receivers = from(1, 3);
  trial.batches = from(0, 4);
  trial.rows_max = from(0, 1) == 0 ? 300 : 2000;
  trial.held_max = from(0, 5);
  trial.is_skewed = from(0, 2) == 0;
  trial.is_reach_random = from(0, 1) == 0;
  trial.are_endpoints = from(0, 2) == 0;
  if (trial.are_endpoints) {
    trial.destinations = trial.sources;
    trial.senders = trial.receivers = 1;
  }
  return trial;
}

ChannelWorld::ChannelWorld(const Trial& trial, std::shared_ptr<Memory> memory) : trial_(trial) {
  std::mt19937_64 random(trial.seed);
  if (memory == nullptr) memory = Memory::create(int64_t{1} << 30);
  plane_ = must(DataPlane::open(std::move(memory), nullptr, {}));
  spec_.id = trial.seed;
  spec_.schema = rows_schema(trial.kind);
  spec_.source_ranks.assign(static_cast<size_t>(trial.sources), 0);
  spec_.destination_ranks.assign(static_cast<size_t>(trial.destinations), 0);
  spec_.sends = trial.sends;
  spec_.route.keys = {0};
  spec_.senders_per_source = trial.senders;
  spec_.segment.segment_bytes = trial.segment_bytes;
  spec_.slot_bits = trial.slot_bits;
  if (trial.is_reach_random && trial.sends == Sends::kNamed) spec_.reach = random_reach(random);
  expected_.resize(static_cast<size_t>(trial.destinations));
  make_input(random);
  channel_ = must(plane_->create_channel(spec_));
  if (trial.are_endpoints) {
    for (int at = 0; at < trial.sources; ++at) {
      actors_.push_back(std::make_unique<EndpointActor>(make_sending(at, 0), make_taking(at)));
    }
    return;
  }
  for (int at = 0; at < trial.sources * trial.senders; ++at) {
    actors_.push_back(make_sending(at / trial.senders, at % trial.senders));
  }
  for (int at = 0; at < trial.destinations * trial.receivers; ++at) {
    actors_.push_back(make_taking(at / trial.receivers));
  }
}

std::vector<std::vector<uint16_t>> ChannelWorld::random_reach(std::mt19937_64& random) const {
  std::vector<std::vector<uint16_t>> reach(static_cast<size_t>(trial_.sources));
  for (auto& of_source : reach) {
    for (int at = 0; at < trial_.destinations; ++at) {
      if (random() % 2 == 0) of_source.push_back(static_cast<uint16_t>(at));
    }
    if (of_source.empty()) of_source.push_back(0);
  }
  return reach;
}

void ChannelWorld::make_input(std::mt19937_64& random) {
  int64_t next_key = 0;
  input_.resize(static_cast<size_t>(trial_.sources));
  for (int source = 0; source < trial_.sources; ++source) {
    auto& senders = input_[static_cast<size_t>(source)];
    for (int sender = 0; sender < trial_.senders; ++sender) {
      auto& batches = senders.emplace_back();
      // Every third source has no rows at all.
      const int count = source % 3 == 2 ? 0 : trial_.batches;
      for (int number = 0; number < count; ++number) {
        std::vector<int64_t> keys(random() % static_cast<uint64_t>(trial_.rows_max + 1));
        for (int64_t& key : keys) {
          key = trial_.is_skewed && random() % 10 != 0 ? 7 : next_key++;
          expect(source, key, static_cast<size_t>(number));
        }
        batches.push_back(make_rows(trial_.kind, keys));
      }
    }
  }
}

void ChannelWorld::expect(int source, int64_t key, size_t batch) {
  const auto destinations = static_cast<uint64_t>(trial_.destinations);
  if (trial_.sends == Sends::kBroadcast) {
    for (auto& keys : expected_) keys.push_back(key);
    return;
  }
  if (trial_.sends == Sends::kRouted) {
    expected_[static_cast<uint64_t>(key) % destinations].push_back(key);
    return;
  }
  const auto reach =
      spec_.reach.empty() ? all_of(trial_.destinations) : spec_.reach[static_cast<size_t>(source)];
  const uint16_t to = batch % 2 == 1 ? reach[batch % reach.size()] : named(reach, key);
  expected_[to].push_back(key);
}

std::unique_ptr<SendingActor> ChannelWorld::make_sending(int source, int sender) {
  SendingActor::Send send;
  if (trial_.sends == Sends::kNamed) {
    send = naming(spec_.reach.empty() ? all_of(trial_.destinations)
                                      : spec_.reach[static_cast<size_t>(source)]);
  }
  auto& batches = input_[static_cast<size_t>(source)][static_cast<size_t>(sender)];
  return std::make_unique<SendingActor>(
      must(channel_->open_sender(source)), std::move(batches), std::move(send));
}

std::unique_ptr<TakingActor> ChannelWorld::make_taking(int destination) {
  taken_.push_back(std::make_unique<Taken>());
  return std::make_unique<TakingActor>(must(channel_->open_receiver(destination)),
                                       trial_.kind,
                                       static_cast<size_t>(trial_.held_max),
                                       *taken_.back());
}

std::vector<rings::Actor*> ChannelWorld::actors() const {
  std::vector<rings::Actor*> actors;
  for (const auto& actor : actors_) actors.push_back(actor.get());
  return actors;
}

std::string ChannelWorld::compare() const {
  std::string wrong;
  for (size_t destination = 0; destination < expected_.size(); ++destination) {
    std::vector<int64_t> keys;
    for (int at = 0; at < trial_.receivers; ++at) {
      const size_t receiver = destination * static_cast<size_t>(trial_.receivers);
      const Taken& taken = *taken_[receiver + static_cast<size_t>(at)];
      wrong += taken.wrong;
      keys.insert(keys.end(), taken.keys.begin(), taken.keys.end());
    }
    std::vector<int64_t> expected = expected_[destination];
    std::sort(keys.begin(), keys.end());
    std::sort(expected.begin(), expected.end());
    if (keys == expected) continue;
    wrong += fmt::format("destination {} took {} rows and should have {}, or they are others; ",
                         destination,
                         keys.size(),
                         expected.size());
  }
  for (const auto& actor : actors_) {
    const auto* sending = dynamic_cast<const SendingActor*>(actor.get());
    const auto* taking = dynamic_cast<const TakingActor*>(actor.get());
    if (const auto* both = dynamic_cast<const EndpointActor*>(actor.get())) {
      sending = &both->sending();
      taking = &both->taking();
    }
    if (sending != nullptr && !sending->result().ok()) wrong += sending->result().error().message;
    if (taking != nullptr && !taking->result().ok()) wrong += taking->result().error().message;
  }
  return wrong;
}

}  // namespace crossdock::channels
