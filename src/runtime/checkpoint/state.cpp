// SPDX-License-Identifier: MIT
#include "runtime/checkpoint/state.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph/tensor_state.h"
#include "runtime/device/device_wait.h"
#include "runtime/memory/transfer.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Names that were chosen, by the user or after a layer.
std::string require_name(const char* call, const Tensor& tensor) {
  {
    const std::scoped_lock lock(tensor.state()->mutex);
    if (!tensor.state()->name.empty()) return tensor.state()->name;
  }
  throw InvalidArgument(
      ErrorInfo{.op = call,
                .node = tensor.name(),
                .what = "a tensor that is trained has no name, by which "
                        "another process could know it",
                .expected = "a name",
                .hint = "Give it one where it is made, or later."});
}

void require_unique(const char* call, const std::vector<StateEntry>& entries) {
  std::unordered_map<std::string_view, const StateEntry*> known;
  const auto kind = [](const StateEntry& entry) {
    return entry.is_slot ? "a buffer of the optimizer" : "a tensor";
  };
  for (const StateEntry& entry : entries) {
    const auto [it, is_new] = known.emplace(entry.name, &entry);
    if (is_new && entry.name != "__metadata__") continue;
    throw InvalidArgument(ErrorInfo{
        .op = call,
        .node = entry.name,
        .what = is_new ? "no tensor can have this name in a file"
                       : "two tensors of the state have the same name",
        .expected = "a name of its own for each",
        .got = is_new ? ""
                      : std::string(kind(*it->second)) + " and " + kind(entry),
        .hint = "Give layers, or tensors, other names."});
  }
}

template <class Submit>
void run(const std::shared_ptr<DeviceContext>& context, const Submit& add,
         const std::function<void(std::span<const std::byte>)>& take = {}) {
  const auto transfer = std::make_shared<Transfer>(context);
  add(*transfer);
  transfer->submit();
  transfer->wait_through();  // locks are held
  if (take) take(transfer->bytes(0));
}

/// A part of memory on the device.
DeviceBytes piece_of(const DeviceBytes& whole, std::size_t offset) {
  DeviceBytes piece = whole;
  piece.at.offset += offset;
  piece.size = std::min(kPieceBytes, whole.size - offset);
  return piece;
}

/// Returns what several processes have of the buffers of trainable[place].
void add_shards(const Session& session, std::size_t place,
                std::vector<StateEntry>& entries) {
  const MergedGraph& graph = session.plan_cache->graph();
  const Tensor& parameter = session.objects.tensors[graph.trainable[place]];
  const auto& names = graph.update->slots;
  const auto& own = graph.slots[place];
  for (std::size_t k = 0; k < names.size(); ++k) {
    StateEntry entry{.name = parameter.name() + "." + names[k],
                     .tensor = Tensor(slot_descriptor(parameter.descriptor())),
                     .placed = nullptr,
                     .is_slot = true,
                     .shards = &*graph.shards,
                     .place = place};
    if (k < own.size()) {
      entry.placed = session.placement.of(own[k]);
      entry.part = session.objects.tensors[own[k]];
    }
    entries.push_back(std::move(entry));
  }
}

}  // namespace

GroupLock::GroupLock(const char* call, Session& session) {
  // After a fork the mutex may be held by a thread that does not exist.
  require_device_threads();
  while (!lock_group(session)) {
    locks_.clear();
    alive_.clear();
  }
  session.require_device(call);
  session.in_flight.wait_until_idle();
  for (const auto& other : alive_) other->in_flight.wait_until_idle();
}

/// Returns false when the link has changed meanwhile.
bool GroupLock::lock_group(Session& session) {
  const Link* link = nullptr;
  {
    const std::scoped_lock lock(session.mutex);
    link = session.link.link();
    if (link) {
      for (const auto& handle : link->handles) {
        if (auto other = handle.lock()) alive_.push_back(std::move(other));
      }
    }
  }
  std::vector<Session*> group{&session};
  for (const auto& other : alive_) {
    if (other.get() != &session) group.push_back(other.get());
  }
  // Locks are taken in address order, as link() does.
  std::ranges::sort(group);
  for (Session* each : group) locks_.emplace_back(each->mutex);
  return session.link.link() == link;
}

