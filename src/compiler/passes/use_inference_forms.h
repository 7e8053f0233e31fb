// SPDX-License-Identifier: MIT
// Turns ops that train differently (dropout, batch normalization) into their
// inference form.
#pragma once

#include "graph/program.h"

namespace traingraph {

void use_inference_forms(Program& program);

}  // namespace traingraph
