// A file that lies elsewhere, read by ranges that a caller fetches.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <crossdock/remote_file.hpp>

#include "memory/budget.hpp"
#include "scan/byte_source.hpp"

namespace crossdock::scan {

struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// A range that has been asked for, and its bytes once they are there. Its owners are those who want it: a request whose
// range has none is wanted no longer. Thread-safe.
class FetchedRange {
 public:
  // `memory`: for its bytes; none: it takes some that no budget knows of.
  FetchedRange(const std::string& file, ByteRange range, Block memory);

  int64_t begin() const { return range_.begin; }
  int64_t end() const { return range_.end; }
  void deliver(const void* data, int64_t bytes);
  void fail(const std::string& why);
  // Waits until it is answered. Errors: kSourceFailed, kCancelled; the range is of no use then.
  Status wait();
  bool is_of_use() const { return is_of_use_.load(); }
  // Of the range, from `offset` on; after wait().
  const uint8_t* at(int64_t offset) const { return data_ + (offset - range_.begin); }

 private:
  void answer(std::string why);

  const std::string file_;
  const ByteRange range_;
  std::mutex mutex_;
  std::condition_variable answered_;
  Block memory_;
  std::vector<uint8_t> held_;
  uint8_t* data_ = nullptr;
  bool is_answered_ = false;
  std::string failure_;
  std::atomic<bool> is_of_use_{true};
};

// What was last read without having been asked for ahead, of all files that were opened together. Thread-safe.
class RecentRanges {
 public:
  void add(std::shared_ptr<FetchedRange> range);
  void forget(const std::shared_ptr<FetchedRange>& range);

 private:
  std::mutex mutex_;
  std::deque<std::shared_ptr<FetchedRange>> ranges_;
  int64_t bytes_ = 0;
};

class RangedFile final : public ByteSource {
 public:
  static constexpr int64_t kRangeBytesMost = int64_t{8} << 20;  // of one request

  RangedFile(RemoteFile described, std::shared_ptr<RecentRanges> recent);

  Status read(int64_t offset, std::span<uint8_t> out) const override;
  // Of the end of the file, or asked for.
  bool is_at_hand(int64_t offset) const override {
    return offset >= bytes_ - static_cast<int64_t>(tail_.size()) || known(offset) != nullptr;
  }
  const RangedFile* ranged() const override { return this; }
  // Asks for at most kRangeBytesMost, from which read() takes what lies in it while the answer is owned.
  std::shared_ptr<FetchedRange> ask(ByteRange range, Block memory) const;

 private:
  std::shared_ptr<FetchedRange> known(int64_t offset) const;
  std::shared_ptr<FetchedRange> fetch(int64_t offset, int64_t bytes) const;

  const std::string tail_;
  const std::function<void(std::shared_ptr<RangeRequest>)> ask_;
  const std::shared_ptr<RecentRanges> recent_;
  mutable std::mutex mutex_;                                           // guards asked_
  mutable std::multimap<int64_t, std::weak_ptr<FetchedRange>> asked_;  // by their begin
};

}  // namespace crossdock::scan
