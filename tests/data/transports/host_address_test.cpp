// Addresses as text and back, any bytes as an address, and which devices are paired.
#include "data/transports/host_address.hpp"

#include <random>
#include <span>

#include <gmock/gmock.h>

#include "data/rings/crc32c.hpp"

namespace crossdock::transports {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

HostAddress::Device tcp(const std::string& name, const std::string& ip, int prefix_bits = 24) {
  return {name, ip, prefix_bits, false, name == "lo", false, "worker of " + name};
}

HostAddress::Device routed(HostAddress::Device device) {
  device.is_routed = true;
  return device;
}

HostAddress::Device rdma(const std::string& name) {
  return {name, "", 0, true, false, false, "worker of " + name};
}

std::string ip(int c, int d) { return {10, 0, static_cast<char>(c), static_cast<char>(d)}; }

HostAddress address(uint64_t secret,
                    const std::string& host,
                    std::vector<HostAddress::Device> devices) {
  return {secret, host, std::move(devices)};
}

// From both sides.
std::vector<DevicePair> pairs(const HostAddress& a, const HostAddress& b) {
  const auto there = pair_devices(a, b);
  auto back = pair_devices(b, a);
  EXPECT_EQ(there.size(), back.size());
  for (const DevicePair& pair : there) {
    EXPECT_THAT(back, testing::Contains(DevicePair{pair.theirs, pair.mine}));
  }
  return there;
}

TEST(HostAddress, ComesBackFromItsText) {
  const HostAddress there =
      address(0xFEED'0000'0000'0001,
              "boot 4:4026531840",
              {tcp("eth0", ip(1, 2)), rdma("mlx5_0"), routed(tcp("lo", {127, 0, 0, 1}, 8))});
  const auto back = parse_address(format_address(there));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(format_address(back.value()), format_address(there));
  ASSERT_EQ(back.value().devices.size(), 3U);
  EXPECT_EQ(back.value().secret, there.secret);
  EXPECT_EQ(back.value().host, there.host);
  EXPECT_EQ(back.value().devices[0].reached_by, "worker of eth0");
  EXPECT_EQ(back.value().devices[0].ip, ip(1, 2));
  EXPECT_TRUE(back.value().devices[1].is_rdma);
  EXPECT_TRUE(back.value().devices[2].is_loopback);
  EXPECT_FALSE(back.value().devices[0].is_routed);
  EXPECT_TRUE(back.value().devices[2].is_routed);
}

TEST(HostAddress, AnyBytesAreSafe) {
  const auto stamped = [](const std::string& rest) {
    return fmt::format(
        "crossdock-links-3 {:08x}\n{}", rings::crc32c(std::as_bytes(std::span(rest))), rest);
  };
  const std::string whole =
      format_address(address(7, "host", {tcp("eth0", ip(1, 2)), rdma("mlx5_0")}));
  const std::string good = whole.substr(whole.find('\n') + 1);
  EXPECT_EQ(stamped(good), whole);
  EXPECT_FALSE(parse_address(whole.substr(0, whole.size() - 1)).ok());
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (int change = 0; change < 3; ++change) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, random() % 9);
        if (text.empty()) text = " ";
      } else {
        text[at] = static_cast<char>(random());
      }
    }
    EXPECT_TRUE(text == good || !parse_address(whole.substr(0, 25) + text).ok());
    const auto parsed = parse_address(stamped(text));
    if (parsed.ok()) {
      for (const auto& device : parsed.value().devices) {
        EXPECT_LE(device.prefix_bits, static_cast<int>(device.ip.size() * 8));
      }
      continue;
    }
    ++refused;
    EXPECT_EQ(parsed.error().code, ErrorCode::kMalformedMessage);
  }
  EXPECT_GT(refused, 5000);
  EXPECT_FALSE(parse_address("").ok());
  std::string many = "7 -";
  for (size_t i = 0; i < kNicsMax; ++i) many += "\neth0 tcp wire here - 0 00";
  EXPECT_TRUE(parse_address(stamped(many)).ok());
  many += "\neth0 tcp wire here - 0 00";
  EXPECT_FALSE(parse_address(stamped(many)).ok());
}

TEST(UcxPairs, ByNetworkWhateverTheOrder) {
  const auto a =
      address(1, "a", {tcp("eth0", ip(1, 1)), tcp("eth1", ip(2, 1)), tcp("eth2", ip(3, 1))});
  const auto b = address(2, "b", {tcp("p0", ip(2, 2)), tcp("p1", ip(9, 2)), tcp("p2", ip(1, 2))});
  EXPECT_THAT(pairs(a, b), ElementsAre(DevicePair{0, 2}, DevicePair{1, 0}));
  EXPECT_THAT(pairs(b, a), ElementsAre(DevicePair{0, 1}, DevicePair{2, 0}));
}

