#include "harness/backends/emulated/source.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace gla_bench::emulated {
namespace {

TEST(EmulatedSource, SharedMemoryOfTheLaunchIsAPointer) {
  EXPECT_EQ(as_cpp("extern __shared__ __align__(128) unsigned char shared[];\nint x;"),
            "unsigned char* const shared = reinterpret_cast<unsigned char*>("
            "gla_bench_emulated.shared);\nint x;");
}

TEST(EmulatedSource, SharedVariablesAreInTheBlocksMemory) {
  EXPECT_EQ(as_cpp("__shared__ __align__(16) io_t rows[m][a.b + each];\n__shared__ A::B c;"),
            "auto& rows = ::gla_bench::emulated::shared_variable<io_t[m][a.b + each]>([] {});\n"
            "auto& c = ::gla_bench::emulated::shared_variable<A::B>([] {});");
}

TEST(EmulatedSource, AKernelsClusterIsDeclaredBeforeIt) {
  EXPECT_EQ(as_cpp("int x;\nextern \"C\" __global__ void __cluster_dims__(f(a, b), 1, 1)\n"
                   "__launch_bounds__(g(1), 2) name(int y) {}"),
            "int x;\nextern \"C\" __global__ const unsigned gla_bench_cluster_of_name = (f(a, b)); "
            "extern \"C\" __global__ void __cluster_dims__(f(a, b), 1, 1)\n"
            "__launch_bounds__(g(1), 2) name(int y) {}");
}

TEST(EmulatedSource, AnAsmStatementRunsOnItsOperands) {
  const std::string text = as_cpp(
      R"(if (a) asm volatile("mma %0, %1;" : "+f"(c[f(0, 1)]) : "r"(x::y) : "memory"); else b();)");
  EXPECT_NE(text.find("Statement statement_{\"mma %0, %1;\" }"), std::string::npos) << text;
  EXPECT_NE(text.find("::gla_bench::emulated::variable(c[f(0, 1)]) , "
                      "::gla_bench::emulated::value(x::y)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("while (false); else b();"), std::string::npos) << text;
  EXPECT_EQ(text.find("memory"), std::string::npos) << text;
}

TEST(EmulatedSource, WithoutOutputsTheOperandsAreInputs) {
  const std::string text = as_cpp(R"(asm("cp.async.wait_group %0;" ::"n"(pending) : "memory");)");
  EXPECT_NE(text.find("value(pending)"), std::string::npos) << text;
  EXPECT_EQ(text.find("variable("), std::string::npos) << text;
}

TEST(EmulatedSource, WordsInCommentsAndNamesStay) {
  const std::string text =
      "// asm (\"x\")\nint asm_count = plasma(1); /* asm(\"y\") */ f(\"asm(\");";
  EXPECT_EQ(as_cpp(text), text);
}

TEST(EmulatedSource, AStatementWithoutEndIsRefused) {
  EXPECT_THROW(as_cpp("asm(\"x\" : "), BuildError);
}

}  // namespace
}  // namespace gla_bench::emulated
