/* SPDX-License-Identifier: MIT */
/* The C interface from C: trains what the builder (build_graph.cpp) exported,
 * and gives it everything that is wrong. */
#include "traingraph/c.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures = 0;

static void check(int ok, const char* text, int line) {
  if (ok) return;
  ++failures;
  printf("line %d: %s\n  last error: %s\n", line, text, tg_error_text());
}
#define CHECK(condition) check((condition) ? 1 : 0, #condition, __LINE__)
#define OK(call) CHECK((call) == TG_OK)
#define FAILS(status, call)             \
  do {                                  \
    CHECK((call) == (status));          \
    CHECK(strlen(tg_error_text()) > 0); \
  } while (0)

enum { kSamples = 6, kInputs = 5, kClasses = 3, kSteps = 6 };

static float x_values[kSamples * kInputs];
static int32_t y_values[kSamples];

/* As build_graph.cpp makes them. */
static void make_data(int step) {
  for (int i = 0; i < kSamples * kInputs; ++i) {
    x_values[i] = (float)((step * 31 + i * 17) % 23) / 23.0f - 0.5f;
  }
  for (int i = 0; i < kSamples; ++i) y_values[i] = (step + i) % kClasses;
}

static tg_data x_data = {
    .name = "x", .data = x_values, .bytes = sizeof(x_values)};
static tg_data y_data = {
    .name = "class", .data = y_values, .bytes = sizeof(y_values)};

static tg_run run_of_step(int step) {
  make_data(step);
  tg_run run = TG_INIT(tg_run);
  run.inputs = &x_data;
  run.num_inputs = 1;
  run.labels = &y_data;
  run.num_labels = 1;
  return run;
}

static tg_graph* load(const char* path) {
  tg_load_options options = TG_INIT(tg_load_options);
  options.device = "cpu";
  tg_graph* graph = NULL;
  OK(tg_load_training(path, &options, &graph));
  return graph;
}

struct Done {
  tg_status status;
  atomic_int calls;
};

static void on_done(void* context, tg_status status, const char* text) {
  struct Done* done = context;
  done->status = status;
  CHECK(text != NULL);
  ++done->calls;
}

/* Callbacks have a thread of their own. */
static void wait_for(struct Done* done) {
  const struct timespec pause = {.tv_nsec = 1000000};
  for (int i = 0; i < 60000 && done->calls == 0; ++i) nanosleep(&pause, NULL);
}

/* The losses that the builder found, to the bit. */
static void trains_as_the_builder(tg_graph* graph, const float* expected) {
  for (int step = 0; step < kSteps; ++step) {
    tg_run run = run_of_step(step);
    float loss = 0;
    tg_execution* execution = NULL;
    if (step % 2 == 0) {
      struct Done done = {.status = -1};
      run.completion_handler = on_done;
      run.context = &done;
      OK(tg_execute(graph, &run, &execution));
      OK(tg_loss(execution, &loss));
      OK(tg_synchronize(graph));
      int is_done = 0;
      OK(tg_is_done(execution, &is_done));
      CHECK(is_done == 1);
      OK(tg_release_execution(execution));
      wait_for(&done);
      CHECK(done.calls == 1 && done.status == TG_OK);
    } else {
      OK(tg_execute_forward(graph, &run, &execution));
      OK(tg_execute_gradient(graph, NULL, NULL));
      size_t count = 0;
      OK(tg_count_parameters(graph, &count));
      float* gradients = malloc(count * sizeof(float));
      OK(tg_read_gradients(graph, gradients, count));
      OK(tg_write_gradients(graph, gradients, count));
      FAILS(TG_SHAPE_ERROR, tg_read_gradients(graph, gradients, count - 1));
      free(gradients);
      tg_run last = TG_INIT(tg_run);
      last.synchronous = 1;
      OK(tg_execute_optimizer_update(graph, &last, NULL));
      OK(tg_loss(execution, &loss));
      OK(tg_wait(execution));
      OK(tg_release_execution(execution));
    }
    if (memcmp(&loss, &expected[step], sizeof(loss)) != 0) {
      printf("step %d: %.9g, not %.9g\n", step, (double)loss,
             (double)expected[step]);
      ++failures;
    }
  }
}

