// SPDX-License-Identifier: MIT
// -[MPSNNFilterNode trainingGraphWithSourceGradient:nodeHandler:]: the walk
// from the last filter back along image links.
#include <map>
#include <set>
#include <vector>

#import "nodes.h"
#import "objects.h"

// Additions have files of their own.
@interface NSObject (EmulatorWalk)
+ (id)nodeWithSources:(NSArray<MPSNNImageNode*>*)sources;
@end

namespace emulator::mpsnn {
namespace {

class Walk {
 public:
  explicit Walk(MPSGradientNodeBlock handler) : handler_(handler) {
    made_ = [NSMutableArray array];
  }

  /// `gradient` is that of `image`.
  NSArray* run(MPSNNImageNode* image, MPSNNImageNode* gradient) {
    collect(image);
    gradients_[image].push_back(gradient);
    for (auto filter = order_.rbegin(); filter != order_.rend(); ++filter) {
      pass_through(*filter);
    }
    for (MPSNNImageNode* source : ends_) sum_of(source);
    return ends_of_graph();
  }

 private:
  /// Filters in forward order. Nothing is known of what lies before an image
  /// that stops gradients.
  void collect(MPSNNImageNode* image) {
    MPSNNFilterNode* filter = [image producer];
    if (!filter || [image stopGradient]) {
      if (seen_ends_.insert(image).second) ends_.push_back(image);
      return;
    }
    if (!seen_.insert(filter).second) return;
    for (MPSNNImageNode* source in [filter sourceImages]) collect(source);
    order_.push_back(filter);
  }

  void pass_through(MPSNNFilterNode* filter) {
    MPSNNImageNode* gradient = sum_of([filter resultImage]);
    if (!gradient) return;
    NSArray* filters =
        [filter gradientFiltersWithSources:[NSArray arrayWithObject:gradient]];
    NSArray* sources = [filter sourceImages];
    const NSUInteger count = MIN([filters count], [sources count]);
    for (NSUInteger i = 0; i < count; ++i) {
      MPSNNFilterNode* made = [filters objectAtIndex:i];
      MPSNNImageNode* source = [sources objectAtIndex:i];
      add(made, filter, source, gradient);
      gradients_[source].push_back([made resultImage]);
    }
  }

  /// One image for all that arrived; nil when nothing did.
  MPSNNImageNode* sum_of(MPSNNImageNode* image) {
    std::vector<MPSNNImageNode*>& parts = gradients_[image];
    if (parts.empty()) return nil;
    while (parts.size() > 1) {
      MPSNNImageNode* first = parts[0];
      NSArray* pair = [NSArray arrayWithObjects:first, parts[1], nil];
      MPSNNFilterNode* sum =
          [NSClassFromString(@"MPSNNAdditionNode") nodeWithSources:pair];
      if (!sum) refuse("trainingGraphWithSourceGradient", @"no addition node");
      parts.erase(parts.begin());
      parts[0] = [sum resultImage];
      add(sum, nil, image, first);
    }
    return parts[0];
  }

  void add(MPSNNFilterNode* made, MPSNNFilterNode* inference,
           MPSNNImageNode* source, MPSNNImageNode* gradient) {
    [made_ addObject:made];
    if (handler_) {
      handler_(made, inference, source, gradient);
    } else {
      [[made resultImage] setHandle:[source handle]];
    }
  }

  NSArray* ends_of_graph() {
    NSMutableSet* read = [NSMutableSet set];
    for (MPSNNFilterNode* filter in made_) {
      for (MPSNNImageNode* source in [filter sourceImages]) {
        if ([source producer]) [read addObject:[source producer]];
      }
    }
    NSMutableArray* ends = [NSMutableArray array];
    for (MPSNNFilterNode* filter in made_) {
      if (![read containsObject:filter]) [ends addObject:filter];
    }
    return [ends count] ? ends : nil;
  }

  MPSGradientNodeBlock handler_;
  NSMutableArray* made_;
  std::set<MPSNNFilterNode*> seen_;
  std::set<MPSNNImageNode*> seen_ends_;
  std::vector<MPSNNFilterNode*> order_;
  std::vector<MPSNNImageNode*> ends_;
  std::map<MPSNNImageNode*, std::vector<MPSNNImageNode*>> gradients_;
};

}  // namespace
}  // namespace emulator::mpsnn

@implementation MPSNNFilterNode (TrainingGraph)
- (NSArray<MPSNNFilterNode*>*)
    trainingGraphWithSourceGradient:(MPSNNImageNode*)gradient
                        nodeHandler:(MPSGradientNodeBlock)handler {
  emulator::mpsnn::Walk walk(handler);
  if (!gradient) gradient = [self resultImage];
  // The result of a loss is the gradient of its source already.
  MPSNNImageNode* image =
      [self resultIsGradient] ? [self sourceImage] : [self resultImage];
  return walk.run(image, gradient);
}
@end
