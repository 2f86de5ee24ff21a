#include "harness/backends/sources/code_tokens.hpp"

#include <array>
#include <optional>

namespace gla_bench {
namespace {

// Sorted by length with the longest first, so that the first match is the token that a compiler
// reads. `>` is a token of its own, because `>>` may also close two lists of template arguments,
// which can be written `> >`.
constexpr std::array<std::string_view, 26> operators = {
    "<<<", "<<=", "<=>", "->*", "...", "::", "->", ".*", "++", "--", "<<", "<=", ">=",
    "==",  "!=",  "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool continues_name(char c) {
  return starts_name(c) || is_digit(c);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/// Reads characters as the compiler does: a backslash at the end of a line joins it with the next
/// line.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { join_lines(); }

  bool done() const { return at_ >= text_.size(); }
  /// The current character, or 0 after the end.
  char look() const { return done() ? '\0' : text_[at_]; }
  char look_behind() const {
    Cursor next = *this;
    next.step();
    return next.look();
  }
  void step() {
    if (done()) return;
    ++at_;
    join_lines();
  }
  char take() {
    const char c = look();
    step();
    return c;
  }
  bool take_if(std::string_view wanted) {
    Cursor next = *this;
    for (const char c : wanted)
      if (next.done() || next.take() != c) return false;
    *this = next;
    return true;
  }

  /// Takes a raw literal from its opening quote up to its end, if it has one. Lines are not joined
  /// in it.
  std::optional<std::string> take_raw_literal() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 17) return std::nullopt;
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t close = text_.find(end, open);
    if (close == std::string_view::npos) return std::nullopt;
    std::string literal(text_.substr(at_, close + end.size() - at_));
    at_ = close + end.size();
    join_lines();
    return literal;
  }

 private:
  void join_lines() {
    while (at_ < text_.size() && text_[at_] == '\\') {
      if (text_.substr(at_ + 1).starts_with("\n"))
        at_ += 2;
      else if (text_.substr(at_ + 1).starts_with("\r\n"))
        at_ += 3;
      else
        return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : cursor_(source) {}

  std::vector<Token> tokens() {
    while (!cursor_.done()) next();
    end_line();
    return std::move(tokens_);
  }

 private:
  void add(std::string text) { tokens_.push_back({Token::Kind::code, std::move(text)}); }

  void end_line() {
    if (!tokens_.empty() && tokens_.back().kind != Token::Kind::line_end)
      tokens_.push_back({Token::Kind::line_end, ""});
  }

  void next() {
    const char c = cursor_.look();
    if (c == '\n') {
      cursor_.step();
      if (in_directive_) end_line();
      in_directive_ = false;
      line_is_empty_ = true;
    } else if (is_blank(c)) {
      cursor_.step();
    } else if (!skip_comment()) {
      if (c == '#' && line_is_empty_)
        directive();
      else
        token();
      line_is_empty_ = false;
    }
  }

  bool skip_comment() {
    if (cursor_.take_if("//")) {
      while (!cursor_.done() && cursor_.look() != '\n') cursor_.step();
      return true;
    }
    if (!cursor_.take_if("/*")) return false;
    while (!cursor_.done() && !cursor_.take_if("*/")) cursor_.step();
    return true;
  }

  void skip_blanks() {
    while (is_blank(cursor_.look()) || skip_comment())
      if (is_blank(cursor_.look())) cursor_.step();
  }

  void skip_line() {
    while (!cursor_.done() && cursor_.look() != '\n')
      if (!skip_comment()) cursor_.step();
  }

  void directive() {
    cursor_.step();
    skip_blanks();
    const std::string word = name();
    if (word == "include") {
      skip_blanks();
      if (cursor_.look() == '"') return skip_line();
    }
    end_line();
    in_directive_ = true;
    add("#" + word);
    if (word == "include" && cursor_.look() == '<') return header();
    if (word == "define") {
      skip_blanks();
      // The parameters of a macro follow its name without a space.
      std::string macro = name();
      if (cursor_.look() == '(') macro += cursor_.take();
      add(std::move(macro));
    }
  }

  void header() {
    std::string text;
    while (!cursor_.done() && cursor_.look() != '\n' && !text.ends_with('>'))
      text += cursor_.take();
    add(std::move(text));
  }

  std::string name() {
    std::string text;
    while (continues_name(cursor_.look())) text += cursor_.take();
    return text;
  }

  void token() {
    const char c = cursor_.look();
    if (is_digit(c) || (c == '.' && is_digit(cursor_.look_behind()))) return number();
    if (starts_name(c)) return name_or_prefix();
    if (c == '"') {
      if (auto text = quoted('"'))
        return tokens_.push_back({Token::Kind::literal, std::move(*text)});
    } else if (c == '\'') {
      if (const auto text = quoted('\'')) return add("'" + *text + "'");
    }
    for (const std::string_view sign : operators)
      if (cursor_.take_if(sign)) return add(std::string(sign));
    add(std::string(1, cursor_.take()));
  }

  void number() {
    std::string text;
    while (true) {
      const char c = cursor_.look();
      const char last = text.empty() ? '\0' : text.back();
      const bool exponent = last == 'e' || last == 'E' || last == 'p' || last == 'P';
      const bool separator = c == '\'' && continues_name(cursor_.look_behind());
      if (!continues_name(c) && c != '.' && !separator && !(exponent && (c == '+' || c == '-')))
        return add(std::move(text));
      text += cursor_.take();
    }
  }

  void name_or_prefix() {
    std::string text = name();
    const char quote = cursor_.look();
    if (quote == '"' &&
        (text == "R" || text == "LR" || text == "uR" || text == "UR" || text == "u8R")) {
      if (const auto literal = cursor_.take_raw_literal()) text += *literal;
    } else if ((quote == '"' || quote == '\'') &&
               (text == "L" || text == "u" || text == "U" || text == "u8")) {
      if (const auto literal = quoted(quote)) text += quote + *literal + quote;
    }
    add(std::move(text));
  }

  /// Returns the text between quotes on one line. If the quotes do not close, it returns nothing
  /// and reads nothing.
  std::optional<std::string> quoted(char quote) {
    Cursor ahead = cursor_;
    ahead.step();
    std::string text;
    while (!ahead.done() && ahead.look() != '\n') {
      const char c = ahead.take();
      if (c == quote) {
        cursor_ = ahead;
        return text;
      }
      text += c;
      if (c == '\\' && ahead.look() != '\n' && !ahead.done()) text += ahead.take();
    }
    return std::nullopt;
  }

  Cursor cursor_;
  std::vector<Token> tokens_;
  bool line_is_empty_ = true;
  bool in_directive_ = false;
};

}  // namespace

std::vector<Token> code_tokens(std::string_view source) {
  return Lexer(source).tokens();
}

}  // namespace gla_bench
