// SPDX-License-Identifier: MIT
// What tests tell and ask the emulated card: exported by its libraries beside
// NVIDIA's functions.
#pragma once

#define CUDA_EMULATOR_EXPORT __attribute__((visibility("default")))

extern "C" {

/// The next launch of a kernel or graph ends with this CUresult, 700 for one,
/// and runs nothing: the card is lost, as after every fault.
CUDA_EMULATOR_EXPORT void cuda_emulator_fail_next_launch(int result);

/// The next call of a function ("cuMemAlloc_v2") does nothing but return this.
CUDA_EMULATOR_EXPORT void cuda_emulator_refuse_next(const char* symbol,
                                                    int result);

/// How often a function was called so far, with success or not.
CUDA_EMULATOR_EXPORT long cuda_emulator_num_calls(const char* symbol);

/// Lost cards work again, as no real one does: the next test begins.
CUDA_EMULATOR_EXPORT void cuda_emulator_recover();

/// Of libnvrtc.so.13: how often it compiled.
CUDA_EMULATOR_EXPORT long cuda_emulator_num_compilations();
}
