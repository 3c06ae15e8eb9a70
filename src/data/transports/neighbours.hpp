// Processes of one host: who they are, whether they live, and the memory they hand each other.
//
// Each process listens on an abstract socket (no file is left behind) until all have met; a connection passes
// descriptors of shared regions with a few bytes that name them, and its end tells that the other process is gone, at
// once, also after SIGKILL. Only processes of the same user are taken; what they send is not believed. Bounds: notes
// that a neighbour has not taken yet, 1,024 each.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/transports/link.hpp"
#include "data/transports/shared_region.hpp"

namespace crossdock::transports {

class NeighbourEvents {
 public:
  virtual ~NeighbourEvents() = default;
  // Notes of one neighbour come in the order they were said. The region is mapped, of the size it was created with;
  // null: a note alone.
  virtual void received(PeerIndex peer,
                        const std::string& note,
                        std::unique_ptr<SharedRegion> region) = 0;
  // Once, after all notes of the neighbour: it has ended, or sent what is no note, or its notes cannot be taken.
  virtual void gone(PeerIndex peer, const Error& cause) = 0;
};

// One thread, but for say().
class Neighbours {
 public:
  // CD-201, CD-603 if the system gives no socket.
  static Result<std::unique_ptr<Neighbours>> listen(int rank);
  // The others see the end at once. Notes that still wait are lost.
  virtual ~Neighbours() = default;
  // What others need to reach this one; tells which host it is on, too.
  virtual std::string address() const = 0;
  // Connects to those of addresses[rank] that are on this host, "" for none; answers them, ascending. Once. CD-617 with
  // who did not answer in time or has ended; CD-612 for processes of another user; CD-613 for what is no address.
  virtual Result<std::vector<PeerIndex>> connect(std::span<const std::string> addresses,
                                                 std::chrono::milliseconds at_most) = 0;
  // Waits for no process; what the neighbour cannot take yet leaves in progress(). The region may go at once.
  // note.size() <= kNoteBytesMax. CD-617 with the cause if the neighbour is gone, or has left too many notes lying, or
  // if the system was too short of something for 5 s to pass them on (it counts as gone then); CD-201 if no more
  // descriptors can be held, CD-603 if the system refuses the note: it is not said then. Thread-safe.
  virtual Status say(PeerIndex peer, const std::string& note, const SharedRegion* region) = 0;
  virtual void progress(NeighbourEvents& events) = 0;  // never blocks
  // Readable when progress() has something to do. Stays the same.
  virtual int wait_fd() const = 0;
};

}  // namespace crossdock::transports
