// SPDX-License-Identifier: MIT
// The state of a graph in files and as a dict of arrays.
#include "traingraph/checkpoint.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "arrays.h"
#include "calls.h"
#include "errors.h"
#include "files.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {
namespace {

using StateDict = py::typing::Dict<py::str, Array>;

void save(const CompiledGraph& self, const Path& path,
          const std::optional<MetadataMapping>& metadata, bool trained_only) {
  const auto to = to_path(path, "save");
  const Metadata text = to_metadata("save", metadata);
  without_gil([&] {
    self.synchronize();  // holding no lock: signal handlers may use the graph
    self.save(to, text, trained_only);
  });
}

RestoreReport restore(CompiledGraph& self, const Path& path, bool strict) {
  const auto from = to_path(path, "restore");
  return without_gil([&] {
    self.synchronize();
    return self.restore(from, strict);
  });
}

/// C++ has two calls for state_dict(): errors name the one of Python.
template <class Call>
auto as_state_dict(Call call) {
  const auto named = [](ErrorInfo info) {
    info.op = "state_dict";
    return info;
  };
  return without_gil([&] {
    try {
      return call();
    } catch (const StateError& error) {
      throw StateError(named(error.info()));
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(named(error.info()));
    }
  });
}

StateDict state_dict(const CompiledGraph& self, bool with_optimizer) {
  const auto tensors = as_state_dict([&] {
    self.synchronize();
    return self.state_tensors(with_optimizer);
  });
  StateDict result;
  std::vector<NamedData> into;
  for (const auto& [name, descriptor] : tensors) {
    Array array = new_array(descriptor);
    const std::span<std::byte> bytes = bytes_of(array);
    into.push_back({name, TensorData(bytes.data(), bytes.size())});
    result[py::str(name)] = array;
  }
  as_state_dict([&] { self.read_state_dict(into); });
  return result;
}

RestoreReport load_state_dict(CompiledGraph& self, const ArrayDict& mapping,
                              bool strict) {
  NamedArrays arrays(mapping, "load_state_dict", "mapping",
                     NamedArrays::Access::Read);
  const auto tensors = without_gil([&] {
    self.synchronize();
    return self.state_tensors(/*with_optimizer=*/true);
  });
  arrays.convert_floats_to(tensors);
  return without_gil(
      [&] { return self.load_state_dict(arrays.list(), strict); });
}

}  // namespace

std::filesystem::path to_path(const Path& path, const char* call) {
  try {
    return path.cast<std::filesystem::path>();
  } catch (const py::cast_error&) {
    throw CallError(ErrorInfo{.op = call,
                              .node = "path",
                              .what = "this is no path",
                              .expected = "str, bytes or os.PathLike",
                              .got = describe(path)});
  }
}

Metadata to_metadata(const char* call,
                     const std::optional<MetadataMapping>& metadata) {
  Metadata result;
  if (!metadata) return result;
  for (const auto& [key, value] : to_dict(*metadata, call, "metadata")) {
    const bool is_text =
        PyUnicode_Check(key.ptr()) && PyUnicode_Check(value.ptr());
    if (!is_text) {
      throw InvalidArgument(ErrorInfo{
          .op = call,
          .node = py::str(key).cast<std::string>(),
          .what = "metadata is text by text",
          .expected = "str",
          .got = py::type::of(PyUnicode_Check(key.ptr()) ? value : key)
                     .attr("__name__")
                     .cast<std::string>(),
          .hint = "json.dumps() makes text of most things."});
    }
    result.emplace(to_utf8(key, call), to_utf8(value, call));
  }
  return result;
}

