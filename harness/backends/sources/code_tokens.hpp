#pragma once
// The code of a C++ or CUDA source as a list of tokens: what stays when comments are removed, white
// space is folded and lines are broken elsewhere. scripts/source_hashes.py has the same rules.

#include <string>
#include <string_view>
#include <vector>

namespace gla_bench {

struct Token {
  enum class Kind {
    code,      ///< name, number, operator, character literal, header in angle brackets
    literal,   ///< a plain "..." literal: `text` is what stands between the quotes
    line_end,  ///< the end of a preprocessor line, or of what stands before one
  };
  Kind kind = Kind::code;
  std::string text;
  bool operator==(const Token&) const = default;
};

/// The tokens of a source, in order. Comments and continued lines leave no trace. A preprocessor
/// line keeps its end, and `#define F(x)` differs from `#define F (x)`. A line that includes a
/// quoted header is left out: that header's text counts itself, wherever it lies. Literals with a
/// prefix (L"", R"()") are code, with every character as it is. Takes any bytes: a quote that
/// nothing closes stands for itself.
std::vector<Token> code_tokens(std::string_view source);

}  // namespace gla_bench
