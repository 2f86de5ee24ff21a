// The gate on records of a kernel from outside: its manifest is read again, where the file's config
// names it.

#include <filesystem>

#include "harness/backends/sources/source_hash.hpp"
#include "harness/judge/gate.hpp"
#include "harness/report/stale.hpp"
#include "tests/harness/config/candidates/example.hpp"

namespace gla_bench {
namespace {

class GateCandidates : public testing::Test {
 protected:
  GateCandidates() {
    const Catalog catalog = files_.catalog();
    record_.problem = example::problem();
    record_.variant = "naive_gla";
    record_.manifest = files_.path();
    record_.backend = BackendId::cuda;
    record_.tile = {{"block_v", 32}};
    record_.status = Status::verified;
    record_.source_hash = source_hash(example::Files::variant(catalog));
  }

  // All that the gate says of the record and of its file's config.
  std::string said() const {
    Results results;
    results.file = "r.json";
    results.records = {record_};
    results.config = std::make_shared<Json>(Json{{"candidates", {files_.path()}},
                                                 {"sweeps",
                                                  {{{"operator", "gla"},
                                                    {"variants", {"naive_gla"}},
                                                    {"dtypes", {"bfloat16"}},
                                                    {"shapes", {{2, 33, 3, 40, 72}}}}}}});
    GatePolicy policy{program_catalog(), default_tolerance(), false,
                      [](const Variant& variant) { return source_hash(variant); }};
    std::string text;
    for (const Verdict& verdict : gate(std::span(&results, 1), policy))
      for (const auto* lines : {&verdict.failures, &verdict.warnings})
        for (const std::string& line : *lines) text += verdict.subject + ": " + line + "\n";
    return text;
  }

  example::Files files_;
  Record record_;
};

TEST_F(GateCandidates, ItIsFreshUntilItIsEdited) {
  EXPECT_EQ(said().find("stale"), std::string::npos) << said();
  EXPECT_FALSE(is_stale(record_));
  files_.write("naive_gla.cu", example::source() + "\n__device__ int more;\n");
  EXPECT_NE(said().find("stale: its sources have changed since"), std::string::npos) << said();
}

TEST_F(GateCandidates, WithoutItsManifestTheConfigFails) {
  std::filesystem::remove(files_.path());
  EXPECT_NE(said().find("its config: " + files_.path()), std::string::npos) << said();
  EXPECT_TRUE(is_stale(record_)) << "what is gone is not what was measured";
}

}  // namespace
}  // namespace gla_bench
