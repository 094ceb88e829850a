// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening a bundle, comparing checksums, choosing a target.

#include "neoflow/Runtime/Bundle.h"

#include "SHA256.h"
#include "Zip.h"
#include "neoflow/Runtime/ABI.h"
#include "neoflow/Runtime/Checkpoint.h"
#include "neoflow/Runtime/Device.h"

#include <mutex>
#include <set>

using namespace neoflow;
using namespace neoflow::runtime;

struct Bundle::Impl {
  std::string path;
  Manifest manifest;
  std::vector<Entry> entries;
  std::optional<ZipReader> zip;
  std::mutex mutex;

  template <typename... Parts>
  Status fail(const Parts &...parts) const {
    return error("'", path, "': ", parts...);
  }
};

Bundle::Bundle() : impl(std::make_unique<Impl>()) {}
Bundle::~Bundle() = default;

const std::string &Bundle::path() const { return impl->path; }
const Manifest &Bundle::manifest() const { return impl->manifest; }
const std::vector<Bundle::Entry> &Bundle::entries() const {
  return impl->entries;
}

Expected<std::shared_ptr<const Bundle>> Bundle::open(const std::string &path) {
  std::shared_ptr<Bundle> bundle(new Bundle());
  Impl &impl = *bundle->impl;
  impl.path = path;
  Expected<ZipReader> zip = ZipReader::open(path);
  if (!zip.ok())
    return impl.fail(zip.message());
  impl.zip = std::move(*zip);
  for (const ZipReader::Entry &entry : impl.zip->entries())
    impl.entries.push_back({entry.name, entry.size, entry.stored});
  if (!impl.zip->contains("manifest.json"))
    return impl.fail("not a bundle: there is no entry 'manifest.json'");
  Expected<std::vector<uint8_t>> text = impl.zip->read("manifest.json");
  if (!text.ok())
    return impl.fail(text.message());
  Expected<Manifest> manifest = parseManifest(
      {reinterpret_cast<const char *>(text->data()), text->size()});
  if (!manifest.ok())
    return impl.fail(manifest.message());
  impl.manifest = std::move(*manifest);
  return std::shared_ptr<const Bundle>(std::move(bundle));
}

Expected<std::vector<uint8_t>> Bundle::read(const std::string &name) const {
  Expected<std::vector<uint8_t>> content = [&] {
    std::lock_guard<std::mutex> lock(impl->mutex);
    return impl->zip->read(name);
  }();
  if (!content.ok())
    return impl->fail(content.message());
  if (name == "manifest.json")
    return content;
  auto it = impl->manifest.checksums.find(name);
  if (it == impl->manifest.checksums.end())
    return impl->fail("the manifest has no checksum of entry '", name, "'");
  std::string sum = sha256(content->data(), content->size());
  if (sum != it->second)
    return impl->fail("entry '", name, "' has checksum ", sum,
                      ", but the manifest says ", it->second);
  return content;
}

static std::string listTargets(const Manifest &manifest) {
  std::string list;
  for (const Target &target : manifest.targets)
    list +=
        (list.empty() ? "" : ", ") + target.name + " (" + target.device + ")";
  return list.empty() ? "none" : list;
}

Expected<const Target *> Bundle::findTarget(const std::string &device,
                                            const std::string &name) const {
  const Target *best = nullptr;
  std::string reasons;
  for (const Target &target : impl->manifest.targets) {
    if (target.device != device || (!name.empty() && target.name != name))
      continue;
    Expected<std::vector<std::string>> missing =
        missingCPUFeatures(target.features);
    if (!missing.ok())
      return missing.takeError();
    if (!missing->empty()) {
      reasons += "; target '" + target.name + "' requires";
      for (const std::string &feature : *missing)
        reasons += " " + feature;
      reasons += ", which this CPU does not have";
    } else if (!best || target.features.size() > best->features.size()) {
      best = &target;
    }
  }
  if (best)
    return best;
  return impl->fail(
      "there is no target ", name.empty() ? "" : "'" + name + "' ",
      "for device '", device,
      "' that runs here; it has: ", listTargets(impl->manifest), reasons);
}

Status Bundle::verify() const {
  const Manifest &manifest = impl->manifest;
  std::set<std::string> present;
  for (const Entry &entry : impl->entries) {
    if (!present.insert(entry.name).second)
      return impl->fail("there are two entries '", entry.name, "'");
    if (!entry.stored)
      return impl->fail("entry '", entry.name,
                        "' is compressed, but entries must be stored");
    if (auto content = read(entry.name); !content.ok())
      return content.takeError();
  }
  for (auto &[name, sum] : manifest.checksums)
    if (!present.count(name))
      return impl->fail("there is no entry '", name, "'");

  std::set<std::string> constants;
  if (present.count("constants.safetensors")) {
    auto content = read("constants.safetensors");
    if (!content.ok())
      return content.takeError();
    Expected<TensorFile> file = TensorFile::parse(std::move(*content));
    if (!file.ok())
      return impl->fail("constants.safetensors: ", file.message());
    for (const TensorFile::Entry &entry : file->entries)
      constants.insert(entry.name);
  }

  for (const Target &target : manifest.targets) {
    auto fail = [&](const auto &...parts) {
      return impl->fail("target '", target.name, "': ", parts...);
    };
    auto artifact = read(target.artifact);
    if (!artifact.ok())
      return artifact.takeError();
    if (target.device == "cpu") {
      Expected<int32_t> version = abiVersion(*artifact);
      if (!version.ok())
        return fail(version.message());
      if (*version != NEOFLOW_ABI_VERSION)
        return fail("its object has ABI version ", *version,
                    ", but this runtime has version ", NEOFLOW_ABI_VERSION);
    }
    for (const Program &program : target.programs) {
      if (Status status = checkLiveRanges(program); !status.ok())
        return fail("program of '", program.functionName, "' (",
                    toString(program.dims), "): ", status.message());
      for (const ProgramBuffer &buffer : program.buffers)
        if (buffer.kind == ProgramBuffer::Kind::Constant &&
            !constants.count(buffer.name))
          return fail("constant '", buffer.name,
                      "' is not in constants.safetensors");
    }
  }
  return Status::success();
}
