#include "harness/config/candidates/candidates.hpp"

#include "harness/backends/sources/source_hash.hpp"
#include "harness/config/config.hpp"
#include "tests/harness/config/candidates/example.hpp"

namespace gla_bench {
namespace {

std::string complaint_of_files(const example::Files& files) {
  try {
    files.catalog();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no complaint";
}

std::string hash_of_files(const example::Files& files) {
  const Catalog catalog = files.catalog();
  return source_hash(example::Files::variant(catalog));
}

TEST(Candidates, TheVariantIsOneMore) {
  const example::Files files;
  const Catalog catalog = files.catalog();
  EXPECT_EQ(catalog.variants.size(), program_catalog().variants.size() + 1);
  const Variant* variant =
      catalog.find_variant("gla", "naive_gla", BackendId::cuda, Direction::forward);
  ASSERT_NE(variant, nullptr);
  EXPECT_EQ(variant->manifest, files.path());
  EXPECT_EQ(manifests_of(catalog), std::vector<std::string>{files.path()});
  EXPECT_EQ(manifest_files(*variant).size(), 2u);
  EXPECT_EQ(manifests_of(program_catalog()), std::vector<std::string>{});
}

TEST(Candidates, AManifestIsReadOnceUnderAnyName) {
  const example::Files files;
  const std::string other = (files.folder().path() / "." / "naive_gla.json").string();
  EXPECT_EQ(with_manifest(files.catalog(), other).variants.size(), files.catalog().variants.size());
}

TEST(Candidates, ANameThatIsThereIsRefused) {
  EXPECT_NE(complaint_of_files(example::Files(example::changed("/variant", "recurrent")))
                .find("/variant: found \"recurrent\", expected a name that no variant of gla "
                      "forward has on the backend cuda"),
            std::string::npos);
  const example::Files one, two;
  EXPECT_THROW(with_manifest(one.catalog(), two.path()), InputError);
}

TEST(Candidates, SourcesAreReadAndLimitedToWhatIsNamed) {
  EXPECT_NE(complaint_of_files(example::Files(example::changed("/source", "none.cu")))
                .find("naive_gla.json: /source: "),
            std::string::npos);
  const std::string including = "#include \"rows.cuh\"\n" + example::source();
  const example::Files without(example::manifest(), including);
  without.write("rows.cuh", "int rows;\n");
  EXPECT_NE(complaint_of_files(without).find("it includes \"rows.cuh\""), std::string::npos)
      << complaint_of_files(without);
  const example::Files with(example::changed("/headers", {"rows.cuh"}), including);
  EXPECT_NE(complaint_of_files(with).find("/headers/0: "), std::string::npos);
  with.write("rows.cuh", "int rows;\n");
  EXPECT_EQ(complaint_of_files(with), "no complaint");
  EXPECT_NE(complaint_of_files(example::Files(example::changed("/source", "naive_gla.json")))
                .find("expected a file that is not named before"),
            std::string::npos);
}

TEST(Candidates, TheHashFollowsCodeManifestAndHeaders) {
  const std::string hash = hash_of_files(example::Files());
  EXPECT_EQ(hash.size(), 16u);
  const auto edited = [](std::string text, const std::string& old, const std::string& now) {
    return text.replace(text.find(old), old.size(), now);
  };
  const std::string source = example::source();
  EXPECT_EQ(hash_of_files(example::Files(example::manifest(), "// a comment\n" + source)), hash);
  EXPECT_NE(
      hash_of_files(example::Files(example::manifest(), edited(source, "scale * sum", "sum"))),
      hash);
  EXPECT_NE(hash_of_files(example::Files(example::changed("/launches/0/grid/1", "heads * 1"))),
            hash);
  const Json headed = example::changed("/headers", {"rows.cuh"});
  const example::Files first(headed), second(headed);
  first.write("rows.cuh", "int rows;\n");
  second.write("rows.cuh", "int lines;\n");
  EXPECT_NE(hash_of_files(first), hash_of_files(second));
}

TEST(Candidates, AConfigNamesThemFromItsFolder) {
  const example::Files files;
  files.write("c.json", R"({"candidates": ["naive_gla.json"], "sweeps": [{"operator": "gla",
      "variants": ["naive_gla"], "dtypes": ["float32"], "shapes": [[1, 2, 1, 4, 4]]}]})");
  const Config config = load_config(files.folder().file("c.json"), program_catalog());
  EXPECT_EQ(config.candidates, std::vector<std::string>{files.path()});
  EXPECT_EQ(config.sweeps.at(0).variants, std::vector<std::string>{"naive_gla"});
  EXPECT_EQ(files_of(config).size(), 3u);
  // A results file's config needs no folder, and reads its candidates again.
  const Json echo = config_to_json(config);
  const Config again = read_config(JsonNode(echo, "echo"), program_catalog(), "");
  EXPECT_EQ(config_to_json(again), echo);
  EXPECT_NE(again.catalog.find_variant("gla", "naive_gla", BackendId::cuda, Direction::forward),
            nullptr);
}

TEST(Candidates, AConfigEchoesThoseOfTheCommandLine) {
  const example::Files files;
  const Json document = parse_json(R"({"sweeps": [{"operator": "gla", "variants": "all",
      "dtypes": ["float32"], "shapes": [[1, 2, 1, 4, 4]]}]})",
                                   "c.json");
  const Config config = read_config(JsonNode(document, "c.json"), files.catalog(), "");
  EXPECT_EQ(config_to_json(config)["candidates"], Json::array({files.path()}));
  EXPECT_FALSE(config_to_json(read_config(JsonNode(document, "c.json"), program_catalog(), ""))
                   .contains("candidates"));
}

TEST(Candidates, AConfigWithoutThemSaysWhere) {
  const Json document = parse_json(R"({"candidates": [""], "sweeps": []})", "c.json");
  try {
    read_config(JsonNode(document, "c.json"), program_catalog(), "");
    FAIL() << "read";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find("c.json: /candidates/0: found \"\""), 0u)
        << error.what();
  }
}

}  // namespace
}  // namespace gla_bench
