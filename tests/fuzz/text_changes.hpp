// A good text with a few changes that a fuzzer's input chooses: what a parser takes apart deeper than random bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace crossdock {

// Four bytes of `data` make a change: which kind, where (two), and with what; at most six are made. `pieces` are what
// the text's reader trips over more likely than over bytes; with none, a run of one byte stands for each.
inline std::string changed(std::string text,
                           std::span<const uint8_t> data,
                           std::span<const std::string_view> pieces = {}) {
  constexpr size_t kChangesMax = 6;
  const size_t changes = std::min(data.size() / 4, kChangesMax);
  for (size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::span change = data.subspan(4 * i, 4);
    const size_t at = (size_t{change[1]} << 8 | change[2]) % text.size();
    const uint8_t what = change[3];
    const std::string piece = pieces.empty() ? std::string(1 + what % 4, static_cast<char>(what))
                                             : std::string(pieces[what % pieces.size()]);
    switch (change[0] % 5) {
      case 0:
        text[at] = static_cast<char>(what);
        break;
      case 1:
        text.erase(at, what % 32);
        break;
      case 2:
        text.insert(at, piece);
        break;
      case 3:
        text.replace(at, what % 8, piece);
        break;
      default:
        text.insert(at, text.substr(at / 2, what));
        break;
    }
  }
  return text;
}

}  // namespace crossdock
