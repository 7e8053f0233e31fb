// SPDX-License-Identifier: MIT
// Reports and profiles as plain dicts and lists, and what writes them as text;
// traingraph/_insight.py makes objects of them.
#include <pybind11/stl.h>

#include <cmath>
#include <memory>
#include <optional>
#include <type_traits>

#include "bindings.h"
#include "signature.h"
#include "traingraph/insight_text.h"

namespace traingraph::python {
namespace {

using namespace py::literals;

using ReportObject = Named<"traingraph._insight.Report">;
using ProfileObject = Named<"traingraph._insight.Profile">;
using Path = Named<"str | os.PathLike[str]">;

/// None where C++ has kUnknown.
py::object known(double number) {
  if (std::isnan(number)) return py::none();
  return py::float_(number);
}

/// Makes dicts of the same keys. A report of a large graph has a million
/// entries, so a key is one Python string, made once.
template <std::size_t N>
class Record {
 public:
  explicit Record(const char* const (&keys)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      // Never freed: the interpreter may end before static objects do.
      keys_[i] = PyUnicode_InternFromString(keys[i]);
      if (keys_[i] == nullptr) throw py::error_already_set();
    }
  }

  template <class... Values>
    requires(sizeof...(Values) == N)
  py::dict operator()(const Values&... values) const {
    py::dict dict;
    std::size_t i = 0;
    (set(dict, keys_[i++], to_object(values)), ...);
    return dict;
  }

 private:
  template <class Value>
  static py::object to_object(const Value& value) {
    if constexpr (std::is_base_of_v<py::object, Value>) {
      return value;
    } else {
      return py::cast(value);
    }
  }
  static void set(const py::dict& dict, PyObject* key,
                  const py::object& value) {
    if (PyDict_SetItem(dict.ptr(), key, value.ptr()) != 0) {
      throw py::error_already_set();
    }
  }

  PyObject* keys_[N];
};

py::dict to_dict(const LayerCost& cost) {
  static const Record record(
      {"flops", "bytes", "seconds", "spread", "limit_seconds", "share"});
  return record(cost.flops, cost.bytes, cost.seconds, cost.spread,
                known(cost.limit_seconds), known(cost.share()));
}

py::dict to_dict(const LayerRow& row) {
  static const Record record({"layer", "ops", "parameters", "fused_group",
                              "fused", "layout", "reorders", "forward",
                              "gradient", "update", "cost"});
  return record(row.layer, row.ops, row.parameters, row.fused_group, row.fused,
                row.layout, row.reorders, to_dict(row.forward),
                to_dict(row.gradient), to_dict(row.update),
                to_dict(row.cost()));
}

py::dict to_dict(const UnitSpan& unit) {
  static const Record record({"name", "ops", "phase", "rows", "is_reorder",
                              "layout", "image_copies", "flops", "bytes",
                              "seconds", "spread", "share", "start"});
  return record(unit.name, unit.ops, unit.phase, unit.rows, unit.is_reorder,
                unit.layout, unit.image_copies, unit.cost.flops,
                unit.cost.bytes, unit.cost.seconds, unit.cost.spread,
                known(unit.cost.share()), unit.start);
}

py::dict to_dict(const MemorySpan& span) {
  static const Record record(
      {"name", "role", "offset", "bytes", "first", "last"});
  return record(span.name, span.role, span.offset, span.bytes, span.first,
                span.last);
}

py::dict to_dict(const Rewrite& rewrite) {
  static const Record record({"what", "node", "of", "hint"});
  return record(rewrite.what, rewrite.node, rewrite.of, rewrite.hint);
}

py::dict to_dict(const BucketSpan& bucket) {
  static const Record record({"name", "bytes", "sent_before", "needed_before"});
  return record(bucket.name, bucket.bytes, bucket.sent_before,
                bucket.needed_before);
}

py::dict to_dict(const ExchangeSpan& span) {
  static const Record record(
      {"name", "kind", "before", "bytes", "start", "seconds"});
  return record(span.name, span.kind, span.before, span.bytes, span.start,
                span.seconds);
}

template <class Item>
py::list to_list(const std::vector<Item>& items) {
  py::list list(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) list[i] = to_dict(items[i]);
  return list;
}

/// What Report and Profile have in common.
template <class Tables>
py::dict tables_of(const Tables& tables) {
  return py::dict(
      "device"_a = tables.device, "batch_size"_a = tables.batch_size,
      "rows"_a = to_list(tables.rows), "total"_a = to_dict(tables.total),
      "units"_a = to_list(tables.units), "buckets"_a = to_list(tables.buckets));
}

py::object python_class(const char* name) {
  return py::module_::import("traingraph._insight").attr(name);
}

/// While a million dicts are made that refer to none but each other, there is
/// nothing to collect, and looking for it takes a third of the time.
class PausedCollection {
 public:
  PausedCollection() : was_enabled_(PyGC_Disable() != 0) {}
  ~PausedCollection() {
    if (was_enabled_) PyGC_Enable();
  }
  PausedCollection(const PausedCollection&) = delete;
  PausedCollection& operator=(const PausedCollection&) = delete;

