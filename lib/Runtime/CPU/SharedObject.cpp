// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading a shared object from a sealed memory file, so that no file of the
// user's disk has to be trusted or cleaned up.

#include "SharedObject.h"

#include "neoflow/Runtime/ABI.h"
#include "neoflow/Runtime/Device.h"

#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace neoflow;
using namespace neoflow::runtime;

SharedObject::~SharedObject() {
  if (handle)
    dlclose(handle);
  if (descriptor >= 0)
    close(descriptor);
}

Expected<SharedObject> SharedObject::load(const std::vector<uint8_t> &content) {
  SharedObject object;
  auto fail = [](const char *what) {
    return error("cannot ", what,
                 " the memory file of the kernels: ", std::strerror(errno));
  };
  object.descriptor =
      memfd_create("neoflow-kernels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (object.descriptor < 0)
    return fail("create");
  for (size_t done = 0; done < content.size();) {
    ssize_t count =
        write(object.descriptor, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail("fill");
    done += count;
  }
  if (fcntl(object.descriptor, F_ADD_SEALS,
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return fail("seal");
  std::string path = "/proc/self/fd/" + std::to_string(object.descriptor);
  object.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object.handle) {
    const char *reason = dlerror();
    return error("cannot load the kernels: ", reason ? reason : "no reason");
  }
  return object;
}

void *SharedObject::find(const std::string &symbol) const {
  return dlsym(handle, symbol.c_str());
}

Expected<int32_t> SharedObject::abiVersion() const {
  void *address = find(NEOFLOW_ABI_VERSION_SYMBOL);
  if (!address)
    return error("its object does not export '", NEOFLOW_ABI_VERSION_SYMBOL,
                 "'");
  int32_t version;
  std::memcpy(&version, address, sizeof version);
  return version;
}

Expected<int32_t> runtime::abiVersion(const std::vector<uint8_t> &artifact) {
  Expected<SharedObject> object = SharedObject::load(artifact);
  if (!object.ok())
    return object.takeError();
  return object->abiVersion();
}
