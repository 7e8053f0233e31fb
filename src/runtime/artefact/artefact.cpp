// SPDX-License-Identifier: MIT
// A graph and its state into one file and back. A file is hostile until each
// part of it has been checked.
#include "traingraph/artefact.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "runtime/artefact/graph_json.h"
#include "runtime/artefact/read_graph.h"
#include "runtime/artefact/store_graph.h"
#include "runtime/artefact/stored_optimizer.h"
#include "runtime/checkpoint/gather_state.h"
#include "runtime/checkpoint/restore.h"
#include "runtime/memory/transfer.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// A graph begins with this when nothing has run.
void begin_anew(TrainingState& state, const Optimizer* optimizer) {
  state.random_step = 0;
  if (!state.optimizer || !optimizer) return;
  const OptimizerDescriptor descriptor = optimizer->descriptor();
  state.optimizer->time_step = 1;
  state.optimizer->learning_rate = descriptor.learning_rate;
  state.optimizer->applies_gradient_clipping =
      descriptor.applies_gradient_clipping.value();
}

std::size_t host_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return std::size_t{1} << 40;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(size);
}

/// Runs `action` on what the file says: whatever is wrong there is a FileError.
template <class Action>
auto on_file(const InputFile& file, const Action& action) {
  const auto fail = [&](const std::string& why) {
    fail_file(file.call(), file.path(), "its graph cannot be used: " + why);
  };
  try {
    return action();
  } catch (const FileError&) {
    throw;
  } catch (const UnsupportedError&) {
    throw;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const DeviceError&) {
    throw;
  } catch (const StateError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(ErrorInfo{.op = file.call(),
                                     .node = file.path().string(),
                                     .what = "there is no memory for the "
                                             "graph"});
  } catch (const std::exception& error) {
    fail(error.what());
    throw;  // never: fail() throws
  }
}

struct LoadedFile {
  explicit LoadedFile(const std::filesystem::path& path);

  InputFile file;
  Header header;
  TrainingState state;
  StoredGraph stored;
};

LoadedFile::LoadedFile(const std::filesystem::path& path)
    : file("load", path), header(read_header(file)) {
  std::string own;
  const auto it = header.metadata.find(kOwnMetadata);
  if (it != header.metadata.end()) own = it->second;
  const std::optional<TrainingState> found = own_state(file, header);
  if (!found || !found->has_graph) {
    fail_file("load", path, "the file holds no graph",
              "Exporting a graph writes one that does; restore() takes the "
              "state of a checkpoint into a graph that was built.");
  }
  state = *found;
  on_file(file, [&] { parse_graph(own, stored); });
}

/// Values that are part of the graph, and first values of parameters.
class FirstValues {
 public:
  FirstValues(const LoadedFile& from, const Merged& merged)
      : from_(from), merged_(merged) {}

  void give(bool has_state) {
    if (!has_state) require_room();
    for (const Value& value : merged_.graph.program.values()) {
      const auto count = from_.stored.tensors.size();
      if (value.tensor < 0 || std::cmp_greater_equal(value.tensor, count)) {
        continue;
      }
      const bool is_constant = value.role == Role::Constant;
      const bool is_first = value.role == Role::Variable && !has_state;
      if (is_constant || is_first) give(value.tensor);
    }
  }

 private:
  /// A few bytes of a file can ask for much.
  void require_room() const {
    std::size_t bytes = 0;
    for (const Value& value : merged_.graph.program.values()) {
      if (value.role != Role::Variable) continue;
      bytes = checked_add(bytes, value.desc.size_bytes(), "parameters");
    }
    if (bytes <= host_bytes()) return;
    throw OutOfMemoryError(ErrorInfo{
        .op = "load",
        .node = from_.file.path().string(),
        .what = "the parameters are larger than the memory",
        .expected = "at most " + std::to_string(host_bytes()) + " bytes",
        .got = std::to_string(bytes)});
  }

  void give(TensorIndex index) {
    const TensorEntry& entry = from_.stored.tensors[index];
    TensorState& state = *merged_.objects.tensors[index].state();
    if (entry.data.empty()) {
      if (!entry.initializer) {
        throw std::runtime_error("\"" + entry.name + "\" has no first value");
      }
      initialize_host(state, *entry.initializer);
      return;
    }
    const StoredTensor* const stored = from_.header.find(entry.data);
    if (!stored || !stored->has(state.desc)) {
      throw std::runtime_error("the file has no values \"" + entry.data +
                               "\", " + state.desc.to_string());
    }
    std::vector<std::byte> value(stored->size_bytes());
    from_.file.read(from_.header.data_begin + stored->begin, value);
    set_host(state, TensorData(std::as_const(value).data(), value.size()));
  }

  const LoadedFile& from_;
  const Merged& merged_;
};

void require_same_settings(const Session& session, const TrainingState& state) {
  RestoreReport report;
  compare_training_state(session, state, report);
  if (report.mismatched.empty()) return;
  throw InvalidArgument(
      ErrorInfo{.op = "load",
                .node = "optimizer",
                .what = "the optimizer that was given is not that of the file",
                .got = report.mismatched.front()});
}