std::vector<StateEntry> state_of(const char* call, const Session& session,
                                 bool with_optimizer) {
  const MergedGraph& graph = session.plan_cache->graph();
  const auto& tensors = session.objects.tensors;
  std::vector<TensorIndex> trained = graph.trainable;
  std::ranges::sort(trained);
  std::vector<StateEntry> entries;
  const auto add = [&](std::string name, TensorIndex index, bool is_slot) {
    const auto& placed = session.placement.of(index);
    if (!placed) return;  // nothing reads it
    const bool is_frozen = !is_slot && !graph.tensors[index].is_statistic &&
                           !std::ranges::binary_search(trained, index);
    entries.push_back(
        {std::move(name), tensors[index], placed, is_slot, is_frozen});
  };
  const std::vector<TensorIndex> variables = variables_of(session);
  for (const bool statistics : {false, true}) {
    for (TensorIndex index : variables) {
      if (graph.tensors[index].is_statistic != statistics) continue;
      add(require_name(call, tensors[index]), index, /*is_slot=*/false);
    }
  }
  for (std::size_t i = 0; with_optimizer && i < graph.slots.size(); ++i) {
    const Tensor& parameter = tensors[graph.trainable[i]];
    if (graph.shards && graph.shards->is_trained(i)) {
      add_shards(session, i, entries);
      continue;
    }
    for (std::size_t k = 0; k < graph.slots[i].size(); ++k) {
      add(parameter.name() + "." + graph.update->slots[k], graph.slots[i][k],
          /*is_slot=*/true);
    }
  }
  if (with_optimizer && graph.loss_scale != kNoTensor) {
    add(kLossScale, graph.loss_scale, /*is_slot=*/true);
  }
  require_unique(call, entries);
  return entries;
}

void read_piece(const StateEntry& entry, std::size_t begin,
                std::span<std::byte> into) {
  if (!entry.placed->holds_value()) {
    TensorState& state = *(entry.shards ? entry.part : entry.tensor).state();
    const std::scoped_lock lock(state.mutex);
    const std::span value(ensure_host(state).bytes, entry.placed->bytes);
    std::ranges::copy(value.subspan(begin, into.size()), into.begin());
    return;
  }
  entry.placed->visit([&](const DeviceBytes& whole) {
    DeviceBytes piece = piece_of(whole, begin);
    piece.size = into.size();
    run(
        entry.placed->context, [&](Transfer& t) { t.read(piece); },
        [&](std::span<const std::byte> bytes) {
          std::ranges::copy(bytes, into.begin());
        });
  });
}

void read_entry(const StateEntry& entry,
                const std::function<void(std::span<const std::byte>)>& take) {
  if (!entry.placed->holds_value()) {
    // Nothing has run: the device would take the host's.
    TensorState& state = *entry.tensor.state();
    const std::scoped_lock lock(state.mutex);
    const HostData& data = ensure_host(state);
    return take({data.bytes, data.size});
  }
  entry.placed->visit([&](const DeviceBytes& whole) {
    for (std::size_t at = 0; at < whole.size; at += kPieceBytes) {
      run(
          entry.placed->context,
          [&](Transfer& t) { t.read(piece_of(whole, at)); }, take);
    }
  });
}

void write_entry(const StateEntry& entry, std::span<const std::byte> value) {
  if (entry.shards) {
    if (!entry.placed) return;
    const auto begin =
        static_cast<std::size_t>(entry.shards->own(entry.place).begin);
    value = value.subspan(begin * sizeof(float), entry.placed->bytes);
  }
  // Host data changes as in Tensor::set_data() and bind_optimizer_data(): the
  // host has copies of parameters, and none of buffers that it was not asked
  // for.
  if (!entry.is_slot) {
    set_host(*entry.tensor.state(), TensorData(value.data(), value.size()));
    if (!entry.placed->holds_value()) return;
  }
  entry.placed->visit([&](const DeviceBytes& whole) {
    for (std::size_t at = 0; at < whole.size; at += kPieceBytes) {
      run(entry.placed->context, [&](Transfer& t) {
        const DeviceBytes piece = piece_of(whole, at);
        t.write(piece, value.subspan(at, piece.size));
      });
    }
  });
}

}  // namespace traingraph
