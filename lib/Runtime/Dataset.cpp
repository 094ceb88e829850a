// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matching arrays with arguments, and the files of presets.

#include "neoflow/Runtime/Dataset.h"

#include "neoflow/Runtime/File.h"

#include <cstdlib>

#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace neoflow;
using namespace neoflow::runtime;

// The one kind of JSON value that the library instantiates.
using Json = nlohmann::ordered_json;

static bool isSampled(Role role) {
  return role == Role::Input || role == Role::Label;
}

Expected<NamedArrays>
runtime::readArrays(const std::map<std::string, std::string> &files) {
  NamedArrays arrays;
  for (auto &[name, file] : files) {
    Expected<Array> array = readArray(file, name);
    if (!array.ok())
      return array.takeError();
    arrays.emplace(name, std::move(*array));
  }
  return arrays;
}

Expected<std::optional<int64_t>>
runtime::countSamples(const NamedArrays &arrays) {
  std::optional<int64_t> count;
  const std::string *first = nullptr;
  for (auto &[name, array] : arrays) {
    if (array.isText)
      continue;
    if (array.tensor.shape.empty())
      return error("'", array.origin, "' for '", name,
                   "' is a scalar, but expected an array of samples");
    int64_t here = array.tensor.shape[0];
    if (!count) {
      count = here;
      first = &array.origin;
    } else if (*count != here) {
      return error("'", *first, "' has ", *count, " samples, but '",
                   array.origin, "' has ", here);
    }
  }
  return count;
}

/// "'x', 'y'".
template <typename Map>
static std::string listNames(const Map &map) {
  std::string names;
  for (auto &[name, value] : map)
    names += (names.empty() ? "'" : ", '") + name + "'";
  return names;
}

Expected<Dataset> Dataset::create(const Function &function, const Dims &dims,
                                  const NamedArrays &arrays) {
  Dataset result;
  Expected<std::optional<int64_t>> stated = countSamples(arrays);
  if (!stated.ok())
    return stated.takeError();
  std::optional<int64_t> count = *stated;
  std::map<std::string, bool> expected;

  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const Argument &argument = function.arguments[i];
    if (!isSampled(argument.role))
      continue;
    expected[argument.name] = true;
    const char *option = argument.role == Role::Label ? "--label" : "--input";
    auto it = arrays.find(argument.name);
    if (it == arrays.end())
      return error("function '", function.name, "' needs data for '",
                   argument.name, "': give ", option, " ", argument.name,
                   "=FILE");
    const Array &array = it->second;
    std::optional<Shape> shape = resolve(argument.shape, dims);
    if (!shape || shape->empty())
      return error("'", argument.name, "' of '", function.name, "' is ",
                   toString(argument), ", which has no axis of samples");
    int64_t elements = 1;
    for (size_t axis = 1; axis < shape->size(); ++axis)
      elements *= (*shape)[axis];

    const Tensor &tensor = array.tensor;
    int64_t total = *elementCount(tensor.shape);
    int64_t here;
    if (array.isText) {
      here = elements ? total / elements : 0;
      if (elements && total % elements)
        result.remarks.push_back(
            "the last " + std::to_string(total % elements) + " bytes of '" +
            array.origin + "' do not fill a sample and are not used");
    } else {
      here = tensor.shape[0];
      int64_t perSample = 1;
      for (size_t axis = 1; axis < tensor.shape.size(); ++axis)
        perSample *= tensor.shape[axis];
      if (perSample != elements)
        return error("'", array.origin, "' is ",
                     toString(tensor.type, tensor.shape), ", but '",
                     argument.name, "' of '", function.name, "' is ",
                     toString(argument), ": expected ", elements,
                     " elements per sample, but got ", perSample);
    }
    if (!count)
      count = here;
    if (*count != here)
      return error("'", array.origin, "' has ", here,
                   " samples, but other data have ", *count);
    if (Status status = checkConvertible(tensor.type, tensor.data.data(),
                                         here * elements, argument.type);
        !status.ok())
      return error("'", array.origin, "' for '", argument.name,
                   "': ", status.message());
    Column column;
    column.argument = i;
    column.elements = elements;
    column.sampleBytes = elements * byteSize(argument.type);
    column.source = tensor.data.bytes();
    column.sourceBytes = elements * byteSize(tensor.type);
    column.convert = converter(tensor.type, argument.type);
    result.parts.push_back(column);
  }
  for (auto &[name, array] : arrays)
    if (!expected.count(name))
      return error(
          "function '", function.name, "' has no input or label '", name,
          "'; it has: ", expected.empty() ? "none" : listNames(expected));
  if (result.parts.empty())
    return error("function '", function.name, "' has no inputs or labels");
  if (*count == 0)
    return error("the data have no samples");
  result.count = *count;
  return result;
}

static bool exists(const std::string &path) {
  return access(path.c_str(), R_OK) == 0;
}

static Expected<Preset> parsePreset(const std::string &path) {
  Expected<std::vector<uint8_t>> text = readFile(path);
  if (!text.ok())
    return text.takeError();
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "" : path.substr(0, slash + 1);
  try {
    Json json = Json::parse(*text);
    Preset preset;
    preset.description = json.value("description", "");
    auto read = [&](const char *part,
                    std::map<std::string, std::string> &files) {
      if (!json.contains(part))
        return;
      for (auto &[name, file] : json.at(part).items()) {
        std::string value = file.get<std::string>();
        files[name] =
            !value.empty() && value[0] == '/' ? value : folder + value;
      }
    };
    read("train", preset.train);
    read("test", preset.test);
    if (preset.train.empty() && preset.test.empty())
      return error("'", path, "' names no files under 'train' or 'test'");
    return preset;
  } catch (const Json::exception &exception) {
    return error("'", path,
                 "' is not a description of data: ", exception.what());
  }
}

Expected<Preset> runtime::readPreset(const std::string &nameOrPath,
                                     const std::string &shareFolder) {
  bool isPath = nameOrPath.find('/') != std::string::npos ||
                (nameOrPath.size() > 5 &&
                 nameOrPath.compare(nameOrPath.size() - 5, 5, ".json") == 0);
  if (isPath)
    return parsePreset(nameOrPath);
  std::vector<std::string> folders = {"."};
  if (const char *list = std::getenv("NEOFLOW_DATA_PATH")) {
    std::istringstream stream(list);
    for (std::string folder; std::getline(stream, folder, ':');)
      if (!folder.empty())
        folders.push_back(folder);
  }
  folders.push_back(shareFolder);
  std::string searched;
  for (const std::string &folder : folders) {
    std::string path = folder + "/" + nameOrPath + ".json";
    if (exists(path))
      return parsePreset(path);
    searched += (searched.empty() ? "" : ", ") + folder;
  }
  return error("there is no data set '", nameOrPath, "': no file ", nameOrPath,
               ".json in ", searched);
}
