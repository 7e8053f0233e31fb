// SPDX-License-Identifier: MIT
// One library for all processors: loops are compiled for several instruction
// sets; the widest that the processor has is chosen at run time. On x86-64 the
// environment limits it (instruction_set_variable()); others need no choice.
//
// A quick build (TRAINGRAPH_QUICK_BUILD) compiles them for the instruction set
// of the machine that builds, alone.
#pragma once

#include <type_traits>

namespace traingraph::cpu {

/// Floats of a vector, known when compiling.
template <int kFloats>
using VectorWidth = std::integral_constant<int, kFloats>;

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

template <InstructionSet set, class F>
void run(F& f) {
  if constexpr (set == InstructionSet::Avx512) {
    run_avx512(f);
  } else if constexpr (set == InstructionSet::Avx2) {
    run_avx2(f);
  } else {
    f();
  }
}

template <InstructionSet set, class F>
void run_by_width(F& f) {
  constexpr bool kIsWide = set == InstructionSet::Avx512;
  constexpr int kFloats = kIsWide ? 16 : (set == InstructionSet::Avx2 ? 8 : 4);
  const auto body = [&] { f(VectorWidth<kFloats>()); };
  run<set>(body);
}

}  // namespace detail

#ifdef TRAINGRAPH_ONE_INSTRUCTION_SET
inline constexpr InstructionSet kMinInstructionSet =
    InstructionSet::TRAINGRAPH_ONE_INSTRUCTION_SET;

template <class F>
void vectorized(F&& f) {
  detail::run<kMinInstructionSet>(f);
}

template <class F>
void vectorized_by_width(F&& f) {
  detail::run_by_width<kMinInstructionSet>(f);
}
#else
/// What a processor must have.
inline constexpr InstructionSet kMinInstructionSet = InstructionSet::Baseline;

/// f(), compiled for the processor that runs it.
template <class F>
void vectorized(F&& f) {
  switch (instruction_set()) {
    case InstructionSet::Avx512:
      return detail::run<InstructionSet::Avx512>(f);
    case InstructionSet::Avx2:
      return detail::run<InstructionSet::Avx2>(f);
    case InstructionSet::Baseline:
      return detail::run<InstructionSet::Baseline>(f);
  }
}

/// f(VectorWidth<...>()) in the same way, for code that is written in vectors.
template <class F>
void vectorized_by_width(F&& f) {
  switch (instruction_set()) {
    case InstructionSet::Avx512:
      return detail::run_by_width<InstructionSet::Avx512>(f);
    case InstructionSet::Avx2:
      return detail::run_by_width<InstructionSet::Avx2>(f);
    case InstructionSet::Baseline:
      return detail::run_by_width<InstructionSet::Baseline>(f);
  }
}
#endif
#else
inline bool has_avx2() { return true; }  // nothing to do without

/// The baseline has vectors (NEON).
template <class F>
void vectorized(F&& f) {
  f();
}

template <class F>
void vectorized_by_width(F&& f) {
  f(VectorWidth<4>());
}
#endif

}  // namespace traingraph::cpu
