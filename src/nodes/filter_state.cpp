// SPDX-License-Identifier: MIT
#include "nodes/filter_state.h"

#include <atomic>
#include <unordered_set>

#include "base/error_subject.h"
#include "nodes/filter_builder.h"
#include "traingraph/error.h"

namespace traingraph::nodes {
namespace {

/// Enough that no size of an image is taken for that of the batch.
constexpr std::int64_t kScratchBatch = 2;

void require_sources(const FilterState& state) {
  for (const ImageNode& source : state.sources) {
    if (source) continue;
    throw InvalidArgument(ErrorInfo{.op = state.class_name,
                                    .node = {},
                                    .what = "a source image is missing",
                                    .expected = "an image node",
                                    .got = "none",
                                    .hint = {}});
  }
}

}  // namespace

std::uint64_t next_node_id() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

FilterState::FilterState(std::string class_name, std::vector<ImageNode> sources)
    : id(next_node_id()),
      class_name(std::move(class_name)),
      sources(std::move(sources)) {
  result.producer = this;
  result.id = id;
  require_sources(*this);
}

ValueId FilterState::lower_gradient(FilterBuilder& builder,
                                    const FilterState& of, int index,
                                    ValueId gradient) const {
  const LoweredFilter& forward = builder.nodes().lowered(of);
  std::vector<ValueId> wanted{forward.sources[index]};
  for (const auto& [role, value] : forward.parameters) wanted.push_back(value);
  const auto gradients =
      differentiate_range(builder.nodes().program(), forward.first, forward.end,
                          forward.result, gradient, wanted);
  builder.add_parameter_gradients(of, gradients);
  return gradients.front();
}

void infer_sizes(FilterState& state) {
  std::unordered_set<const FilterState*> differentiated;
  const FilterState* const forward = state.forward();
  if (forward != nullptr) differentiated.insert(forward);
  NodeProgram nodes(kScratchBatch, std::move(differentiated));
  const auto add = [&](const FilterState& filter) {
    nodes.add(filter, filter.class_name);
  };
  try {
    if (forward != nullptr) add(*forward);
    add(state);
  } catch (const ShapeError& error) {
    ErrorInfo info = error.info();
    info.op = state.class_name;
    throw ShapeError(std::move(info));
  }
  for (ImageState* image : state.images()) {
    const Shape& shape = nodes.program().shape(nodes.value(*image));
    image->size = {
        .feature_channels = shape[1], .height = shape[2], .width = shape[3]};
  }
}

ImageNode result_of(const std::shared_ptr<FilterState>& state) {
  return ImageNode(std::shared_ptr<ImageState>(state, &state->result));
}

}  // namespace traingraph::nodes
