// SPDX-License-Identifier: MIT
// A layer that trains on a token device of its own, and what it takes to see
// what is under way there.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "support/token_device.h"
#include "support/training.h"

namespace traingraph::testing {

struct OnToken {
  explicit OnToken(OptimizerPtr optimizer, const CompileOptions& options = {})
      : t(net.train(std::move(optimizer), options, Device(device))) {}
  ~OnToken() {
    device->hold_begins(false);
    device->hold_work(false);
    device->drain();  // its threads must not be the last to let it go
  }
  OnToken(const OnToken&) = delete;

  Execution step() { return t.execute(net.inputs, net.labels); }
  Execution forward() { return t.execute_forward(net.inputs, net.labels); }
  /// Memory is allocated, and so is whatever waits for the device.
  void warm_up() {
    step().wait();
    forward();
    t.execute_gradient();
    t.execute_optimizer_update().wait();
    device->drain();
    num_begun = device->num_begun();
  }
  void wait_until_begun(int count) {
    device->wait_until_begun(num_begun + count);
  }

  const std::shared_ptr<TokenDevice> device = TokenDevice::make();
  Linear net{4, 3, 2, 1};
  TrainingGraph t;
  int num_begun = 0;
};

/// The same on the CPU.
struct OnCpu {
  explicit OnCpu(OptimizerPtr optimizer)
      : t(net.train(std::move(optimizer), {}, Device::cpu())) {}
  void step() { t.execute(net.inputs, net.labels).wait(); }
  void phases() {
    t.execute_forward(net.inputs, net.labels);
    t.execute_gradient();
    t.execute_optimizer_update().wait();
  }

  Linear net{4, 3, 2, 1};
  TrainingGraph t;
};

inline OptimizerPtr adam() { return std::make_shared<optimizers::Adam>(0.1f); }

}  // namespace traingraph::testing
