// Groups whose ranks have a communicator exchange whole tables in bulk.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/bulk/agreed_keys.hpp"
#include "data/bulk/bulk_exchange.hpp"
#include "data/channels/channel.hpp"
#include "data/ranks/communicator.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock {

// The setting step_within_s. CD-105 if it is not above 0, or beyond what the clock counts.
Result<std::chrono::milliseconds> step_limit(double seconds);

// A group's communicator, opened when it is first asked for.
class BulkRanks {
 public:
  // How long each step of a transfer waits for other ranks (Communicator::limit); opening waits a minute more.
  explicit BulkRanks(std::chrono::milliseconds limit = std::chrono::minutes(2)) : limit_(limit) {}
  std::chrono::milliseconds limit() const { return limit_; }
  // How a table goes, "auto", "bulk" or "channel"; null: by a channel. All ranks call it alike and get the same: with
  // "auto" a channel if some rank has no communicator, or none whose windows reach all hosts; with "bulk" the error of
  // the first such rank, CD-105 or CD-603. `group` may be null: a process alone, which needs no communicator.
  Result<ranks::Communicator*> choose(const std::string& how, ranks::RankGroup* group);
  // Why ranks that MPI started go by channel; null if they do not, or it is not chosen yet.
  const Error* refusal() const;
  // Who brings notes of all ranks together: the communicator from when all are known to have one, which asks no
  // launcher, and else `group`.
  ranks::RankGroup& meeting(ranks::RankGroup& group) const;
  // The communicator's; without one no rank hears of it.
  void give_up(const Error& cause) const;

 private:
  Status open(ranks::RankGroup& group);
  Status try_window();

  std::chrono::milliseconds limit_;
  std::shared_ptr<ranks::Communicator> communicator_;
  ranks::Communicator* ranks_ = nullptr;
  bool has_looked_ = false;
  Status opened_;
};

struct BulkEngine {
  std::shared_ptr<Memory> memory;
  int threads = 1;
};

// Where the rows of this rank go: as a channel of the spec, by a rule or to all destinations; but for
struct BulkMove {
  channels::ChannelSpec spec;
  std::span<const uint16_t> named{};  // one for each row: the number of its destination; or
  // By this order over all ranks, which get even parts, those of rank 0 first.
  std::vector<bulk::CutKey> order{};
};

// The rows of all sources that belong to this rank. What ranks pass that are no source counts for its schema alone. A
// rank that cannot say where its rows go passes its error, which all get: no rank waits for it.
Result<bulk::BulkResult> exchange_in_bulk(ranks::Communicator& ranks,
                                          const BulkEngine& engine,
                                          const Table& rows,
                                          const Result<BulkMove>& move);

// One rank's facts of an exchange: rank, begin_s, total_s, phases, rows_in, rows_received, bytes_sent, window_bytes,
// messages, order, packing, and the bytes of a row before and after it.
std::string bulk_json(const bulk::BulkFacts& facts, int rank);

}  // namespace crossdock
