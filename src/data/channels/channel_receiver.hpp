// Takes rows at a destination: the segments of its flows in turn, as they lie.
#pragma once

#include <memory>
#include <vector>

#include "data/channels/channel.hpp"
#include "data/channels/channel_core.hpp"

namespace crossdock::channels {

class ChannelReceiver : public Receiver {
 public:
  // `end` is the destination's outlet, of which this receiver has been counted.
  ChannelReceiver(std::shared_ptr<ChannelCore> core, OutletEnd& end, int destination);
  ~ChannelReceiver() override;

  Result<Received> recv() override;
  void wait(std::chrono::microseconds at_most) override;

 private:
  Received received(InFlow& flow, const FlowTaker::Taken& taken);
  bool is_all_taken(const InFlow& flow) const;
  Result<bool> is_through(const InFlow& flow) const;

  std::shared_ptr<ChannelCore> core_;
  OutletEnd& end_;
  const int destination_;
  const int cursor_;
  std::vector<InFlow*> open_;  // flows that are not known to be through
  size_t next_ = 0;            // among them
  uint32_t note_ = 0;          // of the doorbell, before the last look
};

}  // namespace crossdock::channels
