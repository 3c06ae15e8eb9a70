// The patterns of the channels bench with UCX alone, used plainly; one JSON object on the standard output of rank 0.
//
//   ucx_peer exchange|gather|scatter|p2p|broadcast BYTES REPEATS
//
// One context and one worker for all that UCX finds, an endpoint to each rank, and messages of 1 MiB with a tag: all
// receives are posted, then all sends, in turn over the ranks, and UCX chooses transports, rails and protocols. BYTES
// of every source; peer_pattern.hpp says what is sent. Nothing is partitioned, and what has come is
// not looked at while it is timed. A first run is not timed, and checks every word.
//
// Ranks meet as those of perf_bench: CROSSDOCK_RANK of CROSSDOCK_RANKS in the folder CROSSDOCK_MEET.
// UCX_PEER_WAIT=sleep makes a rank that has nothing to do sleep until something comes; else it yields and looks again.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include <ucp/api/ucp.h>

#include "peer_pattern.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMessageWords = (size_t{1} << 20) / 8;
constexpr auto kMeetWithin = std::chrono::seconds(20);
constexpr ucp_tag_t kRows = 0, kMeets = 1, kLeaves = 2;
constexpr ucp_tag_t kWholeTag = ~ucp_tag_t{0};

[[noreturn]] void end_with(const std::string& what) {
  std::fprintf(stderr, "ucx_peer: %s\n", what.c_str());
  std::exit(1);
}

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) end_with(std::string(what) + ": " + ucs_status_string(status));
}

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) end_with(std::string(name) + " is not set");
  return text;
}

class Ranks {
 public:
  Ranks(int rank, int ranks, std::string folder, bool sleeps)
      : rank_(rank), folder_(std::move(folder)), sleeps_(sleeps) {
    open_worker();
    tell_address();
    for (int peer = 0; peer < ranks; ++peer) endpoints_.push_back(connect(peer));
  }
  // All ranks have come to the last barrier: no rank waits for anything, and connections may go as they like.
  ~Ranks() {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int size() const { return static_cast<int>(endpoints_.size()); }

  void send(int peer, const uint64_t* words, size_t count, ucp_tag_t kind) {
    const ucp_request_param_t param{};
    const ucp_tag_t tag = static_cast<ucp_tag_t>(rank_) << 8 | kind;
    const auto to = endpoints_[static_cast<size_t>(peer)];
    requests_.push_back(ucp_tag_send_nbx(to, words, 8 * count, tag, &param));
  }
  void receive(int peer, uint64_t* words, size_t count, ucp_tag_t kind) {
    const ucp_request_param_t param{};
    const ucp_tag_t tag = static_cast<ucp_tag_t>(peer) << 8 | kind;
    requests_.push_back(ucp_tag_recv_nbx(worker_, words, 8 * count, tag, kWholeTag, &param));
  }
  // Until all that was begun is through.
  void finish() {
    for (ucs_status_ptr_t request : requests_) {
      if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "a message");
      if (request == nullptr) continue;
      while (ucp_request_check_status(request) == UCS_INPROGRESS) progress();
      check(ucp_request_check_status(request), "a message");
      ucp_request_free(request);
    }
    requests_.clear();
  }
  // Through rank 0; answers the sum of what all passed there, and 0 elsewhere.
  uint64_t barrier(uint64_t mine = 0) {
    uint64_t sum = mine, signal = 0;
    std::vector<uint64_t> theirs(endpoints_.size());
    if (rank_ == 0) {
      for (int peer = 1; peer < size(); ++peer)
        receive(peer, &theirs[static_cast<size_t>(peer)], 1, kMeets);
      finish();
      for (int peer = 1; peer < size(); ++peer) send(peer, &signal, 1, kLeaves);
    } else {
      send(0, &mine, 1, kMeets);
      receive(0, &signal, 1, kLeaves);
    }
    finish();
    for (const uint64_t one : theirs) sum += one;
    return rank_ == 0 ? sum : 0;
  }

