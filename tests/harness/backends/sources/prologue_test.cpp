#include "harness/backends/sources/prologue.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace gla_bench {
namespace {

TEST(Prologue, IsTheTypeTheConstantsAndTheFile) {
  EXPECT_EQ(prologue(DType::bfloat16, "linear_recurrence/x.cuh",
                     {{"tile", "warps", 4}, {"dim", "key_dim", 64}, {"tile", "chunk", 32}}),
            "#include <cuda_bf16.h>\n"
            "#include <cuda_fp16.h>\n"
            "using io_t = __nv_bfloat16;\n"
            "namespace dim {\n"
            "[[maybe_unused]] constexpr int key_dim = 64;\n"
            "}  // namespace dim\n"
            "namespace tile {\n"
            "[[maybe_unused]] constexpr int warps = 4;\n"
            "[[maybe_unused]] constexpr int chunk = 32;\n"
            "}  // namespace tile\n"
            "#include \"linear_recurrence/x.cuh\"\n");
}

TEST(Prologue, NamesEachType) {
  EXPECT_NE(prologue(DType::float32, "x.cuh", {}).find("using io_t = float;"), std::string::npos);
  EXPECT_NE(prologue(DType::float16, "x.cuh", {}).find("using io_t = __half;"), std::string::npos);
}

TEST(Prologue, AnImportIsAUnitWithItsConstantsAlone) {
  Recipe recipe{"x.cuh", {{"tile", "chunk", 32}}, {}};
  recipe.imports.push_back({"y.cuh", {{"tile", "warps", 4}}, {}});
  const std::vector<Unit> units = units_of(DType::float32, recipe);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0].source, "x.cuh");
  EXPECT_EQ(units[0].text, prologue(DType::float32, "x.cuh", recipe.constants));
  EXPECT_EQ(units[1].source, "y.cuh");
  EXPECT_EQ(units[1].text, prologue(DType::float32, "y.cuh", {{"tile", "warps", 4}}));
}

TEST(Prologue, AConstantWithoutAScopeIsAMacro) {
  const std::string text = prologue(DType::float32, "x.cu", {{"", "KEY_DIM", -64}});
  EXPECT_NE(text.find("\n#define KEY_DIM (-64)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("namespace"), std::string::npos) << text;
}

TEST(Prologue, OtherTextsOfTheSamePathAreAnotherUnit) {
  const auto unit = [](const std::string& text) {
    Recipe recipe{"x.cu", {}, {}};
    recipe.texts = std::make_shared<const std::map<std::string, std::string>>(
        std::map<std::string, std::string>{{"x.cu", text}});
    return units_of(DType::float32, recipe).at(0);
  };
  EXPECT_EQ(unit("int a;").text, unit("int a;").text);
  EXPECT_NE(unit("int a;").text, unit("int b;").text);
  EXPECT_EQ(unit("int a;").texts->at("x.cu"), "int a;");
}

TEST(Prologue, SequenceLengthIsNotBakedIn) {
  Variant variant;
  variant.backend = BackendId::cuda;
  variant.code = [](const Problem& problem, const Tile& tile) {
    return Recipe{"x.cuh",
                  {{"dim", "key_dim", static_cast<int>(problem.shape.key_dim)},
                   {"tile", "chunk", tile.at("chunk")}},
                  {}};
  };
  Problem problem;
  const std::string text = full_source({&variant, problem, {{"chunk", 64}}});
  problem.shape.seq = 4096;
  EXPECT_EQ(full_source({&variant, problem, {{"chunk", 64}}}), text);
  EXPECT_NE(full_source({&variant, problem, {{"chunk", 32}}}), text);
}

TEST(Prologue, AHostCandidateHasNone) {
  Variant variant;
  variant.code = [](const HostCall&) {};
  EXPECT_THROW(full_source({&variant, Problem{}, {}}), InputError);
}

}  // namespace
}  // namespace gla_bench
