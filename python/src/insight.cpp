// SPDX-License-Identifier: MIT
// Reports and profiles as plain dicts and lists; traingraph/_insight.py makes
// tables, charts and traces of them.
#include "traingraph/insight.h"

#include <pybind11/stl.h>

#include <cmath>

#include "bindings.h"
#include "signature.h"

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

py::dict to_dict(const LayerCost& cost) {
  return py::dict("flops"_a = cost.flops, "bytes"_a = cost.bytes,
                  "seconds"_a = cost.seconds,
                  "limit_seconds"_a = known(cost.limit_seconds),
                  "share"_a = known(cost.share()));
}

py::dict to_dict(const LayerRow& row) {
  return py::dict(
      "layer"_a = row.layer, "ops"_a = row.ops, "parameters"_a = row.parameters,
      "fused_group"_a = row.fused_group, "fused"_a = row.fused,
      "layout"_a = row.layout, "reorders"_a = row.reorders,
      "forward"_a = to_dict(row.forward), "gradient"_a = to_dict(row.gradient),
      "update"_a = to_dict(row.update), "cost"_a = to_dict(row.cost()));
}

py::dict to_dict(const UnitSpan& unit) {
  return py::dict("name"_a = unit.name, "ops"_a = unit.ops,
                  "phase"_a = unit.phase, "rows"_a = unit.rows,
                  "is_reorder"_a = unit.is_reorder, "layout"_a = unit.layout,
                  "flops"_a = unit.cost.flops, "bytes"_a = unit.cost.bytes,
                  "seconds"_a = unit.cost.seconds,
                  "share"_a = known(unit.cost.share()), "start"_a = unit.start);
}

py::dict to_dict(const MemorySpan& span) {
  return py::dict("name"_a = span.name, "role"_a = span.role,
                  "offset"_a = span.offset, "bytes"_a = span.bytes,
                  "first"_a = span.first, "last"_a = span.last);
}

template <class Item>
py::list to_list(const std::vector<Item>& items) {
  py::list list;
  for (const Item& item : items) list.append(to_dict(item));
  return list;
}

/// What Report and Profile have in common.
template <class Tables>
py::dict tables_of(const Tables& tables) {
  return py::dict(
      "device"_a = tables.device, "batch_size"_a = tables.batch_size,
      "rows"_a = to_list(tables.rows), "total"_a = to_dict(tables.total),
      "units"_a = to_list(tables.units));
}

py::object python_class(const char* name) {
  return py::module_::import("traingraph._insight").attr(name);
}

ReportObject report(const CompiledGraph& self) {
  const Report report = without_gil([&] { return self.report(); });
  return ReportObject(python_class("Report")(
      tables_of(report), to_list(report.memory), py::int_(report.arena_bytes)));
}

ProfileObject profile(const CompiledGraph& self) {
  const Profile profile = without_gil([&] { return self.profile(); });
  return ProfileObject(python_class("Profile")(tables_of(profile),
                                               known(profile.peaks.flops),
                                               known(profile.peaks.bandwidth)));
}

}  // namespace

void bind_insight(Handle<CompiledGraph, Graph>& graph) {
  graph
      .def("report", &report,
           "What execute() will do: FLOPs, bytes, parameters, fusion, layouts "
           "and reorders by layer, and what lies where in memory. Prints as a "
           "table; report().rows suits pandas, report().svg() is the chart of "
           "memory. Runs nothing. Raises StateError before compile.")
      .def("profile", &profile,
           "Times by layer of the last run that had per_layer_profiling: one "
           "execution, or a forward with the gradient pass and the update "
           "that followed it. Waits for it and raises its error. Raises "
           "StateError when there was none since compile.")
      .def(
          "save_trace",
          [](const CompiledGraph& self, const Path& path) {
            profile(self).attr("save_trace")(path);
          },
          py::arg("path"),
          "profile() as a JSON trace for Perfetto or chrome://tracing.");
}

}  // namespace traingraph::python
