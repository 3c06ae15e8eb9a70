// Digests of strings as they name and compare contents: MD5 (RFC 1321), SHA-1 and SHA-256 (FIPS 180-4). Nothing here is
// for secrets.
#pragma once

#include <cstddef>
#include <string_view>

namespace crossdock::expressions {

constexpr size_t kMd5Digits = 32;
constexpr size_t kSha1Digits = 40;
constexpr size_t kSha256Digits = 64;

// Each writes as many hexadecimal digits, in lower case, and answers their number.
size_t write_md5(std::string_view string, char* to);
size_t write_sha1(std::string_view string, char* to);
size_t write_sha256(std::string_view string, char* to);

}  // namespace crossdock::expressions
