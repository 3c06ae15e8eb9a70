// See ucx_address.hpp. The text: version and checksum of the rest, then a line for the process and one per device,
// fields parted by a blank, bytes in hex. UCX believes what a worker's address says, so damaged ones must not reach it.
#include "data/transports/ucx/ucx_address.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "data/rings/crc32c.hpp"

namespace crossdock {
namespace {

constexpr std::string_view kVersion = "crossdock-ucx-2";
constexpr size_t kFieldsOfDevice = 7;

// "-" stands for no bytes, so that every field has characters.
std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text.empty() ? "-" : text;
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string bytes;
  if (text == "-") return bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const auto end = std::from_chars(&text[i], &text[i] + 2, value, 16);
    if (end.ec != std::errc() || end.ptr != &text[i] + 2) return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return bytes;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

uint32_t checksum_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

Error malformed(std::string_view what, std::string_view text) {
  return make_error(ErrorCode::kMalformedMessage,
                    "this is no address of a rank's UCX transport: {} \"{}\". All ranks must run "
                    "one version of Crossdock",
                    what,
                    text.substr(0, 80));
}

Result<UcxAddress::Device> parse_device(std::string_view line) {
  const auto fields = split(line, ' ');
  if (fields.size() != kFieldsOfDevice) return malformed("a device with other fields:", line);
  UcxAddress::Device device;
  device.name = fields[0];
  device.is_rdma = fields[1] == "rdma";
  device.is_loopback = fields[2] == "loopback";
  device.is_routed = fields[3] == "routed";
  const auto ip = from_hex(fields[4]);
  const auto worker = from_hex(fields[6]);
  const auto end =
      std::from_chars(fields[5].data(), fields[5].data() + fields[5].size(), device.prefix_bits);
  const bool has_prefix = end.ec == std::errc() && end.ptr == fields[5].data() + fields[5].size();
  if (!ip || (!ip->empty() && ip->size() != 4 && ip->size() != 16))
    return malformed("an IP address", fields[4]);
  if (!has_prefix || device.prefix_bits < 0 ||
      device.prefix_bits > static_cast<int>(ip->size() * 8)) {
    return malformed("a prefix", fields[5]);
  }
  if (!worker || worker->empty()) return malformed("a worker", fields[6]);
  device.ip = *ip;
  device.worker = *worker;
  return device;
}

bool is_same_network(const UcxAddress::Device& a, const UcxAddress::Device& b) {
  if (a.ip.empty() || a.ip.size() != b.ip.size() || a.prefix_bits != b.prefix_bits) return false;
  for (int bit = 0; bit < a.prefix_bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if (((a.ip[bit / 8] ^ b.ip[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool may_talk(const UcxAddress::Device& a, const UcxAddress::Device& b, bool is_one_host) {
  return a.is_rdma == b.is_rdma && a.is_loopback == b.is_loopback &&
         (is_one_host || !a.is_loopback);
}

bool is_neighbour(const UcxAddress::Device& a, const UcxAddress::Device& b, bool is_one_host) {
  if (is_one_host) return a.name == b.name;
  // Two hosts with the same address have each a network of their own under it, as bridges for containers do.
  return is_same_network(a, b) && a.ip != b.ip;
}

bool is_reached_by_router(const UcxAddress::Device& a,
                          const UcxAddress::Device& b,
                          bool is_one_host) {
  const auto may_leave = [](const UcxAddress::Device& one) {
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
  // Whoever has found nobody takes the one with the fewest, the first of those.
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

std::vector<DevicePair> pair_in_order(const UcxAddress& first, const UcxAddress& second) {
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

std::string text_of(const UcxAddress& address) {
  std::string text = fmt::format("{:016x} {}", address.secret, hex_of(address.host));
  for (const UcxAddress::Device& device : address.devices) {
    text += fmt::format("\n{} {} {} {} {} {} {}",
                        device.name,
                        device.is_rdma ? "rdma" : "tcp",
                        device.is_loopback ? "loopback" : "wire",
                        device.is_routed ? "routed" : "here",
                        hex_of(device.ip),
                        device.prefix_bits,
                        hex_of(device.worker));
  }
  return fmt::format("{} {:08x}\n{}", kVersion, checksum_of(text), text);
}

Result<UcxAddress> parse_address(const std::string& text) {
  const std::string_view all = text;
  const size_t begin = std::min(all.find('\n'), all.size());
  const std::string_view rest = all.substr(std::min(begin + 1, all.size()));
  if (all.substr(0, begin) != fmt::format("{} {:08x}", kVersion, checksum_of(rest))) {
    return malformed("its version or checksum is another:", all.substr(0, begin));
  }
  const auto lines = split(rest, '\n');
  const auto head = split(lines[0], ' ');
  if (head.size() != 2) return malformed("it begins with", lines[0]);
  if (lines.size() - 1 > kUcxDevicesMax) {
    return malformed(fmt::format("{} devices, the limit is {}:", lines.size() - 1, kUcxDevicesMax),
                     lines[1]);
  }
  UcxAddress address;
  const auto end =
      std::from_chars(head[0].data(), head[0].data() + head[0].size(), address.secret, 16);
  const auto host = from_hex(head[1]);
  if (end.ec != std::errc() || end.ptr != head[0].data() + head[0].size() || !host) {
    return malformed("it begins with", lines[0]);
  }
  address.host = *host;
  for (size_t i = 1; i < lines.size(); ++i) {
    CD_ASSIGN(address.devices.emplace_back(), parse_device(lines[i]));
  }
  return address;
}

uint64_t frame_key(const UcxAddress& from, size_t device, const UcxAddress& to) {
  return mixed(mixed(mixed(from.secret) + to.secret) + device);
}

// By chance, so that a process with many peers opens half of its links.
bool opens_links(const UcxAddress& mine, const UcxAddress& theirs) {
  return mine.secret < theirs.secret;
}

std::vector<DevicePair> pair_devices(const UcxAddress& mine, const UcxAddress& theirs) {
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

}  // namespace crossdock
