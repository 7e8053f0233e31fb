// SPDX-License-Identifier: MIT
#include "compiler/distribution/gradient_weights.h"

#include <algorithm>

#include "compiler/loss_reduction.h"

namespace traingraph {
namespace {

/// Are there others than those that linked graphs pass on?
bool begins_gradients(const MergedGraph& graph) {
  return !graph.losses.empty() || !graph.given_gradients.empty() ||
         graph.declares_gradients ||
         std::ranges::any_of(graph.user_gradients, [](const auto& user) {
           return !user.is_boundary;
         });
}

}  // namespace

bool weights_gradients(const Declaration& declaration,
                       const MergedGraph& graph) {
  if (declaration.among_ranks == GradientAccumulation::None) return false;
  if (graph.is_linkable && !begins_gradients(graph)) return false;
  return resolved(declaration.among_ranks, reduction_of_losses(graph),
                  "compile",
                  "gradients_of_ranks") == GradientAccumulation::Mean;
}

}  // namespace traingraph
