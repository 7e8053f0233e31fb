// SPDX-License-Identifier: MIT
// Graphs ask data sources on any thread, without the GIL: each question takes
// it, and what Python raises goes through C++ as PythonError.
#include "data_source.h"

#include <cfloat>
#include <mutex>
#include <unordered_map>

#include "arrays.h"
#include "calls.h"
#include "errors.h"
#include "lifetime.h"

namespace traingraph::python {
namespace {

/// The attribute, called when it is a method; None when there is none.
py::object value_of(py::handle object, const char* name) {
  py::object value = py::getattr(object, name, py::none());
  return PyCallable_Check(value.ptr()) ? value() : value;
}

/// None for no values.
py::object copy_of(std::span<const float> values, const Shape& shape) {
  if (values.empty()) return py::none();
  Array array = new_array({shape, DataType::Float32});
  std::ranges::copy(std::as_bytes(values), bytes_of(array).begin());
  return array;
}

/// A method that returns nothing has done it.
bool is_yes(const py::object& answer) {
  return answer.is_none() || py::bool_(answer);
}

class Questions {
 public:
  explicit Questions(py::handle object)
      : object_(keep_alive(py::reinterpret_borrow<py::object>(object))) {}

  /// use(the object), with the GIL.
  template <class Use>
  void with(const char* name, const Use& use) const {
    const py::handle object(static_cast<PyObject*>(object_.get()));
    const bool is_open = with_gil([&] {
      try {
        use(object);
      } catch (const py::error_already_set& error) {
        throw PythonError(error);
      } catch (const py::cast_error&) {
        throw InvalidArgument(
            ErrorInfo{.op = name,
                      .node = class_of(object),
                      .what = "the data source answers with a wrong type",
                      .expected = "what nodes.h says",
                      .got = "another type",
                      .hint = {}});
      }
    });
    if (is_open) return;
    throw StateError(ErrorInfo{.op = name,
                               .node = {},
                               .what = "the Python interpreter is at its end",
                               .expected = "a data source that can be asked",
                               .got = "the end",
                               .hint = {}});
  }

  /// `otherwise` when the object has no such attribute, or None.
  template <class Value>
  Value value(const char* name, Value otherwise) const {
    with(name, [&](py::handle object) {
      const py::object value = value_of(object, name);
      if (!value.is_none()) otherwise = value.cast<Value>();
    });
    return otherwise;
  }

  /// Calls the method with copies; false when it says so.
  bool update(std::span<const float> first, const Shape& first_shape,
              std::span<const float> second, const Shape& second_shape) const {
    bool is_done = false;
    with("update", [&](py::handle object) {
      is_done = is_yes(object.attr("update")(copy_of(first, first_shape),
                                             copy_of(second, second_shape)));
    });
    return is_done;
  }

  bool has(const char* name) const {
    bool has = false;
    with(name, [&](py::handle object) { has = py::hasattr(object, name); });
    return has;
  }

  bool load() {
    begin_reading();
    try {
      bool is_done = true;
      with("load", [&](py::handle object) {
        if (py::hasattr(object, "load"))
          is_done = is_yes(object.attr("load")());
      });
      if (is_done) return true;
    } catch (...) {
      end_reading();
      throw;
    }
    end_reading();
    return false;
  }

  /// What it raises has no caller to go to.
  void purge() noexcept {
    with_gil([&] {
      const py::handle object(static_cast<PyObject*>(object_.get()));
      try {
        const py::object method = py::getattr(object, "purge", py::none());
        if (!method.is_none()) method();
      } catch (py::error_already_set& error) {
        error.discard_as_unraisable("purge");
      }
    });
    end_reading();
  }

  /// Valid until purge(). An array of `shape`, or with as many elements in one
  /// axis; empty for None.
  std::span<const float> floats(const char* name, const Shape& shape) {
    std::span<const float> values;
    with(name, [&](py::handle object) {
      const py::object given = value_of(object, name);
      if (given.is_none()) return;
      const Context context{name, class_of(object)};
      const py::array array = converted(given, DataType::Float32, context);
      require_shape(array, shape, context);
      values = {static_cast<const float*>(array.data()),
                static_cast<std::size_t>(array.size())};
      const std::scoped_lock lock(mutex_);
      alive_.push_back(keep_alive(array));
    });
    return values;
  }

 private:
  static std::string class_of(py::handle object) {
    return py::type::handle_of(object).attr("__name__").cast<std::string>();
  }

  static void require_shape(const py::array& array, const Shape& shape,
                            const Context& context) {
    if (array.ndim() == 1) return;  // the graph counts
    const Shape given(
        std::vector<std::int64_t>(array.shape(), array.shape() + array.ndim()));
    if (given == shape) return;
    throw ShapeError(ErrorInfo{
        .op = context.op,
        .node = context.node,
        .what = "the data source gives values of another shape",
        .expected = shape.to_string(),
        .got = given.to_string(),
        .hint = shape.rank() == 4 ? "Weights of filter nodes are (out, height, "
                                    "width, in); of (out, in, height, width) "
                                    "take w.transpose(0, 2, 3, 1)."
                                  : ""});
  }

