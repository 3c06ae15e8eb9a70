// Threads that match one RegularExpression at once, and several in turns.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "expressions/regular_expression.hpp"

namespace crossdock::expressions {
namespace {

TEST(RegularExpressionConcurrent, ThreadsMatchTheSamePatterns) {
  constexpr int kThreads = 4;
  constexpr int kStrings = 300;
  std::vector<std::shared_ptr<const RegularExpression>> patterns;
  // More than a thread remembers at once.
  for (int p = 0; p < 40; ++p) {
    const std::string pattern = "user_[0-9]*" + std::to_string(p) + "@(mail[0-9]+)$";
    patterns.push_back(RegularExpression::compile(pattern).value());
  }
  std::atomic<int64_t> matches{0};
  std::atomic<int64_t> wrong{0};
  const auto match_all = [&] {
    for (int i = 0; i < kStrings; ++i) {
      const std::string string = "user_" + std::to_string(i) + "@mail" + std::to_string(i % 7);
      for (int p = 0; p < std::ssize(patterns); ++p) {
        const bool ends_so = std::to_string(i).ends_with(std::to_string(p));
        const bool is_found = patterns[static_cast<size_t>(p)]->finds(string);
        matches += is_found ? 1 : 0;
        wrong += is_found != ends_so ? 1 : 0;
        const auto group = patterns[static_cast<size_t>(p)]->group(string, 1);
        wrong += group != (ends_so ? "mail" + std::to_string(i % 7) : "") ? 1 : 0;
      }
    }
  };
  for (int round = 0; round < 2;
       ++round) {  // the threads of the second may have the ids of the first
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(match_all);
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(matches, 0);
}

}  // namespace
}  // namespace crossdock::expressions
