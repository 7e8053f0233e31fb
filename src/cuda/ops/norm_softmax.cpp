// SPDX-License-Identifier: MIT
// Softmax, log-softmax and their gradient.
#include "cuda/kernel_table.h"
#include "cuda/ops/reduce_launches.h"
#include "cuda/ops/walk.h"

namespace traingraph::cuda {
namespace {

/// Calls the template `name` of kernels/softmax.cuh with `pointers` of rows
/// along the axis of result 0.
void emit_softmax(UnitBuilder& unit, const std::string& name,
                  KernelWriter kernel, const std::string& pointers) {
  const auto& attrs = unit.attrs<SoftmaxAttrs>();
  Extents sizes = result_extents(unit);
  Extents strides = strides_of(sizes);
  const Extent length = sizes[attrs.axis], stride = strides[attrs.axis];
  sizes[attrs.axis] = Extent{1};
  strides[attrs.axis] = Extent{0};
  const Walk rows(sizes, {strides});
  // Neighbours in memory are of one row, or of neighbouring ones.
  const int threads = stride.is(1) || stride.is(0) ? team_threads(length) : 1;
  const bool is_log = attrs.operation == SoftmaxOperation::LogSoftmax;
  kernel.body("  " + name + "<" + team_text(threads) + ", " +
              (is_log ? "true" : "false") + ">(" + pointers + ", " +
              text_of(kernel, rows.count()) + ", " + text_of(kernel, length) +
              ", " + text_of(kernel, stride) + ", [&](Index i) -> Index {\n");
  const std::string begin = rows.write_offsets(kernel, "i")[0];
  kernel.body("    return " + begin + ";\n  });\n");
  emit(unit, {std::move(kernel).launch(team_blocks(rows.count().value, threads),
                                       team_block(threads))});
}

}  // namespace

void lower_softmax(UnitBuilder& unit) {
  const DataType type = unit.result_desc().data_type;
  KernelWriter kernel("softmax.cuh");
  const std::string x = kernel.pointer(unit.read(0), type);
  const std::string y = kernel.pointer(unit.write(0), type);
  unit.may_run_in_place(0, 0);
  emit_softmax(unit, "softmax", std::move(kernel), x + ", " + y);
}

void lower_softmax_gradient(UnitBuilder& unit) {
  const DataType type = unit.result_desc().data_type;
  KernelWriter kernel("softmax.cuh");
  const std::string dy = kernel.pointer(unit.read(0), type);
  const std::string y = kernel.pointer(unit.read(1), type);
  const std::string dx = kernel.pointer(unit.write(0), type);
  unit.may_run_in_place(0, 0);
  emit_softmax(unit, "softmax_gradient", std::move(kernel),
               dy + ", " + y + ", " + dx);
}

}  // namespace traingraph::cuda
