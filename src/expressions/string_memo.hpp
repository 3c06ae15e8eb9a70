// What a costly function has made of strings, for those that come again. Internal to the room.
//
// Keeps the strings of the last few thousand different ones, from block to block, and gives up where fewer than half
// of the strings have come before.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "expressions/expression.hpp"
#include "memory/budget.hpp"

namespace crossdock::expressions::steps {

// Functions that have one: those of regular expressions, and digests.
constexpr bool is_costly(ExpressionOp op) {
  return op == ExpressionOp::kMatches || op == ExpressionOp::kReplaceMatches ||
         op == ExpressionOp::kExtract || op == ExpressionOp::kMd5 || op == ExpressionOp::kSha1 ||
         op == ExpressionOp::kSha256;
}

// One worker's own, of one step.
class StringMemo {
 public:
  // Error kOutOfMemoryBudget.
  static Result<StringMemo> create(Memory& memory);

  // What was handed out for the block before may be gone.
  void begin_block();
  bool is_worth_it() const { return !is_given_up_; }

  // What `make` makes of the string, which lies in the memo or where `make` has put it.
  template <class Make>
  std::string_view of(std::string_view string, const Make& make) {
    ++asked_;
    const uint64_t hash = std::hash<std::string_view>()(string);
    if (const Entry* known = find(hash, string); known != nullptr) {
      ++known_;
      return known->result;
    }
    const std::string_view result = make(string);
    put(hash, string, result);
    return result;
  }

 private:
  struct Entry {
    uint64_t hash;
    std::string_view string;  // without an address: the entry is free
    std::string_view result;
  };
  static constexpr size_t kEntries = 4096;
  static constexpr size_t kStringBytes = size_t{1} << 18;

  explicit StringMemo(Block memory) : memory_(std::move(memory)) { clear(); }
  Entry* entries() const { return memory_.as<Entry>(); }
  const Entry* find(uint64_t hash, std::string_view string) const;
  void put(uint64_t hash, std::string_view string, std::string_view result);
  std::string_view copied(std::string_view string);
  void clear();

  Block memory_;  // entries, and behind them strings
  size_t string_bytes_ = 0;
  bool is_full_ = false;
  bool is_given_up_ = false;
  int64_t asked_ = 0;
  int64_t known_ = 0;
};

}  // namespace crossdock::expressions::steps
