// SPDX-License-Identifier: MIT
// The data types that the sources of each layer class may have: those that the
// class's op takes and the device computes in.
#include "graph/op_def.h"
#include "traingraph/device.h"
#include "traingraph/layers.h"
#include "traingraph/losses.h"

namespace traingraph {
namespace {

/// The sources are the first inputs of `op`.
bool takes(OpKind op, DataType data_type, const Device& device,
           int num_sources = 1) {
  DataTypes types = 0;
  for (int i = 0; i < num_sources; ++i) types |= input_def(op_def(op), i).types;
  return (types & bit(data_type)) != 0 && device.computes_in(data_type);
}

}  // namespace

bool Layer::supports_data_type(DataType data_type, const Device& device) {
  return device.computes_in(data_type);  // as any layer that moves elements
}

namespace layers {

#define TRAINGRAPH_TAKES(Class, op)                                          \
  bool Class::supports_data_type(DataType data_type, const Device& device) { \
    return takes(OpKind::op, data_type, device);                             \
  }
TRAINGRAPH_TAKES(Activation, Activation)
TRAINGRAPH_TAKES(Arithmetic, Unary)
TRAINGRAPH_TAKES(BatchNormalization, BatchNorm)
TRAINGRAPH_TAKES(Comparison, Compare)
TRAINGRAPH_TAKES(Concatenation, Concatenate)
TRAINGRAPH_TAKES(Convolution, Convolution2d)
TRAINGRAPH_TAKES(Dropout, Dropout)
TRAINGRAPH_TAKES(Flatten, Reshape)
TRAINGRAPH_TAKES(FullyConnected, MatMul)
TRAINGRAPH_TAKES(GRU, GruSteps)
TRAINGRAPH_TAKES(LSTM, LstmSteps)
TRAINGRAPH_TAKES(RNN, SingleGateSteps)
TRAINGRAPH_TAKES(GroupNormalization, SampleNorm)
TRAINGRAPH_TAKES(InstanceNormalization, SampleNorm)
TRAINGRAPH_TAKES(LayerNormalization, SampleNorm)
TRAINGRAPH_TAKES(GramMatrix, MatMul)
TRAINGRAPH_TAKES(LoRA, MatMul)
TRAINGRAPH_TAKES(MatMul, MatMul)
TRAINGRAPH_TAKES(PReLU, Select)
TRAINGRAPH_TAKES(Padding, Pad)
TRAINGRAPH_TAKES(Pooling, MaxPool2d)
TRAINGRAPH_TAKES(Reduction, Reduce)
TRAINGRAPH_TAKES(Reshape, Reshape)
TRAINGRAPH_TAKES(Slice, Slice)
TRAINGRAPH_TAKES(Softmax, Softmax)
TRAINGRAPH_TAKES(Split, Split)
TRAINGRAPH_TAKES(Transpose, Transpose)
TRAINGRAPH_TAKES(Upsample, Upsample)
#undef TRAINGRAPH_TAKES

bool Gather::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Gather, data_type, device, /*num_sources=*/2);
}

bool Scatter::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Scatter, data_type, device, /*num_sources=*/3);
}

bool Embedding::supports_data_type(DataType data_type, const Device& device) {
  constexpr int kIndices = 1;  // the op's first input are the weights
  const DataTypes types = input_def(op_def(OpKind::Embedding), kIndices).types;
  return (types & bit(data_type)) != 0 && device.computes_in(data_type);
}

bool MultiheadAttention::supports_data_type(DataType data_type,
                                            const Device& device) {
  return takes(OpKind::Attention, data_type, device, /*num_sources=*/5);
}

bool Selection::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Select, data_type, device, /*num_sources=*/3);
}

}  // namespace layers

bool losses::Loss::supports_data_type(DataType data_type,
                                      const Device& device) {
  return takes(OpKind::Loss, data_type, device);
}

}  // namespace traingraph
