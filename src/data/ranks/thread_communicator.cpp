// Letters in boxes, under one lock.
#include "data/ranks/thread_communicator.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <utility>

namespace crossdock::ranks {
namespace {

constexpr int64_t kHugePageBytes = int64_t{2} << 20;

// The memory of one rank's part; all windows that reach it keep it.
class Part {
 public:
  // Null: there is no room.
  static std::shared_ptr<Part> map(int64_t bytes) {
    if (bytes == 0) return std::make_shared<Part>(nullptr, 0);
    void* const at = ::mmap(nullptr,
                            static_cast<size_t>(bytes),
                            PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS,
                            -1,
                            0);
    if (at == MAP_FAILED) return nullptr;
    if (bytes >= kHugePageBytes) ::madvise(at, static_cast<size_t>(bytes), MADV_HUGEPAGE);
    return std::make_shared<Part>(static_cast<std::byte*>(at), bytes);
  }
  Part(std::byte* at, int64_t bytes) : at_(at), bytes_(bytes) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (at_ != nullptr) ::munmap(at_, static_cast<size_t>(bytes_));
  }
  std::byte* data() const { return at_; }

 private:
  std::byte* at_;
  int64_t bytes_;
};

using Parts = std::vector<std::shared_ptr<Part>>;  // by rank

class ThreadWindow : public Window {
 public:
  ThreadWindow(int rank, Parts parts, std::vector<std::byte*> direct)
      : Window(rank, parts[static_cast<size_t>(rank)]->data(), std::move(direct)),
        parts_(std::move(parts)) {}

 private:
  struct Put {
    int target;
    int64_t at;
    std::span<const std::byte> from;
  };

  Status put_far(int target, int64_t at, std::span<const std::byte> from) override {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({target, at, from});
    return {};
  }
  Status flush_far(int target, bool /*locally*/) override {
    const std::lock_guard lock(mutex_);
    for (const Put& put : waiting_) {
      if (put.target == target) make(put);
    }
    std::erase_if(waiting_, [&](const Put& put) { return put.target == target; });
    return {};
  }
  Status flush_all_far() override {
    const std::lock_guard lock(mutex_);
    for (const Put& put : waiting_) make(put);
    waiting_.clear();
    return {};
  }
  Status sync_far() override { return {}; }

  void make(const Put& put) const {
    std::memcpy(
        parts_[static_cast<size_t>(put.target)]->data() + put.at, put.from.data(), put.from.size());
  }

  Parts parts_;
  std::mutex mutex_;
  std::vector<Put> waiting_;
};

class ThreadCommunicator : public Communicator {
 public:
  // What the ranks share.
  struct World {
    explicit World(int ranks) : inboxes(static_cast<size_t>(ranks)) {}
    struct Inbox {
      std::map<int, std::deque<std::vector<std::byte>>> letters;  // by who sent them
      std::deque<std::pair<int, Note>> notes;
    };
    struct CollectedParts {
      Parts parts;
      int takers = 0;
    };
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Inbox> inboxes;
    std::map<int64_t, CollectedParts> windows;  // that are being made, by number
  };

