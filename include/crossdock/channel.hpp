// Groups and channels for C++: processes and threads that work together, and rows between them.
//
//   crossdock::Engine engine;
//   crossdock::Group group = crossdock::join_group(engine);            // mpirun -n 4 ./program
//   auto mine = group.exchange(orders, {.by = {"customer"}});          // all rows of some customers
//
// All ranks make the same calls of a group in the same order. A process that nothing else started is a
// group of one, so that a program runs alone as it does among many. The words and the rules are those
// of Python's `crossdock.join_group`; docs/guide-channels.md shows both.
//
// The verbs are send, flush and recv of MGI (Wu et al., PVLDB 19(9), 2026, section 3.1), whose figure 3
// is examples/02-groupby-channel. Unlike there, a flush can be begun without waiting, or takes a drain:
// with bounded buffers, ranks that all flush before they receive could wait for each other for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <crossdock/engine.hpp>
#include <crossdock/group_by.hpp>
#include <crossdock/join.hpp>
#include <crossdock/sort.hpp>

namespace crossdock {

class RowChannel;

struct GroupOptions {
  // All three of rank, ranks and meet or control, or none of them. None: mpirun or `srun --mpi=pmix` say
  // who takes part, or CROSSDOCK_RANK, CROSSDOCK_RANKS and CROSSDOCK_MEET or CROSSDOCK_CONTROL; else this
  // process is alone.
  int rank = -1;
  int ranks = -1;
  std::string meet{};     // a folder that all can write to, or the address of a rendezvous
  std::string control{};  // or the address of this machine's agent (`crossdock agent --listen`)
  // The name under which they meet, which no other use of the folder or the controller has. None given: in a folder
  // that of the step of Slurm, or "crossdock"; that of the rendezvous.
  std::string job{};
  // How the agent is spoken to. No token: that of CROSSDOCK_CONTROL_TOKEN, if there is one. Strings are PEM.
  std::string token{};
  bool tls = false;
  std::string ca_pem{};  // none: the system's authorities
  std::string certificate_pem{};
  std::string key_pem{};
  bool insecure = false;  // the token may travel in the clear
  std::string transports =
      "auto";  // or of "shm", "tcp" and "ucx" those that may be used: "shm,ucx"
  std::vector<std::string> devices{};  // network devices to use; none: all that have an address
  double open_within_s = 30;           // in which all ranks come to open a channel
  double step_within_s = 120;          // that a rank waits in each step of a bulk transfer
  // A rank on another host that was silent for so long is lost; 1 or more, the same in all ranks.
  double lost_after_s = 10;
};

// Where rows go, at most one of by, to and broadcast; none of them leaves it to send(rows, {.to = 2}).
struct ChannelOptions {
  // Columns; rows of equal values go to one destination. Of one integer column that is its value modulo
  // the number of destinations, else what a hash says.
  std::vector<std::string> by{};
  bool hash = false;  // of one integer column, too: for keys whose residues are not evenly spread
  // Of `by`, ranges instead: rows go to the number of bounds that are not above them, NULL is above all
  // values. Ascending, a column for each of `by`, one row less than destinations; the same everywhere.
  ArrowTable bounds = ArrowTable();
  std::string to{};        // an integer column that holds the destination's number
  bool broadcast = false;  // all rows go to all destinations

  // Of exchange and broadcast: "bulk" counts first and then places every row, which needs ranks that MPI
  // started; "channel" sends as through a channel; "auto" is bulk where all ranks can. Bulk has no use for
  // the options below but sources and destinations, and keeps the order of rows of each source.
  std::string how = "channel";

  // The rank of each endpoint; none: one on every rank. A rank may be named several times, say for its
  // threads. The number of an endpoint is its place here.
  std::vector<int> sources{};
  std::vector<int> destinations{};
  int senders_per_source = 1;  // threads that send for it; it has flushed when all of them have

  // Rows travel in segments of about this size, of which each pair of source and destination has
  // `slots` (a power of two). 0: 8, and 16 or 32 between hosts where an endpoint has few pairs and so
  // holds no more than 32 MiB of them. The channel never holds more, so sources wait for destinations.
  int64_t segment_bytes = int64_t{256} << 10;
  int64_t text_bytes = 32;  // of a text, on average: how a segment is shared among columns
  int slots = 0;
  int64_t memory_bytes = int64_t{1} << 30;  // what all segments may take in one process
};

// The processes of a job. Cheap to copy (copies share). One thread at a time; what it makes may be used
// by others, and keeps what it needs of the group alive.
class Group {
 public:
  int rank() const;  // of this process, from 0
  int size() const;

