// A channel on devices with everything that steps: blocks that send and receive, sorters, the mover. Each is an actor,
// so that a seed or threads may drive them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/device/device_channel.hpp"
#include "data/device/host_backend.hpp"
#include "data/device/made_rows.hpp"
#include "data/rings/actor.hpp"
#include "data/rings/cpu_ring_traits.hpp"

namespace crossdock::device {

// A row: a key, the number of the row, and a value that is NULL if 3 divides it.
struct DeviceTestRows {
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;
  std::vector<uint64_t> validity;  // of values

  explicit DeviceTestRows(uint64_t first = 0, uint64_t rows = 0) {
    validity.assign(rows / 64 + 1, 0);
    for (uint64_t row = first; row < first + rows; ++row) {
      keys.push_back(row * 7 - 40);  // some are negative
      if (row % 3 != 0) validity[values.size() / 64] |= uint64_t{1} << values.size() % 64;
      values.push_back(row);
    }
  }
};

inline std::vector<rings::LaneShape> device_test_lanes() {
  return {{.width_bytes = 8}, {.width_bytes = 8, .nullable = true}};
}

struct DeviceCase {
  const char* name;
  int sources;
  int destinations;
  uint32_t blocks = 1;
  uint32_t rings_per_link = 1;
  int servers = 0;  // not 0: two levels over so many
  int hosts = 0;    // the last endpoints are on the host
  DeviceRule rule = DeviceRule::kResidue;
  uint32_t stage_rows = 7, link_rows = 11, final_rows = 5;
  int slot_bits = 1;
  uint64_t rows = 150;  // of each block
  int copy_delay = 0;
  uint64_t makes_every = 0;  // not 0: rows are made, and all others than every n-th left out
  bool copies = true;        // between nodes of the device, too
};

// Endpoint i, source or destination, is on vertex i.
inline DeviceChannelSpec spec_of(const DeviceCase& test) {
  const int vertices = std::max(test.sources, test.destinations);
  DeviceChannelSpec spec;
  spec.lanes = device_test_lanes();
  for (int at = 0; at < test.sources; ++at)
    spec.endpoints.of_source.push_back(static_cast<topology::VertexIndex>(at));
  for (int at = 0; at < test.destinations; ++at)
    spec.endpoints.of_destination.push_back(static_cast<topology::VertexIndex>(at));
  if (test.servers != 0) {
    channels::NodePlacement placement;
    for (int at = 0; at < test.sources; ++at) placement.of_source.push_back(at % test.servers);
    for (int at = 0; at < test.destinations; ++at)
      placement.of_destination.push_back(at % test.servers);
    spec.levels = channels::LevelPlan::make(placement).value();
    spec.tables = level_tables(*spec.levels, spec.endpoints, vertices);
  } else {
    spec.tables = direct_tables(spec.endpoints, vertices);
  }
  spec.is_host.assign(static_cast<size_t>(vertices), 0);
  for (int at = 0; at < test.hosts; ++at) spec.is_host[static_cast<size_t>(vertices - 1 - at)] = 1;
  spec.rule = test.rule;
  spec.blocks = test.blocks;
  spec.rings_per_link = test.rings_per_link;
  spec.stage_rows = test.stage_rows;
  spec.link_rows = test.link_rows;
  spec.final_rows = test.final_rows;
  spec.stage_slot_bits = spec.link_slot_bits = spec.final_slot_bits = test.slot_bits;
  spec.seal_after_idle = 1;
  spec.copies_inside = test.copies;
  return spec;
}

// What one destination has got, from all of its blocks. The test's own lock.
struct DeviceArrivals {
  std::mutex mutex;
  std::vector<uint64_t> values;
  std::vector<std::string> wrong;
};

// A block of an endpoint: takes what has come, sends what it has, flushes, and takes the rest.
class BlockActor : public rings::Actor {
 public:
  struct Work {
    bool is_source = true;
    bool is_destination = true;
    DeviceTestRows rows{};
    uint32_t batch_rows = 5;
    uint32_t capacity = 4;
    uint32_t to = kByRule;
    uint64_t makes_every =
        0;  // not 0: makes the rows it sends, and leaves out all others than every n-th
  };

  BlockActor(const DevicePort& port, uint32_t block, Work work, DeviceArrivals& arrivals)
      : port_(port),
        block_(port_, block),
        number_(block),
        work_(std::move(work)),
        arrivals_(arrivals) {}

  rings::Step step() override {
    const rings::Step answer = step_once();
    if (answer == rings::Step::kDone) is_through_.store(true, std::memory_order_relaxed);
    return answer;
  }
  bool is_through() const { return is_through_.load(std::memory_order_relaxed); }

  std::string state() const override {
    return fmt::format("block {} of destination {}: sent {} of {}, {}, {}",
                       number_,
                       port_.destination,
                       next_,
                       work_.rows.keys.size(),
                       has_begun_ ? "flushing" : "sending",
                       has_ended_ ? "at the end" : "receiving");
  }

