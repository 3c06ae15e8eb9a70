// A channel whose endpoints are on a device: its rings and tables in memory, its mover, and the handles that kernels
// get.
//
//   auto channel = DeviceChannel::open(spec, backend);
//   group_by<<<blocks, threads, 0, stream>>>(channel.value()->port(vertex), ...);   // any stream but the legacy one
//   channel.value()->start_sorters(blocks_per_node);   // after the users' kernels, which must be on the device at once
//   channel.value()->move_until([&] { return cudaStreamQuery(stream) != cudaErrorNotReady; }, limit_s);
//
// All memory is taken at once and stays: nothing is allocated while kernels run. The host thread that steps the mover
// is the only writer of what it publishes; it looks for errors of the device, and whether anything moves.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/device/device_backend.hpp"
#include "data/device/device_port.hpp"
#include "data/device/residency.hpp"
#include "data/device/ring_mover.hpp"
#include "data/device/wiring.hpp"

namespace crossdock::device {

// One thread at a time, but for abort().
class DeviceChannel {
 public:
  // The backend outlives the channel. Errors of wire_device_channel and of the backend; nothing stays allocated then.
  static Result<std::unique_ptr<DeviceChannel>> open(const DeviceChannelSpec& spec,
                                                     DeviceBackend& backend);
  ~DeviceChannel();
  DeviceChannel(const DeviceChannel&) = delete;
  DeviceChannel& operator=(const DeviceChannel&) = delete;

  // Of an endpoint, for kernels (or CPU threads, if its vertex is on the host). CD_CHECK: the vertex takes part.
  DevicePort port(topology::VertexIndex vertex) const;
  // Of a vertex on the host, for its sorter; a relay too.
  DeviceNode node(topology::VertexIndex vertex) const;

  // Whether the users' kernels, each grid once, sorters and copies inside the device find room on it together, which is
  // what a channel stands on (residency.hpp). CD-105 if not.
  Status check_fit(std::span<const KernelNeeds> users, uint32_t sorter_blocks_per_node) const;
  // Sorters stay until stop() or abort(), however long there is nothing to do. Launched after the users' kernels, so
  // that what they take is what those leave. CD-603: more streams than connections.
  Status start_sorters(uint32_t blocks_per_node);
  // Sorters end, after the last kernel that uses the channel.
  Status stop();

  rings::Step step() { return mover_->step(); }
  const RingMover& mover() const { return *mover_; }
  // Steps the mover until is_over() and no copy is under way. CD-901 with state() if no row was moved, copied, sent,
  // sorted or received, for stuck_after_s, after the channel was aborted; of 0 never. Errors of the device.
  Status move_until(const std::function<bool()>& is_over, double stuck_after_s);

  // Ends every wait of kernels and threads. Any thread.
  void abort();
  // Sorters of vertices on the host and in tests see this; kernels too.
  void finish();

  uint64_t device_bytes() const { return bytes_[0]; }
  uint64_t shared_bytes() const { return bytes_[1]; }
  // What the mover knows: heads and published segments of links, in words.
  std::string state() const;

 private:
  class Builder;

  // Counts of steps, a line for each node of a space.
  struct Progress {
    uint64_t* begin = nullptr;
    uint64_t words = 0;
  };

  // Whether a look at all counts has come, and shows that one has grown. Does not wait.
  void set(uint32_t* const (&words)[2]);
  Result<bool> look();

  DeviceChannel(DeviceBackend& backend, DeviceWiring wiring)
      : backend_(backend), wiring_(std::move(wiring)) {}

  DeviceBackend& backend_;
  DeviceWiring wiring_;
  std::byte* memory_[2] = {};  // by DeviceSpace
  uint64_t bytes_[2] = {};
  std::vector<DeviceNode> nodes_;  // as wiring_.nodes; pointers of the space of each
  std::vector<DevicePort> ports_;
  const DeviceNode* device_nodes_ = nullptr;  // those that are not on the host
  uint32_t device_node_count_ = 0;
  // By DeviceSpace: the host sets its own and copies it, since reads of one word of the host by all blocks of a device
  // wait for each other (80 us for 132 of an H100).
  uint32_t* finish_[2] = {};
  uint32_t* abort_[2] = {};
  std::vector<MoverLink> links_;  // that copy
  std::vector<uint32_t> link_of_copies_;
  bool has_copies_inside_ = false;  // from the device to itself
  Progress progress_[2];            // by DeviceSpace
  uint64_t* seen_ = nullptr;        // of the device's counts, as last seen
  uint64_t steps_ = 0;              // all counts together
  bool is_looking_ = false;
  std::chrono::steady_clock::time_point looked_at_{};
  std::unique_ptr<SegmentCopier> copier_;
  std::unique_ptr<RingMover> mover_;
  bool are_sorters_running_ = false;
};

}  // namespace crossdock::device
