// SPDX-License-Identifier: MIT
#include "cpu/engine/engine.h"

#include <new>
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
  prepare_blas(Team::here().team->size());
  const TiledProduct product({kSize, kSize, kSize}, Team::here().team->size(),
                             /*has_epilogue=*/false);
  const double seconds = best_time([&] {
    product.run(1, {x.data(), kSize, false}, {y.data(), kSize, false}, z.data(),
                kSize, [](const ProductTile&) {});
  });
  return 2.0 * kSize * kSize * kSize / seconds;
}

#if defined(__x86_64__) && defined(__GNUC__)
InstructionSet find_instruction_set() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return InstructionSet::Baseline;
  }
  const bool is_wide =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return is_wide ? InstructionSet::Avx512 : InstructionSet::Avx2;
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
