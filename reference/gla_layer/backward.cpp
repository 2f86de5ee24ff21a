#include "reference/gla_layer/backward.hpp"

#include "reference/gla_layer/chain.hpp"

namespace gla_bench::gla_layer_forms {
namespace {

using Role = TensorSpec::Role;

/// Below this the norm leaves next to no gradient: of n values it removes two dimensions.
constexpr std::int64_t least_value_dim = 3;

/// gla inside the layer, in one direction. Its final state is nobody's input here.
Problem pass(const Problem& problem, Direction direction) {
  Problem inner = recurrence_of(problem);
  inner.direction = direction;
  if (direction == Direction::forward) inner.final_state = false;
  return inner;
}

// The chain backwards. inner(problem, tensors) runs gla in the problem's direction.
template <class Real, class Operand, class Inner>
class Reverse {
 public:
  using Values = std::vector<Real>;
  using Gradients = std::map<std::string, Values>;

  Reverse(const Problem& problem, const HostTensors& inputs, Operand operand, Inner inner)
      : problem_(problem),
        inputs_(inputs),
        chain_(problem, inputs, operand),
        inner_(inner),
        n_(sizes(problem)) {}

  Gradients run() {
    HostTensors stage = chain_.stages();
    const Values o = inner_(pass(problem_, Direction::forward), stage).at("o");
    const Values dy = chain_.input("dy");
    const Values gated = chain_.norm_and_gate(o, stage.at("r"));
    gradients_["dw_o"] = multiply<Real>(n_.values, n_.rows, n_.model, {gated, true}, {dy});
    const std::vector<float> d_gated = chain_.rounded(
        multiply<Real>(n_.rows, n_.model, n_.values, {dy}, {chain_.input("w_o"), true}));
    Values d_open(o.size()), d_o(o.size());
    chain_.over_rows(o, [&](std::int64_t at, Real mean, Real factor) {
      of_row(at, mean, factor, o, stage.at("r"), d_gated, d_open, d_o);
    });
    stage["do"] = chain_.rounded(d_o);
    if (problem_.final_state) stage["dfinal_state"] = inputs_.at("dfinal_state");
    Gradients inner = inner_(pass(problem_, Direction::backward), stage);
    if (problem_.initial_state) gradients_["dinitial_state"] = inner.at("dinitial_state");
    of_projections(stage, std::move(inner), d_open);
    return std::move(gradients_);
  }

 private:
  // The gradients of r + b_r and of o in one row of a head.
  void of_row(std::int64_t first, Real mean, Real factor, const Values& o,
              const std::vector<float>& r, const std::vector<float>& d_gated, Values& d_open,
              Values& d_o) const {
    const std::int64_t end = first + n_.value_dim;
    Real sum = 0, projection = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const Real open = chain_.open(r, i), sigmoid = 1 / (1 + std::exp(-open));
      const Real normed = (o[i] - mean) * factor;
      const auto change = static_cast<Real>(d_gated[i]);
      d_open[i] = change * normed * sigmoid * (1 + open * (1 - sigmoid));
      d_o[i] = change * open * sigmoid;
      sum += d_o[i];
      projection += d_o[i] * normed;
    }
    sum /= static_cast<Real>(n_.value_dim);
    projection /= static_cast<Real>(n_.value_dim);
    for (std::int64_t i = first; i < end; ++i)
      d_o[i] = factor * (d_o[i] - sum - (o[i] - mean) * factor * projection);
  }

  void of_projections(const HostTensors& stage, Gradients inner, Values d_open) {
    Gradients changes{{"r", std::move(d_open)}};
    for (const char* name : {"q", "k", "v"})
      changes[name] = std::move(inner.at(std::string("d") + name));
    for (auto& [name, values] : changes)
      for (Real& value : values) value = chain_.between(value);
    changes["low"] = of_gates(stage.at("low"), std::move(inner.at("dg")));
    gradients_["db_r"] = column_sums(changes.at("r"), n_.values);
    const Values x = chain_.input("x");
    Values& dx = gradients_["dx"];
    dx.assign(x.size(), Real(0));
    for (const auto& [weight, result, columns] : chain_.projections()) {
      const Values& change = changes.at(result);
      gradients_[std::string("d") + weight] =
          multiply<Real>(n_.model, n_.rows, columns, {x, true}, {change});
      const Values part =
          multiply<Real>(n_.rows, columns, n_.model, {change}, {chain_.input(weight), true});
      for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += part[i];
    }
  }