static void lists_tensors(tg_graph* graph) {
  size_t count = 0;
  OK(tg_count_tensors(graph, TG_INPUT, &count));
  CHECK(count == 1);
  tg_tensor tensor = TG_INIT(tg_tensor);
  OK(tg_tensor_at(graph, TG_INPUT, 0, &tensor));
  CHECK(strcmp(tensor.name, "x") == 0 && tensor.rank == 2);
  CHECK(tensor.shape[0] == kSamples && tensor.shape[1] == kInputs);
  CHECK(tensor.data_type == TG_FLOAT32 && tensor.bytes == sizeof(x_values));
  OK(tg_find_tensor(graph, TG_LABEL, "class", &tensor));
  CHECK(tensor.data_type == TG_INT32);
  OK(tg_find_tensor(graph, TG_OUTPUT, "y", &tensor));
  OK(tg_find_tensor(graph, TG_PARAMETER, "first.weights", &tensor));
  OK(tg_find_tensor(graph, TG_OPTIMIZER_STATE, "first.weights.velocity",
                    &tensor));
  FAILS(TG_INVALID_ARGUMENT,
        tg_find_tensor(graph, TG_INPUT, "nothing", &tensor));
  FAILS(TG_INVALID_ARGUMENT, tg_tensor_at(graph, TG_INPUT, 9, &tensor));
  FAILS(TG_INVALID_ARGUMENT, tg_count_tensors(graph, 99, &count));
  FAILS(TG_INVALID_ARGUMENT, tg_count_tensors(graph, TG_INPUT, NULL));
  tensor.size = 3;
  FAILS(TG_INVALID_ARGUMENT, tg_tensor_at(graph, TG_INPUT, 0, &tensor));

  float weights[4 * kInputs], again[4 * kInputs];
  OK(tg_read_tensor(graph, "first.weights", weights, sizeof(weights)));
  for (int i = 0; i < 4 * kInputs; ++i) weights[i] += 1;
  OK(tg_write_tensor(graph, "first.weights", weights, sizeof(weights)));
  OK(tg_read_tensor(graph, "first.weights", again, sizeof(again)));
  CHECK(memcmp(weights, again, sizeof(again)) == 0);
  FAILS(TG_SHAPE_ERROR, tg_read_tensor(graph, "first.weights", again, 4));
  FAILS(TG_SHAPE_ERROR, tg_write_tensor(graph, "first.weights", again, 4));
  FAILS(TG_INVALID_ARGUMENT, tg_read_tensor(graph, "x", again, 4));
  FAILS(TG_INVALID_ARGUMENT,
        tg_read_tensor(graph, "first.weights", NULL, sizeof(again)));

  OK(tg_count_parameters(graph, &count));
  float* all = malloc(count * sizeof(float));
  float* copy = malloc(count * sizeof(float));
  OK(tg_read_parameters(graph, all, count));
  CHECK(memcmp(all, weights, sizeof(weights)) == 0);
  for (size_t i = 0; i < count; ++i) all[i] *= 2;
  OK(tg_write_parameters(graph, all, count));
  OK(tg_read_parameters(graph, copy, count));
  CHECK(memcmp(all, copy, count * sizeof(float)) == 0);
  FAILS(TG_SHAPE_ERROR, tg_write_parameters(graph, all, count + 1));
  FAILS(TG_INVALID_ARGUMENT, tg_read_parameters(graph, NULL, count));
  free(all);
  free(copy);
}

static void says_what_it_is(tg_graph* graph) {
  char name[64];
  OK(tg_device_name(graph, name, sizeof(name)));
  CHECK(strncmp(name, "cpu", 3) == 0);
  OK(tg_device_name(graph, name, 4));
  CHECK(strcmp(name, "cpu") == 0);
  FAILS(TG_INVALID_ARGUMENT, tg_device_name(graph, name, 0));
  tg_memory_report report = TG_INIT(tg_memory_report);
  OK(tg_memory(graph, &report));
  CHECK(report.parameter_bytes > 0 && report.step_bytes > 0);
  size_t bytes = 0, more = 0;
  OK(tg_required_bytes(graph, 0, &bytes));
  OK(tg_required_bytes(graph, 600, &more));
  CHECK(bytes > 0 && more > bytes);
  float rate = 0;
  OK(tg_learning_rate(graph, &rate));
  CHECK(rate > 0);
  FAILS(TG_STATE_ERROR, tg_set_learning_rate(graph, 1)); /* a schedule */
}

