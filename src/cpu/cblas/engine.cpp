// SPDX-License-Identifier: MIT
#include "cpu/engine/engine.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string_view>
#include <vector>

#include "cpu/best_time.h"
#include "cpu/cblas/sgemm.h"
#include "cpu/cblas/tiled_product.h"
#include "traingraph/error.h"

namespace traingraph::cpu {

std::string engine_name() { return blas_name(); }

double measure_flops() {
  constexpr std::int64_t kSize = 1024;
  const std::vector<float> x(kSize * kSize, 0.5f), y(kSize * kSize, 0.5f);
  std::vector<float> z(kSize * kSize);
  require_right_products();
  prepare_blas(ThreadPool::here().pool->size());
  const TiledProduct product({kSize, kSize, kSize},
                             ThreadPool::here().pool->size(),
                             /*has_epilogue=*/false);
  const double seconds = best_time([&] {
    product.run(1, {x.data(), kSize, false}, {y.data(), kSize, false}, z.data(),
                kSize, [](const ProductTile&) {});
  });
  return 2.0 * kSize * kSize * kSize / seconds;
}

#if defined(__x86_64__) && defined(__GNUC__)
namespace {

InstructionSet widest_of_processor() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return InstructionSet::Baseline;
  }
  const bool is_wide =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return is_wide ? InstructionSet::Avx512 : InstructionSet::Avx2;
}

/// Instruction sets have the names that oneDNN gives them.
InstructionSet widest_allowed() {
  const char* const text = std::getenv(instruction_set_variable());
  if (!text) return InstructionSet::Avx512;
  const std::string_view name(text);
  if (name == "SSE41") return InstructionSet::Baseline;
  if (name == "AVX2") return InstructionSet::Avx2;
  if (name == "AVX512_CORE") return InstructionSet::Avx512;
  throw InvalidArgument(ErrorInfo{.op = "device",
                                  .node = "cpu",
                                  .what = instruction_set_variable(),
                                  .expected = "SSE41, AVX2 or AVX512_CORE",
                                  .got = text});
}

}  // namespace

const char* instruction_set_variable() { return "TRAINGRAPH_MAX_CPU_ISA"; }

InstructionSet find_instruction_set() {
  return std::min(widest_of_processor(), widest_allowed());
}
#endif

void translate_errors(const char* op, const std::string& node,
                      const std::function<void()>& f) {
  try {
    f();
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(op, node);
  }
}

}  // namespace traingraph::cpu