  // Ends the work of all ranks: their channels are over, and what they do together now or later throws CD-617 with
  // `reason`. Any thread.
  void abort(const std::string& reason) const;

  // Opens a channel for rows of `schema`, a struct of columns, which is only read. All ranks call it,
  // alike, and all get the error if one of them does. Throws CD-101 (no such column), CD-102 (a type that
  // cannot travel), CD-105 (options), CD-201 (over memory_bytes, or the engine's budget), CD-617 (a rank
  // that did not come).
  RowChannel channel(const ArrowSchema& schema, const ChannelOptions& options = {}) const;
  RowChannel channel(const ArrowTable& rows, const ChannelOptions& options = {}) const;

  // The rows of all ranks that belong to this one, by the options' rule; each rank is a source and a
  // destination at most once. Every rank passes a table of the same schema. Columns arrive as they were
  // sent, dictionaries as their values, in any order of rows. Throws what channels do.
  ArrowTable exchange(const ArrowTable& rows, const ChannelOptions& options) const;
  // The rows of rank `root`, in all ranks. What others pass counts for its schema alone.
  ArrowTable broadcast(const ArrowTable& rows, int root = 0, ChannelOptions options = {}) const;
  // The rows of all ranks, in rank `root`; none in the others.
  ArrowTable collect(const ArrowTable& rows, int root = 0, ChannelOptions options = {}) const;

  // Operations on the rows of all ranks. Every rank passes the engine of this group and its own rows, and calls them
  // alike; it gets its share of the result. Rows move first, in bulk between ranks that MPI started, by channels
  // between others, and each rank then runs the operation of the same name on what came.
  //
  // Each pair is in one rank, and which one is not defined. A join of the radix or merge strategy moves its rows
  // straight into the partitions of the ranks that join them, where MPI started these and keys and columns fit its two
  // words.
  ArrowTable join(const Engine& engine,
                  const ArrowTable& left,
                  const ArrowTable& right,
                  const JoinOptions& options) const;
  // Each group is in one rank. At least one key (CD-105), each a column of `rows` (CD-101).
  ArrowTable group_by(const Engine& engine,
                      const ArrowTable& rows,
                      const GroupByOptions& options) const;
  // The rows of each rank come before those of the next one; limit and offset are of all. Needs ranks that MPI started,
  // or one alone; no row_index among several (CD-105).
  ArrowTable sort(const Engine& engine, const ArrowTable& rows, const SortOptions& options) const;

  // A few bytes of each rank, by rank, in all of them; also a barrier. Rows do not go this way. Throws
  // CD-617 with the ranks that did not come in time.
  std::vector<std::string> gather(const std::string& note = "", double at_most_s = 120) const;

  // A trace of the segments of all channels, from one call to the other, which all ranks make alike.
  // Each thread keeps up to notes_per_thread notes, of which a segment needs one to three. finish_trace
  // answers in rank 0 the text of a file for ui.perfetto.dev (docs/reference-counters.md), "" elsewhere.
  // Throws CD-105 (one is running in this process, or none is) and CD-201, and what channels do.
  void start_trace(int64_t notes_per_thread = int64_t{1} << 18) const;
  std::string finish_trace() const;

