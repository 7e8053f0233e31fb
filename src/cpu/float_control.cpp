// SPDX-License-Identifier: MIT
#include "cpu/float_control.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace traingraph::cpu {
namespace {

// These are the settings at the start of a program.
#if defined(__x86_64__)
constexpr std::uint64_t kIeee = 0x1f80;
constexpr std::uint64_t kFlags = 0x3f;  // what has happened, not what will

std::uint64_t read() { return _mm_getcsr() & ~kFlags; }
void write(std::uint64_t control) {
  _mm_setcsr(static_cast<unsigned>(control));
}
#elif defined(__aarch64__)
constexpr std::uint64_t kIeee = 0;

std::uint64_t read() {
  std::uint64_t control = 0;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
  return control;
}
void write(std::uint64_t control) {
  __asm__ __volatile__("msr fpcr, %0" : : "r"(control));
}
#else
constexpr std::uint64_t kIeee = 0;

std::uint64_t read() { return kIeee; }
void write(std::uint64_t /*control*/) {}
#endif

}  // namespace

FloatControl::FloatControl() : before_(read()) {
  if (before_ != kIeee) write(kIeee);
}

FloatControl::~FloatControl() {
  if (before_ != kIeee) write(before_);
}

}  // namespace traingraph::cpu
