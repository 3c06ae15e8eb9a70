// memcpy by one thread between two mappings that processes could share; one JSON object on stdout, for bench/channels:
// what a transfer between two processes of a host is held against.
//
//   mapping_copy_bench BYTES PIECE_BYTES WINDOW_BYTES REPEATS
//
// BYTES of one mapping are copied in pieces into the other, of WINDOW_BYTES, round and round. A window as large as the
// bytes is plain memory to memory; one of a few pieces stays in the cache, as the slots of a flow do.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/transports/shared_region.hpp"

namespace crossdock {
namespace {

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "mapping_copy_bench: {}\n", text);
  std::exit(1);
}

std::unique_ptr<transports::SharedRegion> touched_region(int64_t bytes) {
  auto region = transports::SharedRegion::create(bytes);
  if (!region.ok()) fail(region.error().message);
  std::memset(region.value()->bytes().data(), 1, static_cast<size_t>(bytes));
  return std::move(region.value());
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  using namespace crossdock;
  if (argc != 5) fail("BYTES PIECE_BYTES WINDOW_BYTES REPEATS");
  const int64_t bytes = std::atoll(argv[1]);
  const int64_t piece = std::atoll(argv[2]);
  const int64_t window = std::atoll(argv[3]);
  if (piece < 1 || bytes % piece != 0 || window % piece != 0) fail("pieces must fill both");
  const auto from = touched_region(bytes);
  const auto to = touched_region(window);
  std::vector<double> seconds;
  for (int run = -1; run < std::atoi(argv[4]); ++run) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t at = 0; at < bytes; at += piece) {
      std::memcpy(
          to->bytes().data() + at % window, from->bytes().data() + at, static_cast<size_t>(piece));
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (run >= 0) seconds.push_back(elapsed.count());
  }
  fmt::print("{{\"samples_s\": [{}]}}\n", fmt::join(seconds, ", "));
}
