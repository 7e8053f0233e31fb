// SPDX-License-Identifier: MIT
#include "cpu/engine/engine.h"

#include <algorithm>

#include "cpu/best_time.h"
#include "cpu/onednn/support.h"

namespace traingraph::cpu {

std::string engine_name() {
  const auto* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + '.' +
         std::to_string(version->minor);
}

double measure_flops() {
  constexpr std::int64_t kSize = 1024;
  const dnnl::memory::desc matrix({kSize, kSize}, dnnl::memory::data_type::f32,
                                  dnnl::memory::format_tag::ab);
  const dnnl::matmul::primitive_desc description(engine(), matrix, matrix,
                                                 matrix);
  const dnnl::matmul product(description);
  dnnl::memory x(matrix, engine()), y(matrix, engine()), z(matrix, engine());
  for (dnnl::memory* memory : {&x, &y}) {
    auto* data = static_cast<float*>(memory->get_data_handle());
    std::fill_n(data, kSize * kSize, 0.5f);
  }
  dnnl::stream stream(engine());
  const double seconds = best_time([&] {
    product.execute(
        stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, y}, {DNNL_ARG_DST, z}});
    stream.wait();
  });
  return 2.0 * kSize * kSize * kSize / seconds;
}

#if defined(__x86_64__) && defined(__GNUC__)
const char* instruction_set_variable() { return "ONEDNN_MAX_CPU_ISA"; }

InstructionSet find_instruction_set() {
  // oneDNN's values are sets of bits: what includes another has its bits.
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto includes = [isa](dnnl::cpu_isa other) {
    const auto bits = static_cast<unsigned>(other);
    return (isa & bits) == bits;
  };
  if (includes(dnnl::cpu_isa::avx512_core)) return InstructionSet::Avx512;
  if (includes(dnnl::cpu_isa::avx2) && __builtin_cpu_supports("fma")) {
    return InstructionSet::Avx2;
  }
  return InstructionSet::Baseline;
}
#endif

}  // namespace traingraph::cpu
