// Records out of JSON.

#include "core/operator.hpp"
#include "harness/records/extended.hpp"
#include "harness/records/journal.hpp"
#include "harness/records/problem_fields.hpp"
#include "harness/records/record_json.hpp"
#include "harness/records/shards/shard.hpp"
#include "harness/support/fields/read.hpp"

namespace gla_bench {
namespace {

/// What a computation in the problem's own dtype declares.
Arithmetic plain_arithmetic(DType dtype) {
  return dtype == DType::bfloat16  ? Arithmetic::bfloat16
         : dtype == DType::float16 ? Arithmetic::float16
                                   : Arithmetic::float32;
}

/// A peer's verification need not say its arithmetic: it is that of the problem's dtype.
void complete(std::optional<Verification>& verification, const JsonNode& owner, DType dtype) {
  if (!verification) return;
  const auto arithmetic = owner.at("verification").find("arithmetic");
  if (!arithmetic || arithmetic->is_null()) verification->arithmetic = plain_arithmetic(dtype);
}

/// Whoever asks an operator about the problem may rely on its values. An option that the operator
/// does not have, as in records of other versions, says nothing to it.
void check_options(const Problem& problem, const JsonNode& node) {
  const Operator* op = find_operator(problem.op);
  if (op == nullptr) return;
  for (const OptionAxis& axis : op->options) {
    const auto chosen = problem.options.find(axis.name);
    if (chosen != problem.options.end() && !option_value(axis, chosen->second))
      node.at("options").at(axis.name).one_of(axis.values, "a value of " + axis.name);
  }
}

}  // namespace

Problem read_problem(const JsonNode& node) {
  auto problem = read_members<Problem>(node, Nulls::missing);
  check_options(problem, node);
  return problem;
}

Started read_started(const JsonNode& node) {
  return read_fields<Started>(node, Nulls::missing);
}

Selection read_selection(const JsonNode& node) {
  return read_fields<Selection>(node, Nulls::missing);
}

std::vector<Extension> read_extensions(const JsonNode& node) {
  return read_field<std::vector<Extension>>(node, {}, Nulls::missing);
}

AskedPoint read_asked_point(const JsonNode& node) {
  return read_fields<AskedPoint>(node, Nulls::missing);
}

std::vector<AskedPoint> read_asked(const JsonNode& node) {
  return read_field<std::vector<AskedPoint>>(node, {}, Nulls::missing);
}

std::vector<MergedPart> read_parts(const JsonNode& node) {
  return read_field<std::vector<MergedPart>>(node, {}, Nulls::missing);
}

Facts read_facts(const JsonNode& node) {
  Facts facts;
  for (const auto& [key, fact] : node.members()) {
    if (fact.is_string())
      facts[key] = fact.text();
    else if (fact.is_boolean())
      facts[key] = fact.boolean();
    else
      facts[key] = fact.any_number();
  }
  return facts;
}

Record read_record(const JsonNode& node) {
  auto record = read_fields<Record>(node, Nulls::missing);
  check_options(record.problem, node);
  complete(record.verification, node, record.problem.dtype);
  if (record.against)
    complete(record.against->verification, node.at("against"), record.problem.dtype);
  return record;
}

}  // namespace gla_bench
