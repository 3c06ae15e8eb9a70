// Who puts how much where.
#include "data/ranks/window_rounds.hpp"

#include <algorithm>
#include <vector>

namespace crossdock::ranks {

std::byte byte_of(int from, int to, int64_t place, int round) {
  return static_cast<std::byte>((from * 131 + to * 31 + place * 7 + round * 3) % 251);
}

namespace {

// So many bytes go from one rank to another; none for some.
int64_t bytes_between(int from, int to, int round) {
  return (from + 2 * to + round) % 4 == 0 ? 0 : 1'000 * (from + 1) + 37 * to + round;
}

}  // namespace

Status put_and_look(Communicator& ranks, const std::shared_ptr<Memory>& memory, int round) {
  const int self = ranks.rank();
  int64_t mine = 0;
  for (int from = 0; from < ranks.size(); ++from) mine += bytes_between(from, self, round);
  CD_ASSIGN(const auto window, ranks.open_window(mine, memory, "test"));
  std::vector<std::vector<std::byte>> kept;
  for (int i = 0; i < ranks.size(); ++i) {
    const int to = (self + i) % ranks.size();
    int64_t at = 0;
    for (int from = 0; from < self; ++from) at += bytes_between(from, to, round);
    std::vector<std::byte> bytes(static_cast<size_t>(bytes_between(self, to, round)));
    for (size_t place = 0; place < bytes.size(); ++place) {
      bytes[place] = byte_of(self, to, static_cast<int64_t>(place), round);
    }
    const size_t half = bytes.size() / 2;
    CD_TRY(window->put(to, at, std::span(bytes).first(half)));
    CD_TRY(window->flush_local(to));
    std::ranges::fill(std::span(bytes).first(half), std::byte{0xee});  // it may be used again
    CD_TRY(window->put(to, at + static_cast<int64_t>(half), std::span(bytes).subspan(half)));
    kept.push_back(std::move(bytes));
  }
  CD_TRY(window->fence());
  if (window->bytes() != mine) {
    return make_error(ErrorCode::kInternal, "{} bytes instead of {}", window->bytes(), mine);
  }
  int64_t at = 0;
  for (int from = 0; from < ranks.size(); ++from) {
    for (int64_t place = 0; place < bytes_between(from, self, round); ++place) {
      if (window->data()[at + place] != byte_of(from, self, place, round)) {
        return make_error(ErrorCode::kInternal, "byte {} of rank {} in {}", place, from, self);
      }
    }
    at += bytes_between(from, self, round);
  }
  return {};
}

}  // namespace crossdock::ranks
