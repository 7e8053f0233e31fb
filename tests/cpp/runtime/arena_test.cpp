// SPDX-License-Identifier: MIT
// Groups of arenas: tensors that come late, and arenas that nobody needs.
#include "runtime/arena.h"

#include <gtest/gtest.h>

#include "runtime/null_backend.h"
#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

class ArenaGroupTest : public ::testing::Test {
 protected:
  std::shared_ptr<ArenaStorage> place(const Tensor& tensor) {
    return group.place(tensor.state());
  }
  static Floats values_at(const ArenaStorage& storage) {
    Floats values(storage.bytes / sizeof(float));
    std::memcpy(values.data(), storage.locate().host(), storage.bytes);
    return values;
  }
  const Floats data = random_floats(32, 1), other = random_floats(32, 2);
  Tensor a{{{32}}, view(data), "a"}, b{{{32}}, "b"};
  Tensor late{{{32}}, view(data), "late"};
  ArenaGroup group{make_null_context(), "parameters"};
};

TEST_F(ArenaGroupTest, WhatComesBeforeTheAllocationSharesIt) {
  const auto at_a = place(a), at_b = place(b);
  EXPECT_EQ(at_a->arena, at_b->arena);
  EXPECT_EQ(group.arenas().size(), 1u);
  EXPECT_EQ(group.size_bytes(), 256u);
  b.set_data(view(other));  // the newest host data counts
  EXPECT_EQ(values_at(*at_a), data);
  EXPECT_EQ(values_at(*at_b), other);
}

TEST_F(ArenaGroupTest, WhatComesAfterItStartsAnotherArena) {
  const auto at_a = place(a);
  EXPECT_EQ(values_at(*at_a), data);
  const auto at_late = place(late);
  EXPECT_NE(at_late->arena, at_a->arena);
  EXPECT_EQ(values_at(*at_late), data);
  EXPECT_EQ(values_at(*at_a), data);
  EXPECT_TRUE(group.contains(*at_a->arena));
  EXPECT_TRUE(group.contains(*at_late->arena));
  std::size_t allocated = 0;
  for (const auto& arena : group.arenas()) {
    allocated += arena->allocated_bytes();
  }
  EXPECT_EQ(allocated, group.size_bytes());
}

TEST_F(ArenaGroupTest, UnusedArenasGo) {
  auto at_a = place(a);
  at_a->locate();
  const auto at_late = place(late);
  group.drop_unused();
  EXPECT_EQ(group.arenas().size(), 2u);
  at_a.reset();
  group.drop_unused();
  ASSERT_EQ(group.arenas().size(), 1u);
  EXPECT_TRUE(group.contains(*at_late->arena));
}

}  // namespace
}  // namespace traingraph
