// Which MPI a process belongs to, and what is said if there is none.
#include "data/ranks/open_communicator.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::ranks {
namespace {

using testing::HasSubstr;

constexpr const char* kCommunicatorNames[] = {
    "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "CROSSDOCK_PLUGINS"};

class OpenCommunicator : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kCommunicatorNames) ::unsetenv(name);
  }
  void TearDown() override { SetUp(); }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
};

TEST_F(OpenCommunicator, TheLauncherSaysWhich) {
  EXPECT_EQ(mpi_of_environment(), MpiKind::kNone);
  set("PMI_RANK", "0");
  EXPECT_EQ(mpi_of_environment(), MpiKind::kNone);
  set("PMI_SIZE", "2");
  EXPECT_EQ(mpi_of_environment(), MpiKind::kMpich);
  set("OMPI_COMM_WORLD_SIZE", "2");
  EXPECT_EQ(mpi_of_environment(), MpiKind::kOpenMpi);
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  set("PMIX_RANK", "0");
  EXPECT_EQ(mpi_of_environment(), MpiKind::kOpenMpi);
}

TEST_F(OpenCommunicator, ALibrarySaysWhich) {
  EXPECT_EQ(mpi_of_process().value(), MpiKind::kNone);
  EXPECT_EQ(mpi_of_library("/lib/x86_64-linux-gnu/libmpi.so.40").value(), MpiKind::kOpenMpi);
  EXPECT_EQ(mpi_of_library("/opt/libmpich.so.12.2.2").value(), MpiKind::kMpich);
  EXPECT_EQ(mpi_of_library("/lib/libmpi_cxx.so.40").value(), MpiKind::kNone);
  const auto other = mpi_of_library("/venv/lib/libmpi.so.12");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("this program has loaded /venv/lib/libmpi.so.12"));
}

TEST_F(OpenCommunicator, AloneNeedsNoMpi) {
  set("CROSSDOCK_PLUGINS", "/nowhere");
  auto alone = open_communicator(nullptr);
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(alone.value()->size(), 1);
  EXPECT_TRUE(alone.value()->barrier().ok());
  EXPECT_TRUE(open_communicator(alone.value().get()).ok());
}

TEST_F(OpenCommunicator, WhatIsMissingIsNamedWithItsPackage) {
  set("CROSSDOCK_PLUGINS", "/nowhere");
  set("PMI_RANK", "0");
  set("PMI_SIZE", "2");
  EXPECT_THAT(open_communicator(nullptr).error().message,
              HasSubstr("Install MPICH (Debian: libmpich12, and libmpich-dev to build with)"));
  set("OMPI_COMM_WORLD_SIZE", "2");
  EXPECT_THAT(open_communicator(nullptr).error().message,
              HasSubstr("Install Open MPI (Debian: libopenmpi3, and libopenmpi-dev"));
}

}  // namespace
}  // namespace crossdock::ranks