static void refuses_wrong_data(tg_graph* graph) {
  float loss = 0;
  tg_run run = run_of_step(0);
  tg_data wrong = x_data;
  run.inputs = &wrong;
  wrong.bytes = 12;
  FAILS(TG_SHAPE_ERROR, tg_execute(graph, &run, NULL));
  wrong = x_data;
  wrong.name = "other";
  FAILS(TG_INVALID_ARGUMENT, tg_execute(graph, &run, NULL));
  wrong.name = NULL;
  FAILS(TG_INVALID_ARGUMENT, tg_execute(graph, &run, NULL));
  wrong = x_data;
  wrong.data = NULL;
  FAILS(TG_INVALID_ARGUMENT, tg_execute(graph, &run, NULL));
  wrong = x_data;
  wrong.data_type = 77;
  wrong.rank = 2;
  FAILS(TG_DTYPE_ERROR, tg_execute(graph, &run, NULL));
  wrong.data_type = TG_FLOAT32;
  wrong.shape[0] = kInputs;
  wrong.shape[1] = kSamples;
  FAILS(TG_SHAPE_ERROR, tg_execute(graph, &run, NULL));
  wrong.rank = 9;
  FAILS(TG_SHAPE_ERROR, tg_execute(graph, &run, NULL));
  wrong.rank = 2;
  wrong.shape[0] = kSamples;
  wrong.shape[1] = kInputs;
  run.batch_size = 700;
  FAILS(TG_INVALID_ARGUMENT, tg_execute(graph, &run, NULL));
  run.batch_size = 0;
  OK(tg_execute(graph, &run, NULL));
  OK(tg_synchronize(graph));
  run.inputs = NULL;
  FAILS(TG_INVALID_ARGUMENT, tg_execute(graph, &run, NULL));
  run = run_of_step(0);
  run.size = 1;
  FAILS(TG_INVALID_ARGUMENT, tg_execute(graph, &run, NULL));
  /* An older program's struct, which ended before the callback. */
  run = run_of_step(0);
  run.size = offsetof(tg_run, completion_handler);
  run.synchronous = 1;
  OK(tg_execute(graph, &run, NULL));
  /* A label out of range fails the call. */
  run = run_of_step(0);
  y_values[0] = 1000;
  CHECK(tg_execute(graph, &run, NULL) != TG_OK);
  FAILS(TG_STATE_ERROR, tg_execute_optimizer_update(graph, NULL, NULL));
  tg_execution* execution = NULL;
  run = run_of_step(0);
  OK(tg_execute_forward(graph, &run, NULL));
  FAILS(TG_INVALID_ARGUMENT, tg_execute_gradient(graph, &run, NULL));
  OK(tg_execute_gradient(graph, NULL, &execution));
  FAILS(TG_INVALID_ARGUMENT, tg_execute_optimizer_update(graph, &run, NULL));
  FAILS(TG_STATE_ERROR, tg_loss(execution, &loss));
  OK(tg_release_execution(execution));
}

static void refuses_wrong_handles(tg_graph* graph) {
  tg_run run = run_of_step(0);
  tg_execution* execution = NULL;
  OK(tg_execute(graph, &run, &execution));
  FAILS(TG_INVALID_ARGUMENT, tg_wait((tg_execution*)graph));
  FAILS(TG_INVALID_ARGUMENT, tg_synchronize((tg_graph*)execution));
  FAILS(TG_INVALID_ARGUMENT, tg_release_graph((tg_graph*)execution));
  FAILS(TG_INVALID_ARGUMENT, tg_save((tg_graph*)&run, "x"));
  FAILS(TG_INVALID_ARGUMENT, tg_wait(NULL));
  FAILS(TG_INVALID_ARGUMENT, tg_save(NULL, "x"));
  FAILS(TG_INVALID_ARGUMENT, tg_save(graph, NULL));
  OK(tg_wait(execution));
  OK(tg_release_execution(execution));
  FAILS(TG_INVALID_ARGUMENT, tg_wait(execution));
  FAILS(TG_INVALID_ARGUMENT, tg_release_execution(execution));
  OK(tg_release_execution(NULL));
  OK(tg_release_graph(NULL));
}

