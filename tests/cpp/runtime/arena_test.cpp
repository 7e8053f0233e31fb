// SPDX-License-Identifier: MIT
// Groups of arenas: tensors that come late, and arenas that nobody needs.
#include "runtime/memory/arena.h"

#include <gtest/gtest.h>

#include "runtime/device/null_backend.h"
#include "support/token_device.h"
#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// Tests run on a device whose memory the host sees, and on one without.
class ArenaGroupTest : public ::testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<ArenaStorage> place(const Tensor& tensor) {
    return group.place(tensor.state());
  }
  static Floats values_at(const ArenaStorage& storage) {
    Floats values(storage.bytes / sizeof(float));
    storage.context->download(storage.locate(),
                              std::as_writable_bytes(std::span(values)));
    return values;
  }
  const Floats data = random_floats(32, 1), other = random_floats(32, 2);
  Tensor a{{{32}}, view(data), "a"}, b{{{32}}, "b"};
  Tensor late{{{32}}, view(data), "late"};
  ArenaGroup group{GetParam() ? make_null_context() : token_context(),
                   "parameters"};
};

TEST_P(ArenaGroupTest, WhatComesBeforeTheAllocationSharesIt) {
  const auto at_a = place(a), at_b = place(b);
  EXPECT_EQ(at_a->arena, at_b->arena);
  EXPECT_EQ(group.arenas().size(), 1u);
  EXPECT_EQ(group.size_bytes(), 256u);
  b.set_data(view(other));  // the newest host data counts
  EXPECT_EQ(values_at(*at_a), data);
  EXPECT_EQ(values_at(*at_b), other);
}

TEST_P(ArenaGroupTest, WhatComesAfterItStartsAnotherArena) {
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

TEST_P(ArenaGroupTest, UnusedArenasGo) {
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

INSTANTIATE_TEST_SUITE_P(Views, ArenaGroupTest, ::testing::Bool());

}  // namespace
}  // namespace traingraph
