// SPDX-License-Identifier: MIT
// GNUstep's Foundation asks for this name; Debian ships the runtime as Block.h.
#pragma once
#include <Block.h>
