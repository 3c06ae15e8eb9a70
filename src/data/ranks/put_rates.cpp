// Rounds of messages of one size, each between two barriers.
#include "data/ranks/put_rates.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace crossdock::ranks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kRoundBytes = int64_t{16} << 20;
constexpr int64_t kMessagesMax = 8'192;  // of a round: small messages would take long
constexpr int kRounds = 3;

Status put_round(Window& window, int target, std::span<const std::byte> from, int64_t messages) {
  const auto bytes = static_cast<int64_t>(from.size());
  std::byte* const memory = window.direct(target);
  for (int64_t i = 0; i < messages; ++i) {
    if (memory == nullptr) {
      CD_TRY(window.put(target, i * bytes, from));
    } else {
      std::memcpy(memory + i * bytes, from.data(), from.size());
    }
  }
  if (memory == nullptr) return window.flush(target);
  window.note_stored(target, messages * bytes);
  return {};
}

}  // namespace

Result<std::vector<PutRate>> measure_puts(Communicator& ranks,
                                          const std::shared_ptr<Memory>& memory,
                                          std::span<const int64_t> message_bytes) {
  for (const int64_t bytes : message_bytes) {
    if (bytes < 1 || bytes > kRoundBytes) {
      return make_error(ErrorCode::kInvalidArgument,
                        "messages of {} bytes are to be timed; they have 1 to {}",
                        bytes,
                        kRoundBytes);
    }
  }
  CD_ASSIGN(const auto window, ranks.open_window(kRoundBytes, memory, "the timing of puts"));
  Result<Block> block = memory->get(kRoundBytes, "the timing of puts");
  CD_TRY(ranks.agree(block.ok() ? Status() : Status(block.error())));
  std::byte* const from = block.value().as<std::byte>();
  std::memset(from, 1, static_cast<size_t>(kRoundBytes));
  const int target = (ranks.rank() + 1) % ranks.size();
  CD_ASSIGN(const int64_t all_near,
            ranks.fold(window->direct(target) != nullptr ? 1 : 0, Fold::kMin));
  std::vector<PutRate> rates;
  for (const int64_t bytes : message_bytes) {
    const int64_t messages = std::clamp(kRoundBytes / bytes, int64_t{1}, kMessagesMax);
    int64_t best_ns = INT64_MAX;
    for (int round = 0; round < kRounds; ++round) {
      CD_TRY(ranks.barrier());
      const Clock::time_point begin = Clock::now();
      const Status sent =
          put_round(*window, target, std::span(from, static_cast<size_t>(bytes)), messages);
      CD_TRY(window->fence());
      const int64_t own_ns = std::chrono::nanoseconds(Clock::now() - begin).count();
      CD_TRY(ranks.agree(sent));
      CD_ASSIGN(const int64_t slowest_ns, ranks.fold(own_ns, Fold::kMax));
      best_ns = std::min(best_ns, slowest_ns);
    }
    rates.push_back({bytes,
                     static_cast<double>(best_ns) * 1e-9 / static_cast<double>(messages),
                     all_near == 1});
  }
  return rates;
}

}  // namespace crossdock::ranks
