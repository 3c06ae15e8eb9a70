// The data plane of a process: its channels, the processes it works with, and its mover.
//
// Alone it has no threads and opens nothing. In a group it has one thread, which sleeps while nothing moves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/channels/channel.hpp"
#include "data/movers/mover.hpp"
#include "data/ranks/rank_group.hpp"
#include "memory/budget.hpp"

namespace crossdock::channels {

struct DataPlaneSettings {
  std::string transports =
      "auto";           // "auto", or of "shm,tcp,ucx": which links between processes may be used
  std::string devices;  // network devices for links, "eth0,eth1"; "": all that have an address
  double open_within_s = 30;  // all ranks open a channel, or it is an error
  bool checksums = true;
  // A rank of another host that says nothing for so long is lost, also if it is suspended. 1 or more, alike in all.
  double lost_after_s = 10;
  bool static_paths = false;  // MoverSettings::is_static
};

class DataPlane {
 public:
  // `group` may be null: a process alone. All ranks call it.
  static Result<std::unique_ptr<DataPlane>> open(std::shared_ptr<Memory> memory,
                                                 std::shared_ptr<ranks::RankGroup> group,
                                                 DataPlaneSettings settings);
  virtual ~DataPlane() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // Any number that ranks of one host share: the nodes of a shuffle in two levels.
  virtual std::vector<int> host_of_rank() const = 0;
  // All ranks of the group call it in the same order with the same spec. One thread. CD-105, CD-102, CD-201 with the
  // rank that refused; CD-617 if a rank did not come in time.
  virtual Result<std::shared_ptr<Channel>> create_channel(const ChannelSpec& spec) = 0;
  // This process's part of a channel, without a word to the others: the caller sees to it that all ranks open it
  // with the same spec. It is_ready() once it has met the parts of the others. Thread-safe.
  virtual Result<std::shared_ptr<Channel>> open_part(const ChannelSpec& spec) = 0;
  // Ends the work of all ranks: their channels are over, and what they gather fails, with CD-617 and the reason. For a
  // rank that cannot go on while another of its threads waits for the others, or that was asked to end. Any thread.
  virtual void abort(const std::string& reason) = 0;
  // Of the links to other hosts; none alone or on one host. Thread-safe.
  virtual std::vector<movers::LinkCounters> links() const { return {}; }
};

}  // namespace crossdock::channels
