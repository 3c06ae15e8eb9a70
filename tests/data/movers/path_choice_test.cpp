// Which path a frame takes, by what is known of each.
#include "data/movers/path_choice.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::movers {
namespace {

class IdleLink : public transports::Link {
 public:
  explicit IdleLink(transports::PeerIndex peer) : peer_(peer) {}
  transports::PeerIndex peer() const override { return peer_; }
  std::string name() const override { return "idle"; }
  double rate_bytes_per_s() const override { return 0; }
  bool put(const rings::SegmentHeader&, std::span<const std::byte>, uint64_t) override {
    return true;
  }
  bool tell(std::span<const std::byte>) override { return true; }

 private:
  transports::PeerIndex peer_;
};

constexpr uint32_t kFrameBytes = 1000;

// Two links to rank 1, over each of which a frame of kFrameBytes took the time that is said.
class PathChoiceTest : public ::testing::Test {
 protected:
  void measure(PathIndex path, double trip_s) {
    const PathThen then = choice_.put(path, kFrameBytes, now_);
    choice_.forget(path, kFrameBytes);
    choice_.delivered(path, kFrameBytes, now_ + trip_s);
    choice_.measured(path, then, now_, now_ + trip_s);
    now_ += trip_s;
  }
  PathIndex chosen() const {
    FrameWanted frame;
    frame.peer = 1;
    frame.bytes = kFrameBytes;
    frame.now = now_;
    return choice_.choose(frame);
  }

  IdleLink first_{1}, second_{1};
  std::vector<LinkUse> links_ = std::vector<LinkUse>(2);
  double now_ = 1;
  PathChoice choice_ = make();

 private:
  PathChoice make() {
    links_[0].link = &first_;
    links_[1].link = &second_;
    const std::vector<PathTo> paths = {{.peer = 1, .first = 0}, {.peer = 1, .first = 1}};
    return PathChoice(links_, paths, {});
  }
};

TEST_F(PathChoiceTest, a_slow_path_is_tried_again_after_a_rest) {
  measure(0, 1e-3);
  measure(1, 0.1);
  EXPECT_EQ(chosen(), 0U);
  // The first is busy for as long as the second has been slow.
  choice_.put(0, 10 * kFrameBytes, now_);
  now_ += 5;
  EXPECT_EQ(chosen(), 1U);
}

TEST_F(PathChoiceTest, a_path_does_not_rest_while_its_link_moves_frames_of_others) {
  measure(0, 1e-3);
  measure(1, 0.1);
  links_[1].bytes_under_way = 10 * kFrameBytes;  // a second's work, passed on for another process
  now_ += 5;
  choice_.put(0, 10 * kFrameBytes, now_);  // a hundredth of that
  EXPECT_EQ(chosen(), 0U);
  now_ += 0.05;
  EXPECT_EQ(chosen(), 0U) << "the busy link has not become faster by being busy";
}

}  // namespace
}  // namespace crossdock::movers
