// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything of the runtime's C++ interface.

#ifndef NEOFLOW_RUNTIME_RUNTIME_H
#define NEOFLOW_RUNTIME_RUNTIME_H

#include "neoflow/Runtime/ArrayFile.h"
#include "neoflow/Runtime/Bundle.h"
#include "neoflow/Runtime/Checkpoint.h"
#include "neoflow/Runtime/Dataset.h"
#include "neoflow/Runtime/Device.h"
#include "neoflow/Runtime/File.h"
#include "neoflow/Runtime/Manifest.h"
#include "neoflow/Runtime/Session.h"
#include "neoflow/Runtime/Shuffle.h"
#include "neoflow/Runtime/Status.h"
#include "neoflow/Runtime/Tensor.h"
#include "neoflow/Runtime/Trainer.h"

#endif // NEOFLOW_RUNTIME_RUNTIME_H
