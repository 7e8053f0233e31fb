// SPDX-License-Identifier: MIT
// Gathers, scatters and one-hot vectors.
#include "../arithmetic/indexing.h"

#include "checks.h"

using namespace emulator;

namespace {

Dims part_of(const Dims& dims, std::size_t first, std::size_t last) {
  return Dims(dims.begin() + first, dims.begin() + last);
}

Dims joined(Dims first, const Dims& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Scatter scatter_of(const char* op, MPSGraphScatterMode mode) {
  if (mode < MPSGraphScatterModeAdd || mode > MPSGraphScatterModeSet) {
    refuse(op, @"unknown mode %ld", (long)mode);
  }
  return static_cast<Scatter>(mode);
}

/// Batch dimensions and the slice addressed by indices of `depth` numbers:
/// the shape of all slices that the indices name.
Dims slices_shape(const char* op, const Dims& dims, const Dims& indices,
                  std::size_t batch) {
  if (indices.empty() || batch >= indices.size() || batch > dims.size()) {
    refuse(op, @"%ld batch dimensions are too many for %@ and indices %@",
           (long)batch, describe(dims), describe(indices));
  }
  require_shape(op, @"the indices' batch", part_of(dims, 0, batch),
                part_of(indices, 0, batch));
  const auto depth = static_cast<std::size_t>(indices.back());
  if (batch + depth > dims.size()) {
    refuse(op, @"indices %@ go deeper than %@", describe(indices),
           describe(dims));
  }
  return joined(part_of(indices, 0, indices.size() - 1),
                part_of(dims, batch + depth, dims.size()));
}

/// Shapes that differ on one axis only.
std::size_t require_same_but(const char* op, NSInteger axis, const Dims& dims,
                             const Dims& indices) {
  const std::size_t at = axis_of(op, axis, dims.size());
  Dims expected = dims;
  if (at < indices.size()) expected[at] = indices[at];
  require_shape(op, @"the indices' shape", expected, indices);
  return at;
}

/// `data` may be nil.
NSArray<MPSGraphTensor*>* scatter_inputs(const char* op, MPSGraphTensor* data,
                                         MPSGraphTensor* updates,
                                         MPSGraphTensor* indices) {
  if (data == nil) return inputs_of(op, {updates, indices});
  return inputs_of(op, {data, updates, indices});
}

MPSGraphTensor* add_scatter_nd(MPSGraph* graph, NSString* name,
                               MPSGraphTensor* data, MPSGraphTensor* updates,
                               MPSGraphTensor* indices, const Dims& dims,
                               std::size_t batch, MPSGraphScatterMode mode) {
  const char* op = "scatterND";
  const Type type = operand(graph, op, updates, Elements::kNumber);
  const Type index_type = operand(graph, op, indices, Elements::kIndex);
  require_shape(op, @"the updates' shape",
                slices_shape(op, dims, index_type.shape, batch), type.shape);
  return add_operation(graph, op, name,
                       scatter_inputs(op, data, updates, indices),
                       Type{type.data_type, dims},
                       scatter_nd(scatter_of(op, mode), batch, data != nil));
}

MPSGraphTensor* add_scatter_along(MPSGraph* graph, NSString* name,
                                  MPSGraphTensor* data, MPSGraphTensor* updates,
                                  MPSGraphTensor* indices, const Dims& dims,
                                  NSInteger axis, MPSGraphScatterMode mode) {
  const char* op = "scatterAlongAxis";
  const Type type = operand(graph, op, updates, Elements::kNumber);
  const Type index_type = operand(graph, op, indices, Elements::kIndex);
  require_shape(op, @"the updates' shape", index_type.shape, type.shape);
  const std::size_t at = require_same_but(op, axis, dims, index_type.shape);
  return add_operation(
      graph, op, name, scatter_inputs(op, data, updates, indices),
      Type{type.data_type, dims},
      scatter_along_axis(scatter_of(op, mode), at, data != nil));
}

/// The shape of data with the type of the updates.
Dims data_shape(MPSGraph* graph, const char* op, MPSGraphTensor* data,
                MPSGraphTensor* updates) {
  return operands(graph, op, inputs_of(op, {data, updates}))[0].shape;
}

}  // namespace

@implementation MPSGraph (GatherNDOps)

- (MPSGraphTensor*)gatherNDWithUpdatesTensor:(MPSGraphTensor*)updates
                               indicesTensor:(MPSGraphTensor*)indices
                             batchDimensions:(NSUInteger)batch
                                        name:(NSString*)name {
  const char* op = "gatherND";
  const Type type = operand(self, op, updates);
  const Type index_type = operand(self, op, indices, Elements::kIndex);
  const Dims result = slices_shape(op, type.shape, index_type.shape, batch);
  return add_operation(self, op, name, inputs_of(op, {updates, indices}),
                       Type{type.data_type, result}, gather_nd(batch));
}

@end

@implementation MPSGraph (GatherOps)

- (MPSGraphTensor*)gatherWithUpdatesTensor:(MPSGraphTensor*)updates
                             indicesTensor:(MPSGraphTensor*)indices
                                      axis:(NSUInteger)axis
                           batchDimensions:(NSUInteger)batch
                                      name:(NSString*)name {
  const char* op = "gather";
  const Type type = operand(self, op, updates);
  const Dims named = operand(self, op, indices, Elements::kIndex).shape;
  const Dims& dims = type.shape;
  const std::size_t at = axis_of(op, NSInteger(axis), dims.size());
  if (batch > at || batch > named.size()) {
    refuse(op, @"%ld batch dimensions are too many for axis %ld and %@",
           (long)batch, (long)at, describe(named));
  }
  require_shape(op, @"the indices' batch", part_of(dims, 0, batch),
                part_of(named, 0, batch));
  const Dims result =
      joined(joined(part_of(dims, 0, at), part_of(named, batch, named.size())),
             part_of(dims, at + 1, dims.size()));
  return add_operation(self, op, name, inputs_of(op, {updates, indices}),
                       Type{type.data_type, result}, gather(at, batch));
}

@end

@implementation MPSGraph (MPSGraphGatherAlongAxisOps)

- (MPSGraphTensor*)gatherAlongAxis:(NSInteger)axis
                 withUpdatesTensor:(MPSGraphTensor*)updates
                     indicesTensor:(MPSGraphTensor*)indices
                              name:(NSString*)name {
  const char* op = "gatherAlongAxis";
  const Type type = operand(self, op, updates);
  const Dims named = operand(self, op, indices, Elements::kIndex).shape;
  const std::size_t at = require_same_but(op, axis, type.shape, named);
  return add_operation(self, op, name, inputs_of(op, {updates, indices}),
                       Type{type.data_type, named}, gather_along_axis(at));
}

@end

@implementation MPSGraph (ScatterNDOps)

- (MPSGraphTensor*)scatterNDWithUpdatesTensor:(MPSGraphTensor*)updates
                                indicesTensor:(MPSGraphTensor*)indices
                                        shape:(MPSShape*)shape
                              batchDimensions:(NSUInteger)batch
                                         mode:(MPSGraphScatterMode)mode
                                         name:(NSString*)name {
  return add_scatter_nd(self, name, nil, updates, indices,
                        result_shape("scatterND", shape), batch, mode);
}

- (MPSGraphTensor*)scatterNDWithUpdatesTensor:(MPSGraphTensor*)updates
                                indicesTensor:(MPSGraphTensor*)indices
                                        shape:(MPSShape*)shape
                              batchDimensions:(NSUInteger)batch
                                         name:(NSString*)name {
  return add_scatter_nd(self, name, nil, updates, indices,
                        result_shape("scatterND", shape), batch,
                        MPSGraphScatterModeAdd);
}

- (MPSGraphTensor*)scatterNDWithDataTensor:(MPSGraphTensor*)data
                             updatesTensor:(MPSGraphTensor*)updates
                             indicesTensor:(MPSGraphTensor*)indices
                           batchDimensions:(NSUInteger)batch
                                      mode:(MPSGraphScatterMode)mode
                                      name:(NSString*)name {
  return add_scatter_nd(self, name, data, updates, indices,
                        data_shape(self, "scatterND", data, updates), batch,
                        mode);
}

@end

@implementation MPSGraph (MPSGraphScatterAlongAxisOps)

- (MPSGraphTensor*)scatterAlongAxis:(NSInteger)axis
                  withUpdatesTensor:(MPSGraphTensor*)updates
                      indicesTensor:(MPSGraphTensor*)indices
                              shape:(MPSShape*)shape
                               mode:(MPSGraphScatterMode)mode
                               name:(NSString*)name {
  return add_scatter_along(self, name, nil, updates, indices,
                           result_shape("scatterAlongAxis", shape), axis, mode);
}

- (MPSGraphTensor*)scatterAlongAxis:(NSInteger)axis
                     withDataTensor:(MPSGraphTensor*)data
                      updatesTensor:(MPSGraphTensor*)updates
                      indicesTensor:(MPSGraphTensor*)indices
                               mode:(MPSGraphScatterMode)mode
                               name:(NSString*)name {
  return add_scatter_along(self, name, data, updates, indices,
                           data_shape(self, "scatterAlongAxis", data, updates),
                           axis, mode);
}

@end
