// SPDX-License-Identifier: MIT
// Tensor, TensorData, TensorParameter and Platform.
#include "traingraph/tensor.h"

#include "arrays.h"
#include "calls.h"
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
                     R"pbdoc(
        Memory of an array, without a copy, in ML Compute's way; it keeps the
        array alive. Arrays themselves are taken wherever it is.

        Args:
            buffer: a writable, contiguous array of one of the data types, or
                another object with a buffer.

        Raises:
            InvalidArgument: it is not contiguous or not writable.
            DTypeError: an array of another type.

        Example:
            >>> data = tg.mlcompute.TensorData(np.zeros((2, 3), np.float32))
            >>> data.length
            24
      )pbdoc")
      .def(py::init([](const py::buffer& buffer) {
             return data_of(buffer, /*is_writable=*/true);
           }),
           py::arg("buffer"))
      .def_static(
          "immutable",
          [](const py::buffer& buffer) {
            return data_of(buffer, /*is_writable=*/false);
          },
          py::arg("buffer"),
          R"pbdoc(
        Memory that is only read.

        Args:
            buffer: a contiguous array, or another object with a buffer, such as
                bytes.

        Raises:
            InvalidArgument: it is not contiguous.
            DTypeError: an array of another type than the data types.

        Example:
            >>> tg.mlcompute.TensorData.immutable(b"abc").bytes
            array([97, 98, 99], dtype=uint8)
      )pbdoc")
      .def_property_readonly(
          "bytes",
          [](const py::object& self) {
            const auto& data = self.cast<const TensorData&>();
            const auto size = static_cast<std::int64_t>(data.length);
            return view({data.bytes, data.length}, {{size}, DataType::UInt8},
                        self, !data.is_immutable);
          },
          "A view of the memory as uint8.")
      .def_property_readonly(
          "length", [](const TensorData& self) { return self.length; },
          "Bytes of the memory.")
      .def_property_readonly(
          "is_immutable",
          [](const TensorData& self) { return self.is_immutable; },
          "Is it only read?");
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

/// Equality is that of handles, by which graphs know tensors: as text in a mask
/// it would be one number for all elements.
bool is_same_handle(const Tensor& self, const py::object& other,
                    const char* sign, const char* method) {
  if (py::isinstance<Tensor>(other)) return self == other.cast<const Tensor&>();
  const bool is_values =
      PyLong_Check(other.ptr()) || PyFloat_Check(other.ptr()) ||
      py::isinstance<py::array>(other) || py::hasattr(other, "__array__");
  if (!is_values) return false;
  refuse({sign, name_of(self)}, "it asks whether two handles are one tensor",
         "a Tensor", describe(other),
         std::string("x.") + method + "(y) compares elements.");
}

