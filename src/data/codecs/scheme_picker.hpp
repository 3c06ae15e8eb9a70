// Which levels a column should go through before it crosses a link, if any: by a sample of it.
#pragma once

#include <cstddef>
#include <span>

#include "data/codecs/column_coder.hpp"

namespace crossdock::codecs {

// What a value costs a core, in seconds: bits, and what each level adds.
struct CodecRates {
  double pack_s = 0;
  double unpack_s = 0;
  double encode_runs_s = 0;
  double decode_runs_s = 0;
  double encode_delta_s = 0;
  double decode_delta_s = 0;
};

struct CodecTask {
  CodedValues kind;
  double link_bytes_per_s = 0;
  int cores = 1;  // that code while others send
  bool overlaps =
      true;  // coding goes on while bytes travel: the slower of the two counts, and not their sum
};

struct CodecChoice {
  bool pays = false;  // false: values should travel as they are
  CodecScheme scheme;
  double ratio = 1;    // bytes before by bytes after
  double plain_s = 0;  // of a value: to travel as it is
  double coded_s = 0;  // of a value: to be coded, to travel and to be decoded
};

// The scheme that takes least time for values like these. Looks at up to eight blocks of them, spread evenly, in each
// scheme worth trying. Any thread.
CodecChoice pick_scheme(const CodecTask& task,
                        const CodecRates& rates,
                        std::span<const std::byte> values);

}  // namespace crossdock::codecs
