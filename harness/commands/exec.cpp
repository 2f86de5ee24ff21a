// gla-bench exec: one variant on tensors from a file.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/config/candidates/describe_function.hpp"
#include "harness/engine/exec.hpp"
#include "harness/support/text.hpp"
#include "harness/tensors/tensor_file.hpp"

namespace gla_bench::commands {
namespace {

struct ExecOptions {
  std::string op = "gla", variant, input, output, layout = "seq_first";
  std::string direction = "forward";
  std::vector<std::string> tile, names, choices;
  std::optional<double> scale;
  bool no_final_state = false;
  BackendOptions backend;
  CandidateOptions candidates;
};

/// Splits "key=value" into its two halves.
std::pair<std::string, std::string> halves(const std::string& text, const std::string& option) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InputError(option + ": found \"" + text + "\", expected name=value");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The values of every --tile together: "chunk=64,block_v=64", in one piece or several.
Tile tile_of(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all.append(all.empty() ? "" : ",").append(text);
  return parse_tile(all);
}

/// The values of every --option, without those that are the operator's defaults.
std::map<std::string, std::string> choices_of(const Operator& op,
                                              const std::vector<std::string>& texts) {
  std::map<std::string, std::string> choices;
  for (const std::string& text : texts) {
    const auto [name, value] = halves(text, "--option");
    std::vector<std::string> known;
    const OptionAxis* found = nullptr;
    for (const OptionAxis& axis : op.options) {
      known.push_back(axis.name);
      if (axis.name == name) found = &axis;
    }
    if (found == nullptr)
      throw InputError("--option: found \"" + name + "\", expected an option of " + op.name +
                       (known.empty() ? ", which has none" : ": " + join(known)));
    const std::optional<std::string> known_value = option_value(*found, value);
    if (!known_value)
      throw InputError("--option " + name + ": found \"" + value + "\", expected one of " +
                       join(found->values));
    if (*known_value != found->values.front()) choices[name] = *known_value;
  }
  return choices;
}

void execute(const ExecOptions& options, const std::vector<std::string>& arguments) {
  const Catalog catalog = options.candidates.catalog();
  if (has_functions(catalog))
    become_python(arguments, {std::filesystem::absolute(options.output).parent_path().string()});
  expect_apart(together(candidate_files(catalog), {{"--input", options.input}}),
               NamedFiles{{"--output", options.output}});
  const Operator* op = catalog.find_operator(options.op);
  if (op == nullptr)
    throw InputError("--operator: found \"" + options.op + "\", expected one of " +
                     join(catalog.operator_names()));
  const auto backend = open_backend(options.backend);
  const Direction direction = *parse_direction(options.direction);
  const Variant* variant =
      catalog.find_variant(options.op, options.variant, backend->id(), direction);
  if (variant == nullptr)
    throw InputError("--variant: found \"" + options.variant +
                     "\", which has no implementation on " + where(*backend) + "; variants of " +
                     options.op + " " + options.direction + ": " +
                     join(catalog.variant_names(options.op, direction)));
  ExecRequest request;
  request.wanted.op = options.op;
  request.wanted.direction = direction;
  request.wanted.options = choices_of(*op, options.choices);
  request.wanted.layout = *parse_layout(options.layout);
  request.wanted.scale = options.scale;
  request.wanted.final_state = !options.no_final_state;
  request.wanted.tensors = options.input;
  for (const std::string& text : options.names)
    request.wanted.tensor_names.insert(halves(text, "--name"));
  request.tile = tile_of(options.tile);
  request.output = options.output;
  const Candidate ran = exec(*backend, *op, *variant, request);
  std::cout << describe(ran) << "\nwritten to " << options.output << "\n";
}

}  // namespace

void add_exec(CLI::App& program, Context& context) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command = program.add_subcommand(
      "exec",
      "Runs one variant on tensors from a .safetensors file, writes its outputs to another");
  command
      ->add_option("-i,--input,input", options->input,
                   "file with q, k, v, g and, if there is one, "
                   "initial_state")
      ->required();
  command->add_option("-o,--output", options->output, "file to write o and final_state to")
      ->required();
  command->add_option("--variant", options->variant, "the variant")
      ->required()
      ->type_name("VARIANT");
  command->add_option("--operator", options->op, "the operator")
      ->type_name("OPERATOR")
      ->capture_default_str();
  command->add_option("--direction", options->direction, "forward, backward or training")
      ->check(CLI::IsMember(names_of_directions()))
      ->capture_default_str();
  command->add_option("--option", options->choices,
                      "name=value of one of the operator's options (gla-bench list OPERATOR)");
  command->add_option(
      "--tile", options->tile,
      "axis=value of the tile, several by commas (default: the first tile accepted)");
  command->add_option("--name", options->names,
                      "input=name where a tensor has another name in the file (q=model.q)");
  command->add_option("--layout", options->layout, "layout of the file's tensors")
      ->check(CLI::IsMember({"seq_first", "head_first"}))
      ->capture_default_str();
  command->add_option("--scale", options->scale, "scale of q (default: the operator's)");
  command->add_flag("--no-final-state", options->no_final_state, "do not write the final state");
  options->backend.add_to(*command);
  options->candidates.add_to(*command);
  command->footer(
      "Examples:\n"
      "  gla-bench exec in.safetensors -o out.safetensors --variant chunk_fused\n"
      "  gla-bench exec in.safetensors -o out.safetensors --variant recurrent "
      "--backend host --name q=model.q\n"
      "  gla-bench exec --input in.safetensors --output out.safetensors --variant chunk_fused "
      "--tile chunk=64,block_v=64");
  command->callback([options, &context] { execute(*options, context.arguments); });
}

}  // namespace gla_bench::commands
