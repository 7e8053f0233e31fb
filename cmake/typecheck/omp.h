// SPDX-License-Identifier: MIT
// What src/cpu calls of OpenMP where no library of the target's is at hand:
// enough to check types (Typecheck.cmake).
#pragma once

extern "C" {
int omp_get_max_threads(void);
int omp_get_num_threads(void);
void omp_set_num_threads(int);
}
