// SPDX-License-Identifier: MIT
// Tensors of sequences that have lengths of their own.
#include "arrays.h"
#include "bindings.h"

namespace traingraph::python {
namespace {

using Lengths = std::vector<std::int64_t>;
using AnyDescriptor = Named<"traingraph._core.TensorDescriptor">;

struct SequenceContents {
  std::optional<ArrayLike> data;
  std::optional<RandomInitializerType> initializer;
};

Tensor make(const SequenceDescriptor& descriptor, const std::string& name,
            const SequenceContents& contents) {
  if (contents.data && contents.initializer) {
    throw InvalidArgument(ErrorInfo{.op = "tensor",
                                    .node = name,
                                    .what = "contents are given more than once",
                                    .expected = "one of data, initializer",
                                    .got = "both",
                                    .hint = {}});
  }
  if (!contents.data) {
    return made_without_gil([&] {
      return contents.initializer
                 ? Tensor::sequences(descriptor, *contents.initializer, name)
                 : Tensor::sequences(descriptor, name);
    });
  }
  const Context context{"tensor", name};
  const py::array array =
      converted(*contents.data, descriptor.data_type, context);
  const TensorData data = read_only_data(array, context);
  return made_without_gil(
      [&] { return Tensor::sequences(descriptor, data, name); });
}

SequenceDescriptor of_lengths(Lengths lengths, bool sorted,
                              std::int64_t features,
                              std::optional<std::int64_t> batch_size) {
  const auto count = static_cast<std::int64_t>(lengths.size());
  if (batch_size && *batch_size != count) {
    throw ShapeError(
        ErrorInfo{.op = "SequenceDescriptor",
                  .node = {},
                  .what = "there are not as many lengths as sequences",
                  .expected = std::to_string(*batch_size),
                  .got = std::to_string(count),
                  .hint = {}});
  }
  return SequenceDescriptor::of_lengths(std::move(lengths), sorted, features);
}

}  // namespace

void bind_sequence_descriptor(py::module_& m,
                              BoundClass<TensorDescriptor>& base) {
  using Self = SequenceDescriptor;
  BoundClass<Self, TensorDescriptor>(
      m, "SequenceDescriptor",
      "Sequences (batch, time, features) and how long each of them is.\n\n"
      "sorted_sequences says that no length is above the one before. Raises "
      "ShapeError unless there is a length for each sequence and all fit; "
      "InvalidArgument for lengths below 1 and for some that are not sorted.")
      .def(py::init<Shape, Lengths, bool, DataType>(), py::arg("shape"),
           py::arg("sequence_lengths"), py::arg("sorted_sequences") = true,
           py::arg("data_type") = DataType::Float32)
      .def_property_readonly(
          "sequence_lengths",
          [](const Self& self) { return self.sequence_lengths; })
      .def_property_readonly(
          "sorted_sequences",
          [](const Self& self) { return self.sorted_sequences; })
      .def_property_readonly("batch_size_per_sequence_step",
                             &Self::batch_size_per_sequence_step,
                             "Entry t: the sequences that have a step t.")
      .def("__eq__",
           [](const Self& self, const py::object& other) {
             return py::isinstance<Self>(other) &&
                    self == other.cast<const Self&>();
           })
      .def("__hash__",
           [](const Self& self) {
             return py::hash(py::make_tuple(
                 self.shape, py::tuple(py::cast(self.sequence_lengths))));
           })
      .def("__copy__", [](const Self& self) { return Self(self); });
  base.def_static(
          "sequences",
          [](Shape shape, Lengths lengths, bool sorted, DataType type) {
            return Self(shape, std::move(lengths), sorted, type);
          },
          py::arg("shape"), py::arg("sequence_lengths"),
          py::arg("sorted_sequences") = true,
          py::arg("data_type") = DataType::Float32,
          "ML Compute's name of SequenceDescriptor.")
      .def_property_readonly(
          "sequence_lengths",
          [](const TensorDescriptor&) { return std::optional<Lengths>(); },
          "The lengths of a SequenceDescriptor; None for other tensors.")
      .def_property_readonly(
          "sorted_sequences", [](const TensorDescriptor&) { return false; },
          "Is no length above the one before? False of a tensor without "
          "sequences.")
      .def_property_readonly(
          "batch_size_per_sequence_step",
          [](const TensorDescriptor&) { return std::optional<Lengths>(); },
          "Entry t of a SequenceDescriptor's: the sequences that have a step "
          "t. None for other tensors.");
}

void bind_sequence_tensors(Handle<Tensor>& tensor) {
  const auto define = [&](const char* name, auto make_descriptor,
                          const char* doc, const auto&... arguments) {
    tensor.def_static(name, make_descriptor, arguments..., py::kw_only(),
                      py::arg("data") = py::none(),
                      py::arg("initializer") = py::none(), py::arg("name") = "",
                      doc);
  };
  define(
      "sequence",
      [](std::int64_t length, std::int64_t features, std::int64_t batch,
         const std::optional<ArrayLike>& data,
         std::optional<RandomInitializerType> random, const std::string& name) {
        return make(SequenceDescriptor::of_length(length, features, batch),
                    name, {data, random});
      },
      "Sequences of one length: (batch_size, sequence_length, "
      "feature_channel_count).",
      whole("sequence_length"), whole("feature_channel_count"),
      whole("batch_size"));
  define(
      "sequences",
      [](Lengths lengths, bool sorted, std::int64_t features,
         std::optional<std::int64_t> batch,
         const std::optional<ArrayLike>& data,
         std::optional<RandomInitializerType> random, const std::string& name) {
        return make(of_lengths(std::move(lengths), sorted, features, batch),
                    name, {data, random});
      },
      "Sequences of these lengths; the longest gives the time. batch_size, if "
      "given, is their number.",
      py::arg("sequence_lengths"), py::arg("sorted_sequences"),
      whole("feature_channel_count"), py::arg("batch_size") = py::none());
  tensor.def_property_readonly("descriptor", [](const Tensor& self) {
    if (auto sequences = self.sequence_descriptor()) {
      return AnyDescriptor(py::cast(std::move(*sequences)));
    }
    return AnyDescriptor(py::cast(self.descriptor()));
  });
}

}  // namespace traingraph::python
