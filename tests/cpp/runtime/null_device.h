// SPDX-License-Identifier: MIT
// The null device under control: a small graph with names, failures at a node
// and a gate that holds the queue.
#pragma once

#include <latch>
#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/device/null_backend.h"
#include "support/training.h"

namespace traingraph::testing {

/// One layer with a name on the null device.
struct Named {
  explicit Named(const std::string& name) : net(4, 3, 2, 1, name) {
    relu->set_name(name + " relu");
    net.y = net.graph.node(relu, net.y);
  }
  TrainingGraph train() { return net.train(sgd(0.1f), {}, Device::null()); }
  Linear net;
  std::shared_ptr<layers::ReLU> relu = std::make_shared<layers::ReLU>();
};

class NullDevice : public ::testing::Test {
 protected:
  ~NullDevice() override {
    Device::null().synchronize();
    set_null_hook(nullptr);
  }
};

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws in nodes of op `op` and name `node` until there is another hook.
inline void fail_at(const std::string& op, const std::string& node) {
  set_null_hook([=](const std::string& at_op, const std::string& at_node) {
    if (at_op == op && at_node == node) throw Broken(op + " " + node);
  });
}

/// Holds the queue at the first node of a name until opened.
class Gate {
 public:
  explicit Gate(const std::string& node) {
    set_null_hook([this, node](const std::string&, const std::string& at) {
      if (at == node) pass();
    });
  }
  /// Hooks that do more than wait make one themselves.
  Gate() = default;
  void pass() {
    if (!reached_.try_wait()) reached_.count_down();
    opened_.wait();
  }
  void wait_until_reached() { reached_.wait(); }
  void open() { opened_.count_down(); }

 private:
  std::latch reached_{1}, opened_{1};
};

}  // namespace traingraph::testing
