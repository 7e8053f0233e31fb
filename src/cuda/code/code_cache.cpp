// SPDX-License-Identifier: MIT
#include "cuda/code/code_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace traingraph::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".cubin";

/// Empty: there is no place for one.
fs::path folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) {
    return fs::path(cache) / "traingraph" / "cuda";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return fs::path(home) / ".cache" / "traingraph" / "cuda";
  }
  return {};
}

std::uint64_t checksum(const std::string& bytes) {
  std::uint64_t sum = 0x9e3779b97f4a7c15u;
  for (const unsigned char c : bytes) sum = (sum ^ c) * 0x100000001b3u;
  return sum;
}

struct Entry {
  fs::path path;
  std::size_t bytes = 0;
  fs::file_time_type used;
};

std::vector<Entry> list(const fs::path& in) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(in, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != kSuffix) continue;
    std::error_code gone;  // another process may have removed it
    Entry entry{it->path(), it->file_size(gone), it->last_write_time(gone)};
    if (!gone) entries.push_back(std::move(entry));
  }
  return entries;
}

void make_room(const fs::path& in) {
  std::vector<Entry> entries = list(in);
  std::ranges::sort(entries, {}, &Entry::used);
  std::size_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  for (const Entry& entry : entries) {
    if (total <= kMaxCacheBytes) return;
    std::error_code error;
    fs::remove(entry.path, error);
    total -= entry.bytes;
  }
}

}  // namespace

std::optional<std::string> read_cached_code(const std::string& key) {
  const fs::path path = folder() / (key + kSuffix);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::uint64_t sum = 0;
  if (!file || bytes.size() < sizeof sum) return std::nullopt;
  const std::size_t size = bytes.size() - sizeof sum;
  std::memcpy(&sum, bytes.data() + size, sizeof sum);
  bytes.resize(size);
  if (checksum(bytes) != sum) return std::nullopt;
  std::error_code error;  // of a folder that is read-only
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return bytes;
}

void write_cached_code(const std::string& key, const std::string& code) {
  const fs::path in = folder();
  if (in.empty()) return;
  std::error_code error;
  fs::create_directories(in, error);
  std::string name = (in / "XXXXXX").string();
  const int descriptor = mkstemp(name.data());
  if (descriptor < 0) return;
  close(descriptor);
  {
    std::ofstream file(name, std::ios::binary);
    const std::uint64_t sum = checksum(code);
    file.write(code.data(), static_cast<std::streamsize>(code.size()));
    file.write(reinterpret_cast<const char*>(&sum), sizeof sum);
    if (!file.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(name, in / (key + kSuffix), error);
  if (error) fs::remove(name, error);
  make_room(in);
}

}  // namespace traingraph::cuda