 private:
  rings::Step step_once() {
    if (work_.is_destination && !has_ended_) {
      const int64_t got = receive();
      if (got > 0) return rings::Step::kProgress;
      if (got == kPortEnd) {
        has_ended_ = true;
        return rings::Step::kProgress;
      }
    }
    if (!work_.is_source) return has_ended_ ? rings::Step::kDone : rings::Step::kIdle;
    return send_or_flush();
  }

  rings::Step send_or_flush() {
    const uint64_t rows = work_.rows.keys.size();
    if (next_ < rows) {
      const DeviceColumn columns[] = {
          {reinterpret_cast<std::byte*>(work_.rows.keys.data()), nullptr},
          {reinterpret_cast<std::byte*>(work_.rows.values.data()), work_.rows.validity.data()}};
      const auto batch = static_cast<uint32_t>(std::min<uint64_t>(work_.batch_rows, rows - next_));
      const int64_t sent = work_.makes_every == 0
                             ? block_.send(columns, next_, batch, work_.to, rings::SoloCoop{})
                             : send_made(batch);
      if (sent <= 0) return rings::Step::kIdle;
      next_ += static_cast<uint64_t>(sent);
      return rings::Step::kProgress;
    }
    if (!has_begun_) {
      block_.flush_begin(rings::SoloCoop{});
      has_begun_ = true;
      return rings::Step::kProgress;
    }
    if (!has_flushed_) {
      has_flushed_ = block_.flush_done(rings::SoloCoop{});
      return has_flushed_ ? rings::Step::kProgress : rings::Step::kIdle;
    }
    return has_ended_ || !work_.is_destination ? rings::Step::kDone : rings::Step::kIdle;
  }

  // The rows' numbers are all that is read: keys and NULLs are made.
  int64_t send_made(uint32_t batch) {
    const auto make = [this](uint64_t row, uint64_t& key, Nullable<uint64_t>& value) {
      const uint64_t number = work_.rows.values[row];
      key = number * 7 - 40;
      value = {number, number % 3 != 0};
      return number % work_.makes_every == 0 ? work_.to : kNowhere;
    };
    MadeSender<rings::CpuRingTraits, uint64_t, Nullable<uint64_t>> sender(
        port_, number_, *scratch_);
    return sender.send(next_, batch, make, rings::SoloCoop{});
  }

  int64_t receive() {
    uint64_t keys[16];
    uint64_t values[16];
    uint64_t validity[1] = {0};
    const DeviceColumn columns[] = {{reinterpret_cast<std::byte*>(keys), nullptr},
                                    {reinterpret_cast<std::byte*>(values), validity}};
    const int64_t got = block_.recv(columns, 0, work_.capacity, rings::SoloCoop{});
    const std::scoped_lock lock(arrivals_.mutex);
    for (int64_t row = 0; row < got; ++row) {
      arrivals_.values.push_back(values[row]);
      const bool is_valid = (validity[0] >> row & 1) != 0;
      if (keys[row] != values[row] * 7 - 40 || is_valid != (values[row] % 3 != 0))
        arrivals_.wrong.push_back(fmt::format("row {} has key {}", values[row], keys[row]));
    }
    return got;
  }

  const DevicePort port_;
  PortBlock<rings::CpuRingTraits> block_;
  uint32_t number_;
  Work work_;
  std::unique_ptr<SorterScratch> scratch_ = std::make_unique<SorterScratch>();
  DeviceArrivals& arrivals_;
  uint64_t next_ = 0;
  bool has_begun_ = false;
  bool has_flushed_ = false;
  bool has_ended_ = false;
  std::atomic<bool> is_through_{false};
};

class SorterActor : public rings::Actor {
 public:
  explicit SorterActor(const DeviceNode& node)
      : node_(node), scratch_(std::make_unique<SorterScratch>()), sorter_(node_, *scratch_) {}
  rings::Step step() override { return sorter_.step(rings::SoloCoop{}); }
  std::string state() const override {
    return fmt::format("sorter of {} inputs, {} targets", node_.input_count, node_.target_count);
  }

 private:
  const DeviceNode node_;
  std::unique_ptr<SorterScratch> scratch_;
  SegmentSorter<rings::CpuRingTraits> sorter_;
};

// Steps the mover; when all blocks are through, ends the sorters.
class MoverActor : public rings::Actor {
 public:
  MoverActor(DeviceChannel& channel, std::vector<const BlockActor*> blocks)
      : channel_(channel), blocks_(std::move(blocks)) {}

  // Copies that are under way need more steps, whatever else moves.
  rings::Step step() override {
    if (channel_.step() == rings::Step::kProgress || !channel_.mover().is_quiet())
      return rings::Step::kProgress;
    for (const BlockActor* block : blocks_)
      if (!block->is_through()) return rings::Step::kIdle;
    channel_.finish();
    return rings::Step::kDone;
  }
  std::string state() const override { return channel_.state(); }

 private:
  DeviceChannel& channel_;
  std::vector<const BlockActor*> blocks_;
};

}  // namespace crossdock::device
