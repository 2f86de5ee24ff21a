#include "harness/backends/sources/source_store.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "core/error.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "tests/support/places.hpp"

namespace gla_bench {
namespace {

std::map<std::string, std::string> example() {
  return {{"family/a.cuh", "#include \"b.cuh\"\n  #  include \"kernels/device/c.cuh\"\nint a;\n"},
          {"family/b.cuh", "#include \"family/params.h\"\n#include <cuda_fp16.h>\nint b;"},
          {"family/params.h", "// params\n#include \"harness/absent.hpp\"\n"},
          {"device/c.cuh", "#include \"../family/params.h\"\n#include \"c.cuh\"\n"},
          {"family/unused.cuh", "int unused;\n"}};
}

Variant variant_of(std::vector<std::string> sources) {
  Variant variant;
  variant.name = "example";
  variant.sources = std::move(sources);
  return variant;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SourceStore, EmbeddedTextIsTheFileToTheByte) {
  const std::string root = places::source_dir;
  ASSERT_FALSE(embedded_sources().empty());
  for (const Source& source : embedded_sources()) {
    const bool elsewhere = source.path.starts_with("reference/") ||
                           source.path.starts_with("harness/") ||
                           source.path.starts_with("configs/");
    const std::string path = root + (elsewhere ? "/" : "/kernels/") + std::string(source.path);
    EXPECT_EQ(source.text, text_of_file(path)) << path;
  }
  EXPECT_NE(SourceStore().find("linear_recurrence/params.h"), nullptr);
  EXPECT_EQ(SourceStore().find("linear_recurrence/absent.cuh"), nullptr);
}

TEST(SourceStore, ResolvesTheThreeSpellings) {
  const SourceStore store(example());
  EXPECT_EQ(store.resolve("family/a.cuh", "b.cuh"), "family/b.cuh");
  EXPECT_EQ(store.resolve("family/a.cuh", "device/c.cuh"), "device/c.cuh");
  EXPECT_EQ(store.resolve("family/a.cuh", "kernels/device/c.cuh"), "device/c.cuh");
  EXPECT_EQ(store.resolve("family/a.cuh", "../device/c.cuh"), "device/c.cuh");
  EXPECT_EQ(store.resolve("family/a.cuh", "harness/absent.hpp"), std::nullopt);
}

TEST(SourceStore, ClosureIsTransitiveSortedAndEndsInCycles) {
  const SourceStore store(example());
  std::vector<std::string> paths;
  for (const Source& source : store.closure(std::vector<std::string>{"family/a.cuh"}))
    paths.emplace_back(source.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"device/c.cuh", "family/a.cuh", "family/b.cuh",
                                             "family/params.h"}));
  EXPECT_THROW(store.closure(std::vector<std::string>{"family/none.cuh"}), InputError);
}

TEST(SourceStore, FullIncludesKeepTheLines) {
  const SourceStore store(example());
  EXPECT_EQ(store.with_full_includes({"family/a.cuh", *store.find("family/a.cuh")}),
            "#include \"family/b.cuh\"\n  #  include \"device/c.cuh\"\nint a;\n");
}

TEST(SourceStore, AFolderStandsInForTheBinary) {
  const SourceStore folder(std::filesystem::path(places::source_dir) / "kernels");
  for (const Source& source : embedded_sources()) {
    ASSERT_NE(folder.find(source.path), nullptr) << source.path;
    EXPECT_EQ(*folder.find(source.path), source.text) << source.path;
  }
  EXPECT_THROW(SourceStore("/nonexistent/kernels"), InputError);
}

TEST(SourceHash, ChangesWithEveryTextAndPathThatCounts) {
  const Variant variant = variant_of({"family/a.cuh"});
  const std::string before = source_hash(variant, SourceStore(example()));
  EXPECT_EQ(before.size(), 16u);
  EXPECT_EQ(before.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(before, source_hash(variant, SourceStore(example())));
  for (const char* path : {"family/a.cuh", "family/b.cuh", "family/params.h", "device/c.cuh"}) {
    auto changed = example();
    changed[path] += " ";
    EXPECT_NE(source_hash(variant, SourceStore(changed)), before) << path;
  }
  auto unrelated = example();
  unrelated["family/unused.cuh"] += " ";
  EXPECT_EQ(source_hash(variant, SourceStore(unrelated)), before);
  EXPECT_NE(source_hash(variant_of({"family/a.cuh", "family/unused.cuh"}), SourceStore(example())),
            before);
}

TEST(SourceHash, AMissingSourceIsAnError) {
  const SourceStore store(example());
  EXPECT_THROW(source_hash(variant_of({"family/a.cuh", "family/typo.cuh"}), store), InputError);
  EXPECT_THROW(source_hash(variant_of({}), store), InputError);
}

TEST(SourceHash, EveryVariantsSourcesAreEmbedded) {
  for (const Variant& variant : variants()) {
    EXPECT_EQ(source_hash(variant).size(), 16u) << variant.name;
  }
}

}  // namespace
}  // namespace gla_bench
