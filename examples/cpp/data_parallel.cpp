// SPDX-License-Identifier: MIT
// One network that several processes train, each on its part of every batch.
//
//   mpiexec -n 2 example_data_parallel
//
// A library of MPI is loaded at run time (pip install mpich); without one, the
// program trains alone.
#include <traingraph/traingraph.h>

#include <cstdio>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace tg = traingraph;
namespace layers = traingraph::layers;
constexpr std::int64_t kBatch = 64, kInputs = 20, kClasses = 4;

/// The same on every rank: points around a center for each class.
struct Data {
  explicit Data(std::int64_t samples) : labels(samples * kClasses) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> centers(kClasses * kInputs);
    for (float& value : centers) value = normal(random);
    for (std::int64_t i = 0; i < samples; ++i) {
      labels[i * kClasses + i % kClasses] = 1;
      for (std::int64_t k = 0; k < kInputs; ++k) {
        const float center = centers[i % kClasses * kInputs + k];
        inputs.push_back(center + normal(random));
      }
    }
  }
  std::vector<float> inputs, labels;
};

/// Null when there is no MPI.
std::shared_ptr<tg::Collective> find_ranks() {
  try {
    return tg::mpi_collective();
  } catch (const tg::DeviceError& error) {
    std::printf("alone: %s\n", error.what());
    return nullptr;
  }
}

int main() {
  const auto ranks = find_ranks();
  const std::int64_t rank = ranks ? ranks->rank() : 0;
  const std::int64_t size = ranks ? ranks->size() : 1;

  const tg::Tensor x({{kBatch, kInputs}}, "x");
  const tg::Tensor label({{kBatch, kClasses}}, "label");
  tg::Graph g;
  tg::Tensor h =
      g.node(std::make_shared<layers::FullyConnected>(kInputs, 32), x);
  h = g.node(std::make_shared<layers::ReLU>(), h);
  g.node(std::make_shared<layers::FullyConnected>(32, kClasses), h);
  tg::TrainingGraph training(
      {g}, std::make_shared<tg::losses::SoftmaxCrossEntropy>(),
      std::make_shared<tg::optimizers::Adam>(1e-2f));
  training.add_inputs({{"x", x}}, {{"label", label}});
  // Waits for all ranks; they begin with the parameters of rank 0.
  training.compile(tg::Device::cpu(), {.data_parallel = {.collective = ranks}});

  const Data data(640);
  float first = 0, last = 0;
  for (int step = 0; step < 50; ++step) {
    const std::int64_t batch = step % 10 * kBatch;
    const std::int64_t begin = batch + kBatch * rank / size;
    const std::int64_t count = batch + kBatch * (rank + 1) / size - begin;
    const std::span inputs(&data.inputs[begin * kInputs], count * kInputs);
    const std::span labels(&data.labels[begin * kClasses], count * kClasses);
    const auto run = training.execute({{"x", inputs}}, {{"label", labels}}, {},
                                      {.batch_size = count});
    last = run.result().loss();  // of this rank's samples
    if (step == 0) first = last;
  }
  if (rank == 0) {
    std::printf("%d ranks, loss %g -> %g\n", static_cast<int>(size), first,
                last);
  }
  return last < 0.2f * first ? 0 : 1;
}
