// SPDX-License-Identifier: MIT
#include "runtime/collective/shared_segment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>

#include "runtime/collective/rank_text.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Slices begin at lines of the cache.
constexpr std::size_t kLineFloats = 16;

using Piece = std::array<std::byte, SharedSegment::kMailboxBytes>;

/// Floats of a piece that `rank` sums: [begin, end).
struct Slice {
  std::size_t begin, end;
};
Slice slice_of(std::size_t rank, std::size_t num_ranks, std::size_t floats) {
  const std::size_t lines = (floats + kLineFloats - 1) / kLineFloats;
  const auto begin_of = [&](std::size_t r) {
    return std::min(floats, lines * r / num_ranks * kLineFloats);
  };
  return {begin_of(rank), begin_of(rank + 1)};
}

}  // namespace

/// The memory of one rank, as all see it.
struct SharedSegment::Part {
  alignas(kAlignment) std::atomic<std::uint64_t> num_arrivals{0};
  alignas(kAlignment) std::atomic<bool> has_aborted{false};
  /// Messages are used in turn: others may still read the last piece when this
  /// rank posts the next, but not the one before, as all have arrived at
  /// a later barrier.
  alignas(kAlignment) std::array<Message, 2> messages;
  alignas(kAlignment) std::array<Piece, 2> mailboxes;
  alignas(kAlignment) Piece sums;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                std::atomic<bool>::is_always_lock_free);
};

std::size_t SharedSegment::part_bytes() { return sizeof(Part); }

SharedSegment::SharedSegment(std::span<std::byte* const> parts, int rank)
    : rank_(static_cast<std::size_t>(rank)) {
  for (std::byte* const part : parts) {
    // Zeros are what a Part begins with.
    parts_.push_back(std::launder(reinterpret_cast<Part*>(part)));
  }
}

void SharedSegment::abort() noexcept {
  if (process_ == ::getpid()) parts_[rank_]->has_aborted = true;
}

std::byte* SharedSegment::mailbox(std::size_t rank) const {
  return parts_[rank]->mailboxes[num_posts_ % 2].data();
}

void SharedSegment::barrier(const char* call, const Wait& wait) {
  ++num_arrivals_;
  parts_[rank_]->num_arrivals.store(num_arrivals_, std::memory_order_release);
  std::size_t next = 0;  // that has not arrived, as far as known
  const auto has_arrived = [&] {
    return parts_[next]->num_arrivals.load(std::memory_order_acquire) >=
           num_arrivals_;
  };
  const auto have_arrived = [&] {
    for (; next < parts_.size(); ++next) {
      if (has_arrived()) continue;
      // It may have arrived just before it failed: that counts.
      const bool has_failed = parts_[next]->has_aborted;
      if (!has_failed || has_arrived()) return false;
      throw DeviceError(ErrorInfo{
          .op = call,
          .what = rank_text(next) + " has failed, which says why itself"});
    }
    return true;
  };
  // The test goes by reference, as a copy would be on the heap.
  wait(std::cref(have_arrived));
}

void SharedSegment::require_same(const Message& own) const {
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    const Message& other = parts_[rank]->messages[num_posts_ % 2];
    if (other == own) continue;
    const auto text = [](const Message& message) {
      std::string text = message.operation;
      text += " of " + std::to_string(message.bytes) + " bytes";
      if (message.root == kNoRoot) return text;
      return text + " from " + rank_text(message.root);
    };
    throw StateError(ErrorInfo{.op = "collective",
                               .node = rank_text(rank),
                               .what = "the ranks begin different operations",
                               .expected = text(own),
                               .got = text(other)});
  }
}

void SharedSegment::post(const Message& message,
                         std::span<const std::byte> piece, const Wait& wait) {
  ++num_posts_;
  parts_[rank_]->messages[num_posts_ % 2] = message;
  if (!piece.empty()) std::memcpy(mailbox(rank_), piece.data(), piece.size());
  barrier("collective", wait);
  require_same(message);
}

void SharedSegment::all_gather(std::span<std::byte> all, const Wait& wait) {
  const std::size_t size = all.size() / parts_.size();
  const Message message{"all_gather", kNoRoot, all.size()};
  std::size_t at = 0;
  do {
    const std::size_t count = std::min(kMailboxBytes, size - at);
    post(message, all.subspan(rank_ * size + at, count), wait);
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      if (rank == rank_ || count == 0) continue;
      std::memcpy(&all[rank * size + at], mailbox(rank), count);
    }
    at += count;
  } while (at < size);
}

void SharedSegment::broadcast(std::span<std::byte> bytes, int root,
                              const Wait& wait) {
  const auto from = static_cast<std::size_t>(root);
  const Message message{"broadcast", root, bytes.size()};
  std::size_t at = 0;
  do {
    const auto piece =
        bytes.subspan(at, std::min(kMailboxBytes, bytes.size() - at));
    post(message, rank_ == from ? piece : piece.first(0), wait);
    if (rank_ != from && !piece.empty()) {
      std::memcpy(piece.data(), mailbox(from), piece.size());
    }
    at += piece.size();
  } while (at < bytes.size());
}

void SharedSegment::all_reduce(std::span<float> values, const Wait& wait) {
  constexpr std::size_t kFloats = kMailboxBytes / sizeof(float);
  const Message message{"all_reduce", kNoRoot, values.size_bytes()};
  const auto floats = [](std::byte* at) {
    return reinterpret_cast<float*>(at);
  };
  std::size_t at = 0;
  do {
    const auto piece =
        values.subspan(at, std::min(kFloats, values.size() - at));
    post(message, std::as_bytes(piece), wait);
    const Slice own = slice_of(rank_, parts_.size(), piece.size());
    float* const sums = floats(parts_[rank_]->sums.data());
    std::copy(floats(mailbox(0)) + own.begin, floats(mailbox(0)) + own.end,
              sums + own.begin);
    for (std::size_t rank = 1; rank < parts_.size(); ++rank) {
      const float* const of_rank = floats(mailbox(rank));
      for (std::size_t i = own.begin; i < own.end; ++i) sums[i] += of_rank[i];
    }
    barrier("all_reduce", wait);
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      const Slice slice = slice_of(rank, parts_.size(), piece.size());
      const float* const of_rank = floats(parts_[rank]->sums.data());
      std::copy(of_rank + slice.begin, of_rank + slice.end,
                piece.data() + slice.begin);
    }
    at += piece.size();
  } while (at < values.size());
}

}  // namespace traingraph
