// See gpu_coding.hpp.
#include "gpu/gpu_coding.hpp"

#include <algorithm>
#include <chrono>

#include "data/codecs/device/codec_kernels.cuh"
#include "data/device/cuda_calls.hpp"

namespace crossdock {
namespace {

// A tile waits for another one's length for microseconds; this is seconds of any GPU.
constexpr uint64_t kCodingStuckClocks = uint64_t{1} << 34;

Status gpu_status(int error) {
  if (error == 0) return {};
  const ErrorCode code = device::cuda_calls::is_out_of_memory(error) ? ErrorCode::kOutOfMemoryBudget
                                                                     : ErrorCode::kInternal;
  return make_error(code, "coding on the GPU failed: {}", device::cuda_calls::error_text(error));
}

template <class Launch>
Result<double> time_of(void* stream, const Launch& launch) {
  const auto begun = std::chrono::steady_clock::now();
  CD_TRY(gpu_status(launch()));
  CD_TRY(gpu_status(device::cuda_calls::wait_stream(stream)));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

GpuCoding::~GpuCoding() {
  for (std::byte* memory : owned_) device::cuda_calls::release(memory);
  if (stream_ != nullptr) device::cuda_calls::close_stream(stream_);
}

template <class T>
Status GpuCoding::allocate(T** memory, uint64_t count) {
  std::byte* bytes = nullptr;
  CD_TRY(
      gpu_status(device::cuda_calls::allocate(&bytes, std::max<uint64_t>(count * sizeof(T), 1))));
  owned_.push_back(bytes);
  *memory = reinterpret_cast<T*>(bytes);
  return {};
}

Status GpuCoding::open(std::span<const GpuColumn> columns, uint32_t blocks) {
  blocks_ = blocks;
  CD_TRY(gpu_status(device::cuda_calls::open_stream(&stream_)));
  for (const GpuColumn& column : columns) {
    const uint64_t count = column.values.size() / static_cast<size_t>(column.kind.width);
    codecs::EncodeColumn encode;
    codecs::DecodeColumn decode;
    std::byte* values = nullptr;
    CD_TRY(allocate(&values, column.values.size()));
    CD_TRY(
        gpu_status(device::cuda_calls::upload(values, column.values.data(), column.values.size())));
    const int64_t room = codecs::coded_bytes_max(static_cast<int64_t>(count), column.kind.width);
    CD_TRY(allocate(&encode.out, static_cast<uint64_t>(room) / sizeof(uint64_t)));
    CD_TRY(allocate(&decode.values, column.values.size()));
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
  const uint64_t tiles = codecs::number_tiles(encode_columns_);
  codecs::number_tiles(decode_columns_);
  CD_TRY(allocate(&encode_table_, count));
  CD_TRY(allocate(&decode_table_, count));
  CD_TRY(gpu_status(device::cuda_calls::upload(
      encode_table_, encode_columns_.data(), count * sizeof(codecs::EncodeColumn))));
  CD_TRY(allocate(&encode_work_.words, codecs::encode_work_words(count, tiles)));
  CD_TRY(allocate(&decode_work_.fault, 1));
  encode_work_.columns = encode_table_;
  decode_work_.columns = decode_table_;
  encode_work_.column_count = decode_work_.column_count = static_cast<uint32_t>(count);
  encode_work_.tiles = decode_work_.tiles = tiles;
  encode_work_.stuck_after_clocks = kCodingStuckClocks;
  return {};
}

Result<double> GpuCoding::encode() {
  CD_ASSIGN(const double seconds, time_of(stream_, [this] {
              return codecs::launch_encode(encode_work_, blocks_, stream_);
            }));
  uint64_t fault = 0;
  CD_TRY(gpu_status(device::cuda_calls::upload(&fault, &encode_work_.fault(), sizeof(fault))));
  CD_TRY(codecs::fault_status(fault, encode_columns_));
  CD_TRY(gpu_status(device::cuda_calls::upload(
      coded_words_.data(), &encode_work_.coded_words(0), coded_words_.size() * sizeof(uint64_t))));
  return seconds;
}

Result<double> GpuCoding::decode() {
  for (size_t i = 0; i < decode_columns_.size(); ++i)
    decode_columns_[i].coded_words = coded_words_[i];
  CD_TRY(gpu_status(
      device::cuda_calls::upload(decode_table_,
                                 decode_columns_.data(),
                                 decode_columns_.size() * sizeof(codecs::DecodeColumn))));
  CD_ASSIGN(const double seconds, time_of(stream_, [this] {
              return codecs::launch_decode(decode_work_, blocks_, stream_);
            }));
  uint64_t fault = 0;
  CD_TRY(gpu_status(device::cuda_calls::upload(&fault, decode_work_.fault, sizeof(fault))));
  CD_TRY(codecs::fault_status(fault, decode_columns_));
  return seconds;
}

Result<std::vector<uint64_t>> GpuCoding::coded(size_t column) const {
  std::vector<uint64_t> words(coded_words_[column]);
  CD_TRY(gpu_status(device::cuda_calls::upload(
      words.data(), encode_columns_[column].out, words.size() * sizeof(uint64_t))));
  return words;
}

Result<std::vector<std::byte>> GpuCoding::decoded(size_t column) const {
  const codecs::DecodeColumn& from = decode_columns_[column];
  std::vector<std::byte> values(from.count * from.width);
  CD_TRY(gpu_status(device::cuda_calls::upload(values.data(), from.values, values.size())));
  return values;
}

Status GpuCoding::change(size_t column, std::span<const uint64_t> words) {
  coded_words_[column] = words.size();
  return gpu_status(
      device::cuda_calls::upload(encode_columns_[column].out, words.data(), words.size_bytes()));
}

}  // namespace crossdock
