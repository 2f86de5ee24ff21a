#include "harness/engine/wrong/wrong_tensors.hpp"

#include <filesystem>
#include <sstream>

#include "core/error.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/records/selection.hpp"
#include "harness/support/hash.hpp"
#include "harness/tensors/safetensors.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

std::vector<float> rounded(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

SafetensorsTensor stored(const TensorSpec& spec, const std::string& name, DType dtype,
                         Layout layout, std::span<const float> values) {
  return {name, dtype, storage_extents(spec, layout), to_storage_order(spec, layout, values)};
}

std::string in_words(const TensorVerdict& verdict) {
  std::ostringstream text;
  text << "rel_l2 " << verdict.rel_l2 << " (bound " << verdict.bound << "), worst chunk "
       << verdict.worst_chunk_rel_l2 << " (bound " << verdict.worst_chunk_bound << "), max_abs "
       << verdict.max_abs << " (bound " << verdict.max_abs_bound << "); worst at [";
  for (std::size_t i = 0; i < verdict.worst.index.size(); ++i)
    text << (i > 0 ? "," : "") << verdict.worst.index[i];
  text << "]: got " << verdict.worst.got << ", expected " << verdict.worst.expected;
  return text.str();
}

std::map<std::string, std::string> summary(const Record& record) {
  std::map<std::string, std::string> words{{"command", repeat_command(record)},
                                           {"operator", record.problem.op},
                                           {"variant", record.variant},
                                           {"layout", std::string(name(record.problem.layout))}};
  if (!record.verification) return words;
  words["check"] = record.verification->check;
  words["fault"] = record.verification->fault;
  for (const auto& [output, verdict] : record.verification->tensors)
    words["diff." + output] = in_words(verdict);
  return words;
}

}  // namespace

double wrong_tensors_bytes(const ProblemTruth& truth) {
  double bytes = 0;
  for (const TensorSpec& spec : truth.op().tensors(truth.problem())) {
    bytes += static_cast<double>(spec.bytes());
    if (spec.role == TensorSpec::Role::output) bytes += 4 * static_cast<double>(spec.elements());
  }
  return bytes;
}

std::string wrong_tensors_name(const Record& record) {
  const std::string asked = selection_text(selection_of(record));
  return record.problem.op + "-" + record.variant + "-" + std::string(name(record.problem.dtype)) +
         "-" + hex(hash_bytes(asked));
}

std::optional<std::string> write_wrong_tensors(const KeepWrong& policy, const Record& record,
                                               const ProblemTruth& truth,
                                               const HostTensors& outputs) {
  if (policy.folder.empty() || wrong_tensors_bytes(truth) > policy.most_mib * 0x1p20)
    return std::nullopt;
  const Layout layout = truth.problem().layout;
  std::vector<SafetensorsTensor> tensors;
  for (const TensorSpec& spec : truth.op().tensors(truth.problem())) {
    if (spec.role == TensorSpec::Role::input) {
      tensors.push_back(stored(spec, spec.name, spec.dtype, layout, truth.inputs().at(spec.name)));
      continue;
    }
    const std::vector<double>& expected = truth.expected().at(spec.name);
    tensors.push_back(
        stored(spec, spec.name + ".reference", DType::float32, layout, rounded(expected)));
    const auto got = outputs.find(spec.name);
    if (got == outputs.end() || got->second.size() != expected.size()) continue;
    tensors.push_back(stored(spec, spec.name, spec.dtype, layout, got->second));
    ChunkErrors errors = chunk_errors(spec, got->second, expected);
    tensors.push_back(
        {spec.name + ".error", DType::float32, errors.extents, std::move(errors.rel_l2)});
  }
  const auto path =
      std::filesystem::path(policy.folder) / (wrong_tensors_name(record) + ".safetensors");
  write_safetensors(path.string(), tensors, summary(record));
  return path.string();
}

}  // namespace gla_bench
