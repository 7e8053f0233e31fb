// SPDX-License-Identifier: MIT
// What the files of the extension module share: one bind function per topic.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "traingraph/traingraph.h"

namespace traingraph::python {

namespace py = pybind11;

// In the order in which module.cpp calls them: a type must be bound before a
// signature or a default value mentions it.
void bind_errors(py::module_& m);
void bind_types(py::module_& m);
void bind_bfloat16(py::module_& m);
void bind_device(py::module_& m);
void bind_optimizer_device_data(py::module_& m);
void bind_tensor(py::module_& m);
void bind_layers(py::module_& m);
void bind_losses(py::module_& m);
void bind_ctc_loss(py::module_& m);
void bind_yolo_loss(py::module_& m);
void bind_optimizers(py::module_& m);
void bind_schedules(py::module_& m);
void bind_execution(py::module_& m);
void bind_collective(py::module_& m);
void bind_ops(py::module_& m);
void bind_graph(py::module_& m);
void bind_checkpoint_types(py::module_& m);
void bind_compiled_graph(py::module_& m);
void bind_parameter_groups(py::module_& m);
void bind_training(py::module_& m);
void bind_nodes(py::module_& m);
void bind_interop(py::module_& m);
void bind_shutdown(py::module_& m);
/// Goes through everything that is bound.
void bind_calls(py::module_& m);
/// Last: Tensor has items by an index, and is no sequence.
void forget_sequence(py::module_& m);

/// Extra argument of py::class_: an object whose __init__() never ran has no
/// C++ object, and a call that needs it throws TypeError. pybind11 would hand
/// out uninitialized memory.
struct RequiresInit {};

}  // namespace traingraph::python

template <>
struct pybind11::detail::process_attribute<traingraph::python::RequiresInit>
    : process_attribute_default<traingraph::python::RequiresInit> {
  static void init(const traingraph::python::RequiresInit&,
                   type_record* record) {
    record->operator_new = [](std::size_t) -> void* {
      throw type_error(
          "object is not initialized: its __init__() was never called");
    };
  }
};

