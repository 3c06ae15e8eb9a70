// A process of a stepped world: its mover, the rings of its parts of channels, and who fills and empties them.
//
// Sources fill rings as long as there is room, destinations take what has come and check it. A segment has so many rows
// of a byte each and says in them whose it is. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/agent/agent.hpp"
#include "data/movers/mover.hpp"
#include "data/rings/doorbell.hpp"
#include "sim/stepped/stepped_links.hpp"

namespace crossdock::sim {

// Of each pair of endpoints.
struct SteppedLoad {
  uint32_t segments = 0;
  uint32_t last_rows = 0;  // of the last segment; the others are full
  int slot_bits = 1;
  std::shared_ptr<const segments::RowLayout> layout;

  uint32_t rows_max() const { return layout->segments().rows_max; }
  uint64_t rows() const { return uint64_t{segments - 1} * rows_max() + last_rows; }
};

class SteppedProcess : public control::ChannelHost {
 public:
  struct Parts {
    uint32_t server = 0;
    const topology::InfrastructureGraph* graph = nullptr;
    SteppedLinks* links = nullptr;
    VirtualClock* clock = nullptr;
    movers::MoverSettings settings;
    SteppedLoad load;
  };
  explicit SteppedProcess(Parts parts);
  ~SteppedProcess() override;

  Status open(std::shared_ptr<const control::ServerPart> part) override;
  void close(control::ChannelId channel, const Error& cause) override;

  // Sources begin.
  void start();
  // Until nothing moves, or for a while: then it wants to go on at once. When it wants to be stepped again.
  double run();
  // A frame of this flow was put in its place.
  void came(const rings::SegmentHeader& header) { came_.push_back(header); }

  const control::ServerPart* part() const { return part_.get(); }
  int64_t expected() const { return expected_; }  // segments, of all incoming flows
  int64_t taken() const { return taken_; }
  bool is_open() const { return part_ != nullptr && !is_closed_; }
  bool has_failed() const { return !cause_.empty(); }
  const std::string& cause() const { return cause_; }    // why it is over before its end
  const std::string& broken() const { return broken_; }  // what must not be
  movers::Mover& mover() { return *mover_; }
  uint64_t steps() const { return steps_; }

 private:
  struct Memory;
  struct Outgoing {
    movers::FlowId id;
    uint32_t peer = 0;
    uint32_t put = 0;
  };
  struct Incoming {
    movers::FlowId id;
    uint32_t taken = 0;
    uint64_t rows = 0;
  };

  Status add_flows();
  using PathsOf = std::map<topology::VertexIndex,
                           std::map<transports::PeerIndex, std::vector<movers::PathIndex>>>;
  Result<PathsOf> planned_paths() const;
  movers::MovedFlow moved(const movers::FlowId& id, uint32_t peer, const rings::Flow& flow);
  rings::Flow flow_at(const Memory& memory, size_t place) const;
  bool fill(size_t place);
  bool fill_waiting();
  bool take_come();
  void take(size_t place);
  void look_at_bounds();

  Parts parts_;
  std::unique_ptr<movers::Mover> mover_;
  std::vector<transports::Link*> links_;
  std::vector<movers::PathTo> paths_;
  std::map<transports::PeerIndex, size_t> paths_to_;
  std::shared_ptr<const control::ServerPart> part_;
  std::vector<uint32_t> server_of_;  // per server of the channel: in the graph
  std::shared_ptr<Memory> out_memory_, in_memory_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  // By number of source or outlet: its row and column in `incoming_`; those of others have none.
  std::vector<uint32_t> row_of_, column_of_;
  uint32_t columns_ = 0;
  // Outgoing flows to a server with rows and no room; its doorbell as it was when they were looked at last.
  struct Waiting {
    std::vector<size_t> flows;
    uint32_t rung = 0;
  };
  std::map<uint32_t, Waiting> waiting_;
  std::vector<rings::SegmentHeader> came_;
  std::vector<movers::FlowId> news_;
  int64_t expected_ = 0;
  int64_t taken_ = 0;
  bool is_closed_ = false;
  std::string cause_;
  std::string broken_;
  uint64_t steps_ = 0;
};

}  // namespace crossdock::sim
