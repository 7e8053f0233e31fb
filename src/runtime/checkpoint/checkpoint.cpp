// SPDX-License-Identifier: MIT
// The state of a graph into files and memory and back. Restoring checks all
// there is to check, then writes.
#include "traingraph/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/require_fits.h"
#include "runtime/checkpoint/gather_state.h"
#include "runtime/checkpoint/header_json.h"
#include "runtime/checkpoint/match.h"
#include "runtime/checkpoint/restore.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::vector<StateTensor> listed(const std::vector<StateEntry>& entries) {
  std::vector<StateTensor> tensors;
  for (const StateEntry& entry : entries) {
    tensors.push_back({entry.name, entry.tensor.descriptor()});
  }
  return tensors;
}

/// Buffers of an optimizer that an inference graph does not have.
void drop_slots(Header& header, const std::optional<TrainingState>& state,
                const std::vector<StateEntry>& own) {
  if (!state || !state->optimizer) return;
  std::unordered_set<std::string> slots{kLossScale};
  for (const StoredTensor& tensor : header.tensors) {
    for (const std::string& slot : state->optimizer->slots) {
      slots.insert(tensor.name + "." + slot);
    }
  }
  for (const StateEntry& entry : own) slots.erase(entry.name);
  std::erase_if(header.tensors, [&](const StoredTensor& tensor) {
    return slots.contains(tensor.name);
  });
}

/// Another kind of optimizer means something else by a buffer of the same name,
/// and counts its steps otherwise.
void leave_other_slots(const Session& session,
                       const std::optional<TrainingState>& state,
                       const std::vector<StateEntry>& entries, Match& found) {
  const OptimizerPtr& optimizer = session.objects.optimizer;
  if (!optimizer || !state || !state->optimizer) return;
  const std::string own(optimizer->name());
  const std::string& other = state->optimizer->name;
  if (own == other) return;
  std::erase_if(found.pairs, [&](const auto& pair) {
    const StateEntry& entry = entries[pair.first];
    if (!entry.is_slot || entry.name == kLossScale) return false;
    found.report.mismatched.push_back(entry.name + ": of " + other +
                                      " in the file, of " + own +
                                      " in the graph");
    return true;
  });
}

/// Does the file have anything that the optimizer trains?
bool has_trained(const Session& session, const std::vector<StateEntry>& entries,
                 const Match& found) {
  std::unordered_set<std::uint64_t> trained;
  for (TensorIndex index : session.plan_cache->graph().trainable) {
    trained.insert(session.objects.tensors[index].tensor_id());
  }
  return std::ranges::any_of(found.pairs, [&](const auto& pair) {
    return trained.contains(entries[pair.first].tensor.tensor_id());
  });
}

void drop_frozen(const Session& session, std::vector<StateEntry>& entries) {
  if (!session.plan_cache->graph().trains) {
    throw InvalidArgument(ErrorInfo{.op = "save",
                                    .node = "trained_only",
                                    .what = "an inference graph trains nothing",
                                    .hint = "Save the training graph."});
  }
  std::erase_if(entries, [](const auto& entry) { return entry.is_frozen; });
}

/// A file that holds a graph has these besides the state.
void drop_constants(Header& header, const TrainingState& state) {
  const std::unordered_set<std::string_view> constants(state.constants.begin(),
                                                       state.constants.end());
  std::erase_if(header.tensors, [&](const StoredTensor& tensor) {
    return constants.contains(tensor.name);
  });
}

/// What earlier passes have left belongs to other parameters now.
void forget_passes(Session& session) {
  session.executor.forget_phases();
  session.link.forget_passes();
}

using EntriesByName = std::unordered_map<std::string_view, const StateEntry*>;

EntriesByName by_name(const std::vector<StateEntry>& entries) {
  EntriesByName table;
  for (const StateEntry& entry : entries) table.emplace(entry.name, &entry);
  return table;
}

