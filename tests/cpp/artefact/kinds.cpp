// SPDX-License-Identifier: MIT
// Networks of the fixture, small enough for files of a few kilobytes.
#include "artefact/artefact_fixture.h"

namespace traingraph::testing {
namespace {

using namespace layers;

Tensor floats(Shape shape, const char* name) { return Tensor({shape}, name); }
Tensor indices(Shape shape, const char* name) {
  return Tensor({shape, DataType::Int32}, name);
}
template <class LayerType, class... Args>
LayerPtr make(Args&&... args) {
  return std::make_shared<LayerType>(std::forward<Args>(args)...);
}
std::shared_ptr<const losses::Loss> cross_entropy() {
  return std::make_shared<losses::SoftmaxCrossEntropy>();
}
std::shared_ptr<const losses::Loss> squared() {
  return std::make_shared<losses::MeanSquaredError>();
}

Built compiled(TrainingGraph training, const TensorMap& gradients = {},
               const CompileOptions& options = {}) {
  training.compile(test_device(), options);
  return {std::move(training), gradients};
}

/// Dropout, batch normalization, a schedule, a frozen layer.
Built dense() {
  const Tensor x = floats({kSamples, 5}, "x"),
               label = indices({kSamples}, "class");
  Graph g;
  auto first = std::make_shared<FullyConnected>(5, 4);
  first->set_name("first");
  Tensor h = g.node(first, x);
  h = g.node(make<BatchNormalization>(4), h);
  h = g.node(make<ReLU>(), h);
  h = g.node(make<Dropout>(0.25f), h);
  h = g.node(make<FullyConnected>(4, 4), std::vector{h},
             {.disable_update = true});
  h = g.node(make<FullyConnected>(4, 3), h);
  auto optimizer = adam(0.05f);
  optimizer->set_schedule(
      Schedule::warm_up(Schedule::cosine(0.05f, 12), 3, 0.001f));
  TrainingGraph t({g}, cross_entropy(), optimizer);
  t.add_inputs({{"x", x}}, {{"class", label}});
  t.add_outputs({{"y", h}});
  return compiled(std::move(t));
}

Built image() {
  const Tensor x = floats({kSamples, 2, 6, 6}, "x");
  const Tensor label = floats({kSamples, 3}, "label");
  Graph g;
  Tensor h = g.node(make<Convolution>(2, 4, 3), x);
  h = g.node(make<GroupNormalization>(4, 2), h);
  h = g.node(make<MaxPooling>(2), h);
  h = g.reshape({kSamples, -1}, h);
  h = g.node(make<FullyConnected>(36, 3), h);
  OptimizerDescriptor d{
      .learning_rate = 0.01f,
      .applies_gradient_clipping = true,
      .gradient_clipping_type = GradientClippingType::ByGlobalNorm,
      .maximum_clipping_norm = 0.5f,
      .regularization_scale = 0.01f};
  TrainingGraph t({g}, squared(), std::make_shared<optimizers::AdamW>(d));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.add_outputs({{"y", h}});
  return compiled(std::move(t));
}

/// Rows of the table are behind, and come with the file.
Built table() {
  const Tensor i = indices({kSamples}, "i"),
               label = floats({kSamples, 2}, "label");
  Graph g;
  const Tensor h = g.node(make<Embedding>(200, 2), i);
  TrainingGraph t({g}, squared(), adam());
  t.add_inputs({{"i", i}}, {{"label", label}});
  return compiled(std::move(t));
}

Built attention() {
  const Tensor x = floats({kSamples, 3, 4}, "x");
  const Tensor label = floats({kSamples, 3, 4}, "label");
  Graph g;
  const MultiheadAttentionDescriptor d{
      .model_dimension = 4, .head_count = 2, .dropout = 0.2f};
  Tensor h = g.node(make<MultiheadAttention>(d), {x, x, x});
  h = g.node(make<LayerNormalization>(Shape{4}), h);
  TrainingGraph t({g}, squared(), adam());
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.add_outputs({{"y", h}});
  return compiled(std::move(t));
}

Built recurrent() {
  const Tensor x = floats({kSamples, 4, 3}, "x");
  const Tensor label = floats({kSamples, 4, 4}, "label");
  Graph g;
  const Tensor h =
      g.node(make<LSTM>(LSTMDescriptor{
                 .input_size = 3, .hidden_size = 2, .bidirectional = true}),
             x);
  TrainingGraph t(
      {g}, squared(),
      std::make_shared<optimizers::RMSProp>(0.01f, 0.9f, 0.99f, 1e-8f, true));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.add_outputs({{"y", h}});
  return compiled(std::move(t));
}

/// Gather, several losses as nodes, a constant, a stop, an input that is
/// trained, a result that is masked by minus infinity.
Built several() {
  const Tensor x = floats({kSamples, 4}, "x"), i = indices({kSamples, 2}, "i");
  const Tensor a = floats({kSamples, 2}, "label");
  const Tensor b = floats({kSamples, 4}, "label2");
  const Floats factors{0.5f, -1, 2, 3};
  const Tensor constant({{1, 4}}, view(factors), "factors", std::nullopt);
  const Tensor bias = Tensor::filled({{1, 4}}, 0.1, "bias", std::nullopt);
  Graph g;
  auto fc = std::make_shared<FullyConnected>(4, 4);
  fc->set_name("fc");
  using enum ArithmeticOperation;
  const Tensor scaled = g.node(make<Arithmetic>(Multiply), {x, constant});
  const Tensor moved = g.node(make<Arithmetic>(Add), {scaled, bias});
  const Tensor h = g.node(fc, moved);
  const Tensor picked = g.gather(1, h, i);
  const Tensor masked =
      g.op(OpKind::Fill, FillAttrs{.shape = {1}, .value = -INFINITY}, {})[0];
  const Tensor top = g.node(make<Arithmetic>(Max), {h, masked});
  const auto mse = std::make_shared<losses::MeanSquaredError>();
  g.node(mse, std::vector{picked}, {.loss_labels = {a}});
  g.node(make<losses::Huber>(), std::vector{top}, {.loss_labels = {b}});
  TrainingGraph t({g}, nullptr, sgd(0.05f, 0.9f));
  t.add_inputs({{"x", x}, {"i", i}}, {{"label", a}, {"label2", b}});
  t.add_outputs({{"picked", picked}, {"top", top}});
  t.stop_gradient({scaled});
  t.set_training_tensor_parameters({TensorParameter(bias)});
  return compiled(std::move(t));
}

/// No loss: the gradient comes from the user. All gradients are computed.
Built given() {
  const Tensor x = floats({kSamples, 3}, "x");
  Graph g;
  const Tensor h = g.node(make<FullyConnected>(3, 2), x);
  const Tensor y = g.node(make<Tanh>(), h);
  TrainingGraph t({g}, nullptr, sgd(0.1f));
  t.add_inputs({{"x", x}});
  t.add_outputs({{"y", y}});
  const Tensor gradient = t.allocate_user_gradient(y);
  return compiled(std::move(t), {{gradient.name(), gradient}},
                  {.compute_all_gradients = true});
}

/// The gradient is a node of the graph, in its own phase.
Built declared() {
  const Tensor x = floats({kSamples, 3}, "x"), dy = floats({kSamples, 2}, "x2");
  const Tensor w = Tensor::random(
      {{3, 2}}, RandomInitializerType::GlorotUniform, 0, 0, "w", std::nullopt);
  const ActivationAttrs tanh{ActivationType::Tanh, 1, 1};
  Graph g;
  const Tensor h = g.op(OpKind::MatMul, MatMulAttrs{}, {x, w}, "h")[0];
  const Tensor y = g.op(OpKind::Activation, tanh, {h}, "y")[0];
  const Tensor dh =
      g.op(OpKind::ActivationGradient, tanh, {dy, h}, "dh", Phase::Gradient)[0];
  const Tensor dw = g.op(OpKind::MatMul, MatMulAttrs{.transposes_x = true},
                         {x, dh}, "dw", Phase::Gradient)[0];
  TrainingGraph t({g}, nullptr, sgd(0.1f, 0.9f));
  t.add_inputs({{"x", x}, {"x2", dy}});
  t.add_outputs({{"y", y}});
  t.set_training_tensor_parameters({TensorParameter(w)});
  t.set_gradient(w, dw);
  return compiled(std::move(t));
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"dense", dense},         {"image", image},         {"table", table},
      {"attention", attention}, {"recurrent", recurrent}, {"several", several},
      {"given", given},         {"declared", declared}};
  return all;
}

}  // namespace traingraph::testing
