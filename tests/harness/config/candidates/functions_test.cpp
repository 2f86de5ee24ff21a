// Functions as candidates, with a runtime that stands in for a language's.

#include "harness/config/candidates/functions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/backends/sources/prologue.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/config/candidates/candidates.hpp"
#include "harness/config/candidates/describe_function.hpp"
#include "tests/harness/config/candidates/example.hpp"

namespace gla_bench {
namespace {

/// What a runtime was asked for.
struct Asked {
  std::vector<FunctionCall> bound;
  std::vector<std::string> done;
};

class NotedFunction final : public BoundFunction {
 public:
  NotedFunction(Asked& asked, std::size_t number) : asked_(asked), number_(number) {}
  void call(void*) override { asked_.done.push_back("call " + std::to_string(number_)); }
  void finish(void*) override { asked_.done.push_back("finish " + std::to_string(number_)); }

 private:
  Asked& asked_;
  std::size_t number_;
};

class NotingRuntime final : public FunctionRuntime {
 public:
  NotingRuntime() { set_function_runtime(this); }
  ~NotingRuntime() override { set_function_runtime(nullptr); }
  NotingRuntime(const NotingRuntime&) = delete;
  NotingRuntime& operator=(const NotingRuntime&) = delete;

  std::string manifest_of(const std::string& function) override {
    return Json{{"variant", "described"},
                {"operator", "gla"},
                {"backend", "host"},
                {"dtypes", {{"float32", "float32"}}},
                {"function", function.substr(function.rfind('/') + 1)},
                {"framework", "numpy"},
                {"arguments", {"q", "k", "v", "g"}}}
        .dump();
  }
  void expect(const std::string&) override {}
  std::map<std::string, std::string> versions() override { return {{"python", "3"}}; }
  std::unique_ptr<BoundFunction> bind(const FunctionCall& call) override {
    asked.bound.push_back(call);
    return std::make_unique<NotedFunction>(asked, asked.bound.size());
  }

  Asked asked;
};

Json manifest(const std::string& backend, const std::string& framework) {
  return {{"variant", "mine"},
          {"operator", "gla"},
          {"backend", backend},
          {"layouts", {"seq_first", "head_first"}},
          {"dtypes", {{"bfloat16", "float32"}}},
          {"function", "mine.py:mine"},
          {"framework", framework},
          {"tile", Json::array({Json{{"name", "block"}, {"values", {8, 16}}}})},
          {"requires", Json::array({Json{{"condition", "seq > block"}, {"message", "too short"}}})},
          {"arguments", {"q", "k", "v", "g", "scale", "seq", "block", "initial_state"}}};
}

/// A function's manifest and file in a folder, and the catalog with it.
struct Files {
  explicit Files(const Json& json) {
    std::ofstream(folder.file("mine.json")) << json.dump();
    std::ofstream(folder.file("mine.py")) << "def mine(): pass  # one\n";
  }
  Catalog catalog() const { return with_manifest(program_catalog(), folder.file("mine.json")); }
  TemporaryFolder folder;
};

TEST(FunctionPlace, IsAFileAndAName) {
  EXPECT_EQ(function_place("a/b.py:f")->file, "a/b.py");
  EXPECT_EQ(function_place("a/b.py:f")->name, "f");
  for (const char* other : {"b.json", "b.py", "b.pyc:f", "b:f", ":"})
    EXPECT_FALSE(function_place(other)) << other;
}

TEST(Functions, AreBoundToTheProblemsTensors) {
  NotingRuntime runtime;
  const Files files(manifest("host", "torch"));
  const Catalog catalog = files.catalog();
  const Variant& variant = catalog.variants.back();
  EXPECT_EQ(variant.backend, BackendId::host);
  Problem problem = example::problem();
  problem.layout = Layout::head_first;
  const Tile tile{{"block", 16}};
  EXPECT_EQ(variant.reject(problem, tile, {}), std::nullopt);
  std::map<std::string, int> memory;
  const Address address = [&](std::string_view name) { return &memory[std::string(name)]; };
  const ParamBytes first = variant.bind(problem, tile, address);
  const ParamBytes second = variant.bind(problem, tile, address);
  ASSERT_EQ(runtime.asked.bound.size(), 2u);
  const FunctionCall& call = runtime.asked.bound.front();
  EXPECT_EQ(call.function, files.folder.file("mine.py:mine"));
  EXPECT_EQ(call.framework, "torch");
  EXPECT_EQ(call.numbers, (std::map<std::string, std::int64_t>{{"seq", 33}, {"block", 16}}));
  EXPECT_NEAR(call.scale, 1 / std::sqrt(40.0), 1e-12);
  EXPECT_EQ(call.returned, (std::vector<std::string>{"o", "final_state"}));
  std::vector<std::string> names;
  for (const FunctionTensor& tensor : call.tensors) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.data, &memory[tensor.name]);
    EXPECT_EQ(tensor.output, tensor.name == "o" || tensor.name == "final_state");
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), "initial_state"), 1);
  const FunctionTensor& q = call.tensors.front();
  EXPECT_EQ(q.name, "q");
  EXPECT_EQ(q.dtype, DType::bfloat16);
  EXPECT_EQ(q.extents, (std::vector<std::int64_t>{2, 33, 3, 40}));
  EXPECT_EQ(q.strides, (std::vector<std::int64_t>{3 * 33 * 40, 40, 33 * 40, 1}));

  const auto& run = std::get<std::function<void(const HostCall&)>>(variant.code);
  run({problem, tile, second});
  variant.after_call(second, nullptr);
  run({problem, tile, first});
  EXPECT_EQ(runtime.asked.done, (std::vector<std::string>{"call 2", "finish 2", "call 1"}));
  EXPECT_THROW(run({problem, tile, ParamBytes(8)}), RunError);
}