StoredTensor stored(const NamedData& item, const EntriesByName& entries) {
  StoredTensor result;
  result.name = item.name;
  std::optional<TensorDescriptor> descriptor = item.data.descriptor;
  if (!descriptor) {
    const auto it = entries.find(item.name);
    const bool is_known = it != entries.end() && item.data.bytes;
    const auto own =
        is_known ? it->second->tensor.descriptor() : TensorDescriptor();
    const DataType type = item.data.type().value_or(own.data_type);
    const bool fits = is_known && type == own.data_type &&
                      item.data.length == own.size_bytes();
    if (fits) descriptor = own;
  }
  if (!descriptor) {
    const auto type = item.data.type();
    result.dtype = type ? stored_type(*type) : "bytes";
    result.shape = {item.data.length / (type ? size_of(*type) : 1)};
    return result;
  }
  result.dtype = stored_type(descriptor->data_type);
  result.shape = {descriptor->shape.begin(), descriptor->shape.end()};
  return result;
}

const StateEntry& find_entry(const char* call, const NamedData& item,
                             const EntriesByName& entries) {
  const auto it = entries.find(item.name);
  if (it != entries.end()) return *it->second;
  throw InvalidArgument(
      ErrorInfo{.op = call,
                .node = std::string(item.name),
                .what = "the graph's state has no such tensor",
                .hint = "state_tensors() lists them."});
}

void require_room(const char* call, const NamedData& item,
                  const TensorDescriptor& own) {
  if (item.data.is_immutable) {
    throw InvalidArgument(ErrorInfo{.op = call,
                                    .node = std::string(item.name),
                                    .what = "the memory must not be written"});
  }
  require_fits(call, item.name, item.data, {.desc = own, .name = "the memory"});
}

}  // namespace

Metadata with_own(const char* call, const Metadata& metadata, std::string own) {
  if (metadata.contains(kOwnMetadata)) {
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = kOwnMetadata,
                  .what = "the library has metadata of its own by this key",
                  .expected = "another key"});
  }
  Metadata all = metadata;
  all[kOwnMetadata] = std::move(own);
  return all;
}

std::optional<TrainingState> own_state(const InputFile& file, Header& header) {
  const auto it = header.metadata.find(kOwnMetadata);
  if (it == header.metadata.end()) return std::nullopt;
  TrainingState state;
  const std::string problem = parse_training_state(it->second, state);
  if (!problem.empty()) {
    fail_file(file.call(), file.path(),
              "the file's metadata cannot be used: " + problem);
  }
  header.metadata.erase(it);
  return state;
}

Metadata read_metadata(const std::filesystem::path& path) {
  Header header = read_header(InputFile("read_metadata", path));
  header.metadata.erase(kOwnMetadata);
  return std::move(header.metadata);
}

void CompiledGraph::save(const std::filesystem::path& path,
                         const Metadata& metadata, bool trained_only) const {
  constexpr const char* kCall = "save";
  std::optional<NewFile> file;
  {
    const GroupLock lock(kCall, *session_);
    auto entries = state_of(kCall, *session_, /*with_optimizer=*/true);
    if (trained_only) drop_frozen(*session_, entries);
    const auto begin = [&] {
      const std::string header = header_text(
          kCall, listed(entries),
          with_own(kCall, metadata,
                   print_training_state(training_state_of(*session_))));
      file.emplace(kCall, path);
      file->write(std::as_bytes(std::span(header)));
    };
    write_state(kCall, *session_, entries, file, begin, [] {});
  }
  if (file) file->commit();  // which may take long, and concerns nobody else
}

