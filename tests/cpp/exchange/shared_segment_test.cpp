// SPDX-License-Identifier: MIT
// Ranks that are threads, with a segment in the memory of this process.
#include "runtime/collective/shared_segment.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "exchange/error_text.h"
#include "exchange/rank_net.h"
#include "support/thread_collective.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

void spin(const std::function<bool()>& is_over) {
  while (!is_over()) std::this_thread::yield();
}

/// A segment as each of `size` ranks sees it.
class Segments {
 public:
  explicit Segments(int size) {
    std::vector<std::byte*> parts;
    for (int rank = 0; rank < size; ++rank) {
      auto* const part = static_cast<std::byte*>(std::aligned_alloc(
          SharedSegment::kAlignment, SharedSegment::part_bytes()));
      std::fill_n(part, SharedSegment::part_bytes(), std::byte{});
      memory_.emplace_back(part, &std::free);
      parts.push_back(part);
    }
    for (int rank = 0; rank < size; ++rank) segments_.emplace_back(parts, rank);
  }
  SharedSegment& operator[](int rank) {
    return segments_[static_cast<std::size_t>(rank)];
  }

 private:
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> memory_;
  std::vector<SharedSegment> segments_;
};

constexpr std::size_t kPieceFloats =
    SharedSegment::kMailboxBytes / sizeof(float);

Floats values_of(int rank, std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(rank) + 1);
  std::normal_distribution<float> normal;
  Floats values(size);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(SharedSegment, SumsInTheOrderOfRanks) {
  for (const int size : {2, 3, 5}) {
    Segments segments(size);
    on_each_rank(size, [&](int rank) {
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{17},
            std::size_t{1000}, kPieceFloats, kPieceFloats + 1,
            3 * kPieceFloats + 77}) {
        Floats expected = values_of(0, count);
        for (int other = 1; other < size; ++other) {
          const Floats values = values_of(other, count);
          for (std::size_t i = 0; i < count; ++i) expected[i] += values[i];
        }
        Floats values = values_of(rank, count);
        segments[rank].all_reduce(values, spin);
        EXPECT_EQ(values, expected) << size << " ranks, " << count;
      }
    });
  }
}

TEST(SharedSegment, GathersAndBroadcasts) {
  constexpr int kSize = 3;
  Segments segments(kSize);
  on_each_rank(kSize, [&](int rank) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{5},
          SharedSegment::kMailboxBytes, 2 * SharedSegment::kMailboxBytes + 3}) {
      std::vector<std::byte> all(kSize * count), expected(kSize * count);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto of = static_cast<int>(i / std::max<std::size_t>(count, 1));
        expected[i] = static_cast<std::byte>(i * 7 + 1);
        if (of == rank) all[i] = expected[i];
      }
      segments[rank].all_gather(all, spin);
      EXPECT_EQ(all, expected) << count;
      std::vector<std::byte> own(count, static_cast<std::byte>(rank + 1));
      const int root = static_cast<int>(count % kSize);
      segments[rank].broadcast(own, root, spin);
      EXPECT_EQ(
          own, std::vector<std::byte>(count, static_cast<std::byte>(root + 1)));
    }
  });
}

/// Ranks are at different places all the time.
TEST(SharedSegment, ManyOperationsInARow) {
  constexpr int kSize = 4;
  Segments segments(kSize);
  on_each_rank(kSize, [&](int rank) {
    std::mt19937 random(static_cast<unsigned>(rank));
    for (int i = 0; i < 2000; ++i) {
      if (random() % 8 == 0) std::this_thread::yield();
      Floats values(static_cast<std::size_t>(i % 50),
                    static_cast<float>(rank + i));
      segments[rank].all_reduce(values, spin);
      const Floats expected(values.size(), static_cast<float>(6 + 4 * i));
      ASSERT_EQ(values, expected);
      std::vector<std::byte> all(kSize);
      all[static_cast<std::size_t>(rank)] = static_cast<std::byte>(i + rank);
      segments[rank].all_gather(all, spin);
      for (int other = 0; other < kSize; ++other) {
        ASSERT_EQ(all[static_cast<std::size_t>(other)],
                  static_cast<std::byte>(i + other));
      }
    }
  });
}

TEST(SharedSegment, DifferentOperationsAreAnErrorOfAll) {
  Segments segments(2);
  on_each_rank(2, [&](int rank) {
    const std::string error = text_of_error<StateError>([&] {
      Floats values(rank == 0 ? 3 : 4);
      segments[rank].all_reduce(values, spin);
    });
    EXPECT_TRUE(contains(error, "different operations")) << error;
    EXPECT_TRUE(contains(error, "all_reduce of 12 bytes")) << error;
    EXPECT_TRUE(contains(error, "all_reduce of 16 bytes")) << error;
  });
}

TEST(SharedSegment, BroadcastsFromDifferentRanksAreAnErrorOfAll) {
  Segments segments(2);
  on_each_rank(2, [&](int rank) {
    const std::string error = text_of_error<StateError>([&] {
      std::vector<std::byte> bytes(8);
      segments[rank].broadcast(bytes, rank, spin);
    });
    EXPECT_TRUE(contains(error, "broadcast of 8 bytes from rank 0")) << error;
    EXPECT_TRUE(contains(error, "broadcast of 8 bytes from rank 1")) << error;
  });
}

TEST(SharedSegment, ARankThatGivesUpEndsTheOthers) {
  Segments segments(3);
  on_each_rank(3, [&](int rank) {
    Floats values(10, 1.0f);
    segments[rank].all_reduce(values, spin);  // before it gave up: that counts
    EXPECT_EQ(values, Floats(10, 3.0f));
    if (rank == 1) return segments[rank].abort();
    const std::string error = text_of_error<DeviceError>(
        [&] { segments[rank].all_reduce(values, spin); });
    EXPECT_TRUE(contains(error, "rank 1 has failed")) << error;
  });
}

TEST(SharedSegment, AForkedChildDoesNotEndTheRankOfItsParent) {
  const std::size_t bytes = SharedSegment::part_bytes();
  void* const memory = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const first = static_cast<std::byte*>(memory);
  std::byte* const parts[] = {first, first + bytes};
  SharedSegment segments[] = {{parts, 0}, {parts, 1}};
  const pid_t child = ::fork();
  if (child == 0) {
    segments[0].abort();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  on_each_rank(2, [&](int rank) {
    Floats values(10, 1.0f);
    segments[rank].all_reduce(values, spin);
    EXPECT_EQ(values, Floats(10, 2.0f));
  });
  ::munmap(memory, 2 * bytes);
}

}  // namespace
}  // namespace traingraph
