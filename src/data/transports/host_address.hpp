// What ranks tell each other to make links between hosts, and which NIC of one talks to which NIC of the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/transports/link.hpp"
#include "data/transports/network_devices.hpp"

namespace crossdock::transports {

inline constexpr size_t kNicsMax = 64;

struct HostAddress {
  struct Device {
    std::string name;  // of the NIC, as its kernel names it
    std::string ip;    // 4 or 16 bytes, or ""
    int prefix_bits = 0;
    bool is_rdma = false;
    bool is_loopback = false;
    bool is_routed = false;  // its host sends to other networks over it
    std::string reached_by;  // what leads to the NIC: UCX's address of its worker, or a port of TCP
  };
  // Random, of this process; who does not know it cannot make a frame that is taken.
  uint64_t secret = 0;
  std::string host;  // the same for processes that see the same network interfaces
  std::vector<Device> devices;
};

// Printable. parse_address(format_address(a)) == a; CD-613 with what is wrong: any bytes are safe.
std::string format_address(const HostAddress& address);
Result<HostAddress> parse_address(const std::string& text);

// Of this process, with a new secret and no devices yet; there will be `devices`. CD-105 if those are too many, CD-603.
Result<HostAddress> new_address(size_t devices);
HostAddress::Device address_of(const NetworkDevice& device, std::string reached_by);
// Links to processes by rank; an address of "" is of one that is not wanted. connect_to() makes those to one process,
// and says whether anything leads there. Answers whom nothing leads to, and why. CD-613 names the rank, before any link
// is made.
Result<std::vector<Unreached>> connect_each(
    const HostAddress& self,
    std::span<const std::string> addresses,
    const std::function<bool(PeerIndex, const HostAddress&)>& connect_to);

// What marks frames from a device of `from` to `to`. Both ends work it out; it is on the wire, but says nothing about
// the secrets.
uint64_t frame_key(const HostAddress& from, size_t device, const HostAddress& to);

// The same for a pair of devices, which may be shared with others.
uint64_t link_key(const HostAddress& from, size_t device, const HostAddress& to, size_t to_device);

// Which of two processes opens the links between them; the other waits.
bool opens_links(const HostAddress& mine, const HostAddress& theirs);

struct DevicePair {
  size_t mine = 0;
  size_t theirs = 0;

  bool operator==(const DevicePair&) const = default;
};

// Which devices talk to each other: those on one network (an address in the same subnet; on one host the same NIC); if
// there is no such pair, the first with the first and so on, of those that both hosts send to other networks over (an
// RDMA device without an address counts as one of them: its network is not known). Each device once; but where one side
// has more than the other, those left over share the other's, evenly, so that no NIC lies idle. Both sides find the
// same pairs, ascending by `mine`. Empty if nothing fits.
std::vector<DevicePair> pair_devices(const HostAddress& mine, const HostAddress& theirs);

}  // namespace crossdock::transports
