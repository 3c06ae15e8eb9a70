// Sends rows of one block of a source: finds each row's outlet, and sorts rows into the source's flows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/channels/channel.hpp"
#include "data/channels/channel_core.hpp"
#include "data/sorters/row_router.hpp"
#include "data/sorters/row_sorter.hpp"

namespace crossdock::channels {

class ChannelSender : public Sender {
 public:
  // `end` is the source's, of which this sender has been counted.
  static Result<std::unique_ptr<Sender>> make(std::shared_ptr<ChannelCore> core, SourceEnd& end);
  ~ChannelSender() override;

  Result<int64_t> send(const Batch& rows) override;
  Result<int64_t> send_to(const Batch& rows, int destination) override;
  Result<int64_t> send_each(const Batch& rows,
                            std::span<const uint16_t> destinations,
                            std::span<const uint16_t> carried) override;
  Result<bool> advance() override;
  Status flush_begin() override;
  Result<bool> flush_done() override;
  void wait(std::chrono::microseconds at_most) override;

  // Taken, and not yet in the flows, counted once per outlet that they go to.
  int64_t pending_rows() const { return sorter_ == nullptr ? 0 : sorter_->pending_rows(); }

 private:
  ChannelSender(std::shared_ptr<ChannelCore> core, SourceEnd& end) : core_(core), end_(end) {}
  bool is_broadcast() const;
  bool has_one_way() const;
  Result<bool> begin_send(const Batch& rows);
  Result<int64_t> accept(const Batch& rows, std::span<const uint16_t> carried);
  void list_places();
  Status name_outlets(std::span<const uint16_t> destinations);
  void make_sorter();
  bool push();
  void tell_published();
  bool have_arrived() const;
  void finish();

  std::shared_ptr<ChannelCore> core_;
  SourceEnd& end_;
  std::unique_ptr<sorters::RowRouter> router_;  // kRouted
  std::unique_ptr<sorters::RowSorter> sorter_;  // once the flows are there
  std::vector<uint16_t> outlets_;  // per row of the batch: the place among the source's flows
  // Per destination: the place of its flow; empty until one is named.
  std::vector<uint32_t> places_;
  std::vector<uint16_t> published_;
  std::vector<uint16_t> full_;
  std::vector<movers::FlowId> moved_;  // published ones to other hosts
  std::vector<uint64_t> sealed_at_;    // per flow: segments to wait for, if it is moved
  uint32_t note_ = 0;                  // of the doorbell, before the last try
  bool is_flushing_ = false;
  bool is_sealed_ = false;
  bool is_through_ = false;
};

}  // namespace crossdock::channels
