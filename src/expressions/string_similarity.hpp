// How much two strings differ, by their characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace crossdock::expressions {

// Keeps memory from call to call. One thread's own.
class StringSimilarity {
 public:
  // How many characters are inserted, left out or replaced to get from one string to the other.
  int64_t levenshtein(std::string_view a, std::string_view b);
  // In how many places strings of one length differ; nothing of others.
  std::optional<int64_t> hamming(std::string_view a, std::string_view b);
  // The share of the characters of either string that both have; nothing where one has none.
  std::optional<double> jaccard(std::string_view a, std::string_view b);
  // The similarity of Jaro (1989), between 0 and 1.
  double jaro(std::string_view a, std::string_view b);
  // That of Jaro, higher by what up to four first characters have in common (Winkler, 1990).
  double jaro_winkler(std::string_view a, std::string_view b);

 private:
  void load(std::string_view a, std::string_view b);

  std::vector<uint32_t> a_;  // code points
  std::vector<uint32_t> b_;
  std::vector<int64_t> row_;
  std::vector<uint8_t> is_taken_;
  std::vector<uint32_t> left_;
};

}  // namespace crossdock::expressions
