// Columns coded on a GPU, as launches: all columns of the work in one, on a stream.
#pragma once

#include "data/codecs/device/codec_work.hpp"

namespace crossdock::codecs {

// Answer a cudaError_t. The work's own words are cleared on the stream first. A block takes 128 threads and 25 KiB of
// shared memory, so that eight or nine are on a multiprocessor; more than there are tiles are not launched.
int launch_encode(const EncodeWork& work, uint32_t blocks, void* stream);
int launch_decode(const DecodeWork& work, uint32_t blocks, void* stream);

}  // namespace crossdock::codecs
