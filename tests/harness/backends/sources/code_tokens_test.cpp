#include "harness/backends/sources/code_tokens.hpp"

#include <gtest/gtest.h>

#include "harness/backends/sources/source_hash.hpp"

namespace gla_bench {
namespace {

/// The tokens with a space behind each, and the ends of lines as line ends.
std::string code(std::string_view source) {
  std::string text;
  for (const Token& token : code_tokens(source)) {
    if (token.kind == Token::Kind::line_end)
      text += "\n";
    else if (token.kind == Token::Kind::literal)
      text += "\"" + token.text + "\" ";
    else
      text += token.text + " ";
  }
  return text;
}

void expect_same(std::string_view a, std::string_view b) {
  EXPECT_EQ(code(a), code(b)) << a << "\n-----\n" << b;
}

void expect_different(std::string_view a, std::string_view b) {
  EXPECT_NE(code(a), code(b)) << a << "\n-----\n" << b;
  EXPECT_NE(code_hash(code_tokens(a)), code_hash(code_tokens(b))) << a << "\n-----\n" << b;
}

TEST(CodeTokens, CommentsAndWhiteSpaceCountNothing) {
  expect_same("int a = b + 1;", "int  a=b\n\n+1 ; // the sum\n");
  expect_same("f(a, b);", "/* calls\n f */ f(a,/**/b);\r\n");
  expect_same("int a;", "// one line \\\nand its continuation\nint a;");
  expect_same("vector<vector<int> > v;", "vector<vector<int>> v;");
  expect_same("", "  // nothing\n/* at all");
}

TEST(CodeTokens, WhatChangesTheCodeCounts) {
  expect_different("int a;", "int b;");
  expect_different("int a = 1;", "int a = 2;");
  expect_different("a b", "ab");
  expect_different("a + +b", "a ++b");
  expect_different("a; b;", "b; a;");
  expect_different("1'000", "1'001");
  expect_different("return x / y;", "return x; // y;");
  expect_different("-x", "- -x");
  expect_different("a & b", "a && b");
  expect_different("kernel<<<1, 2>>>()", "kernel<<<2, 1>>>()");
}

TEST(CodeTokens, LiteralsKeepEveryCharacter) {
  expect_different("\"a b\"", "\"a  b\"");
  expect_different("\"// a\"", "\"// b\"");
  expect_different("\"/* a */\"", "\"/* b */\"");
  expect_different("'\"' /* a */", "'\"' b");
  expect_same("'\"' // \" a", "'\"' // b");
  expect_same("'\\'' // ' a", "'\\'' // b");
  expect_same("\"\\\"//\" // a", "\"\\\"//\"");
  expect_same("1'000'000 // it's a million", "1'000'000");
  expect_same("0x1'f // it's\n'a'", "0x1'f 'a'");
  expect_different("L\"a\"", "\"a\"");
  expect_different("u8'a'", "u8'b'");
}

TEST(CodeTokens, RawLiteralsAreTakenAsTheyAre) {
  expect_different("R\"(a // b)\"", "R\"(a // c)\"");
  expect_different("R\"(a\n b)\"", "R\"(a b)\"");
  expect_different("R\"(a\\\nb)\"", "R\"(ab)\"");
  expect_same("R\"x(a)\" )x\" // b", "R\"x(a)\" )x\"");
  expect_same("u8R\"(\")\" // b", "u8R\"(\")\"");
  expect_same("BAR\"a\" // b", "BAR \"a\"");
}

TEST(CodeTokens, PreprocessorLinesKeepTheirEnds) {
  expect_different("#define A b\nc", "#define A b c");
  expect_different("#define A(b) c", "#define A (b) c");
  expect_same("#define A(b) \\\n  c\n", " #  define A( b )   c");
  expect_same("#if A /* goes\n on */ && B\nc", "#if A && B\nc");
  expect_same("a;\n#if A\nb;\nc;\n#endif", "a;\n\n#if A\nb; c;\n#endif\n");
  expect_different("#if A\nb\n#endif", "#if A\n#endif\nb");
  expect_same("#error don't // do it\na", "#error don't\na");
  expect_different("#error don't\na", "#error don't\nb");
  expect_same("a = b # c", "a = b #c");
}

TEST(CodeTokens, QuotedIncludesAreLeftOut) {
  expect_same("#include \"a/b.cuh\"\n#include \"c.cuh\"  // why\nint a;", "int a;");
  expect_same("  #  include \"a.cuh\"\nint a;", "int a;");
  expect_same("int a;\n#include \"a.cuh\"\nint b;", "int a; int b;");
  expect_different("#include <a.h>\nint a;", "int a;");
  expect_different("#include <a.h>", "#include <b.h>");
  expect_different("#include <a//b.h>", "#include <a//c.h>");
  expect_different("#include A", "#include B");
  expect_same("// #include \"a.cuh\"\nint a;", "int a;");
}

TEST(CodeTokens, AnyBytesAreTaken) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"\""sv, "'"sv, "R\"("sv, "R\"abc"sv, "\\"sv, "\\\n"sv, "/*"sv, "/"sv, "#"sv, "#include"sv,
        "#include <"sv, "#include \""sv, "#define"sv, "\0\"\0"sv, "\xff\xfe"sv, "1e+"sv, "1'"sv,
        "L'"sv, "a\\\r\nb"sv})
    EXPECT_NO_THROW(code_tokens(text)) << text;
  EXPECT_EQ(code("a\\\nb \\\r\nc"), "ab c \n");
  EXPECT_EQ(code("1e+5 1+5"), "1e+5 1 + 5 \n");
}

}  // namespace
}  // namespace gla_bench
