// SPDX-License-Identifier: MIT
// TrainingLosses: what a TrainingGraph is to minimize, in any of the forms in
// which one can say it.
//
//   nullptr                   what nodes there are of losses
//   a loss layer              of the last result and the labels
//   a result, or a list       losses of their own, as losses::Value makes them;
//                             what a node of a loss computes is one already
//   a map of results          the same, under these names
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "traingraph/losses.h"

namespace traingraph {

class TRAINGRAPH_API TrainingLosses {
 public:
  using LayerPtr = std::shared_ptr<const losses::Loss>;
  struct Result {
    std::string name;  // empty: that of its class, "loss"
    Tensor tensor;
  };

  TrainingLosses() = default;
  TrainingLosses(std::nullptr_t) {}
  template <std::convertible_to<LayerPtr> Layer>
  TrainingLosses(Layer layer) : layer_(std::move(layer)) {}
  TrainingLosses(const Tensor& result);
  TrainingLosses(const std::vector<Tensor>& results);
  TrainingLosses(std::initializer_list<Tensor> results);
  TrainingLosses(const std::map<std::string, Tensor>& results);

  const LayerPtr& layer() const& { return layer_; }
  LayerPtr layer() const&& { return layer_; }
  const std::vector<Result>& results() const& { return results_; }
  std::vector<Result> results() const&& { return results_; }

 private:
  LayerPtr layer_;
  std::vector<Result> results_;
};

}  // namespace traingraph
