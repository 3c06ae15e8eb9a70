// One block of words through all levels of a scheme by a group of threads, in memory that they share: runs,
// differences, bits. The bytes are those of BlockCoder::encode (data/codecs), which is the reference.
//
// measure() says how long the block becomes, before anything of it is written: so the caller can place it first, and
// write() then composes each word of the streams once, straight where it belongs.
#pragma once

#include <bit>
#include <cstdint>

#include "data/codecs/block_format.hpp"
#include "data/codecs/device/codec_scratch.hpp"
#include "data/rings/coop.hpp"

namespace crossdock::codecs {

// All threads of a group have an object of their own over one scratch, and call together.
template <rings::Coop C>
class BlockEncoder {
 public:
  CD_HOST_DEVICE BlockEncoder(CodecScratch& scratch, const C& coop)
      : scratch_(scratch), coop_(coop), words_(scratch, coop) {}

  // Where the caller puts word i, before all sync.
  CD_HOST_DEVICE uint64_t& word(int i) const { return words_.at(i); }

  // Words that the block of `count` words will have, 1 to kBlockValues.
  CD_HOST_DEVICE int measure(const CodecScheme& scheme, int count) {
    scheme_ = scheme;
    left_ = count;
    for (int level = 0; level < kRunLevelsMax; ++level) {
      if (level < scheme.runs && left_ > 0) {
        left_ = encode_runs(level);
        head_.runs[level] = static_cast<uint16_t>(left_);
      }
      if (level < scheme.deltas && left_ > 0) left_ = encode_deltas(level);
    }
    values_ = range_of(left_, scratch_, coop_, [&](int i) { return words_.at(i); });
    head_.value_bits = static_cast<uint8_t>(values_.bits);
    int words = head_words(scheme) + stream_words(left_, values_.bits);
    for (int level = 0; level < kRunLevelsMax; ++level) {
      if (level >= scheme.runs) continue;
      const int runs = head_.runs[level];
      const StreamRange range =
          range_of(runs, scratch_, coop_, [&](int i) { return run(level, i); });
      head_.run_bits[level] = static_cast<uint8_t>(range.bits);
      run_bases_ |= range.base << 32 * level;
      words += stream_words(runs, range.bits);
    }
    return words;
  }

  // As many words as measure() has said, each by one thread.
  CD_HOST_DEVICE void write(uint64_t* out) const {
    if (coop_.rank() == 0) write_head(out);
    uint64_t* next = out + head_words(scheme_);
    pack(next, left_, values_, [&](int i) { return words_.at(i); });
    next += stream_words(left_, values_.bits);
    for (int level = 0; level < kRunLevelsMax; ++level) {
      if (level >= scheme_.runs) continue;
      const StreamRange range{run_bases_ >> 32 * level & UINT32_MAX, head_.run_bits[level]};
      pack(next, head_.runs[level], range, [&](int i) { return run(level, i); });
      next += stream_words(head_.runs[level], range.bits);
    }
  }

 private:
  CD_HOST_DEVICE uint64_t run(int level, int i) const {
    return static_cast<uint64_t>(scratch_.starts[level][i + 1] - scratch_.starts[level][i]);
  }

  CD_HOST_DEVICE bool begins_run(int i) const { return i == 0 || words_.at(i) != words_.at(i - 1); }

  // Words become the first of each run; of the runs it keeps where they start.
  CD_HOST_DEVICE int encode_runs(int level) {
    const CodecShare share = share_of(coop_, left_);
    uint64_t mine = 0;
    for (int i = share.begin; i < share.end; ++i) mine += begins_run(i) ? 1 : 0;
    const SumBefore sums = sum_before(mine, scratch_, coop_);
    auto at = static_cast<int>(sums.before);
    for (int i = share.begin; i < share.end; ++i) {
      if (!begins_run(i)) continue;
      scratch_.starts[level][at] = static_cast<uint16_t>(i);
      words_.next(at) = words_.at(i);
      ++at;
    }
    if (coop_.rank() == 0) scratch_.starts[level][sums.total] = static_cast<uint16_t>(left_);
    words_.turn();
    return static_cast<int>(sums.total);
  }

  CD_HOST_DEVICE int encode_deltas(int level) {
    firsts_[level] = words_.at(0);
    for (auto i = static_cast<int>(coop_.rank()); i + 1 < left_;
         i += static_cast<int>(coop_.size()))
      words_.next(i) = words_.at(i + 1) - words_.at(i);
    words_.turn();
    return left_ - 1;
  }

  CD_HOST_DEVICE void write_head(uint64_t* out) const {
    out[0] = std::bit_cast<uint64_t>(head_);
    out[1] = values_.base;
    for (int level = 0; level < kDeltaLevelsMax; ++level) {
      if (level < scheme_.deltas) out[2 + level] = firsts_[level];
    }
    if (scheme_.runs > 0) out[2 + scheme_.deltas] = run_bases_;
  }

  // A word of a lane holds the ends of one or two distances, and those between whole.
  template <class ValueAt>
  CD_HOST_DEVICE void pack(uint64_t* out,
                           int count,
                           const StreamRange& range,
                           const ValueAt& value_at) const {
    const int lanes = lanes_of(count);
    const int words = stream_words(count, range.bits);
    for (auto at = static_cast<int>(coop_.rank()); at < words;
         at += static_cast<int>(coop_.size())) {
      const int lane = at % lanes;
      const int begin = at / lanes * 64;  // the word's first bit, in its lane
      uint64_t word = 0;
      for (int row = begin / range.bits; row * range.bits < begin + 64; ++row) {
        const int i = row * lanes + lane;
        if (i >= count) break;  // padding has the distance 0
        const uint64_t distance = value_at(i) - range.base;
        const int shift = row * range.bits - begin;
        word |= shift >= 0 ? distance << shift : distance >> -shift;
      }
      out[at] = word;
    }
  }

  CodecScratch& scratch_;
  const C& coop_;
  LevelWords<C> words_;
  CodecScheme scheme_;
  int left_ = 0;  // words of the values' stream
  CodedBlock head_;
  StreamRange values_;
  uint64_t firsts_[kDeltaLevelsMax] = {0, 0};
  uint64_t run_bases_ = 0;
};
static_assert(kRunLevelsMax == kDeltaLevelsMax);

}  // namespace crossdock::codecs
