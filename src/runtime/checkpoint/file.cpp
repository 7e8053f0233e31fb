// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include "traingraph/checkpoint.h"

namespace traingraph {
namespace {

namespace fs = std::filesystem;

// A single call of the system takes this much.
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
// A name may have 255 bytes; this leaves room for two numbers and
// ".unfinished".
constexpr std::size_t kMaxNameLength = 200;
constexpr const char* kNoRegularFile = "this is no regular file";

std::string reason(int number) {
  return std::generic_category().message(number);
}

constexpr int kMaxLinks = 40;  // as Linux follows

bool is_regular(const struct stat& status) { return S_ISREG(status.st_mode); }

/// The file behind symbolic links, which need not exist yet. A name that stands
/// for something else (a device, a pipe, a folder) is refused: it would be
/// gone.
fs::path target_of(const char* call, const fs::path& path) {
  std::error_code error;
  fs::path target = path;
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == kMaxLinks) fail_file(call, path, reason(ELOOP));
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  struct stat status{};
  if (::stat(target.c_str(), &status) == 0 && !is_regular(status)) {
    fail_file(call, path, kNoRegularFile);
  }
  return target;
}

/// ".net.safetensors.<process>.<random>.unfinished", in the same folder;
/// without the name where it leaves no room for the rest.
fs::path name_beside(const fs::path& path) {
  static std::atomic<unsigned> count{std::random_device()()};
  fs::path name = ".";
  if (path.filename().native().size() <= kMaxNameLength) {
    name += path.filename();
  }
  name += "." + std::to_string(::getpid()) + "." + std::to_string(count++) +
          ".unfinished";
  return path.parent_path() / name;
}

/// Writes to the disk and not only to its cache.
int flush(int file) {
#ifdef F_FULLFSYNC
  if (::fcntl(file, F_FULLFSYNC) == 0) return 0;
#endif
  return ::fsync(file);
}

int open_again(const char* path, int flags, mode_t mode = 0) {
  int file = -1;
  do {
    file = ::open(path, flags | O_CLOEXEC, mode);
  } while (file < 0 && errno == EINTR);
  return file;
}

}  // namespace

void fail_file(const char* call, const fs::path& path, std::string what,
               std::string hint) {
  throw FileError(ErrorInfo{.op = call,
                            .node = path.string(),
                            .what = std::move(what),
                            .hint = std::move(hint)});
}

bool FileHandle::close() {
  const int number = std::exchange(number_, -1);
  return number < 0 || ::close(number) == 0 || errno == EINTR;
}

InputFile::InputFile(const char* call, fs::path path)
    : call_(call),
      path_(std::move(path)),
      // Opening a pipe would wait for its other end.
      file_(open_again(path_.c_str(), O_RDONLY | O_NONBLOCK)) {
  if (file_.number() < 0) {
    fail_file(call_, path_, "the file cannot be opened: " + reason(errno));
  }
  struct stat status{};
  if (::fstat(file_.number(), &status) != 0) {
    fail_file(call_, path_, "the file cannot be read: " + reason(errno));
  }
  if (!is_regular(status)) fail_file(call_, path_, kNoRegularFile);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t count =
        ::pread(file_.number(), into.data(), std::min(into.size(), kMaxBytes),
                static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      fail_file(call_, path_, "the file cannot be read: " + reason(errno));
    }
    if (count == 0) {
      fail_file(call_, path_, "the file has become shorter while it was read");
    }
    offset += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
}

NewFile::NewFile(const char* call, const fs::path& path)
    : call_(call),
      path_(target_of(call, path)),
      unfinished_(name_beside(path_)),
      file_(path_.has_filename() ? open_again(unfinished_.c_str(),
                                              O_WRONLY | O_CREAT | O_EXCL, 0666)
                                 : (errno = EISDIR, -1)) {
  if (file_.number() >= 0) return;
  const std::string why = reason(errno);
  unfinished_.clear();
  fail_file(call_, path_, "no file can be made in this folder: " + why);
}

NewFile::~NewFile() {
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

void NewFile::fail(const char* action) {
  fail_file(call_, path_,
            std::string("the file cannot be ") + action + ": " + reason(errno),
            "What had the name before is as it was.");
}

void NewFile::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t count =
        ::write(file_.number(), data.data(), std::min(data.size(), kMaxBytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("written");
    data = data.subspan(static_cast<std::size_t>(count));
  }
}

void NewFile::commit() {
  if (flush(file_.number()) != 0) fail("brought to the disk");
  if (!file_.close()) fail("written");
  if (::rename(unfinished_.c_str(), path_.c_str()) != 0) fail("given its name");
  unfinished_.clear();
  // Flushes the name, too. Not every file system can do this, and some need
  // not.
  const fs::path folder =
      path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  const FileHandle handle(open_again(folder.c_str(), O_RDONLY | O_DIRECTORY));
  if (handle.number() >= 0) flush(handle.number());
}

}  // namespace traingraph
