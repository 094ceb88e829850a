// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-made bundle.

#include "TestBundle.h"

#include "SHA256.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <zip.h>

using namespace neoflow;
using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

static std::string makeFolder() {
  std::string path = ::testing::TempDir() + "neoflow-XXXXXX";
  if (!mkdtemp(path.data()))
    std::abort();
  return path;
}

TemporaryFolder::TemporaryFolder() : path(makeFolder()) {}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::string test::readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void test::writeText(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string test::compileC(const std::string &code) {
  TemporaryFolder folder;
  writeText(folder / "kernels.c", code);
  std::string command = "cc -shared -fPIC -O1 -ffp-contract=off -o " +
                        (folder / "kernels.so") + " " + (folder / "kernels.c");
  if (std::system(command.c_str()) != 0)
    std::abort();
  return readText(folder / "kernels.so");
}

Json &BundleParts::program(const std::string &function) {
  for (Json &program : target()["programs"])
    if (program["function"] == function)
      return program;
  std::abort();
}

void BundleParts::write(const std::string &path) {
  if (fillChecksums)
    for (auto &[name, content] : entries)
      manifest["checksums"][name] = sha256(content.data(), content.size());
  std::string text = manifest.dump(1);
  zip_t *zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  auto add = [&](const std::string &name, const std::string &content) {
    zip_source_t *source =
        zip_source_buffer(zip, content.data(), content.size(), 0);
    zip_int64_t index =
        zip_file_add(zip, name.c_str(), source, ZIP_FL_OVERWRITE);
    zip_set_file_compression(zip, index,
                             compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  };
  add("manifest.json", text);
  for (auto &[name, content] : entries)
    add(name, content);
  if (zip_close(zip) != 0)
    std::abort();
}

static const char kernelCode[] = R"(
#include <stdint.h>
const int32_t neoflow_abi_version = 1;
#define BATCH(B)                                                               \
  /* w x y -> error */                                                         \
  void residual_##B(void *const *a, int64_t begin, int64_t end, void *ws) {    \
    const float *w = a[0], *x = a[1], *y = a[2];                               \
    float *e = a[3];                                                           \
    for (int64_t i = begin; i < end; ++i)                                      \
      e[i] = w[0] * x[3 * i] + w[1] * x[3 * i + 1] + w[2] * x[3 * i + 2] -     \
             y[i];                                                             \
  }                                                                            \
  /* w x -> prediction */                                                      \
  void predict_##B(void *const *a, int64_t begin, int64_t end, void *ws) {     \
    const float *w = a[0], *x = a[1];                                          \
    float *p = a[2];                                                           \
    for (int64_t i = begin; i < end; ++i)                                      \
      p[i] = w[0] * x[3 * i] + w[1] * x[3 * i + 1] + w[2] * x[3 * i + 2];      \
  }                                                                            \
  /* error -> loss accuracy */                                                 \
  void loss_##B(void *const *a, int64_t begin, int64_t end, void *ws) {        \
    const float *e = a[0];                                                     \
    float *loss = a[1], *accuracy = a[2], *squares = ws;                       \
    float sum = 0, good = 0;                                                   \
    for (int i = 0; i < B; ++i) {                                              \
      squares[i] = e[i] * e[i];                                                \
      good += squares[i] < 0.25f;                                              \
    }                                                                          \
    for (int i = 0; i < B; ++i)                                                \
      sum += squares[i];                                                       \
    *loss = sum / B;                                                           \
    *accuracy = good / B;                                                      \
  }                                                                            \
  /* error x rate w m -> w m; first m, then w */                               \
  void momentum_##B(void *const *a, int64_t begin, int64_t end, void *ws) {    \
    const float *e = a[0], *x = a[1];                                          \
    float *m = a[4];                                                           \
    for (int64_t k = begin; k < end; ++k) {                                    \
      float g = 0;                                                             \
      for (int i = 0; i < B; ++i)                                              \
        g += 2 * e[i] * x[3 * i + k] / B;                                      \
      m[k] = 0.9f * m[k] + g;                                                  \
    }                                                                          \
  }                                                                            \
  void apply_##B(void *const *a, int64_t begin, int64_t end, void *ws) {       \
    const float *rate = a[2], *m = a[4];                                       \
    float *w = a[3];                                                           \
    for (int64_t k = begin; k < end; ++k)                                      \
      w[k] -= *rate * m[k];                                                    \
  }
BATCH(4)
BATCH(2)
BATCH(1)
void init(void *const *a, int64_t begin, int64_t end, void *ws) {
  const int64_t *seed = a[0];
  float *w = a[1];
  for (int k = 0; k < 3; ++k)
    w[k] = 0.125f * (float)((*seed * 7 + k * 3) % 5);
}
void add(void *const *a, int64_t begin, int64_t end, void *ws) {
  const float *x = a[0], *y = a[1];
  float *z = a[2], *scratch = ws;
  for (int64_t g = begin; g < end; ++g) {
    for (int i = 0; i < 10; ++i)
      scratch[i] = x[10 * g + i];
    for (int i = 0; i < 10; ++i)
      z[10 * g + i] = scratch[i] + y[10 * g + i];
  }
}
)";

