// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .npy format, versions 1 to 3, little-endian and in C order.

#include "Npy.h"

#include <cstring>
#include <fstream>
#include <sstream>

using namespace neoflow::test;

namespace {
struct TypeInfo {
  NpyType type;
  const char *code;
  size_t bytes;
};
const TypeInfo kTypes[] = {
    {NpyType::f32, "<f4", 4},    {NpyType::f64, "<f8", 8},
    {NpyType::i8, "|i1", 1},     {NpyType::i32, "<i4", 4},
    {NpyType::i64, "<i8", 8},    {NpyType::u8, "|u1", 1},
    {NpyType::boolean, "|b1", 1}};

const TypeInfo &getInfo(NpyType type) {
  for (const TypeInfo &info : kTypes)
    if (info.type == type)
      return info;
  return kTypes[0];
}

/// The text after `'key':` in the header, up to `end`.
bool find(const std::string &header, const std::string &key, char end,
          std::string &value) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos ||
      (at = header.find(':', at)) == std::string::npos)
    return false;
  size_t stop = header.find(end, at);
  if (stop == std::string::npos)
    return false;
  value = header.substr(at + 1, stop - at - 1);
  return true;
}

template <typename T, typename Wide>
void load(const char *data, std::vector<Wide> &values) {
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    values[i] = static_cast<Wide>(value);
  }
}

template <typename T, typename Wide>
void store(std::ostream &os, const std::vector<Wide> &values) {
  for (Wide wide : values) {
    T value = static_cast<T>(wide);
    os.write(reinterpret_cast<const char *>(&value), sizeof(T));
  }
}
} // namespace

const char *neoflow::test::toString(NpyType type) { return getInfo(type).code; }

bool neoflow::test::readNpy(const std::string &path, NpyArray &array,
                            std::string &error) {
  auto fail = [&](const std::string &why) {
    error = path + ": " + why;
    return false;
  };
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail("cannot be read");
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0)
    return fail("is no .npy file");
  auto byte = [&](size_t i) { return size_t(uint8_t(bytes[i])); };
  size_t start = bytes[6] == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (start == 12)
    length |= byte(10) << 16 | byte(11) << 24;
  if (start + length > bytes.size())
    return fail("ends in its header");
  std::string header = bytes.substr(start, length), descr, order, shape;
  if (!find(header, "descr", ',', descr) ||
      !find(header, "fortran_order", ',', order) ||
      !find(header, "shape", ')', shape))
    return fail("has an incomplete header");
  if (order.find("False") == std::string::npos)
    return fail("is in Fortran order");
  const TypeInfo *info = nullptr;
  for (const TypeInfo &candidate : kTypes)
    if (descr.find(candidate.code) != std::string::npos)
      info = &candidate;
  if (!info)
    return fail("has elements of the unsupported type" + descr);
  array = NpyArray();
  array.type = info->type;
  std::istringstream numbers(shape.substr(shape.find('(') + 1));
  size_t count = 1;
  for (std::string number; std::getline(numbers, number, ',');) {
    if (number.find_first_of("0123456789") == std::string::npos)
      continue;
    array.shape.push_back(std::stoll(number));
    count *= array.shape.back();
  }
  const char *data = bytes.data() + start + length;
  if (bytes.size() - start - length != count * info->bytes)
    return fail("holds " + std::to_string(bytes.size() - start - length) +
                " bytes, but its shape asks for " +
                std::to_string(count * info->bytes));
  if (array.isFloat())
    array.floats.resize(count);
  else
    array.integers.resize(count);
  switch (info->type) {
  case NpyType::f32:
    load<float>(data, array.floats);
    break;
  case NpyType::f64:
    load<double>(data, array.floats);
    break;
  case NpyType::i8:
    load<int8_t>(data, array.integers);
    break;
  case NpyType::i32:
    load<int32_t>(data, array.integers);
    break;
  case NpyType::i64:
    load<int64_t>(data, array.integers);
    break;
  case NpyType::u8:
  case NpyType::boolean:
    load<uint8_t>(data, array.integers);
    break;
  }
  return true;
}

bool neoflow::test::writeNpy(const std::string &path, const NpyArray &array,
                             std::string &error) {
  std::string shape;
  for (int64_t extent : array.shape)
    shape += std::to_string(extent) + ",";
  std::string header = std::string("{'descr': '") + toString(array.type) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(char(header.size() & 255)).put(char(header.size() >> 8));
  file << header;
  switch (array.type) {
  case NpyType::f32:
    store<float>(file, array.floats);
    break;
  case NpyType::f64:
    store<double>(file, array.floats);
    break;
  case NpyType::i8:
    store<int8_t>(file, array.integers);
    break;
  case NpyType::i32:
    store<int32_t>(file, array.integers);
    break;
  case NpyType::i64:
    store<int64_t>(file, array.integers);
    break;
  case NpyType::u8:
  case NpyType::boolean:
    store<uint8_t>(file, array.integers);
    break;
  }
  file.close();
  if (!file) {
    error = path + ": cannot be written";
    return false;
  }
  return true;
}
