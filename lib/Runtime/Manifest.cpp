// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the JSON text of a manifest to the structs. Messages give the place in
// the JSON at which something is missing or of the wrong kind.

#include "neoflow/Runtime/Manifest.h"

#include <nlohmann/json.hpp>

using namespace neoflow;
using namespace neoflow::runtime;

// The one kind of JSON value that the library instantiates.
using json = nlohmann::ordered_json;

namespace {
/// Thrown and caught in this file only: nlohmann's own reading throws as well.
struct Malformed {
  std::string message;
};

/// A JSON value together with where it stands, "functions[0].name".
class Node {
public:
  Node(const json &value, std::string place)
      : value(value), place(std::move(place)) {}

  [[noreturn]] void fail(const std::string &what) const {
    throw Malformed{(place.empty() ? "" : place + ": ") + what};
  }

  bool has(const char *key) const { return object().contains(key); }

  Node operator[](const char *key) const {
    std::string inner = place.empty() ? key : place + "." + key;
    auto it = object().find(key);
    if (it == object().end())
      throw Malformed{inner + " is missing"};
    return Node(*it, inner);
  }

  std::string text() const {
    if (!value.is_string())
      fail("expected a string");
    return value.get<std::string>();
  }
  std::string text(const char *key, const char *otherwise) const {
    return has(key) ? (*this)[key].text() : otherwise;
  }

  /// A number that counts something.
  int64_t count() const {
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) ||
        value.get<int64_t>() < 0)
      fail("expected an integer that is not negative");
    return value.get<int64_t>();
  }
  int64_t count(const char *key, int64_t otherwise) const {
    return has(key) ? (*this)[key].count() : otherwise;
  }

  bool truth() const {
    if (!value.is_boolean())
      fail("expected true or false");
    return value.get<bool>();
  }

  double number() const {
    if (!value.is_number())
      fail("expected a number");
    return value.get<double>();
  }

  bool isText() const { return value.is_string(); }

  template <typename Use>
  void each(Use use) const {
    if (!value.is_array())
      fail("expected an array");
    for (size_t i = 0; i < value.size(); ++i)
      use(Node(value[i], place + "[" + std::to_string(i) + "]"));
  }
  template <typename Use>
  void eachMember(Use use) const {
    for (auto &[key, member] : object().items())
      use(key, Node(member, place + "." + key));
  }

  std::vector<int64_t> counts() const {
    std::vector<int64_t> list;
    each([&](const Node &node) { list.push_back(node.count()); });
    return list;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> list;
    each([&](const Node &node) { list.push_back(node.text()); });
    return list;
  }

private:
  const json &object() const {
    if (!value.is_object())
      fail("expected an object");
    return value;
  }

  const json &value;
  std::string place;
};
} // namespace

static const std::pair<const char *, Role> roleNames[] = {
    {"none", Role::None},          {"param", Role::Param},
    {"state", Role::State},        {"input", Role::Input},
    {"label", Role::Label},        {"seed", Role::Seed},
    {"step", Role::Step},          {"learning_rate", Role::LearningRate},
    {"loss", Role::Loss},          {"metric", Role::Metric},
    {"new_state", Role::NewState},
};

const char *runtime::name(Role role) {
  for (auto &[text, known] : roleNames)
    if (known == role)
      return text;
  return "none";
}

static Role parseRole(const Node &node) {
  std::string text = node.text();
  for (auto &[known, role] : roleNames)
    if (text == known)
      return role;
  node.fail("unknown role '" + text + "'");
}

static Dims parseDims(const Node &node) {
  Dims dims;
  node.eachMember([&](const std::string &key, const Node &size) {
    dims[key] = size.count();
  });
  return dims;
}

static void parseValue(const Node &node, Value &value) {
  value.name = node.text("name", "");
  if (node.has("role"))
    value.role = parseRole(node["role"]);
  std::string typeName = node["type"].text();
  std::optional<ElementType> type = parseElementType(typeName);
  if (!type || !isModelType(*type))
    node["type"].fail("unknown type '" + typeName + "'");
  value.type = *type;
  node["shape"].each([&](const Node &extent) {
    Dimension dimension;
    if (extent.isText())
      dimension.name = extent.text();
    else
      dimension.size = extent.count();
    value.shape.push_back(dimension);
  });
}

static Function parseFunction(const Node &node) {
  Function function;
  function.name = node["name"].text();
  node["arguments"].each([&](const Node &entry) {
    Argument argument;
    parseValue(entry, argument);
    if (entry.has("init")) {
      std::string init = entry["init"].text();
      if (init != "zeros")
        entry["init"].fail("unknown initial value '" + init + "'");
      argument.zeroInit = true;
    }
    if (entry.has("default"))
      argument.defaultValue = entry["default"].number();
    function.arguments.push_back(std::move(argument));
  });
  node["results"].each([&](const Node &entry) {
    Result result;
    parseValue(entry, result);
    result.argument = entry.count("argument", -1);
    function.results.push_back(std::move(result));
  });
  return function;
}

