// SPDX-License-Identifier: MIT
// Graphs whose parameters are stored in 16 bits: gradients and buffers of the
// optimizer are float32, an update rounds once, and files keep every bit.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "checkpoint/checkpoint_fixture.h"
#include "traingraph/c.h"

namespace traingraph {
namespace {

using namespace testing;

template <class T>
std::vector<T> rounded(const Floats& values) {
  return {values.begin(), values.end()};
}

template <class T>
std::vector<std::uint16_t> bits_of(std::span<const T> values) {
  std::vector<std::uint16_t> bits;
  for (const T& value : values) bits.push_back(value.bits);
  return bits;
}

/// x (8, 6) -> dense -> ReLU -> dense (8, 3), all of it in T, and a float32
/// mean squared error of that.
template <class T>
struct Net {
  explicit Net(OptimizerPtr with = adam(), const CompileOptions& options = {},
               DataType type = kDataTypeOf<T>)
      : optimizer(std::move(with)),
        x({{8, 6}, type}, "x"),
        label({{8, 3}}, "label") {
    Platform::set_rng_seed(3);
    first = make(6, 5, type, "first");
    second = make(5, 3, type, "second");
    Tensor h = graph.node(first, x);
    h = graph.node(std::make_shared<layers::ReLU>(), h);
    y = graph.node(second, h);
    training.emplace(std::vector{graph},
                     std::make_shared<losses::MeanSquaredError>(), optimizer);
    training->add_inputs({{"x", x}}, {{"label", label}});
    training->add_outputs({{"y", y}});
    training->compile(test_device(), options);
  }
  Net(const Net&) = delete;

  static std::shared_ptr<layers::FullyConnected> make(std::int64_t in,
                                                      std::int64_t out,
                                                      DataType type,
                                                      const char* name) {
    const Tensor weights =
        Tensor::random({{out, in}, type}, RandomInitializerType::GlorotUniform);
    auto layer = std::make_shared<layers::FullyConnected>(
        in, out, WeightOptions{.weights = weights});
    layer->set_name(name);
    return layer;
  }

  std::vector<NamedData> inputs(int step) {
    x_data = rounded<T>(random_floats(8 * 6, 20 + step));
    return {{"x", x_data}};
  }
  std::vector<NamedData> labels(int step) {
    label_data = random_floats(8 * 3, 50 + step);
    return {{"label", view(label_data)}};
  }
  void step(int i) { training->execute(inputs(i), labels(i)).wait(); }

  /// Reads the values of the device.
  std::vector<T> now(const Tensor& tensor) const {
    std::vector<T> values(
        static_cast<std::size_t>(tensor.shape().num_elements()));
    tensor.copy_data_from_device_memory(
        std::as_writable_bytes(std::span(values)));
    return values;
  }
  std::vector<std::vector<std::uint16_t>> values() const {
    std::vector<std::vector<std::uint16_t>> all;
    for (const auto& layer : {first, second}) {
      all.push_back(bits_of<T>(now(layer->weights())));
      all.push_back(bits_of<T>(now(layer->biases())));
    }
    return all;
  }

