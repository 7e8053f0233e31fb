// SPDX-License-Identifier: MIT
// A network with all kinds of state, and bits of files for tests of
// checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/training.h"

namespace traingraph::testing {

/// A folder that is gone when the test is over.
class Folder {
 public:
  Folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "checkpoint.XXXXXX").string();
    if (!::mkdtemp(name.data())) ADD_FAILURE() << "no temporary folder";
    path_ = name;
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  const std::filesystem::path& path() const { return path_; }
  /// Names in it, also of hidden files.
  std::size_t num_files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      count += entry.path().empty() ? 0 : 1;
    }
    return count;
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path,
                        const std::string& bytes) {
  // File systems bring a file that is overwritten to the disk at once.
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

inline OptimizerPtr adam(float rate = 0.01f) {
  return std::make_shared<optimizers::Adam>(rate);
}

/// x (8, 6) -> dense -> batch normalization -> ReLU -> dropout -> dense (8, 3).
struct Network {
  explicit Network(OptimizerPtr optimizer = adam(), std::int64_t hidden = 5,
                   std::int64_t seed = 3, const CompileOptions& options = {})
      : optimizer(std::move(optimizer)) {
    Platform::set_rng_seed(seed);
    first = std::make_shared<layers::FullyConnected>(6, hidden);
    first->set_name("first");
    norm = std::make_shared<layers::BatchNormalization>(hidden);
    norm->set_name("norm");
    const auto second = std::make_shared<layers::FullyConnected>(hidden, 3);
    second->set_name("second");
    Tensor h = graph.node(norm, graph.node(first, x));
    h = graph.node(std::make_shared<layers::ReLU>(), h);
    h = graph.node(std::make_shared<layers::Dropout>(0.25f), h);
    y = graph.node(second, h);
    training.emplace(std::vector{graph},
                     std::make_shared<losses::SoftmaxCrossEntropy>(),
                     this->optimizer);
    training->add_inputs({{"x", x}}, {{"label", label}});
    training->compile(test_device(), options);
  }
  Network(const Network&) = delete;

  InferenceGraph infer() const {
    InferenceGraph inference({graph});
    inference.add_inputs({{"x", x}});
    inference.add_outputs({{"y", y}});
    inference.compile(test_device());
    return inference;
  }

  /// Data follow from the number of the step.
  float step(int number, bool in_phases = false, std::int64_t batch = 0) {
    data = random_floats(8 * 6, 100 + number);
    labels = one_hot(8, 3);
    const ExecuteOptions options{.batch_size = batch};
    const std::int64_t rows = batch ? batch : 8;
    const std::span<const float> x_data(data.data(), rows * 6);
    const std::span<const float> l_data(labels.data(), rows * 3);
    const std::vector<NamedData> in{{"x", TensorData(x_data)}};
    const std::vector<NamedData> out{{"label", TensorData(l_data)}};
    if (!in_phases) {
      return training->execute(in, out, {}, options).result().loss();
    }
    const float loss =
        training->execute_forward(in, out, {}, options).result().loss();
    training->execute_gradient();
    training->execute_optimizer_update().wait();
    return loss;
  }
  /// Steps [from, to), in every way of running in turn.
  std::vector<float> steps(int from, int to) {
    std::vector<float> losses;
    for (int i = from; i < to; ++i) {
      losses.push_back(step(i, i % 3 == 1, i % 4 == 3 ? 5 : 0));
    }
    return losses;
  }

  /// All of the state, in order.
  std::vector<Floats> values() const {
    std::vector<Floats> result;
    std::vector<NamedData> into;
    const auto tensors = training->state_tensors(/*with_optimizer=*/true);
    for (const auto& [name, desc] : tensors) {
      result.emplace_back(desc.shape.num_elements());
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      into.push_back({tensors[i].name, view(result[i])});
    }
    training->read_state_dict(into);
    return result;
  }

  Tensor x{{{8, 6}}, "x"}, label{{{8, 3}}, "label"}, y;
  Graph graph;
  OptimizerPtr optimizer;
  std::shared_ptr<layers::FullyConnected> first;
  std::shared_ptr<layers::BatchNormalization> norm;
  std::optional<TrainingGraph> training;
  Floats data, labels;
};

}  // namespace traingraph::testing
