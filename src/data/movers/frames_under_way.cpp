#include "data/movers/frames_under_way.hpp"

#include "base/check.hpp"

namespace crossdock::movers {

FrameUnderWay& FramesUnderWay::open(uint64_t& token) {
  if (free_.empty()) {
    free_.push_back(frames_.size());
    frames_.emplace_back();
  }
  token = free_.back();
  free_.pop_back();
  frames_[token].is_used = true;
  return frames_[token];
}

FrameUnderWay& FramesUnderWay::at(uint64_t token) {
  CD_CHECK(token < frames_.size() && frames_[token].is_used, "token {}", token);
  return frames_[token];
}

void FramesUnderWay::close(uint64_t token) {
  FrameUnderWay& frame = at(token);
  frame.flow.reset();
  frame.passed_on.reset();
  frame.is_used = false;
  free_.push_back(token);
}

std::vector<uint64_t> FramesUnderWay::on_link(transports::LinkIndex link) const {
  std::vector<uint64_t> tokens;
  for (uint64_t token = 0; token < frames_.size(); ++token) {
    if (frames_[token].is_used && frames_[token].link == link) tokens.push_back(token);
  }
  return tokens;
}

}  // namespace crossdock::movers
