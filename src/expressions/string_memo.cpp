#include "expressions/string_memo.hpp"

#include <algorithm>

namespace crossdock::expressions::steps {

Result<StringMemo> StringMemo::create(Memory& memory) {
  CD_ASSIGN(Block block,
            memory.get(kEntries * sizeof(Entry) + kStringBytes, "the expressions of a worker"));
  return StringMemo(std::move(block));
}

void StringMemo::begin_block() {
  constexpr int64_t kTrial = 8192;
  if (asked_ >= kTrial) {
    is_given_up_ = known_ < asked_ / 2;
    asked_ = known_ = 0;
  }
  if (is_full_) clear();
}

void StringMemo::clear() {
  std::fill_n(entries(), kEntries, Entry());
  string_bytes_ = 0;
  is_full_ = false;
}

// An entry is in one of two places that are a cache line or two.
const StringMemo::Entry* StringMemo::find(uint64_t hash, std::string_view string) const {
  for (const size_t side : {0, 1}) {
    const Entry& entry = entries()[(hash % kEntries) ^ side];
    if (entry.hash == hash && entry.string.data() != nullptr && entry.string == string) {
      return &entry;
    }
  }
  return nullptr;
}

void StringMemo::put(uint64_t hash, std::string_view string, std::string_view result) {
  if (string_bytes_ + string.size() + result.size() > kStringBytes) {
    is_full_ = true;
    return;
  }
  Entry* entry = entries() + hash % kEntries;
  if (entry->string.data() != nullptr) entry = entries() + ((hash % kEntries) ^ 1);
  *entry = {hash, copied(string), copied(result)};
}

std::string_view StringMemo::copied(std::string_view string) {
  char* to = reinterpret_cast<char*>(entries() + kEntries) + string_bytes_;
  std::copy(string.begin(), string.end(), to);
  string_bytes_ += string.size();
  return {to, string.size()};
}

}  // namespace crossdock::expressions::steps
