// Addresses of a rendezvous; what ranks and drivers say to each other is in tests/python/ranks/test_rendezvous.py.
#include "data/ranks/rendezvous_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/ranks/packed_strings.hpp"

namespace crossdock::ranks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(RendezvousAddresses, HaveHostsAPortAJobAndASecret) {
  const auto address =
      RendezvousAddress::parse("crossdock://10.0.0.1,[fd00::1],driver:7650/job 1/s3");
  ASSERT_TRUE(address.ok()) << address.error().message;
  EXPECT_THAT(address.value().hosts, ElementsAre("10.0.0.1", "fd00::1", "driver"));
  EXPECT_EQ(address.value().port, "7650");
  EXPECT_EQ(address.value().job, "job 1");
  EXPECT_EQ(address.value().secret, "s3");
  EXPECT_THAT(address.value().place(), Not(HasSubstr("s3")));
}

TEST(RendezvousAddresses, OthersAreRefusedWithoutTheSecret) {
  for (const char* text : {"crossdock://",
                           "crossdock://host:1",
                           "crossdock://host/job/secret",
                           "crossdock://:1/job/secret",
                           "crossdock://host:x/job/secret",
                           "crossdock://host:1//secret",
                           "crossdock://host:1/secret",
                           "crossdock://host:1/job/",
                           "/shared/folder"}) {
    const auto address = RendezvousAddress::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(address.error().message, Not(HasSubstr("secret\""))) << text;
  }
  EXPECT_FALSE(join_meeting("crossdock://host:1/job/secret", "", 2, 2).ok());
  EXPECT_TRUE(join_meeting("crossdock://host:1/job/secret", "", 1, 2).ok()) << "meets later";
}

TEST(PackedStrings, ComeBack) {
  const std::vector<std::string> strings{"", "a\n3\nb", std::string(1000, '\0')};
  EXPECT_EQ(unpacked_strings(packed_strings(strings), 3), strings);
  EXPECT_FALSE(unpacked_strings(packed_strings(strings), 2));
  for (const char* text : {"5\nabc", "5", "x\nabc", "-1\n", "99999999999999999999\n", "1\nab"}) {
    EXPECT_FALSE(unpacked_strings(text, 1)) << text;
  }
}

}  // namespace
}  // namespace crossdock::ranks
