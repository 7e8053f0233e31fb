// SPDX-License-Identifier: MIT
// Session: everything behind a TrainingGraph or InferenceGraph. It holds the
// declaration, compiles it, owns the arenas, checks each call and enqueues it.
//
// Locking: `mutex_` guards all state and is held while enqueuing, so that the
// order of calls is the order of executions. Work in flight touches only its
// own slot, the arenas and the counters of what is in flight.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/arena.h"
#include "runtime/execution_state.h"
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
  void link(const std::vector<std::shared_ptr<Session>>& others);

  // --- execute (session_execute.cpp) ---
  struct Data {
    DataList inputs, labels, label_weights;
  };
  Execution execute(const Data& data, const ExecuteOptions& options);
  Execution execute_forward(const Data& data, const ExecuteOptions& options);
  Execution execute_gradient(const ExecuteOptions& options);
  Execution execute_update(const ExecuteOptions& options);
  void bind_and_write(DataList data, const TensorMap& inputs,
                      std::int64_t batch, bool synchronous);
  /// Called by every execution of this session when its work is over, and
  /// again when it says so.
  void work_finished() noexcept { in_flight_.fetch_sub(1); }
  void execution_finished() noexcept;
  void wait_until_idle() const;

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
  Tensor gradient_tensor(const Tensor& input) const;
  std::vector<Tensor> layer_gradients(const Layer& layer, bool incoming) const;
  std::span<float> gradient(const Tensor& parameter) const;
  std::span<float> gradients() const;
  std::vector<float> gradient_data(const Tensor& parameter,
                                   const Layer& layer) const;
  /// What keeps the memory behind gradient() alive.
  std::shared_ptr<void> gradient_owner() const;
  std::vector<Tensor> parameters() const;
  void bind_optimizer_data(std::span<const TensorData> data,
                           const Tensor& parameter);
  std::uint64_t random_step() const;
  void set_random_step(std::uint64_t step);

 private:
  enum class PhaseState { Clean, ForwardDone, GradientDone };
  /// An input that every execution needs, and whether it was ever written.
  struct Input {
    Tensor tensor;
    bool is_label = false;
    std::int64_t written_batch = 0;  // 0: never
  };

  /// One execute* call.
  struct Call {
    const char* name;
    Segment segment;
    Data data;
    std::shared_ptr<ExecutionState> depends_on;
  };

  // session_declare.cpp
  void require_not_compiled(const char* call) const;
  void require_compiled(const char* call) const;
  void require_training(const char* call) const;
  void require_unique_names(const TensorMap& more) const;
  bool produces(const Tensor& tensor) const;
  bool uses(const Tensor& tensor) const;

  // session_compile.cpp
  void forget_compilation();
  void compile_locked();
  void require_compilable() const;
  void require_inputs_are_used(const Compilation& compilation) const;
  void require_constant_is_read(const std::string& name,
                                const Tensor& tensor) const;
  void declare_constants(const TensorMap& tensors, DataList data);
  void allocate_boundary_gradients();
  void create_hidden_tensors();
  void create_slots(bool keeps_host_data);
  void collect_inputs();
  std::shared_ptr<Specialization> specialize(std::int64_t batch);

  // session_place.cpp
  void reset_arenas();
  void place_persistent(const Compilation& compilation);
  std::shared_ptr<DeviceStorage> place(const Value& value);
  std::shared_ptr<DeviceStorage> place_in(
      const std::shared_ptr<Arena>& arena,
      const std::shared_ptr<TensorState>& tensor);
  std::shared_ptr<DeviceStorage> place_variable(
      const std::shared_ptr<TensorState>& tensor);
  void size_plan_arenas(const Compilation& compilation);
  void create_readable_tensors();
  Tensor readable(TensorDescriptor desc, std::string label,
                  std::function<ValueId(const Assembled&)> find);
  void forget_bindings();

  // session_link.cpp
  struct LinkShared;
  void require_linkable(const Session& first) const;
  void share_results(const std::vector<Session*>& group, LinkShared& shared);
  void share_accumulators(const std::vector<Session*>& group,
                          LinkShared& shared);
  std::shared_ptr<DeviceStorage> result_storage(const Tensor& tensor) const;
  void redirect(const Tensor& tensor, std::shared_ptr<DeviceStorage> storage);
  bool updates_anything() const;
  PlanKind shared_plan() const;
  void leave_link() noexcept;
  void require_link(const Call& call, std::int64_t batch) const;
  std::shared_ptr<ExecutionState> link_dependency(const Call& call) const;

  // session_bind.cpp
  std::shared_ptr<const BoundSegment> bound(Specialization& specialization,
                                            Segment segment);
  std::vector<UnitId> units_of(const Specialization& specialization,
                               Segment segment) const;
  Location locate(const CompiledProgram& program, const Plan& plan,
                  const Arena& arena, StorageId storage);
  OutputPlan outputs_of(Specialization& specialization, Segment segment);
  Arena& arena(PlanKind kind) const { return *arenas_[static_cast<int>(kind)]; }

  // session_execute.cpp
  Execution enqueue(const Call& call, const ExecuteOptions& options,
                    std::unique_lock<std::mutex> lock);
  Segment inference_segment(const Data& data, bool skips_writing) const;
  void require_seed(const char* call) const;
  void advance(const Call& call, std::int64_t batch,
               const std::shared_ptr<ExecutionState>& slot);
  static Execution finish(const std::shared_ptr<ExecutionState>& slot,
                          const ExecuteOptions& options);
  std::shared_ptr<ExecutionState> acquire_slot();

  // session_check.cpp: everything that is wrong is found before enqueuing
  std::int64_t check_batch(const char* call, std::int64_t batch) const;
  void check_list(const char* call, DataList data, const TensorMap& declared,
                  std::int64_t batch) const;
  void check_outputs(const char* call, const ExecuteOptions& options,
                     const OutputPlan& plan) const;
  void require_inputs(const Call& call, bool skips_writing,
                      std::int64_t batch) const;
  std::size_t bytes_of(const Tensor& tensor, std::int64_t batch) const;

  // session_write.cpp: what the host supplies to one execution
  void write(ExecutionState& slot, const Tensor& tensor, const void* bytes,
             std::size_t size);
  void write_list(ExecutionState& slot, DataList data,
                  const TensorMap& declared, std::int64_t batch);
  void write_hidden(ExecutionState& slot, Segment segment);
  void write_rates(ExecutionState& slot);
  void start_next_step(Optimizer& optimizer);
  void write_accumulation(ExecutionState& slot);

  // session_inspect.cpp
  Location gradient_location(const Tensor& parameter) const;
  /// Where a value of the last run is; for PlanStorage.
  Location locate_readable(
      const std::function<ValueId(const Assembled&)>& find);
  friend struct PlanStorage;

  mutable std::mutex mutex_;
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
  std::shared_ptr<Arena> parameters_, statistics_, inputs_, constants_, slots_,
      accumulators_;
  /// Where persistent values live for this session.
  std::unordered_map<const TensorState*, std::shared_ptr<DeviceStorage>>
      placements_;
  std::size_t shared_bytes_ = 0;
  std::map<std::string, Input> declared_;  // inputs, labels and weights
  TensorMap bindable_;                     // the same, by name only

  // Readable tensors of gradients, by the id of what they are gradients of.
  std::unordered_map<std::uint64_t, Tensor> gradient_tensors_;

  std::shared_ptr<Specialization> last_specialization_;
  std::optional<PlanKind> last_plan_;
  PhaseState phase_ = PhaseState::Clean;
  std::int64_t phase_batch_ = 0;
  std::shared_ptr<ExecutionState> last_phase_;
  std::shared_ptr<ExecutionState> last_gradient_;  // of separate phases
  std::uint64_t seed_ = 0;
  std::uint64_t random_step_ = 0;

  // Linking: sessions that share accumulators (this one included), and
  // parameters whose update belongs to another session.
  std::shared_ptr<LinkShared> link_;
  std::vector<std::uint64_t> updated_elsewhere_;
  /// Results that others read where they lie, and arenas of others that this
  /// session reads: alive even when their session is not.
  bool lends_results_ = false;
  std::vector<std::shared_ptr<Arena>> borrowed_;
  /// What redirect() replaced, to be restored when the link ends.
  std::vector<std::pair<Tensor, std::shared_ptr<DeviceStorage>>> before_link_;

  std::vector<std::shared_ptr<ExecutionState>> pool_;
  std::atomic<int> in_flight_{0};   // work that touches device memory
  std::atomic<int> unfinished_{0};  // executions that are not done()
  mutable std::mutex idle_mutex_;
  mutable std::condition_variable idle_;
};

/// What linked sessions know together.
struct Session::LinkShared {
  std::mutex mutex;
  /// Shared accumulators: do they hold a contribution that no update, or no
  /// gradient pass of the producing graph, has consumed yet?
  std::unordered_map<const DeviceStorage*, bool> has_contribution;
  /// Sessions that use the same optimizer object, and those of them that have
  /// updated in its current step.
  std::unordered_map<const Optimizer*, std::vector<const Session*>> users;
  std::unordered_map<const Optimizer*, std::vector<const Session*>> updated;
  /// Somebody reads results of another. Then all work is one chain: a failure
  /// reaches whoever would read what was not computed.
  bool shares_results = false;
  std::shared_ptr<ExecutionState> last;
  /// A session was compiled again or is gone.
  std::atomic<bool> is_broken{false};
};

}  // namespace traingraph
