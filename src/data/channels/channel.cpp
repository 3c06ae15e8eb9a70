// What of a sender is the same for every kind of channel: calls that last until something is done.
#include "data/channels/channel.hpp"

namespace crossdock::channels {
namespace {

// Who waits sleeps until room is made; who has a drain looks again soon, since what arrives for it makes no room here
// before it is taken.
constexpr std::chrono::microseconds kNap{10'000};
constexpr std::chrono::microseconds kNapWithDrain{50};

// Tries until `is_done` answers true, and drains and sleeps in between.
template <class IsDone>
Status keep_trying(Sender& sender, const std::function<Status()>& drain, IsDone is_done) {
  while (true) {
    CD_ASSIGN(const bool done, is_done());
    if (done) return {};
    if (drain) CD_TRY(drain());
    sender.wait(drain ? kNapWithDrain : kNap);
  }
}

}  // namespace

Status Sender::flush(const std::function<Status()>& drain) {
  CD_TRY(flush_begin());
  return keep_trying(*this, drain, [this] { return flush_done(); });
}

Status Sender::send_all(const Batch& rows, const std::function<Status()>& drain) {
  if (rows.rows == 0) return {};
  return keep_trying(*this, drain, [this, &rows]() -> Result<bool> {
    CD_ASSIGN(const int64_t taken, send(rows));
    return taken != 0;
  });
}

}  // namespace crossdock::channels