static Json value(const char *name, const char *role, const char *type,
                  Json shape) {
  return {{"name", name}, {"role", role}, {"type", type}, {"shape", shape}};
}

static Json kernel(const std::string &name, int64_t workgroups,
                   int64_t workspace) {
  Json op = {{"name", "compute"}, {"location", "linear.mlir:3:8"}};
  Json phase = {{"symbol", name}, {"workgroups", workgroups}};
  return {{"name", name},
          {"key", "key of " + name},
          {"family", "test"},
          {"schedule", "#neoflow.schedule<none>"},
          {"operators", Json::array({op})},
          {"flops", 100},
          {"bytes", 200},
          {"workspace", workspace},
          {"phases", Json::array({phase})}};
}

static Json ofArgument(int index, int64_t bytes) {
  return {{"kind", "argument"}, {"index", index}, {"bytes", bytes}};
}
static Json ofResult(int index, int64_t bytes) {
  return {{"kind", "result"}, {"index", index}, {"bytes", bytes}};
}
static Json launch(int64_t kernel, std::vector<int64_t> buffers) {
  return {{"kernel", kernel}, {"buffers", buffers}};
}

static void addFunctions(Json &functions) {
  Json w = value("w", "param", "f32", {3});
  Json m = value("m", "state", "f32", {3});
  m["init"] = "zeros";
  Json x = value("x", "input", "f32", {"batch", 3});
  Json y = value("y", "label", "f32", Json::array({"batch"}));
  Json rate = value("rate", "learning_rate", "f32", Json::array());
  rate["default"] = 0.0625;
  Json loss = value("loss", "loss", "f32", Json::array());
  Json accuracy = value("accuracy", "metric", "f32", Json::array());
  Json newW = value("w", "new_state", "f32", {3});
  newW["argument"] = 0;
  Json newM = value("m", "new_state", "f32", {3});
  newM["argument"] = 1;
  functions.push_back({{"name", "train_step"},
                       {"arguments", {w, m, x, y, rate}},
                       {"results", {loss, accuracy, newW, newM}}});
  functions.push_back({{"name", "evaluate"},
                       {"arguments", {w, x, y}},
                       {"results", {loss, accuracy}}});
  functions.push_back(
      {{"name", "predict"},
       {"arguments", {w, x}},
       {"results",
        Json::array({value("p", "none", "f32", Json::array({"batch"}))})}});
  functions.push_back(
      {{"name", "init"},
       {"arguments",
        Json::array({value("seed", "seed", "i64", Json::array())})},
       {"results", Json::array({value("w", "param", "f32", {3})})}});
  functions.push_back(
      {{"name", "add"},
       {"arguments",
        {value("a", "none", "f32", {1000}), value("b", "none", "f32", {1000})}},
       {"results", Json::array({value("c", "none", "f32", {1000})})}});
}

static void addBatch(Json &kernels, Json &programs, int64_t batch) {
  int64_t first = kernels.size();
  std::string suffix = "_" + std::to_string(batch);
  kernels.push_back(kernel("residual" + suffix, batch, 0));
  kernels.push_back(kernel("predict" + suffix, batch, 0));
  kernels.push_back(kernel("loss" + suffix, 1, 4 * batch));
  Json momentum = kernel("momentum" + suffix, 3, 0);
  momentum["phases"].push_back(
      {{"symbol", "apply" + suffix}, {"workgroups", 3}});
  kernels.push_back(momentum);
  Json dims = {{"batch", batch}};
  int64_t n = 4 * batch;
  Json residual = {{"kind", "arena"}, {"offset", 64}, {"bytes", n}};
  programs.push_back(
      {{"function", "train_step"},
       {"dims", dims},
       {"arena", 128},
       {"max_live", n},
       {"buffers",
        {ofArgument(0, 12), ofArgument(1, 12), ofArgument(2, 3 * n),
         ofArgument(3, n), ofArgument(4, 4), ofResult(0, 4), ofResult(1, 4),
         residual}},
       {"arguments", {0, 1, 2, 3, 4}},
       {"results", {5, 6, 0, 1}},
       {"launches",
        {launch(first, {0, 2, 3, 7}), launch(first + 2, {7, 5, 6}),
         launch(first + 3, {7, 2, 4, 0, 1})}}});
  programs.push_back(
      {{"function", "evaluate"},
       {"dims", dims},
       {"arena", 128},
       {"max_live", n},
       {"buffers",
        {ofArgument(0, 12), ofArgument(1, 3 * n), ofArgument(2, n),
         ofResult(0, 4), ofResult(1, 4), residual}},
       {"arguments", {0, 1, 2}},
       {"results", {3, 4}},
       {"launches",
        {launch(first, {0, 1, 2, 5}), launch(first + 2, {5, 3, 4})}}});
  programs.push_back(
      {{"function", "predict"},
       {"dims", dims},
       {"arena", 0},
       {"max_live", 0},
       {"buffers", {ofArgument(0, 12), ofArgument(1, 3 * n), ofResult(0, n)}},
       {"arguments", {0, 1}},
       {"results", Json::array({2})},
       {"launches", Json::array({launch(first + 1, {0, 1, 2})})}});
}