TEST(UcxPairs, SeveralDevicesOfOneNetworkShareThoseOfTheOther) {
  const auto one = address(9, "one", {tcp("eth0", ip(1, 9))});
  const auto two = address(5, "a", {tcp("eth0", ip(1, 1)), tcp("eth1", ip(1, 2))});
  const auto five = address(2,
                            "b",
                            {tcp("eth0", ip(1, 3)),
                             tcp("eth1", ip(1, 4)),
                             tcp("ib0", ip(7, 1)),
                             tcp("eth2", ip(1, 5)),
                             tcp("eth3", ip(1, 6)),
                             tcp("eth4", ip(1, 7))});
  EXPECT_THAT(pairs(two, two), ElementsAre(DevicePair{0, 0}, DevicePair{1, 1}));
  EXPECT_THAT(pairs(one, two), ElementsAre(DevicePair{0, 0}, DevicePair{0, 1}));
  EXPECT_THAT(pairs(two, five),
              ElementsAre(DevicePair{0, 0},
                          DevicePair{0, 3},
                          DevicePair{0, 5},
                          DevicePair{1, 1},
                          DevicePair{1, 4}));
}

TEST(UcxPairs, BridgesForContainersAreNoWayBetweenHosts) {
  const auto a = address(
      1, "a", {tcp("docker0", "\xAC\x11" + std::string({0, 1}), 16), tcp("eth0", ip(1, 1))});
  const auto b = address(
      2, "b", {tcp("docker0", "\xAC\x11" + std::string({0, 1}), 16), tcp("eth0", ip(1, 2))});
  EXPECT_THAT(pairs(a, b), ElementsAre(DevicePair{1, 1}));
}

TEST(UcxPairs, ByPlaceIfNoNetworkIsSharedButRouted) {
  const auto a = address(1, "a", {routed(tcp("eth0", ip(1, 1))), rdma("mlx5_0"), rdma("mlx5_1")});
  const auto b = address(2, "b", {rdma("mlx5_0"), rdma("mlx5_1"), routed(tcp("eth0", ip(2, 1)))});
  EXPECT_THAT(pairs(a, b), ElementsAre(DevicePair{0, 2}, DevicePair{1, 0}, DevicePair{2, 1}));
  EXPECT_THAT(pairs(address(1, "a", {rdma("mlx5_0")}), address(2, "b", {tcp("eth0", ip(1, 1))})),
              IsEmpty());
}

TEST(UcxPairs, NothingLeadsBetweenNetworksThatAreNotRouted) {
  const auto a = address(1, "a", {tcp("eth0", ip(1, 1)), routed(tcp("eth1", ip(2, 1)))});
  EXPECT_THAT(pairs(a, address(2, "b", {tcp("eth0", ip(3, 1))})), IsEmpty());
  EXPECT_THAT(pairs(a, address(2, "b", {tcp("eth0", ip(3, 1)), routed(tcp("eth1", ip(4, 1)))})),
              ElementsAre(DevicePair{1, 1}));
  // On one host the kernel leads from any to any.
  EXPECT_THAT(pairs(a, address(2, "a", {tcp("eth2", ip(3, 1))})),
              ElementsAre(DevicePair{0, 0}, DevicePair{1, 0}));
}

TEST(UcxPairs, OnOneHostTheSameNic) {
  const auto a =
      address(1, "a", {tcp("lo", {127, 0, 0, 1}, 8), tcp("eth0", ip(1, 1)), tcp("eth1", ip(1, 7))});
  EXPECT_THAT(pairs(a, address(2, "a", {tcp("eth1", ip(1, 7)), tcp("lo", {127, 0, 0, 1}, 8)})),
              ElementsAre(DevicePair{0, 1}, DevicePair{2, 0}));
  // Loopback leads nowhere else.
  EXPECT_THAT(pairs(a, address(2, "b", {tcp("lo", {127, 0, 0, 1}, 8)})), IsEmpty());
}

TEST(UcxKeys, DifferByDirectionAndDevice) {
  const auto a = address(1, "a", {});
  const auto b = address(2, "b", {});
  EXPECT_EQ(frame_key(a, 0, b), frame_key(a, 0, b));
  EXPECT_NE(frame_key(a, 0, b), frame_key(b, 0, a));
  EXPECT_NE(frame_key(a, 0, b), frame_key(a, 1, b));
  EXPECT_NE(frame_key(a, 0, b), frame_key(address(3, "a", {}), 0, b));
}

}  // namespace
}  // namespace crossdock::transports
