// SPDX-License-Identifier: MIT
// Collective: operations that block, on arrays. A wait gives up the GIL, and
// Ctrl-C ends it.
#include "collective.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "calls.h"
#include "errors.h"
#include "lifetime.h"

namespace traingraph::python {
namespace {

using FloatArray = Named<"numpy.typing.NDArray[numpy.float32]">;
using AnyArray = Named<"numpy.typing.NDArray[typing.Any]">;

constexpr auto kSignalInterval = std::chrono::milliseconds(50);

constexpr std::array kMethods{"all_reduce", "all_gather", "broadcast"};

/// What Python holds: its copy of the pointer goes without the GIL.
struct Transport {
  std::shared_ptr<Collective> collective;
};

/// Shared by who waits and `done`, which may come after the wait.
class Completion {
 public:
  void set(std::exception_ptr error) {
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = true;
      error_ = std::move(error);
    }
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kSignalInterval,
                             [this] { return is_over_; });
  }
  /// After wait() was true.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::exception_ptr error_;
};

/// Begins an operation and waits. `arrays` live until it is over, even if the
/// wait ends before.
template <class Begin>
void wait_for(Collective& collective, const py::object& arrays,
              const Begin& begin) {
  const auto completion = std::make_shared<Completion>();
  Collective::Done done =
      [completion, alive = keep_alive(arrays)](std::exception_ptr error) {
        completion->set(std::move(error));
      };
  without_gil([&] { begin(std::move(done)); });
  while (!without_gil([&] { return completion->wait(); })) {
    if (PyErr_CheckSignals() == 0) continue;
    const py::error_already_set error;
    without_gil([&] { collective.abort(); });
    throw error;
  }
  completion->rethrow();
}

[[noreturn]] void fail_array(const char* op, const char* argument,
                             const char* what, const char* hint) {
  throw InvalidArgument(ErrorInfo{.op = op,
                                  .node = argument,
                                  .what = what,
                                  .expected = {},
                                  .got = {},
                                  .hint = hint});
}

/// The array itself, never a copy: results go there.
py::array array_of(const py::object& object, const char* op,
                   const char* argument, bool is_written) {
  if (!py::isinstance<py::array>(object)) {
    throw CallError(ErrorInfo{.op = op,
                              .node = argument,
                              .what = "operations take arrays of NumPy",
                              .expected = "numpy.ndarray",
                              .got = describe(object),
                              .hint = {}});
  }
  const auto array = py::reinterpret_borrow<py::array>(object);
  if ((array.flags() & py::array::c_style) == 0) {
    fail_array(op, argument, "the array is not contiguous",
               "numpy.ascontiguousarray() makes one that is.");
  }
  if (is_written && !array.writeable()) {
    fail_array(op, argument, "the array is read-only", "Pass a copy of it.");
  }
  if (array.dtype().attr("hasobject").cast<bool>()) {
    fail_array(op, argument, "the array holds Python objects", "");
  }
  return array;
}

std::span<std::byte> bytes_of(const py::array& array) {
  return {static_cast<std::byte*>(const_cast<void*>(array.data())),
          static_cast<std::size_t>(array.nbytes())};
}

std::span<float> floats_of(const py::object& object, const char* op,
                           const char* argument) {
  const py::array array = array_of(object, op, argument, /*is_written=*/true);
  if (!array.dtype().is(py::dtype::of<float>())) {
    throw DTypeError(ErrorInfo{.op = op,
                               .node = argument,
                               .what = "sums are of floats",
                               .expected = "float32",
                               .got = py::str(array.dtype()),
                               .hint = {}});
  }
  const std::span<std::byte> bytes = bytes_of(array);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

void all_reduce(const Transport& self, const FloatArray& array) {
  const auto values = floats_of(array, "all_reduce", "array");
  wait_for(*self.collective, array, [&](Collective::Done done) {
    self.collective->all_reduce(values, std::move(done));
  });
}

void all_gather(const Transport& self, const AnyArray& part,
                const AnyArray& all) {
  const py::array from =
      array_of(part, "all_gather", "part", /*is_written=*/false);
  const py::array to = array_of(all, "all_gather", "all", /*is_written=*/true);
  if (!from.dtype().equal(to.dtype())) {
    throw DTypeError(ErrorInfo{.op = "all_gather",
                               .node = "all",
                               .what = "it has another type than the part",
                               .expected = py::str(from.dtype()),
                               .got = py::str(to.dtype()),
                               .hint = {}});
  }
  const auto part_bytes = bytes_of(from), all_bytes = bytes_of(to);
  wait_for(
      *self.collective, py::make_tuple(part, all), [&](Collective::Done done) {
        self.collective->all_gather(part_bytes, all_bytes, std::move(done));
      });
}

void broadcast(const Transport& self, const AnyArray& array, int root) {
  const std::span<std::byte> bytes =
      bytes_of(array_of(array, "broadcast", "array", /*is_written=*/true));
  wait_for(*self.collective, array, [&](Collective::Done done) {
    self.collective->broadcast(bytes, root, std::move(done));
  });
}

/// Is it a communicator of mpi4py?
bool is_communicator(const py::object& object) {
  return py::hasattr(object, "Get_rank") && py::hasattr(object, "Allreduce");
}

void require_methods(const py::object& object) {
  const auto require = [&](const char* name, const char* what) {
    if (py::hasattr(object, name)) return;
    throw InvalidArgument(ErrorInfo{
        .op = "collective",
        .node = {},
        .what = describe(object) + " has no " + what + " " + name,
        .expected = "rank, size, all_reduce(array), all_gather(part, all) and "
                    "broadcast(array, root)",
        .got = {},
        .hint = "Or pass a communicator of mpi4py, or mpi_collective()."});
  };
  for (const char* name : {"rank", "size"}) require(name, "attribute");
  for (const char* name : kMethods) require(name, "method");
}

/// Loading may take long, and waits for the other ranks.
Transport open_mpi(const std::string& library, std::uintptr_t communicator) {
  return {without_gil([&] {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle of mpi4py
    void* const handle = reinterpret_cast<void*>(communicator);
    return mpi_collective(library, handle);
  })};
}

}  // namespace

