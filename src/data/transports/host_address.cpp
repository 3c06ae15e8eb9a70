// See host_address.hpp. The text: version and checksum of the rest, then a line for the process and one per device,
// fields separated by a blank, bytes in hex. UCX believes what a worker's address says, so damaged ones must not reach
// it.
#include "data/transports/host_address.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <sys/random.h>
#include <utility>

#include <arpa/inet.h>
#include <fmt/ranges.h>

#include "base/text_fields.hpp"
#include "data/rings/crc32c.hpp"
#include "data/transports/host_identity.hpp"

namespace crossdock::transports {
namespace {

constexpr std::string_view kAddressVersion = "crossdock-links-3";
constexpr size_t kFieldsOfDevice = 7;

// "-" stands for no bytes, so that every field has characters.
std::string hex_field(std::string_view bytes) {
  return bytes.empty() ? "-" : hex_of(std::as_bytes(std::span(bytes)));
}
std::optional<std::string> bytes_of(std::string_view field) {
  return from_hex(field == "-" ? "" : field);
}

uint32_t checksum_of(std::string_view text) {
  return rings::crc32c(std::as_bytes(std::span(text)));
}

Error malformed(std::string_view what, std::string_view text) {
  return make_error(ErrorCode::kMalformedMessage,
                    "this is no address of a rank's links: {} \"{}\". All ranks must run "
                    "one version of Crossdock",
                    what,
                    text.substr(0, 80));
}

Result<HostAddress::Device> parse_device(std::string_view line) {
  const auto fields = fields_of(line, ' ');
  if (fields.size() != kFieldsOfDevice) return malformed("a device with other fields:", line);
  HostAddress::Device device;
  device.name = fields[0];
  device.is_rdma = fields[1] == "rdma";
  device.is_loopback = fields[2] == "loopback";
  device.is_routed = fields[3] == "routed";
  const auto ip = bytes_of(fields[4]);
  const auto reached_by = bytes_of(fields[6]);
  if (!ip || (!ip->empty() && ip->size() != 4 && ip->size() != 16))
    return malformed("an IP address", fields[4]);
  if (!read_number(fields[5], device.prefix_bits) || device.prefix_bits < 0 ||
      device.prefix_bits > static_cast<int>(ip->size() * 8)) {
    return malformed("a prefix", fields[5]);
  }
  if (!reached_by || reached_by->empty()) return malformed("a worker or port", fields[6]);
  device.ip = *ip;
  device.reached_by = *reached_by;
  return device;
}

bool is_same_network(const HostAddress::Device& a, const HostAddress::Device& b) {
  if (a.ip.empty() || a.ip.size() != b.ip.size() || a.prefix_bits != b.prefix_bits) return false;
  for (int bit = 0; bit < a.prefix_bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if (((a.ip[bit / 8] ^ b.ip[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool may_talk(const HostAddress::Device& a, const HostAddress::Device& b, bool is_one_host) {
  return a.is_rdma == b.is_rdma && a.is_loopback == b.is_loopback &&
         (is_one_host || !a.is_loopback);
}

bool is_neighbour(const HostAddress::Device& a, const HostAddress::Device& b, bool is_one_host) {
  if (is_one_host) return a.name == b.name;
  // Two hosts with the same address have each a network of their own under it, as bridges for containers do.
  return is_same_network(a, b) && a.ip != b.ip;
}

bool is_reached_by_router(const HostAddress::Device& a,
                          const HostAddress::Device& b,
                          bool is_one_host) {
  const auto may_leave = [](const HostAddress::Device& one) {
    return one.is_routed || (one.is_rdma && one.ip.empty());
  };
  return is_one_host || (may_leave(a) && may_leave(b));
}

// Devices by their places in the two addresses, of those that `fits` lets talk.
class Pairing {
 public:
  Pairing(size_t first, size_t second) : used_first_(first), used_second_(second) {}

  void pair_each_once(const auto& fits) {
    for (size_t i = 0; i < used_first_.size(); ++i) {
      for (size_t j = 0; j < used_second_.size() && used_first_[i] == 0; ++j) {
        if (used_second_[j] == 0 && fits(i, j)) add(i, j);
      }
    }
  }
  // A device that has found none takes the one with the fewest, the first of those.
  void share_out(const auto& fits) {
    const size_t none = std::max(used_first_.size(), used_second_.size());
    const auto least = [&](const std::vector<int>& used, const auto& may) {
      size_t best = none;
      for (size_t k = 0; k < used.size(); ++k) {
        if (may(k) && (best == none || used[k] < used[best])) best = k;
      }
      return best;
    };
    for (size_t i = 0; i < used_first_.size(); ++i) {
      if (used_first_[i] != 0) continue;
      const size_t j = least(used_second_, [&](size_t k) { return fits(i, k); });
      if (j != none) add(i, j);
    }
    for (size_t j = 0; j < used_second_.size(); ++j) {
      if (used_second_[j] != 0) continue;
      const size_t i = least(used_first_, [&](size_t k) { return fits(k, j); });
      if (i != none) add(i, j);
    }
  }
  std::vector<DevicePair> take() { return std::move(pairs_); }
  bool is_empty() const { return pairs_.empty(); }

 private:
  void add(size_t i, size_t j) {
    ++used_first_[i];
    ++used_second_[j];
    pairs_.push_back({i, j});
  }
  std::vector<int> used_first_, used_second_;  // links of each
  std::vector<DevicePair> pairs_;
};

std::vector<DevicePair> pair_in_order(const HostAddress& first, const HostAddress& second) {
  const bool is_one_host = first.host == second.host;
  Pairing pairing(first.devices.size(), second.devices.size());
  for (const auto& fits : {is_neighbour, is_reached_by_router}) {
    const auto may_pair = [&](size_t i, size_t j) {
      const auto& a = first.devices[i];
      const auto& b = second.devices[j];
      return may_talk(a, b, is_one_host) && fits(a, b, is_one_host);
    };
    pairing.pair_each_once(may_pair);
    pairing.share_out(may_pair);
    if (!pairing.is_empty()) break;
  }
  return pairing.take();
}

uint64_t mixed(uint64_t word) {  // the finaliser of SplitMix64
  word += 0x9E37'79B9'7F4A'7C15;
  word = (word ^ (word >> 30)) * 0xBF58'476D'1CE4'E5B9;
  word = (word ^ (word >> 27)) * 0x94D0'49BB'1331'11EB;
  return word ^ (word >> 31);
}

}  // namespace

std::string format_address(const HostAddress& address) {
  std::string text = fmt::format("{:016x} {}", address.secret, hex_field(address.host));
  for (const HostAddress::Device& device : address.devices) {
    text += fmt::format("\n{} {} {} {} {} {} {}",
                        device.name,
                        device.is_rdma ? "rdma" : "tcp",
                        device.is_loopback ? "loopback" : "wire",
                        device.is_routed ? "routed" : "here",
                        hex_field(device.ip),
                        device.prefix_bits,
                        hex_field(device.reached_by));
  }
  return fmt::format("{} {:08x}\n{}", kAddressVersion, checksum_of(text), text);
}

Result<HostAddress> parse_address(const std::string& text) {
  const std::string_view all = text;
  const size_t begin = std::min(all.find('\n'), all.size());
  const std::string_view rest = all.substr(std::min(begin + 1, all.size()));
  if (all.substr(0, begin) != fmt::format("{} {:08x}", kAddressVersion, checksum_of(rest))) {
    return malformed("its version or checksum is another:", all.substr(0, begin));
  }
  const auto lines = fields_of(rest, '\n');
  const auto head = fields_of(lines[0], ' ');
  if (head.size() != 2) return malformed("it begins with", lines[0]);
  if (lines.size() - 1 > kNicsMax) {
    return malformed(fmt::format("{} devices, the limit is {}:", lines.size() - 1, kNicsMax),
                     lines[1]);
  }
  HostAddress address;
  const auto host = bytes_of(head[1]);
  if (!read_number(head[0], address.secret, 16) || !host) {
    return malformed("it begins with", lines[0]);
  }
  address.host = *host;
  for (size_t i = 1; i < lines.size(); ++i) {
    CD_ASSIGN(address.devices.emplace_back(), parse_device(lines[i]));
  }
  return address;
}

Result<HostAddress> new_address(size_t devices) {
  if (devices > kNicsMax) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "there are {} network devices to use, the limit is {}. Name those that matter",
        devices,
        kNicsMax);
  }
  HostAddress address;
  if (getrandom(&address.secret, sizeof address.secret, 0) != sizeof address.secret) {
    return make_error(
        ErrorCode::kProbeFailed, "the system gives no random bytes: {}", std::strerror(errno));
  }
  CD_ASSIGN(address.host, host_identity());
  return address;
}

HostAddress::Device address_of(const NetworkDevice& device, std::string reached_by) {
  return {device.kernel_name(),
          device.ip,
          device.prefix_bits,
          device.is_rdma,
          device.is_loopback,
          device.is_routed,
          std::move(reached_by)};
}

namespace {

// By rank. CD-613 names the rank.
Result<std::vector<HostAddress>> parse_addresses(std::span<const std::string> addresses) {
  std::vector<HostAddress> parsed(addresses.size());
  for (size_t rank = 0; rank < addresses.size(); ++rank) {
    if (addresses[rank].empty()) continue;
    Result<HostAddress> address = parse_address(addresses[rank]);
    if (!address.ok()) {
      return make_error(address.error().code, "rank {}: {}", rank, address.error().message);
    }
    parsed[rank] = std::move(address.value());
  }
  return parsed;
}

// Why pair_devices() finds nothing: names the devices of both.
std::string why_unreached(const HostAddress& mine, PeerIndex peer, const HostAddress& theirs) {
  const auto names_of = [](const HostAddress& of) {
    std::vector<std::string> names;
    for (const auto& device : of.devices) {
      std::array<char, INET6_ADDRSTRLEN> ip = {};
      inet_ntop(device.ip.size() == 4 ? AF_INET : AF_INET6, device.ip.data(), ip.data(), ip.size());
      names.push_back(device.ip.empty()
                          ? device.name
                          : fmt::format("{} {}/{}", device.name, ip.data(), device.prefix_bits));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  };
  return fmt::format(
      "no network device of this process ({}) and of rank {} ({}) are on one network, or both on "
      "networks with a gateway. Name devices of one kind that reach each other",
      names_of(mine),
      peer,
      names_of(theirs));
}

}  // namespace

Result<std::vector<Unreached>> connect_each(
    const HostAddress& self,
    std::span<const std::string> addresses,
    const std::function<bool(PeerIndex, const HostAddress&)>& connect_to) {
  CD_ASSIGN(const std::vector<HostAddress> parsed, parse_addresses(addresses));
  std::vector<Unreached> unreached;
  for (size_t rank = 0; rank < addresses.size(); ++rank) {
    const auto peer = static_cast<PeerIndex>(rank);
    if (addresses[rank].empty() || connect_to(peer, parsed[rank])) continue;
    unreached.push_back({peer, why_unreached(self, peer, parsed[rank])});
  }
  return unreached;
}

uint64_t frame_key(const HostAddress& from, size_t device, const HostAddress& to) {
  return mixed(mixed(mixed(from.secret) + to.secret) + device);
}

uint64_t link_key(const HostAddress& from, size_t device, const HostAddress& to, size_t to_device) {
  return mixed(frame_key(from, device, to) + to_device);
}

// By chance, so that a process with many peers opens half of its links.
bool opens_links(const HostAddress& mine, const HostAddress& theirs) {
  return mine.secret < theirs.secret;
}

std::vector<DevicePair> pair_devices(const HostAddress& mine, const HostAddress& theirs) {
  const bool is_mine_first = mine.secret <= theirs.secret;
  std::vector<DevicePair> pairs =
      is_mine_first ? pair_in_order(mine, theirs) : pair_in_order(theirs, mine);
  for (DevicePair& pair : pairs) {
    if (!is_mine_first) std::swap(pair.mine, pair.theirs);
  }
  std::sort(pairs.begin(), pairs.end(), [](const DevicePair& a, const DevicePair& b) {
    return std::pair(a.mine, a.theirs) < std::pair(b.mine, b.theirs);
  });
  return pairs;
}

}  // namespace crossdock::transports
