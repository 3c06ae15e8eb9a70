// One channel with everybody who uses it, made from a few numbers, and what must come out of it.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "data/channels/channel_actors.hpp"
#include "data/channels/data_plane.hpp"

namespace crossdock::channels {

struct Trial {
  int sources = 1;
  int destinations = 1;
  ChannelSpec::Sends sends = ChannelSpec::Sends::kRouted;
  RowKind kind = RowKind::kKeys;
  int slot_bits = 0;
  int64_t segment_bytes = 8192;
  int senders = 1;               // per source
  int receivers = 1;             // per destination
  int batches = 3;               // per sender
  int rows_max = 200;            // of a batch; from 0
  int held_max = 0;              // batches that a receiver keeps
  bool is_skewed = false;        // most rows have one key
  bool is_reach_random = false;  // kNamed
  // Actor i is source i and destination i; one sender and receiver each.
  bool are_endpoints = false;
  uint64_t seed = 1;

  std::string text() const;
};

// A trial of any shape.
Trial random_trial(uint64_t seed);

class ChannelWorld {
 public:
  explicit ChannelWorld(const Trial& trial, std::shared_ptr<Memory> memory = nullptr);

  Channel& channel() { return *channel_; }
  // Actors that are not done yet use the channel after it is gone.
  void drop_channel() { channel_.reset(); }
  std::vector<rings::Actor*> actors() const;
  // "" if what arrived is what was sent, where it should be; else what is wrong.
  std::string compare() const;

 private:
  void make_input(std::mt19937_64& random);
  std::vector<std::vector<uint16_t>> random_reach(std::mt19937_64& random) const;
  std::unique_ptr<SendingActor> make_sending(int source, int sender);
  std::unique_ptr<TakingActor> make_taking(int destination);
  void expect(int source, int64_t key, size_t batch);

  Trial trial_;
  ChannelSpec spec_;
  std::unique_ptr<DataPlane> plane_;
  std::shared_ptr<Channel> channel_;
  std::vector<std::vector<std::vector<Batch>>> input_;  // [source][sender][batch]
  std::vector<std::vector<int64_t>> expected_;          // [destination]
  // By receiver; those of a destination side by side.
  std::vector<std::unique_ptr<Taken>> taken_;
  std::vector<std::unique_ptr<rings::Actor>> actors_;
};

}  // namespace crossdock::channels
