/* SPDX-License-Identifier: MIT */
/* Trains a digits network that another program built and exported.
 *
 *   c_digits <folder> <steps>
 *
 * `folder` holds raw little-endian float32 files, images.f32 (N, 1, 8, 8) and
 * labels.f32 (N, 10), one-hot, and net.tg.safetensors. Step s trains on samples
 * [64 b, 64 b + 64) with b = s mod (N / 64). Prints each loss with its bits and
 * writes end.tg.safetensors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <traingraph/c.h>

enum { kBatch = 64, kPixels = 64, kClasses = 10 };

/* Ends the program with the library's reason. */
static void require(tg_status status, const char* call) {
  if (status == TG_OK) return;
  fprintf(stderr, "%s: %s\n", call, tg_error_text());
  exit(1);
}
#define REQUIRE(call) require(call, #call)

static float* read_floats(const char* folder, const char* name, size_t* count) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE* const file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
  }
  *count = (size_t)ftell(file) / sizeof(float);
  rewind(file);
  float* const values = malloc(*count * sizeof(float));
  if (!values || fread(values, sizeof(float), *count, file) != *count) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
  }
  fclose(file);
  return values;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "c_digits <folder> <steps>\n");
    return 2;
  }
  const char* const folder = argv[1];
  const int steps = atoi(argv[2]);
  size_t num_pixels = 0, num_labels = 0;
  float* const images = read_floats(folder, "images.f32", &num_pixels);
  float* const labels = read_floats(folder, "labels.f32", &num_labels);
  const size_t batches = num_labels / kClasses / kBatch;
  if (batches == 0) return 2;

  char path[4096];
  snprintf(path, sizeof(path), "%s/net.tg.safetensors", folder);
  tg_load_options options = TG_INIT(tg_load_options);
  options.device = "cpu";
  tg_graph* graph = NULL;
  REQUIRE(tg_load_training(path, &options, &graph));
  tg_memory_report memory = TG_INIT(tg_memory_report);
  REQUIRE(tg_memory(graph, &memory));
  fprintf(stderr, "%zu bytes of parameters\n", memory.parameter_bytes);

  for (int step = 0; step < steps; ++step) {
    const size_t b = (size_t)step % batches;
    tg_data image = {.name = "image",
                     .data = images + b * kBatch * kPixels,
                     .bytes = kBatch * kPixels * sizeof(float)};
    tg_data label = {.name = "label",
                     .data = labels + b * kBatch * kClasses,
                     .bytes = kBatch * kClasses * sizeof(float)};
    tg_run run = TG_INIT(tg_run);
    run.inputs = &image;
    run.num_inputs = 1;
    run.labels = &label;
    run.num_labels = 1;
    tg_execution* execution = NULL;
    REQUIRE(tg_execute(graph, &run, &execution));
    float loss = 0;
    REQUIRE(tg_loss(execution, &loss));
    REQUIRE(tg_release_execution(execution));
    printf("step %4d  loss %-10g %a\n", step, (double)loss, (double)loss);
  }

  snprintf(path, sizeof(path), "%s/end.tg.safetensors", folder);
  REQUIRE(tg_export_graph(graph, path, /*with_state=*/1));
  REQUIRE(tg_release_graph(graph));
  free(images);
  free(labels);
  return 0;
}