  ThreadCommunicator(std::shared_ptr<World> world, int rank, int ranks_per_host)
      : world_(std::move(world)), rank_(rank) {
    const int first = rank / ranks_per_host * ranks_per_host;
    for (int other = first; other < std::min(size(), first + ranks_per_host); ++other) {
      neighbours_.push_back(other);
    }
  }
  ~ThreadCommunicator() override {
    leave();
    if (over().has_value()) return;
    for (int other = 0; other < size(); ++other) {
      if (other != rank_) tell(other, {Note::Kind::kLeft, calls(), ""});
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_->inboxes.size()); }
  const std::vector<int>& neighbours() const override { return neighbours_; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  Result<bool> transfer(std::span<const Outgoing> out,
                        std::span<const Incoming> in,
                        Clock::time_point end) override;
  void tell(int to, const Note& note) override {
    const std::lock_guard lock(world_->mutex);
    world_->inboxes[static_cast<size_t>(to)].notes.emplace_back(rank_, note);
    world_->changed.notify_all();
  }
  void listen(Clock::time_point end) override {
    Lock lock(world_->mutex);
    while (!enough() && wait(lock, end)) {
    }
  }
  Result<std::shared_ptr<Window>> make_window(std::span<const int64_t> bytes_by_rank) override;
  void close_window(Window&) override {}

  World::Inbox& inbox() const { return world_->inboxes[static_cast<size_t>(rank_)]; }
  bool wait(Lock& lock, Clock::time_point end);

  std::shared_ptr<World> world_;
  int rank_;
  std::vector<int> neighbours_;
  int64_t windows_made_ = 0;
};

// Hears what has been said, or sleeps until something comes. False: it is `end`.
bool ThreadCommunicator::wait(Lock& lock, Clock::time_point end) {
  if (inbox().notes.empty()) {
    return world_->changed.wait_until(lock, end) == std::cv_status::no_timeout;
  }
  const std::deque<std::pair<int, Note>> notes = std::exchange(inbox().notes, {});
  lock.unlock();  // an answer takes it
  for (const auto& [from, note] : notes) heard(from, note);
  lock.lock();
  return true;
}

Result<bool> ThreadCommunicator::transfer(std::span<const Outgoing> out,
                                          std::span<const Incoming> in,
                                          Clock::time_point end) {
  Lock lock(world_->mutex);
  for (const Outgoing& message : out) {
    World::Inbox& theirs = world_->inboxes[static_cast<size_t>(message.to)];
    theirs.letters[rank_].emplace_back(message.bytes.begin(), message.bytes.end());
  }
  world_->changed.notify_all();
  for (const Incoming& incoming : in) {
    std::deque<std::vector<std::byte>>& letters = inbox().letters[incoming.from];
    while (letters.empty()) {
      if (over().has_value()) return false;
      if (has_left(incoming.from)) return left_error(incoming.from);
      if (!wait(lock, end)) return false;
    }
    const std::vector<std::byte> letter = std::move(letters.front());
    letters.pop_front();
    if (letter.size() != incoming.bytes.size()) {
      return unlike_lengths(incoming.from, letter.size(), incoming.bytes.size());
    }
    std::ranges::copy(letter, incoming.bytes.begin());
  }
  return true;
}

Result<std::shared_ptr<Window>> ThreadCommunicator::make_window(
    std::span<const int64_t> bytes_by_rank) {
  const int64_t number = windows_made_++;
  const int64_t bytes = bytes_by_rank[static_cast<size_t>(rank_)];
  {
    const std::shared_ptr<Part> part = Part::map(bytes);
    const std::lock_guard lock(world_->mutex);
    World::CollectedParts& collected = world_->windows[number];
    collected.parts.resize(bytes_by_rank.size());
    collected.parts[static_cast<size_t>(rank_)] = part;
  }
  CD_TRY(barrier());
  Parts parts;
  {
    const std::lock_guard lock(world_->mutex);
    World::CollectedParts& collected = world_->windows[number];
    parts = collected.parts;
    if (++collected.takers == size()) world_->windows.erase(number);
  }
  if (parts[static_cast<size_t>(rank_)] == nullptr) {
    return make_error(
        ErrorCode::kOutOfMemoryBudget, "the system has no {} bytes for a window", bytes);
  }
  std::vector<std::byte*> direct(parts.size(), nullptr);
  for (const int neighbour : neighbours_) {
    const auto& part = parts[static_cast<size_t>(neighbour)];
    direct[static_cast<size_t>(neighbour)] = part == nullptr ? nullptr : part->data();
  }
  return std::shared_ptr<Window>(
      std::make_shared<ThreadWindow>(rank_, std::move(parts), std::move(direct)));
}

Status guarded(const std::function<Status(Communicator&)>& body, Communicator& communicator) {
  try {
    return body(communicator);
  } catch (const std::exception& problem) {
    return make_error(ErrorCode::kInternal, "a rank threw: {}", problem.what());
  }
}

}  // namespace

Result<std::vector<std::unique_ptr<Communicator>>> make_thread_communicators(
    const ThreadRanks& world_shape) {
  if (world_shape.ranks < 1 || world_shape.ranks_per_host < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} ranks, {} on a host: there is at least one, and not less than none",
                      world_shape.ranks,
                      world_shape.ranks_per_host);
  }
  const int per_host =
      world_shape.ranks_per_host == 0 ? world_shape.ranks : world_shape.ranks_per_host;
  const auto world = std::make_shared<ThreadCommunicator::World>(world_shape.ranks);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < world_shape.ranks; ++rank) {
    communicators.push_back(std::make_unique<ThreadCommunicator>(world, rank, per_host));
    communicators.back()->set_limit(world_shape.limit);
  }
  return communicators;
}

Status run_thread_ranks(const ThreadRanks& world_shape,
                        const std::function<Status(Communicator&)>& body) {
  CD_ASSIGN(std::vector<std::unique_ptr<Communicator>> communicators,
            make_thread_communicators(world_shape));
  std::vector<Status> outcomes(communicators.size());
  {
    std::vector<std::jthread> threads;
    for (size_t rank = 0; rank < communicators.size(); ++rank) {
      threads.emplace_back([&, rank] {
        const std::unique_ptr<Communicator> communicator = std::move(communicators[rank]);
        outcomes[rank] = guarded(body, *communicator);
        if (!outcomes[rank].ok()) communicator->give_up(outcomes[rank].error());
      });
    }
  }
  const Status* failure = nullptr;
  for (const Status& outcome : outcomes) {
    if (outcome.ok()) continue;
    if (failure == nullptr || failure->error().code == ErrorCode::kAgentLost) failure = &outcome;
  }
  return failure == nullptr ? Status() : *failure;
}

}  // namespace crossdock::ranks
