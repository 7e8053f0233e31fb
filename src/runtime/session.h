// SPDX-License-Identifier: MIT
// Session: everything behind a TrainingGraph or InferenceGraph. It holds the
// declaration, compiles it, owns the arenas, checks each call and enqueues it.
//
// Locking: `mutex_` guards all state and is held while enqueuing, so that the
// order of calls is the order of executions. Work in flight touches only its
// own slot, the arenas and the counters of what is in flight.
//
// Failures: data reaches the device even when its execution is skipped; what a
// failed or skipped execution computes fails whoever depends on or reads it,
// and its update is not counted in the optimizer's time step.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/fair_mutex.h"
#include "runtime/arena.h"
#include "runtime/execution_state.h"
#include "runtime/in_flight.h"
#include "runtime/input.h"
#include "runtime/specialization.h"
#include "traingraph/training_graph.h"

namespace traingraph {

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(bool trains, std::vector<Graph> graph_objects,
          std::shared_ptr<const losses::Loss> loss, OptimizerPtr optimizer);
  ~Session();

  // --- declare (session_declare.cpp) ---
  void set_own_graph(std::shared_ptr<GraphState> graph);
  void add_inputs(const TensorMap& inputs, const TensorMap& labels,
                  const TensorMap& label_weights);
  void add_outputs(const TensorMap& outputs);
  void stop_gradient(const std::vector<Tensor>& tensors);
  void set_trained_inputs(std::vector<TensorParameter> parameters);
  Tensor allocate_user_gradient(const Tensor& tensor);

  // --- compile (session_compile.cpp, session_link.cpp) ---
  void compile(const Device& device, const CompileOptions& options,
               const TensorMap& constants, DataList constants_data);
  void compile_optimizer(OptimizerPtr optimizer);
  /// This session's handle is the first.
  void link(const std::vector<std::shared_ptr<Session>>& handles);

  // --- execute (session_execute.cpp) ---
  struct Data {
    DataList inputs, labels, label_weights;
  };
  Execution execute(const Data& data, const ExecuteOptions& options);
  Execution execute_forward(const Data& data, const ExecuteOptions& options);
  Execution execute_gradient(const ExecuteOptions& options);
  Execution execute_update(const ExecuteOptions& options);
  void wait_until_idle() const { in_flight_.wait_until_idle(); }
  InFlight& in_flight() { return in_flight_; }

  // --- data (session_data.cpp) ---
  void bind_and_write(DataList data, const TensorMap& inputs,
                      std::int64_t batch);

  // --- inspect (session_inspect.cpp) ---
  bool is_compiled() const;
  int compile_count() const;
  std::optional<Device> device() const;
  OptimizerPtr optimizer() const;
  MemoryReport memory() const;
  std::size_t device_memory_size() const;
  std::string plan_description() const;
  std::string dot() const;
  void synchronize_updates();
  std::vector<Tensor> parameters() const;
  void bind_optimizer_data(std::span<const TensorData> data,
                           const Tensor& parameter);
  std::uint64_t random_step() const;
  void set_random_step(std::uint64_t step);

  // --- insight (session_insight.cpp) ---
  Report report() const;
  Profile profile() const;

  // --- gradients (session_gradient.cpp) ---
  Tensor gradient_tensor(const Tensor& input) const;
  std::vector<Tensor> layer_gradients(const Layer& layer, bool incoming) const;
  std::span<float> gradient(const Tensor& parameter,
                            std::shared_ptr<void>* owner) const;
  std::span<float> gradients(std::shared_ptr<void>* owner) const;
  std::vector<float> gradient_data(const Tensor& parameter,
                                   const Layer& layer) const;

 private:
  enum class PhaseState { Clean, ForwardDone, GradientDone };

  /// One execute* call.
  struct Call {
    const char* name;
    Segment segment;
    Data data;
    std::shared_ptr<ExecutionState> depends_on;
  };

  /// A call's turn: room in flight, then the mutex. Who waits for room holds
  /// nobody up.
  class Turn {
   public:
    explicit Turn(Session& session);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    /// The room now belongs to the execution. Who submits what is_awaited
    /// calls DeviceContext::help() next.
    void submit(const std::shared_ptr<ExecutionState>& slot);
    void end() { lock_.unlock(); }

