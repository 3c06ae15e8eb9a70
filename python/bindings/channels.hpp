// What the group and the channels of Python hold, for the files that bind their methods.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <nanobind/nanobind.h>

#include "base/home_process.hpp"
#include "bindings/gil.hpp"
#include "data/channels/data_plane.hpp"
#include "data/ranks/rank_group.hpp"
#include "memory/budget.hpp"
#include "session/bulk_group.hpp"

namespace crossdock::python {

namespace nb = nanobind;

// Calls come from one thread at a time, which Python code sees to by a lock of its own.
struct GroupObject {
  std::shared_ptr<Memory> memory;
  std::shared_ptr<ranks::RankGroup> group;  // null: a process alone
  std::shared_ptr<channels::DataPlane> plane;
  BulkRanks bulk;
  uint64_t next_channel_id = 1;  // the same in all ranks, since all make the same channels
  // What a signal raised while ranks did something together. It is raised where Python code knows what the others do
  // next, so that none of them waits for this rank.
  std::optional<nb::python_error> interruption;

  GroupObject() = default;
  GroupObject(const GroupObject&) = delete;
  GroupObject& operator=(const GroupObject&) = delete;
  // By Python, with the GIL, which it gives up: ranks part together.
  ~GroupObject() {
    const GilRelease released;
    bulk = BulkRanks();
    plane.reset();
    group.reset();
  }
};

// Received rows, out of the segment in which they came.
struct KeptRows {
  Batch rows;
  int source = 0;
};

// One rank's ends of a channel. A call that waits for room takes what has arrived meanwhile, copies it out of its
// segments and keeps it for recv: so ranks that all send before they receive never wait for each other, and what they
// keep counts against the memory budget. Thread-safe; calls that send or take rows take turns, and look at signals
// while they wait for theirs. What only asks does not wait.
class ChannelObject {
 public:
  ChannelObject(std::shared_ptr<GroupObject> group,
                std::shared_ptr<channels::Channel> channel,
                std::unique_ptr<channels::Sender> sender,
                std::unique_ptr<channels::Receiver> receiver);
  ~ChannelObject();

  // `to` is the number of a destination, or -1. All raise the errors of the channel, and what a signal raises.
  void send(const Batch& rows, int to);
  bool try_send(const Batch& rows, int to);
  void flush();
  // The next rows; nothing at the end, or when wait_s is over. Below 0: waits as long as it takes. Rows for which there
  // is no memory (CD-201) come with a later call.
  std::optional<KeptRows> recv(double wait_s);
  // Ends it for all, if it has not ended, with this cause, which callers that wait get too. Nothing can be
  // called afterwards, and close() again.
  void close(const std::string& cause);

  const SchemaPtr& schema() const { return schema_; }
  bool is_source() const { return is_source_; }
  bool is_destination() const { return is_destination_; }
  bool is_flushed() const { return !is_source_ || is_flushed_; }
  // Rows are kept before the end is seen, so none are added after it.
  bool is_ended() const { return is_ended_ && kept_count_ == 0; }
  int64_t memory_bytes() const;
  channels::ChannelCounters counters() const;
  uint64_t id() const;

 private:
  using Clock = std::chrono::steady_clock;

  void raise_if_copy() const;
  void drop_ends();
  template <class Value, class Act>
  Value alone(const Act& act);
  void wait_until(const std::function<bool()>& is_done);
  bool offer(const Batch& rows, int to);
  bool move_on();  // sends what waits, takes what came; whether anything came
  bool has_flushed();
  void keep_rows();
  std::shared_ptr<channels::Channel> channel() const;  // null once it is closed
  std::shared_ptr<channels::Channel> open_channel() const;

  const HomeProcess home_;
  std::shared_ptr<GroupObject> group_;
  SchemaPtr schema_;                  // of what is sent
  SchemaPtr received_;                // the same, with dictionaries as their values
  mutable std::mutex channel_mutex_;  // guards channel_, for threads that cannot wait for a turn
  std::shared_ptr<channels::Channel> channel_;
  std::timed_mutex turn_;  // taken without the GIL; guards what follows, but for what is atomic
  std::unique_ptr<channels::Sender> sender_;
  std::unique_ptr<channels::Receiver> receiver_;
  channels::Received taken_;  // rows in their segment, until they are copied
  std::deque<KeptRows> kept_;
  std::atomic<size_t> kept_count_{0};
  const bool is_source_;
  const bool is_destination_;
  bool is_flushing_ = false;
  std::atomic<bool> is_flushed_{false};
  std::atomic<bool> is_ended_{false};
};

// To be called when all ranks have done something together, with the GIL: what a signal raises is kept, and the result
// is not lost.
void keep_interruption(GroupObject& group);

// The communicator of a group that goes in bulk. Raises what opening it gives, and CD-101 for a process alone.
ranks::Communicator& bulk_ranks(GroupObject& group);

void bind_perf(nb::class_<GroupObject>& group);

}  // namespace crossdock::python
