#include "reference/attention/device.hpp"

#include <algorithm>
#include <cstdint>

#include "reference/attention/blocked.hpp"
#include "reference/attention/params.h"
#include "reference/attention/problem.hpp"
#include "reference/device_bytes.hpp"

namespace gla_bench::attention {
namespace {

// Names of the workspace regions.
constexpr const char *row_terms_region = "row terms", *decays_region = "decays",
                     *resets_region = "resets", *row_sums = "row sums",
                     *column_sums = "column sums", *distances = "distances";

std::int64_t blocks(std::int64_t extent, std::int64_t size) {
  return (extent + size - 1) / size;
}

Form form_of(const Problem& problem) {
  return Form(*find_operator(problem.op), problem);
}

View view_of(const Problem& problem, const HostTensors& inputs) {
  return View(*find_operator(problem.op), problem, inputs);
}

// One block for each `device::rows` rows of each pair and each of the `columns` blocks of output
// columns.
KernelLaunch launch_of(const char* entry, std::int64_t length, std::int64_t pairs,
                       std::int64_t columns) {
  return {entry,
          {static_cast<unsigned>(blocks(length, device::rows) * pairs),
           static_cast<unsigned>(columns), 1},
          {device::threads, 1, 1},
          0};
}

std::vector<KernelLaunch> launches_of(const Form& form) {
  const std::int64_t keys = blocks(form.keys, device::width);
  const std::int64_t values = blocks(form.values, device::width);
  if (!form.backward) return {launch_of("attention_forward", form.seq, form.pairs(), values)};
  return {launch_of("attention_backward_queries", form.seq, form.pairs(), keys),
          launch_of("attention_backward_keys", form.key_seq, form.batch * form.key_heads,
                    keys + values)};
}

template <class Real>
std::vector<Region> workspace_of(const Form& form) {
  const auto queries = static_cast<std::size_t>(form.pairs() * form.seq);
  const auto keys = static_cast<std::size_t>(form.pairs() * form.key_seq);
  const auto query_blocks = static_cast<std::size_t>(form.pairs() * blocks(form.seq, device::rows));
  std::vector<Region> regions;
  if (form.has_decays) {
    regions.push_back({decays_region, keys * sizeof(double)});
    regions.push_back({resets_region, keys * sizeof(std::int32_t)});
  }
  if (form.backward) regions.push_back({row_terms_region, queries * sizeof(Real)});
  if (form.backward && form.has_decays) {
    regions.push_back({row_sums, queries * sizeof(Real)});
    regions.push_back({column_sums, keys * sizeof(Real)});
    regions.push_back({distances, query_blocks * sizeof(Real)});
  }
  return regions;
}

template <class Real>
ParamBytes bind(const Form& form, const Address& address) {
  const auto given = [&](const char* name) { return static_cast<const float*>(address(name)); };
  const auto made = [&](const char* name) { return static_cast<Real*>(address(name)); };
  device::Params<Real> p{};
  p.q = given("q");
  p.k = given("k");
  p.v = given("v");
  p.decays = static_cast<const double*>(address(decays_region));
  p.resets = static_cast<const int*>(address(resets_region));
  if (form.backward) {
    p.d_o = given("do");
    p.given_lse = given("lse");
    p.d = made(row_terms_region);
    p.dq = made("dq");
    p.dk = made("dk");
    p.dv = made("dv");
    p.row_sums = made(row_sums);
    p.column_sums = made(column_sums);
    p.distances = made(distances);
  } else {
    p.o = made("o");
    p.lse = made("lse");
  }
  p.seq = form.seq;
  p.key_seq = form.key_seq;
  p.heads = form.heads;
  p.key_heads = form.key_heads;
  p.key_dim = static_cast<int>(form.keys);
  p.value_dim = static_cast<int>(form.values);
  p.causal = form.causal ? 1 : 0;
  p.scale = form.scale;
  return bytes_of(p);
}

template <class Real>
ReferenceRecipe recipe_in(const Form& form) {
  ReferenceRecipe recipe;
  recipe.source = "reference/attention/attention.cuh";
  recipe.launches = launches_of(form);
  recipe.workspace = workspace_of<Real>(form);
  if (form.backward && form.has_decays) recipe.host_outputs = {"dlog_decay"};
  recipe.bind = [form](const Address& address) { return bind<Real>(form, address); };
  return recipe;
}

std::optional<ReferenceRecipe> recipe(const Problem& problem,
                                      std::optional<Arithmetic> arithmetic) {
  const Form form = form_of(problem);
  if (form.sequences > 0) return std::nullopt;
  const double most_blocks =
      static_cast<double>(blocks(std::max(form.seq, form.key_seq), device::rows) * form.pairs());
  if (most_blocks > 2147483647.0) return std::nullopt;  // the largest grid
  return arithmetic ? recipe_in<float>(form) : recipe_in<double>(form);
}

RegionBytes prepare(const Problem& problem, const HostTensors& inputs,
                    std::optional<Arithmetic> arithmetic) {
  const View view = view_of(problem, inputs);
  RegionBytes regions;
  if (view.has_decays) {
    std::vector<double> sums;
    std::vector<std::int32_t> resets;
    for (std::int64_t pair = 0; pair < view.pairs(); ++pair) {
      const Decays decays = view.decays(pair / view.heads, pair % view.heads);
      sums.insert(sums.end(), decays.sums.begin(), decays.sums.end());
      resets.insert(resets.end(), decays.resets.begin(), decays.resets.end());
    }
    regions[decays_region] = bytes_of(sums);
    regions[resets_region] = bytes_of(resets);
  }
  if (view.backward)
    regions[row_terms_region] =
        arithmetic ? bytes_of(row_terms<float>(view)) : bytes_of(row_terms<double>(view));
  return regions;
}

template <class Real>
std::vector<std::byte> decay_gradients_in(const View& view, const RegionBytes& workspace) {
  DecaySums<Real> sums(view);
  sums.rows = values_of<Real>(workspace.at(row_sums));
  sums.columns = values_of<Real>(workspace.at(column_sums));
  sums.distances = values_of<Real>(workspace.at(distances));
  return bytes_of(decay_gradients(view, sums));
}

RegionBytes finish(const Problem& problem, const HostTensors& inputs, const RegionBytes& workspace,
                   std::optional<Arithmetic> arithmetic) {
  const View view = view_of(problem, inputs);
  if (!view.backward || !view.has_decays) return {};
  return {{"dlog_decay", arithmetic ? decay_gradients_in<float>(view, workspace)
                                    : decay_gradients_in<double>(view, workspace)}};
}

}  // namespace

DeviceReference device_reference() {
  return {.splits_batch = [](const Problem&) { return false; },
          .recipe = recipe,
          .prepare = prepare,
          .finish = finish};
}

}  // namespace gla_bench::attention
