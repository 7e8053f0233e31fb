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
  BoundClass<Self, TensorDescriptor>(m, "SequenceDescriptor",
                                     R"pbdoc(
        Sequences (batch, time, features), and how long each of them is.

        Args:
            shape: (batch, time, features).
            sequence_lengths: time steps of each sequence, 1 or more.
            sorted_sequences: is no length above the one before?
            data_type: the type of the elements.

        Raises:
            ShapeError: not one length for each sequence, a length above time.
            InvalidArgument: a length below 1, lengths that are not sorted.

        Example:
            >>> lengths = tg.mlcompute.SequenceDescriptor((2, 5, 4), [5, 3])
            >>> lengths.batch_size_per_sequence_step
            [2, 2, 2, 1, 1]
      )pbdoc")
      .def(py::init<Shape, Lengths, bool, DataType>(), py::arg("shape"),
           py::arg("sequence_lengths"), py::arg("sorted_sequences") = true,
           py::arg("data_type") = DataType::Float32)
      .def_property_readonly(
          "sequence_lengths",
          [](const Self& self) { return self.sequence_lengths; },
          "Time steps of each sequence.")
      .def_property_readonly(
          "sorted_sequences",
          [](const Self& self) { return self.sorted_sequences; },
          "Is no length above the one before?")
      .def_property_readonly("batch_size_per_sequence_step",
                             &Self::batch_size_per_sequence_step,
                             "At t: how many sequences have a step t.")
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
          R"pbdoc(
        ML Compute's name of SequenceDescriptor.

        Args:
            shape: (batch, time, features).
            sequence_lengths: time steps of each sequence, 1 or more.
            sorted_sequences: is no length above the one before?
            data_type: the type of the elements.

        Raises:
            ShapeError: not one length for each sequence, a length above time.
            InvalidArgument: a length below 1, lengths that are not sorted.

        Example:
            >>> tg.TensorDescriptor.sequences((2, 5, 4), [5, 3]).sequence_lengths
            [5, 3]
      )pbdoc")
      .def_property_readonly(
          "sequence_lengths",
          [](const TensorDescriptor&) { return std::optional<Lengths>(); },
          R"pbdoc(
        Time steps of each sequence of a SequenceDescriptor; None for other
        tensors.
      )pbdoc")
      .def_property_readonly(
          "sorted_sequences", [](const TensorDescriptor&) { return false; },
          R"pbdoc(
        Is no length above the one before? False of a tensor without sequences.
      )pbdoc")
      .def_property_readonly(
          "batch_size_per_sequence_step",
          [](const TensorDescriptor&) { return std::optional<Lengths>(); },
          R"pbdoc(
        At t: how many sequences of a SequenceDescriptor have a step t; None for
        other tensors.
      )pbdoc");
}

void bind_sequence_tensors(Handle<Tensor>& tensor) {
  const auto define = [&](const char* name, auto make_descriptor,
                          const auto&... extra) {
    tensor.def_static(name, make_descriptor, extra..., py::kw_only(),
                      py::arg("data") = py::none(),
                      py::arg("initializer") = py::none(),
                      py::arg("name") = "");
  };
  define(
      "sequence",
      [](std::int64_t length, std::int64_t features, std::int64_t batch,
         const std::optional<ArrayLike>& data,
         std::optional<RandomInitializerType> random, const std::string& name) {
        return make(SequenceDescriptor::of_length(length, features, batch),
                    name, {data, random});
      },
      whole("sequence_length"), whole("feature_channel_count"),
      whole("batch_size"),
      R"pbdoc(
        Sequences of one length: (batch, time, features).

        Args:
            sequence_length: time steps.
            feature_channel_count: features of each step.
            batch_size: sequences.
            data: an array, which is copied; at most one of data and initializer
                is given.
            initializer: random values; see Tensor().
            name: for messages and files.

        Raises:
            ShapeError: a size below 1, data of another shape.
            DTypeError: data of another type.
            InvalidArgument: several contents.

        Example:
            >>> tg.Tensor.sequence(5, 4, batch_size=8).shape
            (8, 5, 4)
      )pbdoc");
  define(
      "sequences",
      [](Lengths lengths, bool sorted, std::int64_t features,
         std::optional<std::int64_t> batch,
         const std::optional<ArrayLike>& data,
         std::optional<RandomInitializerType> random, const std::string& name) {
        return make(of_lengths(std::move(lengths), sorted, features, batch),
                    name, {data, random});
      },
      py::arg("sequence_lengths"), py::arg("sorted_sequences"),
      whole("feature_channel_count"), py::arg("batch_size") = py::none(),
      R"pbdoc(
        Sequences of these lengths: (batch, time, features); the longest one
        gives the time.

        Args:
            sequence_lengths: time steps of each sequence, 1 or more.
            sorted_sequences: is no length above the one before?
            feature_channel_count: features of each step.
            batch_size: how many sequences there are, as a check; None: as many
                as lengths.
            data: an array, which is copied; at most one of data and initializer
                is given.
            initializer: random values; see Tensor().
            name: for messages and files.

        Raises:
            ShapeError: another number of lengths, data of another shape.
            DTypeError: data of another type.
            InvalidArgument: a length below 1, lengths that are not sorted,
                several contents.

        Example:
            >>> tg.Tensor.sequences([5, 3], True, 4).shape
            (2, 5, 4)
      )pbdoc");
  tensor.def_property_readonly(
      "descriptor",
      [](const Tensor& self) {
        if (auto sequences = self.sequence_descriptor()) {
          return AnyDescriptor(py::cast(std::move(*sequences)));
        }
        return AnyDescriptor(py::cast(self.descriptor()));
      },
      R"pbdoc(
        Shape and type as one value; of sequences with their lengths.
      )pbdoc");
}

}  // namespace traingraph::python
