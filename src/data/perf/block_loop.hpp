// What one block of an endpoint does while it is measured: sends its share of rows and takes those of its endpoint, in
// turn, and waits only when neither can go on. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/team.hpp"
#include "data/channels/channel.hpp"
#include "data/perf/row_tally.hpp"

namespace crossdock::perf {

// Rows [begin, end) that a source sends; row n is row n mod table->rows of its table.
struct SentRows {
  const Batch* table = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t batch_rows = 1;  // per send
  int destination = -1;    // where the channel wants it named
};

struct ReceiveChecks {
  RowTally* tally = nullptr;
  // Per source of the channel: the endpoint whose rows it sends. Empty: rows come by relays, and are tallied as if from
  // one source.
  std::span<const int> made_by;
  Checks checks = Checks::kSums;
};

class BlockLoop {
 public:
  // Either may be null: the endpoint is no source, or no destination.
  BlockLoop(std::unique_ptr<channels::Sender> sender,
            const SentRows& sent,
            std::unique_ptr<channels::Receiver> receiver,
            const ReceiveChecks& received);

  // Until everything is sent, delivered and received. Errors: the channel's; CD-401 if `cancel` is set.
  Status run(const CancelFlag& cancel);
  double waited_s() const { return waited_s_; }

 private:
  Result<bool> send_some();  // whether it got anywhere
  Result<bool> receive_some();
  Batch next_batch() const;
  void wait();

  std::unique_ptr<channels::Sender> sender_;
  SentRows sent_;
  std::unique_ptr<channels::Receiver> receiver_;
  ReceiveChecks received_;
  bool is_flushing_ = false;
  bool is_sent_ = false;
  bool is_received_ = false;
  int idle_turns_ = 0;
  double waited_s_ = 0;
};

}  // namespace crossdock::perf
