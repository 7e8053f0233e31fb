// SPDX-License-Identifier: MIT
#include "cpu/float_control.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace traingraph::cpu {

#if defined(__x86_64__)
namespace {

constexpr unsigned kIeee = 0x1f80;  // MXCSR at the start of a program
constexpr unsigned kFlags = 0x3f;   // what has happened, not what will

}  // namespace

FloatControl::FloatControl() : before_(_mm_getcsr() & ~kFlags) {
  if (before_ != kIeee) _mm_setcsr(kIeee);
}

FloatControl::~FloatControl() {
  if (before_ != kIeee) _mm_setcsr(before_);
}
#else
FloatControl::FloatControl() : before_(0) {}
FloatControl::~FloatControl() = default;
#endif

}  // namespace traingraph::cpu
