// SPDX-License-Identifier: MIT
// The CBLAS's own header, and its functions by the names that its library has.
#pragma once

#ifdef TRAINGRAPH_ACCELERATE
#include <Accelerate/Accelerate.h>
#else
#include <cblas.h>
#endif

// OpenBLAS from PyPI has names of its own.
#ifndef TRAINGRAPH_BLAS_PREFIX
#define TRAINGRAPH_BLAS_PREFIX
#endif
#define TRAINGRAPH_JOIN_NOW(a, b) a##b
#define TRAINGRAPH_JOIN(a, b) TRAINGRAPH_JOIN_NOW(a, b)
#define TRAINGRAPH_BLAS(name) TRAINGRAPH_JOIN(TRAINGRAPH_BLAS_PREFIX, name)
