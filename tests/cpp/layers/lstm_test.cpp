// SPDX-License-Identifier: MIT
// LSTM layers: shapes, sources, parameters, refusals, and what a long sequence
// costs. Numbers are compared in Python: tests/python/test_lstm.py.
#include <gtest/gtest.h>

#include <array>

#include "layers/graph_state.h"
#include "traingraph/error.h"
#include "traingraph/graph.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using layers::LSTM;

constexpr std::int64_t kN = 3, kT = 4, kIn = 5, kHidden = 6;

Tensor input(Shape shape, DataType type = DataType::Float32) {
  return Tensor({.shape = shape, .data_type = type});
}

LSTMDescriptor descriptor() {
  return {.input_size = kIn, .hidden_size = kHidden};
}

std::vector<Shape> shapes_after(const LSTMDescriptor& d,
                                std::vector<Tensor> sources) {
  Graph graph;
  const auto layer = std::make_shared<LSTM>(d);
  graph.node(layer, std::move(sources));
  std::vector<Shape> shapes;
  for (const Tensor& result : graph.result_tensors(*layer)) {
    shapes.push_back(result.shape());
  }
  return shapes;
}

template <class ErrorType, class Call>
ErrorInfo error_of(Call call) {
  try {
    call();
  } catch (const ErrorType& e) {
    return e.info();
  }
  ADD_FAILURE() << "nothing was thrown, or another type";
  return {};
}

TEST(LstmLayer, ResultsFollowTheOptions) {
  using Shapes = std::vector<Shape>;
  LSTMDescriptor d = descriptor();
  EXPECT_EQ(shapes_after(d, {input({kN, kT, kIn})}), Shapes({{3, 4, 6}}));
  d.returns_sequences = false;
  EXPECT_EQ(shapes_after(d, {input({kN, kT, kIn})}), Shapes({{3, 1, 6}}));
  d.bidirectional = true;
  EXPECT_EQ(shapes_after(d, {input({kN, kT, kIn})}), Shapes({{3, 1, 12}}));
  d.batch_first = false;
  EXPECT_EQ(shapes_after(d, {input({kT, kN, kIn})}), Shapes({{1, 3, 12}}));
  d.returns_sequences = true;
  d.layer_count = 2;
  d.result_mode = LSTMResultMode::OutputAndStates;
  EXPECT_EQ(shapes_after(d, {input({kT, kN, kIn})}),
            Shapes({{4, 3, 12}, {2, 2, 3, 6}, {2, 2, 3, 6}}));
}

TEST(LstmLayer, TakesStatesInBothShapesAndLengthsByType) {
  LSTMDescriptor d = descriptor();
  d.bidirectional = true;
  const Tensor x = input({kN, kT, kIn}), full = input({1, 2, kN, kHidden}),
               flat = input({2, kN, kHidden}),
               lengths = input({kN}, DataType::Int32);
  for (const std::vector<Tensor>& sources :
       std::vector<std::vector<Tensor>>{{x, full},
                                        {x, full, flat},
                                        {x, lengths},
                                        {x, flat, lengths},
                                        {x, flat, full, lengths}}) {
    EXPECT_EQ(shapes_after(d, sources)[0], (Shape{3, 4, 12}));
  }
}

TEST(LstmLayer, RefusesSourcesThatDoNotFit) {
  const auto layer = std::make_shared<LSTM>(descriptor());
  const auto error = [&](std::vector<Tensor> sources) {
    return error_of<ShapeError>([&] { Graph().node(layer, sources); });
  };
  EXPECT_EQ(error({input({kN, kIn})}).expected, "(batch, time, 5)");
  EXPECT_EQ(error({input({kN, kT, 7})}).got, "(3, 4, 7)");
  const Tensor x = input({kN, kT, kIn});
  EXPECT_EQ(error({x, input({1, kN, 7})}).expected,
            "(1, 1, 3, 6) or (1, 3, 6)");
  EXPECT_EQ(error({x, input({2}, DataType::Int32)}).expected, "(3)");
  const Tensor state = input({1, kN, kHidden});
  EXPECT_THROW(Graph().node(layer, {x, state, state, state}), InvalidArgument);
  EXPECT_THROW(Graph().node(layer, {x, state, input({kN}, DataType::Int64)}),
               ShapeError);
}

