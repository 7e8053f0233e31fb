// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>

#include "nodes/compiled_nodes.h"
#include "traingraph/error.h"

namespace traingraph::nodes {
namespace {

/// purge() is called whatever happens after load().
template <class Source, class Use>
void with_loaded(Source& source, const std::string& name, Use use) {
  if (!source.load()) {
    throw InvalidArgument(ErrorInfo{.op = "load",
                                    .node = name,
                                    .what = "the data source has no weights",
                                    .expected = "true",
                                    .got = "false",
                                    .hint = {}});
  }
  struct Purge {
    Source& source;
    ~Purge() { source.purge(); }
  } purge{source};
  use();
}

struct RoleValues {
  const char* role;
  std::span<const float> values;
  float otherwise;
};

std::vector<RoleValues> values_of(const WeightSource& source) {
  if (source.convolution) {
    return {{"weights", source.convolution->weights(), 0},
            {"biases", source.convolution->bias_terms(), 0}};
  }
  NormalizationDataSource& data = *source.normalization;
  return {{"gamma", data.gamma(), 1},
          {"beta", data.beta(), 0},
          {"mean", data.mean(), 0},
          {"variance", data.variance(), 1}};
}

void set_values(const WeightSource& source, const RoleValues& given) {
  const Tensor tensor = source.tensor(given.role);
  if (!tensor) return;
  const auto size = static_cast<std::size_t>(tensor.shape().num_elements());
  const bool may_be_missing = std::string_view(given.role) != "weights";
  if (given.values.empty() && may_be_missing) {
    const std::vector<float> constant(size, given.otherwise);
    return tensor.set_data(TensorData(std::span<const float>(constant)));
  }
  if (given.values.size() != size) {
    throw ShapeError(
        {.op = "load",
         .node = source.name,
         .what = std::string("the data source has the wrong "
                             "number of ") +
                 given.role,
         .expected = std::to_string(size) + ", " + tensor.shape().to_string(),
         .got = std::to_string(given.values.size()),
         .hint = {}});
  }
  tensor.set_data(TensorData(given.values));
}

template <class Use>
void with_loaded(const WeightSource& source, Use use) {
  if (source.convolution) {
    return with_loaded(*source.convolution, source.name, use);
  }
  with_loaded(*source.normalization, source.name, use);
}

}  // namespace

bool CompiledNodes::updates_on_host() const {
  return std::ranges::any_of(sources, [](const WeightSource& source) {
    return source.style == TrainingStyle::CPU;
  });
}

void load_weights(WeightSource& source, LoadedRoles roles) {
  with_loaded(source, [&] {
    for (const RoleValues& given : values_of(source)) {
      const std::string_view role = given.role;
      const bool is_statistic = role == "mean" || role == "variance";
      if (is_statistic && roles == LoadedRoles::Updated) continue;
      source.is_given.try_emplace(given.role, !given.values.empty());
      set_values(source, given);
    }
  });
}

}  // namespace traingraph::nodes
