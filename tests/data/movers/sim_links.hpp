// Links between processes that exist only here, on a clock that only moves when it is set: with rates, delays, and all
// that goes wrong with real ones. The same seed gives the same run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "data/transports/link.hpp"

namespace crossdock::movers::mover_test {

struct SimLinkSpec {
  int a = 0, b = 0;     // ranks
  double rate = 1e9;    // bytes per second, each way
  double planned = -1;  // what the link says of its rate; -1: the truth
  double delay_s = 1e-5;
  double jitter_s = 0;       // a frame may be this much later; links keep their order
  double write_s = 0;        // from place() to placed()
  int depth = 8;             // frames that the link takes before it says "not now"
  bool is_buffered = false;  // a frame counts as sent when it is put, as in the buffer of a socket
  double note_loss = 0;      // parts of all notes
  double frame_loss = 0;     // the transport says sent, and nothing arrives
  double duplicates = 0;     // arrive twice
  double corrupts = 0;       // arrive with a changed byte
  double refuses = 0;        // of puts and tells
};

enum class Cut : uint8_t {
  kSwallows,  // says sent; nothing arrives, no end hears of it
  kStalls,    // frames stay under way for ever
  kFreezes,   // the same, and what has come in part is never written to its end
  kTells,     // both ends hear that the link is lost
};

class SimNet {
 public:
  SimNet(int ranks, std::vector<SimLinkSpec> specs, uint64_t seed);
  ~SimNet();

  double now() const { return now_; }
  transports::Transport& transport(int rank);
  // The link's place among those of its rank a or b.
  transports::LinkIndex index(size_t link, int rank) const;
  void cut(size_t link, Cut how);
  SimLinkSpec& spec(size_t link);

  // Something will happen by itself; when.
  bool has_event() const { return !events_.empty(); }
  double next_event() const { return events_.top().at; }
  // Goes on to that time, and lets happen what happens until then.
  void advance(double to);

 private:
  class End;
  class Rank;
  struct Event {
    double at;
    uint64_t number;  // events of one time happen in the order in which they were planned
    std::function<void()> happens;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void plan(double at, std::function<void()> happens);
  bool by_chance(double part);

  double now_ = 0;
  uint64_t planned_ = 0;
  std::mt19937_64 random_;
  std::priority_queue<Event> events_;
  std::vector<SimLinkSpec> specs_;
  std::vector<std::unique_ptr<End>> ends_;  // 2 per link: a's, b's
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace crossdock::movers::mover_test
