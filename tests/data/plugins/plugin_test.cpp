// Loading plugins: found beside the program, refused when of another build, and what the errors say.
#include "data/plugins/plugin.hpp"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>

namespace crossdock::plugins {
namespace {

using testing::HasSubstr;

TEST(Plugin, IsFoundBesideTheProgramAndFaultHandlersStay) {
  struct sigaction before = {};
  sigaction(SIGBUS, nullptr, &before);
  const auto entry = load_plugin({"sample", "crossdock_sample_double", "1.0-sample", "nothing"});
  ASSERT_TRUE(entry.ok()) << entry.error().message;
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(entry.value())(21), 42);
  struct sigaction after = {};
  sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);

  const auto again = load_plugin({"sample", "crossdock_sample_double", "1.0-sample", "nothing"});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value(), entry.value());
}

TEST(Plugin, OneOfAnotherBuildIsRefused) {
  const auto other = load_plugin({"sample", "crossdock_sample_double", "2.0-sample", "nothing"});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(other.error().message,
              HasSubstr("its interface is 1.0-sample, 2.0-sample is needed"));

  const auto none = load_plugin({"stranger", "crossdock_stranger_double", "1.0", "nothing"});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("its interface is unknown"));
}

TEST(Plugin, AbsenceSaysWhatToInstall) {
  const auto absent = load_plugin({"absent", "entry", "1.0", "Debian's libabsent0"});
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(absent.error().message, HasSubstr("libcrossdock_absent.so"));
  EXPECT_THAT(absent.error().message, HasSubstr("Install Debian's libabsent0"));

  const auto no_entry = load_plugin({"sample", "crossdock_sample_triple", "1.0-sample", "x"});
  ASSERT_FALSE(no_entry.ok());
  EXPECT_THAT(no_entry.error().message, HasSubstr("no symbol crossdock_sample_triple"));
}

TEST(Plugin, ANamedFolderIsTheOnlyPlaceToLook) {
  ASSERT_EQ(setenv("CROSSDOCK_PLUGINS", "/nowhere", 1), 0);
  const auto sample = load_plugin({"sample", "crossdock_sample_double", "1.0-sample", "nothing"});
  ASSERT_EQ(unsetenv("CROSSDOCK_PLUGINS"), 0);
  ASSERT_FALSE(sample.ok());
  EXPECT_THAT(sample.error().message, HasSubstr("/nowhere/libcrossdock_sample.so"));
}

}  // namespace
}  // namespace crossdock::plugins
