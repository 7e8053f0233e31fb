// SPDX-License-Identifier: MIT
#include "cpu/calling_thread.h"

#include <omp.h>

#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace traingraph::cpu {
namespace {

#if defined(__x86_64__)
constexpr unsigned kIeee = 0x1f80;  // MXCSR at the start of a program
constexpr unsigned kFlags = 0x3f;   // what has happened, not what will

unsigned float_control() { return _mm_getcsr() & ~kFlags; }

/// LLVM's OpenMP gives teams what the calling thread has, GNU's does not.
void set_float_control(unsigned control) {
  _mm_setcsr(control);
#pragma omp parallel
  _mm_setcsr(control);
}
#else
constexpr unsigned kIeee = 0;

unsigned float_control() { return kIeee; }

void set_float_control(unsigned) {}
#endif

}  // namespace

int team_size() {
  static const int size = [] {
    int size = 1;
    std::thread([&] { size = omp_get_max_threads(); }).join();
    return size;
  }();
  return size;
}

CallingThread::CallingThread()
    : team_size_(omp_get_max_threads()), float_control_(float_control()) {
  if (team_size() != team_size_) omp_set_num_threads(team_size());
  if (float_control_ != kIeee) set_float_control(kIeee);
}

CallingThread::~CallingThread() {
  if (float_control_ != kIeee) set_float_control(float_control_);
  if (omp_get_max_threads() != team_size_) omp_set_num_threads(team_size_);
}

}  // namespace traingraph::cpu
