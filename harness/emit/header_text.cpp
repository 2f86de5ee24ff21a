// The C header of a launcher.

#include <algorithm>

#include "harness/backends/sources/architecture.hpp"
#include "harness/emit/launcher.hpp"
#include "harness/support/numbers.hpp"

namespace gla_bench {
namespace {

std::string meaning_of(const Operator& op, const RunTimeExtent& extent) {
  const bool rows = std::find(op.extents.begin(), op.extents.end(), "columns") != op.extents.end();
  std::string text = extent.name != "batch" ? std::string(extent_axis(extent.name).meaning)
                     : rows                 ? "rows"
                                            : "sequences";
  if (extent.group > 1) text += ", each of them of " + std::to_string(extent.group) + " heads";
  return text;
}

std::string range_of(const RunTimeExtent& extent) {
  if (extent.is_fixed()) return std::to_string(extent.least) + " alone";
  return std::to_string(extent.least) + " to " + std::to_string(extent.most);
}

/// A formula for readers: without the suffixes of constants.
std::string plain(std::string text) {
  for (std::size_t at = text.find("LL"); at != std::string::npos; at = text.find("LL", at))
    text.erase(at, 2);
  return text;
}

std::string extents_of(const CallTensor<ExtentFormula>& tensor,
                       const std::vector<std::string>& names) {
  std::string text;
  for (const ExtentFormula& extent : tensor.extents)
    text += (text.empty() ? "" : ", ") + plain(text_of(extent, names));
  return "[" + text + "]";
}

std::string tensor_line(const CallTensor<ExtentFormula>& tensor,
                        const std::vector<std::string>& names) {
  const TensorSpec& like = tensor.like;
  const bool output = like.role == TensorSpec::Role::output;
  std::string line = "  " + std::string(output ? "" : "const ") + "void* " +
                     member_name(like.name) + "; /* " + (output ? "output, " : "") +
                     std::string(name(like.dtype)) + " " + extents_of(tensor, names);
  if (!like.in_place_of.empty()) line += "; has to be " + member_name(like.in_place_of);
  if (like.token_pitch > 0)
    line += "; the first element of slices of rows that are " +
            plain(text_of(tensor.pitch, names)) + " elements apart, from token to token";
  return line + " */\n";
}

std::string struct_text(const LauncherRequest& request, const Launcher& launcher) {
  const RunTimeCall& call = launcher.run_time;
  const std::vector<std::string> names = extent_names(call);
  std::string text = "typedef struct " + launcher.struct_name + " {\n";
  for (const RunTimeExtent& extent : call.extents)
    text += "  long long " + extent.name + "; /* " + meaning_of(request.op, extent) + "; " +
            range_of(extent) + " */\n";
  if (takes_scale(call.call))
    text += "  float scale; /* the operator's own is " +
            format_exact(request.op.default_scale(request.candidate.problem)) + " */\n";
  for (const auto& tensor : call.call.tensors) text += tensor_line(tensor, names);
  return text + "} " + launcher.struct_name + ";\n";
}

std::string what_is_fixed(const LauncherRequest& request) {
  const Problem& problem = request.candidate.problem;
  std::string text = std::string(name(problem.dtype)) + ", " + std::string(name(problem.layout));
  for (const std::string& extent : request.op.extents) {
    const ExtentAxis& axis = extent_axis(extent);
    if (is_dimension(axis))
      text += ", " + extent + " " + std::to_string(problem.shape.*axis.extent);
  }
  for (const auto& [option, value] : problem.options) text += ", " + option + " " + value;
  return text;
}

}  // namespace

std::string header_text(const LauncherRequest& request, const Launcher& launcher) {
  const Candidate& candidate = request.candidate;
  const RunTimeCall& call = launcher.run_time;
  const std::string& name = launcher.name;
  std::string guard = name + "_H";
  for (char& c : guard)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  const std::string pointer = "const " + launcher.struct_name + "* problem";
  std::string text =
      "#ifndef " + guard + "\n#define " + guard + "\n/* " + request.op.name + " " +
      std::string(gla_bench::name(candidate.problem.direction)) + ": " + request.op.summary +
      "\n *\n * Kernel: " + candidate.variant->name + ", " + describe(candidate.tile) +
      "\n * Compiled for " + architecture_name(request.limits.arch) + ": " +
      what_is_fixed(request) +
      ".\n *\n"
      " * Sizes that are given with each call have a range, which stands beside them. Besides,\n"
      " * batch * heads is at most " +
      std::to_string(call.most_blocks) + ", and times the tokens (or columns) at most " +
      std::to_string(call.most_tokens) +
      ".\n * Sizes of grids and workspaces are formulas of them. These were compared with what "
      "the\n"
      " * generator itself launches at " +
      std::to_string(call.points) +
      " sizes in these ranges.\n *\n"
      " * Tensors are dense, with the last axis contiguous, in device memory. Their extents stand\n"
      " * beside them in the order in which they are stored. All of them have to be there.\n */\n\n"
      "#include <cuda_runtime_api.h>\n#include <stddef.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
      struct_text(request, launcher);
  text +=
      "\n/* Why the launcher does not take the problem; NULL where it does. Looks at sizes and\n"
      " * at addresses, not at what they point to. */\nconst char* " +
      name + "_refusal(" + pointer + ");\n";
  text +=
      "\n/* Bytes of device memory that a call needs besides its tensors, aligned to 256 bytes. "
      "They\n * may hold anything before and after. Calls that run side by side need one each. */"
      "\nsize_t " +
      name + "_workspace_bytes(" + pointer + ");\n";
  text +=
      "\n/* Enqueues one call. It neither waits nor allocates, and may be captured into a graph.\n"
      " * cudaErrorInvalidValue: the problem is refused, or the workspace is too small. */\n"
      "cudaError_t " +
      name + "(" + pointer +
      ", void* workspace, size_t workspace_bytes,\n            cudaStream_t stream);\n";
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace gla_bench
