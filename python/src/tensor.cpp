// SPDX-License-Identifier: MIT
// Tensor, TensorData, TensorParameter and Platform.
#include "traingraph/tensor.h"

#include "arrays.h"
#include "device.h"
#include "lifetime.h"

namespace traingraph::python {
namespace {

/// What a tensor starts with; at most one of them.
struct Contents {
  std::optional<ArrayLike> data;
  std::optional<double> fill;
  std::optional<RandomInitializerType> initializer;
  std::optional<int> batch_axis;
};

/// Of sequences, too, which keep their lengths.
template <class Descriptor>
Tensor make(const Descriptor& descriptor, const std::string& name,
            const Contents& contents) {
  const int num_given = contents.data.has_value() + contents.fill.has_value() +
                        contents.initializer.has_value();
  if (num_given > 1) {
    throw InvalidArgument(
        ErrorInfo{.op = "tensor",
                  .node = name,
                  .what = "contents are given more than once",
                  .expected = "one of data, fill, initializer",
                  .got = std::to_string(num_given) + " of them",
                  .hint = {}});
  }
  const std::optional<int> batch_axis = contents.batch_axis;
  if (!contents.data) {
    return made_without_gil([&] {
      if (contents.fill) {
        return Tensor::filled(descriptor, *contents.fill, name, batch_axis);
      }
      if (contents.initializer) {
        return Tensor::random(descriptor, *contents.initializer, 0, 0, name,
                              batch_axis);
      }
      return Tensor(descriptor, name, batch_axis);
    });
  }
  const Context context{"tensor", name};
  const py::array array =
      converted(*contents.data, descriptor.data_type, context);
  const TensorData data = read_only_data(array, context);
  return made_without_gil(
      [&] { return Tensor(descriptor, data, name, batch_axis); });
}

/// copy.copy(), copy.deepcopy() and pickle come here.
py::object refuse_copy(const Tensor& self, const py::object&) {
  throw UnsupportedError(
      ErrorInfo{.op = "copy",
                .node = name_of(self),
                .what = "a tensor is a handle, by which graphs know it, and is "
                        "neither copied nor pickled",
                .expected = {},
                .got = {},
                .hint = "Make another one: traingraph.Tensor(x.descriptor, "
                        "data=x.numpy())."});
}

/// Bytes of unknown meaning have no descriptor, so only their size is checked.
py::array array_of(const py::buffer& buffer) {
  if (py::isinstance<py::array>(buffer)) return buffer;
  return py::module_::import("numpy").attr("asarray")(py::memoryview(buffer));
}

TensorData data_of(const py::buffer& buffer, bool is_writable) {
  const Context context{"TensorData"};
  const py::array array = array_of(buffer);
  TensorData data = is_writable ? writable_data(array, context)
                                : read_only_data(array, context);
  if (!is_writable) data.owner = keep_alive(array);
  if (!py::isinstance<py::array>(buffer)) data.descriptor.reset();
  return data;
}

void bind_tensor_data(py::module_& m) {
  Handle<TensorData>(m, "TensorData",
                     "Host memory of an array, without a copy; keeps the "
                     "array alive.")
      .def(py::init([](const py::buffer& buffer) {
             return data_of(buffer, /*is_writable=*/true);
           }),
           py::arg("buffer"))
      .def_static(
          "immutable",
          [](const py::buffer& buffer) {
            return data_of(buffer, /*is_writable=*/false);
          },
          py::arg("buffer"), "Wraps memory that the library must not write.")
      .def_property_readonly(
          "bytes",
          [](const py::object& self) {
            const auto& data = self.cast<const TensorData&>();
            const auto size = static_cast<std::int64_t>(data.length);
            return view({data.bytes, data.length}, {{size}, DataType::UInt8},
                        self, !data.is_immutable);
          })
      .def_property_readonly("length",
                             [](const TensorData& self) { return self.length; })
      .def_property_readonly("is_immutable", [](const TensorData& self) {
        return self.is_immutable;
      });
}

// The tail of every constructor of Tensor.
#define TRAINGRAPH_TENSOR_PARAMETERS                            \
  const std::string &name, const std::optional<ArrayLike>&data, \
      std::optional<double> fill,                               \
      std::optional<RandomInitializerType> initializer,         \
      std::optional<int> batch_axis
#define TRAINGRAPH_TENSOR_ARGUMENTS                                  \
  py::kw_only(), py::arg("name") = "", py::arg("data") = py::none(), \
                 py::arg("fill") = py::none(),                       \
                 py::arg("initializer") = py::none(), whole("batch_axis") = 0
#define TRAINGRAPH_TENSOR_CONTENTS \
  name, Contents { data, fill, initializer, batch_axis }

void bind_tensor_class(py::module_& m) {
  Handle<Tensor> tensor(
      m, "Tensor",
      "A named, typed array that graphs are wired with. It may hold data on "
      "the host, on a device, or neither (an intermediate result).\n\n"
      "data: contents, copied; fill: one value everywhere; "
      "initializer: random values from the platform's seed. batch_axis, "
      "for inputs and labels: the axis whose size is the batch or a whole "
      "multiple of it; None when the tensor is the same at any batch size. "
      "Sequences know their batch: axis 0. "
      "Raises ShapeError on a size below 1, DTypeError when data has another "
      "type, InvalidArgument on an axis that is not there.");
  // Before its base, which would forget the lengths.
  tensor.def(py::init([](const SequenceDescriptor& descriptor,
                         TRAINGRAPH_TENSOR_PARAMETERS) {
               return make(descriptor, TRAINGRAPH_TENSOR_CONTENTS);
             }),
             py::arg("descriptor"), TRAINGRAPH_TENSOR_ARGUMENTS);
  tensor
      .def(py::init([](const TensorDescriptor& descriptor,
                       TRAINGRAPH_TENSOR_PARAMETERS) {
             return make(descriptor, TRAINGRAPH_TENSOR_CONTENTS);
           }),
           py::arg("descriptor"), TRAINGRAPH_TENSOR_ARGUMENTS)
      .def(py::init(
               [](Shape shape, DataType type, TRAINGRAPH_TENSOR_PARAMETERS) {
                 return make(TensorDescriptor{shape, type},
                             TRAINGRAPH_TENSOR_CONTENTS);
               }),
           py::arg("shape"), py::arg("data_type") = DataType::Float32,
           TRAINGRAPH_TENSOR_ARGUMENTS)
      .def_static(
          "image",
          [](std::int64_t width, std::int64_t height, std::int64_t channels,
             std::int64_t batch, DataType type, TRAINGRAPH_TENSOR_PARAMETERS) {
            return make(
                TensorDescriptor::image(width, height, channels, batch, type),
                TRAINGRAPH_TENSOR_CONTENTS);
          },
          whole("width"), whole("height"), whole("feature_channel_count"),
          whole("batch_size"), py::arg("data_type") = DataType::Float32,
          TRAINGRAPH_TENSOR_ARGUMENTS,
          "A tensor of shape (batch_size, feature_channel_count, height, "
          "width).")
      .def_static(
          "random",
          [](Shape shape, RandomInitializerType initializer,
             std::int64_t fan_in, std::int64_t fan_out, float gain,
             const std::string& name, std::optional<int> batch_axis) {
            return made_without_gil([&] {
              return Tensor::random({shape}, initializer, fan_in, fan_out, name,
                                    batch_axis, gain);
            });
          },
          py::arg("shape"), py::arg("initializer"), py::kw_only(),
          whole("fan_in") = 0, whole("fan_out") = 0, py::arg("gain") = 1.0,
          py::arg("name") = "", whole("batch_axis") = 0,
          "Random values from the platform's seed, times gain. fan_in, "
          "fan_out: "
          "0 derives them from the shape, (out, in, ...); for He's "
          "initializers "
          "by the outputs give fan_in the fan of the outputs.");
  bind_sequence_tensors(tensor);
  bind_optimizer_data(tensor);
  bind_quantization(tensor);
  bind_tensor_arrays(tensor);
  bind_expressions(tensor);
  tensor
      .def_property_readonly("tensor_id", never_waits(&Tensor::tensor_id),
                             "Unique in the process.")
      .def_property_readonly("shape",
                             [](const Tensor& self) { return self.shape(); })
      .def_property_readonly(
          "data_type", [](const Tensor& self) { return self.data_type(); })
      .def_property_readonly("batch_axis", never_waits(&Tensor::batch_axis),
                             "The axis that follows the batch size where the "
                             "tensor is an input or a label, as it was given.")
      .def_property(
          "name", &Tensor::name, &Tensor::set_name,
          "The tensor's name; \"data\" and the id unless it was given one.")
      .def(
          "set_data",
          [](const Tensor& self, const ArrayLike& data) {
            const Context context{"set_data", name_of(self)};
            const py::array array = converted(data, self.data_type(), context);
            const TensorData bytes = read_only_data(array, context);
            without_gil([&] { self.set_data(bytes); });
          },
          py::arg("data"),
          "Gives the tensor a value, wherever it is held: a parameter's copy "
          "on "
          "a device gets it between two executions; an input's counts as bound "
          "by every graph that declares it, a constant's from the next "
          "execution on. Raises ShapeError, DTypeError; StateError for results "
          "of nodes.")
      .def_property_readonly("device", &Tensor::device,
                             "Device that holds a copy, or None.")
      .def_property_readonly("has_valid_numerics", &Tensor::has_valid_numerics,
                             "No NaN and no infinity in the newest values; "
                             "True without any.");
  tensor
      .def("synchronize_data", &Tensor::synchronize_data,
           "Device to host; waits for work in flight. Raises StateError when "
           "no device holds the tensor.")
      .def(
          "copy_data_from_device_memory",
          [](const Tensor& self, const HostArray& out) {
            const Context context{"copy_data_from_device_memory",
                                  name_of(self)};
            const TensorData data =
                writable_data(as_array(out, context), context);
            require_descriptor(data, self.descriptor(), context);
            without_gil([&] {
              self.copy_data_from_device_memory({data.bytes, data.length});
            });
          },
          py::arg("out"),
          "Device to `out`, which has the tensor's type and shape. Raises "
          "DTypeError, ShapeError, StateError.")
      .def(
          "bind_and_write_data",
          [](const Tensor& self, const DataLike& data,
             const DeviceLike& device) {
            const Context context{"bind_and_write_data", name_of(self)};
            const Device target = to_device(device);
            const auto write = [&](const TensorData& bytes) {
              without_gil([&] { self.bind_and_write_data(bytes, target); });
            };
            if (py::isinstance<TensorData>(data)) {
              const auto bytes = data.cast<TensorData>();
              return write(bytes);
            }
            const py::array array = converted(data, self.data_type(), context);
            const TensorData bytes = read_only_data(array, context);
            write(bytes);
          },
          py::arg("data"), py::arg("device"),
          "set_data(); ML Compute's name. It reaches the device at once when "
          "that holds the tensor, else when a graph is compiled for it.")
      .def("__reduce_ex__", &refuse_copy, py::arg("protocol"))
      .def("__eq__",
           [](const Tensor& self, const py::object& other) {
             return py::isinstance<Tensor>(other) &&
                    self == other.cast<const Tensor&>();
           })
      .def("__hash__",
           [](const Tensor& self) {
             return py::hash(py::int_(self.tensor_id()));
           })
      .def("__repr__", [](const Tensor& self) {
        const std::string text = self.descriptor().to_string();
        if (has_lost_device_threads()) return "Tensor(" + text + ")";
        return "Tensor(" + name_of(self) + ", " + text + ")";
      });
}

}  // namespace

void bind_tensor(py::module_& m) {
  bind_tensor_data(m);
  bind_tensor_class(m);
  Handle<TensorParameter>(m, "TensorParameter",
                          "A tensor that an optimizer may change.")
      .def(py::init([](const Tensor& tensor,
                       const std::optional<std::vector<DataLike>>& data) {
             const ReadList list(data.value_or(std::vector<DataLike>()),
                                 {"TensorParameter", name_of(tensor)});
             return made_without_gil(
                 [&] { return TensorParameter(tensor, list.data); });
           }),
           py::arg("tensor"), py::arg("optimizer_data") = py::none())
      .def_property_readonly(
          "tensor", [](const TensorParameter& self) { return self.tensor(); })
      .def_property("is_updatable", &TensorParameter::is_updatable,
                    &TensorParameter::set_updatable,
                    "Read by compile(): graphs that were compiled before "
                    "refuse to train on (StateError) until they are compiled "
                    "again.");
  BoundClass<Platform>(m, "Platform",
                       "Global random seed of initializers and dropout.")
      .def_static("set_rng_seed", &Platform::set_rng_seed, whole("seed"))
      .def_static("rng_seed", &Platform::rng_seed,
                  "The seed that was set last; None until one was.");
  m.def("set_seed", &Platform::set_rng_seed, whole("seed"),
        "Seeds initial values of parameters and dropout masks: those of layers "
        "and graphs that are made from now on.");
}

}  // namespace traingraph::python
