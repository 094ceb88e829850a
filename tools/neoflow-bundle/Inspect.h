// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The content of a bundle as text for people.

#ifndef NEOFLOW_TOOLS_NEOFLOW_BUNDLE_INSPECT_H
#define NEOFLOW_TOOLS_NEOFLOW_BUNDLE_INSPECT_H

#include "neoflow/Runtime/Bundle.h"

namespace neoflow::bundle {

/// Prints the content on stdout.
void inspect(const runtime::Bundle &bundle);

} // namespace neoflow::bundle

#endif // NEOFLOW_TOOLS_NEOFLOW_BUNDLE_INSPECT_H