TEST(LstmLayer, RefusesOptions) {
  const auto refuses = [](auto change) {
    LSTMDescriptor d = descriptor();
    change(d);
    return error_of<InvalidArgument>([&] { LSTM layer(d); }).what;
  };
  using D = LSTMDescriptor;
  EXPECT_EQ(refuses([](D& d) { d.input_size = -1; }),
            "input_size is out of range");
  EXPECT_EQ(refuses([](D& d) { d.hidden_size = 0; }),
            "hidden_size is out of range");
  EXPECT_EQ(refuses([](D& d) { d.layer_count = -1; }),
            "layer_count is out of range");
  EXPECT_EQ(refuses([](D& d) { d.layer_count = D::kMaxLayers + 1; }),
            "layer_count is out of range");
  EXPECT_EQ(refuses([](D& d) { d.dropout = 0.5f; }), "dropout is out of range");
  EXPECT_EQ(
      refuses([](D& d) { d.result_mode = static_cast<LSTMResultMode>(7); }),
      "result_mode is out of range");
  const auto with = [](LSTMOptions options) {
    return [options] { LSTM layer(descriptor(), options); };
  };
  const Tensor w = input({24, 5}), u = input({24, 6}), b = input({6});
  error_of<InvalidArgument>(with({.input_weights = {w, w}}));
  error_of<ShapeError>(with({.hidden_weights = {w}}));
  error_of<InvalidArgument>(with({.hidden_weights = {Tensor()}}));
  error_of<ShapeError>(with({.peephole_weights = {u}}));
  error_of<ShapeError>(with({.biases = {b}}));
  error_of<DTypeError>(with({.biases = {input({24}, DataType::Int32)}}));
  error_of<InvalidArgument>(with({.gate_activations = {ActivationType::Tanh}}));
  error_of<InvalidArgument>(
      with({.input_weights = {w},
            .hidden_weights = {u},
            .initializer = RandomInitializerType::Xavier}));
}

TEST(RecurrentLayers, ErrorsNameTheClassThatWasGivenTheDescriptor) {
  const LSTMDescriptor empty{.input_size = 2, .hidden_size = 0};
  const LSTMDescriptor dropping{
      .input_size = 2, .hidden_size = 3, .dropout = 0.5f};
  for (const LSTMDescriptor& d : {empty, dropping}) {
    const auto op = [](auto make) {
      return error_of<InvalidArgument>(make).op;
    };
    EXPECT_EQ(op([&] { layers::LSTM layer(d); }), "LSTM");
    EXPECT_EQ(op([&] { layers::GRU layer(d); }), "GRU");
    EXPECT_EQ(op([&] { layers::RNN layer(d); }), "RNN");
    EXPECT_EQ(op([&] { d.validate(); }), "LSTMDescriptor");
  }
}

TEST(LstmLayer, WeightsComeGateByGateOrTogether) {
  const Tensor w = input({1, 30}), u = input({6, 6}), b = input({1, 6, 1, 1});
  const LSTM layer(descriptor(), {.input_weights = {w, w, w, w},
                                  .hidden_weights = {input({24, 6})},
                                  .peephole_weights = {b, b, b, b},
                                  .biases = {b, b, b, b}});
  EXPECT_EQ(layer.input_weights().size(), 4u);
  EXPECT_EQ(layer.hidden_weights().size(), 1u);
  EXPECT_EQ(layer.parameters().size(), 13u);
}

TEST(LstmLayer, NamesOneTensorPlainlyAndSeveralByNumber) {
  LSTMDescriptor d = descriptor();
  const auto one = std::make_shared<LSTM>(d);
  d.layer_count = 2;
  const auto two = std::make_shared<LSTM>(d);
  Graph graph;
  const Tensor x = input({kN, kT, kIn});
  graph.node(one, x);
  graph.node(two, x);
  EXPECT_EQ(one->input_weights()[0].name(), "lstm.input_weights");
  EXPECT_EQ(two->hidden_weights()[1].name(), "lstm_2.hidden_weights_2");
  EXPECT_EQ(two->biases()[0].name(), "lstm_2.biases_1");
}