  OptimizerPtr optimizer;
  Tensor x, label, y;
  Graph graph;
  std::shared_ptr<layers::FullyConnected> first, second;
  std::optional<TrainingGraph> training;
  std::vector<T> x_data;
  Floats label_data;
};

template <class T>
struct HalfParameters : ::testing::Test {};
using Halves = ::testing::Types<bfloat16, float16>;
TYPED_TEST_SUITE(HalfParameters, Halves);

TYPED_TEST(HalfParameters, AnUpdateRoundsOnce) {
  Net<TypeParam> net(sgd(0.5f));
  EXPECT_EQ(net.first->biases().data_type(), kDataTypeOf<TypeParam>);
  TrainingGraph& t = *net.training;
  for (int step = 0; step < 3; ++step) {
    t.execute_forward(net.inputs(step), net.labels(step));
    t.execute_gradient().wait();
    std::vector<std::vector<std::uint16_t>> expected;
    for (const Tensor& parameter : t.parameters()) {
      const Floats gradient = t.gradient_data(parameter);
      std::vector<TypeParam> p = net.now(parameter);
      for (std::size_t i = 0; i < p.size(); ++i) {
        p[i] = TypeParam(static_cast<float>(p[i]) - 0.5f * gradient[i]);
      }
      expected.push_back(bits_of<TypeParam>(p));
    }
    t.execute_optimizer_update().wait();
    if (computes()) {
      EXPECT_EQ(net.values(), expected);
    }
  }
}

TYPED_TEST(HalfParameters, GradientsAreFloatsAndCanBeEdited) {
  Net<TypeParam> net(sgd(0.5f));
  TrainingGraph& t = *net.training;
  const Tensor& w = net.first->weights();
  t.execute_forward(net.inputs(0), net.labels(0));
  t.execute_gradient().wait();
  EXPECT_EQ(t.gradient_data(w).size(), 30u);
  t.set_gradient_data(w, Floats(30, 1.0f));
  const auto before = net.now(w);
  t.execute_optimizer_update().wait();
  const auto after = net.now(w);
  if (!computes()) return;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].bits, TypeParam(before[i] - 0.5f).bits);
  }
}

TYPED_TEST(HalfParameters, StepsAndPhasesAgree) {
  Net<TypeParam> one, other;
  for (int step = 0; step < 4; ++step) {
    one.step(step);
    TrainingGraph& t = *other.training;
    t.execute_forward(other.inputs(step), other.labels(step));
    t.execute_gradient();
    t.execute_optimizer_update().wait();
  }
  EXPECT_EQ(one.values(), other.values());
}

TYPED_TEST(HalfParameters, GradientsAddUpInFloats) {
  const CompileOptions options{.accumulate_gradients = true};
  Net<TypeParam> net(sgd(0.5f), options);
  TrainingGraph& t = *net.training;
  Floats sum(30, 0.0f);
  for (int step = 0; step < 2; ++step) {
    Net<TypeParam> single(sgd(0.5f));
    single.training->execute_forward(single.inputs(step), single.labels(step));
    single.training->execute_gradient().wait();
    const Floats own = single.training->gradient_data(single.first->weights());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
    t.execute_forward(net.inputs(step), net.labels(step));
    t.execute_gradient({.accumulate = GradientAccumulation::Sum}).wait();
  }
  expect_near(t.gradient_data(net.first->weights()), sum, 1e-6);
  t.execute_optimizer_update().wait();
}

TYPED_TEST(HalfParameters, BuffersOfTheOptimizerAreFloats) {
  Net<TypeParam> net;
  net.step(0);
  const Tensor& w = net.first->weights();
  w.synchronize_optimizer_data();
  for (const OptimizerData& slot : w.optimizer_data()) {
    EXPECT_EQ(slot.descriptor.data_type, DataType::Float32);
    EXPECT_EQ(slot.data.size(), 30 * sizeof(float));
  }
  const std::vector<float> ones(30, 1.0f);
  w.bind_optimizer_data(std::vector{TensorData(ones), TensorData(ones)});
  const std::vector<TypeParam> halves(30);
  EXPECT_THROW(w.bind_optimizer_data(
                   std::vector{TensorData(halves), TensorData(halves)}),
               DTypeError);
}

