// Declares what it calls of nvCOMP 6 itself: programs are built without its headers.
#include "gpu/nvcomp_peer.hpp"

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <numeric>
#include <vector>

#include "gpu/bench_run.hpp"
#include "gpu/gpu_memory.hpp"

namespace crossdock {
namespace {

constexpr size_t kChunkBytes = 64 << 10;
constexpr uint64_t kAllEncodings = 7;  // differences, runs and frames of reference
constexpr uint8_t kLevel = 3;          // its default
constexpr int kInt32 = 4;
constexpr int kInt64 = 6;

struct Cascade {
  int type = kInt64;
  int mode = 1;                  // asymmetric: chooses among encodings
  uint64_t terminal_codecs = 1;  // packing of bits
  uint64_t coarse_encodings = 0;
};
struct CompressOptions {
  Cascade cascade;
  uint64_t encodings = kAllEncodings;
  uint8_t level = kLevel;
  char reserved[31] = {};
};
struct DecompressOptions {
  int backend = 2;  // kernels
  Cascade cascade;
  char reserved[32] = {};
};

struct NvcompCalls {
  int (*temp_size)(size_t, size_t, CompressOptions, size_t*, size_t, void*) = nullptr;
  int (*back_temp_size)(size_t, size_t, DecompressOptions, size_t*, size_t, void*) = nullptr;
  int (*chunk_size)(size_t, CompressOptions, size_t*) = nullptr;
  int (*compress)(const void* const*,
                  const size_t*,
                  size_t,
                  size_t,
                  void*,
                  size_t,
                  void* const*,
                  size_t*,
                  CompressOptions,
                  int*,
                  void*) = nullptr;
  int (*decompress)(const void* const*,
                    const size_t*,
                    const size_t*,
                    size_t*,
                    size_t,
                    void*,
                    size_t,
                    void* const*,
                    DecompressOptions,
                    int*,
                    void*) = nullptr;
};

template <class Call>
bool find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

// Stays loaded until the program ends.
Result<NvcompCalls> load_nvcomp(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return make_error(ErrorCode::kProbeFailed, "nvCOMP is not loaded: {}", dlerror());
  NvcompCalls calls;
  const bool has_all =
      find(library, "nvcompBatchedCascadedCompressGetTempSize", calls.temp_size) &&
      find(library, "nvcompBatchedCascadedDecompressGetTempSize", calls.back_temp_size) &&
      find(library, "nvcompBatchedCascadedCompressGetMaxOutputChunkSize", calls.chunk_size) &&
      find(library, "nvcompBatchedCascadedCompressAsync", calls.compress) &&
      find(library, "nvcompBatchedCascadedDecompressAsync", calls.decompress);
  if (has_all) return calls;
  return make_error(ErrorCode::kProbeFailed, "{} lacks a call of nvCOMP 6", path);
}

Status answered(int status, const char* doing) {
  if (status == 0) return {};
  return make_error(ErrorCode::kInternal, "nvCOMP {}: status {}", doing, status);
}

// One column on the GPU, as chunks.
class NvcompColumn {
 public:
  Status open(const std::string& library, std::span<const std::byte> values, int width) {
    CD_ASSIGN(calls_, load_nvcomp(library));
    compress_.cascade.type = decompress_.cascade.type = width == 4 ? kInt32 : kInt64;
    CD_TRY(memory_.open());
    CD_ASSIGN(stream_, memory_.stream());
    chunks_ = (values.size() + kChunkBytes - 1) / kChunkBytes;
    CD_TRY(answered(calls_.chunk_size(kChunkBytes, compress_, &coded_chunk_bytes_), "sizes"));
    coded_chunk_bytes_ = (coded_chunk_bytes_ + 7) / 8 * 8;
    CD_ASSIGN(values_, memory_.take<std::byte>(values.size()));
    CD_ASSIGN(back_, memory_.take<std::byte>(values.size()));
    CD_ASSIGN(coded_, memory_.take<std::byte>(chunks_ * coded_chunk_bytes_));
    CD_TRY(memory_.upload(values_, values.data(), values.size()));
    CD_TRY(list_chunks(values.size()));
    size_t there = 0, and_back = 0;
    CD_TRY(answered(
        calls_.temp_size(chunks_, kChunkBytes, compress_, &there, values.size(), stream_), "temp"));
    CD_TRY(answered(
        calls_.back_temp_size(chunks_, kChunkBytes, decompress_, &and_back, values.size(), stream_),
        "temp"));
    temp_bytes_ = std::max<size_t>({there, and_back, 8});
    CD_ASSIGN(temp_, memory_.take<std::byte>(temp_bytes_));
    return {};
  }

