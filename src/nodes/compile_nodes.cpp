// SPDX-License-Identifier: MIT
// From result images to a compiled graph: the filters behind them, their ops,
// the weights, and the gradients that these are trained by.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "layers/names.h"
#include "layers/validate.h"
#include "nodes/compiled_nodes.h"
#include "nodes/filter_builder.h"
#include "nodes/reach.h"
#include "nodes/trainable.h"
#include "traingraph/error.h"

namespace traingraph::nodes {
namespace {

/// "pooling_max" of "PoolingMaxNode".
std::string default_name(const std::string& class_name) {
  const std::size_t end = class_name.size() - std::string_view("Node").size();
  return LayerNames::of_class(class_name.substr(0, end));
}

class NodeCompiler {
 public:
  NodeCompiler(const std::vector<ImageNode>& results,
               const GraphOptions& options)
      : results_(results),
        options_(options),
        filters_(filters_behind(results)),
        nodes_(options.batch_size, differentiated()) {}

  std::shared_ptr<CompiledNodes> run(const Device& device) {
    for (const FilterState* filter : filters_) {
      nodes_.add(*filter,
                 names_.emplace(filter, free_name(*filter)).first->second);
    }
    const bool is_gpu = device.actual_device_type() == DeviceType::GPU;
    if (is_gpu && options_.uses_mpsnn) nodes_.name_filters();
    take_sources();
    sum_parameter_gradients();
    auto compiled = std::make_shared<CompiledNodes>(
        TrainingGraph({nodes_.graph()}, nullptr, optimizer()));
    compiled->has_gradients = has_gradients();
    declare(*compiled);
    compiled->sources = std::move(sources_);
    compiled->graph.compile(device);
    return compiled;
  }

 private:
  std::unordered_set<const FilterState*> differentiated() const {
    std::unordered_set<const FilterState*> forward;
    for (const FilterState* filter : filters_) {
      if (filter->forward() != nullptr) forward.insert(filter->forward());
    }
    return forward;
  }

  bool has_gradients() {
    return std::ranges::any_of(nodes_.program().nodes(), [](const Node& node) {
      return node.phase == Phase::Gradient;
    });
  }

  std::string free_name(const FilterState& filter) {
    const std::string base =
        filter.name.empty() ? default_name(filter.class_name) : filter.name;
    std::string name = base;
    int& last = last_number_.try_emplace(base, 1).first->second;
    while (!taken_.insert(name).second) {
      name = base + "_" + std::to_string(++last);
    }
    return name;
  }

  // Data sources.

  void take_sources() {
    for (const FilterState* filter : filters_) {
      const auto* trainable = dynamic_cast<const TrainableState*>(filter);
      if (trainable != nullptr) take_source(*trainable);
    }
    for (WeightSource& source : sources_) load_weights(source);
  }

  static const void* key_of(const TrainableState& filter) {
    if (filter.convolution()) return filter.convolution_source();
    return filter.normalization_source();
  }

  void take_source(const TrainableState& filter) {
    const bool is_trained = nodes_.is_differentiated(filter);
    const TrainingStyle style =
        is_trained ? filter.training_style : TrainingStyle::None;
    const void* key = key_of(filter);
    const auto [at, is_new] = source_at_.emplace(key, sources_.size());
    if (!is_new) return require_style(sources_[at->second], filter, style);
    const std::string given = filter.convolution()
                                  ? filter.convolution()->name()
                                  : filter.normalization()->name();
    WeightSource source{.name = given.empty() ? names_.at(&filter) : given,
                        .convolution = filter.convolution(),
                        .normalization = filter.normalization(),
                        .style = style};
    for (const char* role :
         {"weights", "biases", "gamma", "beta", "mean", "variance"}) {
      const Tensor tensor = nodes_.find_parameter(key, role);
      if (tensor) source.tensors.emplace(role, tensor);
    }
    sources_.push_back(std::move(source));
  }

  void require_style(WeightSource& source, const TrainableState& filter,
                     TrainingStyle style) const {
    if (!nodes_.is_differentiated(filter)) return;
    if (source.style == TrainingStyle::None) source.style = style;
    if (source.style == style || style == TrainingStyle::None) return;
    throw InvalidArgument(
        {.op = "training_style",
         .node = names_.at(&filter),
         .what = "filters with one data source differ in who updates it",
         .expected = std::string(to_string(source.style)),
         .got = std::string(to_string(style)),
         .hint = {}});
  }

  static OptimizerPtr optimizer_of(const WeightSource& source) {
    return source.convolution ? source.convolution->optimizer()
                              : source.normalization->optimizer();
  }

  OptimizerPtr optimizer() const {
    OptimizerPtr optimizer;
    for (const WeightSource& source : sources_) {
      if (source.style != TrainingStyle::GPU) continue;
      const OptimizerPtr own = optimizer_of(source);
      if (own && (!optimizer || own == optimizer)) {
        optimizer = own;
        continue;
      }
      throw InvalidArgument(
          {.op = "optimizer",
           .node = source.name,
           .what = own ? "data sources have different optimizers"
                       : "the data source has no optimizer",
           .expected = "one optimizer for all data sources of a graph that "
                       "the device updates",
           .got = own ? "another one" : "none",
           .hint = "Give it one, or set the filter's training style to cpu or "
                   "none."});
    }
    return optimizer;
  }

  // Gradients of parameters.

  void sum_parameter_gradients() {
    nodes_.program().position = {
        .phase = Phase::Gradient, .layer = -1, .name = "sum of gradients"};
    for (const FilterState* filter : filters_) {
      const auto* of = dynamic_cast<const TrainableState*>(filter->forward());
      if (of == nullptr) continue;
      for (const auto& [role, gradient] :
           nodes_.lowered(*filter).parameter_gradients) {
        if (gradient != kNoValue) add_gradient(key_of(*of), role, gradient);
      }
    }
  }