std::shared_ptr<Collective> collective_of(const py::object& object) {
  if (py::isinstance<Transport>(object)) {
    return object.cast<const Transport&>().collective;
  }
  if (is_communicator(object)) {
    return collective_of(py::module_::import("traingraph._collective")
                             .attr("of_communicator")(object));
  }
  require_methods(object);
  return python_collective(object);
}

void bind_collective(py::module_& m) {
  Handle<Transport>(m, "Collective",
                    R"pbdoc(
        Operations among ranks, the processes that train together.

        Every rank calls the same ones in the same order. They wait for the
        other ranks, and raise DeviceError when one is gone. Arrays are
        contiguous, and changed in place.

        Args:
            transport: an object of yours with the attributes rank and size and
                the methods all_reduce(array), all_gather(part, all),
                broadcast(array, root) and, where it can, abort(); or a
                communicator of mpi4py. See mpi_collective(), too.

        Raises:
            InvalidArgument: an object without one of them.

        Example:
            >>> class Alone:
            ...     rank, size = 0, 1
            ...     def all_reduce(self, array): ...
            ...     def all_gather(self, part, all): all[:] = part
            ...     def broadcast(self, array, root): ...
            >>> collective = tg.Collective(Alone())
      )pbdoc")
      .def(py::init([](const CollectiveLike& transport) {
             return Transport{collective_of(transport)};
           }),
           py::arg("transport"))
      .def_property_readonly(
          "rank", [](const Transport& self) { return self.collective->rank(); },
          "This process, 0 to size - 1.")
      .def_property_readonly(
          "size", [](const Transport& self) { return self.collective->size(); },
          "How many processes there are.")
      .def_property_readonly(
          "description",
          [](const Transport& self) { return self.collective->description(); },
          "What reports and errors call it.")
      .def("all_reduce", &all_reduce, py::arg("array"),
           R"pbdoc(
        Sums over all ranks: each gets the same bits.

        Args:
            array: float32, which becomes the sum.

        Raises:
            DeviceError: a rank is gone, or has given up.
            InvalidArgument: it is not contiguous or not writable.
            DTypeError: another type.
            CallError: no array of NumPy.

        Example:
            >>> values = np.ones(3, np.float32)
            >>> collective.all_reduce(values)
            >>> values
            array([1., 1., 1.], dtype=float32)
      )pbdoc")
      .def("all_gather", &all_gather, py::arg("part"), py::arg("all"),
           R"pbdoc(
        Puts the parts of all ranks together, in the order of ranks.

        Args:
            part: this rank's; as long on all of them.
            all: as long as all parts, and of their type.

        Raises:
            DeviceError: a rank is gone, or has given up.
            InvalidArgument: another length; not contiguous or not writable.
            DTypeError: the types differ.

        Example:
            >>> whole = np.zeros(2)
            >>> collective.all_gather(np.array([1.0, 2.0]), whole)
            >>> whole
            array([1., 2.])
      )pbdoc")
      .def("broadcast", &broadcast, py::arg("array"), whole("root") = 0,
           R"pbdoc(
        Gives all ranks the array of one.

        Args:
            array: of one shape and type on all ranks.
            root: the rank that has it.

        Raises:
            DeviceError: a rank is gone, or has given up.
            InvalidArgument: no such rank; not contiguous or not writable.

        Example:
            >>> collective.broadcast(np.zeros(3), root=0)
      )pbdoc")
      .def(
          "abort",
          [](const Transport& self) {
            without_gil([&] { self.collective->abort(); });
          },
          R"pbdoc(
        This rank gives up: what it has begun, and all that follows, raises
        DeviceError.

        Example:
            >>> collective.abort()
      )pbdoc");
  m.def("_mpi_collective", &open_mpi, py::arg("library"),
        py::arg("communicator"));
  m.def(
      "fixed_order",
      [](const CollectiveLike& collective) {
        return Transport{fixed_order(collective_of(collective))};
      },
      py::arg("collective"),
      R"pbdoc(
        The same collective with sums in the order of ranks, (x0 + x1) + x2.

        They are, bit for bit, those of one process that adds what each rank
        had. It takes as many times the memory and traffic as there are ranks.

        Args:
            collective: a Collective, or what it takes.

        Raises:
            InvalidArgument: an object without rank, size or an operation.

        Example:
            >>> class Alone:
            ...     rank, size = 0, 1
            ...     def all_reduce(self, array): ...
            ...     def all_gather(self, part, all): all[:] = part
            ...     def broadcast(self, array, root): ...
            >>> tg.fixed_order(Alone()).description
            'Alone, sums in the order of ranks'
      )pbdoc");
}

}  // namespace traingraph::python
