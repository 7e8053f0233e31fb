// SPDX-License-Identifier: MIT
// Apart from Objective-C++, whose catch(...) need not see exceptions of C++.
#include "metal/pending_marks.h"

namespace traingraph::metal {

std::exception_ptr PendingMarks::reach(std::size_t end) {
  try {
    while (next_ < end) submission_.reached(next_++);
  } catch (...) {
    next_ = marks_.size();
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace traingraph::metal
