#pragma once
// The code of a C++ or CUDA source as a list of tokens. Comments, white space and line breaks do
// not affect the list. scripts/source_hashes.py follows the same rules.

#include <string>
#include <string_view>
#include <vector>

namespace gla_bench {

struct Token {
  enum class Kind {
    code,      ///< name, number, operator, character literal, <header>
    literal,   ///< a plain "..." literal: `text` is the content of the quotes
    line_end,  ///< the end of a preprocessor line, or of the text before one
  };
  Kind kind = Kind::code;
  std::string text;
  bool operator==(const Token&) const = default;
};

/// The tokens of a source, in order. Comments and continued lines leave no trace. A preprocessor
/// line keeps its end, and `#define F(x)` differs from `#define F (x)`. A line that includes a
/// quoted header is left out, because that header's own text counts, wherever it is. Literals with
/// a prefix (L"", R"()") are code, with every character unchanged. Accepts any bytes: a quote that
/// is never closed is a token of its own.
std::vector<Token> code_tokens(std::string_view source);

}  // namespace gla_bench