  void add_gradient(const void* key, const std::string& role,
                    ValueId gradient) {
    ValueId& sum = gradients_.try_emplace({key, role}, kNoValue).first->second;
    sum = sum == kNoValue
              ? gradient
              : nodes_.program().append_one(
                    OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Add},
                    {sum, gradient});
  }

  Tensor gradient_tensor(const WeightSource& source, const std::string& role) {
    const void* key = source.convolution
                          ? static_cast<const void*>(source.convolution.get())
                          : source.normalization.get();
    const auto found = gradients_.find({key, role});
    if (found == gradients_.end() || !source.has(role)) return {};
    return nodes_.tensor(found->second, source.name + "." + role);
  }

  // Declarations.

  void declare(CompiledNodes& compiled) {
    TrainingGraph& graph = compiled.graph;
    TensorMap inputs;
    for (const ImageState* image : nodes_.inputs()) {
      const Tensor tensor = nodes_.tensor(nodes_.value(*image), image->handle);
      require_unused(inputs, image->handle, "two source images");
      inputs.emplace(image->handle, tensor);
      compiled.source_handles.push_back(image->handle);
    }
    graph.add_inputs(inputs);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (is_needed(i)) add_image(*results_[i].state(), compiled);
    }
    for (FilterState* filter : filters_) {
      for (const ImageState* image : filter->images()) {
        if (image->is_exported) add_image(*image, compiled);
      }
    }
    train(compiled);
    graph.add_outputs(outputs_);
  }

  bool is_needed(std::size_t result) const {
    const auto& needed = options_.results_are_needed;
    return needed.empty() || needed[result];
  }

  static void require_unused(const TensorMap& names, const std::string& name,
                             const char* what) {
    if (!names.contains(name)) return;
    throw InvalidArgument(
        ErrorInfo{.op = "handle",
                  .node = name,
                  .what = std::string(what) + " have one name",
                  .expected = "different handles",
                  .got = "\"" + name + "\"",
                  .hint = {}});
  }

  void add_image(const ImageState& image, CompiledNodes& compiled) {
    if (!exported_.insert(&image).second) return;
    const std::string name = name_of_image(image);
    add_output(name, nodes_.tensor(nodes_.value(image), name), compiled);
  }

  std::string name_of_image(const ImageState& image) const {
    if (!image.handle.empty() || image.producer == nullptr) return image.handle;
    const std::string& name = names_.at(image.producer);
    return &image == &image.producer->result ? name : name + ".loss";
  }

  void add_output(const std::string& name, const Tensor& tensor,
                  CompiledNodes& compiled) {
    require_unused(outputs_, name, "two results");
    outputs_.emplace(name, tensor);
    compiled.result_handles.push_back(name);
  }

  void train(CompiledNodes& compiled) {
    std::vector<TensorParameter> trained;
    for (const WeightSource& source : sources_) {
      for (const auto& [role, tensor] : source.tensors) {
        const Tensor gradient = gradient_tensor(source, role);
        if (!gradient) continue;
        if (source.style == TrainingStyle::GPU) {
          trained.emplace_back(tensor);
          compiled.graph.set_gradient(tensor, gradient);
        }
        const bool is_read =
            source.style == TrainingStyle::CPU || exports_state(source);
        if (is_read) {
          add_output(source.name + "." + role, gradient, compiled);
        }
      }
    }
    compiled.graph.set_training_tensor_parameters(std::move(trained));
  }

  /// Does a filter with this source, or its gradient filter, export its state?
  bool exports_state(const WeightSource& source) const {
    return std::ranges::any_of(filters_, [&](const FilterState* filter) {
      const FilterState* forward = filter->forward();
      const auto* of = dynamic_cast<const TrainableState*>(
          forward != nullptr ? forward : filter);
      return of != nullptr && filter->exports_state &&
             of->convolution() == source.convolution &&
             of->normalization() == source.normalization;
    });
  }

  const std::vector<ImageNode>& results_;
  const GraphOptions& options_;
  std::vector<FilterState*> filters_;
  NodeProgram nodes_;
  std::unordered_map<const FilterState*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> last_number_;  // by name without it
  std::vector<WeightSource> sources_;
  std::unordered_map<const void*, std::size_t> source_at_;
  std::map<std::pair<const void*, std::string>, ValueId> gradients_;
  std::unordered_set<const ImageState*> exported_;
  TensorMap outputs_;
};

void require_options(const std::vector<ImageNode>& results,
                     const GraphOptions& options) {
  constexpr const char* kOp = "nodes::Graph";
  require_positive(kOp, "batch_size", options.batch_size);
  require_option(!results.empty(), kOp, "result_images", "at least one image",
                 "none");
  for (const ImageNode& image : results) {
    require_option(
        image && image.state()->producer != nullptr, kOp, "result_images",
        "results of filters",
        image ? "the source image \"" + image.handle() + "\"" : "no image");
  }
  const std::size_t given = options.results_are_needed.size();
  require_option(given == 0 || given == results.size(), kOp,
                 "results_are_needed",
                 "one per result image: " + std::to_string(results.size()),
                 std::to_string(given));
}

}  // namespace

std::shared_ptr<CompiledNodes> compile_nodes(
    const Device& device, const std::vector<ImageNode>& result_images,
    const GraphOptions& options) {
  require_options(result_images, options);
  return NodeCompiler(result_images, options).run(device);
}

}  // namespace traingraph::nodes
