// "shm1 <host> <user> <name> <secret>", the last two in hexadecimal.
#include "data/transports/neighbour_address.hpp"

#include <cerrno>
#include <cstring>
#include <sys/random.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/text_fields.hpp"
#include "data/transports/host_identity.hpp"
#include "data/transports/system_error.hpp"

namespace crossdock::transports {
namespace {

constexpr std::string_view kVersion = "shm1";
constexpr size_t kAddressBytesMax = 512;

bool read_bytes(std::string_view text, RandomBytes& to) {
  const std::optional<std::string> bytes = from_hex(text);
  if (!bytes || bytes->size() != to.size()) return false;
  std::memcpy(to.data(), bytes->data(), to.size());
  return true;
}

}  // namespace

std::string NeighbourAddress::text() const {
  return fmt::format("{} {} {} {} {}", kVersion, host, user, hex_of(name), hex_of(secret));
}

Result<NeighbourAddress> NeighbourAddress::parse(std::string_view text) {
  NeighbourAddress address;
  if (text.size() <= kAddressBytesMax) {
    const std::vector<std::string_view> words = fields_of(text, ' ');
    if (words.size() == 5 && words[0] == kVersion && !words[1].empty() &&
        read_number(words[2], address.user) && read_bytes(words[3], address.name) &&
        read_bytes(words[4], address.secret)) {
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
