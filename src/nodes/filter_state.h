// SPDX-License-Identifier: MIT
// What the handles of nodes/node.h point to. A filter is made of ops when a
// graph is; its gradient is the derivative of these ops and of no other's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "graph/image_filter.h"
#include "graph/program.h"
#include "traingraph/nodes/data_source.h"
#include "traingraph/nodes/filters.h"
#include "traingraph/nodes/node.h"

namespace traingraph::nodes {

class FilterBuilder;
class NodeProgram;

struct ImageState {
  std::string handle;
  ImageSize size;
  bool stops_gradient = false;
  bool is_exported = false;
  /// The filter whose result it is, or part of; null for an image that runs are
  /// given.
  FilterState* producer = nullptr;
  std::uint64_t id = 0;  // in the order in which they were made
};

/// How the gradient nodes of a filter are obtained.
enum class GradientForm : std::uint8_t {
  None,
  OneSource,
  EachSource,
  /// The gradient is that of the first source; the plural calls give that of
  /// the second, too.
  PredictionAndLabels
};

struct FilterState : std::enable_shared_from_this<FilterState> {
  FilterState(std::string class_name, std::vector<ImageNode> sources);
  virtual ~FilterState() = default;
  FilterState(const FilterState&) = delete;
  FilterState& operator=(const FilterState&) = delete;

  std::uint64_t id;  // sources have smaller ones
  std::string class_name;
  std::string name;
  std::vector<ImageNode> sources;
  ImageState result;
  bool exports_state = false;
  TrainingStyle training_style = TrainingStyle::None;

  virtual GradientForm gradient_form() const { return GradientForm::OneSource; }
  /// Why there is none.
  virtual const char* no_gradient() const { return ""; }
  /// Does a data source keep its weights?
  virtual bool is_trainable() const { return false; }
  /// The result is a gradient of its first source.
  virtual bool starts_gradient() const { return false; }
  /// The filter whose derivative it is; null for all but gradient filters.
  virtual FilterState* forward() const { return nullptr; }

  /// All that it makes.
  virtual std::vector<ImageState*> images() { return {&result}; }
  /// What it is, for engines that run filters; `program` has its sources.
  virtual FilterAttributes attributes(const NodeProgram& program) const = 0;
  /// A loss may have an image beside the result.
  virtual const ImageState* loss_image() const { return nullptr; }
  /// Appends the ops and returns the result.
  virtual ValueId lower(FilterBuilder& builder) const = 0;
  /// The gradient of source `index`, given that of the result.
  virtual ValueId lower_gradient(FilterBuilder& builder, const FilterState& of,
                                 int index, ValueId gradient) const;
};

/// A state that knows the sizes of its images: lowers it once, to throw away.
/// Throws what lower() does, with the class's name as op.
template <class State, class... Args>
std::shared_ptr<FilterState> make_filter(Args&&... args);
void infer_sizes(FilterState& state);

template <class State, class... Args>
std::shared_ptr<FilterState> make_filter(Args&&... args) {
  auto state = std::make_shared<State>(std::forward<Args>(args)...);
  infer_sizes(*state);
  return state;
}

std::uint64_t next_node_id();
/// The name, or the class's name.
std::string name_of(const FilterState& state);
/// The image as a handle that keeps the filter alive.
ImageNode result_of(const std::shared_ptr<FilterState>& state);

}  // namespace traingraph::nodes
