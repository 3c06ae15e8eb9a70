// How the processes of a host meet: each connects to those of lower rank and accepts those of higher rank.
//
// A caller sends a greeting with the secret of whom it calls, and is answered with its own: so both know that the other
// has their address from a member of the group. A caller of another user, or one that sends anything else, is dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "data/transports/link.hpp"
#include "data/transports/neighbour_address.hpp"

namespace crossdock::transports {

class NeighbourMeeting {
 public:
  NeighbourMeeting(PeerIndex rank, const NeighbourAddress& address, int listening_fd)
      : rank_(rank), local_(address), listening_(listening_fd) {}

  // Connections to all of addresses[rank] that are on this host, by rank. CD-612 if one is of another user; CD-613 for
  // what is no address; CD-617 with those who did not come in time, or who are gone.
  Result<std::map<PeerIndex, Descriptor>> meet(std::span<const std::string> addresses,
                                               std::chrono::milliseconds at_most);

 private:
  // Those of this host, but for this process.
  Status find_neighbours(std::span<const std::string> addresses);
  // Calls one who has not been called, unless too many others do: true if it is to be tried again soon.
  Result<bool> call(PeerIndex rank);
  void accept_callers();
  void read_greetings();
  Status read_answers();
  void drop_silent();
  void wait_for_news(std::chrono::milliseconds at_most) const;
  Error missing(std::chrono::milliseconds after) const;
  bool greet(int fd, PeerIndex rank) const;

  PeerIndex rank_;
  const NeighbourAddress& local_;
  int listening_;
  std::map<PeerIndex, NeighbourAddress> neighbours_;
  std::map<PeerIndex, Descriptor> called_;  // greeted, not answered yet
  struct Caller {
    Descriptor fd;
    std::chrono::steady_clock::time_point since;
  };
  std::vector<Caller> callers_;  // accepted, nothing said yet
  std::map<PeerIndex, Descriptor> met_;
  std::set<uint32_t> refused_users_;
};

}  // namespace crossdock::transports