RestoreReport restore_state(Session& session, const InputFile& file,
                            Header header,
                            const std::optional<TrainingState>& state,
                            bool strict) {
  const GroupLock lock(file.call(), session);
  if (state) drop_constants(header, *state);
  const auto entries = state_of(file.call(), session, /*with_optimizer=*/true);
  if (!session.plan_cache->graph().trains) drop_slots(header, state, entries);
  Match found = match(entries, header.tensors, "file");
  compare_training_state(session, state, found.report);
  if (strict) require_fit(file.call(), file.path().string(), found, "file");
  leave_other_slots(session, state, entries, found);

  // What may not be there is asked for before anything changes.
  std::uint64_t most = 0;
  for (const auto& [entry, tensor] : found.pairs) {
    most = std::max(most, header.tensors[tensor].size_bytes());
  }
  std::vector<std::byte> buffer(most);
  for (const auto& [entry, tensor] : found.pairs) {
    const StoredTensor& stored = header.tensors[tensor];
    const std::span value(buffer.data(), stored.size_bytes());
    file.read(header.data_begin + stored.begin, value);
    write_entry(entries[entry], value);
  }
  if (state) {
    TrainingState taken = *state;
    // Steps and rates belong to what was trained with them.
    if (!strict && !has_trained(session, entries, found)) {
      taken.optimizer.reset();
    }
    restore_training_state(session, taken);
  }
  forget_passes(session);
  found.report.metadata = std::move(header.metadata);
  return std::move(found.report);
}

RestoreReport CompiledGraph::restore(const std::filesystem::path& path,
                                     bool strict) {
  const InputFile file("restore", path);
  Header header = read_header(file);
  const std::optional<TrainingState> state = own_state(file, header);
  return restore_state(*session_, file, std::move(header), state, strict);
}

std::vector<StateTensor> CompiledGraph::state_tensors(
    bool with_optimizer) const {
  const std::scoped_lock lock(session_->mutex);
  session_->require_compiled("state_tensors");
  return listed(state_of("state_tensors", *session_, with_optimizer));
}

void CompiledGraph::read_state_dict(DataList into) const {
  constexpr const char* kCall = "read_state_dict";
  const GroupLock lock(kCall, *session_);
  const auto entries = state_of(kCall, *session_, /*with_optimizer=*/true);
  const EntriesByName known = by_name(entries);
  std::vector<StateEntry> wanted;
  std::vector<std::byte*> to;
  for (const NamedData& item : into) {
    wanted.push_back(find_entry(kCall, item, known));
    to.push_back(item.data.bytes);
  }
  const auto begin = [&] {
    auto entry = wanted.begin();
    for (const NamedData& item : into) {
      require_room(kCall, item, (entry++)->tensor.descriptor());
    }
  };
  const auto take = [&](const StateEntry& entry,
                        std::span<const std::byte> piece) {
    std::byte*& next = to[static_cast<std::size_t>(&entry - wanted.data())];
    std::memcpy(next, piece.data(), piece.size());
    next += piece.size();
  };
  gather_state(kCall, *session_, wanted,
               {.begin = begin, .take = take, .end = [] {}});
}

RestoreReport CompiledGraph::load_state_dict(DataList from, bool strict) {
  constexpr const char* kCall = "load_state_dict";
  const GroupLock lock(kCall, *session_);
  auto entries = state_of(kCall, *session_, /*with_optimizer=*/true);
  const EntriesByName known = by_name(entries);
  std::vector<StoredTensor> offered;
  std::unordered_set<std::string_view> names;
  for (const NamedData& item : from) {
    if (!names.insert(item.name).second) {
      throw InvalidArgument(ErrorInfo{.op = kCall,
                                      .node = std::string(item.name),
                                      .what = "the name is given twice"});
    }
    offered.push_back(stored(item, known));
  }
  const bool has_slots = std::ranges::any_of(entries, [&](const auto& entry) {
    return entry.is_slot && names.contains(entry.name);
  });
  const auto is_slot = [](const auto& entry) { return entry.is_slot; };
  if (!has_slots) std::erase_if(entries, is_slot);
  Match found = match(entries, offered, "mapping");
  if (strict) require_fit(kCall, {}, found, "mapping");
  for (const auto& [entry, item] : found.pairs) {
    const TensorData& data = from.begin()[item].data;
    write_entry(entries[entry], {data.bytes, data.length});
    if (!entries[entry].is_slot) {
      forget_initializer(*entries[entry].tensor.state());
    }
  }
  forget_passes(*session_);
  return std::move(found.report);
}

}  // namespace traingraph