  struct State;
  explicit Group(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// Joins the processes that were started together with this one; returns when all are there. Channels and
// rows that are kept count against the engine's memory budget. Throws CD-105 (options; a plugin that is
// needed and not there) and CD-617 (ranks that did not come).
Group join_group(const Engine& engine, const GroupOptions& options = {});

// Called in turn while a call waits for room; takes rows that have come for this thread.
using Drain = std::function<void()>;

struct SendOptions {
  int to = -1;  // the number of the destination, whatever the rule; -1: by the channel's rule
  Drain drain{};
};

// One thread at a time; moves. Dropped before its flush is done it ends the channel for all (CD-618),
// since the destinations could never know that they have everything.
//
// All calls throw the cause if the channel is over. Rows are a struct array of the channel's columns, in
// their order, and are taken over: released when they have been copied into segments, or on an error,
// after which nothing of them is sent. Sending throws CD-105 (no destination, or none was named, a text
// longer than a segment, rows after flush_begin), CD-301 (not what the schema says), CD-303 (a number
// that is no destination).
class RowSender {
 public:
  // Never waits: false if rows of the array before still wait for room, and this one is left alone. Best
  // are some 10,000 rows: a sender keeps 8 bytes for each row of an array that it has taken.
  bool try_send(ArrowArray* rows, int to = -1);
  // Moves on what waits, as every other call does first; whether an array can be taken now.
  bool advance();
  // This sender is through. flush_done: all its rows are where the destinations can take them.
  void flush_begin();
  bool flush_done();
  // Sleeps until there may be room, or the time is over; may answer early.
  void wait(double at_most_s) const;

  // Until all rows are on their way or in line for it. A thread that is to receive too passes a drain, or
  // all could wait for each other. Columns of a table are found by name; strings may have other layouts
  // there, and dictionaries may stand for their values (CD-101, CD-102).
  void send(ArrowArray* rows, const SendOptions& options = {});
  void send(const ArrowTable& rows, const SendOptions& options = {});
  // flush_begin, and until flush_done.
  void flush(const Drain& drain = {});

  struct State;
  explicit RowSender(std::unique_ptr<State> state);
  RowSender(RowSender&&) noexcept;
  RowSender& operator=(RowSender&&) noexcept;
  ~RowSender();

 private:
  std::unique_ptr<State> state_;
};

// Rows that have arrived. Cheap to copy. They lie where the source wrote them; their segment goes back to
// it when the last copy and the last array are dropped, by any thread, at any time, also after the
// channel. A receiver that keeps as many as there are slots keeps the source waiting.
class ReceivedRows {
 public:
  int64_t rows() const { return rows_; }  // 0: there are none
  int source() const { return source_; }  // the number of the source that sent them
  // A struct array of the receiver's schema, without a copy. CD-105 if there are no rows.
  void export_array(ArrowArray* out) const;

  struct State;

 private:
  friend class RowReceiver;
  int64_t rows_ = 0;
  int source_ = 0;
  std::shared_ptr<const State> state_;
};

// One thread at a time; moves. Several receivers of one destination share its rows. If the last of them is
// dropped before the end, that ends the channel for all (CD-618).
//
// All calls throw the cause if the channel is over, and CD-901 if rows of a source are missing.
class RowReceiver {
 public:
  // The next rows, some thousands at a time; what `rows` held is dropped first. False at the end (ended()
  // is true then), or if nothing has come within the time. Without a time it waits for rows or the end,
  // for which all sources have to flush, this thread's too; 0 does not wait.
  bool recv(ReceivedRows& rows, double wait_s = std::numeric_limits<double>::infinity());
  // All sources have flushed, and everything was taken, by all receivers of the destination together.
  bool ended() const;
  // Sleeps until there may be rows, or the time is over; may answer early.
  void wait(double at_most_s) const;
  // Of what recv gives: the channel's, with strings as Arrow views and dictionaries as their values.
  void export_schema(ArrowSchema* out) const;

  // For programs that want a table: takes what is there, copied into the engine's memory budget, so that
  // sources find room. Never waits; false if there was nothing. Made to be a drain. Throws CD-201 if rows
  // do not fit; they come with the next call.
  bool keep();
  // Keeps until the end, and gives all that was kept, with columns as they were sent and dictionaries as
  // their values.
  ArrowTable collect();

  struct State;
  explicit RowReceiver(std::unique_ptr<State> state);
  RowReceiver(RowReceiver&&) noexcept;
  RowReceiver& operator=(RowReceiver&&) noexcept;
  ~RowReceiver();

 private:
  std::unique_ptr<State> state_;
};

// This rank's part of a channel. Thread-safe; cheap to copy (copies share). What was accepted arrives once,
// or every end of the channel gets the cause. It is over for all ranks when the last copy, sender and
// receiver are dropped before this rank is through with it.
class RowChannel {
 public:
  // The numbers of the endpoints that are on this rank, ascending.
  std::vector<int> own_sources() const;
  std::vector<int> own_destinations() const;

  // CD-105: not of this rank, or all senders of the source were opened.
  RowSender open_sender(int source) const;
  RowReceiver open_receiver(int destination) const;

  // Ends it for all ranks: each that sends, receives or sleeps gets CD-618 with this cause. The first cause
  // stays. After its end a channel is dropped, not closed.
  void close(const std::string& cause) const;

  struct Flow {
    int source = 0;
    int outlet = 0;          // the destination; of a broadcast the process, in the order of ranks
    int64_t segments = 0;    // that were filled or sealed
    int64_t recycled = 0;    // that the outlet has given back
    int64_t rows_sent = 0;   // by senders that have flushed
    int64_t rows_taken = 0;  // by receivers of this process; a broadcast counts each of them
  };
  struct Counters {
    std::vector<Flow> flows;  // with an end in this process
    int64_t refused = 0;      // sends that found no room
  };
  Counters counters() const;
  int64_t memory_bytes() const;  // of its segments in this process

  struct State;
  explicit RowChannel(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace crossdock
