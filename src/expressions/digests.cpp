#include "expressions/digests.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace crossdock::expressions {
namespace {

constexpr size_t kChunkBytes = 64;
constexpr size_t kLengthBytes = 8;

enum class ByteOrder : uint8_t { kLittle, kBig };

template <ByteOrder order>
uint32_t word_at(const uint8_t* from) {
  uint32_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return order == ByteOrder::kLittle ? word : __builtin_bswap32(word);
}

// Calls `add` with each chunk of the string, which ends in a one, zeros, and the number of its bits.
template <ByteOrder order, class Add>
void for_each_chunk(std::string_view string, const Add& add) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(string.data());
  size_t left = string.size();
  for (; left >= kChunkBytes; left -= kChunkBytes, bytes += kChunkBytes) add(bytes);
  uint8_t last[2 * kChunkBytes] = {};
  if (left > 0) std::memcpy(last, bytes, left);
  last[left] = 0x80;
  const size_t chunks = left + 1 + kLengthBytes > kChunkBytes ? 2 : 1;
  const uint64_t bits = uint64_t{string.size()} * 8;
  const uint64_t written = order == ByteOrder::kLittle ? bits : __builtin_bswap64(bits);
  std::memcpy(last + chunks * kChunkBytes - kLengthBytes, &written, kLengthBytes);
  for (size_t c = 0; c < chunks; ++c) add(last + c * kChunkBytes);
}

template <ByteOrder order, size_t words>
size_t write_digits(const std::array<uint32_t, words>& state, char* to) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const uint32_t word : state) {
    const uint32_t in_order = order == ByteOrder::kLittle ? __builtin_bswap32(word) : word;
    for (int shift = 28; shift >= 0; shift -= 4) *to++ = kDigits[(in_order >> shift) & 15];
  }
  return words * 8;
}

constexpr uint32_t kMd5Sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constexpr int kMd5Turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

constexpr uint32_t kSha256Roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Md5State = std::array<uint32_t, 4>;
using Sha1State = std::array<uint32_t, 5>;
using Sha256State = std::array<uint32_t, 8>;

template <class State>
void add_to(State& state, const State& more) {
  for (size_t i = 0; i < state.size(); ++i) state[i] += more[i];
}

void add_md5(const uint8_t* chunk, Md5State& state) {
  uint32_t words[16];
  for (int i = 0; i < 16; ++i) words[i] = word_at<ByteOrder::kLittle>(chunk + 4 * i);
  auto [a, b, c, d] = state;
#pragma GCC unroll 64
  for (int i = 0; i < 64; ++i) {
    const int round = i / 16;
    const uint32_t mixed = round == 0 ? d ^ (b & (c ^ d))
                         : round == 1 ? c ^ (d & (b ^ c))
                         : round == 2 ? b ^ c ^ d
                                      : c ^ (b | ~d);
    constexpr int kSteps[4][2] = {{1, 0}, {5, 1}, {3, 5}, {7, 0}};
    const int word = (kSteps[round][0] * i + kSteps[round][1]) % 16;
    const uint32_t sum = a + mixed + kMd5Sines[i] + words[word];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kMd5Turns[round][i % 4]);
  }
  add_to(state, {a, b, c, d});
}

void add_sha1(const uint8_t* chunk, Sha1State& state) {
  uint32_t words[80];
  for (int i = 0; i < 16; ++i) words[i] = word_at<ByteOrder::kBig>(chunk + 4 * i);
  for (int i = 16; i < 80; ++i) {
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  auto [a, b, c, d, e] = state;
#pragma GCC unroll 80
  for (int i = 0; i < 80; ++i) {
    const int round = i / 20;
    const uint32_t mixed = round == 0 ? d ^ (b & (c ^ d))
                         : round == 2 ? (b & c) | (d & (b | c))
                                      : b ^ c ^ d;
    constexpr uint32_t kRoots[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    const uint32_t sum = std::rotl(a, 5) + mixed + e + kRoots[round] + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = sum;
  }
  add_to(state, {a, b, c, d, e});
}

void add_sha256(const uint8_t* chunk, Sha256State& state) {
  uint32_t words[64];
  for (int i = 0; i < 16; ++i) words[i] = word_at<ByteOrder::kBig>(chunk + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t near = words[i - 2];
    const uint32_t far = words[i - 15];
    words[i] = words[i - 16] + (std::rotr(far, 7) ^ std::rotr(far, 18) ^ (far >> 3)) +
               words[i - 7] + (std::rotr(near, 17) ^ std::rotr(near, 19) ^ (near >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
#pragma GCC unroll 64
  for (int i = 0; i < 64; ++i) {
    const uint32_t chosen = g ^ (e & (f ^ g));
    const uint32_t most = (a & b) | (c & (a | b));
    const uint32_t sum = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + chosen +
                         kSha256Roots[i] + words[i];
    h = g;
    g = f;
    f = e;
    e = d + sum;
    d = c;
    c = b;
    b = a;
    a = sum + (std::rotr(b, 2) ^ std::rotr(b, 13) ^ std::rotr(b, 22)) + most;
  }
  add_to(state, {a, b, c, d, e, f, g, h});
}

}  // namespace

size_t write_md5(std::string_view string, char* to) {
  Md5State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for_each_chunk<ByteOrder::kLittle>(string, [&](const uint8_t* chunk) { add_md5(chunk, state); });
  return write_digits<ByteOrder::kLittle>(state, to);
}

size_t write_sha1(std::string_view string, char* to) {
  Sha1State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for_each_chunk<ByteOrder::kBig>(string, [&](const uint8_t* chunk) { add_sha1(chunk, state); });
  return write_digits<ByteOrder::kBig>(state, to);
}

size_t write_sha256(std::string_view string, char* to) {
  Sha256State state = {0x6a09e667,
                       0xbb67ae85,
                       0x3c6ef372,
                       0xa54ff53a,
                       0x510e527f,
                       0x9b05688c,
                       0x1f83d9ab,
                       0x5be0cd19};
  for_each_chunk<ByteOrder::kBig>(string, [&](const uint8_t* chunk) { add_sha256(chunk, state); });
  return write_digits<ByteOrder::kBig>(state, to);
}

}  // namespace crossdock::expressions
