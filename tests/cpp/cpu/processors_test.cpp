// SPDX-License-Identifier: MIT
// The CPU quota of control groups, both versions, from made-up folders.
#include "cpu/processors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace traingraph::cpu {
namespace {

namespace fs = std::filesystem;

class Groups : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) /
            ("groups_" + std::to_string(::getpid()) + test->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  std::optional<int> quota(const std::string& groups) {
    write("groups", groups);
    return quota_processors(root_ / "groups", root_ / "cgroup");
  }

  fs::path root_;
};

TEST_F(Groups, NoneLimitNothing) {
  EXPECT_EQ(quota("0::/"), std::nullopt);
  EXPECT_EQ(quota_processors(root_ / "absent", root_), std::nullopt);
  write("cgroup/cpu.max", "max 100000");
  EXPECT_EQ(quota("0::/"), std::nullopt);
  write("cgroup/cpu/cpu.cfs_quota_us", "-1");
  write("cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota("3:cpu,cpuacct:/"), std::nullopt);
}

TEST_F(Groups, Version2IsRoundedUp) {
  write("cgroup/app/cpu.max", "150000 100000");
  EXPECT_EQ(quota("0::/app"), 2);
  write("cgroup/app/cpu.max", "10000 100000");
  EXPECT_EQ(quota("0::/app"), 1);
  write("cgroup/app/cpu.max", "400000 100000");
  EXPECT_EQ(quota("0::/app"), 4);
}

TEST_F(Groups, TheTightestOfThoseAroundCounts) {
  write("cgroup/a/cpu.max", "200000 100000");
  write("cgroup/a/b/cpu.max", "800000 100000");
  write("cgroup/a/b/c/cpu.max", "max 100000");
  EXPECT_EQ(quota("0::/a/b/c"), 2);
}

TEST_F(Groups, Version1) {
  write("cgroup/cpu/app/cpu.cfs_quota_us", "300000");
  write("cgroup/cpu/app/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota("5:cpu:/app\n4:memory:/app"), 3);
  EXPECT_EQ(quota("4:cpuset:/app"), std::nullopt);
}

TEST_F(Groups, AContainerSeesItsOwnAtTheRoot) {
  write("cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000");
  write("cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota("5:cpu,cpuacct:/docker/4711"), 2);
}

TEST_F(Groups, NonsenseLimitsNothing) {
  write("cgroup/cpu.max", "many");
  EXPECT_EQ(quota("0::/\n\nnonsense\n1:cpu"), std::nullopt);
  write("cgroup/cpu.max", "100000 0");
  EXPECT_EQ(quota("0::/"), std::nullopt);
}

TEST(Processors, AreAtLeastOne) { EXPECT_GE(default_num_threads(), 1); }

}  // namespace
}  // namespace traingraph::cpu