  void begin_reading() {
    const std::scoped_lock lock(mutex_);
    ++num_readers_;
  }
  void end_reading() {
    std::vector<std::shared_ptr<void>> done;
    const std::scoped_lock lock(mutex_);
    if (--num_readers_ == 0) done.swap(alive_);
  }

  std::shared_ptr<void> object_;
  std::mutex mutex_;
  int num_readers_ = 0;
  std::vector<std::shared_ptr<void>> alive_;
};

Shape shape_of(const nodes::ConvolutionDescriptor& d) {
  const std::int64_t groups =
      d.is_depthwise ? d.input_feature_channels : d.groups;
  return {d.output_feature_channels, d.kernel_size[0], d.kernel_size[1],
          d.input_feature_channels / std::max<std::int64_t>(groups, 1)};
}

class PythonConvolutionSource : public nodes::ConvolutionDataSource {
 public:
  explicit PythonConvolutionSource(py::handle object) : questions_(object) {}
  nodes::ConvolutionDescriptor descriptor() const override {
    return questions_.value("descriptor", nodes::ConvolutionDescriptor());
  }
  std::string name() const override {
    return questions_.value("name", std::string());
  }
  bool load() override { return questions_.load(); }
  void purge() override { questions_.purge(); }
  std::span<const float> weights() override {
    return questions_.floats("weights", shape_of(descriptor()));
  }
  std::span<const float> bias_terms() override {
    return questions_.floats("bias_terms",
                             {descriptor().output_feature_channels});
  }
  OptimizerPtr optimizer() const override {
    return questions_.value("optimizer", OptimizerPtr());
  }
  bool update(const nodes::ConvolutionGradients& gradients) override {
    if (!questions_.has("update")) {
      return ConvolutionDataSource::update(gradients);
    }
    const nodes::ConvolutionDescriptor d = descriptor();
    return questions_.update(gradients.weights, shape_of(d), gradients.biases,
                             {d.output_feature_channels});
  }

 private:
  Questions questions_;
};

class PythonNormalizationSource : public nodes::NormalizationDataSource {
 public:
  explicit PythonNormalizationSource(py::handle object) : questions_(object) {}
  std::int64_t feature_channels() const override {
    return questions_.value("feature_channels", std::int64_t{0});
  }
  std::string name() const override {
    return questions_.value("name", std::string());
  }
  bool load() override { return questions_.load(); }
  void purge() override { questions_.purge(); }
  std::span<const float> gamma() override { return per_channel("gamma"); }
  std::span<const float> beta() override { return per_channel("beta"); }
  std::span<const float> mean() override { return per_channel("mean"); }
  std::span<const float> variance() override { return per_channel("variance"); }
  std::int64_t groups() const override {
    return questions_.value("groups", std::int64_t{1});
  }
  float epsilon() const override {
    return questions_.value("epsilon", NormalizationDataSource::epsilon());
  }
  float momentum() const override {
    return questions_.value("momentum", NormalizationDataSource::momentum());
  }
  OptimizerPtr optimizer() const override {
    return questions_.value("optimizer", OptimizerPtr());
  }
  bool update(const nodes::NormalizationGradients& gradients) override {
    if (!questions_.has("update")) {
      return NormalizationDataSource::update(gradients);
    }
    const Shape shape{feature_channels()};
    return questions_.update(gradients.gamma, shape, gradients.beta, shape);
  }

 private:
  std::span<const float> per_channel(const char* name) {
    return questions_.floats(name, {feature_channels()});
  }

  Questions questions_;
};

void require_attribute(py::handle object, const char* name,
                       const char* expected) {
  if (py::hasattr(object, name)) return;
  throw CallError(ErrorInfo{
      .op = "data source",
      .what = "this is no data source: it has no \"" + std::string(name) + '"',
      .expected = expected,
      .got = describe(object)});
}

/// The wrapper of this object that is in use, or a new one.
template <class Source>
std::shared_ptr<Source> shared_source(py::handle object) {
  static auto* const known =
      new std::unordered_map<PyObject*, std::weak_ptr<Source>>;
  static auto* const mutex = new std::mutex;
  // No Python runs while this is held.
  const std::scoped_lock lock(*mutex);
  if (const auto found = known->find(object.ptr()); found != known->end()) {
    if (auto source = found->second.lock()) return source;
  }
  std::erase_if(*known,
                [](const auto& entry) { return entry.second.expired(); });
  auto source = std::make_shared<Source>(object);
  known->emplace(object.ptr(), source);
  return source;
}

}  // namespace

nodes::ConvolutionDataSourcePtr to_convolution_source(py::handle object) {
  constexpr const char* kExpected =
      "an object with descriptor and weights, such as nodes.ConvolutionData";
  require_attribute(object, "descriptor", kExpected);
  require_attribute(object, "weights", kExpected);
  return shared_source<PythonConvolutionSource>(object);
}

nodes::NormalizationDataSourcePtr to_normalization_source(py::handle object) {
  require_attribute(
      object, "feature_channels",
      "an object with feature_channels, such as nodes.NormalizationData");
  return shared_source<PythonNormalizationSource>(object);
}

}  // namespace traingraph::python
