// SPDX-License-Identifier: MIT
// Files of checkpoints. All failures are FileErrors that name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace traingraph {

/// Throws FileError: "[save "net.safetensors"] ...".
[[noreturn]] void fail_file(const char* call, const std::filesystem::path& path,
                            std::string what, std::string hint = {});

/// An open file descriptor.
class FileHandle {
 public:
  explicit FileHandle(int number = -1) : number_(number) {}
  ~FileHandle() { close(); }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int number() const { return number_; }
  /// Returns false, with errno, when the system says so.
  bool close();

 private:
  int number_;
};

/// A regular file that is read. It stays the same file when another takes its
/// name.
class InputFile {
 public:
  InputFile(const char* call, std::filesystem::path path);
  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  const std::filesystem::path& path() const { return path_; }
  const char* call() const { return call_; }

 private:
  const char* call_;
  std::filesystem::path path_;
  FileHandle file_;
  std::uint64_t size_ = 0;
};

/// A file that takes its name when it is whole: it is written under another one
/// in the same folder, brought to the disk, and renamed. Whatever happens
/// before, also to the process or the machine, what had the name stays.
class NewFile {
 public:
  /// A name that is a symbolic link stays one; its target is replaced, or made.
  /// Devices, pipes and folders are refused.
  NewFile(const char* call, const std::filesystem::path& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  void write(std::span<const std::byte> data);
  void commit();

 private:
  [[noreturn]] void fail(const char* action);

  const char* call_;
  std::filesystem::path path_;
  std::filesystem::path unfinished_;
  FileHandle file_;
};

}  // namespace traingraph
