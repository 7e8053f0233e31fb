/* SPDX-License-Identifier: MIT */
/* The C interface: graphs that export_graph() wrote are loaded, trained and
 * saved without the code that built them. docs/artefacts.md has a program.
 *
 * Every function returns a status; tg_error_text() says more. Nothing is thrown
 * and no wrong argument ends the process: null pointers, handles that were
 * released or are of another kind, wrong names and sizes are errors. What is
 * written through pointers is written when the status is TG_OK alone.
 *
 * Functions may be called from any thread. Executions of a graph run in the
 * order of the calls.
 */
#ifndef TRAINGRAPH_C_H
#define TRAINGRAPH_C_H

#include "traingraph/c_types.h"

#if defined(_WIN32)
#define TG_API
#else
#define TG_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0"; never null. */
TG_API const char* tg_version(void);
/* Of the last call of this thread that failed; "" when there was none. Valid
 * until the thread's next call. */
TG_API const char* tg_error_text(void);
/* TG_DEVICE_ERROR, and the reason as text, when there is no such device. */
TG_API tg_status tg_check_device(const char* device);

/* options may be null. */
TG_API tg_status tg_load_training(const char* path,
                                  const tg_load_options* options,
                                  tg_graph** graph);
/* Of files of training graphs as well. */
TG_API tg_status tg_load_inference(const char* path,
                                   const tg_load_options* options,
                                   tg_graph** graph);
/* What runs goes on. Null is no error. */
TG_API tg_status tg_release_graph(tg_graph* graph);
/* Writes at most `room` bytes with the final zero: "cpu (oneDNN 3.2, 2
 * threads)". */
TG_API tg_status tg_device_name(tg_graph* graph, char* text, size_t room);

/* The state, and the whole graph. A file is replaced whole or not at all. */
TG_API tg_status tg_save(tg_graph* graph, const char* path);
TG_API tg_status tg_export_graph(tg_graph* graph, const char* path,
                                 int with_state);
/* Nothing changes unless the whole file fits. */
TG_API tg_status tg_restore(tg_graph* graph, const char* path);

/* Forward, loss, gradient and update; of inference graphs the forward. `run`
 * may be null where a graph has been given all it needs. `execution` may be
 * null: then nobody waits for it. */
TG_API tg_status tg_execute(tg_graph* graph, const tg_run* run,
                            tg_execution** execution);
/* Of training graphs. */
TG_API tg_status tg_execute_forward(tg_graph* graph, const tg_run* run,
                                    tg_execution** execution);
TG_API tg_status tg_execute_gradient(tg_graph* graph, const tg_run* run,
                                     tg_execution** execution);
TG_API tg_status tg_execute_optimizer_update(tg_graph* graph, const tg_run* run,
                                             tg_execution** execution);

/* Returns the execution's error, if it has one. */
TG_API tg_status tg_wait(tg_execution* execution);
TG_API tg_status tg_is_done(tg_execution* execution, int* is_done);
/* Waits. TG_STATE_ERROR where there is no single number. */
TG_API tg_status tg_loss(tg_execution* execution, float* loss);
/* The work goes on. Null is no error. */
TG_API tg_status tg_release_execution(tg_execution* execution);
/* Waits until everything that was enqueued before is over. */
TG_API tg_status tg_synchronize(tg_graph* graph);

TG_API tg_status tg_count_tensors(tg_graph* graph, tg_kind kind, size_t* count);
/* tensor->size is set. */
TG_API tg_status tg_tensor_at(tg_graph* graph, tg_kind kind, size_t index,
                              tg_tensor* tensor);
TG_API tg_status tg_find_tensor(tg_graph* graph, tg_kind kind, const char* name,
                                tg_tensor* tensor);
/* Tensors of the state, the optimizer's included, by name. `bytes` is that of
 * the tensor. */
TG_API tg_status tg_read_tensor(tg_graph* graph, const char* name, void* data,
                                size_t bytes);
TG_API tg_status tg_write_tensor(tg_graph* graph, const char* name,
                                 const void* data, size_t bytes);

/* What the optimizer trains, as one array in the order of TG_PARAMETER. It is
 * of floats, whatever the tensors are stored as: values of 16 bits are upcast,
 * and rounded to nearest when they are written; TG_INVALID_ARGUMENT, and
 * nothing changes, when a finite one would become infinite. */
TG_API tg_status tg_count_parameters(tg_graph* graph, size_t* count);
TG_API tg_status tg_read_parameters(tg_graph* graph, float* values,
                                    size_t count);
TG_API tg_status tg_write_parameters(tg_graph* graph, const float* values,
                                     size_t count);
/* The same of the raw gradients, between tg_execute_gradient and
 * tg_execute_optimizer_update. */
TG_API tg_status tg_read_gradients(tg_graph* graph, float* values,
                                   size_t count);
TG_API tg_status tg_write_gradients(tg_graph* graph, const float* values,
                                    size_t count);

TG_API tg_status tg_learning_rate(tg_graph* graph, float* rate);
TG_API tg_status tg_set_learning_rate(tg_graph* graph, float rate);

/* Exact bytes; report->size is set. */
TG_API tg_status tg_memory(tg_graph* graph, tg_memory_report* report);
/* Of the device, after a first step of so many samples; 0: as compiled. */
TG_API tg_status tg_required_bytes(tg_graph* graph, int64_t batch_size,
                                   size_t* bytes);

#ifdef __cplusplus
}
#endif

#endif /* TRAINGRAPH_C_H */
