// Input that a parser must refuse in good order: what the fuzz targets (fuzz/) found, or were built
// to find, each with its input.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/backends/sources/ptxas_log.hpp"
#include "harness/config/config.hpp"
#include "harness/records/record_json.hpp"
#include "harness/report/text/report.hpp"
#include "harness/support/json.hpp"
#include "harness/support/printable.hpp"
#include "harness/support/text.hpp"
#include "harness/tensors/safetensors_header.hpp"
#include "harness/tensors/tensor_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

using namespace std::string_literals;

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no complaint";
}

std::string complaint_of(const std::string& text) {
  return complaint([&] { parse_json(text, "x.json"); });
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

// Generous: a loaded machine takes a hundredth of it, quadratic time many times as much.
void expect_quick(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(BadJson, NestingIsLimited) {
  EXPECT_EQ(complaint_of(repeated("[", 64) + repeated("]", 64)), "no complaint");
  EXPECT_EQ(
      complaint_of(R"({"a": )" + repeated("[", 64)),
      "x.json: /a" + repeated("/0", 63) + ": found a value 65 levels deep, expected at most 64");
  // Copying or comparing such a document would exhaust the stack.
  EXPECT_NE(complaint_of(repeated("[", 1000000)).find("65 levels deep"), std::string::npos);
  EXPECT_NE(complaint_of(repeated(R"({"a":)", 1000000)).find("65 levels deep"), std::string::npos);
}

TEST(BadJson, KeysAreLimited) {
  EXPECT_EQ(complaint_of("{\"" + std::string(256, 'k') + "\": 1}"), "no complaint");
  EXPECT_EQ(
      complaint_of("{\"" + std::string(257, 'k') + "\": 1}"),
      "x.json: /" + std::string(256, 'k') + ": found a key of 257 bytes, expected at most 256");
  const auto object = [](int count) {
    std::string text = "{\"0\": 0";
    for (int i = 1; i < count; ++i) text += ", \"" + std::to_string(i) + "\": 0";
    return text + "}";
  };
  EXPECT_EQ(complaint_of(object(1000)), "no complaint");
  EXPECT_EQ(complaint_of(object(1001)), "x.json: /1000: found more than 1000 keys, expected fewer");
  // A member is found by looking at all before it.
  expect_quick([&] { EXPECT_NE(complaint_of(object(300000)), "no complaint"); });
}

// The library's callback looks at all elements of a list at the end of each.
TEST(BadJson, LongListsTakeLinearTime) {
  const std::string text = "[" + repeated("{}, ", 400000) + "{}]";
  expect_quick([&] { EXPECT_EQ(parse_json(text, "x.json").size(), 400001u); });
}

TEST(BadJson, ANulEndsNothing) {
  EXPECT_EQ(complaint_of("{}\n\0{"s), "x.json: not JSON: a NUL byte in line 2");
  EXPECT_EQ(complaint_of("{}\0"s), "x.json: not JSON: a NUL byte in line 1");
  EXPECT_NE(complaint_of("[\"a\0b\"]"s), "no complaint");
  EXPECT_EQ(complaint_of(R"(["a\u0000b"])"), "no complaint");
}

TEST(BadJson, NumbersThatAreNone) {
  for (const char* text : {"[NaN]", "[Infinity]", "[-Infinity]", "[nan]", "[1e400]", "[-1e400]",
                           "[01]", "[+1]", "[.5]", "[1.]", "[0x10]", "[-]"})
    EXPECT_NE(complaint_of(text).find("x.json: not JSON"), std::string::npos) << text;
  const Json document = parse_json("[18446744073709551616, 1e300, -9223372036854775809]", "x.json");
  for (const JsonNode& item : JsonNode(document, "x.json").items()) {
    EXPECT_NE(complaint([&] { item.integer(-10, 10); }).find("expected an integer from -10 to 10"),
              std::string::npos);
    EXPECT_NE(complaint([&] { item.unsigned_integer(); }), "no complaint");
  }
}

TEST(BadJson, MessagesStayPrintableAndShort) {
  const std::string invalid = complaint_of("[\"\xff\xfe\xc3\x28\"]");
  EXPECT_NE(invalid.find("x.json: not JSON"), std::string::npos);
  EXPECT_EQ(invalid, printable_ascii(invalid, invalid.size()));
  EXPECT_LT(complaint_of("[\"" + std::string(100000, 'a')).size(), 400u);

  const Json keys = parse_json(R"({"\u001b[31m\n": 1})", "x.json");
  const std::string unknown = complaint([&] { JsonNode(keys, "x.json").expect_keys({"a"}); });
  EXPECT_EQ(unknown, "x.json: /?[31m?: found the unknown key \"?[31m?\", expected one of a");

  // Cut between two characters, not within one.
  const Json text = parse_json("[\"" + repeated("é", 50) + "\"]", "x.json");
  const std::string cut = complaint([&] { JsonNode(text, "x.json").items()[0].boolean(); });
  EXPECT_EQ(cut, "x.json: /0: found \"" + repeated("é", 28) + "..., expected true or false");
}

TEST(BadJson, LongNamesAreComparedInNoTime) {
  const std::string long_name(2000000, 'x');
  expect_quick([&] {
    EXPECT_FALSE(nearest(long_name, std::vector<std::string>(500, "chunk_materialized")));
  });
  EXPECT_EQ(nearest("chunk_materialised", {"chunk_fused", "chunk_materialized"}),
            "chunk_materialized");
  EXPECT_EQ(nearest("chunk", {"parallel", "chunk_materialized"}), "chunk_materialized");
}

TEST(Printable, CutsAndReplaces) {
  EXPECT_EQ(printable("plain", 5), "plain");
  EXPECT_EQ(printable("plainer", 6), "pla...");
  EXPECT_EQ(printable("a\tb\x7f", 10), "a?b?");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m\xc2\xb5",
                      10),
            "a??31m\xc2\xb5")
      << "U+009B begins a command";
  EXPECT_EQ(printable("abc", 0), "...");
  EXPECT_EQ(printable("\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 8), "\xe2\x82\xac...");
  EXPECT_EQ(printable_ascii("\xe2\x82\xac", 8), "???");
}

std::string config_complaint(const std::string& sweep) {
  return complaint([&] {
    const Json document = parse_json("{\"sweeps\": [" + sweep + "]}", "x.json");
    read_config(JsonNode(document, "x.json"), program_catalog(), "");
  });
}

std::string list_to(int last) {
  std::string text = "[1";
  for (int i = 2; i <= last; ++i) text += ", " + std::to_string(i);
  return text + "]";
}

TEST(BadConfig, ListsDoNotMultiplyBeyondMemory) {
  const std::string head = R"({"operator": "gla", "variants": "all", "dtypes": ["float32"], )";
  const std::string heads = R"("heads": 1, "key_dim": 1, "value_dim": 1}}})";
  const std::string lists = "\"shapes\": {\"product\": {\"batch\": " + list_to(1000) +
                            ", \"seq\": " + list_to(1000) + ", " + heads;
  EXPECT_EQ(config_complaint(head + lists),
            "x.json: /sweeps/0/shapes/product: found an object, expected lists whose product is at "
            "most 20000 shapes");
  const std::string many = "\"shapes\": {\"product\": {\"batch\": " + list_to(60) +
                           ", \"seq\": " + list_to(200) + ", " + heads;
  EXPECT_EQ(config_complaint(head + R"("initial_state": [true, false], )" + many),
            "x.json: /sweeps/0: found an object, expected a sweep of at most 20000 problems");
  EXPECT_EQ(
      config_complaint(head + many + "," + head + many),
      "x.json: /sweeps/1: found an object, expected sweeps of at most 20000 problems together");
}

TEST(BadConfig, PathsHoldNoNul) {
  EXPECT_NE(config_complaint(R"({"operator": "gla", "variants": "all",
                                 "tensors": {"file": "a\u0000b"}})")
                .find("/sweeps/0/tensors/file: found \"a\\u0000b\", expected a path without a NUL"),
            std::string::npos);
}

Json measured_record() {
  return parse_json(R"({"operator": "gla", "direction": "forward", "variant": "p",
    "backend": "cuda", "dtype": "bfloat16", "layout": "seq_first",
    "shape": {"batch": 1, "seq": 2, "heads": 1, "key_dim": 4, "value_dim": 4}, "gate": "mild",
    "seed": 1, "tile": {}, "status": "measured", "reason": "", "io": {"floor_bytes": 5},
    "verification": {"ok": true, "tensors": {}}, "timing": null, "source_hash": "", "peer": false})",
                    "r");
}

