// SPDX-License-Identifier: MIT
#include "graph/batch_axis.h"

#include "traingraph/tensor.h"

namespace traingraph {

TensorDescriptor at_batch(const Tensor& tensor, std::int64_t batch,
                          std::int64_t compiled) {
  TensorDescriptor desc = tensor.descriptor();
  const auto axis = tensor.batch_axis();
  if (!axis || compiled <= 0 || batch == compiled) return desc;
  desc.shape[*axis] = desc.shape[*axis] / compiled * batch;
  return desc;
}

bool leads_with_batch(const Tensor& tensor) {
  const int axis = tensor.batch_axis().value_or(0);
  for (int before = 0; before < axis; ++before) {
    if (tensor.shape()[before] != 1) return false;
  }
  return true;
}

}  // namespace traingraph
