// SPDX-License-Identifier: MIT
// Host ops of several processes. all_reduce_start begins a sum over all ranks,
// whose results are there when all_reduce_done has read them: what is scheduled
// in between is computed meanwhile; all_reduce waits for its sum. all_gather
// gives every rank the elements of parameters that others have updated.
// reduce_moments makes the moments of a rank's samples (batch_norm_moments)
// those of all samples. They wait for others: the few numbers that they add
// up cost nothing next to that.
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"

namespace traingraph {
namespace {

void like_inputs(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    ctx.add_result(ctx.shape(i), ctx.data_type(i));
  }
}

void no_results(ShapeContext&) {}

OpDef sums() {
  return {
      .inputs = {{.name = "values", .types = kFloat32, .is_variadic = true}},
      .results = {"sums"},
      .shape_rule = like_inputs,
      .flops = flops::moves,
      .batch_rule = batch::summed,
      .no_gradient = NoGradient::Missing,
      .is_host = true};
}

}  // namespace

OpDef define_all_reduce_start() { return sums(); }
OpDef define_all_reduce_done() { return sums(); }
OpDef define_all_reduce() { return sums(); }

OpDef define_reduce_moments() {
  return {.inputs = {{"moments", kFloat32}},
          .results = {"moments"},
          .shape_rule = like_inputs,
          .flops = flops::moves,
          .batch_rule = batch::summed,
          .no_gradient = NoGradient::Missing,
          .is_host = true};
}

OpDef define_all_gather() {
  return {.inputs = {{.name = "parameters",
                      .types = kAnyType,
                      .is_variadic = true,
                      .is_mutated = true}},
          .shape_rule = no_results,
          .flops = flops::moves,
          .batch_rule = batch::summed,
          .no_gradient = NoGradient::Missing,
          .is_host = true};
}

}  // namespace traingraph
