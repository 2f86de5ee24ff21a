#include "harness/report/flashinfer/dataset.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/records/contest.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/flashinfer/definition.hpp"
#include "harness/report/flashinfer/solution.hpp"
#include "harness/support/hash.hpp"
#include "harness/support/output_file.hpp"
#include "harness/tensors/safetensors.hpp"

namespace gla_bench::flashinfer {
namespace {

constexpr int emitted_architecture = 90;

Blob blob_of(const Operator& op, const Problem& problem) {
  Blob blob{"blob/workloads/" + op.name + "/" + definition_name(op, problem) + "/" +
                workload_uuid(problem) + ".safetensors",
            problem, carried_inputs(op, problem), 0};
  for (const TensorSpec& tensor : op.tensors(problem))
    if (std::find(blob.inputs.begin(), blob.inputs.end(), tensor.name) != blob.inputs.end())
      blob.bytes += static_cast<double>(tensor.bytes());
  return blob;
}

/// The winner's solution, if it can be emitted; else why not.
std::string solve(const Operator& op, const Record& record, const SourceStore& store,
                  const std::string& definition, Dataset& set, std::string& solution) {
  try {
    const Limits limits = limits_of(emitted_architecture);
    const Candidate candidate = find_candidate(selection_of(record), program_catalog(), limits);
    const std::string tile = describe(candidate.tile);
    solution =
        "gla_bench_" + record.variant + "_" + definition + "_" + hex(hash_bytes(tile)).substr(0, 8);
    const std::string path = "solutions/" + op.name + "/" + definition + "/" + solution + ".json";
    if (set.files.contains(path)) return "";
    const Launcher launcher =
        launcher_of({op, candidate, limits, store, launcher_name(record.problem)});
    set.files[path] = solution_of(op, record.problem, launcher, solution, definition,
                                  record.variant + " " + tile + ": " + candidate.variant->summary)
                          .dump(1) +
                      "\n";
    ++set.solutions;
    return "";
  } catch (const InputError&) {
    return "winners that cannot be emitted";
  }
}

void add(const Contest& contest, const SourceStore& store, double most_bytes, Dataset& set) {
  const Problem& problem = contest.problem;
  const Operator* op = find_operator(problem.op);
  const auto leave_out = [&](const std::string& reason) { ++set.left_out[reason]; };
  if (op == nullptr) return leave_out("the operator " + problem.op);
  if (const auto reason = why_not_defined(problem)) return leave_out(*reason);
  Blob blob = blob_of(*op, problem);
  if (blob.bytes > most_bytes) return leave_out("inputs above --most-bytes");
  const std::string definition = definition_name(*op, problem);
  set.files["definitions/" + op->name + "/" + definition + ".json"] =
      definition_of(*op, problem).dump(1) + "\n";
  const Json workload = workload_of(*op, problem, blob.path);
  const Json line{{"definition", definition},
                  {"workload", workload},
                  {"solution", nullptr},
                  {"evaluation", nullptr}};
  const std::string lines = op->name + "/" + definition + ".jsonl";
  set.files["workloads/" + lines] += line.dump() + "\n";
  if (!blob.inputs.empty()) set.blobs.push_back(std::move(blob));
  ++set.problems;
  const Entrant& winner = *contest.winner();
  std::string solution;
  if (const std::string why = solve(*op, *winner.record, store, definition, set, solution);
      !why.empty())
    return leave_out(why);
  set.files["traces/" + lines] +=
      trace_of(*op, *winner.record, winner.file->environment, solution, workload).dump() + "\n";
}

}  // namespace

Dataset dataset_of(std::span<const Results> files, const SourceStore& store, double most_bytes) {
  Dataset set;
  for (const Contest& contest : contests_of(files))
    if (contest.backend == BackendId::cuda && contest.winner() != nullptr)
      add(contest, store, most_bytes, set);
  return set;
}

void write_blob(const std::string& folder, const Blob& blob) {
  const Operator& op = *find_operator(blob.problem.op);
  HostTensors drawn = op.draw(blob.problem);
  std::vector<SafetensorsTensor> tensors;
  for (const TensorSpec& tensor : op.tensors(blob.problem))
    if (std::find(blob.inputs.begin(), blob.inputs.end(), tensor.name) != blob.inputs.end())
      tensors.push_back(
          {tensor.name, tensor.dtype, tensor.extents, std::move(drawn.at(tensor.name))});
  const std::string path = folder + "/" + blob.path;
  make_folder_of(path);
  write_safetensors(path, tensors);
}

}  // namespace gla_bench::flashinfer