static void refuses_wrong_files(const char* path) {
  tg_graph* graph = NULL;
  tg_load_options options = TG_INIT(tg_load_options);
  FAILS(TG_FILE_ERROR, tg_load_training("/nothing/there", NULL, &graph));
  FAILS(TG_INVALID_ARGUMENT, tg_load_training(NULL, NULL, &graph));
  FAILS(TG_INVALID_ARGUMENT, tg_load_training(path, NULL, NULL));
  options.device = "toaster";
  FAILS(TG_INVALID_ARGUMENT, tg_load_training(path, &options, &graph));
  FAILS(TG_INVALID_ARGUMENT, tg_check_device("toaster"));
  FAILS(TG_INVALID_ARGUMENT, tg_check_device(NULL));
  OK(tg_check_device("cpu"));
  options.device = "cpu";
  options.threads = -1;
  FAILS(TG_INVALID_ARGUMENT, tg_load_training(path, &options, &graph));
  CHECK(graph == NULL);
}

static void infers(const char* path, tg_graph* training) {
  tg_load_options options = TG_INIT(tg_load_options);
  options.device = "cpu";
  options.batch_size = 3;
  tg_graph* graph = NULL;
  OK(tg_load_inference(path, &options, &graph));
  float y[3 * kClasses], expected[kSamples * kClasses];
  tg_data out = {.name = "y", .data = y, .bytes = sizeof(y)};
  tg_data in = x_data;
  in.bytes = sizeof(x_values) / 2;
  tg_run run = TG_INIT(tg_run);
  make_data(3);
  run.inputs = &in;
  run.num_inputs = 1;
  run.outputs = &out;
  run.num_outputs = 1;
  run.synchronous = 1;
  OK(tg_execute(graph, &run, NULL));
  tg_run same = run_of_step(3);
  tg_data all = {.name = "y", .data = expected, .bytes = sizeof(expected)};
  same.outputs = &all;
  same.num_outputs = 1;
  same.forward_for_inference = 1;
  same.synchronous = 1;
  OK(tg_execute_forward(training, &same, NULL));
  for (int i = 0; i < 3 * kClasses; ++i) {
    CHECK(fabsf(y[i] - expected[i]) <= 1e-5f);
  }
  float rate = 0;
  FAILS(TG_UNSUPPORTED, tg_learning_rate(graph, &rate));
  FAILS(TG_UNSUPPORTED, tg_execute_gradient(graph, NULL, NULL));
  size_t count = 0;
  FAILS(TG_UNSUPPORTED, tg_count_parameters(graph, &count));
  OK(tg_release_graph(graph));
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* const path = argv[1];
  float expected[kSteps];
  FILE* const losses = fopen(argv[2], "rb");
  if (!losses || fread(expected, sizeof(expected), 1, losses) != 1) return 2;
  fclose(losses);
  CHECK(strlen(tg_version()) > 0);
  refuses_wrong_files(path);
  tg_graph* graph = load(path);
  if (!graph) return 1;
  trains_as_the_builder(graph, expected);

  /* Saved and exported, and back. */
  char other[4096];
  snprintf(other, sizeof(other), "%s.exported", argv[3]);
  OK(tg_export_graph(graph, other, 1));
  OK(tg_save(graph, argv[3]));
  tg_graph* again = load(other);
  OK(tg_restore(again, argv[3]));
  FAILS(TG_FILE_ERROR, tg_restore(again, argv[2]));
  infers(other, again);
  OK(tg_release_graph(again));
  says_what_it_is(graph);
  lists_tensors(graph);
  refuses_wrong_data(graph);
  refuses_wrong_handles(graph);
  OK(tg_release_graph(graph));
  FAILS(TG_INVALID_ARGUMENT, tg_release_graph(graph));
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
