// Ranks that meet at an address: a driver listens there (crossdock.Rendezvous) and passes what each says to all.
//
// "crossdock://HOST[,HOST]:PORT/JOB/SECRET". A rank keeps one connection for as long as it is in the group; its end
// tells the driver, and so the others, that the rank is gone. On it frames go both ways, each a length of 4 bytes, the
// highest first, and a body. The first one of a rank says who it is and has the secret, in the clear.
//
//   rank:    hello; "S" and the text of a round; "W" asks who has not said anything in the round
//   driver:  "A" and the messages of all ranks; "E" and an error; "M" and the ranks
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/home_process.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::ranks {

struct RendezvousAddress {
  std::vector<std::string> hosts;  // of one driver: names or addresses, to be tried in this order
  std::string port;
  std::string job;
  std::string secret;

  static bool is_one(std::string_view text);
  // CD-105 with what it should look like.
  static Result<RendezvousAddress> parse(std::string_view text);
  std::string place() const;  // without the secret
};

class RendezvousGroup : public RankGroup {
 public:
  RendezvousGroup(RendezvousAddress address, int rank, int size)
      : address_(std::move(address)), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Result<std::vector<std::string>> gather(const std::string& mine,
                                          std::chrono::milliseconds at_most) override;

 private:
  using Clock = std::chrono::steady_clock;

  Status connect(Clock::time_point end);
  Status send(std::string_view body, Clock::time_point end);
  // One frame. None: `end` has come, or `is_enough` says so, which is asked now and then.
  Result<std::optional<std::string>> receive(Clock::time_point end,
                                             const std::function<bool()>& is_enough);
  Status check_all() const;
  Result<std::vector<std::string>> await_all(Clock::time_point end,
                                             std::chrono::milliseconds at_most);
  Error missing(std::chrono::milliseconds after);
  Error gone(const char* why) const;

  const HomeProcess home_;
  const RendezvousAddress address_;
  const int rank_;
  const int size_;
  Descriptor socket_;
  std::string came_;  // of the next frames
  std::optional<Error> over_;
};

}  // namespace crossdock::ranks
