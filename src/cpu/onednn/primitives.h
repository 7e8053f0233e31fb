// SPDX-License-Identifier: MIT
// Units that are one oneDNN primitive.
#pragma once

#include <vector>

#include "cpu/lowering.h"
#include "cpu/onednn/support.h"

namespace traingraph::cpu {

/// user_scratchpad() for products, which may round what they multiply.
dnnl::primitive_attr product_attributes(const UnitBuilder& unit);

/// One argument of an emitted primitive: oneDNN's name of it, its layout, and
/// the index that read(), write() or scratch() returned.
struct PrimitiveArg {
  int dnnl_arg;
  dnnl::memory::desc desc;
  int arg;
};
/// Binds the arguments of a oneDNN primitive.
KernelFactory bind_primitive(const dnnl::primitive_desc_base& primitive,
                             std::vector<PrimitiveArg> args);
/// Asks for the scratchpad of a primitive made with user_scratchpad(), and adds
/// it to the arguments.
void add_scratchpad(UnitBuilder& unit,
                    const dnnl::primitive_desc_base& primitive,
                    std::vector<PrimitiveArg>& args);
/// Ends the lowering of a node with one oneDNN primitive made with
/// user_scratchpad(), for which it asks here.
void emit_primitive(UnitBuilder& unit,
                    const dnnl::primitive_desc_base& primitive,
                    std::vector<PrimitiveArg> args);

}  // namespace traingraph::cpu
