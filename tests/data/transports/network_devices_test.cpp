// Which NICs are used, from interfaces and kernel files made up here.
#include "data/transports/network_devices.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "data/transports/routed_interfaces.hpp"

namespace crossdock::transports {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

NetworkDevice interface(const std::string& name, const std::string& ip, int prefix_bits = 24) {
  NetworkDevice device;
  device.name = device.interface = name;
  device.ip = ip;
  device.prefix_bits = prefix_bits;
  device.is_loopback = name == "lo";
  return device;
}

class NetworkDevices : public testing::Test {
 protected:
  // Cases run side by side, each in a process.
  NetworkDevices()
      : sysfs_(fs::path(testing::TempDir()) / ("sysfs_of_nics." + std::to_string(getpid()))) {
    fs::remove_all(sysfs_);
    write("class/net/eth0/device/vendor", "0x8086\n");
    write("class/net/eth0/speed", "25000\n");
    write("class/net/eth1/device/infiniband/mlx5_0/node_type", "1: CA\n");
    write("class/net/eth1/dev_port", "1\n");
    write("class/net/eth1/speed", "100000\n");
    write("class/infiniband/mlx5_0/ports/2/state", "4: ACTIVE\n");
    write("class/infiniband/mlx5_0/ports/2/rate", "100 Gb/sec (4X EDR)\n");
    write("class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
    write("class/infiniband/mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    write("class/net/veth0/speed", "10000\n");
    write("class/net/bond0/speed", "50000\n");
    write("class/net/bond0/uevent", "DEVTYPE=bond\nINTERFACE=bond0\n");
  }
  ~NetworkDevices() override { fs::remove_all(sysfs_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((sysfs_ / file).parent_path());
    std::ofstream(sysfs_ / file) << text;
  }
  Result<std::vector<NetworkDevice>> choose(const std::vector<std::string>& names) {
    return choose_devices(interfaces_, names, sysfs_.string());
  }

  fs::path sysfs_;
  std::vector<NetworkDevice> interfaces_ = {interface("lo", {127, 0, 0, 1}, 8),
                                            interface("eth0", {10, 0, 0, 1}),
                                            interface("eth1", {10, 0, 1, 1}),
                                            interface("veth0", {10, 0, 2, 1}),
                                            interface("bond0", {10, 0, 3, 1})};
};

TEST_F(NetworkDevices, AllButLoopbackWithTheirRates) {
  const auto devices = choose({});
  ASSERT_TRUE(devices.ok()) << devices.error().message;
  ASSERT_EQ(devices.value().size(), 4U);
  EXPECT_EQ(devices.value()[0].name, "eth0");
  EXPECT_FALSE(devices.value()[0].is_rdma);
  EXPECT_EQ(devices.value()[0].rate_bytes_per_s, 25e9 / 8);
  // The RDMA device behind eth1, with eth1's address.
  EXPECT_EQ(devices.value()[1].name, "mlx5_0:2");
  EXPECT_EQ(devices.value()[1].kernel_name(), "mlx5_0");
  EXPECT_TRUE(devices.value()[1].is_rdma);
  EXPECT_EQ(devices.value()[1].ip, interfaces_[2].ip);
  EXPECT_EQ(devices.value()[1].rate_bytes_per_s, 100e9 / 8);
  EXPECT_EQ(devices.value()[2].rate_bytes_per_s, 0);  // what veth says is made up
  EXPECT_EQ(devices.value()[3].rate_bytes_per_s, 50e9 / 8);
}

TEST_F(NetworkDevices, AnRdmaPortThatIsDownLeavesTheInterfaceToTcp) {
  write("class/infiniband/mlx5_0/ports/2/state", "1: DOWN\n");
  const auto devices = choose({});
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(devices.value()[1].name, "eth1");
  EXPECT_FALSE(devices.value()[1].is_rdma);
}

TEST_F(NetworkDevices, NamedOnesInTheirOrder) {
  const auto devices = choose({"mlx5_1", "eth1", "mlx5_0:2", "lo"});
  ASSERT_TRUE(devices.ok()) << devices.error().message;
  ASSERT_EQ(devices.value().size(), 4U);
  EXPECT_EQ(devices.value()[0].name, "mlx5_1:1");
  EXPECT_EQ(devices.value()[0].ip, "");
  EXPECT_EQ(devices.value()[0].rate_bytes_per_s, 400e9 / 8);
  EXPECT_FALSE(devices.value()[1].is_rdma);  // by its interface's name: through TCP
  EXPECT_EQ(devices.value()[2].ip, interfaces_[2].ip);
  EXPECT_TRUE(devices.value()[3].is_loopback);
}

TEST_F(NetworkDevices, LoopbackOnlyIfThereIsNoOther) {
  interfaces_.resize(1);
  const auto devices = choose({});
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices.value().size(), 1U);
  EXPECT_TRUE(devices.value()[0].is_loopback);

  interfaces_.clear();
  const auto none = choose({});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(NetworkDevices, UnknownNamesAreRefusedWithWhatThereIs) {
  for (const std::string name : {"eht0", "mlx5_9:1", "", "../net/eth0"}) {
    const auto devices = choose({name});
    ASSERT_FALSE(devices.ok()) << name;
    EXPECT_EQ(devices.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(devices.error().message, HasSubstr("lo, eth0, eth1, veth0, bond0"));
  }
  EXPECT_THAT(choose({"eht0"}).error().message, HasSubstr("(\"eth0\"?)"));
}

// Of routes of version 4, with one next hop each, /proc says the same.
TEST(NetworkInterfaces, WhatLeadsElsewhereIsRouted) {
  const auto routed = routed_interfaces();
  ASSERT_TRUE(routed.ok()) << routed.error().message;
  EXPECT_FALSE(routed.value().contains({"lo", AF_INET}));
  std::ifstream routes("/proc/net/route");
  std::string line, name, destination;
  std::getline(routes, line);
  while (std::getline(routes, line)) {
    std::istringstream words(line);
    words >> name >> destination;
    if (destination == "00000000" && name != "*") {
      EXPECT_TRUE(routed.value().contains({name, AF_INET})) << line;
    }
  }
}

TEST(NetworkInterfaces, ThisHostHasLoopback) {
  const auto interfaces = list_interfaces();
  ASSERT_TRUE(interfaces.ok());
  for (const NetworkDevice& device : interfaces.value()) {
    if (device.name != "lo") continue;
    EXPECT_TRUE(device.is_loopback);
    EXPECT_EQ(device.ip, std::string({127, 0, 0, 1}));
    EXPECT_EQ(device.prefix_bits, 8);
    return;
  }
  GTEST_SKIP() << "lo is down";
}

}  // namespace
}  // namespace crossdock::transports
