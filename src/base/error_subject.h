// SPDX-License-Identifier: MIT
// Names the op and node in errors of arithmetic (checked.h), which does not
// know whose sizes it is about.
#pragma once

#include <string>
#include <utility>

#include "traingraph/error.h"

namespace traingraph {

template <class Action>
void with_subject(const char* op, const std::string& node, Action action) {
  try {
    action();
  } catch (const ShapeError& error) {
    if (!error.op().empty()) throw;
    ErrorInfo info = error.info();
    info.op = op;
    info.node = node;
    throw ShapeError(std::move(info));
  }
}

}  // namespace traingraph
