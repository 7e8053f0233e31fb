// SPDX-License-Identifier: MIT
// Invariant: a thread touches Python only inside an Entry that found the
// interpreter open, and the exit hook closes it and then waits for the entries
// that are left. So nothing of ours runs during finalization.
#include "lifetime.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "bindings.h"
#include "traingraph/interrupt.h"

namespace traingraph::python {
namespace {

/// A callback that does not return must not keep the process from exiting.
constexpr auto kExitPatience = std::chrono::seconds(10);

std::atomic<bool> g_is_closing{false};
std::atomic<bool> g_is_open{true};
std::atomic<std::thread::id> g_exit_thread{};
std::atomic<int> g_num_entries{0};
std::atomic<int> g_num_pending_callbacks{0};
std::atomic<unsigned long> g_main_thread{0};
thread_local int t_num_entries = 0;
std::atomic<bool> g_has_devices{false};

class Entry {
 public:
  Entry() {
    g_num_entries.fetch_add(1);
    ++t_num_entries;
    is_open_ = g_is_open.load();
  }
  ~Entry() {
    --t_num_entries;
    g_num_entries.fetch_sub(1);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  explicit operator bool() const { return is_open_; }

 private:
  bool is_open_ = false;
};

/// Past the end of the interpreter the reference is leaked, on purpose.
void drop(PyObject* object) {
  const Entry entry;
  if (!entry) return;
  const py::gil_scoped_acquire gil;
  Py_DECREF(object);
}

/// Signals arrive on the main thread, in whatever Python it runs: Ctrl-C is for
/// the call that waits, not for the callback within.
bool is_ctrl_c(const py::error_already_set& error) {
  return PyThread_get_thread_ident() == g_main_thread.load() &&
         error.matches(PyExc_KeyboardInterrupt);
}

class Callback {
 public:
  explicit Callback(py::object function) : function_(function.release().ptr()) {
    if (is_pending_) g_num_pending_callbacks.fetch_add(1);
  }
  ~Callback() {
    drop(function_);
    settle();
  }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  void call(const Execution& execution) {
    if (const Entry entry; entry) {
      const py::gil_scoped_acquire gil;
      const auto function = py::reinterpret_borrow<py::object>(function_);
      try {
        function(execution);
      } catch (py::error_already_set& error) {
        if (is_ctrl_c(error)) {
          PyErr_SetInterrupt();
        } else {
          error.discard_as_unraisable(function);
        }
      }
    }
    settle();
  }

 private:
  void settle() {
    if (is_pending_.exchange(false)) g_num_pending_callbacks.fetch_sub(1);
  }

  PyObject* function_;
  // Exit waits for callbacks of work before it, not for what threads still add.
  std::atomic<bool> is_pending_{!g_is_closing.load()};
};

using Clock = std::chrono::steady_clock;

void wait_for_zero(const std::atomic<int>& count, Clock::time_point end) {
  while (count.load() > 0 && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void drain() {
  if (!g_has_devices.load()) return;
  try {
    Device::synchronize_all();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // Each wait has thrown the error of its work; no caller is left now.
  }
}

/// The entries of a thread that stays, a callback's, are over.
[[noreturn]] void stay_forever() {
  g_num_entries.fetch_sub(t_num_entries);
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Handlers of signals run on the main thread only. At exit Ctrl-C has nobody
/// to go to: it drops what the exit waits for.
void raise_signals() {
  if (PyThread_get_thread_ident() != g_main_thread.load()) return;
  const Entry entry;
  if (!entry) return;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return;
  const py::error_already_set error;
  if (!g_is_closing.load()) throw error;
  if (error.matches(PyExc_KeyboardInterrupt)) CancelScope::cancel_waiting();
}

/// Does the interpreter end because of Ctrl-C?
bool is_interrupted() {
  PyObject* const type = PySys_GetObject("last_type");  // borrowed
  return type && type != Py_None &&
         PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt) != 0;
}

void shut_down() {
  if (has_lost_device_threads()) return;
  if (is_interrupted()) CancelScope::cancel_waiting();
  const WithoutGil released;
  g_is_closing = true;
  drain();
  const auto end = Clock::now() + kExitPatience;
  wait_for_zero(g_num_pending_callbacks, end);
  g_exit_thread = std::this_thread::get_id();
  g_is_open = false;
  wait_for_zero(g_num_entries, end);
  drain();  // what other threads have enqueued meanwhile
}

}  // namespace

bool has_lost_device_threads() {
  return g_has_devices.load() &&
         !Device::reason_unavailable(DeviceType::CPU).empty();
}

WithoutGil::WithoutGil() {
  if (has_lost_device_threads()) Device::cpu();  // throws, with the reason
  state_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  const bool is_exit_thread =
      g_exit_thread.load() == std::this_thread::get_id();
  if (const Entry entry; entry || is_exit_thread) {
    PyEval_RestoreThread(state_);
    return;
  }
  stay_forever();
}

std::shared_ptr<void> keep_alive(py::object object) {
  PyObject* const pointer = object.release().ptr();
  return {pointer, [](void* p) { drop(static_cast<PyObject*>(p)); }};
}

std::function<void(const Execution&)> make_callback(py::object function) {
  auto callback = std::make_shared<Callback>(std::move(function));
  return [callback](const Execution& execution) { callback->call(execution); };
}

bool with_gil(const std::function<void()>& use) {
  const Entry entry;
  if (!entry) return false;
  const py::gil_scoped_acquire gil;
  use();
  return true;
}

void note_device() { g_has_devices = true; }

void bind_shutdown(py::module_&) {
  g_main_thread = py::module_::import("threading")
                      .attr("main_thread")()
                      .attr("ident")
                      .cast<unsigned long>();
  set_interrupt_check(raise_signals);
  py::module_::import("atexit").attr("register")(py::cpp_function(shut_down));
}

}  // namespace traingraph::python
