// SPDX-License-Identifier: MIT
// Whatever ends a save, the name stands for the old file or the new one.
#include <gtest/gtest.h>
#ifdef __linux__
#include <sys/mount.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "checkpoint/checkpoint_fixture.h"
#include "runtime/checkpoint/file.h"

namespace traingraph {
namespace {

using namespace testing;
namespace fs = std::filesystem;

/// Files may grow to so many bytes for as long as this lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(AtomicWrite, AFullDiskLeavesTheOldFile) {
  const Folder folder;
  Network net;
  net.training->save(folder / "net.safetensors");
  const std::string old = bytes_of(folder / "net.safetensors");
  net.steps(0, 2);
  for (std::size_t room = 0; room < old.size(); room += old.size() / 17 + 1) {
    const FileSizeLimit limit(room);
    const ErrorInfo info = error_of<FileError>(
        [&] { net.training->save(folder / "net.safetensors"); });
    EXPECT_EQ(info.node, (folder / "net.safetensors").string());
    EXPECT_NE(info.what.find("cannot be written"), std::string::npos);
  }
  EXPECT_EQ(bytes_of(folder / "net.safetensors"), old);
  EXPECT_EQ(folder.num_files(), 1u);
  net.training->save(folder / "net.safetensors");
  EXPECT_NE(bytes_of(folder / "net.safetensors"), old);
}

#ifdef __linux__  // tmpfs is
TEST(AtomicWrite, AFullFileSystem) {
  const Folder folder;
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=16k") != 0) {
    GTEST_SKIP() << "only root makes file systems";
  }
  {
    Network net(adam(), /*hidden=*/5);
    net.training->save(folder / "net.safetensors");
    const std::string old = bytes_of(folder / "net.safetensors");
    Network large(adam(), /*hidden=*/500);
    const ErrorInfo info = error_of<FileError>(
        [&] { large.training->save(folder / "net.safetensors"); });
    EXPECT_NE(info.what.find("No space"), std::string::npos) << info.what;
    EXPECT_EQ(bytes_of(folder / "net.safetensors"), old);
    EXPECT_EQ(folder.num_files(), 1u);
  }
  ::umount(folder.path().c_str());
}
#endif

TEST(AtomicWrite, FoldersThatCannotBeWritten) {
  const Folder folder;
  Network net;
  net.training->save(folder / "net.safetensors");
  error_of<FileError>(
      [&] { net.training->save(folder / "nothing" / "net.safetensors"); });
  error_of<FileError>([&] { net.training->save(""); });
  error_of<FileError>([&] { net.training->save(folder.path() / ""); });
  fs::create_directory(folder / "full");
  write_bytes(folder / "full" / "file", "");
  error_of<FileError>([&] { net.training->save(folder / "full"); });
  EXPECT_EQ(folder.num_files(), 2u);
  if (::geteuid() == 0) {
    // Root may write everywhere but to such file systems.
    error_of<FileError>([&] { net.training->save("/proc/net.safetensors"); });
    return;
  }
  ::chmod(folder.path().c_str(), 0500);
  error_of<FileError>([&] { net.training->save(folder / "net.safetensors"); });
  ::chmod(folder.path().c_str(), 0700);
  EXPECT_TRUE(net.training->restore(folder / "net.safetensors").fits());
}

TEST(AtomicWrite, SymbolicLinksStay) {
  const Folder folder;
  Network net;
  fs::create_directory(folder / "real");
  write_bytes(folder / "real" / "net", "old");
  fs::create_symlink("real/net", folder / "link");
  net.training->save(folder / "link");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_TRUE(net.training->restore(folder / "real" / "net").fits());

  fs::create_symlink("real/new", folder / "ahead");
  fs::create_symlink("ahead", folder / "first");
  net.training->save(folder / "first");
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_TRUE(fs::is_symlink(folder / "ahead"));
  EXPECT_TRUE(net.training->restore(folder / "real" / "new").fits());

  fs::create_symlink("circle", folder / "circle");
  error_of<FileError>([&] { net.training->save(folder / "circle"); });
  EXPECT_TRUE(fs::is_symlink(folder / "circle"));
}

TEST(AtomicWrite, WhatIsNoFileStays) {
  const Folder folder;
  Network net;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", folder / "link");
  fs::create_directory(folder / "empty");
  for (const char* name : {"pipe", "link", "empty"}) {
    const ErrorInfo info =
        error_of<FileError>([&] { net.training->save(folder / name); });
    EXPECT_EQ(info.what, "this is no regular file");
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(folder.num_files(), 3u);
}

TEST(AtomicWrite, NamesAsLongAsFileSystemsTake) {
  const Folder folder;
  Network net;
  const std::string name(255, 'n');
  net.training->save(folder / name);
  EXPECT_TRUE(net.training->restore(folder / name).fits());
  EXPECT_EQ(folder.num_files(), 1u);
}

/// A child writes one file after the other until it is killed.
TEST(AtomicWrite, AKilledProcessLeavesAWholeFile) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const Folder folder;
  const fs::path path = folder / "file";
  constexpr std::size_t kBytes = 300'000;
  const auto write = [&](char value) {
    NewFile file("save", path);
    const std::string part(1000, value);
    for (std::size_t at = 0; at < kBytes; at += part.size()) {
      file.write(std::as_bytes(std::span(part)));
    }
    file.commit();
  };
  write('a');
  for (int i = 0; i < 60; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (char value = 'a';; value = value == 'z' ? 'a' : value + 1) {
        write(value);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 9000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string bytes = bytes_of(path);
    ASSERT_EQ(bytes.size(), kBytes);
    ASSERT_EQ(bytes, std::string(kBytes, bytes[0]));
  }
}

}  // namespace
}  // namespace traingraph
