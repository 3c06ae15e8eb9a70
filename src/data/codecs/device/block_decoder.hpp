// A coded block back into words by a group of threads. It believes nothing: what BlockCoder::decode (data/codecs)
// refuses is refused here, before it is used, so that nothing is read behind the block and nothing written beside the
// scratch.
#pragma once

#include <bit>
#include <cstdint>

#include "data/codecs/block_format.hpp"
#include "data/codecs/device/codec_fault.hpp"
#include "data/codecs/device/codec_scratch.hpp"
#include "data/rings/coop.hpp"

namespace crossdock::codecs {

// All threads of a group have an object of their own over one scratch, and call together.
template <rings::Coop C>
class BlockDecoder {
 public:
  CD_HOST_DEVICE BlockDecoder(CodecScratch& scratch, const C& coop)
      : scratch_(scratch), coop_(coop), words_(scratch, coop) {}

  // Decoded word i, after decode(): for all threads.
  CD_HOST_DEVICE uint64_t word(int i) const { return words_.at(i); }

  // The block's `words` words, which become `count` values; the same answer to all threads.
  CD_HOST_DEVICE CodecFault decode(const CodecScheme& scheme,
                                   int count,
                                   const uint64_t* block,
                                   int64_t words) {
    if (words < head_words(scheme)) return CodecFault::kBlockWords;
    head_ = std::bit_cast<CodedBlock>(block[0]);
    const CodecFault fault = check(scheme, count, words);
    if (fault != CodecFault::kNone) return fault;
    if (!unpack(scheme, block)) return CodecFault::kRunLengths;
    for (int level = kRunLevelsMax - 1; level >= 0; --level) {
      if (level < scheme.deltas && undiffered_[level] > 0)
        decode_deltas(undiffered_[level] - 1, block[2 + level]);
      if (level < scheme.runs && !decode_runs(level)) return CodecFault::kRunLengths;
    }
    return CodecFault::kNone;
  }

 private:
  // Counts values at each step down, as the encoder does.
  CD_HOST_DEVICE CodecFault check(const CodecScheme& scheme, int count, int64_t words) {
    left_ = count;
    for (int level = 0; level < kRunLevelsMax; ++level) {
      if (level < scheme.runs) {
        const int runs = head_.runs[level];
        if (runs > left_ || (runs == 0 && left_ != 0)) return CodecFault::kRuns;
        unmerged_[level] = left_;
        left_ = runs;
      }
      if (level < scheme.deltas) {
        undiffered_[level] = left_;
        left_ = left_ > 0 ? left_ - 1 : 0;
      }
    }
    if (head_.value_bits > 64) return CodecFault::kBits;
    int64_t expected_words = head_words(scheme) + stream_words(left_, head_.value_bits);
    for (int level = 0; level < kRunLevelsMax; ++level) {
      if (level >= scheme.runs) continue;
      if (head_.run_bits[level] > 16) return CodecFault::kBits;
      expected_words += stream_words(head_.runs[level], head_.run_bits[level]);
    }
    return expected_words == words ? CodecFault::kNone : CodecFault::kBlockWords;
  }

  // All streams. Answers whether every run has one value to kBlockValues.
  CD_HOST_DEVICE bool unpack(const CodecScheme& scheme, const uint64_t* block) {
    const uint64_t* next = block + head_words(scheme);
    unpack_stream(next, left_, {block[1], head_.value_bits}, [&](int i, uint64_t value) {
      words_.at(i) = value;
    });
    next += stream_words(left_, head_.value_bits);
    uint64_t wrong = 0;
    for (int level = 0; level < kRunLevelsMax; ++level) {
      if (level >= scheme.runs) continue;
      const int runs = head_.runs[level];
      const uint64_t base = block[2 + scheme.deltas] >> 32 * level & UINT32_MAX;
      unpack_stream(next, runs, {base, head_.run_bits[level]}, [&](int i, uint64_t run) {
        if (run - 1 >= static_cast<uint64_t>(kBlockValues)) ++wrong;
        scratch_.starts[level][i] = static_cast<uint16_t>(run);
      });
      next += stream_words(runs, head_.run_bits[level]);
    }
    return coop_.sum(wrong) == 0;  // and all have all words
  }

  template <class Put>
  CD_HOST_DEVICE void unpack_stream(const uint64_t* in,
                                    int count,
                                    const StreamRange& range,
                                    const Put& put) const {
    const int lanes = lanes_of(count);
    const uint64_t mask = range.bits == 0 ? 0 : ~uint64_t{0} >> (64 - range.bits);
    for (auto i = static_cast<int>(coop_.rank()); i < count; i += static_cast<int>(coop_.size())) {
      uint64_t value = 0;
      if (range.bits != 0) {
        const int bit = i / lanes * range.bits;
        const uint64_t* word = in + bit / 64 * lanes + i % lanes;
        const int shift = bit % 64;
        value = word[0] >> shift;
        if (shift + range.bits > 64) value |= word[lanes] << (64 - shift);
      }
      put(i, range.base + (value & mask));
    }
  }

  // Lengths of runs become where they start, and words as many as there were. Answers whether they do.
  CD_HOST_DEVICE bool decode_runs(int level) {
    const int runs = head_.runs[level];
    const int values = unmerged_[level];
    uint16_t* const starts = scratch_.starts[level];
    const CodecShare share = share_of(coop_, runs);
    uint64_t mine = 0;
    for (int i = share.begin; i < share.end; ++i) mine += starts[i];
    const SumBefore sum = sum_before(mine, scratch_, coop_);
    if (sum.total != static_cast<uint64_t>(values)) return false;
    if (runs == values) return true;  // runs of one value each
    uint64_t at = sum.before;
    for (int i = share.begin; i < share.end; ++i) {
      const uint64_t run = starts[i];
      starts[i] = static_cast<uint16_t>(at);
      at += run;
    }
    if (coop_.rank() == 0) starts[runs] = static_cast<uint16_t>(values);
    coop_.sync();
    repeat(starts, runs, values);
    return true;
  }

  // Each thread finds the run of its first word, and goes on from there.
  CD_HOST_DEVICE void repeat(const uint16_t* starts, int runs, int values) {
    const CodecShare share = share_of(coop_, values);
    int from = 0;
    for (int behind = runs; behind - from > 1;) {
      const int middle = (from + behind) / 2;
      (starts[middle] <= share.begin ? from : behind) = middle;
    }
    for (int i = share.begin; i < share.end; ++i) {
      if (starts[from + 1] <= i) ++from;
      words_.next(i) = words_.at(from);
    }
    words_.turn();
  }

  // Words are `count` differences; one value more.
  CD_HOST_DEVICE void decode_deltas(int count, uint64_t first) {
    const CodecShare share = share_of(coop_, count);
    uint64_t mine = 0;
    for (int i = share.begin; i < share.end; ++i) mine += words_.at(i);
    const SumBefore sum = sum_before(mine, scratch_, coop_);
    uint64_t value = first + sum.before;
    for (int i = share.begin; i < share.end; ++i) {
      words_.next(i) = value;
      value += words_.at(i);
    }
    if (coop_.rank() == 0) words_.next(count) = first + sum.total;
    words_.turn();
  }

  CodecScratch& scratch_;
  const C& coop_;
  LevelWords<C> words_;
  CodedBlock head_;
  int left_ = 0;                              // words of the values' stream
  int unmerged_[kRunLevelsMax] = {0, 0};      // words before their runs became one each
  int undiffered_[kDeltaLevelsMax] = {0, 0};  // words before they became differences
};

}  // namespace crossdock::codecs
