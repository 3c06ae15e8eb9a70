// A relay of a two-level shuffle: takes what arrives for its node and hands it on to the destinations beside it.
#pragma once

#include <memory>
#include <mutex>

#include "base/result.hpp"
#include "data/channels/channel.hpp"

namespace crossdock::channels {

// Any number of threads; one at a time does something.
class Relay {
 public:
  Relay(std::unique_ptr<Receiver> first, std::unique_ptr<Sender> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  // Hands on what there is, within bounds. Nothing if another thread is at it. The first error is answered again
  // whenever asked: a batch that was taken and cannot be handed on is lost, so the channel has to be closed.
  Status step();

 private:
  enum class Turn : uint8_t { kMoved, kWaits, kDone };

  Result<Turn> turn();

  std::mutex mutex_;  // all of the below
  std::unique_ptr<Receiver> first_;
  std::unique_ptr<Sender> second_;
  Received held_;           // taken from the first, not yet accepted by the second
  bool has_ended_ = false;  // the first has no more
  bool is_done_ = false;
  Status failure_;
};

}  // namespace crossdock::channels
