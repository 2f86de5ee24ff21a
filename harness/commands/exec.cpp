// gla-bench exec: one variant on tensors from a file.

#include <iostream>

#include "harness/commands/commands.hpp"
#include "harness/error.hpp"
#include "harness/exec.hpp"
#include "harness/tensor_file.hpp"
#include "harness/text.hpp"

namespace gla_bench::commands {
namespace {

struct ExecOptions {
  std::string op = "gla", variant, input, output, layout = "seq_first";
  std::vector<std::string> tile, names;
  std::optional<double> scale;
  bool no_final_state = false;
  BackendOptions backend;
};

/// "key=value" as its halves.
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

void execute(const ExecOptions& options) {
  const Catalog catalog = program_catalog();
  const Operator* op = catalog.find_operator(options.op);
  if (op == nullptr)
    throw InputError("--operator: found \"" + options.op + "\", expected one of " +
                     join(catalog.operator_names()));
  const auto backend = open_backend(options.backend);
  const Variant* variant =
      catalog.find_variant(options.op, options.variant, backend->id(), Direction::forward);
  if (variant == nullptr)
    throw InputError("--variant: found \"" + options.variant +
                     "\", which has no implementation on " + where(*backend) + "; variants of " +
                     options.op + ": " +
                     join(catalog.variant_names(options.op, Direction::forward)));
  ExecRequest request;
  request.wanted.op = options.op;
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

void add_exec(CLI::App& program, Context&) {
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
  command->add_option("--variant", options->variant, "the variant")->required();
  command->add_option("--operator", options->op, "the operator")->capture_default_str();
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
  command->footer(
      "Examples:\n"
      "  gla-bench exec in.safetensors -o out.safetensors --variant chunk_fused\n"
      "  gla-bench exec in.safetensors -o out.safetensors --variant recurrent "
      "--backend host --name q=model.q\n"
      "  gla-bench exec --input in.safetensors --output out.safetensors --variant chunk_fused "
      "--tile chunk=64,block_v=64");
  command->callback([options] { execute(*options); });
}

}  // namespace gla_bench::commands
