// Operators as plain PyTorch in float32, for definitions. They are written for readers and for
// checks, not for speed.

#include "core/error.hpp"
#include "harness/report/flashinfer/definition.hpp"

namespace gla_bench::flashinfer {
namespace {

constexpr std::string_view softmax_text = R"(import torch


def run(x, scale):
    return torch.softmax(x.float() * scale, -1).to(x.dtype)
)";

// A query sees the keys up to its own position, counted from the end of the keys.
constexpr std::string_view attention_text = R"(import torch


def run(q, k, v, scale):
    group = q.shape[2] // k.shape[2]
    keys = torch.repeat_interleave(k.float(), group, 2)
    values = torch.repeat_interleave(v.float(), group, 2)
    scores = torch.einsum("bthk,bshk->bhts", q.float(), keys) * scale
    last = torch.arange(q.shape[1]) + (k.shape[1] - q.shape[1])
    hidden = torch.arange(k.shape[1])[None, :] > last[:, None]
    scores = scores.masked_fill(hidden.to(scores.device), float("-inf"))
    weights = torch.nan_to_num(torch.softmax(scores, -1), nan=0.0)
    return torch.einsum("bhts,bshv->bthv", weights, values).to(v.dtype)
)";

/// The arguments of a recurrence in the order of the definition.
std::string recurrence_arguments(const Operator& op, const Problem& problem) {
  std::string list;
  for (const TensorSpec& tensor : op.tensors(problem))
    if (tensor.role == TensorSpec::Role::input) list += tensor.name + ", ";
  return list + "scale";
}

std::string decay_text(const Operator& op) {
  if (op.name == "retention") return "torch.exp(log_decay.float())[None, :, None, None]";
  if (op.name == "simple_gla") return "torch.exp(g[:, t].float())[:, :, None, None]";
  if (op.name == "gla") return "torch.exp(g[:, t].float())[:, :, :, None]";
  if (op.name == "rwkv6") return "torch.exp(w[:, t].float())[:, :, :, None]";
  return "1.0";
}

std::string recurrence_text(const Operator& op, const Problem& problem) {
  const bool before = op.name == "rwkv6";
  const std::string state = problem.initial_state
                                ? "initial_state.float()"
                                : "torch.zeros((batch, heads, key_dim, v.shape[3]), "
                                  "dtype=torch.float32, device=q.device)";
  std::string text = "import torch\n\n\ndef run(" + recurrence_arguments(op, problem) +
                     "):\n    batch, seq, heads, key_dim = q.shape\n    state = " + state +
                     "\n    rows = []\n    for t in range(seq):\n"
                     "        update = torch.einsum(\"bhk,bhv->bhkv\", k[:, t].float(), v[:, "
                     "t].float())\n";
  const std::string decayed = "        state = state * " + decay_text(op) + " + update\n";
  if (!before) text += decayed;
  text += "        read = state" +
          std::string(before ? " + u.float()[None, :, :, None] * update" : "") +
          "\n        rows.append(torch.einsum(\"bhk,bhkv->bhv\", q[:, t].float(), read) * scale)\n";
  if (before) text += decayed;
  return text + "    o = torch.stack(rows, 1).to(v.dtype)\n    return " +
         (problem.final_state ? "o, state" : "o") + "\n";
}

}  // namespace

std::string reference_text(const Operator& op, const Problem& problem) {
  if (const auto reason = why_not_defined(problem))
    throw InputError("no definition for flashinfer-bench: " + *reason);
  if (op.name == "softmax") return std::string(softmax_text);
  if (op.name == "attention") return std::string(attention_text);
  return recurrence_text(op, problem);
}

}  // namespace gla_bench::flashinfer
