#pragma once
// Records as a data set of flashinfer-bench: definitions/, workloads/, solutions/, traces/, blob/.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/emit/launcher.hpp"
#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"

namespace gla_bench::flashinfer {

/// A safetensors file of a workload: the inputs that it carries.
struct Blob {
  std::string path;
  Problem problem;
  std::vector<std::string> inputs;
  double bytes = 0;
};

struct Dataset {
  std::map<std::string, std::string> files;     ///< paths below the folder, and their texts
  std::vector<Blob> blobs;                      ///< to be written by write_blob()
  std::map<std::string, std::size_t> left_out;  ///< problems, by the reason
  std::size_t problems = 0, solutions = 0;
};

/// The problems of the files that have a winner on a GPU. Each becomes a workload of its
/// definition; a winner that can be emitted becomes a solution and a trace. Left out, with a
/// reason: problems without a definition, and workloads whose inputs would take more than
/// `most_bytes`.
Dataset dataset_of(std::span<const Results> files, const SourceStore& store, double most_bytes);

/// Draws the inputs and writes them below the folder. @throws OutputError
void write_blob(const std::string& folder, const Blob& blob);

}  // namespace gla_bench::flashinfer