   private:
    Session& session_;
    bool has_room_ = true;
    std::unique_lock<FairMutex> lock_;
  };

  // session_declare.cpp
  void require_not_compiled(const char* call) const;
  void require_compiled(const char* call) const;
  void require_training(const char* call) const;
  void require_unique_names(const TensorMap& more) const;
  bool produces(const Tensor& tensor) const;
  bool uses(const Tensor& tensor) const;
  /// Throws when it is opaque state, which has no bytes that anyone could read.
  void require_readable(const char* call, const Tensor& tensor) const;

  // session_compile.cpp
  void forget_compilation();
  void compile_locked();
  void require_compilable() const;
  void require_inputs_are_used(const Compilation& compilation) const;
  void require_constant_is_read(const std::string& name,
                                const Tensor& tensor) const;
  void declare_constants(const TensorMap& tensors, DataList data);
  void allocate_boundary_gradients();
  /// What has a factor in Declaration::accumulation, in order.
  static std::vector<Tensor> accumulated_tensors(const Declaration& d);
  void create_hidden_tensors();
  void create_slots(bool keeps_host_data);
  std::shared_ptr<Specialization> compile_for(std::int64_t batch) const;
  std::shared_ptr<Specialization> specialize(std::int64_t batch);

  // session_place.cpp
  void reset_arenas();
  void place_persistent(const Compilation& compilation);
  void place_slots();
  std::shared_ptr<ArenaStorage> place(const Value& value);
  std::shared_ptr<ArenaStorage> place_variable(
      const std::shared_ptr<TensorState>& tensor);
  void require_movable(const Value& value) const;
  bool is_statistic(const std::shared_ptr<TensorState>& tensor) const;
  void size_plan_arenas(const Compilation& compilation);

  // session_readable.cpp
  void create_readable_tensors();
  Tensor readable(TensorDescriptor desc, std::string label,
                  std::function<ValueId(const Assembled&)> find);
  /// For PlanStorage.
  void visit_readable(const std::function<ValueId(const Assembled&)>& find,
                      const std::function<void(const DeviceBytes&)>& action);
  friend struct PlanStorage;

  // session_link.cpp
  struct LinkShared;
  void require_linkable(const Session& first) const;
  void share_results(const std::vector<Session*>& group, LinkShared& shared);
  void share_gradient(const Tensor& input, Session& producer,
                      LinkShared& shared);
  void share_accumulators(const std::vector<Session*>& group,
                          LinkShared& shared);
  std::shared_ptr<ArenaStorage> result_storage(const Tensor& tensor) const;
  void redirect(const Tensor& tensor, std::shared_ptr<ArenaStorage> storage);
  bool updates_anything() const;
  PlanKind shared_plan() const;
  void leave_link() noexcept;
  void require_link(const Call& call, std::int64_t batch) const;
  std::shared_ptr<ExecutionState> link_dependency(const Call& call) const;
  void index_accumulators();

  // session_link_order.cpp
  bool is_fed(const Declaration::UserGradient& user) const;
  void find_live_gradients();
  bool skips_update(std::uint64_t parameter) const;
  static void find_fed_gradients(const std::vector<Session*>& group);
  void require_link_order(const Call& call) const;
  void require_source(const Call& call, const Input& input) const;
  void advance_link(Segment segment,
                    const std::shared_ptr<ExecutionState>& slot) noexcept;

  // session_settings.cpp
  void collect_settings();
  void require_settings(const Call& call) const;

  // session_bind.cpp
  std::shared_ptr<const BoundSegment> bound(Specialization& specialization,
                                            Segment segment);
  std::vector<UnitId> units_of(const Specialization& specialization,
                               Segment segment) const;
  Location locate(const CompiledProgram& program, const Plan& plan,
                  Arena& arena, StorageId storage) const;
  OutputPlan outputs_of(Specialization& specialization, Segment segment);
  void forget_bindings();
  Arena& arena(PlanKind kind) const { return *arenas_[static_cast<int>(kind)]; }

