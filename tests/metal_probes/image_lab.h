// SPDX-License-Identifier: MIT
// ImageLab: one small MPSNNGraph with numbers going in and out, made and
// encoded as the Metal device does it. Raises NSException where something
// fails.
#pragma once

#include <functional>
#include <map>

#import "tests/metal_probes/lab.h"

namespace traingraph::metal::probes {

/// (images, channels, height, width)
using ImageShape = Extents;

class ImageLab {
 public:
  static ObjcPtr<MPSImageBatch*> images(const Numbers& values,
                                        const ImageShape& shape);
  MPSNNImageNode* input(const Numbers& values, const ImageShape& shape);
  MPSNNImageNode* row(const Numbers& values) {
    return input(values, {1, 1, 1, static_cast<std::int64_t>(values.size())});
  }
  /// Labels of a LossNode: given to the graph with its source states.
  void set_labels(MPSCNNLossNode* loss, const Numbers& values,
                  const ImageShape& shape);

  /// Of the results, images one after the other, in (C, H, W). Once more: the
  /// same graph again, with what updates made of it.
  /// `exported` are read by other nodes as well, and come after the results.
  std::vector<Numbers> run(const std::vector<MPSNNFilterNode*>& results,
                           const std::vector<MPSNNFilterNode*>& exported = {});
  std::vector<Numbers> run_again();
  Numbers run(MPSNNFilterNode* result) {
    return run(std::vector<MPSNNFilterNode*>{result}).front();
  }
  void reload() { [graph_.get() reloadFromDataSources]; }

  /// While run() encodes; what data sources encode to.
  MPSCommandBuffer* commands() const { return commands_.get(); }
  MPSCommandBuffer* commands_for(id<MTLCommandBuffer> given) const;

 private:
  NSObject<MPSHandle>* next_handle();
  std::vector<ObjcPtr<id<MTLBuffer>>> encode();

  int num_handles_ = 0;
  std::map<int, ObjcPtr<MPSImageBatch*>> images_;  // by handle
  std::map<int, ObjcPtr<MPSStateBatch*>> labels_;
  std::vector<int> results_;  // handles
  ObjcPtr<MPSNNGraph*> graph_;
  ObjcPtr<MPSCommandBuffer*> commands_;
};

/// A row of `x` at `count` places between its n elements, linearly:
/// position(i, n, count), as in the functions below.
using Position = float (*)(float i, float n, float count);
Numbers resized(const Numbers& x, Position position, int count);
inline float ends_on_ends(float i, float n, float count) {
  return i * (n - 1) / (count - 1);
}
inline float centres(float i, float n, float count) {
  return (i + 0.5F) * n / count - 0.5F;
}
inline float corners(float i, float n, float count) { return i * n / count; }

/// All images of a batch; waits.
Numbers numbers_of(MPSImageBatch* images);
/// What a device buffer has when the commands have run.
ObjcPtr<id<MTLBuffer>> copy_for_host(id<MTLCommandBuffer> commands,
                                     id<MTLBuffer> from);

}  // namespace traingraph::metal::probes