 private:
  const bool was_enabled_;
};

RowOrder order_of(const std::optional<std::string>& name) {
  if (!name) return RowOrder::Declared;
  constexpr std::pair<std::string_view, RowOrder> kOrders[] = {
      {"seconds", RowOrder::Seconds},
      {"flops", RowOrder::Flops},
      {"bytes", RowOrder::Bytes},
      {"parameters", RowOrder::Parameters}};
  for (const auto& [known, order] : kOrders) {
    if (*name == known) return order;
  }
  throw InvalidArgument(
      ErrorInfo{.op = "table",
                .what = "there is no such order",
                .expected = "seconds, flops, bytes or parameters",
                .got = "\"" + *name + "\""});
}

/// table(sort_by, groups_blocks) of a Report or Profile, which it keeps.
template <class Tables>
py::cpp_function table_of(std::shared_ptr<const Tables> tables) {
  return py::cpp_function(
      [tables](const std::optional<std::string>& sort_by, bool groups_blocks) {
        const TableOptions options{order_of(sort_by), groups_blocks};
        return without_gil([&] { return table(*tables, options); });
      });
}

/// scaling(ranks, bandwidth, latency) of a Report or Profile, as a dict.
template <class Tables>
py::cpp_function scaling_of(std::shared_ptr<const Tables> tables) {
  return py::cpp_function(
      [tables](int ranks, double bandwidth, double latency) {
        const Scaling s = tables->scaling(ranks, bandwidth, latency);
        return py::dict("ranks"_a = s.ranks, "step_seconds"_a = s.step_seconds,
                        "compute_seconds"_a = s.compute_seconds,
                        "wait_seconds"_a = s.wait_seconds,
                        "exchange_seconds"_a = s.exchange_seconds,
                        "efficiency"_a = s.efficiency);
      });
}

py::dict to_dict(const BatchPlans& plans) {
  return py::dict("sizes"_a = plans.sizes, "bytes"_a = plans.bytes,
                  "limit_bytes"_a = plans.limit_bytes,
                  "evictions"_a = plans.evictions);
}

template <class Tables>
py::cpp_function text_of(std::shared_ptr<const Tables> tables,
                         std::string (*write)(const Tables&)) {
  return py::cpp_function(
      [=] { return without_gil([&] { return write(*tables); }); });
}

ReportObject report(const CompiledGraph& self) {
  const auto report = without_gil(
      [&] { return std::make_shared<const Report>(self.report()); });
  const PausedCollection paused;
  return ReportObject(python_class("Report")(
      tables_of(*report), to_list(report->memory),
      py::int_(report->arena_bytes), report->casts, report->cast_units,
      report->notes, to_list(report->rewrites), to_dict(report->batch_plans),
      table_of(report), scaling_of(report), text_of(report, &memory_svg)));
}

ProfileObject profile(const CompiledGraph& self, int runs) {
  const auto profile = without_gil(
      [&] { return std::make_shared<const Profile>(self.profile(runs)); });
  const PausedCollection paused;
  return ProfileObject(python_class("Profile")(
      tables_of(*profile), profile->runs, known(profile->peaks.flops),
      known(profile->peaks.bandwidth), to_list(profile->exchange),
      table_of(profile), scaling_of(profile), text_of(profile, &trace_json)));
}

}  // namespace

void bind_insight(Handle<CompiledGraph, Graph>& graph) {
  graph
      .def("report", &report,
           R"pbdoc(
        What execute() will do, by layer: it runs nothing.

        Returns:
            FLOPs, bytes, parameters, fusion, layouts and reorders of each
            layer, and what lies where in memory. It prints as a table; its rows
            suit pandas, its svg() is the chart of memory.

        Raises:
            StateError: the graph is not compiled.

        Example:
            >>> report = training.report()
            >>> report.rows[0]["layer"], report.total["parameters"]
            ('fc', 10)
      )pbdoc")
      .def("profile", &profile, py::arg("runs") = 1,
           R"pbdoc(
        Measured times by layer, of runs with per_layer_profiling.

        A run is an execution, or a forward pass with the gradient pass and the
        update that followed it. Waits for the last one, and raises its error.

        Args:
            runs: the median and spread of up to so many last runs with the
                batch size of the very last one, 1 to 64.

        Returns:
            A profile, which prints as a table.

        Raises:
            StateError: there was no such run since compile().
            InvalidArgument: a number out of range.

        Example:
            >>> data = {"x": points}, {"y": targets}
            >>> for _ in range(3):
            ...     execution = training.execute(*data, per_layer_profiling=True)
            >>> training.profile(3).runs
            3
      )pbdoc")
      .def(
          "save_trace",
          [](const CompiledGraph& self, const Path& path) {
            profile(self, 1).attr("save_trace")(path);
          },
          py::arg("path"),
          R"pbdoc(
        Writes profile() as a JSON trace, for ui.perfetto.dev or
        chrome://tracing.

        Args:
            path: the file.

        Raises:
            StateError: there was no run with per_layer_profiling since
                compile().
            FileError: the file cannot be written.

        Example:
            >>> data = {"x": points}, {"y": targets}
            >>> execution = training.execute(*data, per_layer_profiling=True)
            >>> training.save_trace("step.json")
      )pbdoc");
}

}  // namespace traingraph::python
