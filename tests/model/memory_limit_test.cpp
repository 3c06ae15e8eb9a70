// Limits are found in trees of files as kernels show them, and in a real group where this may be made.
#include "model/memory_limit.hpp"

#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

namespace fs = std::filesystem;

class MemoryLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "crossdock_limit_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  void v2(const std::string& group, const std::string& mounted_group = "/") {
    write("proc/self/cgroup", "0::" + group + "\n");
    write("proc/self/mountinfo",
          "22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n30 22 0:26 " + mounted_group +
              " /sys/fs/cgroup rw,nosuid shared:4 master:2 - cgroup2 cgroup2 rw,nsdelegate\n");
  }

  int64_t limit() const {
    const auto of_cgroup = cgroup_memory_limit(root_);
    return of_cgroup ? of_cgroup->bytes : 0;
  }

  fs::path root_;
};

TEST_F(MemoryLimitTest, IsThatOfTheNestedGroup) {
  v2("/system.slice/job.service");
  write("sys/fs/cgroup/system.slice/memory.max", "max\n");
  write("sys/fs/cgroup/system.slice/job.service/memory.max", "838860800\n");
  const auto of_cgroup = cgroup_memory_limit(root_);
  ASSERT_TRUE(of_cgroup);
  EXPECT_EQ(of_cgroup->bytes, 838860800);
  EXPECT_EQ(of_cgroup->file, "/sys/fs/cgroup/system.slice/job.service/memory.max");
}

TEST_F(MemoryLimitTest, IsTheLeastOfTheGroupsAround) {
  v2("/a/b/c");
  write("sys/fs/cgroup/a/memory.max", "1000\n");
  write("sys/fs/cgroup/a/b/memory.max", "500\n");
  write("sys/fs/cgroup/a/b/c/memory.max", "900\n");
  EXPECT_EQ(limit(), 500);
}

TEST_F(MemoryLimitTest, IsThatOfTheMountInAContainer) {
  v2("/");
  write("sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(limit(), 4096);
  v2("/../../elsewhere");
  EXPECT_EQ(limit(), 4096);
  v2("/docker/abc/inner", "/docker/abc");
  write("sys/fs/cgroup/inner/memory.max", "2048\n");
  EXPECT_EQ(limit(), 2048);
  v2("/docker/other", "/docker/abc");
  EXPECT_EQ(limit(), 4096);
}

TEST_F(MemoryLimitTest, OfTheFirstVersionIsFoundByItsMount) {
  write("proc/self/cgroup",
        "9:name=systemd:/\n4:memory,hugetlb:/slurm/job_7\n3:cpu:/other\n0::/\n");
  write("proc/self/mountinfo",
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), 0);
  write("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "1234\n");
  EXPECT_EQ(limit(), 1234);
}

TEST_F(MemoryLimitTest, MayBeMissing) {
  EXPECT_EQ(limit(), 0);
  v2("/a");
  EXPECT_EQ(limit(), 0);
  write("sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(limit(), 0);
}

// Enters the group in a process of its own, since a test should not move its runner.
bool sees_limit_in(const fs::path& group, int64_t bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::ofstream(group / "cgroup.procs") << ::getpid() << std::flush;
    const auto of_cgroup = cgroup_memory_limit();
    ::_exit(of_cgroup && of_cgroup->bytes == bytes ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(MemoryLimit, IsSeenInARealGroup) {
  const bool v1 = fs::exists("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const fs::path mount = v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
  const fs::path group = mount / ("crossdock_test_" + std::to_string(::getpid()));
  std::error_code error;
  if (!fs::create_directory(group, error)) GTEST_SKIP() << "memory control groups cannot be made";
  const int64_t bytes = int64_t{512} << 20;
  const bool set = static_cast<bool>(
      std::ofstream(group / (v1 ? "memory.limit_in_bytes" : "memory.max")) << bytes << std::flush);
  const bool seen = set && sees_limit_in(group, bytes);
  ::rmdir(group.c_str());
  if (!set) GTEST_SKIP() << "memory control groups cannot be made";
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace crossdock::model