TEST(Functions, OnTheDeviceAreAStepOfARecipe) {
  NotingRuntime runtime;
  const Files files(manifest("cuda", "torch"));
  const Catalog catalog = files.catalog();
  const Variant& variant = catalog.variants.back();
  const Candidate candidate{&variant, example::problem(), {{"block", 8}}};
  EXPECT_TRUE(units_of(candidate).empty());
  const Recipe recipe = std::get<std::function<Recipe(const Problem&, const Tile&)>>(variant.code)(
      candidate.problem, candidate.tile);
  ASSERT_EQ(recipe.steps.size(), 1u);
  const ParamBytes params = variant.bind(candidate.problem, candidate.tile,
                                         [](std::string_view) -> void* { return nullptr; });
  std::get<StreamCall>(recipe.steps[0]).call(params, nullptr);
  EXPECT_EQ(runtime.asked.done, std::vector<std::string>{"call 1"});
}

TEST(Functions, RefuseWhatTheyDoNotTake) {
  const Files files(manifest("host", "numpy"));
  const Catalog catalog = files.catalog();
  const Variant& variant = catalog.variants.back();
  const auto refusal = [&](const Problem& problem) {
    return variant.reject(problem, {{"block", 16}}, {}).value_or("accepted");
  };
  Problem problem = example::problem();
  EXPECT_EQ(refusal(problem), "accepted");
  problem.shape.seq = 16;
  EXPECT_EQ(refusal(problem), "too short");
  problem = example::problem();
  problem.dtype = DType::float32;
  EXPECT_EQ(refusal(problem), "takes no float32");
  problem = example::problem();
  problem.shape.batch = 1;
  problem.shape.sequences = 2;
  EXPECT_EQ(refusal(problem), "does not read cu_seqlens");
}

TEST(Functions, CannotBeCalledWithoutARuntime) {
  const Files files(manifest("host", "numpy"));
  const Catalog catalog = files.catalog();
  const Address nowhere = [](std::string_view) -> void* { return nullptr; };
  EXPECT_THROW(catalog.variants.back().bind(example::problem(), {{"block", 8}}, nowhere), RunError);
}

TEST(Functions, ARuntimeDescribesThem) {
  NotingRuntime runtime;
  const Files files(manifest("host", "numpy"));
  const std::string place = files.folder.file("mine.py") + ":described";
  const Catalog catalog = with_manifest(program_catalog(), place);
  EXPECT_EQ(catalog.variants.back().name, "described");
  EXPECT_EQ(catalog.variants.back().manifest, place);
  EXPECT_EQ(manifest_files(catalog.variants.back()), std::vector{files.folder.file("mine.py")});
  EXPECT_TRUE(has_functions(catalog));
  EXPECT_FALSE(has_functions(program_catalog()));
  EXPECT_TRUE(has_functions(std::vector{place}));
  EXPECT_THROW(with_manifest(program_catalog(), files.folder.file("none.py:f")), InputError);
}

TEST(Functions, FactsAreThoseOfTheRuntime) {
  EXPECT_TRUE(python_facts().empty());
  NotingRuntime runtime;
  EXPECT_EQ(python_facts().at("python"), "3");
  EXPECT_EQ(python_facts().at("isolation"), "nothing");
}

// A # begins no comment of C++, and // no comment of Python.
TEST(Functions, EveryCharacterOfTheirFilesCounts) {
  const Files files(manifest("host", "numpy"));
  const auto hash = [&] { return source_hash(files.catalog().variants.back()); };
  const std::string before = hash();
  EXPECT_EQ(hash(), before);
  std::ofstream(files.folder.file("mine.py")) << "def mine(): pass  # two\n";
  const std::string edited = hash();
  EXPECT_NE(edited, before);
  std::ofstream(files.folder.file("mine.py")) << "def mine(): pass  # two // three\n";
  EXPECT_NE(hash(), edited);
}

}  // namespace
}  // namespace gla_bench
