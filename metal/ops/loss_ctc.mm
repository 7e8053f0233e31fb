// SPDX-License-Identifier: MIT
// MetalTarget::reason_unsupported() refuses these ops before they get here.
#import "metal/graph_builder.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

[[noreturn]] void refuse() {
  throw InternalError("a CTC loss reached the lowering for Metal");
}

}  // namespace

void lower_ctc_loss(GraphBuilder&) { refuse(); }
void lower_ctc_loss_gradient(GraphBuilder&) { refuse(); }

}  // namespace traingraph::metal
