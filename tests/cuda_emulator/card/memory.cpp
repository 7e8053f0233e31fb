// SPDX-License-Identifier: MIT
#include "card/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "card/block.h"

namespace cuda_emulator {
namespace {

constexpr std::size_t kAlignment = 256;
/// Before and behind the pages of a range: nobody's.
constexpr std::size_t kGuard = std::size_t{1} << 20;
/// Addresses of so many freed ranges are not given again.
constexpr std::size_t kMaxFreed = 4096;

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

bool is_poison(const unsigned char* begin, std::size_t bytes) {
  return std::all_of(begin, begin + bytes,
                     [](unsigned char c) { return c == kPoison; });
}

std::string described(const Range& range) {
  return std::to_string(range.bytes) + " bytes " +
         (range.owner == kHost ? "of pinned memory" : "of the card's memory");
}

}  // namespace

const Range* Memory::allocate(std::size_t bytes, int owner) {
  if (bytes > total_bytes()) return nullptr;
  const std::size_t whole = round_up(bytes, kAlignment);
  if (owner != kHost && whole > free_bytes(owner)) return nullptr;
  const std::size_t inner = round_up(whole, page());
  const std::size_t outer = inner + 2 * kGuard;
  void* memory =
      mmap(nullptr, outer, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* pages = static_cast<unsigned char*>(memory);
  mprotect(pages + kGuard, inner, PROT_READ | PROT_WRITE);
  std::memset(pages + kGuard, kPoison, inner);
  unsigned char* begin = pages + kGuard + inner - whole;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  if (owner != kHost) used_[owner] += whole;
  return &ranges_.emplace(address, Range{begin, bytes, pages, outer, owner})
              .first->second;
}

bool Memory::free(std::uint64_t address, int owner) {
  const auto found = ranges_.find(address);
  if (found == ranges_.end() || found->second.owner != owner) return false;
  const Range range = found->second;
  ranges_.erase(found);
  if (owner != kHost) used_[owner] -= round_up(range.bytes, kAlignment);
  mmap(range.pages, range.page_bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  freed_.push_back(range);
  if (freed_.size() > kMaxFreed) {
    munmap(freed_.front().pages, freed_.front().page_bytes);
    freed_.pop_front();
  }
  return true;
}

const Range* Memory::find(std::uint64_t address, std::size_t bytes) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const auto& [begin, range] = *std::prev(after);
  const std::uint64_t offset = address - begin;
  const bool is_inside = offset <= range.bytes && bytes <= range.bytes - offset;
  return is_inside ? &range : nullptr;
}

std::size_t Memory::free_bytes(int owner) const {
  const auto found = used_.find(owner);
  const std::size_t used = found == used_.end() ? 0 : found->second;
  return total_bytes() - std::min(used, total_bytes());
}

std::size_t Memory::total_bytes() {
  const char* text = std::getenv("TRAINGRAPH_CUDA_EMULATOR_MEMORY");
  constexpr std::size_t kDefault = std::size_t{4} << 30;
  return text != nullptr ? std::strtoull(text, nullptr, 10) : kDefault;
}

std::string Memory::take_damage() {
  for (const auto& [address, range] : ranges_) {
    const auto before = std::min<std::size_t>(
        static_cast<std::size_t>(range.begin - range.pages) - kGuard,
        kAlignment);
    if (!is_poison(range.begin - before, before)) {
      std::memset(range.begin - before, kPoison, before);
      return "before " + described(range);
    }
    const std::size_t behind = round_up(range.bytes, kAlignment) - range.bytes;
    if (!is_poison(range.begin + range.bytes, behind)) {
      std::memset(range.begin + range.bytes, kPoison, behind);
      return "behind " + described(range);
    }
  }
  return {};
}

}  // namespace cuda_emulator
