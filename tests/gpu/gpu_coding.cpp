// See gpu_coding.hpp.
#include "gpu/gpu_coding.hpp"

#include <algorithm>
#include <chrono>

#include "data/codecs/device/codec_kernels.cuh"
#include "data/device/cuda_calls.hpp"

namespace crossdock {
namespace {

// A tile waits for another one's length for microseconds.
constexpr uint64_t kCodingStuckNs = 10'000'000'000;

template <class Launch>
Result<double> time_of(void* stream, const Launch& launch) {
  const auto begun = std::chrono::steady_clock::now();
  CD_TRY(GpuMemory::checked(launch()));
  CD_TRY(GpuMemory::checked(device::cuda_calls::wait_stream(stream)));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

Status GpuCoding::open(std::span<const GpuColumn> columns, uint32_t blocks) {
  blocks_ = blocks;
  CD_TRY(memory_.open());
  CD_ASSIGN(stream_, memory_.stream());
  CD_TRY(GpuMemory::checked(codecs::prepare_codecs()));
  for (const GpuColumn& column : columns) {
    const uint64_t count = column.values.size() / static_cast<size_t>(column.kind.width);
    codecs::EncodeColumn encode;
    codecs::DecodeColumn decode;
    std::byte* values = nullptr;
    CD_ASSIGN(values, memory_.take<std::byte>(column.values.size()));
    CD_TRY((memory_.upload(values, column.values.data(), column.values.size())));
    const int64_t room = codecs::coded_bytes_max(static_cast<int64_t>(count), column.kind.width);
    CD_ASSIGN(encode.out, memory_.take<uint64_t>(static_cast<uint64_t>(room) / sizeof(uint64_t)));
    CD_ASSIGN(decode.values, memory_.take<std::byte>(column.values.size()));
    encode.values = values;
    encode.scheme = column.scheme;
    encode.is_signed = column.kind.is_signed;
    encode.width = decode.width = static_cast<uint8_t>(column.kind.width);
    encode.count = decode.count = count;
    decode.coded = encode.out;
    encode_columns_.push_back(encode);
    decode_columns_.push_back(decode);
  }
  coded_words_.assign(columns.size(), 0);
  return upload_columns();
}

Status GpuCoding::upload_columns() {
  const uint64_t count = encode_columns_.size();
  encode_work_.tiles = codecs::number_tiles(encode_columns_);
  decode_work_.tiles = codecs::number_tiles(decode_columns_);
  CD_ASSIGN(encode_table_, memory_.take<codecs::EncodeColumn>(count));
  CD_ASSIGN(decode_table_, memory_.take<codecs::DecodeColumn>(count));
  CD_TRY(
      memory_.upload(encode_table_, encode_columns_.data(), count * sizeof(codecs::EncodeColumn)));
  CD_ASSIGN(encode_work_.words,
            memory_.take<uint64_t>(codecs::encode_work_words(count, encode_work_.tiles)));
  CD_ASSIGN(decode_work_.fault, memory_.take<uint64_t>(1));
  encode_work_.columns = encode_table_;
  decode_work_.columns = decode_table_;
  encode_work_.column_count = decode_work_.column_count = static_cast<uint32_t>(count);
  encode_work_.stuck_after_ns = kCodingStuckNs;
  return {};
}

Result<double> GpuCoding::encode() {
  CD_ASSIGN(const double seconds, time_of(stream_, [this] {
              return codecs::launch_encode(encode_work_, blocks_, stream_);
            }));
  uint64_t fault = 0;
  CD_TRY(memory_.upload(&fault, &encode_work_.fault(), sizeof(fault)));
  CD_TRY(codecs::fault_status(fault, encode_columns_));
  CD_TRY(memory_.upload(
      coded_words_.data(), &encode_work_.coded_words(0), coded_words_.size() * sizeof(uint64_t)));
  return seconds;
}

Result<double> GpuCoding::decode() {
  for (size_t i = 0; i < decode_columns_.size(); ++i)
    decode_columns_[i].coded_words = coded_words_[i];
  CD_TRY(memory_.upload(decode_table_,
                        decode_columns_.data(),
                        decode_columns_.size() * sizeof(codecs::DecodeColumn)));
  CD_ASSIGN(const double seconds, time_of(stream_, [this] {
              return codecs::launch_decode(decode_work_, blocks_, stream_);
            }));
  uint64_t fault = 0;
  CD_TRY(memory_.upload(&fault, decode_work_.fault, sizeof(fault)));
  CD_TRY(codecs::fault_status(fault, decode_columns_));
  return seconds;
}

Result<std::vector<uint64_t>> GpuCoding::coded(size_t column) const {
  std::vector<uint64_t> words(coded_words_[column]);
  CD_TRY(
      memory_.upload(words.data(), encode_columns_[column].out, words.size() * sizeof(uint64_t)));
  return words;
}

Result<std::vector<std::byte>> GpuCoding::decoded(size_t column) const {
  const codecs::DecodeColumn& from = decode_columns_[column];
  std::vector<std::byte> values(from.count * from.width);
  CD_TRY(memory_.upload(values.data(), from.values, values.size()));
  return values;
}

Status GpuCoding::change(size_t column, std::span<const uint64_t> words) {
  coded_words_[column] = words.size();
  return memory_.upload(encode_columns_[column].out, words.data(), words.size_bytes());
}

}  // namespace crossdock
