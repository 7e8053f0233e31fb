// SPDX-License-Identifier: MIT
// One library for all processors: loops are compiled for several instruction
// sets, and the widest that the processor has is chosen at run time. It is the
// one that oneDNN uses, so ONEDNN_MAX_CPU_ISA limits both.
#pragma once

namespace traingraph::cpu {

#if defined(__x86_64__) && defined(__GNUC__)
enum class InstructionSet { Baseline, Avx2, Avx512 };

InstructionSet instruction_set();

/// oneDNN's code for less loses a NaN here and there.
inline bool has_avx2() { return instruction_set() != InstructionSet::Baseline; }

namespace detail {

// Everything that is called and can be inlined is compiled along: that is what
// makes the loops of `f` loops of this instruction set.
template <class F>
[[gnu::target("avx2,fma"), gnu::flatten, gnu::noinline]] void run_avx2(F& f) {
  f();
}
template <class F>
[[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"), gnu::flatten,
  gnu::noinline]] void
run_avx512(F& f) {
  f();
}

}  // namespace detail

/// f(), compiled for the processor that runs it.
template <class F>
void vectorized(F&& f) {
  switch (instruction_set()) {
    case InstructionSet::Avx512:
      return detail::run_avx512(f);
    case InstructionSet::Avx2:
      return detail::run_avx2(f);
    case InstructionSet::Baseline:
      return f();
  }
}
#else
inline bool has_avx2() { return true; }  // nothing to do without

/// The baseline has vectors (NEON).
template <class F>
void vectorized(F&& f) {
  f();
}
#endif

}  // namespace traingraph::cpu