  // session_execute.cpp
  Execution enqueue(const Call& call, const ExecuteOptions& options,
                    Turn& turn);
  std::shared_ptr<ExecutionState> prepare(const Call& call,
                                          const ExecuteOptions& options,
                                          std::int64_t batch);
  Segment inference_segment(const Data& data, bool skips_writing);
  void require_seed(const char* call) const;
  void advance(const Call& call, std::int64_t batch,
               const std::shared_ptr<ExecutionState>& slot) noexcept;
  std::shared_ptr<ExecutionState> acquire_slot();
  void prepare_slots();

  // session_insight.cpp
  void remember_profiled(const Call& call,
                         const std::shared_ptr<ExecutionState>& slot) noexcept;

  // session_check.cpp: everything that is wrong is found before enqueuing
  std::int64_t check_call(const Call& call, const ExecuteOptions& options);
  std::int64_t check_batch(const char* call, std::int64_t batch) const;
  Input* find_input(std::string_view name, Input::Kind kind);
  void check_list(const char* call, DataList data, Input::Kind kind,
                  std::int64_t batch);
  void check_input(const char* call, const NamedData& item, Input& input,
                   std::int64_t batch);
  void check_data(const char* call, const NamedData& item, const Tensor& tensor,
                  std::int64_t batch) const;
  Input* find_bound(std::string_view name, const TensorMap& named);
  Input& check_bound(const NamedData& item, const TensorMap& named,
                     std::int64_t batch);
  void check_outputs(const char* call, const ExecuteOptions& options,
                     const OutputPlan& plan) const;
  std::size_t bytes_of(const Tensor& tensor, std::int64_t batch) const;

  // session_data.cpp
  template <class Action>
  void for_each_read(Segment segment, const Action& action);
  void collect_inputs(std::int64_t batch_before);
  void collect_constants();
  bool is_role(const Tensor& tensor, Role role) const;
  void notice_host_data();
  bool is_given(const Input& input, bool skips_writing) const;
  void require_data(const Call& call, bool skips_writing, std::int64_t batch);
  void write_data(ExecutionState& slot, const Call& call, bool skips_writing,
                  std::int64_t batch);
  void write_list(ExecutionState& slot, DataList data, Input::Kind kind,
                  std::int64_t batch);
  void write_bound(ExecutionState& slot, Input& input);
  void mark_written(const Call& call) noexcept;

  // session_write.cpp: what the host supplies to one execution
  /// Null when nothing reads the tensor in this mode.
  std::byte* room_for(ExecutionState& slot, const Tensor& tensor,
                      std::size_t size);
  void write(ExecutionState& slot, const Tensor& tensor, const void* bytes,
             std::size_t size);
  void write_hidden(ExecutionState& slot, Segment segment);
  void write_rates(ExecutionState& slot);
  void start_next_step(Optimizer& optimizer);
  void write_factors(ExecutionState& slot);
  void count_update(ExecutionState& slot);
  void count_contributions(const std::shared_ptr<ExecutionState>& slot);

  // session_gradient.cpp
  Location gradient_location(const Tensor& parameter) const;
  /// What keeps the memory of gradients alive.
  std::shared_ptr<void> gradient_owner() const;

  mutable FairMutex mutex_;
  Declaration declaration_;
  std::shared_ptr<const TensorMap> output_names_;
  std::optional<Device> device_;
  std::shared_ptr<DeviceContext> context_;
  CompileOptions options_;
  std::int64_t batch_ = 0;
  int compile_count_ = 0;

  std::vector<std::shared_ptr<Specialization>> specializations_;
  std::shared_ptr<Specialization> main_;  // of batch_
  std::uint64_t uses_ = 0;

  // Arenas: per plan, and persistent ones by category.
  std::array<std::shared_ptr<Arena>, 3> arenas_;
  ArenaGroup parameters_, statistics_, inputs_, constants_, slots_,
      accumulators_;
  std::array<const ArenaGroup*, 6> persistent_arenas() const {
    return {&parameters_, &statistics_, &slots_,
            &inputs_,     &constants_,  &accumulators_};
  }
  /// Where persistent values live for this session.
  std::unordered_map<const TensorState*, std::shared_ptr<ArenaStorage>>
      placements_;
  std::size_t shared_bytes_ = 0;
  /// Inputs, labels and weights by name; user gradients and constants that are
  /// not declared; all by tensor.
  std::map<std::string, Input, std::less<>> declared_;
  std::vector<Input> undeclared_;
  std::unordered_map<const TensorState*, Input*> input_of_;
  std::uint64_t calls_ = 0;

