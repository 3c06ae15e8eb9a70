// The data plane of a process among others: parts of channels in memory that the processes of a host share.
//
// One thread listens to the neighbours and moves flows of other hosts, and sleeps while nothing is said or moved. What
// neighbours write into shared memory is trusted as if it came from this process: they are of the same user, and the
// kernel has checked that.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/home_process.hpp"
#include "data/channels/channel_core.hpp"
#include "data/channels/data_plane.hpp"
#include "data/channels/early_parts.hpp"
#include "data/channels/host_links.hpp"
#include "data/channels/rank_losses.hpp"
#include "data/channels/single_plane.hpp"
#include "data/transports/neighbours.hpp"

namespace crossdock::channels {

class GroupPlane : public DataPlane, private transports::NeighbourEvents {
 public:
  static Result<std::unique_ptr<DataPlane>> open(std::shared_ptr<Memory> memory,
                                                 std::shared_ptr<ranks::RankGroup> group,
                                                 DataPlaneSettings settings);
  // Channels that are not through are over then, for all ranks. In a copy that fork() made nothing is over, and what
  // needs its threads is left lying.
  ~GroupPlane() override;

  int rank() const override { return group_->rank(); }
  int ranks() const override { return group_->size(); }
  std::vector<int> host_of_rank() const override { return host_of_rank_; }
  Result<std::shared_ptr<Channel>> create_channel(const ChannelSpec& spec) override;
  Result<std::shared_ptr<Channel>> open_part(const ChannelSpec& spec) override;
  void abort(const std::string& reason) override;
  std::vector<movers::LinkCounters> links() const override;

 private:
  // Channels outlive the plane and tell others through this while it lives.
  struct Voice {
    std::mutex mutex;
    GroupPlane* plane = nullptr;
  };

  GroupPlane(std::shared_ptr<Memory> memory,
             std::shared_ptr<ranks::RankGroup> group,
             DataPlaneSettings settings);
  Status meet();
  Status compare_settings(const TransportChoice& choice);
  Status meet_neighbours();
  Status meet_hosts();
  void settle();
  Status start_watching();
  void watch();
  void take_failure(uint64_t channel, const Error& cause);
  void lose(int rank, const Error& cause);
  void end_here(const Error& cause);
  void wake_openers();
  void leave_copy();
  std::chrono::milliseconds open_within() const { return open_within_; }
  // Of something that other ranks await the outcome of: they are still there to hear it.
  std::chrono::milliseconds step_within() const { return open_within() / 2; }

  struct OwnPart {
    std::shared_ptr<ChannelCore> core;
    std::shared_ptr<transports::SharedRegion> region;  // null: no rank of this host needs it
    PartMemory memory;
    HostLinks::PathsOfPeers paths = {};
  };
  // All ranks call it, once they know that they mean one channel.
  Status plan_paths(OwnPart& part);
  Result<OwnPart> make_part(const ChannelSpec& spec);
  // Of a part that others of this host map.
  Result<PartMemory> shared_memory(uint64_t bytes, uint64_t channel, OwnPart& part);
  // That all ranks mean one channel, and by which number, which spec.id then is.
  Result<OwnPart> agree_on_part(ChannelSpec& spec);
  Status publish_part(const OwnPart& part);
  Status wait_until_attached(const ChannelCore& core);
  void attach(const std::shared_ptr<ChannelCore>& core,
              int peer,
              std::shared_ptr<transports::SharedRegion> region);
  void say_over(uint64_t channel, const Error& cause, const std::function<bool(int)>& concerns);
  void tell_over(const ChannelLayout& plan, const Error& cause);
  void refuse_early(const EarlyPart& part);

  void received(transports::PeerIndex peer,
                const std::string& note,
                std::unique_ptr<transports::SharedRegion> region) override;
  void gone(transports::PeerIndex peer, const Error& cause) override;

  const HomeProcess home_;
  const std::shared_ptr<Memory> memory_;
  const std::shared_ptr<ranks::RankGroup> group_;
  const DataPlaneSettings settings_;
  std::chrono::milliseconds open_within_;  // of what ranks do together now
  std::vector<int> host_of_rank_;
  bool is_neighbour(int other) const;

  std::unique_ptr<transports::Neighbours> neighbours_;  // null: shared memory is not to be used
  std::shared_ptr<HostLinks> host_links_;               // null: all ranks are on this host
  const std::shared_ptr<Voice> voice_ = std::make_shared<Voice>();
  ChannelRegister channels_;
  RankLosses losses_;
  // By which numbers of channels are higher than they were asked for; of create_channel.
  uint64_t skipped_ids_ = 0;

  std::mutex mutex_;  // guards the next ones; not held while a core is called
  EarlyParts early_;
  bool has_lost_rank_ = false;  // on another host
  bool is_stopping_ = false;
  int stop_fd_ = -1;
  // Left lying in a copy, which has none of the threads that these are about.
  std::unique_ptr<std::condition_variable> attached_ = std::make_unique<std::condition_variable>();
  std::unique_ptr<std::thread> watcher_;
};

}  // namespace crossdock::channels
