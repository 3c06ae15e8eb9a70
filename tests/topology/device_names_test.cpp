// Devices in a folder that looks like the kernel's.
#include "topology/device_names.hpp"

#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::topology {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class DeviceNames : public testing::Test {
 protected:
  DeviceNames() : sysfs_(testing::TempDir() + "/device_names." + std::to_string(getpid())) {}
  ~DeviceNames() override { std::filesystem::remove_all(sysfs_); }

  void folder(const std::string& path) { std::filesystem::create_directories(sysfs_ + "/" + path); }
  std::vector<std::string> names(const std::string& device) { return nic_names(sysfs_, device); }

  const std::string sysfs_;
};

TEST_F(DeviceNames, OneThatTheKernelDoesNotKnowHasItsOwn) {
  EXPECT_THAT(names("eth7"), ElementsAre("eth7"));
  EXPECT_THAT(names("mlx5_0:1"), ElementsAre("mlx5_0"));
  EXPECT_THAT(names(""), ElementsAre(""));
  EXPECT_THAT(names("../eth0"), ElementsAre("../eth0"));
}

TEST_F(DeviceNames, AnInterfaceAndItsRdmaDeviceStandForEachOther) {
  folder("class/net/ens1f0/device/infiniband/mlx5_0");
  folder("class/infiniband/mlx5_0/device/net/ens1f0");
  EXPECT_THAT(names("ens1f0"), ElementsAre("ens1f0", "mlx5_0"));
  EXPECT_THAT(names("mlx5_0:1"), ElementsAre("mlx5_0", "ens1f0"));
}

TEST_F(DeviceNames, WhatStandsOnOthersHasAllOfThem) {
  folder("class/net/eth0/device");
  folder("class/net/eth1/device/infiniband/mlx5_1");
  folder("class/net/bond0/lower_eth0");
  folder("class/net/bond0/lower_eth1");
  folder("class/net/bond0.100/lower_bond0");
  EXPECT_THAT(names("bond0"), UnorderedElementsAre("bond0", "eth0", "eth1", "mlx5_1"));
  EXPECT_THAT(names("bond0.100"),
              UnorderedElementsAre("bond0.100", "bond0", "eth0", "eth1", "mlx5_1"));
  EXPECT_THAT(names("eth0"), ElementsAre("eth0")) << "not the other way";
}

TEST_F(DeviceNames, ACircleEnds) {
  folder("class/net/a/lower_b");
  folder("class/net/b/lower_a");
  EXPECT_THAT(names("a"), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace crossdock::topology
