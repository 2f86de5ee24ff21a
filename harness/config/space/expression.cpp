#include "harness/config/space/expression.hpp"

#include <algorithm>

namespace gla_bench {
namespace {

using Kind = Expression::Kind;
using Number = std::int64_t;
using List = std::vector<Number>;

constexpr int most_steps = 1000000;

[[noreturn]] void beyond() {
  throw ExpressionError("numbers within 64 bits");
}

Number floor_divide(Number a, Number b) {
  if (b == 0) throw ExpressionError("no division by 0");
  if (b == -1) {
    Number negated = 0;
    if (__builtin_sub_overflow(Number{0}, a, &negated)) beyond();
    return negated;
  }
  const Number quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// As Python's: the remainder has the sign of the divisor.
Number modulo(Number a, Number b) {
  if (b == 0) throw ExpressionError("no division by 0");
  if (b == -1) return 0;
  const Number rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Number power(Number base, Number exponent) {
  if (exponent < 0) throw ExpressionError("an exponent that is not negative");
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  Number result = 1;
  for (Number i = 0; i < exponent; ++i)
    if (__builtin_mul_overflow(result, base, &result)) beyond();  // after 63 rounds at most
  return result;
}

Number arithmetic(const std::string& sign, Number a, Number b) {
  Number result = 0;
  if (sign == "+" && !__builtin_add_overflow(a, b, &result)) return result;
  if (sign == "-" && !__builtin_sub_overflow(a, b, &result)) return result;
  if (sign == "*" && !__builtin_mul_overflow(a, b, &result)) return result;
  if (sign == "//") return floor_divide(a, b);
  if (sign == "%") return modulo(a, b);
  if (sign == "**") return power(a, b);
  beyond();
}

bool compare(const std::string& sign, Number a, Number b) {
  if (sign == "==") return a == b;
  if (sign == "!=") return a != b;
  if (sign == "<=") return a <= b;
  if (sign == ">=") return a >= b;
  return sign == "<" ? a < b : a > b;
}

class Evaluation {
 public:
  explicit Evaluation(const NameValues& names) : names_(names) {}

  ExpressionValue value(const Expression& expression) {
    step(1);
    switch (expression.kind) {
      case Kind::number:
        return expression.number;
      case Kind::name:
        return named(expression.name);
      case Kind::list:
        return elements(expression);
      case Kind::comprehension:
        return comprehension(expression);
      case Kind::call:
        return call(expression);
      case Kind::unary:
        return unary(expression);
      case Kind::binary:
        return binary(expression);
      case Kind::comparison:
        break;
    }
    return Number{comparison(expression) ? 1 : 0};
  }

 private:
  void step(std::size_t count) {
    steps_ += count;
    if (steps_ > most_steps)
      throw ExpressionError("at most " + std::to_string(most_steps) + " steps");
  }

  Number number(const Expression& expression) {
    const ExpressionValue result = value(expression);
    if (const Number* single = std::get_if<Number>(&result)) return *single;
    throw ExpressionError("a number in place of a list");
  }

  List list(const Expression& expression) {
    ExpressionValue result = value(expression);
    if (List* several = std::get_if<List>(&result)) return std::move(*several);
    throw ExpressionError("a list in place of a number");
  }

  Number named(const std::string& name) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local)
      if (local->first == name) return local->second;
    if (const auto outer = names_(name)) return *outer;
    throw ExpressionError("names that have a value, and \"" + name + "\" has none");
  }

  List elements(const Expression& expression) {
    List result;
    for (const Expression& part : expression.parts) result.push_back(number(part));
    return result;
  }

  List comprehension(const Expression& expression) {
    List result;
    for (const Number item : list(expression.parts[1])) {
      locals_.emplace_back(expression.name, item);
      if (expression.parts.size() < 3 || number(expression.parts[2]) != 0)
        result.push_back(number(expression.parts[0]));
      locals_.pop_back();
    }
    return result;
  }

  List range(const Expression& call) {
    if (call.parts.size() > 3) throw ExpressionError("at most 3 arguments of range");
    List bounds;
    for (const Expression& part : call.parts) bounds.push_back(number(part));
    const Number first = bounds.size() > 1 ? bounds[0] : 0;
    const Number last = bounds.size() > 1 ? bounds[1] : bounds[0];
    const Number stride = bounds.size() > 2 ? bounds[2] : 1;
    if (stride == 0) throw ExpressionError("a step of range other than 0");
    List result;
    for (Number at = first; stride > 0 ? at < last : at > last;) {
      step(1);
      result.push_back(at);
      if (__builtin_add_overflow(at, stride, &at)) break;
    }
    return result;
  }

  ExpressionValue call(const Expression& expression) {
    if (expression.name == "range") return range(expression);
    if (expression.name == "list") {
      if (expression.parts.size() != 1) throw ExpressionError("one argument of list");
      return list(expression.parts[0]);
    }
    if (expression.name == "abs") {
      if (expression.parts.size() != 1) throw ExpressionError("one argument of abs");
      const Number only = number(expression.parts[0]);
      return only < 0 ? arithmetic("-", 0, only) : only;
    }
    if (expression.name == "ceil_div") {
      if (expression.parts.size() != 2) throw ExpressionError("two arguments of ceil_div");
      const Number a = number(expression.parts[0]), b = number(expression.parts[1]);
      return arithmetic("+", floor_divide(a, b), modulo(a, b) != 0 ? 1 : 0);
    }
    List arguments =
        expression.parts.size() == 1 ? list(expression.parts[0]) : elements(expression);
    if (arguments.empty())
      throw ExpressionError(expression.name + " of something other than an empty list");
    step(arguments.size());
    return expression.name == "min" ? *std::min_element(arguments.begin(), arguments.end())
                                    : *std::max_element(arguments.begin(), arguments.end());
  }

  Number unary(const Expression& expression) {
    const Number operand = number(expression.parts[0]);
    return expression.name == "not" ? Number{operand == 0 ? 1 : 0} : arithmetic("-", 0, operand);
  }

  ExpressionValue binary(const Expression& expression) {
    const Expression &left = expression.parts[0], &right = expression.parts[1];
    // The right side may only be defined where the left one lets it count.
    if (expression.name == "and") return Number{number(left) != 0 && number(right) != 0 ? 1 : 0};
    if (expression.name == "or") return Number{number(left) != 0 || number(right) != 0 ? 1 : 0};
    ExpressionValue first = value(left), second = value(right);
    List* head = std::get_if<List>(&first);
    const List* tail = std::get_if<List>(&second);
    if (expression.name == "+" && head != nullptr && tail != nullptr) {
      step(tail->size());
      head->insert(head->end(), tail->begin(), tail->end());
      return first;
    }
    if (head != nullptr || tail != nullptr)
      throw ExpressionError("numbers on both sides of " + expression.name);
    return arithmetic(expression.name, std::get<Number>(first), std::get<Number>(second));
  }

  bool comparison(const Expression& expression) {
    for (std::size_t i = 0; i < expression.chain.size(); ++i) {
      const std::string& sign = expression.chain[i];
      const Number left = number(expression.parts[i]);
      if (sign == "in" || sign == "not in") {
        const List among = list(expression.parts[i + 1]);
        step(among.size());
        const bool found = std::find(among.begin(), among.end(), left) != among.end();
        if (found != (sign == "in")) return false;
      } else if (!compare(sign, left, number(expression.parts[i + 1]))) {
        return false;
      }
    }
    return true;
  }

  const NameValues& names_;
  std::vector<std::pair<std::string, Number>> locals_;
  std::size_t steps_ = 0;
};

void collect(const Expression& expression, std::vector<std::string>& locals,
             std::set<std::string>& names) {
  if (expression.kind == Kind::name &&
      std::find(locals.begin(), locals.end(), expression.name) == locals.end())
    names.insert(expression.name);
  if (expression.kind == Kind::comprehension) {
    collect(expression.parts[1], locals, names);
    locals.push_back(expression.name);
    collect(expression.parts[0], locals, names);
    if (expression.parts.size() > 2) collect(expression.parts[2], locals, names);
    locals.pop_back();
    return;
  }
  for (const Expression& part : expression.parts) collect(part, locals, names);
}

}  // namespace

ExpressionValue evaluate(const Expression& expression, const NameValues& names) {
  return Evaluation(names).value(expression);
}

std::set<std::string> names_in(const Expression& expression) {
  std::vector<std::string> locals;
  std::set<std::string> names;
  collect(expression, locals, names);
  return names;
}

}  // namespace gla_bench
