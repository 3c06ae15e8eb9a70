#include "scan/codec.hpp"

#include <cstring>

#include "scan/lz4.hpp"
#include "scan/snappy.hpp"
#include "scan/system_codecs.hpp"

namespace crossdock::scan {

bool reads_codec(Codec codec) {
  switch (codec) {
    case Codec::kNone:
    case Codec::kSnappy:
    case Codec::kLz4Raw:
    case Codec::kLz4Hadoop:
      return true;
    case Codec::kZstd:
      return has_zstd();
    case Codec::kGzip:
      return has_gzip();
    case Codec::kBrotli:
      return has_brotli();
    default:
      return false;
  }
}

const char* codec_name(Codec codec) {
  static constexpr const char* kNames[] = {
      "none", "snappy", "gzip", "lzo", "brotli", "lz4 of Hadoop", "zstd", "lz4"};
  const auto index = static_cast<size_t>(codec);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

Status decompress(Codec codec, std::span<const uint8_t> in, std::span<uint8_t> out) {
  bool good = false;
  switch (codec) {
    case Codec::kNone:
      good = in.size() == out.size();
      if (good && !in.empty()) std::memcpy(out.data(), in.data(), in.size());
      break;
    case Codec::kSnappy:
      good = snappy_decompress(in, static_cast<int64_t>(out.size()), out);
      break;
    case Codec::kLz4Raw:
      good = lz4_decompress(in, out);
      break;
    case Codec::kLz4Hadoop:
      good = hadoop_lz4_decompress(in, out);
      break;
    case Codec::kBrotli:
      good = brotli_decompress(in, out);
      break;
    case Codec::kZstd:
      good = zstd_decompress(in, out);
      break;
    case Codec::kGzip:
      good = gzip_decompress(in, out);
      break;
    default:
      break;
  }
  if (good) return {};
  return make_error(ErrorCode::kSourceFailed,
                    "a page of {} bytes does not decompress to {} bytes by {}",
                    in.size(),
                    out.size(),
                    codec_name(codec));
}

}  // namespace crossdock::scan
