#include "data/codecs/block_coder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "data/codecs/bit_streams.hpp"

namespace crossdock::codecs {
namespace {

Error broken(const char* what, int64_t value, int64_t most) {
  return make_error(ErrorCode::kMalformedMessage,
                    "a coded block has {} {}, which can be at most {}",
                    value,
                    what,
                    most);
}

}  // namespace

// words_ become the first of each run. Written without branches: a run ends where the next word differs.
int BlockCoder::encode_runs(int count, uint64_t* runs) {
  words_[count] = ~words_[count - 1];
  int run_count = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t word = words_[i];
    runs[run_count] = static_cast<uint64_t>(i) + 1;
    words_[run_count] = word;
    run_count += word != words_[i + 1];
  }
  for (int i = run_count - 1; i > 0; --i) runs[i] -= runs[i - 1];
  return run_count;
}

int BlockCoder::encode_deltas(int count, uint64_t& first) {
  first = words_[0];
  for (int i = 0; i + 1 < count; ++i) words_[i] = words_[i + 1] - words_[i];
  return count - 1;
}

int BlockCoder::encode(const CodecScheme& scheme, int count, uint64_t* out) {
  CodedBlock head;
  uint64_t firsts[kDeltaLevelsMax] = {0, 0};
  int left = count;
  for (int level = 0; level < std::max(scheme.runs, scheme.deltas); ++level) {
    if (level < scheme.runs && left > 0) {
      left = encode_runs(left, runs_[level]);
      head.runs[level] = static_cast<uint16_t>(left);
    }
    if (level < scheme.deltas && left > 0) left = encode_deltas(left, firsts[level]);
  }
  uint64_t* next = out + head_words(scheme);
  const StreamRange values = stream_range(words_, left);
  head.value_bits = static_cast<uint8_t>(values.bits);
  pack_stream(words_, left, values.base, values.bits, next);
  next += stream_words(left, values.bits);
  uint64_t bases = 0;
  for (int level = 0; level < scheme.runs; ++level) {
    const StreamRange range = stream_range(runs_[level], head.runs[level]);
    head.run_bits[level] = static_cast<uint8_t>(range.bits);
    bases |= range.base << 32 * level;
    pack_stream(runs_[level], head.runs[level], range.base, range.bits, next);
    next += stream_words(head.runs[level], range.bits);
  }
  out[0] = std::bit_cast<uint64_t>(head);
  out[1] = values.base;
  std::copy_n(firsts, scheme.deltas, out + 2);
  if (scheme.runs > 0) out[2 + scheme.deltas] = bases;
  return static_cast<int>(next - out);
}

// words_, of which there are `count`, each as often as its run says, `values` together.
Status BlockCoder::decode_runs(int count, int values, uint64_t* runs) {
  uint64_t sum = 0;
  bool are_whole = true;
  for (int i = 0; i < count; ++i) {
    are_whole &= runs[i] - 1 < kBlockValues;
    sum += runs[i];
  }
  if (!are_whole || sum != static_cast<uint64_t>(values)) {
    return make_error(ErrorCode::kMalformedMessage,
                      "a coded block has {} runs that do not make {} values",
                      count,
                      values);
  }
  if (count == values) return {};  // runs of one value each
  constexpr int kAtOnce = 4;
  uint64_t* to = other_;
  for (int i = 0; i < count; ++i) {
    const uint64_t word = words_[i];
    for (uint64_t done = 0; done < runs[i]; done += kAtOnce) {
      for (int k = 0; k < kAtOnce; ++k) to[done + static_cast<uint64_t>(k)] = word;
    }
    to += runs[i];
  }
  std::memcpy(words_, other_, static_cast<size_t>(values) * sizeof(uint64_t));
  return {};
}

// words_ are `count` differences; one value more.
void BlockCoder::decode_deltas(int count, uint64_t first) {
  uint64_t value = first;
  for (int i = 0; i < count; ++i) {
    const uint64_t delta = words_[i];
    words_[i] = value;
    value += delta;
  }
  words_[count] = value;
}

Status BlockCoder::decode(const CodecScheme& scheme, int count, std::span<const uint64_t> block) {
  const auto words = static_cast<int>(std::min<size_t>(block.size(), INT32_MAX));
  const int head_size = head_words(scheme);
  if (words < head_size) return broken("words, fewer than its head: one", words, words);
  const auto head = std::bit_cast<CodedBlock>(block[0]);
  // Values at each step down, as encode() counts them.
  int counts[kRunLevelsMax + kDeltaLevelsMax + 1] = {count};
  int step = 0;
  for (int level = 0; level < std::max(scheme.runs, scheme.deltas); ++level) {
    if (level < scheme.runs) {
      const int runs = head.runs[level];
      const bool is_whole = runs <= counts[step] && (runs > 0 || counts[step] == 0);
      if (!is_whole) return broken("runs", runs, counts[step]);
      counts[++step] = runs;
    }
    if (level < scheme.deltas) {
      counts[step + 1] = std::max(0, counts[step] - 1);
      ++step;
    }
  }
  const int left = counts[step];
  if (head.value_bits > 64) return broken("bits of a value", head.value_bits, 64);
  int64_t expected_words = head_size + stream_words(left, head.value_bits);
  for (int level = 0; level < scheme.runs; ++level) {
    if (head.run_bits[level] > 16) return broken("bits of a run", head.run_bits[level], 16);
    expected_words += stream_words(head.runs[level], head.run_bits[level]);
  }
  if (expected_words != words) {
    return make_error(ErrorCode::kMalformedMessage,
                      "a coded block has {} words, and its head says {}",
                      words,
                      expected_words);
  }
  const uint64_t* next = block.data() + head_size;
  unpack_stream(next, left, block[1], head.value_bits, words_);
  next += stream_words(left, head.value_bits);
  for (int level = 0; level < scheme.runs; ++level) {
    const uint64_t base = block[2 + scheme.deltas] >> 32 * level & UINT32_MAX;
    unpack_stream(next, head.runs[level], base, head.run_bits[level], runs_[level]);
    next += stream_words(head.runs[level], head.run_bits[level]);
  }
  for (int level = std::max(scheme.runs, scheme.deltas) - 1; level >= 0; --level) {
    if (level < scheme.deltas) {
      --step;
      if (counts[step] > 0) decode_deltas(counts[step + 1], block[2 + static_cast<size_t>(level)]);
    }
    if (level < scheme.runs) {
      CD_TRY(decode_runs(counts[step], counts[step - 1], runs_[level]));
      --step;
    }
  }
  return {};
}

}  // namespace crossdock::codecs