namespace traingraph::python {

/// py::class_ of every bound class.
template <class Type, class... Options>
class BoundClass : public py::class_<Type, Options...> {
 public:
  template <class... Extra>
  BoundClass(py::handle scope, const char* name, const Extra&... extra)
      : py::class_<Type, Options...>(scope, name, RequiresInit{}, extra...) {}
};

/// Of a class of values: comparison and copying. They may be equal and not be
/// the same object, so they have no hash.
template <class Type, class... Options>
void bind_value(BoundClass<Type, Options...>& type) {
  type.def("__eq__",
           [](const Type& self, const py::object& other) {
             return py::isinstance<Type>(other) &&
                    self == other.template cast<const Type&>();
           })
      .def("__copy__", [](const Type& self) { return Type(self); })
      .def(
          "__deepcopy__",
          [](const Type& self, const py::typing::Dict<py::int_, py::object>&) {
            return Type(self);
          },
          py::arg("memo"));
  type.attr("__hash__") = py::none();
}

/// Gives up the GIL for a scope. Everything that may wait for a lock or a
/// device does: device threads take the GIL for callbacks, so waiting for them
/// while holding it would be a deadlock.
///
/// Unlike py::gil_scoped_release it survives the end of the interpreter: from
/// then on a daemon thread stays here, where Python would unwind it through
/// C++ and so terminate the process.
///
/// Throws DeviceError in a forked child, where a wait would have no end.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// An argument that is an integer: numpy.float32(2.7) is an error, not 2.
inline py::arg whole(const char* name) { return py::arg(name).noconvert(); }

/// In a forked child nothing is deleted: threads that are not there may hold
/// the locks.
bool has_lost_device_threads();

template <class Function>
auto without_gil(Function&& function) {
  const WithoutGil released;
  return std::forward<Function>(function)();
}

/// What `make` makes of memory alone, which may take long. It needs no device,
/// so that a forked child may make some.
template <class Make>
auto made_without_gil(Make&& make) {
  return has_lost_device_threads() ? make()
                                   : without_gil(std::forward<Make>(make));
}

/// For messages.
inline std::string name_of(const Tensor& tensor) {
  return without_gil([&] { return tensor.name(); });
}

/// `method` as Python calls it: without the GIL, for it may wait for a lock,
/// and a thread that holds the lock may in turn wait for the GIL.
template <class Result, class Class, class... Args>
auto released(Result (Class::*method)(Args...)) {
  return [method](Class& self, Args... args) -> Result {
    const WithoutGil released;
    return (self.*method)(std::forward<Args>(args)...);
  };
}
template <class Result, class Class, class... Args>
auto released(Result (Class::*method)(Args...) const) {
  return [method](const Class& self, Args... args) -> Result {
    const WithoutGil released;
    return (self.*method)(std::forward<Args>(args)...);
  };
}
/// Other callables release the GIL themselves, after they have used Python
/// objects.
template <class Function>
  requires(!std::is_member_function_pointer_v<std::decay_t<Function>>)
Function&& released(Function&& function) {
  return std::forward<Function>(function);
}

/// A const method that takes no lock, ever: it keeps the GIL.
template <class Result, class Class, class... Args>
auto never_waits(Result (Class::*method)(Args...) const) {
  return [method](const Class& self, Args... args) -> Result {
    return (self.*method)(std::forward<Args>(args)...);
  };
}

struct DeleteWithoutGil {
  template <class Type>
  void operator()(Type* object) const {
    if (has_lost_device_threads()) return;
    const WithoutGil released;
    delete object;
  }
};

/// BoundClass of a handle whose last copy may wait for a device when it goes. A
/// method that is bound as it is, &Type::method, gives up the GIL.
/// tests/python/test_gil.py calls everything that is bound.
template <class Type, class... Bases>
class Handle : public BoundClass<Type, Bases...,
                                 std::unique_ptr<Type, DeleteWithoutGil>> {
 public:
  using Class =
      BoundClass<Type, Bases..., std::unique_ptr<Type, DeleteWithoutGil>>;
  using Class::Class;

  template <class Function, class... Extra>
  Handle& def(const char* name, Function&& function, const Extra&... extra) {
    Class::def(name, released(std::forward<Function>(function)), extra...);
    return *this;
  }
  /// py::init().
  template <class Init, class... Extra>
    requires(!std::is_convertible_v<Init, const char*>)
  Handle& def(Init&& init, const Extra&... extra) {
    Class::def(std::forward<Init>(init), extra...);
    return *this;
  }
  template <class Function, class... Extra>
  Handle& def_static(const char* name, Function&& function,
                     const Extra&... extra) {
    Class::def_static(name, std::forward<Function>(function), extra...);
    return *this;
  }
  template <class Getter, class... Extra>
  Handle& def_property_readonly(const char* name, Getter&& getter,
                                const Extra&... extra) {
    Class::def_property_readonly(name, released(std::forward<Getter>(getter)),
                                 extra...);
    return *this;
  }
  template <class Getter, class Setter, class... Extra>
  Handle& def_property(const char* name, Getter&& getter, Setter&& setter,
                       const Extra&... extra) {
    Class::def_property(name, released(std::forward<Getter>(getter)),
                        released(std::forward<Setter>(setter)), extra...);
    return *this;
  }
};

/// What graph.ops is: one method for each op.
struct Ops {
  Graph graph;
};

/// Layers are handed out as what Python gave in.
template <class AnyGraph>
std::vector<std::shared_ptr<Layer>> layers_of(const AnyGraph& self) {
  std::vector<std::shared_ptr<Layer>> result;
  for (const LayerPtr& layer : without_gil([&] { return self.layers(); })) {
    result.push_back(std::const_pointer_cast<Layer>(layer));
  }
  return result;
}

/// Methods of CompiledGraph that are a topic of their own.
void bind_sequence_descriptor(py::module_& m,
                              BoundClass<TensorDescriptor>& base);
void bind_sequence_tensors(Handle<Tensor>& tensor);
void bind_optimizer_data(Handle<Tensor>& tensor);
void bind_quantization(Handle<Tensor>& tensor);
void bind_tensor_arrays(Handle<Tensor>& tensor);
void bind_expressions(Handle<Tensor>& tensor);
void bind_insight(Handle<CompiledGraph, Graph>& graph);
void bind_checkpoint(Handle<CompiledGraph, Graph>& graph);
void bind_listing(Handle<CompiledGraph, Graph>& graph);
void bind_export(Handle<CompiledGraph, Graph>& graph);
void bind_load(Handle<TrainingGraph, CompiledGraph>& graph);
void bind_load(Handle<InferenceGraph, CompiledGraph>& graph);
/// Descriptors before the methods, whose defaults they are.
void bind_recurrent_descriptors(py::module_& m);
void bind_recurrent_ops(Handle<Ops>& ops);
void bind_sequence(Handle<Graph>& graph);

}  // namespace traingraph::python