// One op for each layer and direction, whatever the number of steps.
TEST(LstmLayer, HasAsManyOpsForAThousandStepsAsForOne) {
  std::array<std::size_t, 2> counts{};
  for (std::size_t i = 0; i < 2; ++i) {
    Graph graph;
    graph.node(std::make_shared<LSTM>(descriptor()),
               input({kN, i == 0 ? 1 : 1000, kIn}));
    counts[i] = graph.state()->program.nodes().size();
  }
  EXPECT_EQ(counts[0], counts[1]);
}

TEST(SequenceTensors, KnowTheirLengths) {
  const auto d = SequenceDescriptor::of_lengths({3, 2, 1}, true, 2);
  EXPECT_EQ(d.shape, (Shape{3, 3, 2}));
  EXPECT_EQ(d.batch_size_per_sequence_step(),
            (std::vector<std::int64_t>{3, 2, 1}));
  const Tensor tensor = Tensor::sequences(d, "words");
  ASSERT_TRUE(tensor.sequence_descriptor());
  EXPECT_EQ(*tensor.sequence_descriptor(), d);
  EXPECT_FALSE(input({2, 3}).sequence_descriptor());
  const auto same = SequenceDescriptor::of_length(3, 2, 2);
  EXPECT_EQ(same.batch_size_per_sequence_step(),
            (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_TRUE(
      Tensor::sequences(same, RandomInitializerType::Uniform).has_data());
}

TEST(SequenceTensors, AreMadeLikeOtherTensors) {
  const auto d = SequenceDescriptor::of_lengths({2, 1}, true, 1);
  const std::vector<float> values{1, 2, 3, 4};
  using enum RandomInitializerType;
  for (const Tensor& tensor :
       {Tensor(d), Tensor(d, "words", 0), Tensor(d, TensorData(values)),
        Tensor::filled(d, 2), Tensor::random(d, Uniform),
        Tensor::random(d, Xavier, 3, 4)}) {
    ASSERT_TRUE(tensor.sequence_descriptor());
    EXPECT_EQ(*tensor.sequence_descriptor(), d);
  }
  const Tensor twos = Tensor::filled(d, 2);
  EXPECT_EQ(twos.floats()[3], 2);
  error_of<InvalidArgument>([&] { Tensor tensor(d, "words", 1); });
  error_of<InvalidArgument>([&] { Tensor tensor(d, "words", std::nullopt); });
  error_of<InvalidArgument>([&] { Tensor::filled(d, 2, "words", 1); });
}

TEST(SequenceTensors, HaveABound) {
  constexpr std::int64_t kMax = SequenceDescriptor::kMax;
  using S = SequenceDescriptor;
  error_of<ShapeError>([] { S::of_length(1, 1, std::int64_t{1} << 40); });
  error_of<ShapeError>([] { S::of_length(std::int64_t{1} << 40, 1, 1); });
  error_of<ShapeError>([] { S::of_length(kMax + 1, 1, 1); });
  const auto longest = S::of_length(kMax, 1, 1);
  EXPECT_EQ(std::ssize(longest.batch_size_per_sequence_step()), kMax);
}

TEST(SequenceTensors, RefuseLengthsThatDoNotFit) {
  using Lengths = std::vector<std::int64_t>;
  const auto make = [](Shape shape, Lengths lengths, bool sorted = true) {
    return [=] { SequenceDescriptor d(shape, lengths, sorted); };
  };
  error_of<ShapeError>(make({2, 4, 1}, {4}));
  error_of<ShapeError>(make({2, 4}, {4, 2}));
  error_of<ShapeError>(make({2, 4, 1}, {5, 2}));
  error_of<InvalidArgument>(make({2, 4, 1}, {4, 0}));
  error_of<InvalidArgument>(make({2, 4, 1}, {2, 4}));
  make({2, 4, 1}, {2, 4}, false)();
  EXPECT_THROW(SequenceDescriptor::of_lengths({}, true, 1), Error);
}

}  // namespace
}  // namespace traingraph
