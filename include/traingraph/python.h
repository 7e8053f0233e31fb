// SPDX-License-Identifier: MIT
// Objects of the Python package as C++ objects and back, for extension modules
// and for hosts that embed an interpreter. docs/interop.md has a program.
//
// Both sides hold the same graph, tensor or execution; either may go first.
// python_casters.h does the same for functions of pybind11 modules. This header
// needs Python.h alone, so modules of any pybind11, or of none, may use it.
//
// The module must load the library that the package has: link
// traingraph::traingraph of `python -m traingraph --cmake-dir`, or let the host
// load a library of the same version first. Needs the GIL, except where said.
#pragma once

#include <Python.h>

#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "traingraph/execution.h"
#include "traingraph/tensor.h"
#include "traingraph/training_graph.h"
#include "traingraph/version.h"

namespace traingraph {

/// The types that cross, by their names in Python.
template <class T>
inline constexpr const char* kPythonName = nullptr;
template <>
inline constexpr const char* kPythonName<Tensor> = "Tensor";
template <>
inline constexpr const char* kPythonName<Execution> = "Execution";
template <>
inline constexpr const char* kPythonName<TrainingGraph> = "TrainingGraph";
template <>
inline constexpr const char* kPythonName<InferenceGraph> = "InferenceGraph";

template <class T>
concept SharedWithPython = kPythonName<T> != nullptr;

namespace interop {

struct Release {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
/// A reference of one's own.
using Reference = std::unique_ptr<PyObject, Release>;

// A capsule holds a copy of the object. Its name says of which version and
// type, its context which copy of the library: nothing of it is read before
// both are known to be ours.
inline constexpr const char* kPrefix = "traingraph " TRAINGRAPH_VERSION " ";

inline void* this_library() {
  return reinterpret_cast<void*>(&library_version);
}

/// Python knows a capsule's type by this name, which lives as long as the
/// process.
template <SharedWithPython T>
const char* capsule_name() {
  static const std::string name = std::string(kPrefix) + kPythonName<T>;
  return name.c_str();
}

/// Returns null, with a Python error, when there is no memory.
template <SharedWithPython T>
PyObject* make_capsule(const T& object) {
  auto copy = std::make_unique<T>(object);
  PyObject* capsule =
      PyCapsule_New(copy.get(), capsule_name<T>(), [](PyObject* self) {
        delete static_cast<T*>(PyCapsule_GetPointer(self, capsule_name<T>()));
      });
  if (!capsule) return nullptr;
  copy.release();
  PyCapsule_SetContext(capsule, this_library());
  return capsule;
}

/// Is the capsule of this library? Else a Python error is set.
inline bool require_ours(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (!name) {
    if (!PyErr_Occurred()) {
      PyErr_SetString(PyExc_TypeError, "the capsule is not of traingraph");
    }
    return false;
  }
  if (std::strncmp(name, kPrefix, std::strlen(kPrefix)) != 0) {
    PyErr_Format(PyExc_ImportError,
                 "a \"%s\" cannot be read by code that was built for "
                 "traingraph " TRAINGRAPH_VERSION
                 ": build it anew with the version that is installed",
                 name);
    return false;
  }
  if (PyCapsule_GetContext(capsule) != this_library()) {
    PyErr_SetString(
        PyExc_ImportError,
        "two copies of libtraingraph are loaded, which know nothing of each "
        "other: link the one that `python -m traingraph --cmake-dir` names");
    return false;
  }
  return true;
}

/// Returns what a capsule of the package points to; null, with a Python error
/// set.
inline void* package_pointer(const char* attribute, const char* name) {
  const Reference module(PyImport_ImportModule("traingraph"));
  const Reference core(module ? PyObject_GetAttrString(module.get(), "_core")
                              : nullptr);
  const Reference capsule(core ? PyObject_GetAttrString(core.get(), attribute)
                               : nullptr);
  if (!capsule || !require_ours(capsule.get())) return nullptr;
  return PyCapsule_GetPointer(capsule.get(), name);
}

using SetError = void (*)(const std::exception_ptr&);
inline constexpr const char* kSetErrorName =
    "traingraph " TRAINGRAPH_VERSION " set_error";

}  // namespace interop

/// Sets the Python error that the package raises for an exception, with its
/// parts. For what a function of the C API catches.
inline void set_python_error(const std::exception_ptr& error) {
  void* const set =
      interop::package_pointer("_set_error", interop::kSetErrorName);
  if (set) (*static_cast<interop::SetError*>(set))(error);
}

/// The C++ object behind a Python object; nothing, with a Python error set:
/// TypeError for another type, ImportError for another version of the library
/// or another copy of it.
template <SharedWithPython T>
std::optional<T> from_python(PyObject* object) {
  const interop::Reference capsule(
      PyObject_CallMethod(object, "_share", nullptr));
  const bool is_shared = capsule && PyCapsule_CheckExact(capsule.get());
  if (is_shared && !interop::require_ours(capsule.get())) return std::nullopt;
  if (!is_shared ||
      !PyCapsule_IsValid(capsule.get(), interop::capsule_name<T>())) {
    if (!capsule && !PyErr_ExceptionMatches(PyExc_AttributeError)) {
      return std::nullopt;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "expected a traingraph.%s, got %s",
                 kPythonName<T>, Py_TYPE(object)->tp_name);
    return std::nullopt;
  }
  return *static_cast<T*>(
      PyCapsule_GetPointer(capsule.get(), interop::capsule_name<T>()));
}

/// A new reference to a Python object that has the same graph, tensor or
/// execution; imports the package when that was not done. Null, with a Python
/// error set: ImportError as above, or what importing raised.
template <SharedWithPython T>
PyObject* to_python(const T& object) {
  const interop::Reference module(PyImport_ImportModule("traingraph"));
  if (!module) return nullptr;
  const interop::Reference core(PyObject_GetAttrString(module.get(), "_core"));
  const interop::Reference capsule(core ? interop::make_capsule(object)
                                        : nullptr);
  if (!capsule) return nullptr;
  return PyObject_CallMethod(core.get(), "_adopt", "O", capsule.get());
}

}  // namespace traingraph
