// SPDX-License-Identifier: MIT
// What the CPU device asks of its engine, which is its BLAS backend: oneDNN
// (cpu/onednn) or a CBLAS (cpu/cblas). One of them is compiled; the files of
// this folder are all that the rest of src/cpu knows of it. An engine also
// defines lower_convolution_2d() with its gradients and the lower functions of
// pools, and the functions of cpu/native_types.h.
#pragma once

#include <functional>
#include <string>

#include "cpu/instruction_set.h"

namespace traingraph::cpu {

/// The name is for people: "oneDNN 3.2".
std::string engine_name();

/// The best rate of a large product on the thread pool that serves the calling
/// thread.
double measure_flops();

#if defined(__x86_64__) && defined(__GNUC__)
/// The widest vectors that this process may use: the processor's, unless the
/// environment says less, in instruction_set_variable().
InstructionSet find_instruction_set();
const char* instruction_set_variable();
#endif

/// Calls `f`, which makes or binds code; an error of the engine becomes
/// UnsupportedError (no implementation, or sizes out of its range),
/// OutOfMemoryError or DeviceError naming op and node.
void translate_errors(const char* op, const std::string& node,
                      const std::function<void()>& f);

[[noreturn]] void fail_out_of_memory(const char* op, const std::string& node);

}  // namespace traingraph::cpu
