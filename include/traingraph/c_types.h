/* SPDX-License-Identifier: MIT */
/* What functions of the C interface take and give. Include c.h instead.
 *
 * Structs with a `size` are set to zero and given theirs (TG_INIT), so that
 * programs keep their meaning when a struct grows.
 */
#ifndef TRAINGRAPH_C_TYPES_H
#define TRAINGRAPH_C_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t tg_status;
enum {
  TG_OK = 0,
  TG_INVALID_ARGUMENT = 1,
  TG_SHAPE_ERROR = 2,
  TG_DTYPE_ERROR = 3,
  TG_UNSUPPORTED = 4,
  TG_STATE_ERROR = 5,
  TG_OUT_OF_MEMORY = 6,
  TG_DEVICE_ERROR = 7,
  TG_FILE_ERROR = 8,
  TG_CANCELLED = 9,
  TG_INTERNAL_ERROR = 10,
  TG_DEVICE_LOST = 11 /* with all its memory: only a new process helps */
};

/* The numbers of traingraph::DataType. */
typedef int32_t tg_data_type;
enum {
  TG_FLOAT32 = 1,
  TG_BFLOAT16 = 2,
  TG_FLOAT16 = 3,
  TG_BOOLEAN = 4,
  TG_INT64 = 5,
  TG_INT32 = 7,
  TG_INT8 = 8,
  TG_UINT8 = 9
};

typedef int32_t tg_kind;
enum {
  TG_INPUT = 0,
  TG_LABEL = 1,
  TG_LABEL_WEIGHT = 2,
  TG_OUTPUT = 3,
  TG_PARAMETER = 4, /* that the optimizer trains */
  TG_STATE = 5,     /* parameters and running statistics */
  TG_OPTIMIZER_STATE = 6
};

#define TG_MAX_RANK 8
/* tg_run run = TG_INIT(tg_run); */
#define TG_INIT(type) {.size = sizeof(type)}

typedef struct tg_graph tg_graph;
typedef struct tg_execution tg_execution;

typedef struct tg_tensor {
  size_t size;
  const char* name; /* until the graph is released */
  tg_data_type data_type;
  int32_t rank;
  int64_t shape[TG_MAX_RANK];
  size_t bytes;
} tg_tensor;

/* Memory of the caller's, by the name that a tensor was declared under. */
typedef struct tg_data {
  const char* name;
  void* data; /* of inputs it is only read, before the call returns */
  size_t bytes;
  /* 0: `bytes` alone are checked. Else rank and shape are given, too. */
  tg_data_type data_type;
  int32_t rank;
  int64_t shape[TG_MAX_RANK];
} tg_data;

typedef struct tg_load_options {
  size_t size;
  const char* device;    /* "cpu", "gpu", "any"; null: any */
  int32_t threads;       /* of a CPU device of its own; 0: those of all */
  int32_t without_state; /* 1: begins as it was built */
  int64_t batch_size;    /* 0: as it was exported */
} tg_load_options;

/* Called once when the work is over, on a thread of the library; `text` is the
 * error's, valid during the call. It must not release graphs. */
typedef void (*tg_completion_handler)(void* context, tg_status status,
                                      const char* text);

typedef struct tg_run {
  size_t size;
  const tg_data* inputs;
  size_t num_inputs;
  const tg_data* labels;
  size_t num_labels;
  const tg_data* label_weights;
  size_t num_label_weights;
  /* Get declared outputs; alive until the work is over. */
  const tg_data* outputs;
  size_t num_outputs;
  /* 0: what shapes of data say, else all that it is compiled for. */
  int64_t batch_size;
  int32_t forward_for_inference; /* of tg_execute_forward: dropout is off */
  int32_t synchronous; /* returns when the work is over, with its error */
  tg_completion_handler completion_handler; /* may be null */
  void* context;
} tg_run;

typedef struct tg_memory_report {
  size_t size;
  size_t parameter_bytes;
  size_t statistics_bytes;
  size_t optimizer_bytes;
  size_t input_bytes;
  size_t constant_bytes;
  size_t step_bytes; /* arena of tg_execute; 0 for inference graphs */
  size_t phases_bytes;
  size_t inference_bytes;
  size_t allocated_bytes; /* so far */
} tg_memory_report;

#ifdef __cplusplus
}
#endif

#endif /* TRAINGRAPH_C_TYPES_H */
