// SPDX-License-Identifier: MIT
// The small pieces between C++ and Objective-C: owning references, Apple's
// exceptions as values, strings, heaps.
#import "metal/guard.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "emulator/control.h"
#import "metal/heap_buffer.h"
#import "metal/objc_ptr.h"

/// Counts itself.
@interface Counted : NSObject
@end

namespace {
int g_alive = 0;
}  // namespace

@implementation Counted
- (instancetype)init {
  self = [super init];
  ++g_alive;
  return self;
}
- (void)dealloc {
  --g_alive;
  [super dealloc];
}
@end

namespace traingraph::metal {
namespace {

using Pointer = ObjcPtr<Counted*>;

TEST(ObjcPtr, AdoptsRetainsAndReleases) {
  {
    const Pointer first = adopt([[Counted alloc] init]);
    EXPECT_EQ(g_alive, 1);
    EXPECT_EQ([first.get() retainCount], 1u);
    {
      const Pointer second = retain(first.get());
      const Pointer third = second;
      EXPECT_EQ([first.get() retainCount], 3u);
    }
    EXPECT_EQ([first.get() retainCount], 1u);
  }
  EXPECT_EQ(g_alive, 0);
}

TEST(ObjcPtr, MovesWithoutCounting) {
  Pointer first = adopt([[Counted alloc] init]);
  Pointer second = std::move(first);
  EXPECT_EQ(first.get(), nil);  // NOLINT(bugprone-use-after-move): the point
  EXPECT_EQ([second.get() retainCount], 1u);
  first = std::move(second);
  EXPECT_EQ([first.get() retainCount], 1u);
  first = {};
  EXPECT_EQ(g_alive, 0);
}

TEST(ObjcPtr, SurvivesAssignmentToItself) {
  Pointer object = adopt([[Counted alloc] init]);
  const Pointer& same = object;
  object = same;
  EXPECT_EQ([object.get() retainCount], 1u);
  object = adopt([[Counted alloc] init]);
  EXPECT_EQ(g_alive, 1);
  object = {};
  EXPECT_EQ(g_alive, 0);
}

TEST(ObjcPtr, NilIsFine) {
  const Pointer nothing;
  const Pointer copy = nothing;
  EXPECT_EQ(copy.get(), nil);
  EXPECT_EQ(retain<Counted*>(nil).get(), nil);
}

/// For what the tests themselves leave to a pool.
class Guard : public ::testing::Test {
 protected:
  ~Guard() override { [pool_ drain]; }
  NSAutoreleasePool* pool_ = [[NSAutoreleasePool alloc] init];
};

TEST_F(Guard, TellsWhatWasRaised) {
  EXPECT_EQ(run_guarded(^{
            }),
            std::nullopt);
  const auto raised = run_guarded(^{
    [NSException raise:@"Name" format:@"reason %d", 7];
  });
  EXPECT_EQ(raised, "Name: reason 7");
  const auto without_reason = run_guarded(^{
    [[NSException exceptionWithName:@"Name" reason:nil userInfo:nil] raise];
  });
  ASSERT_TRUE(without_reason);
  EXPECT_TRUE(without_reason->starts_with("Name: "));
}

TEST_F(Guard, ReleasesWhatTheBodyLeft) {
  run_guarded(^{
    [[[Counted alloc] init] autorelease];
  });
  EXPECT_EQ(g_alive, 0);
}

TEST_F(Guard, UnwindsCppObjects) {
  const auto raised = run_guarded(^{
    const Pointer owned = adopt([[Counted alloc] init]);
    [NSException raise:@"Name" format:@"reason"];
  });
  EXPECT_TRUE(raised);
  EXPECT_EQ(g_alive, 0);
}

TEST_F(Guard, TheReasonOutlivesThePool) {
  const auto raised = run_guarded(^{
    NSString* text = [NSString stringWithFormat:@"%@ %d", @"made up", 1];
    [NSException raise:NSGenericException format:@"%@", text];
  });
  ASSERT_TRUE(raised);
  EXPECT_TRUE(raised->ends_with("made up 1"));
}

TEST_F(Guard, DescribesErrors) {
  EXPECT_EQ(describe(nil), "");
  NSDictionary* info =
      [NSDictionary dictionaryWithObject:@"what happened"
                                  forKey:NSLocalizedDescriptionKey];
  NSError* error = [NSError errorWithDomain:@"domain" code:3 userInfo:info];
  EXPECT_EQ(describe(error), "domain 3: what happened");
}

TEST_F(Guard, TextGoesBothWays) {
  for (const char* text : {"", "conv1", "f\u00fcr Z\u00fcrich \u65e5"}) {
    EXPECT_EQ(to_string(to_ns(text)), text);
  }
  EXPECT_EQ(to_string(nil), "");
  EXPECT_EQ(to_string(to_ns("\xff\xfe")), "?");
}

class Heap : public ::testing::Test {
 protected:
  Heap() : found_(discover_gpu()) {}
  ~Heap() override { emulator::reset_faults(); }
  GpuDevice& gpu() { return *found_.device; }
  Discovery found_;
};

TEST_F(Heap, IsZeroedAndSeenByBothSides) {
  const auto heap = HeapBuffer::make(gpu(), 1000, "heap");
  ASSERT_TRUE(heap);
  EXPECT_EQ(heap->size_bytes(), 1000u);
  EXPECT_TRUE(std::ranges::all_of(
      heap->bytes(), [](std::byte b) { return b == std::byte{0}; }));
  heap->bytes()[gpu().limits.heap_alignment] = std::byte{7};
  const auto part = heap->part(gpu().limits.heap_alignment, 4);
  EXPECT_EQ(*static_cast<char*>([part.get() contents]), 7);
}

TEST_F(Heap, PartsMayOverlap) {
  const auto heap = HeapBuffer::make(gpu(), 1024, "heap");
  const auto first = heap->part(0, 512), second = heap->part(256, 512);
  EXPECT_EQ(static_cast<char*>([first.get() contents]) + 256,
            [second.get() contents]);
}

TEST_F(Heap, MayBeEmptyAndMayFail) {
  EXPECT_TRUE(HeapBuffer::make(gpu(), 0, "nothing"));
  EXPECT_FALSE(HeapBuffer::make(gpu(), std::size_t{1} << 40, "huge"));
  for (int n = 0; n < 2; ++n) {
    emulator::fail_allocation(n);
    EXPECT_FALSE(HeapBuffer::make(gpu(), 100, "heap"));
  }
  EXPECT_TRUE(HeapBuffer::make(gpu(), 100, "heap"));
}

}  // namespace
}  // namespace traingraph::metal
