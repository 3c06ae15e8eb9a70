// libzstd, zlib and libbrotlidec by their stable interfaces.
#include "scan/system_codecs.hpp"

#include <cstddef>
#include <dlfcn.h>

namespace crossdock::scan {
namespace {

using ZstdDecompress = size_t (*)(void* out, size_t room, const void* in, size_t bytes);

// 1: all of it.
using BrotliDecompress = int (*)(size_t bytes, const uint8_t* in, size_t* room, uint8_t* out);

// z_stream of zlib.h, whose layout has not changed since 1995.
struct ZlibStream {
  const uint8_t* next_in = nullptr;
  unsigned avail_in = 0;
  unsigned long total_in = 0;  // NOLINT: zlib's own type
  uint8_t* next_out = nullptr;
  unsigned avail_out = 0;
  unsigned long total_out = 0;  // NOLINT
  const char* message = nullptr;
  void* state = nullptr;
  void* allocate = nullptr;
  void* release = nullptr;
  void* opaque = nullptr;
  int data_type = 0;
  unsigned long adler = 0;     // NOLINT
  unsigned long reserved = 0;  // NOLINT
};

struct Zlib {
  int (*init)(ZlibStream* stream, int window_bits, const char* version, int stream_bytes);
  int (*inflate)(ZlibStream* stream, int flush);
  int (*end)(ZlibStream* stream);
};

template <class Function>
Function symbol(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

// Loaded once, and never given back.
ZstdDecompress zstd() {
  static const auto function =
      symbol<ZstdDecompress>(dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL), "ZSTD_decompress");
  return function;
}

BrotliDecompress brotli() {
  static const auto function = symbol<BrotliDecompress>(
      dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL), "BrotliDecoderDecompress");
  return function;
}

const Zlib& zlib() {
  static const Zlib functions = [] {
    void* library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    return Zlib{symbol<decltype(Zlib::init)>(library, "inflateInit2_"),
                symbol<decltype(Zlib::inflate)>(library, "inflate"),
                symbol<decltype(Zlib::end)>(library, "inflateEnd")};
  }();
  return functions;
}

}  // namespace

bool has_zstd() { return zstd() != nullptr; }

bool has_brotli() { return brotli() != nullptr; }

bool has_gzip() {
  return zlib().init != nullptr && zlib().inflate != nullptr && zlib().end != nullptr;
}

// An error is a size beyond any room.
bool zstd_decompress(std::span<const uint8_t> in, std::span<uint8_t> out) {
  return has_zstd() && zstd()(out.data(), out.size(), in.data(), in.size()) == out.size();
}

bool brotli_decompress(std::span<const uint8_t> in, std::span<uint8_t> out) {
  size_t bytes = out.size();
  return has_brotli() && brotli()(in.size(), in.data(), &bytes, out.data()) == 1 &&
         bytes == out.size();
}

bool gzip_decompress(std::span<const uint8_t> in, std::span<uint8_t> out) {
  constexpr int kGzipOrZlib = 15 + 32;
  constexpr int kFinish = 4;
  constexpr int kStreamEnd = 1;
  constexpr size_t kMost = UINT32_MAX;
  if (!has_gzip() || in.size() > kMost || out.size() > kMost) return false;
  ZlibStream stream;
  stream.next_in = in.data();
  stream.avail_in = static_cast<unsigned>(in.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<unsigned>(out.size());
  if (zlib().init(&stream, kGzipOrZlib, "1.2.11", sizeof(ZlibStream)) != 0) return false;
  const int ended = zlib().inflate(&stream, kFinish);
  zlib().end(&stream);
  return ended == kStreamEnd && stream.avail_out == 0;
}

}  // namespace crossdock::scan
