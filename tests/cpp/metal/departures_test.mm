// SPDX-License-Identifier: MIT
// How much is encoded ahead, by what engines keep for it.
#import "metal/departures.h"

#include <gtest/gtest.h>

namespace traingraph::metal {
namespace {

TEST(Departures, AreEncodedUntilTheBudgetIsSpent) {
  Discovery found = discover_gpu();
  ASSERT_TRUE(found.device) << found.reason;
  found.device->limits.max_bytes_ahead = 100;
  Departures departures(*found.device);
  EXPECT_TRUE(departures.has_room(1000));  // alone
  const std::uint64_t first = departures.add_flight(60);
  EXPECT_TRUE(departures.has_room(40));
  EXPECT_FALSE(departures.has_room(41));
  EXPECT_TRUE(departures.has_room(0));
  const std::uint64_t second = departures.add_flight(0);
  departures.flight_changed(first, /*has_landed=*/true);
  EXPECT_TRUE(departures.has_room(1000));
  departures.flight_changed(second, /*has_landed=*/true);
}

}  // namespace
}  // namespace traingraph::metal
