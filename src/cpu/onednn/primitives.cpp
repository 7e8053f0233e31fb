// SPDX-License-Identifier: MIT
#include "cpu/onednn/primitives.h"

#include "cpu/engine/reorder.h"
#include "cpu/native_types.h"
#include "cpu/primitive_threads.h"

namespace traingraph::cpu {

dnnl::primitive_attr product_attributes(const UnitBuilder& unit) {
  dnnl::primitive_attr attr = user_scratchpad();
  if (unit.rounds_operands()) {
    attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
  }
  return attr;
}

KernelFactory bind_primitive(const dnnl::primitive_desc_base& primitive,
                             std::vector<PrimitiveArg> args) {
  return [primitive = dnnl::primitive(primitive.get()), args = std::move(args),
          num_threads = PrimitiveThreads::count()](BindContext& addresses) {
    std::vector<BoundPrimitive::Arg> bound;
    bound.reserve(args.size());
    for (const PrimitiveArg& arg : args) {
      bound.push_back({arg.dnnl_arg, arg.desc, addresses[arg.arg]});
    }
    return BoundKernel(BoundPrimitive(primitive, num_threads, bound));
  };
}

void add_scratchpad(UnitBuilder& unit,
                    const dnnl::primitive_desc_base& primitive,
                    std::vector<PrimitiveArg>& args) {
  const std::size_t bytes = scratchpad_bytes(primitive);
  if (bytes == 0) return;
  args.push_back(
      {DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), unit.scratch(bytes)});
}

void emit_primitive(UnitBuilder& unit,
                    const dnnl::primitive_desc_base& primitive,
                    std::vector<PrimitiveArg> args) {
  add_scratchpad(unit, primitive, args);
  emit(unit, bind_primitive(primitive, std::move(args)));
}

Reorder make_reorder(const Layout& from, const Layout& to) {
  const dnnl::memory::desc source = to_desc(from), target = to_desc(to);
  const dnnl::reorder::primitive_desc primitive(engine(), source, engine(),
                                                target, user_scratchpad());
  Reorder made{.bind = {}, .scratch_bytes = scratchpad_bytes(primitive)};
  std::vector<PrimitiveArg> args{{DNNL_ARG_FROM, source, 0},
                                 {DNNL_ARG_TO, target, 1}};
  if (made.scratch_bytes > 0) {
    args.push_back({DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc(), 2});
  }
  made.bind = bind_primitive(primitive, std::move(args));
  return made;
}

bool engine_casts(DataType type) { return has_products(type); }

}  // namespace traingraph::cpu
