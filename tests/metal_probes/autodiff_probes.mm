// SPDX-License-Identifier: MIT
// MPSGraph's own differentiation where its documentation says nothing.
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

/// Nil when there is no such gradient.
T gradient(const Lab& lab, T primary, T with) {
  NSDictionary<MPSGraphTensor*, MPSGraphTensor*>* gradients =
      [lab.graph() gradientForPrimaryTensor:primary
                                withTensors:[NSArray arrayWithObject:with]
                                       name:@"gradient"];
  return [gradients objectForKey:with];
}

std::string of_vector() {
  Lab lab;
  T x = lab.input({1, 2, 3});
  T result = gradient(lab, [lab.graph() squareWithTensor:x name:@"square"], x);
  if (!result) return "none";
  return explain(lab.run(result),
                 {{"that of the sum", {2, 4, 6}},
                  {"that of the mean", {2 / 3.0F, 4 / 3.0F, 2}}});
}

std::string of_unreachable() {
  Lab lab;
  T x = lab.input({1, 2, 3}), other = lab.input({4, 5, 6});
  T result =
      gradient(lab, [lab.graph() squareWithTensor:x name:@"square"], other);
  return result ? "a tensor: " + text(lab.run(result)) : "none";
}

std::string through_floor() {
  Lab lab;
  T x = lab.input({1.5F});
  T result = gradient(lab, [lab.graph() floorWithTensor:x name:@"floor"], x);
  return result ? "a tensor: " + text(lab.run(result)) : "none";
}

std::string through_arg_maximum() {
  Lab lab;
  T x = lab.input({1, 3, 2});
  T position = [lab.graph() reductionArgMaximumWithTensor:x
                                                     axis:0
                                                     name:@"position"];
  T primary = [lab.graph() castTensor:position
                               toType:MPSDataTypeFloat32
                                 name:@"float"];
  T result = gradient(lab, primary, x);
  return result ? "a tensor: " + text(lab.run(result)) : "none";
}

std::string through_maximum_tie() {
  Lab lab;
  T x = lab.input({3, 3, 1});
  T maximum = [lab.graph() reductionMaximumWithTensor:x axis:0 name:@"maximum"];
  T result = gradient(lab, maximum, x);
  if (!result) return "none";
  return explain(lab.run(result), {{"the first", {1, 0, 0}},
                                   {"all", {1, 1, 0}},
                                   {"all, divided", {0.5F, 0.5F, 0}}});
}

}  // namespace

std::vector<Probe> autodiff_probes() {
  return {
      {.name = "gradient_of_vector",
       .question = "gradientForPrimaryTensor of a vector is",
       .answer = of_vector,
       .expected = {"that of the sum"},
       .may_abort = true},
      {.name = "gradient_of_unreachable",
       .question = "gradientForPrimaryTensor with a tensor it does not use",
       .answer = of_unreachable,
       .expected = {"none"},
       .may_abort = true},
      {.name = "gradient_through_floor",
       .question = "gradientForPrimaryTensor through floor",
       .answer = through_floor,
       .expected = {"a tensor: [0]", "none"},
       .may_abort = true},
      {.name = "gradient_through_arg",
       .question = "gradientForPrimaryTensor through an arg reduction",
       .answer = through_arg_maximum,
       .expected = {"none"},
       .may_abort = true},
      {.name = "gradient_through_tie",
       .question = "gradientForPrimaryTensor of a maximum goes to which of "
                   "equal elements",
       .answer = through_maximum_tie,
       .expected = {"all"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