TEST(BadRecord, AMeasuredOneWithoutATimeIsReported) {
  const Json json = measured_record();
  Results results;
  results.records.push_back(read_record(JsonNode(json, "r")));
  EXPECT_NE(report(std::span(&results, 1), {}).find("gla forward"), std::string::npos);
}

TEST(BadRecord, ProblemsHaveADtypeAndAFiniteScale) {
  Json json = measured_record();
  json["dtype"] = "int32";
  EXPECT_NE(complaint([&] { read_record(JsonNode(json, "r")); }).find("r: /dtype: found \"int32\""),
            std::string::npos);
  json = measured_record();
  json["scale"] = "nan";  // would be neither before nor behind any other problem
  EXPECT_NE(complaint([&] { read_record(JsonNode(json, "r")); }).find("r: /scale: found \"nan\""),
            std::string::npos);
}

/// A file of a header and a hole as large as the data that it speaks of.
std::string sparse_file(const TemporaryFolder& folder, const std::string& header,
                        std::uint64_t data_bytes) {
  const std::string path = folder.file("x.safetensors");
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  file.close();
  std::filesystem::resize_file(path, sizeof length + header.size() + data_bytes);
  return path;
}

std::string problem_complaint(const std::string& op, const std::string& path) {
  Problem wanted;
  wanted.op = op;
  wanted.tensors = path;
  return complaint([&] { problem_from_file(wanted); });
}

