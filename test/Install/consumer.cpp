// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program outside of the tree that uses the installed runtime: it opens the
// CPU, allocates there, and gets an error that it can print.

#include "neoflow/Runtime/ABI.h"
#include "neoflow/Runtime/Bundle.h"
#include "neoflow/Runtime/Device.h"

#include <cstdio>
#include <string>

using namespace neoflow::runtime;

static int fail(const char *what, const std::string &message) {
  std::fprintf(stderr, "consumer: %s: %s\n", what, message.c_str());
  return 1;
}

int main() {
  auto device = createDevice("cpu");
  if (!device.ok())
    return fail("no cpu", device.message());
  auto memory = (*device)->allocate(1024, "a test");
  if (!memory.ok())
    return fail("no memory", memory.message());
  if (reinterpret_cast<uintptr_t>(*memory) % NEOFLOW_ALIGNMENT != 0)
    return fail("memory", "not aligned to NEOFLOW_ALIGNMENT");
  (*device)->release(*memory);

  // The message crosses the library's boundary and names the file.
  auto bundle = Bundle::open("no-such-file.nfb");
  if (bundle.ok())
    return fail("no-such-file.nfb", "opened");
  if (bundle.message().find("no-such-file.nfb") == std::string::npos)
    return fail("expected a message with the name of the file, but got",
                bundle.message());
  std::printf("consumer: %u threads; %s\n", (*device)->threads(),
              bundle.message().c_str());
  return 0;
}
