// SPDX-License-Identifier: MIT
// Collectives of data-parallel training: nodes of host ops between a device's
// own. All ranks begin them in one order, whatever their batch sizes.
//
//   forward | gradient: dW3 ... dW2 ... dW1 | update: W3 W2 W1 | gather
//                          ^ start dW3  ^ start dW2   ^ done dW3
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/passes.h"

namespace traingraph {

/// When a program sums its gradients over ranks, and where they are weighed. A
/// step computes the rest while its sums are under way. Gradients that are
/// added up over several passes are summed at the update, and are then weighed
/// by the samples of all passes; others are weighed where a pass begins them,
/// so that those within the network are, too.
struct GradientSums {
  Phase start = Phase::Gradient, done = Phase::Gradient;
  bool weighs = false;  // else passes do
};
GradientSums gradient_sums(const MergedGraph& graph, const Variant& variant);

/// Names a bucket: "head/weights ... stem/biases".
std::string first_and_last(std::span<const std::string_view> parameters);

/// Lists trained tensors in the order in which their gradients become ready.
std::vector<TensorIndex> order_of_readiness(const Assembled& assembled);

/// The same of a graph at its first batch size.
std::vector<TensorIndex> find_exchange_order(const MergedGraph& graph,
                                             const Target& target,
                                             std::int64_t batch);

/// Does the program differentiate, and is there somebody to exchange with?
bool has_collectives(const PassContext& context);

/// Sums gradients over all ranks, in buckets, and losses where the graph
/// reduces them: what follows reads the sums. Behind append_gradients().
void reduce_over_ranks(const PassContext& context, Assembled& assembled);

/// Gathers parameters whose update the ranks shard; starts each sum as soon as
/// its gradients are complete, and sorts updates by the sum that they need.
/// Behind append_updates().
void place_collectives(const PassContext& context, Assembled& assembled);

}  // namespace traingraph