 private:
  void open_worker() {
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG | (sleeps_ ? UCP_FEATURE_WAKEUP : 0);
    check(ucp_init(&params, config, &context_), "ucp_init");
    ucp_config_release(config);
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create");
  }
  std::string file_of(int rank) const { return folder_ + "/ucx." + std::to_string(rank); }
  void tell_address() {
    ucp_address_t* address = nullptr;
    size_t bytes = 0;
    check(ucp_worker_get_address(worker_, &address, &bytes), "ucp_worker_get_address");
    const std::string unfinished = file_of(rank_) + ".unfinished";
    std::ofstream(unfinished, std::ios::binary)
        .write(reinterpret_cast<const char*>(address), static_cast<std::streamsize>(bytes));
    ucp_worker_release_address(worker_, address);
    if (std::rename(unfinished.c_str(), file_of(rank_).c_str()) != 0)
      end_with("no folder to meet in");
  }
  ucp_ep_h connect(int peer) {
    const Clock::time_point end = Clock::now() + kMeetWithin;
    std::ifstream file;
    while (!file.is_open()) {
      file.open(file_of(peer), std::ios::binary);
      if (file.is_open()) break;
      if (Clock::now() > end) end_with("rank " + std::to_string(peer) + " did not come");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::string address{std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>()};
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    ucp_ep_h endpoint = nullptr;
    check(ucp_ep_create(worker_, &params, &endpoint), "ucp_ep_create");
    return endpoint;
  }
  void progress() {
    if (ucp_worker_progress(worker_) != 0) return;
    if (!sleeps_) {
      sched_yield();
    } else if (const ucs_status_t status = ucp_worker_wait(worker_); status != UCS_ERR_BUSY) {
      check(status, "ucp_worker_wait");
    }
  }

  int rank_;
  std::string folder_;
  bool sleeps_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<ucp_ep_h> endpoints_;
  std::vector<ucs_status_ptr_t> requests_;
};

// Calls act(piece, begin, words) for each message, in turn over the pieces.
template <class Act>
void for_messages(const std::vector<Piece>& pieces, const Act& act) {
  bool is_over = false;
  for (size_t begin = 0; !is_over; begin += kMessageWords) {
    is_over = true;
    for (const Piece& piece : pieces) {
      if (begin >= piece.words) continue;
      act(piece, piece.at + begin, std::min(kMessageWords, piece.words - begin));
      is_over = false;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) end_with("PATTERN BYTES REPEATS");
  const int rank = std::stoi(variable("CROSSDOCK_RANK"));
  const char* const wait = std::getenv("UCX_PEER_WAIT");
  const bool sleeps = wait != nullptr && std::strcmp(wait, "sleep") == 0;
  Ranks ranks(rank, std::stoi(variable("CROSSDOCK_RANKS")), variable("CROSSDOCK_MEET"), sleeps);
  const size_t words = static_cast<size_t>(std::atoll(argv[2])) / 8;
  const PeerPattern pattern = peer_pattern(argv[1], rank, ranks.size(), words);
  const std::vector<uint64_t> sent = peer_words(rank, words);
  std::vector<uint64_t> received(pattern.received_words);
  uint64_t wrong = 0;
  std::string samples;
  for (int run = -1; run < std::atoi(argv[3]); ++run) {
    ranks.barrier();
    const Clock::time_point start = Clock::now();
    for_messages(pattern.received, [&](const Piece& piece, size_t at, size_t count) {
      if (piece.peer != rank) ranks.receive(piece.peer, &received[at], count, kRows);
    });
    for_messages(pattern.sent, [&](const Piece& piece, size_t at, size_t count) {
      if (piece.peer != rank) ranks.send(piece.peer, &sent[at], count, kRows);
    });
    for (const Piece& in : pattern.received) {
      if (in.peer == rank) std::copy_n(&sent[in.first], in.words, &received[in.at]);
    }
    ranks.finish();
    ranks.barrier();
    const std::chrono::duration<double> passed = Clock::now() - start;
    if (run >= 0) {
      samples += (samples.empty() ? "" : ", ") + std::to_string(passed.count());
      continue;
    }
    wrong = ranks.barrier(wrong_words(pattern, received));
  }
  ranks.barrier();
  if (rank == 0) {
    std::printf("{\"samples_s\": [%s], \"wrong_rows\": %llu}\n",
                samples.c_str(),
                static_cast<unsigned long long>(wrong));
  }
  return wrong == 0 ? 0 : 1;
}
