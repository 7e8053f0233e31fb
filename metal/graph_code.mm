// SPDX-License-Identifier: MIT
#import "metal/graph_code.h"

namespace traingraph::metal {
namespace {

using TensorDataList = ObjcPtr<NSArray<MPSGraphTensorData*>*>;

struct BoundGraph final : BoundCode {
  explicit BoundGraph(const GraphCode& graph_code) : code(graph_code) {}

  void encode(MPSCommandBuffer* buffer) override {
    [code.executable.get() encodeToCommandBuffer:buffer
                                     inputsArray:inputs.get()
                                    resultsArray:results.get()
                             executionDescriptor:nil];
  }

  const GraphCode& code;
  TensorDataList inputs, results;
};

/// Nil when there is no buffer to be had.
TensorDataList tensor_data(const std::vector<GraphCode::Tensor>& tensors,
                           const UnitMemory& memory) {
  const auto list =
      adopt([[NSMutableArray alloc] initWithCapacity:tensors.size()]);
  for (const auto& tensor : tensors) {
    const auto buffer = memory.buffer(tensor.arg, tensor.bytes);
    if (!buffer.get()) return {};
    const auto data =
        adopt([[MPSGraphTensorData alloc] initWithMTLBuffer:buffer.get()
                                                      shape:tensor.shape.get()
                                                   dataType:tensor.type]);
    [list.get() addObject:data.get()];
  }
  return adopt<NSArray<MPSGraphTensorData*>*>([list.get() copy]);
}

}  // namespace

std::unique_ptr<BoundCode> GraphCode::bind(const UnitMemory& memory) const {
  auto bound = std::make_unique<BoundGraph>(*this);
  bound->inputs = tensor_data(inputs, memory);
  bound->results = tensor_data(results, memory);
  if (!bound->inputs.get() || !bound->results.get()) return nullptr;
  return bound;
}

}  // namespace traingraph::metal
