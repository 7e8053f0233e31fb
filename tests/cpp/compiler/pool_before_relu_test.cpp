// SPDX-License-Identifier: MIT
#include "compiler/passes/pool_before_relu.h"

#include <gtest/gtest.h>

#include <vector>

#include "graph/op_def.h"
#include "graph/verify.h"

namespace traingraph {
namespace {

class PoolBeforeRelu : public ::testing::Test {
 protected:
  ValueId activation(ValueId v, ActivationAttrs attrs = {}) {
    return program.append_one(OpKind::Activation, attrs, {v}, "activation");
  }
  ValueId max_pool(ValueId v) {
    return program.append_one(OpKind::MaxPool2d, Pool2dAttrs{{2, 2}, {2, 2}},
                              {v}, "pool");
  }
  /// The ops in order, after the pass.
  std::vector<std::string> names(std::vector<ValueId> named = {}) {
    pool_before_relu(program, named);
    verify(program);
    std::vector<std::string> names;
    for (const Node& node : program.nodes()) names.push_back(node.name);
    return names;
  }
  using Names = std::vector<std::string>;
  const Names as_written{"activation", "pool"};

  Program program;
  ValueId x = program.add_value(Role::Input, {{2, 3, 6, 4}}, "x");
};

TEST_F(PoolBeforeRelu, ReluWorksOnWhatIsPooled) {
  const ValueId r = activation(x);
  const ValueId y = max_pool(r);
  const ValueId z = activation(y, {ActivationType::Tanh, 1, 1});
  EXPECT_EQ(names({kNoValue, y, z}),
            (Names{"pool", "activation", "activation"}));
  const Node& pool = program.node(0);
  const Node& relu = program.node(1);
  EXPECT_EQ(pool.inputs, std::vector<ValueId>{x});
  EXPECT_EQ(relu.inputs, std::vector<ValueId>{r});
  EXPECT_EQ(relu.outputs, std::vector<ValueId>{y});
  EXPECT_EQ(program.shape(r), (Shape{2, 3, 3, 2}));
  EXPECT_EQ(program.node(2).inputs, std::vector<ValueId>{y});
}

TEST_F(PoolBeforeRelu, PassesSeveralPoolings) {
  const ValueId unrelated = program.add_value(Role::Input, {{5}}, "unrelated");
  const ValueId r = activation(x);
  activation(unrelated, {ActivationType::Tanh, 1, 1});
  max_pool(program.append_one(OpKind::MaxPool2d, Pool2dAttrs{{2, 1}, {1, 1}},
                              {r}, "first"));
  EXPECT_EQ(names(), (Names{"first", "activation", "pool", "activation"}));
}

TEST_F(PoolBeforeRelu, ANamedResultStays) {
  const ValueId r = activation(x);
  max_pool(r);
  EXPECT_EQ(names({r}), as_written);
}

TEST_F(PoolBeforeRelu, AResultThatOthersReadStays) {
  const ValueId r = activation(x);
  max_pool(r);
  activation(r, {ActivationType::Tanh, 1, 1});
  EXPECT_EQ(names(), (Names{"activation", "pool", "activation"}));
}

TEST_F(PoolBeforeRelu, OtherActivationsAndPoolingsStay) {
  max_pool(activation(x, {ActivationType::Sigmoid}));
  EXPECT_EQ(names(), as_written);
  for (float slope : {0.1f, -0.1f}) {
    program = {};
    x = program.add_value(Role::Input, {{2, 3, 6, 4}}, "x");
    max_pool(activation(x, {ActivationType::ReLU, slope}));
    EXPECT_EQ(names(), as_written);
  }
  program = {};
  x = program.add_value(Role::Input, {{2, 3, 6, 4}}, "x");
  program.append(OpKind::AveragePool2d, AveragePool2dAttrs{{2, 2}, {2, 2}},
                 {activation(x)}, "average");
  EXPECT_EQ(names(), (Names{"activation", "average"}));
}

}  // namespace
}  // namespace traingraph
