// Hands the batches of parts that workers finish in any order to a sink in the order of the parts.
//
// A worker owns a part (0, 1, ...): it puts the part's batches in order and then ends the part. The
// owner of the first unfinished part passes its batches straight on; batches of later parts are held,
// at most `held_max` of them: who would hold more waits. Parts must be taken in ascending order
// (OperatorRun::for_indices does), so the owner of the first unfinished part never waits for another
// worker, and nothing can hang. An error must be passed to abort(), which frees all who wait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::operators {

class OrderedEmitter {
 public:
  OrderedEmitter(RowSink& sink, const CancelFlag& cancel, int64_t held_max)
      : sink_(&sink), cancel_(&cancel), held_max_(held_max) {}

  // Both answer the error of abort(), of the sink, or kCancelled.
  Status put(int64_t part, Batch batch);
  Status end(int64_t part);

  void abort(const Error& error);
  int64_t rows() const { return rows_; }  // passed to the sink; read it when the run is over

 private:
  struct Held {
    std::vector<Batch> batches;
    bool ended = false;
  };
  Status wait_for_room(std::unique_lock<std::mutex>& lock, int64_t part);
  Status pass_on(std::vector<Batch> batches);

  RowSink* sink_;
  const CancelFlag* cancel_;
  const int64_t held_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t first_ = 0;  // unfinished part; only its owner talks to the sink
  int64_t held_count_ = 0;
  std::map<int64_t, Held> held_;
  std::optional<Error> error_;
  int64_t rows_ = 0;
};

// for_indices over parts that emit in order: task(worker, part, emitter), with ends and aborts seen to.
Status for_ordered_parts(
    OperatorRun& run,
    const char* name,
    int64_t count,
    OrderedEmitter& emitter,
    const std::function<Status(int worker, int64_t part, OrderedEmitter& out)>& task);

}  // namespace crossdock::operators
