// See scheme_picker.hpp.
#include "data/codecs/scheme_picker.hpp"

#include <algorithm>
#include <vector>

namespace crossdock::codecs {
namespace {

constexpr int64_t kSampledBlocks = 8;

// Cheaper ones first. Runs of runs only pay over differences.
constexpr CodecScheme kSchemes[] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {2, 1}, {1, 2}, {2, 2}};

std::vector<std::byte> sample_of(std::span<const std::byte> values, int width) {
  const int64_t block_bytes = int64_t{kBlockValues} * width;
  const auto bytes = static_cast<int64_t>(values.size());
  if (bytes <= kSampledBlocks * block_bytes) return {values.begin(), values.end()};
  std::vector<std::byte> sample;
  const int64_t blocks = bytes / block_bytes;
  for (int64_t i = 0; i < kSampledBlocks; ++i) {
    const auto begin = values.begin() + blocks * i / kSampledBlocks * block_bytes;
    sample.insert(sample.end(), begin, begin + block_bytes);
  }
  return sample;
}

double seconds_of(const CodecScheme& scheme,
                  const CodecTask& task,
                  const CodecRates& rates,
                  double link_s) {
  const double encode_s =
      rates.pack_s + scheme.runs * rates.encode_runs_s + scheme.deltas * rates.encode_delta_s;
  const double decode_s =
      rates.unpack_s + scheme.runs * rates.decode_runs_s + scheme.deltas * rates.decode_delta_s;
  if (!task.overlaps) return (encode_s + decode_s) / task.cores + link_s;
  return std::max({encode_s / task.cores, decode_s / task.cores, link_s});
}

}  // namespace

CodecChoice pick_scheme(const CodecTask& task,
                        const CodecRates& rates,
                        std::span<const std::byte> values) {
  CodecChoice choice;
  choice.plain_s = task.kind.width / task.link_bytes_per_s;
  choice.coded_s = choice.plain_s;
  const std::vector<std::byte> sample = sample_of(values, task.kind.width);
  if (sample.empty()) return choice;
  const auto count = static_cast<int64_t>(sample.size()) / task.kind.width;
  std::vector<uint64_t> room(static_cast<size_t>(coded_bytes_max(count, task.kind.width)) /
                             sizeof(uint64_t));
  ColumnCoder coder;
  for (const CodecScheme& scheme : kSchemes) {
    const int64_t bytes =
        coder.encode(scheme, task.kind, sample, std::as_writable_bytes(std::span(room)));
    const double ratio = static_cast<double>(sample.size()) / static_cast<double>(bytes);
    const double seconds = seconds_of(scheme, task, rates, choice.plain_s / ratio);
    if (seconds >= choice.coded_s) continue;
    choice.pays = true;
    choice.scheme = scheme;
    choice.ratio = ratio;
    choice.coded_s = seconds;
  }
  return choice;
}

}  // namespace crossdock::codecs