TEST(BadTensors, NamesAndDtypesStayPrintable) {
  const TemporaryFolder folder;
  const std::string path = sparse_file(
      folder, R"({"log\u0007decay": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", 4);
  EXPECT_EQ(problem_complaint("softmax", path),
            path + ": tensor 'x' is missing; the file has log?decay");
  EXPECT_NE(complaint([] {
              parse_safetensors_header(
                  "x", R"({"a": {"dtype": "\u001b", "shape": [], "data_offsets": [0, 4]}})", 4);
            }).find("x: tensor 'a': unknown dtype '?'; expected one of BOOL"),
            std::string::npos);
}

TEST(BadTensors, ExtentsDoNotOverflow) {
  const TemporaryFolder folder;
  const std::string path = sparse_file(
      folder,
      R"({"x": {"dtype": "F16", "shape": [1, 8589934592], "data_offsets": [0, 17179869184]}})",
      std::uint64_t{1} << 34);
  EXPECT_NE(problem_complaint("softmax", path).find("extents of at most 2^31 - 1"),
            std::string::npos);
  const auto overflowing = [](const std::string& shape, const std::string& dtype) {
    return complaint([&] {
      parse_safetensors_header("x",
                               "{\"a\": {\"dtype\": \"" + dtype + "\", \"shape\": " + shape +
                                   ", \"data_offsets\": [0, 8]}}",
                               8);
    });
  };
  EXPECT_NE(overflowing("[4611686018427387904, 4, 0]", "F32").find("overflows"), std::string::npos);
  EXPECT_NE(overflowing("[9223372036854775807]", "F64").find("overflows"), std::string::npos);
  EXPECT_NE(overflowing("[9223372036854775808]", "U8").find("expected an integer"),
            std::string::npos);
  EXPECT_LT(overflowing("[" + repeated("0, ", 5000) + "1]", "F32").size(), 400u);
}

TEST(BadTensors, ANulEndsNothing) {
  EXPECT_EQ(complaint([] { parse_safetensors_header("x", "{}\0\0"s, 0); }),
            "x: header: not JSON: a NUL byte in line 1");
  EXPECT_EQ(complaint([] { parse_safetensors_header("x", "{}  ", 0); }), "no complaint");
}

TEST(BadTensors, OffsetsDoNotOverflow) {
  const auto offsets = [](const std::string& begin_end) {
    return complaint([&] {
      parse_safetensors_header(
          "x", R"({"a": {"dtype": "U8", "shape": [8], "data_offsets": [)" + begin_end + "]}}", 8);
    });
  };
  EXPECT_EQ(offsets("0, 8"), "no complaint");
  EXPECT_NE(offsets("18446744073709551612, 4").find("are reversed"), std::string::npos);
  EXPECT_NE(offsets("0, 18446744073709551615").find("end past the file's 8 bytes"),
            std::string::npos);
  EXPECT_NE(offsets("0, 18446744073709551616").find("expected [begin, end]"), std::string::npos);
}

TEST(BadCompilerLog, SpillsDoNotOverflow) {
  const PtxasLog log = parse_ptxas_log(
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas         .     0 bytes stack frame, 2147483647 bytes spill stores, 9 bytes spill "
      "loads\n"
      "ptxas         .     0 bytes stack frame, 99999999999 bytes spill stores, 0 bytes spill "
      "loads\n");
  ASSERT_EQ(log.kernels.size(), 1u);
  EXPECT_EQ(log.kernels[0].spill_bytes, 2147483647);
}

}  // namespace
}  // namespace gla_bench
