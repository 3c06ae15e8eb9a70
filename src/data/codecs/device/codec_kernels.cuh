// Columns coded on a GPU, as launches: all columns of the work in one, on a stream.
#pragma once

#include "data/codecs/device/codec_work.hpp"

namespace crossdock::codecs {

// All answer a cudaError_t. Once per GPU, before the first encode: the kernel gets the shared memory that it needs.
int prepare_codecs();

// The work's own words are cleared on the stream first. To encode, a block takes 512 threads and 100 KiB of shared
// memory, so that two are on a multiprocessor; to decode 128 and 25 KiB, so that seven are. More than there are
// tiles are not launched, and more than there is room for find no tile left.
int launch_encode(const EncodeWork& work, uint32_t blocks, void* stream);
int launch_decode(const DecodeWork& work, uint32_t blocks, void* stream);

}  // namespace crossdock::codecs
