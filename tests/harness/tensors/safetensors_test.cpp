#include "harness/tensors/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

std::string with_length(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The message of the InputError that opening these bytes throws; empty where they are accepted.
std::string complaint(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("in.safetensors");
  write_bytes(path, bytes);
  try {
    const SafetensorsFile file(path);
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find(path), 0U) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }
  return "";
}

struct Malformed {
  const char* name;
  std::string bytes;
  std::string message;  // part of it
};

std::string one(const std::string& tensor, std::size_t data_bytes) {
  return with_length(R"({"a":)" + tensor + "}", std::string(data_bytes, '\0'));
}

std::vector<Malformed> malformed_files() {
  const std::string ok = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  std::string absurd(16, '\0');
  absurd[5] = 1;
  std::string past = one(ok, 8);
  past[0] = 127;
  return {
      {"Empty", "", "0 bytes; expected at least the 8"},
      {"Short", "1234567", "7 bytes; expected at least the 8"},
      {"LengthAbsurd", absurd, "header length 1099511627776; expected at most 100000000"},
      {"LengthPastEnd", past, "header length 127 goes past the end"},
      {"HeaderEmpty", with_length("", ""),
       "the header starts with nothing; expected a JSON object"},
      {"HeaderArray", with_length("[]", ""), "the header starts with '['"},
      {"HeaderLeadingSpace", with_length(" {}", ""), "the header starts with ' '"},
      {"NotJson", with_length("{\"a\":", ""), "not JSON"},
      {"TwoObjects", with_length("{}{}", ""), "not JSON"},
      {"NotUtf8Name", with_length("{\"\xff\":" + ok + "}", std::string(8, '\0')), "not JSON"},
      {"NotUtf8Outside", with_length("{\xc3}", ""), "not JSON"},
      {"DuplicateTensor", with_length("{\"a\":" + ok + ",\"a\":" + ok + "}", std::string(8, '\0')),
       "/a: the key stands twice"},
      {"DuplicateField",
       one(R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})", 8),
       "/a/dtype: the key stands twice"},
      {"NestedDeeply",
       one(R"({"shape":)" + std::string(300000, '[') + std::string(300000, ']') + "}", 0),
       "5 levels deep"},
      {"TensorNoObject", one("3", 0), "tensor 'a' is 3; expected an object"},
      {"UnknownField", one(R"({"dtype":"F32","shape":[0],"data_offsets":[0,0],"x":1})", 0),
       "tensor 'a': unknown key 'x'"},
      {"NoDtype", one(R"({"shape":[0],"data_offsets":[0,0]})", 0), "tensor 'a': no 'dtype'"},
      {"NoShape", one(R"({"dtype":"F32","data_offsets":[0,0]})", 0), "tensor 'a': no 'shape'"},
      {"NoOffsets", one(R"({"dtype":"F32","shape":[0]})", 0), "tensor 'a': no 'data_offsets'"},
      {"DtypeNoString", one(R"({"dtype":32,"shape":[0],"data_offsets":[0,0]})", 0),
       "tensor 'a': dtype is 32; expected a string"},
      {"DtypeUnknown", one(R"({"dtype":"F31","shape":[0],"data_offsets":[0,0]})", 0),
       "tensor 'a': unknown dtype 'F31'; expected one of BOOL"},
      {"ShapeNoList", one(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", 8),
       "tensor 'a': shape is 2; expected a list"},
      {"ShapeNegative", one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", 8),
       "tensor 'a': extent -2 in shape [-2]; expected an integer from 0"},
      {"ShapeFraction", one(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})", 8),
       "tensor 'a': extent 2.0"},
      {"ShapeHuge",
       one(R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})", 8),
       "tensor 'a': extent 18446744073709551615"},
      {"ShapeBeyondIntegers",
       one(R"({"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]})", 8),
       "tensor 'a': extent 1e+20"},
      {"ShapeOverflows",
       one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0),
       "tensor 'a': shape [4294967296, 4294967296] of F32 overflows"},
      {"ShapeOverflowsBesideZero",
       one(R"({"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]})", 0),
       "overflows"},
      {"HalfByte", one(R"({"dtype":"F4","shape":[3],"data_offsets":[0,2]})", 2),
       "12 bits; expected whole bytes"},
      {"OffsetsNoPair", one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})", 8),
       "tensor 'a': data_offsets is [0,8,9]; expected [begin, end]"},
      {"OffsetsNegative", one(R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})", 8),
       "tensor 'a': data_offsets is [-8,0]"},
      {"OffsetsReversed", one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", 8),
       "tensor 'a': data_offsets [8, 0] are reversed"},
      {"OffsetsPastEnd", one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 7),
       "tensor 'a': data_offsets [0, 8] end past the file's 7 bytes"},
      {"OffsetsTooFew", one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 8),
       "hold 4 bytes; expected 8 for F32 [2]"},
      {"OffsetsOfScalar", one(R"({"dtype":"F32","shape":[],"data_offsets":[0,0]})", 0),
       "hold 0 bytes; expected 4 for F32 []"},
      {"Overlap",
       with_length(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                   "123456"),
       "tensor 'b': data_offsets [2, 6] overlap tensor 'a', which ends at 4"},
      {"SameBytesTwice",
       with_length(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                   "1234"),
       "overlap tensor 'a'"},
      {"Hole",
       with_length(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                   R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
                   "123456"),
       "tensor 'b': data_offsets [4, 6] leave a hole behind tensor 'a', which ends at 2"},
      {"HoleAtStart", one(R"({"dtype":"U8","shape":[2],"data_offsets":[1,3]})", 3),
       "leave a hole behind the start of the data"},
      {"Trailing", one(ok, 11), "3 trailing bytes behind tensor 'a'"},
      {"TrailingNoTensors", with_length("{}", "x"), "1 trailing bytes behind the start"},
      {"MetadataNoObject", with_length(R"({"__metadata__":[]})", ""),
       "__metadata__ is []; expected an object of strings"},
      {"MetadataNoString", with_length(R"({"__metadata__":{"k":1}})", ""),
       "__metadata__ 'k' is 1; expected a string"},
  };
}

