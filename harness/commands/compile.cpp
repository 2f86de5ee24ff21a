// gla-bench compile: every CUDA candidate of a config for some architectures, with no GPU.

#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <set>

#include "core/error.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/backends/sources/compile.hpp"
#include "harness/backends/sources/prologue.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/config/part.hpp"
#include "harness/support/output_file.hpp"
#include "harness/support/progress.hpp"
#include "harness/support/table.hpp"

namespace gla_bench::commands {
namespace {

struct CompileOptions {
  std::string config, architectures = "sm_80,sm_90a", emit;
  bool no_build = false, quick = false;
  ConfigPart part;
  BackendOptions backend;
  CandidateOptions candidates;
  AutoOptions choice;
};

/// Candidates whose source text differs: one for each kernel that has to be compiled.
std::vector<Candidate> compile_jobs(const std::vector<Assignment>& work) {
  std::vector<Candidate> jobs;
  std::set<std::string> seen;
  for (const Assignment& point : work)
    for (const Candidate& candidate : point.accepted)
      if (seen.insert(candidate.variant->name + full_source(candidate)).second)
        jobs.push_back(candidate);
  return jobs;
}

/// `import`: the source that the unit is made of, where it is not the candidate's own:
/// "+chunk_fused".
std::string file_name(const Candidate& candidate, const std::string& import) {
  const Shape& shape = candidate.problem.shape;
  std::string text = candidate.variant->name + import + "-" +
                     std::string(name(candidate.problem.dtype)) + "-" +
                     std::to_string(shape.key_dim) + "x" + std::to_string(shape.value_dim);
  for (const auto& [axis, value] : candidate.tile) text += "-" + axis + std::to_string(value);
  return text + ".cu";
}

/// Writes the text that is compiled, one file for each unit, for another compiler or a reader.
void emit(const std::vector<Candidate>& jobs, const std::string& folder) {
  for (const Candidate& candidate : jobs) {
    const std::vector<Unit> units = units_of(candidate);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const std::string stem = std::filesystem::path(units[i].source).stem().string();
      const std::string number = i > 1 ? std::to_string(i) : "";
      const auto path =
          std::filesystem::path(folder) / file_name(candidate, i == 0 ? "" : "+" + stem + number);
      write_output(path.string(), units[i].text);
    }
  }
}

std::vector<std::string> row_of(const Candidate& candidate, const Compiled& compiled) {
  const Shape& shape = candidate.problem.shape;
  std::vector<std::string> row{
      candidate.variant->name, describe(candidate.tile), std::string(name(candidate.problem.dtype)),
      std::to_string(shape.key_dim) + "x" + std::to_string(shape.value_dim)};
  if (!compiled.build) {
    row.insert(row.end(), {"-", "-", "-", "-", "FAILED"});
    return row;
  }
  const BuildInfo& build = *compiled.build;
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.2f", build.seconds);
  for (const int number : {build.registers, build.shared_bytes, build.spill_bytes})
    row.push_back(build.assembled ? std::to_string(number) : "-");
  row.insert(row.end(), {seconds.data(), build.cached ? "cached" : "built"});
  return row;
}

/// Compiles for one architecture and returns how many failed. Counts in `tried` how many were
/// tried.
std::size_t compile_for(int arch, const CompileOptions& options, const Config& config,
                        std::size_t& tried) {
  BackendOptions with_arch = options.backend;
  with_arch.backend = "cuda";
  with_arch.cuda.arch = arch;
  with_arch.cuda.quick = options.quick;
  const auto backend = open_backend(with_arch);
  Place place = place_of(*backend, with_arch);
  place.limits = limits_of(arch);  // what the architecture allows, not what this machine has
  place.host_memory = 0;
  // No environment is given, since this is meant for devices other than the table's. What the
  // architecture cannot do is refused all the same.
  const auto chooser = open_chooser(config, options.choice, config.catalog, place, {});
  const auto work = assignments(config, config.catalog, place, pointer_to(chooser));
  const auto jobs = compile_jobs(work);
  if (!options.emit.empty()) emit(jobs, options.emit);
  tried += jobs.size();
  if (options.no_build) {
    std::cout << jobs.size() << " written for " << architecture_name(arch) << "\n";
    return 0;
  }
  Progress progress(std::cerr, jobs.size(), stderr_style());
  const auto compiled = compile_candidates(*backend, jobs, [&](std::size_t index) {
    progress.at(describe(jobs[index]));
    progress.advance();
  });
  progress.finish();
  Table table{{{"variant", false},
               {"tile", false},
               {"dtype", false},
               {"KxV", false},
               {"registers", true},
               {"shared", true},
               {"spills", true},
               {"seconds", true},
               {"", false}},
              {}};
  std::size_t failed = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) table.rows.push_back(row_of(jobs[i], compiled[i]));
  std::cout << architecture_name(arch) << "\n" << table.text();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (compiled[i].build) {
      if (const std::string& told = compiled[i].build->warnings; !told.empty())
        std::cout << "warning " << describe(jobs[i]) << ":\n" << told;
      continue;
    }
    ++failed;
    std::cout << "FAIL " << describe(jobs[i]) << ": " << compiled[i].error << "\n";
  }
  std::cout << jobs.size() << " compiled for " << architecture_name(arch) << ", " << failed
            << " failed\n\n";
  return failed;
}

int compile(const CompileOptions& options) {
  const Config config =
      part_of(load_config(options.config, options.candidates.catalog()), options.part);
  std::size_t failed = 0, tried = 0;
  for (const int arch : parse_architectures(options.architectures))
    failed += compile_for(arch, options, config, tried);
  if (tried == 0) std::cout << "FAIL there was nothing to compile\n";
  return failed == 0 && tried > 0 ? done : check_failed;
}

}  // namespace

void add_compile(CLI::App& program, Context& context) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command = program.add_subcommand(
      "compile",
      "Builds every CUDA candidate of a config, on all cores, with no GPU: registers, "
      "shared memory, spills");
  command->add_option("config", options->config, "the config")->required();
  command->add_option("--arch", options->architectures, "architectures, separated by commas")
      ->capture_default_str();
  command->add_option("--emit", options->emit,
                      "also write each kernel's whole source, with its constants, to this folder");
  command->add_flag("--no-build", options->no_build, "with --emit: write the sources alone")
      ->needs("--emit");
  command->add_flag(
      "--quick", options->quick,
      "nearly without optimisation, in a fraction of the time: whether all compiles. Of each "
      "variant, direction, dtype and source the first gets machine code (registers and spills are "
      "not those of a run), the others stop at PTX");
  const auto only = [&](const char* option, std::vector<std::string>& list, const char* help) {
    return command->add_option(option, list, help)->delimiter(',');
  };
  only("--operators", options->part.operators, "only these operators, separated by commas");
  only("--variants", options->part.variants, "only these variants");
  options->backend.add_to(*command);
  options->candidates.add_to(*command);
  options->choice.add_to(*command);
  command->footer(
      "Examples:\n  gla-bench compile configs/ci.json --arch sm_80,sm_90a\n"
      "  gla-bench compile configs/quick.json --arch sm_90a --emit build/kernels");
  command->callback([options, &context] { context.exit_code = compile(*options); });
}

}  // namespace gla_bench::commands