void take_state(Session& session, LoadedFile& from, bool has_state,
                const OptimizerPtr& given) {
  if (given) require_same_settings(session, from.state);
  if (!has_state) {
    begin_anew(from.state, session.objects.optimizer.get());
    const GroupLock lock("load", session);
    restore_training_state(session, from.state);
    return;
  }
  on_file(from.file, [&] {
    const bool trains = session.plan_cache->graph().trains;
    // An inference graph may do without some of it.
    const RestoreReport report =
        restore_state(session, from.file, from.header, from.state, trains);
    if (report.missing.empty() && report.mismatched.empty()) return;
    const auto& lacking =
        report.missing.empty() ? report.mismatched : report.missing;
    throw std::runtime_error("its state lacks " + lacking.front());
  });
}

void load_into(Session& session, bool trains, const std::filesystem::path& path,
               const Device& device, const LoadOptions& options) {
  LoadedFile from(path);
  MergedGraph graph =
      on_file(from.file, [&] { return read_graph(from.stored); });
  if (trains && !graph.trains) {
    throw UnsupportedError(
        ErrorInfo{.op = "load",
                  .node = path.string(),
                  .what = "the file holds an inference graph",
                  .expected = "one of a training graph",
                  .hint = "InferenceGraph.load() takes both."});
  }
  if (!trains) on_file(from.file, [&] { keep_inference(graph); });
  set_batch(graph, from.stored.tensors, options.batch_size);
  OptimizerPtr optimizer = trains ? options.optimizer : nullptr;
  const bool has_state = options.with_state && from.stored.has_state;
  if (optimizer && !from.stored.optimizer) {
    throw InvalidArgument(ErrorInfo{.op = "load",
                                    .node = "optimizer",
                                    .what = "the graph has no optimizer",
                                    .hint = "Call compile_optimizer() after."});
  }
  if (trains && !optimizer && from.stored.optimizer) {
    optimizer = on_file(from.file,
                        [&] { return make_optimizer(*from.stored.optimizer); });
  }
  const auto given = find_given(from.stored.tensors, options.tensors);
  const StoredOptions& stored = from.stored.options;
  on_file(from.file, [&] {
    Merged merged = make_objects(std::move(graph), from.stored.tensors, given,
                                 std::move(optimizer));
    FirstValues(from, merged).give(has_state);
    const bool is_limit = stored.max_gpu_ms >= 0;  // false for NaN
    if (!is_limit) throw std::runtime_error("max_gpu_ms is negative");
    compile_loaded(session, device, merged,
                   {.fuses = stored.fuses,
                    .reuse_memory = stored.reuse_memory,
                    .max_gpu_ms = stored.max_gpu_ms});
  });
  take_state(session, from, has_state, options.optimizer);
}

}  // namespace

void CompiledGraph::export_graph(const std::filesystem::path& path,
                                 const ExportOptions& options) const {
  constexpr const char* kCall = "export_graph";
  std::optional<NewFile> file;
  {
    const GroupLock lock(kCall, *session_);
    auto entries = state_of(kCall, *session_, /*with_optimizer=*/true);
    std::vector<std::string> names;
    for (const StateEntry& entry : entries) names.push_back(entry.name);
    if (!options.with_state) entries.clear();
    const GraphAndData graph =
        store_graph(*session_, names, options.with_state);
    TrainingState state = training_state_of(*session_);
    const Optimizer* const optimizer = session_->objects.optimizer.get();
    if (!options.with_state) begin_anew(state, optimizer);
    std::vector<StateTensor> tensors;
    for (const StateEntry& entry : entries) {
      tensors.push_back({entry.name, entry.tensor.descriptor()});
    }
    for (const auto& [name, tensor] : graph.data) {
      tensors.push_back({name, tensor.descriptor()});
    }
    const std::string header = header_text(
        kCall, tensors,
        with_own(kCall, options.metadata, print_artefact(state, graph.graph)));
    const auto begin = [&] {
      file.emplace(kCall, path);
      file->write(std::as_bytes(std::span(header)));
    };
    const auto end = [&] {
      for (const auto& [name, tensor] : graph.data) {
        refresh_host(tensor, Waiting::Through);
        const std::scoped_lock values(tensor.state()->mutex);
        const HostData& data = ensure_host(*tensor.state());
        file->write({data.bytes, tensor.descriptor().size_bytes()});
      }
    };
    write_state(kCall, *session_, entries, file, begin, end);
  }
  if (file) file->commit();
}

TrainingGraph TrainingGraph::load(const std::filesystem::path& path,
                                  const Device& device,
                                  const LoadOptions& options) {
  TrainingGraph graph(std::vector<Graph>{});
  load_into(*graph.session_, /*trains=*/true, path, device, options);
  return graph;
}

InferenceGraph InferenceGraph::load(const std::filesystem::path& path,
                                    const Device& device,
                                    const LoadOptions& options) {
  InferenceGraph graph(std::vector<Graph>{});
  load_into(*graph.session_, /*trains=*/false, path, device, options);
  return graph;
}

}  // namespace traingraph
