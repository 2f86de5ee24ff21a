#include <algorithm>
#include <array>
#include <cctype>

#include "harness/config/space/expression.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

using Kind = Expression::Kind;

constexpr std::size_t longest_text = 2000;
constexpr int deepest = 64;  // reading, evaluating and destroying go down the stack

struct Token {
  enum class Kind { number, word, sign, end } kind = Kind::end;
  std::string text;
  std::size_t column = 0;  // from 1
};

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

[[noreturn]] void fail(const Token& token, const std::string& expected) {
  throw ExpressionError(
      "column " + std::to_string(token.column) + ": found " +
      (token.kind == Token::Kind::end ? "its end" : "\"" + printable_ascii(token.text, 40) + "\"") +
      ", expected " + expected);
}

std::string sign_at(std::string_view text) {
  constexpr std::array<std::string_view, 8> pairs{"**", "//", "==", "!=", "<=", ">=", "&&", "||"};
  for (const std::string_view pair : pairs)
    if (text.starts_with(pair)) return std::string(pair);
  return std::string(text.substr(0, 1));
}

std::vector<Token> tokens_of(std::string_view text) {
  if (text.size() > longest_text)
    throw ExpressionError("an expression of at most " + std::to_string(longest_text) +
                          " characters");
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
      continue;
    }
    Token token{Token::Kind::sign, "", at + 1};
    std::size_t end = at;
    if (is_digit(text[at]) || starts_word(text[at])) {
      token.kind = is_digit(text[at]) ? Token::Kind::number : Token::Kind::word;
      while (end < text.size() && (is_digit(text[end]) || starts_word(text[end]))) ++end;
      token.text = std::string(text.substr(at, end - at));
    } else {
      token.text = sign_at(text.substr(at));
    }
    at += token.text.size();
    tokens.push_back(std::move(token));
  }
  tokens.push_back({Token::Kind::end, "", text.size() + 1});
  return tokens;
}

/// By recursive descent, a function for each level of precedence.
class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)) {}

  Expression all() {
    Expression whole = either();
    if (next().kind != Token::Kind::end) fail(next(), "an operator, or the end");
    return whole;
  }

 private:
  const Token& next() const { return tokens_[at_]; }
  bool is(std::string_view text) const {
    return next().kind != Token::Kind::number && next().text == text;
  }
  bool take(std::string_view text) {
    if (next().kind == Token::Kind::end || !is(text)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) fail(next(), "\"" + std::string(text) + "\"");
  }

  static Expression make(Kind kind, std::string name, std::vector<Expression> parts) {
    return {kind, 0, std::move(name), {}, std::move(parts)};
  }

  Expression either() {
    Expression left = both();
    while (take("or") || take("||")) left = make(Kind::binary, "or", {std::move(left), both()});
    return left;
  }

  Expression both() {
    Expression left = negated();
    while (take("and") || take("&&"))
      left = make(Kind::binary, "and", {std::move(left), negated()});
    return left;
  }

  Expression negated() {
    const Level level(*this);
    if (take("not") || take("!")) return make(Kind::unary, "not", {negated()});
    return comparison();
  }

  /// The comparison that stands here, or "".
  std::string comparison_sign() {
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">", "in"})
      if (take(sign)) return std::string(sign);
    if (is("not") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == "in") {
      at_ += 2;
      return "not in";
    }
    return "";
  }

  Expression comparison() {
    Expression first = sum();
    Expression whole = make(Kind::comparison, "", {std::move(first)});
    for (std::string sign = comparison_sign(); !sign.empty(); sign = comparison_sign()) {
      whole.chain.push_back(std::move(sign));
      whole.parts.push_back(sum());
    }
    if (whole.chain.empty()) return std::move(whole.parts.front());
    return whole;
  }

  Expression sum() {
    Expression left = product();
    while (is("+") || is("-")) {
      const std::string sign = tokens_[at_++].text;
      left = make(Kind::binary, sign, {std::move(left), product()});
    }
    return left;
  }

  Expression product() {
    Expression left = signed_value();
    while (is("*") || is("//") || is("%") || is("/")) {
      if (is("/")) fail(next(), "\"//\": tuners do not agree on what \"/\" is");
      const std::string sign = tokens_[at_++].text;
      left = make(Kind::binary, sign, {std::move(left), signed_value()});
    }
    return left;
  }

  Expression signed_value() {
    const Level level(*this);
    if (take("-")) return make(Kind::unary, "-", {signed_value()});
    if (take("+")) return signed_value();
    Expression base = atom();
    if (take("**")) return make(Kind::binary, "**", {std::move(base), signed_value()});
    return base;
  }

  Expression atom() {
    const Level level(*this);
    if (next().kind == Token::Kind::number) return number();
    if (take("(")) {
      Expression inner = either();
      expect(")");
      return inner;
    }
    if (take("[")) return list();
    if (next().kind != Token::Kind::word) fail(next(), "a number, a name, \"(\" or \"[\"");
    const Token word = tokens_[at_];
    if (reserved(word.text)) fail(word, "a number or a name");
    ++at_;
    if (word.text == "True" || word.text == "true") return {Kind::number, 1, "", {}, {}};
    if (word.text == "False" || word.text == "false") return {Kind::number, 0, "", {}, {}};
    if (take("(")) return call(word);
    return make(Kind::name, word.text, {});
  }

  static bool reserved(std::string_view word) {
    constexpr std::array<std::string_view, 6> words{"and", "or", "not", "in", "for", "if"};
    return std::find(words.begin(), words.end(), word) != words.end();
  }

  Expression number() {
    const Token& token = tokens_[at_++];
    std::int64_t value = 0;
    for (const char c : token.text) {
      if (!is_digit(c)) fail(token, "a whole number");
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, c - '0', &value))
        fail(token, "a smaller number");
    }
    if (is(".")) fail(next(), "a whole number");
    return {Kind::number, value, "", {}, {}};
  }

  Expression call(const Token& function) {
    constexpr std::array<std::string_view, 6> known{"range", "list", "min",
                                                    "max",   "abs",  "ceil_div"};
    if (std::find(known.begin(), known.end(), function.text) == known.end())
      fail(function, "a name, or one of the functions range, list, min, max, abs, ceil_div");
    Expression whole = make(Kind::call, function.text, {});
    if (take(")")) fail(function, "an argument of " + function.text);
    do whole.parts.push_back(either());
    while (take(","));
    expect(")");
    return whole;
  }

  /// Behind "[": elements, or element for NAME in LIST [if CONDITION].
  Expression list() {
    Expression whole = make(Kind::list, "", {});
    if (take("]")) return whole;
    whole.parts.push_back(either());
    if (take("for")) {
      whole.kind = Kind::comprehension;
      if (next().kind != Token::Kind::word || reserved(next().text)) fail(next(), "a name");
      whole.name = tokens_[at_++].text;
      expect("in");
      whole.parts.push_back(either());
      if (take("if")) whole.parts.push_back(either());
    } else {
      while (take(",") && !is("]")) whole.parts.push_back(either());
    }
    expect("]");
    return whole;
  }

  /// A level of nesting, for as long as it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > 3 * deepest)
        fail(parser_.next(), "at most " + std::to_string(deepest) + " levels");
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Expression parse_expression(std::string_view text) {
  return Parser(text).all();
}

}  // namespace gla_bench
