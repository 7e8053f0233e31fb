// SPDX-License-Identifier: MIT
// listing(): forward ops as data, in inference form, with declared names.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

struct Network {
  Network() {
    norm->set_name("norm");
    drop->set_name("drop");
    head->set_name("head");
    y = graph.node(head, graph.node(drop, graph.node(norm, x)));
  }

  TrainingGraph training() const {
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                    sgd(0.1f));
    t.add_inputs({{"features", x}}, {{"target", label}});
    t.add_outputs({{"result", y}});
    return t;
  }

  Tensor x{{{4, 3}}, "x"}, label{{{4, 2}}, "label"}, y;
  std::shared_ptr<Layer> norm = std::make_shared<layers::BatchNormalization>(3);
  std::shared_ptr<Layer> drop = std::make_shared<layers::Dropout>(0.5f);
  std::shared_ptr<layers::FullyConnected> head =
      std::make_shared<layers::FullyConnected>(3, 2);
  Graph graph;
};

const ListedNode& node_named(const GraphListing& listing,
                             std::string_view name) {
  const auto it = std::ranges::find(listing.nodes, name, &ListedNode::name);
  EXPECT_NE(it, listing.nodes.end()) << name;
  return *it;
}

TEST(Listing, NeedsACompiledGraph) {
  EXPECT_THROW((void)Network().training().listing(), StateError);
}

TEST(Listing, HasTheForwardOpsInInferenceForm) {
  const Network network;
  TrainingGraph training = network.training();
  training.compile(Device::null());
  const GraphListing listing = training.listing();
  const ListedNode& norm = node_named(listing, "norm");
  EXPECT_EQ(norm.op, "batch_norm");
  EXPECT_FALSE(std::get<BatchNormAttrs>(norm.attributes).training);
  EXPECT_EQ(node_named(listing, "head").op, "matmul");
  for (const ListedNode& node : listing.nodes) {
    EXPECT_EQ(node.op.find("gradient"), std::string_view::npos) << node.op;
    EXPECT_EQ(node.op.find("update"), std::string_view::npos) << node.op;
  }
}

TEST(Listing, NamesTensorsAndSaysWhereTheyComeFrom) {
  const Network network;
  TrainingGraph training = network.training();
  training.compile(Device::null());
  const GraphListing listing = training.listing();
  const ListedValue& x = listing.values.at(listing.inputs.at("features"));
  EXPECT_EQ(x.role, "input");
  EXPECT_EQ(x.batch_axis, 0);
  EXPECT_TRUE(x.tensor == network.x);
  EXPECT_EQ(listing.values.at(listing.labels.at("target")).role, "input");
  EXPECT_EQ(listing.outputs.at("result"), listing.result);
  const ListedNode& head = node_named(listing, "head");
  const ListedValue& weights = listing.values.at(head.inputs.at(1));
  EXPECT_EQ(weights.role, "variable");
  EXPECT_EQ(weights.batch_axis, -1);
  EXPECT_TRUE(weights.tensor == network.head->weights());
  EXPECT_EQ(head.outputs.front(), listing.result);
}

}  // namespace
}  // namespace traingraph
