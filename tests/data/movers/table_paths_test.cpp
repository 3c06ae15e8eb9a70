// Tables written by hand, over the server with two NICs of the paper's Figure 5c.
#include "data/movers/table_paths.hpp"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/small_servers.hpp"

namespace crossdock::movers {
namespace {

using testing::HasSubstr;

class NamedLink : public transports::Link {
 public:
  NamedLink(transports::PeerIndex peer, std::string device)
      : peer_(peer), device_(std::move(device)) {}
  transports::PeerIndex peer() const override { return peer_; }
  std::string name() const override { return device_; }
  std::string device() const override { return device_; }
  double rate_bytes_per_s() const override { return 0; }
  bool put(const rings::SegmentHeader&, std::span<const std::byte>, uint64_t) override {
    return false;
  }
  bool tell(std::span<const std::byte>) override { return false; }

 private:
  transports::PeerIndex peer_;
  std::string device_;
};

class TablePaths : public testing::Test {
 protected:
  topology::VertexIndex index(const char* name) const { return *shape_.find_vertex(name); }
  topology::DestinationKey there(const char* name) const {
    return {.structure = 0, .vertex = index(name)};
  }

  // Rows for `destination` on other servers leave by `nic`.
  void lead(topology::ForwardingTable& table, const char* destination, const char* nic) const {
    topology::HopPath path;
    path.between = {{topology::Place::kHere, index(nic)},
                    {topology::Place::kHere, *shape_.network()},
                    {topology::Place::kThere, index(nic)}};
    table.add(there(destination), {topology::Place::kThere, index(destination)}, path);
  }

  auto paths_of(std::span<const topology::ForwardingTable> tables,
                const std::map<transports::PeerIndex, topology::DestinationKey>& destinations,
                const std::vector<transports::Link*>& links) const {
    std::vector<PathTo> paths;
    for (size_t i = 0; i < links.size(); ++i) {
      paths.push_back({.peer = links[i]->peer(), .first = static_cast<transports::LinkIndex>(i)});
    }
    return table_paths({shape_, tables}, destinations, links, paths, names_of_);
  }

  NicNames names_of_ = [](const std::string& device) {
    return std::vector<std::string>{device.substr(0, device.find(':'))};
  };
  const topology::ServerShape shape_ = topology::two_sockets();
  NamedLink a_{1, "nic0"}, b_{1, "nic1"}, c_{2, "nic0"}, d_{2, "nic1"};
  std::vector<transports::Link*> links_ = {&a_, &b_, &c_, &d_};
};

TEST_F(TablePaths, UseTheLinksOfPlannedNicsOnly) {
  std::vector<topology::ForwardingTable> tables(2);
  lead(tables[0], "cpu0", "nic0");
  lead(tables[1], "cpu0", "nic1");  // after a relay inside the server
  lead(tables[0], "cpu1", "nic1");
  const auto paths = paths_of(tables, {{1, there("cpu0")}, {2, there("cpu1")}}, links_);
  ASSERT_TRUE(paths.ok()) << paths.error().message;
  EXPECT_THAT(paths.value().at(1), testing::ElementsAre(0, 1));
  EXPECT_THAT(paths.value().at(2), testing::ElementsAre(3));
}

TEST_F(TablePaths, UseALinkWithoutADeviceForAnyNicAndPortsOfOneDevice) {
  std::vector<topology::ForwardingTable> tables(1);
  lead(tables[0], "cpu0", "nic1");
  NamedLink nameless(1, "");
  NamedLink port(1, "nic1:1");
  const auto paths = paths_of(tables, {{1, there("cpu0")}}, {&a_, &nameless, &port});
  ASSERT_TRUE(paths.ok()) << paths.error().message;
  EXPECT_THAT(paths.value().at(1), testing::ElementsAre(1, 2));
}

// The second link of a detour is another rank's.
TEST_F(TablePaths, UsePathsOverOtherRanksByTheirFirstLink) {
  std::vector<topology::ForwardingTable> tables(1);
  lead(tables[0], "cpu0", "nic1");
  const std::vector<PathTo> known = {{.peer = 3, .first = 0, .is_relayed = true},
                                     {.peer = 3, .first = 1, .is_relayed = true}};
  const auto paths = table_paths({shape_, tables}, {{3, there("cpu0")}}, links_, known, names_of_);
  ASSERT_TRUE(paths.ok()) << paths.error().message;
  EXPECT_THAT(paths.value().at(3), testing::ElementsAre(1));
}

// A graph of the host has the NICs below a bond, and not the bond.
TEST_F(TablePaths, UseADeviceThatStandsOnPlannedNics) {
  std::vector<topology::ForwardingTable> tables(1);
  lead(tables[0], "cpu0", "nic1");
  NamedLink bond(1, "bond0");
  names_of_ = [](const std::string& device) {
    return device == "bond0" ? std::vector<std::string>{"bond0", "nic0", "nic1"}
                             : std::vector<std::string>{device};
  };
  const auto paths = paths_of(tables, {{1, there("cpu0")}}, {&a_, &bond});
  ASSERT_TRUE(paths.ok()) << paths.error().message;
  EXPECT_THAT(paths.value().at(1), testing::ElementsAre(1));
}

TEST_F(TablePaths, NameThePeerThatNoTableLeadsTo) {
  std::vector<topology::ForwardingTable> tables(1);
  lead(tables[0], "cpu0", "nic0");
  const auto paths = paths_of(tables, {{2, there("gpu1")}}, links_);
  ASSERT_FALSE(paths.ok());
  EXPECT_EQ(paths.error().code, ErrorCode::kNoPath);
  EXPECT_THAT(paths.error().message, HasSubstr("rank 2"));
}

TEST_F(TablePaths, NameTheNicsThatHaveNoLink) {
  std::vector<topology::ForwardingTable> tables(1);
  lead(tables[0], "cpu0", "nic1");
  const auto paths = paths_of(tables, {{1, there("cpu0")}}, {&a_, &d_});
  ASSERT_FALSE(paths.ok());
  EXPECT_THAT(paths.error().message, HasSubstr("rank 1 are planned over nic1"));
  EXPECT_THAT(paths.error().message, HasSubstr("links here are of nic0, nic1"));
}

}  // namespace
}  // namespace crossdock::movers