  // Readable tensors of gradients, by the id of what they are gradients of.
  std::unordered_map<std::uint64_t, Tensor> gradient_tensors_;

  std::shared_ptr<ExecutionState> last_;  // that computed readable values
  PhaseState phase_ = PhaseState::Clean;
  std::int64_t phase_batch_ = 0;
  std::shared_ptr<ExecutionState> last_phase_;
  std::shared_ptr<ExecutionState> last_gradient_;  // of separate phases
  /// What profile() shows: a run by itself, or forward, gradient and update.
  std::array<std::shared_ptr<ExecutionState>, 3> profiled_;
  std::uint64_t seed_ = 0;
  std::uint64_t random_step_ = 0;

  /// What compile() read of parameters and of layers that are debugged.
  struct Settings {
    std::vector<std::pair<TensorParameter, bool>> parameters;
    std::vector<std::pair<LayerPtr, bool>> layers;
  };
  Settings settings_;

  // Linking: sessions that share accumulators (this one included), and
  // parameters that another session updates, or nobody.
  std::shared_ptr<LinkShared> link_;
  std::vector<std::uint64_t> not_updated_;
  /// Results that others read where they lie, and arenas of others that this
  /// session reads: alive even when their session is not.
  std::vector<LentResult*> lent_;
  std::vector<std::shared_ptr<Arena>> borrowed_;
  /// Inputs whose gradient goes to the session that computes them (while link()
  /// runs), and user gradients that linked sessions supply.
  std::vector<std::pair<Tensor, Session*>> producers_;
  std::unordered_set<const TensorState*> fed_;
  /// Ids of parameters and inputs whose gradient comes from a loss or from a
  /// user gradient that somebody supplies.
  std::unordered_set<std::uint64_t> live_;
  /// What redirect() replaced, to be restored when the link ends.
  std::vector<std::pair<Tensor, std::shared_ptr<ArenaStorage>>> before_link_;
  /// The gradient pass that left a contribution in a shared accumulator.
  using Contribution = std::shared_ptr<ExecutionState>;
  /// Factors of Declaration::accumulation, and what of the link they and the
  /// end of a gradient pass or update concern; null where nothing is shared.
  struct Accumulation {
    std::vector<float> factors;
    std::vector<Contribution*> added_to;  // by factor
    std::vector<bool> is_live;            // by factor: more than zeros
    std::vector<Contribution*> used_by_gradient, used_by_update;
  };
  Accumulation accumulation_;

  std::vector<std::shared_ptr<ExecutionState>> pool_;
  InFlight in_flight_;
};

/// What linked sessions know together.
struct Session::LinkShared {
  /// Held from when an execution's factors are chosen until it is submitted.
  std::mutex mutex;
  /// Shared accumulators: the contribution that no update, or no gradient pass
  /// of the producing graph, has consumed yet.
  std::unordered_map<const DeviceStorage*, Contribution> contributions;
  std::unordered_map<const TensorState*, LentResult> results;
  /// Sessions that use the same optimizer object, and those of them that have
  /// updated in its current step; it has room for all.
  struct SharedOptimizer {
    std::vector<const Session*> users, updated;
  };
  std::unordered_map<const Optimizer*, SharedOptimizer> optimizers;
  /// Somebody reads results of another. Then all work is one chain: a failure
  /// reaches whoever would read what was not computed.
  bool shares_results = false;
  std::shared_ptr<ExecutionState> last;
  /// A session was compiled or linked again.
  std::atomic<bool> is_broken{false};
  /// One that expired is a graph nobody can run, even while work in flight
  /// keeps its session.
  std::vector<std::weak_ptr<Session>> handles;
};

}  // namespace traingraph
