// Strings that a memo hands out against those that the function makes, over blocks of many kinds.
#include "expressions/string_memo.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::expressions::steps {
namespace {

constexpr int kBlockStrings = 1024;

// Asks a memo for blocks of strings, each of `different` ones and of up to `bytes` bytes; answers how often the
// function ran. What a block is given must stay until the next one begins.
int64_t ask(StringMemo& memo, int blocks, uint32_t different, size_t bytes) {
  std::mt19937 random(different);
  int64_t runs = 0;
  for (int block = 0; block < blocks; ++block) {
    std::vector<std::string> strings;
    std::vector<std::string> results;  // by the function; the memo may refer to them for the block
    strings.reserve(kBlockStrings);
    results.reserve(kBlockStrings);
    std::vector<std::string_view> answers;
    memo.begin_block();
    for (int i = 0; i < kBlockStrings; ++i) {
      const uint32_t drawn = random() % different;
      strings.push_back(std::to_string(drawn) + std::string(drawn % (bytes + 1), 'x'));
      answers.push_back(memo.of(strings.back(), [&](std::string_view string) -> std::string_view {
        ++runs;
        if (string.size() % 7 == 0) return {};
        return results.emplace_back("<" + std::string(string) + ">");
      }));
    }
    for (int i = 0; i < kBlockStrings; ++i) {
      const std::string expected = strings[i].size() % 7 == 0 ? "" : "<" + strings[i] + ">";
      EXPECT_EQ(answers[i], expected);
    }
  }
  return runs;
}

StringMemo memo_of(Memory& memory) {
  auto memo = StringMemo::create(memory);
  EXPECT_TRUE(memo.ok());
  return std::move(memo.value());
}

TEST(StringMemo, MakesFewStringsOnce) {
  const auto memory = Memory::create(int64_t{1} << 22);
  StringMemo memo = memo_of(*memory);
  EXPECT_EQ(ask(memo, 100, 10, 20), 10);
  EXPECT_TRUE(memo.is_worth_it());
}

TEST(StringMemo, GivesUpWhereStringsDoNotComeAgain) {
  const auto memory = Memory::create(int64_t{1} << 22);
  StringMemo memo = memo_of(*memory);
  ask(memo, 20, 1'000'000, 20);
  memo.begin_block();
  EXPECT_FALSE(memo.is_worth_it());
}

// Two blocks of these fill it.
TEST(StringMemo, BeginsAnewWhereStringsFillIt) {
  const auto memory = Memory::create(int64_t{1} << 22);
  StringMemo memo = memo_of(*memory);
  const int64_t runs = ask(memo, 100, 700, 1000);
  EXPECT_GT(runs, 700);
  EXPECT_LT(runs, 100 * kBlockStrings);
}

TEST(StringMemo, NeedsMemory) {
  const auto memory = Memory::create(1000);
  EXPECT_EQ(StringMemo::create(*memory).error().code, ErrorCode::kOutOfMemoryBudget);
}

}  // namespace
}  // namespace crossdock::expressions::steps