  // From dg to the gradients of W_2, b_g and low. The divisor comes last, as in a variant: float16
  // holds quotients by 16 worse.
  Values of_gates(const std::vector<float>& low, Values dz) {
    const Values z = chain_.gate_sums(low);
    for (std::size_t i = 0; i < dz.size(); ++i)
      dz[i] = chain_.between(dz[i] / (1 + std::exp(z[i])));
    const auto factor = static_cast<Real>(1 / gate_divisor(problem_));
    Values& d_weight = gradients_["dw_2"];
    d_weight = multiply<Real>(gla_layer_rank, n_.rows, n_.keys, {chain_.operands(low), true}, {dz});
    Values& d_bias = gradients_["db_g"];
    d_bias = column_sums(dz, n_.keys);
    Values d_low =
        multiply<Real>(n_.rows, n_.keys, gla_layer_rank, {dz}, {chain_.input("w_2"), true});
    for (Real& value : d_low) value = chain_.between(value) * factor;
    for (Values* values : {&d_weight, &d_bias})
      for (Real& value : *values) value *= factor;
    return d_low;
  }

  Values column_sums(const Values& values, std::int64_t columns) const {
    Values sums(static_cast<std::size_t>(columns), Real(0));
    for (std::size_t i = 0; i < values.size(); ++i)
      sums[i % static_cast<std::size_t>(columns)] += values[i];
    return sums;
  }

  const Problem& problem_;
  const HostTensors& inputs_;
  Chain<Real, Operand> chain_;
  Inner inner_;
  Sizes n_;
  Gradients gradients_;
};

template <class Real, class Operand, class Inner>
auto reverse(const Problem& problem, const HostTensors& inputs, Operand operand, Inner inner) {
  return Reverse<Real, Operand, Inner>(problem, inputs, operand, inner).run();
}

}  // namespace

std::vector<TensorSpec> backward_tensors(const Problem& problem,
                                         const std::vector<TensorSpec>& forward) {
  const Sizes n = sizes(problem);
  std::int64_t longest_product = n.keys;  // of dk with W_k transposed; the others are the forward's
  for (const TensorSpec& spec : forward)
    longest_product = std::max(longest_product, spec.longest_sum);
  std::vector<TensorSpec> list, made;
  for (TensorSpec spec : forward) {
    if (spec.role == Role::input) list.push_back(spec);
    spec.role = spec.role == Role::input ? Role::output : Role::input;
    const bool state = spec.name.ends_with("_state");
    if (spec.role == Role::output && spec.name != "x") spec.dtype = DType::float32;
    spec.longest_sum = 0;
    spec.rounded_factors = 3;
    spec.decayed_factors = 0;
    if (spec.role == Role::output) {
      spec.longest_sum = std::max(
          longest_product, state ? problem.shape.seq : problem.shape.batch * problem.shape.seq);
      spec.decayed_factors = 2;
    }
    spec.name = "d" + spec.name;
    made.push_back(std::move(spec));
  }
  const auto gradients = std::stable_partition(
      made.begin(), made.end(), [](const TensorSpec& spec) { return spec.role == Role::input; });
  list.insert(list.end(), made.begin(), gradients);
  for (const TensorSpec& spec : forward)
    if (spec.role == Role::output && problem.direction == Direction::training) list.push_back(spec);
  list.insert(list.end(), gradients, made.end());
  return list;
}

double backward_flops(const Problem& problem) {
  const Sizes n = sizes(problem);
  const std::int64_t projections =
      n.model * (2 * n.keys + 2 * n.values + gla_layer_rank) + gla_layer_rank * n.keys;
  const auto flops_of_gla = [&](Direction direction) {
    return find_operator("gla")->work(pass(problem, direction)).flops;
  };
  std::int64_t per_token = 2 * projections + 2 * n.values * n.model;
  if (problem.direction == Direction::training)
    return 2.0 * static_cast<double>(n.rows) * static_cast<double>(per_token) +
           flops_of_gla(Direction::training) - flops_of_gla(Direction::forward);
  per_token += projections + n.heads * n.key_dim * n.value_dim;
  return 2.0 * static_cast<double>(n.rows) * static_cast<double>(per_token) +
         flops_of_gla(Direction::backward);
}

std::optional<std::string> refuse_backward(const Problem& problem) {
  if (problem.shape.value_dim < least_value_dim)
    return "value_dim below 3: the norm of one or two values leaves no gradient but rounding";
  return std::nullopt;
}

ReferenceTensors backward(const Problem& problem, const HostTensors& inputs,
                          const References& inner) {
  return reverse<double>(
      problem, inputs, [](double x) { return x; }, exact_recurrence(inner));
}

HostTensors plain_backward(const Problem& problem, const HostTensors& inputs, Arithmetic arithmetic,
                           const References& inner) {
  return with_operand_rounding(arithmetic, [&](auto operand) {
    return reverse<float>(problem, inputs, operand, plain_recurrence(inner, arithmetic));
  });
}

}  // namespace gla_bench::gla_layer_forms