BundleParts test::linearModel() {
  static const std::string object = compileC(kernelCode);
  BundleParts parts;
  parts.entries["targets/host/kernels.so"] = object;
  parts.entries["module.mlir"] = "// the module\n";
  Json kernels = Json::array(), programs = Json::array();
  for (int64_t batch : {4, 2, 1})
    addBatch(kernels, programs, batch);
  programs.push_back(
      {{"function", "init"},
       {"dims", Json::object()},
       {"buffers", {ofArgument(0, 8), ofResult(0, 12)}},
       {"arguments", Json::array({0})},
       {"results", Json::array({1})},
       {"launches", Json::array({launch(kernels.size(), {0, 1})})}});
  kernels.push_back(kernel("init", 1, 0));
  programs.push_back(
      {{"function", "add"},
       {"dims", Json::object()},
       {"buffers",
        {ofArgument(0, 4000), ofArgument(1, 4000), ofResult(0, 4000)}},
       {"arguments", {0, 1}},
       {"results", Json::array({2})},
       {"launches", Json::array({launch(kernels.size(), {0, 1, 2})})}});
  kernels.push_back(kernel("add", 100, 40));
  Json target = {{"name", "host"},
                 {"device", "cpu"},
                 {"cpu", "generic"},
                 {"requires", Json::array()},
                 {"artifact", "targets/host/kernels.so"},
                 {"kernels", kernels},
                 {"programs", programs}};
  parts.manifest = {
      {"format", 1},
      {"producer",
       {{"name", "test"}, {"version", "1.2"}, {"build", "b"}, {"llvm", "22"}}},
      {"flags", Json::array({"--one"})},
      {"source", "linear.mlir"},
      {"model", "linear"},
      {"dims", {{"batch", 4}}},
      {"checksums", Json::object()},
      {"functions", Json::array()},
      {"targets", Json::array({target})}};
  addFunctions(parts.manifest["functions"]);
  return parts;
}

std::shared_ptr<const Bundle> test::openGood(const std::string &path) {
  auto bundle = Bundle::open(path);
  if (!bundle.ok()) {
    ADD_FAILURE() << bundle.message();
    return nullptr;
  }
  return *bundle;
}

std::unique_ptr<Session> test::makeSession(const std::string &path,
                                           unsigned threads) {
  auto device = createDevice("cpu", {threads});
  auto session = Session::create(openGood(path), *device);
  if (!session.ok()) {
    ADD_FAILURE() << session.message();
    return nullptr;
  }
  return std::move(*session);
}

/// Messages name the file, whose folder differs from run to run.
static std::string withoutPath(std::string message, const std::string &path) {
  if (size_t at = message.find(path); at != std::string::npos)
    message.replace(at, path.size(), "FILE");
  return message;
}

std::string test::openError(BundleParts &parts) {
  TemporaryFolder folder;
  parts.write(folder / "model.nfb");
  auto bundle = Bundle::open(folder / "model.nfb");
  return bundle.ok() ? "opened"
                     : withoutPath(bundle.message(), folder / "model.nfb");
}

std::string test::sessionError(BundleParts &parts) {
  TemporaryFolder folder;
  parts.write(folder / "model.nfb");
  auto device = createDevice("cpu");
  auto bundle = openGood(folder / "model.nfb");
  if (!bundle)
    return "did not open";
  auto session = Session::create(bundle, *device);
  return session.ok() ? "created"
                      : withoutPath(session.message(), folder / "model.nfb");
}

NamedArrays test::linearData(int64_t samples) {
  NamedArrays arrays;
  Tensor x = std::move(*Tensor::allocate(ElementType::F32, {samples, 3}));
  Tensor y = std::move(*Tensor::allocate(ElementType::F32, {samples}));
  auto *features = static_cast<float *>(x.data.data());
  auto *targets = static_cast<float *>(y.data.data());
  for (int64_t i = 0; i < samples; ++i) {
    for (int64_t k = 0; k < 3; ++k)
      features[3 * i + k] = ((i * (k + 3) * 37) % 17 - 8) / 8.0f;
    targets[i] =
        features[3 * i] - 2 * features[3 * i + 1] + 0.5f * features[3 * i + 2];
  }
  arrays["x"] = Array{std::move(x), "x.npy", false};
  arrays["y"] = Array{std::move(y), "y.npy", false};
  return arrays;
}

std::vector<float> test::valuesOf(const Session &session,
                                  const std::string &name) {
  Expected<Tensor> value = session.getVariable(name);
  if (!value.ok()) {
    ADD_FAILURE() << value.message();
    return {};
  }
  auto *data = static_cast<const float *>(value->data.data());
  return {data, data + *elementCount(value->shape)};
}