  Status encode() {
    return answered(calls_.compress(value_places_,
                                    value_bytes_,
                                    kChunkBytes,
                                    chunks_,
                                    temp_,
                                    temp_bytes_,
                                    coded_places_,
                                    coded_bytes_,
                                    compress_,
                                    statuses_,
                                    stream_),
                    "compress");
  }
  Status decode() {
    return answered(calls_.decompress(coded_places_,
                                      coded_bytes_,
                                      value_bytes_,
                                      back_bytes_,
                                      chunks_,
                                      temp_,
                                      temp_bytes_,
                                      back_places_,
                                      decompress_,
                                      statuses_,
                                      stream_),
                    "decompress");
  }
  void* stream() const { return stream_; }

  Result<double> coded_bytes() const {
    std::vector<size_t> bytes(chunks_);
    CD_TRY(memory_.upload(bytes.data(), coded_bytes_, chunks_ * sizeof(size_t)));
    return static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), size_t{0}));
  }
  Result<bool> came_back(std::span<const std::byte> values) const {
    std::vector<std::byte> back(values.size());
    CD_TRY(memory_.upload(back.data(), back_, back.size()));
    return std::ranges::equal(back, values);
  }

 private:
  template <class T>
  Result<T*> upload_list(const std::vector<T>& list) {
    CD_ASSIGN(T* const place, memory_.take<T>(list.size()));
    CD_TRY(memory_.upload(place, list.data(), list.size() * sizeof(T)));
    return place;
  }

  Status list_chunks(size_t bytes) {
    std::vector<void*> values, coded, back;
    std::vector<size_t> sizes;
    for (size_t chunk = 0; chunk < chunks_; ++chunk) {
      values.push_back(values_ + chunk * kChunkBytes);
      back.push_back(back_ + chunk * kChunkBytes);
      coded.push_back(coded_ + chunk * coded_chunk_bytes_);
      sizes.push_back(std::min(kChunkBytes, bytes - chunk * kChunkBytes));
    }
    CD_ASSIGN(value_places_, upload_list(values));
    CD_ASSIGN(coded_places_, upload_list(coded));
    CD_ASSIGN(back_places_, upload_list(back));
    CD_ASSIGN(value_bytes_, upload_list(sizes));
    CD_ASSIGN(coded_bytes_, memory_.take<size_t>(chunks_));
    CD_ASSIGN(back_bytes_, memory_.take<size_t>(chunks_));
    CD_ASSIGN(statuses_, memory_.take<int>(chunks_));
    return {};
  }

  NvcompCalls calls_;
  CompressOptions compress_;
  DecompressOptions decompress_;
  GpuMemory memory_;
  void* stream_ = nullptr;
  size_t chunks_ = 0, coded_chunk_bytes_ = 0, temp_bytes_ = 0;
  std::byte *values_ = nullptr, *back_ = nullptr, *coded_ = nullptr, *temp_ = nullptr;
  void **value_places_ = nullptr, **coded_places_ = nullptr, **back_places_ = nullptr;
  size_t *value_bytes_ = nullptr, *coded_bytes_ = nullptr, *back_bytes_ = nullptr;
  int* statuses_ = nullptr;
};

}  // namespace

Result<NvcompTimes> time_nvcomp(const std::string& library,
                                std::span<const std::byte> values,
                                int width) {
  NvcompColumn column;
  CD_TRY(column.open(library, values, width));
  NvcompTimes times;
  times.encode_s = median_on_stream(column.stream(), [&] { require(column.encode()); });
  times.decode_s = median_on_stream(column.stream(), [&] { require(column.decode()); });
  CD_ASSIGN(times.coded_bytes, column.coded_bytes());
  CD_ASSIGN(times.is_right, column.came_back(values));
  return times;
}

}  // namespace crossdock
