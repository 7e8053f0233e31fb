// SPDX-License-Identifier: MIT
#include "check_graph.h"

#include <cstring>
#include <functional>
#include <optional>
#include <typeinfo>

#include "graph_from_bytes.h"

namespace traingraph::fuzz {
namespace {

/// All that a graph gave, in order: contents of tensors, and errors.
struct Entry {
  std::string name;
  std::vector<std::byte> bytes;
  bool operator==(const Entry&) const = default;
};
using Trace = std::vector<Entry>;

/// Data of any type that no function has trouble with: small and reproducible.
class HostData {
 public:
  HostData(const TensorMap& tensors, int step) {
    for (const auto& [name, tensor] : tensors) {
      const TensorDescriptor& desc = tensor.descriptor();
      buffers_.emplace_back(desc.size_bytes());
      fill(buffers_.back(), desc.data_type, step);
      list_.push_back(
          {name, TensorData(buffers_.back().data(), buffers_.back().size())});
    }
  }
  operator DataList() const { return list_; }

 private:
  static void fill(std::vector<std::byte>& buffer, DataType type, int step) {
    if (type != DataType::Float32) {
      for (std::size_t i = 0; i < buffer.size(); i += size_of(type)) {
        buffer[i] = std::byte((i + step) % 3 == 0);
      }
      return;
    }
    for (std::size_t i = 0; i < buffer.size() / sizeof(float); ++i) {
      const float value =
          static_cast<float>((i * 5 + step * 3) % 17) * 0.125f - 0.75f;
      std::memcpy(&buffer[i * sizeof(float)], &value, sizeof(float));
    }
  }

  std::vector<std::vector<std::byte>> buffers_;
  std::vector<NamedData> list_;
};

/// One graph on one device, and what came of it.
class Run {
 public:
  Run(std::span<const std::uint8_t> bytes, const Device& device,
      bool reuse_memory)
      : device_(device) {
    attempt("build", [&] { source_.emplace(bytes); });
    if (!source_) return;
    source_->options.reuse_memory = reuse_memory;
    source_->trains ? train() : infer();
    read_parameters();
  }
  const Trace& trace() const { return trace_; }
  /// Predicted and allocated bytes where they differ.
  const std::string& memory_fault() const { return memory_fault_; }

 private:
  bool attempt(const char* what, const std::function<void()>& action) {
    try {
      action();
      return true;
    } catch (const InternalError&) {
      throw;
    } catch (const DeviceError&) {
      throw;
    } catch (const Error& error) {
      add(std::string(what) + ": " + typeid(error).name(), {});
      return false;
    }
  }
  void add(std::string name, std::span<const std::byte> bytes) {
    trace_.push_back({std::move(name), {bytes.begin(), bytes.end()}});
  }
  void add(const char* name, const Execution& execution) {
    const ExecutionResult result = execution.result();
    if (result.result()) add(name, result.result()->data);
    for (const OutputView& output : result.outputs()) {
      add(std::string(name) + " " + std::string(output.name), output.data);
    }
  }

  void declare_and_compile(CompiledGraph& graph) {
    graph.add_inputs(source_->inputs, source_->labels);
    graph.add_outputs(source_->outputs);
    graph.compile(device_, source_->options, source_->constants);
  }
  void check_memory(const CompiledGraph& graph) {
    const MemoryReport report = graph.memory();
    if (report.predicted_bytes == report.allocated_bytes) return;
    memory_fault_ = "predicted " + std::to_string(report.predicted_bytes) +
                    " bytes, allocated " +
                    std::to_string(report.allocated_bytes);
  }

  void train() {
    std::optional<TrainingGraph> graph;
    const bool is_compiled = attempt("compile", [&] {
      graph.emplace(std::vector{source_->graph}, source_->loss,
                    source_->optimizer);
      graph->stop_gradient(source_->stopped);
      graph->set_training_tensor_parameters(source_->trained_inputs);
      declare_and_compile(*graph);
    });
    if (!is_compiled) return;
    for (int step = 0; step < 3; ++step) {
      const ExecuteOptions options{.batch_size =
                                       step == 1 ? source_->smaller_batch : 0};
      attempt("step", [&] { train_one(*graph, step, options); });
    }
    attempt("inference", [&] {
      const HostData inputs(source_->inputs, 9);
      add("inference",
          graph->execute(inputs, {}, {}, {.forward_for_inference = true}));
    });
    check_memory(*graph);
  }
  void train_one(TrainingGraph& graph, int step,
                 const ExecuteOptions& options) {
    const HostData inputs(source_->inputs, step);
    const HostData labels(source_->labels, step + 1);
    if (step < 2)
      return add("step", graph.execute(inputs, labels, {}, options));
    add("forward", graph.execute_forward(inputs, labels, {}, options));
    graph.execute_gradient().wait();
    add("gradients", std::as_bytes(graph.gradients()));
    for (const auto& [name, tensor] : source_->inputs) {
      const Tensor gradient = graph.gradient_tensor(tensor);
      if (!gradient) continue;
      gradient.synchronize_data();
      add("gradient of " + name, gradient.data());
    }
    if (source_->optimizer) graph.execute_optimizer_update().wait();
  }

  void infer() {
    std::optional<InferenceGraph> graph;
    const bool is_compiled = attempt("compile", [&] {
      graph.emplace(std::vector{source_->graph});
      declare_and_compile(*graph);
    });
    if (!is_compiled) return;
    const HostData inputs(source_->inputs, 1), labels(source_->labels, 2);
    for (const std::int64_t batch : {source_->batch, source_->smaller_batch}) {
      attempt("inference", [&] {
        add("inference",
            graph->execute(inputs, labels, {}, {.batch_size = batch}));
      });
    }
    check_memory(*graph);
  }

  void read_parameters() {
    const auto read = [&](const Tensor& tensor) {
      if (!tensor.device()) return;
      attempt("read", [&] { tensor.synchronize_data(); });
      add("parameter", tensor.data());
    };
    for (const LayerPtr& layer : source_->graph.layers()) {
      for (const auto& p : layer->parameters()) read(p.tensor());
      for (const Tensor& statistic : layer->statistics()) read(statistic);
    }
    for (const auto& parameter : source_->trained_inputs) {
      read(parameter.tensor());
    }
  }

  Device device_;
  std::optional<RandomGraph> source_;
  Trace trace_;
  std::string memory_fault_;
};

}  // namespace

std::string find_fault(std::span<const std::uint8_t> bytes,
                       const Device& device) {
  const Run planned(bytes, device, /*reuse_memory=*/true);
  const Run unplanned(bytes, device, /*reuse_memory=*/false);
  for (const Run* run : {&planned, &unplanned}) {
    if (!run->memory_fault().empty()) return run->memory_fault();
  }
  const Trace& got = planned.trace();
  const Trace& expected = unplanned.trace();
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    if (got[i] == expected[i]) continue;
    return "entry " + std::to_string(i) + ", \"" + got[i].name +
           "\", is another one without reuse of memory: \"" + expected[i].name +
           "\"";
  }
  return got.size() == expected.size() ? "" : "one plan ended early";
}

}  // namespace traingraph::fuzz
