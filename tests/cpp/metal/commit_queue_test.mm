// SPDX-License-Identifier: MIT
// How much is encoded ahead, by what engines keep for it.
#import "metal/commit_queue.h"

#include <gtest/gtest.h>

namespace traingraph::metal {
namespace {

TEST(CommitQueue, AreEncodedUntilTheBudgetIsSpent) {
  Discovery found = discover_gpu();
  ASSERT_TRUE(found.device) << found.reason;
  found.device->limits.max_bytes_ahead = 100;
  CommitQueue commit_queue(*found.device);
  EXPECT_TRUE(commit_queue.has_room(1000));  // alone
  const std::uint64_t first = commit_queue.add_submission(60);
  EXPECT_TRUE(commit_queue.has_room(40));
  EXPECT_FALSE(commit_queue.has_room(41));
  EXPECT_TRUE(commit_queue.has_room(0));
  const std::uint64_t second = commit_queue.add_submission(0);
  commit_queue.submission_changed(first, /*has_completed=*/true);
  EXPECT_TRUE(commit_queue.has_room(1000));
  commit_queue.submission_changed(second, /*has_completed=*/true);
}

}  // namespace
}  // namespace traingraph::metal