static Kernel parseKernel(const Node &node) {
  Kernel kernel;
  kernel.name = node["name"].text();
  kernel.key = node.text("key", "");
  kernel.family = node.text("family", "");
  kernel.schedule = node.text("schedule", "");
  if (node.has("operators"))
    node["operators"].each([&](const Node &entry) {
      kernel.operators.push_back(
          {entry.text("name", ""), entry.text("location", "")});
    });
  kernel.flops = node.has("flops") ? node["flops"].number() : 0;
  kernel.bytes = node.has("bytes") ? node["bytes"].number() : 0;
  kernel.workspace = node.count("workspace", 0);
  node["phases"].each([&](const Node &entry) {
    kernel.phases.push_back(
        {entry["symbol"].text(), entry["workgroups"].count()});
  });
  return kernel;
}

static ProgramBuffer parseBuffer(const Node &node) {
  ProgramBuffer buffer;
  std::string kind = node["kind"].text();
  buffer.bytes = node["bytes"].count();
  if (kind == "argument" || kind == "result") {
    buffer.kind = kind == "argument" ? ProgramBuffer::Kind::Argument
                                     : ProgramBuffer::Kind::Result;
    buffer.index = node["index"].count();
  } else if (kind == "arena") {
    buffer.kind = ProgramBuffer::Kind::Arena;
    buffer.offset = node["offset"].count();
  } else if (kind == "constant") {
    buffer.kind = ProgramBuffer::Kind::Constant;
    buffer.name = node["name"].text();
  } else if (kind == "slice" || kind == "alternate") {
    buffer.kind = kind == "slice" ? ProgramBuffer::Kind::Slice
                                  : ProgramBuffer::Kind::Alternate;
    buffer.index = node["of"].count();
    buffer.loop = node["loop"].count();
    if (buffer.kind == ProgramBuffer::Kind::Slice)
      buffer.reverse = node["reverse"].truth();
    else
      buffer.odd = node["odd"].count();
  } else {
    node["kind"].fail("unknown kind of buffer '" + kind + "'");
  }
  return buffer;
}

static Program parseProgram(const Node &node) {
  Program program;
  program.functionName = node["function"].text();
  if (node.has("dims"))
    program.dims = parseDims(node["dims"]);
  program.arena = node.count("arena", 0);
  program.maxLive = node.count("max_live", 0);
  node["buffers"].each([&](const Node &entry) {
    program.buffers.push_back(parseBuffer(entry));
  });
  program.arguments = node["arguments"].counts();
  program.results = node["results"].counts();
  node["launches"].each([&](const Node &entry) {
    program.launches.push_back(
        {entry["kernel"].count(), entry["buffers"].counts()});
  });
  if (node.has("loops"))
    node["loops"].each([&](const Node &entry) {
      program.loops.push_back({entry["first"].count(), entry["last"].count(),
                               entry["steps"].count()});
    });
  return program;
}

static Target parseTarget(const Node &node) {
  Target target;
  target.name = node["name"].text();
  target.device = node["device"].text();
  target.cpu = node.text("cpu", "");
  if (node.has("requires"))
    target.features = node["requires"].texts();
  target.artifact = node["artifact"].text();
  node["kernels"].each(
      [&](const Node &entry) { target.kernels.push_back(parseKernel(entry)); });
  node["programs"].each([&](const Node &entry) {
    target.programs.push_back(parseProgram(entry));
  });
  return target;
}

static Manifest parse(const Node &root) {
  Manifest manifest;
  manifest.format = root["format"].count();
  if (root.has("producer")) {
    Node producer = root["producer"];
    manifest.producer = {producer.text("name", ""),
                         producer.text("version", ""),
                         producer.text("build", ""), producer.text("llvm", "")};
  }
  // A newer format may have changed anything else.
  if (manifest.format > bundleFormat)
    throw Malformed{"expected format " + std::to_string(bundleFormat) +
                    " or older, but found format " +
                    std::to_string(manifest.format) +
                    (manifest.producer.version.empty()
                         ? ""
                         : ", written by " + manifest.producer.name + " " +
                               manifest.producer.version)};
  if (manifest.format < 1)
    root["format"].fail("expected a positive number");
  if (root.has("flags"))
    manifest.flags = root["flags"].texts();
  manifest.source = root.text("source", "");
  manifest.model = root.text("model", "");
  if (root.has("dims"))
    manifest.dims = parseDims(root["dims"]);
  root["checksums"].eachMember([&](const std::string &key, const Node &sum) {
    manifest.checksums[key] = sum.text();
  });
  root["functions"].each([&](const Node &entry) {
    manifest.functions.push_back(parseFunction(entry));
  });
  root["targets"].each([&](const Node &entry) {
    manifest.targets.push_back(parseTarget(entry));
  });
  return manifest;
}

Expected<Manifest> runtime::parseManifest(std::string_view text) {
  try {
    Manifest manifest = parse(Node(json::parse(text), ""));
    if (Status status = checkManifest(manifest); !status.ok())
      return status;
    return manifest;
  } catch (const Malformed &malformed) {
    return Status::error("manifest.json: " + malformed.message);
  } catch (const json::exception &exception) {
    return error("manifest.json: ", exception.what());
  }
}
