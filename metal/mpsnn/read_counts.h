// SPDX-License-Identifier: MIT
// The contract of a data source's updates: they decrement the read counts of
// the states that they are given.
#pragma once

#import "metal/apple.h"

namespace traingraph::metal {

inline void count_read(MPSState* state) {
  const NSUInteger count = [state readCount];
  if ([state isTemporary] && count > 0) [state setReadCount:count - 1];
}

}  // namespace traingraph::metal
