// Waits look at the cancel flag, which wakes no thread.
#include "scan/ranged_file.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/team.hpp"

namespace crossdock::scan {
namespace {

constexpr auto kLookInterval = std::chrono::milliseconds(20);
// Of what was not asked for ahead: few bytes cost as long as so many.
constexpr int64_t kFetchLeast = int64_t{256} << 10;
constexpr int64_t kRecentBytesMost = int64_t{32} << 20;

// What is asked: it owns no range.
class Request final : public RangeRequest {
 public:
  explicit Request(const std::shared_ptr<FetchedRange>& range)
      : offset_(range->begin()), bytes_(range->end() - range->begin()), range_(range) {}

  int64_t offset() const override { return offset_; }
  int64_t bytes() const override { return bytes_; }
  bool is_wanted() const override { return !range_.expired(); }
  void deliver(const void* data, int64_t bytes) override {
    if (const auto range = range_.lock()) range->deliver(data, bytes);
  }
  void fail(const std::string& why) override {
    if (const auto range = range_.lock()) range->fail(why);
  }

 private:
  const int64_t offset_;
  const int64_t bytes_;
  const std::weak_ptr<FetchedRange> range_;
};

}  // namespace

FetchedRange::FetchedRange(const std::string& file, ByteRange range, Block memory)
    : file_(file), range_(range), memory_(std::move(memory)) {
  if (memory_.bytes() == 0) held_.resize(static_cast<size_t>(range.end - range.begin));
  data_ = held_.empty() ? memory_.data() : held_.data();
}

void FetchedRange::deliver(const void* data, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (is_answered_) return;
  if (bytes != range_.end - range_.begin) return answer(fmt::format("{} bytes came", bytes));
  if (bytes > 0) std::memcpy(data_, data, static_cast<size_t>(bytes));
  answer("");
}

void FetchedRange::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!is_answered_) answer(why.empty() ? "reading failed" : why);
}

// With the lock.
void FetchedRange::answer(std::string why) {
  is_answered_ = true;
  if (!why.empty()) is_of_use_.store(false);
  failure_ = std::move(why);
  answered_.notify_all();
}

Status FetchedRange::wait() {
  std::unique_lock lock(mutex_);
  while (!answered_.wait_for(lock, kLookInterval, [this] { return is_answered_; })) {
    if (!CancelScope::is_cancelled()) continue;
    is_of_use_.store(false);  // it may never come
    return make_error(ErrorCode::kCancelled,
                      "the run was cancelled while it waited for bytes {} to {} of {}",
                      range_.begin,
                      range_.end,
                      file_);
  }
  if (failure_.empty()) return {};
  return make_error(ErrorCode::kSourceFailed,
                    "{}: bytes {} to {} cannot be read: {}",
                    file_,
                    range_.begin,
                    range_.end,
                    failure_);
}

void RecentRanges::add(std::shared_ptr<FetchedRange> range) {
  const std::lock_guard lock(mutex_);
  bytes_ += range->end() - range->begin();
  ranges_.push_back(std::move(range));
  while (bytes_ > kRecentBytesMost && ranges_.size() > 1) {
    bytes_ -= ranges_.front()->end() - ranges_.front()->begin();
    ranges_.pop_front();
  }
}

void RecentRanges::forget(const std::shared_ptr<FetchedRange>& range) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find(ranges_.begin(), ranges_.end(), range);
  if (place == ranges_.end()) return;
  bytes_ -= range->end() - range->begin();
  ranges_.erase(place);
}

RangedFile::RangedFile(RemoteFile described, std::shared_ptr<RecentRanges> recent)
    : ByteSource(std::move(described.name)),
      tail_(std::move(described.tail)),
      ask_(std::move(described.ask)),
      recent_(std::move(recent)) {
  bytes_ = described.bytes;
}

std::shared_ptr<FetchedRange> RangedFile::ask(ByteRange range, Block memory) const {
  auto asked = std::make_shared<FetchedRange>(path_, range, std::move(memory));
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(asked_, [](const auto& entry) { return entry.second.expired(); });
    asked_.emplace(range.begin, asked);
  }
  ask_(std::make_shared<Request>(asked));
  return asked;
}

std::shared_ptr<FetchedRange> RangedFile::known(int64_t offset) const {
  const std::lock_guard lock(mutex_);
  auto after = asked_.upper_bound(offset);
  while (after != asked_.begin()) {
    --after;
    if (after->first < offset - kRangeBytesMost) break;
    auto range = after->second.lock();
    if (range != nullptr && range->is_of_use() && range->end() > offset) return range;
  }
  return nullptr;
}

std::shared_ptr<FetchedRange> RangedFile::fetch(int64_t offset, int64_t bytes) const {
  const int64_t some = std::clamp(bytes, kFetchLeast, kRangeBytesMost);
  auto range = ask({offset, std::min(offset + some, bytes_)}, Block());
  recent_->add(range);
  return range;
}

Status RangedFile::read(int64_t offset, std::span<uint8_t> out) const {
  const auto bytes = static_cast<int64_t>(out.size());
  CD_TRY(check_range(offset, bytes));
  const int64_t tail_begin = bytes_ - static_cast<int64_t>(tail_.size());
  for (int64_t done = 0; done < bytes;) {
    const int64_t at = offset + done;
    const int64_t left = bytes - done;
    if (at >= tail_begin) {
      std::memcpy(out.data() + done, tail_.data() + (at - tail_begin), static_cast<size_t>(left));
      return {};
    }
    auto range = known(at);
    if (range == nullptr) range = fetch(at, left);
    const Status there = range->wait();
    if (!there.ok()) {
      recent_->forget(range);
      return there;
    }
    const int64_t some = std::min(left, range->end() - at);
    std::memcpy(out.data() + done, range->at(at), static_cast<size_t>(some));
    done += some;
  }
  return {};
}

}  // namespace crossdock::scan