class MalformedSafetensors : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedSafetensors, IsRefusedByName) {
  const std::string message = complaint(GetParam().bytes);
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << "message: " << message;
}

INSTANTIATE_TEST_SUITE_P(Files, MalformedSafetensors, testing::ValuesIn(malformed_files()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Safetensors, ReadsBytesWrittenByHand) {
  const TemporaryFolder folder;
  const std::string path = folder.file("hand.safetensors");
  // Padded with spaces as other writers do; an I64 tensor that is listed but not read; a scalar; an
  // empty one.
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                       R"("x":{"dtype":"F32","shape":[],"data_offsets":[8,12]},)"
                       R"("none":{"dtype":"F16","shape":[3,0],"data_offsets":[12,12]},)"
                       R"("b":{"dtype":"BF16","shape":[2,1],"data_offsets":[12,16]},)"
                       R"("h":{"dtype":"F16","shape":[1,2],"data_offsets":[16,20]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const char data[] =
      "\1\0\0\0\0\0\0\0"
      "\0\0\x80\x3f"
      "\x80\x3f\x20\xc0"
      "\x00\x3c\x00\xc1";
  write_bytes(path, with_length(header, std::string(data, 20)));

  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.entries().size(), 5U);
  EXPECT_EQ(file.read(*file.find("x")), std::vector<float>{1.0F});
  EXPECT_EQ(file.read(*file.find("b")), (std::vector<float>{1.0F, -2.5F}));
  EXPECT_EQ(file.read(*file.find("h")), (std::vector<float>{1.0F, -2.5F}));
  EXPECT_TRUE(file.read(*file.find("none")).empty());
  EXPECT_EQ(file.find("absent"), nullptr);
  EXPECT_EQ(describe(*file.find("ids")), "I64 [1]");
  try {
    file.read(*file.find("ids"));
    FAIL() << "an I64 tensor was read";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("tensor 'ids' is I64 [1]"), std::string::npos);
  }
}

std::vector<SafetensorsTensor> assorted() {
  return {{"z", DType::bfloat16, {3}, {1, -2, 0.5F}},
          {"a", DType::float16, {1, 1}, {65504}},
          {"m", DType::float32, {2, 2}, {1e-30F, -INFINITY, 3.25F, 1.0F / 3}},
          {"scalar", DType::float32, {}, {7}},
          {"empty", DType::float32, {4, 0}, {}}};
}