void bind_tensor_class(py::module_& m) {
  Handle<Tensor> tensor(m, "Tensor",
                        R"pbdoc(
        A named, typed array that graphs are wired with: an input, a label, a
        parameter, a constant, or the result of a node.

        Operators and methods of results add nodes to their graph, with NumPy's
        meaning: see docs/expressions.md. Values are read by numpy().

        Args:
            shape: sizes of 1 or more; one size may be given as a number.
            data_type: "float32", "bfloat16", "float16", "int64", "int32",
                "int8", "uint8" or "boolean", or a dtype of NumPy.
            descriptor: in place of shape and data_type.
            name: for messages, files and tensor(); "": "data" and the id.
            data: an array, which is copied; at most one of data, fill and
                initializer is given.
            fill: a number for all elements.
            initializer: random values from the seed: "uniform",
                "glorot_uniform", "xavier", "he_uniform", "he_normal" or
                "orthogonal".
            batch_axis: of inputs and labels, the axis whose size is the batch,
                or a multiple of it; None: the tensor is the same at any batch
                size.

        Raises:
            ShapeError: a size below 1, data of another shape.
            DTypeError: data of another type.
            InvalidArgument: an axis that is not there, several contents.

        Example:
            >>> x = tg.Tensor((8, 4), name="x")
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(2, name="fc"), x)
            >>> ((h - h.mean(axis=0)) * 0.5).shape
            (8, 2)
            >>> filled = tg.Tensor((2, 2), data=[[1, 2], [3, 4]])
      )pbdoc");
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
          R"pbdoc(
        A tensor (batch_size, feature_channel_count, height, width).

        Args:
            width: pixels of a row.
            height: rows.
            feature_channel_count: channels.
            batch_size: images.
            data_type: as in Tensor().
            name: likewise.
            data: likewise.
            fill: likewise.
            initializer: likewise.
            batch_axis: likewise.

        Raises:
            ShapeError: a size below 1, data of another shape.
            DTypeError: data of another type.
            InvalidArgument: an axis that is not there, several contents.

        Example:
            >>> tg.Tensor.image(32, 24, 3, batch_size=8).shape
            (8, 3, 24, 32)
      )pbdoc")
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
          R"pbdoc(
        A float32 tensor of random values, from the seed.

        Args:
            shape: sizes.
            initializer: "uniform", "glorot_uniform", "xavier", "he_uniform",
                "he_normal" or "orthogonal".
            fan_in: how many elements go into one of the result; 0: by the
                shape, (out, in, ...). He's initializers go by it; give the fan
                of the outputs for the variance to be that of gradients.
            fan_out: likewise of the outputs.
            gain: what the values are multiplied by.
            name: for messages and files.
            batch_axis: as in Tensor().

        Raises:
            ShapeError: a size below 1.
            InvalidArgument: no such initializer, a fan below 0.

        Example:
            >>> weights = tg.Tensor.random((2, 4), "he_normal", name="weights")
            >>> weights.has_data
            True
      )pbdoc");
  bind_sequence_tensors(tensor);
  bind_optimizer_data(tensor);
  bind_quantization(tensor);
  bind_tensor_arrays(tensor);
  bind_expressions(tensor);
  tensor
      .def_property_readonly(
          "tensor_id", never_waits(&Tensor::tensor_id),
          "A number that no other tensor of the process has.")
      .def_property_readonly(
          "shape", [](const Tensor& self) { return self.shape(); },
          "Sizes of its axes.")
      .def_property_readonly(
          "data_type", [](const Tensor& self) { return self.data_type(); },
          "The type of its elements.")
      .def_property_readonly("batch_axis", never_waits(&Tensor::batch_axis),
                             R"pbdoc(
        The axis that follows the batch size where the tensor is an input or a
        label, as it was given; None: it is the same at any batch size.
      )pbdoc")
      .def_property("name", &Tensor::name, &Tensor::set_name,
                    R"pbdoc(
        The name; "data" and the id unless it was given one.
      )pbdoc")
      .def(
          "set_data",
          [](const Tensor& self, const ArrayLike& data) {
            const Context context{"set_data", name_of(self)};
            const py::array array = converted(data, self.data_type(), context);
            const TensorData bytes = read_only_data(array, context);
            without_gil([&] { self.set_data(bytes); });
          },
          py::arg("data"),
          R"pbdoc(
        Gives the tensor a value, wherever it is held.

        A parameter's copy on a device gets it between two executions, an
        input's counts as bound by every graph that declares it, a constant's
        from the next execution on.

        Args:
            data: an array of the tensor's shape, which is copied.

        Raises:
            ShapeError: another shape.
            DTypeError: a type that does not convert.
            StateError: the tensor is a result of a node.

        Example:
            >>> filled.set_data(np.eye(2))
            >>> filled.numpy()
            array([[1., 0.],
                   [0., 1.]], dtype=float32)
      )pbdoc")
      .def_property_readonly(
          "device", &Tensor::device,
          "The device that holds a copy; None: no device does.")
      .def_property_readonly("has_valid_numerics", &Tensor::has_valid_numerics,
                             R"pbdoc(
        Is no element of the newest values NaN or infinite? True without any.
      )pbdoc");
  tensor
      .def("synchronize_data", &Tensor::synchronize_data,
           R"pbdoc(
        Copies the device's values to the host; waits for work in flight.

        numpy() reads the newest values without it.

        Raises:
            StateError: no device holds the tensor.

        Example:
            >>> weights = training.tensor("fc.weights")
            >>> weights.synchronize_data()
      )pbdoc")
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
          R"pbdoc(
        Copies the device's values to an array.

        Args:
            out: a writable array of the tensor's shape and type.

        Raises:
            StateError: no device holds the tensor.
            ShapeError: another shape.
            DTypeError: another type.

        Example:
            >>> weights = np.empty((2, 4), np.float32)
            >>> training.tensor("fc.weights").copy_data_from_device_memory(weights)
      )pbdoc")
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
          R"pbdoc(
        ML Compute's name of set_data().

        Args:
            data: an array of the tensor's shape, which is copied.
            device: gets it at once when it holds the tensor, else when a graph
                is compiled for it.

        Raises:
            ShapeError: another shape.
            DTypeError: a type that does not convert.
            StateError: the tensor is a result of a node.

        Example:
            >>> filled.bind_and_write_data(np.ones((2, 2)), "cpu")
      )pbdoc")
      .def("__reduce_ex__", &refuse_copy, py::arg("protocol"))
      .def("__eq__",
           [](const Tensor& self, const py::object& other) {
             return is_same_handle(self, other, "==", "equal");
           })
      .def("__ne__",
           [](const Tensor& self, const py::object& other) {
             return !is_same_handle(self, other, "!=", "not_equal");
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
                          R"pbdoc(
        A tensor that an optimizer may change, in ML Compute's way.

        Layers make those of their parameters; TrainingGraph's
        set_training_tensor_parameters() takes others.

        Args:
            tensor: of floats.
            optimizer_data: arrays that the optimizer's buffers begin with, in
                its order; None: zeros.

        Raises:
            DTypeError: the tensor is not of floats.

        Example:
            >>> image = tg.Tensor((8, 4), fill=0, batch_axis=None)
            >>> parameter = tg.mlcompute.TensorParameter(image)
            >>> parameter.is_updatable
            True
      )pbdoc")
      .def(py::init([](const Tensor& tensor,
                       const std::optional<std::vector<DataLike>>& data) {
             const ReadList list(data.value_or(std::vector<DataLike>()),
                                 {"TensorParameter", name_of(tensor)});
             return made_without_gil(
                 [&] { return TensorParameter(tensor, list.data); });
           }),
           py::arg("tensor"), py::arg("optimizer_data") = py::none())
      .def_property_readonly(
          "tensor", [](const TensorParameter& self) { return self.tensor(); },
          "The tensor.")
      .def_property("is_updatable", &TensorParameter::is_updatable,
                    &TensorParameter::set_updatable,
                    R"pbdoc(
        Is it trained? Read by compile(): graphs that were compiled before
        refuse to train on, with a StateError, until they are compiled again.
      )pbdoc");
  BoundClass<Platform>(m, "Platform", R"pbdoc(
        ML Compute's place of the seed of initializers and dropout.

        Example:
            >>> tg.mlcompute.Platform.set_rng_seed(0)
      )pbdoc")
      .def_static("set_rng_seed", &Platform::set_rng_seed, whole("seed"),
                  R"pbdoc(
        Seeds initial values of parameters and dropout masks: those of layers
        and graphs that are made from now on.

        Args:
            seed: any integer of 64 bits.

        Raises:
            InvalidArgument: a larger one.

        Example:
            >>> tg.mlcompute.Platform.set_rng_seed(0)
      )pbdoc")
      .def_static("rng_seed", &Platform::rng_seed,
                  R"pbdoc(
        The seed that was set last.

        Returns:
            None until one was.

        Example:
            >>> tg.mlcompute.Platform.set_rng_seed(5)
            >>> tg.mlcompute.Platform.rng_seed()
            5
      )pbdoc");
  m.def("set_seed", &Platform::set_rng_seed, whole("seed"),
        R"pbdoc(
        Seeds initial values of parameters and dropout masks: those of layers
        and graphs that are made from now on.

        Args:
            seed: any integer of 64 bits.

        Raises:
            InvalidArgument: a larger one.

        Example:
            >>> tg.set_seed(0)
            >>> first = tg.Tensor.random((2, 4), "uniform").numpy()
            >>> tg.set_seed(0)
            >>> bool((tg.Tensor.random((2, 4), "uniform").numpy() == first).all())
            True
      )pbdoc");
}

}  // namespace traingraph::python
