// Processes of one host: who they are, whether they live, and the memory they hand each other.
//
// Each process listens on an abstract socket (no file is left behind); a connection passes descriptors of shared
// regions with a few bytes that name them, and its end tells that the other process is gone, at once, also after
// SIGKILL.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/transports/link.hpp"
#include "data/transports/shared_region.hpp"

namespace crossdock {

class NeighbourEvents {
 public:
  virtual ~NeighbourEvents() = default;
  virtual void received(PeerIndex peer,
                        const std::string& note,
                        std::unique_ptr<SharedRegion> region) = 0;  // null: a note alone
  virtual void gone(PeerIndex peer) = 0;
};

// One thread, but for say().
class Neighbours {
 public:
  static Result<std::unique_ptr<Neighbours>> listen(int rank);
  virtual ~Neighbours() = default;
  // What others need to reach this one; tells which host it is on, too.
  virtual std::string address() const = 0;
  // Connects to those of addresses[rank] that are on this host; answers them. CD-617 with who did not answer in time.
  virtual Result<std::vector<PeerIndex>> connect(std::span<const std::string> addresses,
                                                 std::chrono::milliseconds at_most) = 0;
  // note.size() <= kNoteBytesMax. CD-617 if the neighbour is gone. Thread-safe.
  virtual Status say(PeerIndex peer, const std::string& note, const SharedRegion* region) = 0;
  virtual void progress(NeighbourEvents& events) = 0;  // never blocks
  virtual int wait_fd() const = 0;
};

}  // namespace crossdock
