// "shm1 <host> <user> <name> <secret>", the last two in hexadecimal.
#include "data/transports/neighbour_address.hpp"

#include <cerrno>
#include <charconv>
#include <sys/random.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "data/transports/host_identity.hpp"
#include "data/transports/system_error.hpp"

namespace crossdock::transports {
namespace {

constexpr std::string_view kVersion = "shm1";
constexpr size_t kAddressBytesMax = 512;

std::string hex(const RandomBytes& bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

bool parse_hex(std::string_view text, RandomBytes& bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* const begin = text.data() + 2 * i;
    uint8_t value = 0;
    const auto [end, problem] = std::from_chars(begin, begin + 2, value, 16);
    if (problem != std::errc() || end != begin + 2) return false;
    bytes[i] = std::byte{value};
  }
  return true;
}

bool parse_number(std::string_view text, uint32_t& number) {
  const char* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && at == end;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

std::string NeighbourAddress::text() const {
  return fmt::format("{} {} {} {} {}", kVersion, host, user, hex(name), hex(secret));
}

Result<NeighbourAddress> NeighbourAddress::parse(std::string_view text) {
  NeighbourAddress address;
  if (text.size() <= kAddressBytesMax) {
    const std::vector<std::string_view> words = words_of(text);
    if (words.size() == 5 && words[0] == kVersion && !words[1].empty() &&
        parse_number(words[2], address.user) && parse_hex(words[3], address.name) &&
        parse_hex(words[4], address.secret)) {
      address.host = words[1];
      return address;
    }
  }
  return make_error(
      ErrorCode::kMalformedMessage,
      "an address for shared memory has {} bytes and is not of the form `{} host user "
      "name secret`; all ranks must run the same version",
      text.size(),
      kVersion);
}

Result<NeighbourAddress> NeighbourAddress::make() {
  NeighbourAddress address;
  CD_ASSIGN(address.host, host_identity());
  address.user = ::geteuid();
  for (RandomBytes* bytes : {&address.name, &address.secret}) {
    if (::getrandom(bytes->data(), bytes->size(), 0) != static_cast<ssize_t>(bytes->size())) {
      return system_error("no random bytes for the name of a socket", errno);
    }
  }
  return address;
}

}  // namespace crossdock::transports
