// SPDX-License-Identifier: MIT
// SharedSegment: memory that the ranks of one host share, through which they
// exchange bytes: a mailbox, a barrier and partial sums for each rank.
//
//   all_gather   post, barrier, read what the others have posted
//   all_reduce   post, barrier, sum an own slice of all ranks, barrier, read
//   broadcast    the root posts, barrier, the others read
//
// What is longer than a mailbox goes piece by piece. Sums are in the order of
// ranks, ((x0 + x1) + x2) + ..., which is the same on every rank and run.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace traingraph {

/// One thread of a process at a time calls its operations, which all ranks call
/// in the same order. They throw StateError when the ranks are at different
/// operations, DeviceError when a rank that has failed does not come, and what
/// `wait` throws.
class SharedSegment {
 public:
  /// Waits until the function, which does not block, returns true.
  using Wait = std::function<void(const std::function<bool()>&)>;

  static constexpr std::size_t kMailboxBytes = std::size_t{1} << 18;
  static constexpr std::size_t kAlignment = 128;
  /// Bytes of each rank's part, which is zeros before a segment is made of it.
  static std::size_t part_bytes();

  /// `parts`: of all ranks, aligned, where this process sees them. They stay
  /// longer than this.
  SharedSegment(std::span<std::byte* const> parts, int rank);

  void all_reduce(std::span<float> values, const Wait& wait);
  /// `all` has the part of this rank in its place.
  void all_gather(std::span<std::byte> all, const Wait& wait);
  void broadcast(std::span<std::byte> bytes, int root, const Wait& wait);
  /// This rank calls no further operation: the others wait no more for it. From
  /// any thread; in a child that was forked it does nothing, as that is no
  /// rank.
  void abort() noexcept;

 private:
  struct Part;
  static constexpr std::int32_t kNoRoot = -1;
  struct Message {
    char operation[12];
    std::int32_t root;
    std::uint64_t bytes;  // of the whole operation

    bool operator==(const Message&) const = default;
  };

  /// Posts `piece` into this rank's next mailbox; ends at a barrier.
  void post(const Message& message, std::span<const std::byte> piece,
            const Wait& wait);
  /// Waits until all ranks have arrived.
  void barrier(const char* call, const Wait& wait);
  void require_same(const Message& own) const;
  /// Returns where `rank` has posted.
  std::byte* mailbox(std::size_t rank) const;

  std::vector<Part*> parts_;  // by rank
  const std::size_t rank_;
  const pid_t process_ = ::getpid();
  std::uint64_t num_arrivals_ = 0, num_posts_ = 0;
};

}  // namespace traingraph
