// SPDX-License-Identifier: MIT
// PlanStorage: where a readable result is depends on which plan ran last.
#pragma once

#include <functional>
#include <memory>

#include "runtime/session.h"

namespace traingraph {

struct PlanStorage final : DeviceStorage {
  PlanStorage(std::shared_ptr<DeviceContext> context, std::size_t bytes,
              std::weak_ptr<Session> session,
              std::function<ValueId(const Assembled&)> find)
      : DeviceStorage(std::move(context), bytes),
        session(std::move(session)),
        find(std::move(find)) {}

  /// Throws StateError when the graph is gone or has not run.
  void visit(const std::function<void(const DeviceBytes&)>& action) override;
  /// Executions write it, nobody else.
  bool holds_value() const override { return false; }

  std::weak_ptr<Session> session;
  std::function<ValueId(const Assembled&)> find;
};

}  // namespace traingraph
