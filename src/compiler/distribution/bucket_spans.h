// SPDX-License-Identifier: MIT
// When a plan sends its gradients, for reports.
#pragma once

#include <vector>

#include "compiler/compile.h"
#include "traingraph/insight.h"

namespace traingraph {

/// The buckets of a plan that has some, in the order of sending.
std::vector<BucketSpan> bucket_spans(const CompiledProgram& compiled,
                                     const Plan& plan);

}  // namespace traingraph