TYPED_TEST(HalfParameters, OutputsAndInputsAreOfTheirType) {
  Net<TypeParam> net;
  const auto result =
      net.training->execute_forward(net.inputs(0), net.labels(0)).result();
  EXPECT_EQ(result.output("y").template values<TypeParam>().size(), 24u);
  EXPECT_TRUE(result.has_loss());
  const Floats floats(8 * 6);
  const std::vector<NamedData> wrong{{"x", floats}};
  EXPECT_THROW(net.training->execute_forward(wrong, net.labels(0)), DTypeError);
  std::vector<TypeParam> y(24);
  ExecuteOptions options;
  const std::vector<NamedData> outputs{{"y", y}};
  options.outputs_data = outputs;
  net.training->execute_forward(net.inputs(0), net.labels(0), {}, options)
      .wait();
  const std::vector<TypeParam> known(
      result.output("y").template values<TypeParam>().begin(),
      result.output("y").template values<TypeParam>().end());
  EXPECT_EQ(bits_of<TypeParam>(y), bits_of<TypeParam>(known));
}

TYPED_TEST(HalfParameters, ARunGoesOnFromAFileBitForBit) {
  const Folder folder;
  const auto path = folder / "net.safetensors";
  Net<TypeParam> net, again;
  for (int step = 0; step < 3; ++step) net.step(step);
  net.training->save(path);
  const std::string text = bytes_of(path).substr(0, 2000);
  const bool is_bfloat = std::is_same_v<TypeParam, bfloat16>;
  EXPECT_NE(text.find(is_bfloat ? "\"BF16\"" : "\"F16\""), std::string::npos);
  EXPECT_NE(text.find("\"F32\""), std::string::npos);  // slots
  EXPECT_TRUE(again.training->restore(path).fits());
  EXPECT_EQ(again.values(), net.values());
  for (int step = 3; step < 6; ++step) {
    net.step(step);
    again.step(step);
  }
  EXPECT_EQ(again.values(), net.values());
}

TYPED_TEST(HalfParameters, AnArtefactGoesOnBitForBit) {
  const Folder folder;
  const auto path = folder / "net.safetensors";
  Net<TypeParam> net;
  net.training->export_graph(path);
  for (int step = 0; step < 2; ++step) net.step(step);
  net.training->export_graph(folder / "later.safetensors");
  for (int step = 2; step < 4; ++step) net.step(step);
  for (const char* name : {"net.safetensors", "later.safetensors"}) {
    TrainingGraph loaded = TrainingGraph::load(folder / name, test_device());
    Net<TypeParam> data;
    for (int step = name[0] == 'n' ? 0 : 2; step < 4; ++step) {
      loaded.execute(data.inputs(step), data.labels(step)).wait();
    }
    const Tensor w = loaded.tensor("first.weights");
    EXPECT_EQ(bits_of<TypeParam>(data.now(w)), net.values()[0]) << name;
  }
}

TYPED_TEST(HalfParameters, FilesOfOtherTypesAreRefused) {
  const Folder folder;
  const auto path = folder / "net.safetensors";
  Net<float> wide(adam(), {}, DataType::Float32);
  wide.training->save(path);
  Net<TypeParam> net;
  net.step(0);
  const auto before = net.values();
  const ErrorInfo info =
      error_of<DTypeError>([&] { net.training->restore(path); });
  EXPECT_NE(info.got.find("first.weights: float32 (5, 6) in the file, " +
                          std::string(to_string(kDataTypeOf<TypeParam>))),
            std::string::npos)
      << info.got;
  EXPECT_NE(info.hint.find("load_state_dict"), std::string::npos) << info.hint;
  EXPECT_EQ(net.values(), before);
  const RestoreReport report = net.training->restore(path, /*strict=*/false);
  EXPECT_EQ(report.mismatched.size(), 4u);  // and no buffer
  EXPECT_EQ(net.values(), before);

  net.training->save(path);
  error_of<DTypeError>([&] { wide.training->restore(path); });
}

