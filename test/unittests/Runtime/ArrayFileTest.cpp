// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers of npy, npz, IDX, gzip and text, and the npy writer.

#include "TestBundle.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <zip.h>
#include <zlib.h>

using namespace neoflow::runtime;
using namespace neoflow::runtime::test;

/// An npy file of version 1.
static std::string npy(const std::string &descr, const std::string &shape,
                       const std::string &data,
                       const std::string &fortran = "False") {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + fortran +
                       ", 'shape': " + shape + ", }\n";
  std::string text("\x93NUMPY\1\0", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + data;
}

template <typename T>
static std::string bytesOf(std::initializer_list<T> values) {
  return {reinterpret_cast<const char *>(values.begin()),
          values.size() * sizeof(T)};
}

class ArrayFile : public ::testing::Test {
protected:
  /// The elements of a file as f64, or none after a failure.
  std::vector<double> read(const std::string &name, const std::string &content,
                           const std::string &entry = "") {
    writeText(folder / name, content);
    Expected<Array> array = readArray(folder / name, entry);
    if (!array.ok()) {
      ADD_FAILURE() << array.message();
      return {};
    }
    shape = array->tensor.shape;
    type = array->tensor.type;
    Expected<Tensor> tensor = convertArray(*array, ElementType::F64);
    auto *data = static_cast<double *>(tensor->data.data());
    return {data, data + *elementCount(shape)};
  }

  /// The message of a file that cannot be read, without its path.
  std::string problem(const std::string &name, const std::string &content,
                      const std::string &entry = "") {
    writeText(folder / name, content);
    Expected<Array> array = readArray(folder / name, entry);
    if (array.ok())
      return "read";
    std::string prefix = "'" + (folder / name) + "': ";
    EXPECT_EQ(array.message().rfind(prefix, 0), 0u) << array.message();
    return array.message().substr(prefix.size());
  }

  TemporaryFolder folder;
  Shape shape;
  ElementType type = ElementType::F32;
};

using Values = std::vector<double>;

TEST_F(ArrayFile, EveryNpyType) {
  EXPECT_EQ(read("a.npy", npy("|b1", "(2,)", bytesOf<uint8_t>({0, 1}))),
            (Values{0, 1}));
  EXPECT_EQ(read("a.npy", npy("|i1", "(2,)", bytesOf<int8_t>({-5, 7}))),
            (Values{-5, 7}));
  EXPECT_EQ(read("a.npy", npy("|u1", "(2,)", bytesOf<uint8_t>({200, 7}))),
            (Values{200, 7}));
  EXPECT_EQ(read("a.npy", npy("<i2", "(1,)", bytesOf<int16_t>({-300}))),
            (Values{-300}));
  EXPECT_EQ(read("a.npy", npy("<u2", "(1,)", bytesOf<uint16_t>({65000}))),
            (Values{65000}));
  EXPECT_EQ(read("a.npy", npy("<i4", "(1,)", bytesOf<int32_t>({-70000}))),
            (Values{-70000}));
  EXPECT_EQ(read("a.npy", npy("<u4", "(1,)", bytesOf<uint32_t>({4000000000}))),
            (Values{4000000000}));
  EXPECT_EQ(read("a.npy", npy("<i8", "(1,)", bytesOf<int64_t>({-(1ll << 40)}))),
            (Values{-std::ldexp(1.0, 40)}));
  EXPECT_EQ(read("a.npy", npy("<u8", "(1,)", bytesOf<uint64_t>({1ull << 63}))),
            (Values{std::ldexp(1.0, 63)}));
  EXPECT_EQ(read("a.npy", npy("<f2", "(1,)", bytesOf<uint16_t>({0xc000}))),
            (Values{-2}));
  EXPECT_EQ(read("a.npy", npy("<f4", "(1,)", bytesOf<float>({1.5f}))),
            (Values{1.5}));
  EXPECT_EQ(read("a.npy", npy("<f8", "()", bytesOf<double>({0.1}))),
            (Values{0.1}));
  EXPECT_TRUE(shape.empty());
  EXPECT_EQ(read("a.npy", npy("<f8", "(0, 3)", "")), Values{});
  EXPECT_EQ(shape, (Shape{0, 3}));
}

TEST_F(ArrayFile, OrdersOfBytesAndElements) {
  EXPECT_EQ(
      read("a.npy", npy(">i4", "(2,)", std::string("\0\0\1\0\0\0\0\2", 8))),
      (Values{256, 2}));
  // Columns of [[1, 2, 3], [4, 5, 6]].
  EXPECT_EQ(read("a.npy", npy("<f4", "(2, 3)",
                              bytesOf<float>({1, 4, 2, 5, 3, 6}), "True")),
            (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(shape, (Shape{2, 3}));
}

TEST_F(ArrayFile, BadNpy) {
  std::string good = npy("<f4", "(2,)", bytesOf<float>({1, 2}));
  EXPECT_EQ(problem("a.npy", good.substr(0, good.size() - 1)),
            "the header says f32[2], but 7 bytes of elements follow");
  EXPECT_EQ(problem("a.npy", good + "x"),
            "the header says f32[2], but 9 bytes of elements follow");
  EXPECT_EQ(problem("a.npy", good.substr(0, 30)),
            "the npy header is truncated");
  EXPECT_EQ(problem("a.npy", "hello"), "not an npy file");
  EXPECT_EQ(problem("a.npy", npy("<c8", "(1,)", "12345678")),
            "npy elements of type '<c8' are not supported");
  EXPECT_EQ(problem("a.npy", npy("|O", "(1,)", "12345678")),
            "npy elements of type '|O' are not supported");
  EXPECT_EQ(problem("a.npy", npy("<f4", "(x,)", "1234")),
            "the npy header cannot be understood");
  EXPECT_EQ(problem("a.npy", npy("<f4", "(999999999999, 999999999999)", "")),
            "the header says f32[999999999999, 999999999999], but 0 bytes of "
            "elements follow");
  Expected<Array> missing = readArray("/nowhere/a.npy");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.message(),
            "cannot open '/nowhere/a.npy': No such file or directory");
}

static void writeNpz(const std::string &path,
                     const std::map<std::string, std::string> &arrays,
                     bool deflate) {
  zip_t *zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (auto &[name, content] : arrays) {
    zip_int64_t index = zip_file_add(
        zip, name.c_str(),
        zip_source_buffer(zip, content.data(), content.size(), 0), 0);
    zip_set_file_compression(zip, index,
                             deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  ASSERT_EQ(zip_close(zip), 0);
}

TEST_F(ArrayFile, Npz) {
  for (bool deflate : {false, true}) {
    writeNpz(folder / "a.npz",
             {{"x.npy", npy("|u1", "(3,)", "\1\2\3")},
              {"y.npy", npy("|u1", "(1,)", "\7")}},
             deflate);
    std::string content = readText(folder / "a.npz");
    EXPECT_EQ(read("a.npz", content, "x"), (Values{1, 2, 3}));
    EXPECT_EQ(read("a.npz", content, "y"), (Values{7}));
    EXPECT_EQ(problem("a.npz", content, "z"),
              "there is no array 'z'; arrays are: x, y");
    Expected<Array> chosen = readArray((folder / "a.npz") + ":y", "x");
    ASSERT_TRUE(chosen.ok()) << chosen.message();
    EXPECT_EQ(chosen->tensor.shape, (Shape{1}));
    EXPECT_EQ(problem("a.npz", content.substr(0, content.size() - 30), "x"),
              "not a zip file, or not all of it");
  }
  writeNpz(folder / "one.npz", {{"arr_0.npy", npy("|u1", "(1,)", "\7")}}, true);
  EXPECT_EQ(read("one.npz", readText(folder / "one.npz"), "x"), (Values{7}));
}

static std::string gzip(const std::string &content) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string result(content.size() * 2 + 100, 0);
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
  stream.avail_in = content.size();
  stream.next_out = reinterpret_cast<Bytef *>(result.data());
  stream.avail_out = result.size();
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

TEST_F(ArrayFile, IdxAndGzip) {
  std::string bytes("\0\0\x08\2\0\0\0\2\0\0\0\3\1\2\3\4\5\xff", 18);
  EXPECT_EQ(read("a", bytes), (Values{1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(shape, (Shape{2, 3}));
  EXPECT_EQ(type, ElementType::U8);
  EXPECT_EQ(read("a.gz", gzip(bytes)), (Values{1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(read("two.gz", gzip(bytes.substr(0, 7)) + gzip(bytes.substr(7))),
            (Values{1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(read("i16", std::string("\0\0\x0b\1\0\0\0\1\xff\xfe", 10)),
            (Values{-2}));
  EXPECT_EQ(read("i32", std::string("\0\0\x0c\1\0\0\0\1\0\0\1\0", 12)),
            (Values{256}));
  EXPECT_EQ(read("f32", std::string("\0\0\x0d\1\0\0\0\1\x3f\x80\0\0", 12)),
            (Values{1}));
  EXPECT_EQ(problem("cut", bytes.substr(0, 17)),
            "the header says u8[2, 3], but 5 bytes of elements follow");
  EXPECT_EQ(problem("cut", bytes.substr(0, 9)), "the IDX header is truncated");
  std::string zipped = gzip(bytes);
  EXPECT_EQ(problem("cut.gz", zipped.substr(0, zipped.size() - 5)),
            "the gzip data are damaged or truncated");
}

TEST_F(ArrayFile, TextAndUnknown) {
  EXPECT_EQ(read("a.txt", "Hi\n"), (Values{72, 105, 10}));
  EXPECT_EQ(problem("a.bin", std::string("ab\0c", 4)),
            "not a file of npy, npz, IDX or text");
}

TEST_F(ArrayFile, WriterRoundTrips) {
  for (int t = 0; t <= static_cast<int>(ElementType::U64); ++t) {
    auto elements = static_cast<ElementType>(t);
    Tensor tensor = std::move(*Tensor::allocate(elements, {2, 3}));
    for (size_t i = 0; i < tensor.data.size(); ++i)
      tensor.data.bytes()[i] = elements == ElementType::I1 ? i % 2 : i;
    ASSERT_TRUE(writeNpy(folder / "w.npy", tensor).ok());
    Expected<Array> back = readArray(folder / "w.npy");
    ASSERT_TRUE(back.ok()) << back.message();
    EXPECT_EQ(back->tensor.shape, tensor.shape);
    if (elements == ElementType::BF16) {
      EXPECT_EQ(back->tensor.type, ElementType::F32);
      continue;
    }
    EXPECT_EQ(back->tensor.type, elements);
    EXPECT_EQ(std::memcmp(back->tensor.data.data(), tensor.data.data(),
                          tensor.data.size()),
              0);
  }
  Tensor scalar = std::move(*Tensor::allocate(ElementType::F32, {}));
  ASSERT_TRUE(writeNpy(folder / "s.npy", scalar).ok());
  EXPECT_TRUE(readArray(folder / "s.npy")->tensor.shape.empty());
}

TEST_F(ArrayFile, WriterToFullDevice) {
  Tensor scalar = std::move(*Tensor::allocate(ElementType::F32, {}));
  Status status = writeNpy("/nowhere/a.npy", scalar);
  EXPECT_EQ(status.message(),
            "cannot write '/nowhere/a.npy': No such file or directory");
}

TEST_F(ArrayFile, ConversionNamesTheFile) {
  writeText(folder / "a.npy", npy("<f4", "(2,)", bytesOf<float>({1, 2.5f})));
  Expected<Array> array = readArray(folder / "a.npy");
  Expected<Tensor> tensor = convertArray(*array, ElementType::I32);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.message(),
            "'" + (folder / "a.npy") +
                "': element 1 is 2.5, which is not a value of type i32");
}
