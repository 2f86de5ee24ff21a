#include "harness/backends/sources/source_store.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "core/operator.hpp"
#include "harness/backends/sources/architecture.hpp"
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

TEST(SourceStore, NamesTheIncludesThatItLacks) {
  const SourceStore store(example());
  const auto missing = [&](const char* path) {
    return store.missing_includes({path, *store.find(path)});
  };
  EXPECT_EQ(missing("family/params.h"), std::vector<std::string>{"harness/absent.hpp"});
  EXPECT_EQ(missing("family/b.cuh"), std::vector<std::string>{});
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

/// A family of which one file names the one to compile.
std::map<std::string, std::string> family() {
  return {{"family/a.cuh", "#include \"b.cuh\"\n#include <cuda_fp16.h>\nint a = b(1);\n"},
          {"family/b.cuh", "#include \"kernels/device/c.cuh\"\nint b(int);  // of c\n"},
          {"device/c.cuh", "constexpr int c = 3;\n"},
          {"family/other.cuh", "int other;\n"},
          {"family/a.cpp",
           "#include \"harness/absent.hpp\"\n"
           "Recipe r{\"family/a.cuh\"}, q{\"family/\" + name}, o{\"family/other.cuh\"};\n"}};
}

std::string hash_of_family(std::map<std::string, std::string> sources,
                           std::vector<std::string> listed = {"family/a.cuh", "family/a.cpp"}) {
  return source_hash(variant_of(std::move(listed)), SourceStore(std::move(sources)));
}

TEST(SourceHash, IsSixteenDigitsAndTheSameEachTime) {
  const std::string hash = hash_of_family(family());
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(hash, hash_of_family(family()));
}

TEST(SourceHash, StaysThroughMovesCommentsAndLayout) {
  const std::string before = hash_of_family(family());
  EXPECT_EQ(hash_of_family({{"room/zeta.cuh",
                             "#include <cuda_fp16.h>\n#include \"room/b.cuh\"\n"
                             "int a = b(1);"},
                            {"room/b.cuh", "#include \"alpha.cuh\"\nint b(int);"},
                            {"room/alpha.cuh", "// three\nconstexpr int c=3 ;"},
                            {"room/unlisted.cuh", "int other;\n"},
                            {"room/host/a.cpp",
                             "#include \"core/absent.hpp\"\n"
                             "Recipe r{\n  \"room/zeta.cuh\"}, q{\"room/host/\" + name},\n"
                             "  o{\"room/unlisted.cuh\"};"}},
                           {"room/host/a.cpp", "room/zeta.cuh"}),
            before);
}

TEST(SourceHash, ChangesWithTheCodeOfEverySourceThatCounts) {
  const std::string before = hash_of_family(family());
  for (const char* path : {"family/a.cuh", "family/b.cuh", "device/c.cuh", "family/a.cpp"}) {
    auto changed = family();
    changed[path] += "int one_more;";
    EXPECT_NE(hash_of_family(changed), before) << path;
    changed = family();
    changed[path] += "#include \"family/other.cuh\"\n";
    EXPECT_NE(hash_of_family(changed), before) << path;
  }
  auto changed = family();
  changed["device/c.cuh"] = "constexpr int c = 4;\n";
  EXPECT_NE(hash_of_family(changed), before);
  changed = family();
  changed["family/other.cuh"] = "int unlisted;\n";
  EXPECT_EQ(hash_of_family(changed), before);
  EXPECT_NE(hash_of_family(family(), {"family/a.cuh", "family/a.cpp", "family/other.cuh"}), before);
}

TEST(SourceHash, KnowsWhichSourceALiteralNames) {
  const std::vector<std::string> listed = {"family/a.cuh", "family/a.cpp", "family/other.cuh"};
  auto changed = family();
  changed["family/a.cpp"] =
      "Recipe r{\"family/other.cuh\"}, q{\"family/\" + name}, o{\"family/a.cuh\"};\n";
  EXPECT_NE(hash_of_family(changed, listed), hash_of_family(family(), listed));
  changed["family/a.cpp"] = "Recipe r{\"family/no_source.cuh\"};\n";
  const std::string before = hash_of_family(changed);
  changed["family/a.cpp"] = "Recipe r{\"family/no_other_source.cuh\"};\n";
  EXPECT_NE(hash_of_family(changed), before);
}

TEST(SourceHash, AsksForASourceTwiceAndFailsTwice) {
  SourceHashes hashes{SourceStore(family())};
  for (int time = 0; time < 2; ++time) {
    EXPECT_THROW(hashes.of(variant_of({"family/typo.cuh"})), InputError);
    EXPECT_THROW(hashes.of_source("family/typo.cuh"), InputError);
  }
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

/// A problem that every dtype and dimension of a variant's kernels is for.
Problem small_problem_of(const Variant& variant, std::int64_t dim) {
  Problem problem;
  problem.op = variant.op;
  problem.direction = variant.direction;
  problem.dtype = DType::bfloat16;
  problem.gate = default_gate(*find_operator(variant.op));
  problem.shape = {2, 64, 2, dim, dim};
  if (variant.op == "softmax") problem.shape = {}, problem.shape.columns = 64;
  if (variant.op == "gla_layer") problem.shape.model_dim = 64;
  return problem;
}

// What a recipe imports is compiled as well: a change there makes records stale.
TEST(SourceHash, CoversEveryUnitThatARecipeCompiles) {
  const SourceStore store;
  int looked_at = 0;
  for (const Variant& variant : variants()) {
    const auto* recipe_of = std::get_if<0>(&variant.code);
    if (recipe_of == nullptr) continue;
    std::set<std::string> covered;
    for (const Source& source : store.closure(variant.sources)) covered.emplace(source.path);
    for (const std::int64_t dim : {64, 128})
      for (const Tile& tile : all_tiles(variant.space)) {
        const Problem problem = small_problem_of(variant, dim);
        if (variant.reject(problem, tile, limits_of(90))) continue;
        const Recipe recipe = (*recipe_of)(problem, tile);
        std::vector<std::string> units;
        if (!recipe.source.empty()) units.push_back(recipe.source);
        for (const Module& module : recipe.imports) units.push_back(module.source);
        for (const std::string& unit : units)
          EXPECT_EQ(covered.count(unit), 1u)
              << variant.name << " of " << variant.op << " imports " << unit;
        ++looked_at;
        break;
      }
  }
  EXPECT_GT(looked_at, 50);
}

TEST(SourceStore, JoinsATextAndWhatItIncludesOnceEach) {
  const SourceStore store({{"a.cuh", "#pragma once\n#include \"b.cuh\"\n#include <x.h>\nint a;\n"},
                           {"b.cuh", "#pragma once\n#include <x.h>\nint b;"}});
  EXPECT_EQ(store.in_one("int first;\n#include \"a.cuh\"\n#include \"b.cuh\"\n"
                         "#include \"elsewhere.h\"\n"),
            "#include <x.h>\nint first;\n// ---- a.cuh\n// ---- b.cuh\nint b;\nint a;\n"
            "#include \"elsewhere.h\"\n");
}

}  // namespace
}  // namespace gla_bench