TYPED_TEST(HalfParameters, StatesAreReadAndLoadedByTheirType) {
  Net<TypeParam> net;
  const auto tensors = net.training->state_tensors(false);
  ASSERT_EQ(tensors.size(), 4u);
  for (const StateTensor& tensor : tensors) {
    EXPECT_EQ(tensor.descriptor.data_type, kDataTypeOf<TypeParam>);
  }
  std::vector<TypeParam> w(30);
  net.training->read_state_dict({{"first.weights", w}});
  EXPECT_EQ(bits_of<TypeParam>(w), net.values()[0]);
  std::vector<float> wide(30);
  EXPECT_THROW(net.training->read_state_dict({{"first.weights", wide}}),
               DTypeError);
  EXPECT_THROW(
      net.training->load_state_dict({{"first.biases", std::vector<float>(5)}}),
      InvalidArgument);  // and others are missing
  const std::vector<TypeParam> ones(30, TypeParam(1.0f));
  net.training->load_state_dict({{"first.weights", ones}}, /*strict=*/false);
  EXPECT_EQ(net.values()[0], bits_of<TypeParam>(ones));
}

/// A loaded graph of the C interface.
class CGraph {
 public:
  explicit CGraph(const std::filesystem::path& path) {
    tg_load_options options{};
    options.size = sizeof(options);
    options.device = "cpu";
    EXPECT_EQ(tg_load_training(path.c_str(), &options, &graph), TG_OK)
        << tg_error_text();
  }
  ~CGraph() { tg_release_graph(graph); }
  CGraph(const CGraph&) = delete;

  tg_graph* graph = nullptr;
};

TYPED_TEST(HalfParameters, CReadsAndWritesFloatsOfThem) {
  const Folder folder;
  const auto path = folder / "net.safetensors";
  Net<TypeParam> net;
  net.training->export_graph(path);
  const CGraph c(path);
  tg_tensor w{};
  w.size = sizeof(w);
  ASSERT_EQ(tg_find_tensor(c.graph, TG_PARAMETER, "first.weights", &w), TG_OK);
  const bool is_bfloat = std::is_same_v<TypeParam, bfloat16>;
  EXPECT_EQ(w.data_type, is_bfloat ? TG_BFLOAT16 : TG_FLOAT16);
  EXPECT_EQ(w.bytes, 60u);
  std::vector<TypeParam> own(30);
  ASSERT_EQ(tg_read_tensor(c.graph, "first.weights", own.data(), 60), TG_OK);
  EXPECT_EQ(bits_of<TypeParam>(own), net.values()[0]);

  std::size_t count = 0;
  ASSERT_EQ(tg_count_parameters(c.graph, &count), TG_OK);
  ASSERT_EQ(count, 30u + 5 + 15 + 3);
  Floats all(count);
  ASSERT_EQ(tg_read_parameters(c.graph, all.data(), count), TG_OK);
  EXPECT_EQ(all[7], static_cast<float>(own[7]));
  all[0] = 1 + 1e-5f;  // rounds to 1
  all[count - 1] = -3;
  ASSERT_EQ(tg_write_parameters(c.graph, all.data(), count), TG_OK);
  ASSERT_EQ(tg_read_parameters(c.graph, all.data(), count), TG_OK);
  EXPECT_EQ(all[0], 1);
  EXPECT_EQ(all[7], static_cast<float>(own[7]));
  EXPECT_EQ(all[count - 1], -3);
  const Floats before = all;
  all[0] = 2;
  all[count - 1] = std::numeric_limits<float>::max();
  EXPECT_EQ(tg_write_parameters(c.graph, all.data(), count),
            TG_INVALID_ARGUMENT);
  ASSERT_EQ(tg_read_parameters(c.graph, all.data(), count), TG_OK);
  EXPECT_EQ(all, before);

  tg_data x{};
  x.name = "x";
  x.data = own.data();
  x.bytes = 60;
  x.data_type = TG_FLOAT32;
  x.rank = 2;
  x.shape[0] = 8;
  x.shape[1] = 6;
  tg_run run{};
  run.size = sizeof(run);
  run.inputs = &x;
  run.num_inputs = 1;
  EXPECT_EQ(tg_execute(c.graph, &run, nullptr), TG_DTYPE_ERROR);
}

}  // namespace
}  // namespace traingraph