TEST(Safetensors, RoundTrips) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out.safetensors");
  const std::vector<SafetensorsTensor> tensors = assorted();
  write_safetensors(path, tensors, {{"made_by", "test \"quoted\""}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("made_by"), "test \"quoted\"");
  ASSERT_EQ(file.entries().size(), tensors.size());
  for (const SafetensorsTensor& tensor : tensors) {
    const SafetensorsEntry* entry = file.find(tensor.name);
    ASSERT_NE(entry, nullptr) << tensor.name;
    EXPECT_EQ(entry->shape, tensor.shape);
    EXPECT_EQ(dtype_of(*entry), tensor.dtype);
    EXPECT_EQ(file.read(*entry), tensor.values) << tensor.name;
  }
}

TEST(Safetensors, WritesAlignedDeterministicFilesAndNothingElse) {
  const TemporaryFolder folder;
  std::vector<SafetensorsTensor> tensors = assorted();
  write_safetensors(folder.file("one"), tensors);
  std::reverse(tensors.begin(), tensors.end());
  write_safetensors(folder.file("two"), tensors);
  const std::string bytes = read_bytes(folder.file("one"));
  EXPECT_EQ(bytes, read_bytes(folder.file("two")));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  const SafetensorsFile file(folder.file("one"));
  for (const SafetensorsEntry& entry : file.entries())
    EXPECT_EQ(entry.begin % size_of(*dtype_of(entry)), 0U) << entry.name;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path().filename().string().size(), 3U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 2U);
}

TEST(Safetensors, ReadsTensorsLargerThanItsBuffer) {
  const TemporaryFolder folder;
  SafetensorsTensor tensor{"big", DType::bfloat16, {(1 << 20) + 3}, {}};
  for (std::int64_t i = 0; i < tensor.shape[0]; ++i)
    tensor.values.push_back(static_cast<float>(i % 251));
  write_safetensors(folder.file("big"), std::span(&tensor, 1));
  const SafetensorsFile file(folder.file("big"));
  EXPECT_EQ(file.read(*file.find("big")), tensor.values);
}

TEST(Safetensors, WriterRefusesWhatItCannotWrite) {
  const TemporaryFolder folder;
  const auto refuses = [&](const std::vector<SafetensorsTensor>& tensors) {
    EXPECT_THROW(write_safetensors(folder.file("x"), tensors), InputError);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  };
  refuses({{"a", DType::float32, {2}, {1}}});
  refuses({{"a", DType::float32, {-1}, {}}});
  refuses({{"a", DType::float32, {1}, {1}}, {"a", DType::float32, {1}, {1}}});
  refuses({{"__metadata__", DType::float32, {1}, {1}}});
  refuses({{"\xff", DType::float32, {1}, {1}}});
  EXPECT_THROW(write_safetensors("/dev/null/x", {}), OutputError);
}

TEST(Safetensors, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  EXPECT_THROW(SafetensorsFile(folder.path().string()), InputError);
  EXPECT_THROW(SafetensorsFile(folder.file("absent")), InputError);
}

TEST(Safetensors, NoticesAFileCutShortAfterOpening) {
  const TemporaryFolder folder;
  const std::string path = folder.file("cut");
  write_safetensors(path, assorted());
  const SafetensorsFile file(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 8);
  EXPECT_THROW(file.read(*file.find("z")), InputError);
}

// Opens, and reads all that can be read; true where the file was accepted. Any other exception
// fails the test.
bool accepts(const std::string& path) {
  try {
    const SafetensorsFile file(path);
    for (const SafetensorsEntry& entry : file.entries())
      if (dtype_of(entry)) file.read(entry);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

TEST(Safetensors, TruncationIsAlwaysRefused) {
  const TemporaryFolder folder;
  write_safetensors(folder.file("whole"), assorted(), {{"k", "v"}});
  const std::string bytes = read_bytes(folder.file("whole"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    write_bytes(folder.file("cut"), bytes.substr(0, size));
    EXPECT_FALSE(accepts(folder.file("cut"))) << size << " of " << bytes.size();
  }
}

TEST(Safetensors, FlippedBitsNeverCrash) {
  const TemporaryFolder folder;
  write_safetensors(folder.file("whole"), assorted(), {{"k", "v"}});
  const std::string bytes = read_bytes(folder.file("whole"));
  std::mt19937 random(11);
  int refused = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    std::string damaged = bytes;
    const int flips = 1 + static_cast<int>(random() % 3);
    for (int flip = 0; flip < flips; ++flip)
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    write_bytes(folder.file("flipped"), damaged);
    if (!accepts(folder.file("flipped"))) ++refused;
  }
  EXPECT_GT(refused, 750);  // most of this file is header, where few flips are harmless
}

}  // namespace
}  // namespace gla_bench