void bind_checkpoint_types(py::module_& m) {
  using Report = RestoreReport;
  BoundClass<Report>(m, "RestoreReport",
                     R"pbdoc(
        How a file or a mapping fits a graph: lists of names, and the file's
        metadata. restore() and load_state_dict() return it.

        Example:
            >>> state = {"fc.weights": np.ones((2, 4)), "other": np.ones(3)}
            >>> report = training.load_state_dict(state, strict=False)
            >>> report.fits, report.missing, report.unexpected
            (False, ['fc.biases'], ['other'])
      )pbdoc")
      .def_readonly("missing", &Report::missing,
                    "Tensors that the graph has and that were not given.")
      .def_readonly("unexpected", &Report::unexpected,
                    "Tensors that were given and that the graph does not have.")
      .def_readonly(
          "mismatched", &Report::mismatched,
          "Tensors that both have and that differ; each entry says how.")
      .def_readonly("metadata", &Report::metadata,
                    "Text of the user's own, which the file has.")
      .def_property_readonly("fits", &Report::fits, "Are all lists empty?")
      .def("__repr__", [](const Report& self) {
        const auto count = [](const std::vector<std::string>& names) {
          return std::to_string(names.size());
        };
        return "RestoreReport(" + count(self.missing) + " missing, " +
               count(self.unexpected) + " unexpected, " +
               count(self.mismatched) + " mismatched)";
      });
  m.def(
      "read_metadata",
      [](const Path& path) {
        const auto from = to_path(path, "read_metadata");
        return made_without_gil([&] { return read_metadata(from); });
      },
      py::arg("path"),
      R"pbdoc(
        The user's metadata of a checkpoint, or of any safetensors file.

        Args:
            path: the file.

        Returns:
            Text by text.

        Raises:
            FileError: it cannot be read, or is no such file.
            CallError: no path.

        Example:
            >>> training.save("run.safetensors", metadata={"epoch": "3"})
            >>> tg.read_metadata("run.safetensors")
            {'epoch': '3'}
      )pbdoc");
}

void bind_checkpoint(Handle<CompiledGraph, Graph>& graph) {
  graph
      .def("save", &save, py::arg("path"), py::kw_only(),
           py::arg("metadata") = py::none(), py::arg("trained_only") = false,
           R"pbdoc(
        Writes the state to one safetensors file, for restore().

        It has parameters, running statistics and, of a training graph, the
        optimizer's buffers and all else that the next step depends on; not what
        separate phases have left for the next one. Whatever happens, the path
        is the old file or the new one.

        Args:
            path: the file.
            metadata: text of your own by names, for read_metadata(); None:
                none.
            trained_only: without parameters that no optimizer trains, for
                restore(strict=False) over those of another file.

        Raises:
            StateError: the graph is not compiled.
            InvalidArgument: metadata that is no text, names that a file cannot
                have, trained_only of an inference graph.
            FileError: the file cannot be written.

        Example:
            >>> training.save("run.safetensors", metadata={"epoch": "3"})
            >>> training.restore("run.safetensors").metadata
            {'epoch': '3'}
      )pbdoc")
      .def("restore", &restore, py::arg("path"), py::kw_only(),
           py::arg("strict") = true,
           R"pbdoc(
        Goes on from a file of save(), bit for bit.

        Inference graphs take parameters and running statistics alone. No type
        is converted to another: load_state_dict() does that.

        Args:
            path: the file.
            strict: everything has to fit, else nothing changes and the error
                says what does not; False: takes what fits.

        Returns:
            What did not fit, and the file's metadata.

        Raises:
            FileError: the file cannot be read, or is not sound.
            InvalidArgument: names are missing or too many.
            ShapeError: a tensor has another shape.
            DTypeError: a tensor has another type.
            StateError: the graph is not compiled.

        Example:
            >>> training.save("run.safetensors")
            >>> training.restore("run.safetensors").fits
            True
      )pbdoc")
      .def("state_dict", &state_dict, py::kw_only(),
           py::arg("with_optimizer") = false,
           R"pbdoc(
        Copies of parameters and running statistics, of one moment.

        Args:
            with_optimizer: the optimizer's buffers, too, as
                "<parameter>.<buffer>".

        Returns:
            Arrays by name. Weights have the shapes of PyTorch's modules. Those
            of bfloat16 are arrays of ml_dtypes.

        Raises:
            StateError: the graph is not compiled.
            DTypeError: bfloat16, and ml_dtypes is not there.

        Example:
            >>> {name: a.shape for name, a in training.state_dict().items()}
            {'fc.weights': (2, 4), 'fc.biases': (2,)}
      )pbdoc")
      .def("load_state_dict", &load_state_dict, py::arg("mapping"),
           py::kw_only(), py::arg("strict") = true,
           R"pbdoc(
        Gives parameters and running statistics new values.

        The optimizer's step and rate stay as they are.

        Args:
            mapping: arrays by the names of state_dict(); with buffers of the
                optimizer, or without all of them. Floats of any type become
                those of the tensors, rounded to nearest; other data has to have
                their type.
            strict: everything has to fit, else nothing changes and the error
                says what does not; False: takes what fits.

        Returns:
            What did not fit.

        Raises:
            InvalidArgument: names are missing or too many.
            ShapeError: an array of another shape.
            DTypeError: an array of another type.
            StateError: the graph is not compiled.

        Example:
            >>> state = training.state_dict()
            >>> state["fc.biases"] += 1
            >>> training.load_state_dict(state).fits
            True
      )pbdoc");
}

}  // namespace traingraph::python
